"""Whole audits: every wrong twin is flagged, and what is right is not."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import pytest

import quipukit as qk
from quipukit.auditing.findings import Audit
from quipukit.auditing.page import to_html, to_markdown, write_page
from quipukit.errors import InputError, SpecError
from quipukit.guarantees import MetricDP
from quipukit.mechanisms.base import Mechanism, Variants
from quipukit.mechanisms.queryexp import QueryExp
from tests.auditing import twins
from tests.auditing.twins import vocabulary
from tests.covers.pools import partition
from tests.examples import slowly

pytestmark = pytest.mark.heavy  # not in make quick

LINE = qk.Vectors(["cat", "dog", "fish"], [[0.0], [1.0], [3.0]])


def words(cls: Callable[..., Mechanism], **options: object) -> Mechanism:
    return cls(**{"epsilon": 3, "vectors": vocabulary(), **options})


# The check that flags it first, and how many draws of each input that took; 0 is exact.
EXACT = {
    "CusText top-k": (words(twins.TopK, k=5), "closed form"),
    "WBB": (words(twins.SoldBoxes, k=2, n=3), "closed form"),
    "one budget for all variants": (words(twins.TotalForgotten, budget="total"), "closed form, 2 variants together"),
    "QueryExp with a cut": (twins.PercentileCut(epsilon=5, cover=partition()), "closed form"),
    "Cover around the query": (twins.AroundTheQuery(k=10, cover=partition()), "groups"),
}
SAMPLED = {
    "TEM that returns unknown words": (words(twins.UnknownVerbatim), "own vocabulary", 250),
    "Vickrey that reuses the secret": (words(twins.LooksAgain), "own vocabulary", 250),
    "case": (words(twins.KeepsCase), "own vocabulary", 250),
    "stop words": (words(twins.StopWordsPass), "toy vocabulary, dimension 1", 250),
    "a sampler of its own": (words(twins.OtherSampler), "draws against the closed form", 250),
    "Cover with the query first": (twins.OwnFirst(k=10, cover=partition()), "own queries", 300),
}


@pytest.mark.parametrize("name", EXACT)
def test_a_wrong_twin_is_flagged_exactly(name: str) -> None:
    mechanism, check = EXACT[name]
    done = qk.audit(mechanism, draws=1000, inputs=100, stop_early=True)
    assert done.verdict == "violated" and done.counter_example.name == check, str(done)  # type: ignore[union-attr]
    assert name == "one budget for all variants" or done.seen == math.inf


@pytest.mark.statistical
@pytest.mark.parametrize("name", SAMPLED)
def test_a_wrong_twin_is_flagged_by_draws(name: str) -> None:
    mechanism, check, draws = SAMPLED[name]
    done = qk.audit(mechanism, draws=5000, inputs=100, stop_early=True)
    found = done.counter_example
    assert done.verdict == "violated" and found is not None and found.name == check, str(done)
    assert found.draws <= draws + 50


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize(
    ("mechanism", "check"),
    [
        (words(twins.Renormalized), "toy vocabulary, dimension 2"),
        (words(twins.HalfClaimed), "own vocabulary"),
    ],
)
def test_with_more_draws_a_whole_audit_flags_what_leaks_less(mechanism: Mechanism, check: str) -> None:
    done = qk.audit(mechanism, stop_early=True)
    assert done.verdict == "violated" and done.counter_example.name == check, str(done)  # type: ignore[union-attr]


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("spec", ["CMP@3", "Mahalanobis@3", "VickreyCMP@3", "VickreyMhl@3", "SanText@3", "TEM@3"])
def test_with_more_draws_what_is_right_is_still_not_flagged(spec: str) -> None:
    assert qk.audit(spec, vectors=vocabulary()).verdict in ("holds", "not violated")


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("spec", "verdict"),
    [
        ("CMP@2", "not violated"),
        ("SanText(shuffle=True, length='bins:2,4')@2", "holds"),
        *slowly(
            ("SanText(budget='total')@2", "holds"),
            ("CusText(k=2)@2", "holds"),
            ("CMP(oov='keep', unsafe=True)@2", "nothing claimed"),
        ),
    ],
)
def test_the_built_in_mechanisms_keep_what_they_claim(spec: str, verdict: str) -> None:
    assert qk.audit(spec, vectors=LINE, draws=1000).verdict == verdict


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("spec", "verdict"),
    [
        ("Cover@10", "holds"),
        ("Decoys@5", "nothing claimed"),
        *slowly(("QueryExp@5", "holds"), ("StickyCover@10", "holds")),
    ],
)
def test_mechanisms_of_whole_queries_keep_what_they_claim(spec: str, verdict: str) -> None:
    done = qk.audit(spec, cover=partition(), draws=1000, inputs=60)
    assert done.verdict == verdict, str(done)
    assert done.about == "pool topics, 180 queries"


@dataclass(frozen=True, kw_only=True)
class SentAgain(QueryExp):
    """The first variant has the law, and the others are the query itself."""

    name = "SentAgain"

    def variants(self, query, n, rngs):  # type: ignore[no-untyped-def]
        drawn = super().variants(query, n, rngs)
        return Variants([drawn.texts[0], *[query] * (n - 1)], drawn.flags)


def test_further_variants_of_a_whole_query_are_audited() -> None:
    wrong = SentAgain(epsilon=5, cover=partition())
    claim = QueryExp(epsilon=5, cover=partition()).guarantee
    done = qk.audit(wrong, claim=claim, draws=1000, inputs=20)
    assert done.counter_example is not None and done.counter_example.name == "variant 2 against the closed form"
    assert qk.audit(wrong, claim=claim, draws=1000, inputs=20, n=1).verdict == "holds"


def test_another_claim_can_be_audited_and_settings_together() -> None:
    half = qk.audit("SanText@2", vectors=LINE, claim=1.0, draws=1000, stop_early=True)
    assert half.verdict == "violated" and half.guarantee == "1-metric DP (euclidean) per word"
    both = qk.audit(["CMP@1", "CMP@2"], vectors=LINE, noise="common", draws=1000)
    assert both.verdict == "nothing claimed" and both.mechanism == "CMP@1 + CMP@2"


def test_the_same_seed_gives_the_same_audit() -> None:
    audits = [qk.audit(["CMP@1", "CMP@2"], vectors=LINE, draws=1000, seed=seed) for seed in (1, 1, 2)]
    assert audits[0] == audits[1] != audits[2]


def test_one_word_can_be_audited() -> None:
    only = qk.Vectors(["only"], [[1.0]])
    done = qk.audit("SanText@2", vectors=only, draws=1000)
    assert done.verdict == "holds" and done.about.endswith("1 word")
    assert done.skipped[0].startswith("the vocabulary has one word: no two of its words can be compared")


def test_wrong_input_is_refused_with_the_fix() -> None:
    with pytest.raises(SpecError, match="Unknown"):
        qk.audit("Unknown@2")
    for wrong, said in (
        ({"draws": 10}, "draws"),
        ({"inputs": 1}, "inputs"),
        ({"n": 0}, "n must"),
        ({"alarm": 0}, "alarm"),
    ):
        with pytest.raises(InputError, match=said):
            qk.audit("CMP@2", vectors=LINE, **wrong)
    with pytest.raises(InputError, match="at least two"):
        qk.audit(["CMP@2"], vectors=LINE)
    with pytest.raises(InputError, match="claims no epsilon"):
        qk.audit("Identity", claim=1.0)


# --- what is shown ---


@pytest.fixture(scope="module")
def violated() -> Audit:
    return qk.audit(words(twins.SoldBoxes, k=2, n=3), draws=1000, stop_early=True)


def test_the_counter_example_is_in_words_and_numbers(violated: Audit) -> None:
    sentence = violated.counter_example.sentence()  # type: ignore[union-attr]
    assert "the output is '" in sentence and "against 0; loss infinite" in sentence and "claimed" in sentence
    assert sentence in str(violated)


def test_json_has_no_infinite_number(violated: Audit) -> None:
    content = violated.to_dict()
    assert content["verdict"] == "violated" and content["checks"][0]["finding"]["loss"] == "infinity"


def test_what_floating_point_does_is_shown_where_it_is_proved(violated: Audit) -> None:
    noise = qk.audit("CMP@2", vectors=LINE, draws=1000)
    assert "sends another one than the ideal mechanism with probability" in noise.floating_point
    assert noise.floating_point in str(noise) and noise.to_dict()["floating_point"] == noise.floating_point
    assert "ideal mechanism with probability" in to_html(noise)
    assert violated.floating_point == ""  # a mechanism of someone else
    shared = qk.audit("CMP(budget='total')@8", vectors=LINE, draws=1000, n=4)  # each variant has a quarter of epsilon
    assert shared.floating_point == noise.floating_point


def test_pages_show_inputs_and_no_markup_of_theirs(violated: Audit, tmp_path) -> None:  # type: ignore[no-untyped-def]
    assert to_markdown(violated).startswith("# Audit of `WBB(n=3")
    nasty = qk.Vectors(["<b>x</b>", "y|z", "q"], [[0.0], [1.0], [3.0]])
    shown = qk.audit("SanText(tokenizer='whitespace')@2", vectors=nasty, draws=1000, claim=MetricDP(0.1))
    assert "<b>" not in to_html(shown) and "<b>" not in to_markdown(shown).replace("\\<b", "")
    for name in ("page.md", "page.html"):
        write_page(violated, tmp_path / name)
        assert "violated" in (tmp_path / name).read_text(encoding="utf-8")
    with pytest.raises(InputError, match=r"\.md or \.html"):
        write_page(violated, tmp_path / "page.txt")
