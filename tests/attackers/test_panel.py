"""The harness: what attackers see, and how their scores become ranks."""

from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

from quipukit.attackers import checks, found
from quipukit.attackers.attack import attack
from quipukit.attackers.base import KnownLog, KnownSetting, Sent
from quipukit.attackers.log import QueryLog
from quipukit.attackers.panel import Panel
from quipukit.attackers.quia import QuIA
from quipukit.attackers.task import Task
from quipukit.encoders.base import similarities
from quipukit.encoders.store import EncodingStore, PrivateStore
from quipukit.errors import InputError
from quipukit.obfuscation import obfuscate
from tests.attackers.fakes import Bag, Overlap

QUERIES = pd.DataFrame({"qid": ["1", "2"], "query": ["zebra crossing", "apple pie recipe"]})
LOG = QueryLog.of(["cat food", "apple tart", "zebra fish", "cat food", "dog"])
FULL = LOG.completed(QUERIES["query"].tolist())


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path / "home"))


def sent_by(**mechanisms):
    rows = [
        {"qid": qid, "variant": number, "query": text, "mechanism": name, "parameter": "epsilon", "value": value}
        for name, (value, queries) in mechanisms.items()
        for qid, texts in queries.items()
        for number, text in enumerate(texts)
    ]
    return pd.DataFrame(rows)


class Watching(Overlap):
    """Keeps everything that it is given."""

    name = "Watching"
    seen: ClassVar[list[object]] = []

    def prepare(self, log, progress=None):
        super().prepare(log)
        self.seen.append(log)

    def scores(self, sent):
        self.seen.append(sent)
        return super().scores(sent)


class Informed(Watching):
    name, knows = "Informed", "log+mechanism"


class WellInformed(Watching):
    name, knows = "WellInformed", "log+mechanism+epsilon"


@pytest.fixture
def seen():
    Watching.seen.clear()
    return Watching.seen


def test_the_log_that_attackers_get_does_not_tell_what_was_injected(seen) -> None:
    Panel([Watching()], FULL).prepare()
    (known,) = seen
    assert isinstance(known, KnownLog) and not hasattr(known, "added")
    assert known.texts == sorted(FULL.texts)
    assert dict(zip(known.texts, known.counts.tolist(), strict=True)) == {
        **dict.fromkeys(FULL.texts, 1),
        "cat food": 2,
    }


def test_capitals_of_an_original_do_not_put_it_first(seen) -> None:
    Panel([Watching()], LOG.completed(["Zebra Crossing"])).prepare()
    assert seen[0].texts == ["apple tart", "cat food", "dog", "Zebra Crossing", "zebra fish"]


@pytest.mark.parametrize(
    ("attacker", "setting"),
    [
        (Watching(), None),
        (Informed(), KnownSetting("CMP", "epsilon", None)),
        (WellInformed(), KnownSetting("CMP", "epsilon", 5.0)),
    ],
    ids=lambda one: getattr(one, "name", ""),
)
def test_attackers_see_the_texts_in_order_and_of_the_setting_what_they_know(attacker, setting, seen) -> None:
    sent = sent_by(CMP=(5.0, {"1": ["b", "a", "b"], "2": ["c"]}))
    Panel([attacker], FULL).ranks(sent.iloc[::-1], QUERIES)
    asked = [one for one in seen if isinstance(one, Sent)]
    assert sorted(asked, key=lambda one: one.texts) == [Sent(("b", "a", "b"), setting), Sent(("c",), setting)]


def test_ranks_count_other_rows_before_and_level() -> None:
    sent = sent_by(CMP=(5.0, {"1": ["zebra"], "2": ["apple recipe"]}))
    ranks = Panel([Overlap()], FULL).ranks(sent, QUERIES).set_index("qid")
    assert ranks.loc["1", ["better", "tied", "log_rank"]].tolist() == [0, 1, 1.5]
    assert ranks.loc["2", ["better", "tied", "log_rank"]].tolist() == [0, 0, 1.0]
    sent = sent_by(CMP=(5.0, {"1": ["cat apple dog"]}))
    ranks = Panel([Overlap()], FULL).ranks(sent, QUERIES).set_index("qid")
    assert ranks.loc["1", ["better", "tied"]].tolist() == [4, 1]
    assert ranks.loc["2", ["better", "tied"]].tolist() == [-1, 0], "nothing was sent"


class SlowQuIA(QuIA):
    """The same attacker by its scores alone."""

    name = "SlowQuIA"

    def sent_vectors(self, batch):
        return None

    def scores(self, sent):
        (centroid,) = QuIA.sent_vectors(self, [sent])
        return similarities(centroid, self.log_vectors[:], "cosine")


def test_ranks_by_vectors_are_those_by_scores() -> None:
    rng = np.random.default_rng(5)
    words = [f"w{number}" for number in range(30)]
    queries = pd.DataFrame({"qid": list("abcdefgh"), "query": [" ".join(rng.choice(words, 3)) for _ in range(8)]})
    log = QueryLog.of([" ".join(rng.choice(words, 3)) for _ in range(200)])
    sent = obfuscate(queries, "Identity", 2)
    sent["query"] = [" ".join(rng.choice([*words, *text.split() * 8], 4)) for text in sent["query"]]
    ranks = attack(sent, queries, log, attackers=[QuIA(encoder=Bag()), SlowQuIA(encoder=Bag())])
    fast, slow = (ranks[ranks["attacker"] == name].drop(columns="attacker") for name in ("QuIA", "SlowQuIA"))
    pd.testing.assert_frame_equal(fast.reset_index(drop=True), slow.reset_index(drop=True))
    assert fast["better"].nunique() > 3
    panel = Panel([QuIA(encoder=Bag()), SlowQuIA(encoder=Bag())], log.completed(queries["query"].tolist()))
    both = panel.guesses(sent, queries, 4)
    fast, slow = (both[both["attacker"] == name].drop(columns="attacker") for name in panel.names)
    pd.testing.assert_frame_equal(fast.reset_index(drop=True), slow.reset_index(drop=True), atol=1e-12)


def test_of_level_guesses_none_is_preferred_for_its_place_in_the_log() -> None:
    """Each of 60 queries stands level with the 19 that share its word, and first or last of them in the log."""
    texts = [f"{word} {number}" for word in map("word{}".format, range(60)) for number in range(20)]
    asked = pd.DataFrame({"qid": [str(number) for number in range(60)], "query": texts[::20]})
    sent = obfuscate(asked, "Identity", 1)
    sent["query"] = [text.split()[0] for text in sent["query"]]
    for attackers in ([Overlap()], [QuIA(encoder=Bag())]):
        first, last = (Panel(attackers, QueryLog.of(order)).guesses(sent, asked, 1) for order in (texts, texts[::-1]))
        assert first["query"].tolist() == last["query"].tolist()
        assert first["hit"].sum() <= 10  # by lot 3 of 60; more than 10 with probability 2e-4; the first of the log: 60


@pytest.mark.parametrize("completed", [True, False])
def test_ranks_with_first_guesses_are_the_ranks_and_the_first_of_the_guesses(completed: bool) -> None:
    """Many are level; without completion some originals are not in the log, and are guessed all the same."""
    rng = np.random.default_rng(6)
    words = [f"w{number}" for number in range(12)]
    queries = pd.DataFrame({"qid": list("abcdefgh"), "query": [" ".join(rng.choice(words, 2)) for _ in range(8)]})
    log = QueryLog.of([" ".join(rng.choice(words, 2)) for _ in range(60)])
    log = log.completed(queries["query"].tolist()) if completed else log
    sent = sent_by(CMP=(5.0, {qid: rng.choice(words, 2).tolist() for qid in "abcdefg"}))  # nothing for the last
    panel = Panel([Overlap(), QuIA(encoder=Bag()), SlowQuIA(encoder=Bag())], log)
    task = Task.of(sent, queries, log)
    assert (task.targets < 0).any() != completed
    ranks, guesses = panel.ranks_and_guesses(task)
    pd.testing.assert_frame_equal(ranks, panel.ranks(sent, queries))
    wanted = panel.guesses(sent, queries, 1)
    assert (
        guesses[["attacker", "qid", "query"]].to_numpy().tolist()
        == wanted[["attacker", "qid", "query"]].to_numpy().tolist()
    )
    assert found.Found.none(np.arange(3), 5).first.tolist() == [-1] * 5
    assert checks.checked_scores(panel.attackers[0], [1.0, 3.0, 2.0], 3)[1] == (1.0, 3.0)


def test_every_attacker_has_its_rows_and_is_told_apart_by_its_spec() -> None:
    sent = sent_by(CMP=(5.0, {"1": ["zebra"]}), TEM=(1.0, {"2": ["pie"]}))
    panel = Panel([QuIA(encoder=Bag()), Overlap()], FULL)
    ranks = panel.ranks(sent, QUERIES)
    assert panel.names == ["QuIA", "Overlap"]
    assert ranks["attacker"].tolist() == ["QuIA"] * 4 + ["Overlap"] * 4
    some = panel.ranks(sent, QUERIES, names=["Overlap"])
    pd.testing.assert_frame_equal(some, ranks[ranks["attacker"] == "Overlap"].reset_index(drop=True))
    guesses = panel.guesses(sent, QUERIES, 2)
    assert list(guesses.columns[:5]) == ["mechanism", "parameter", "value", "attacker", "qid"]
    assert guesses.groupby(["attacker", "mechanism"], sort=False).size().tolist() == [2, 2, 2, 2]


def test_the_public_log_goes_to_the_shared_cache_and_nothing_else_does(tmp_path: Path) -> None:
    encoder = Bag()
    panel = Panel([QuIA(encoder=encoder)], FULL)
    panel.encode(["zebra", "dog"])
    assert len(EncodingStore(encoder)) == 0, "which of the log's queries were sent is nobody's business"
    panel.prepare()
    panel.ranks(sent_by(CMP=(5.0, {"1": ["zebra"], "2": ["pie"]})), QUERIES)
    shared = EncodingStore(encoder)
    assert len(shared) == len(LOG) and shared.missing(LOG.texts) == 0
    assert shared.missing(QUERIES["query"].tolist()) == 2


def test_private_vectors_are_kept_where_the_caller_says(tmp_path: Path) -> None:
    encoder = Bag()
    kept = PrivateStore(EncodingStore(encoder), tmp_path / "run")
    Panel([QuIA(encoder=encoder)], FULL, store_of=lambda _: kept).ranks(
        sent_by(CMP=(5.0, {"1": ["zebra"], "2": ["pie"]})), QUERIES
    )
    again = PrivateStore(EncodingStore(encoder), tmp_path / "run")
    assert again.missing([*FULL.texts, "zebra", "pie"]) == 0


def test_the_callers_attacker_is_left_alone() -> None:
    mine = QuIA(encoder=Bag())
    Panel([mine], FULL).prepare()
    assert type(mine.encoder) is Bag and len(mine.log_vectors) == 0


class Spoiling(Overlap):
    """Changes the log that it is given."""

    name = "Spoiling"

    def prepare(self, log, progress=None):
        super().prepare(log)
        log.texts.reverse()
        log.counts[:] = 0


def test_what_an_attacker_does_to_its_log_does_not_reach_the_others() -> None:
    sent = sent_by(CMP=(5.0, {"1": ["zebra"], "2": ["apple pie"]}))
    both = Panel([Spoiling(), Overlap()], FULL).ranks(sent, QUERIES)
    alone = Panel([Overlap()], FULL).ranks(sent, QUERIES)
    pd.testing.assert_frame_equal(both[both["attacker"] == "Overlap"].reset_index(drop=True), alone)


def test_fingerprints_follow_spec_and_encoder() -> None:
    class Other(Bag):
        fingerprint = "bag-2"

    prints = {Panel(["QuIA"], FULL, encoder=one).fingerprint("QuIA") for one in (Bag(), Bag(), Other())}
    assert len(prints) == 2


class Short(Overlap):
    name = "Short"

    def scores(self, sent):
        return super().scores(sent)[1:]


class Endless(Overlap):
    name = "Endless"

    def scores(self, sent):
        return super().scores(sent) * np.inf


class Halfway(QuIA):
    name = "Halfway"

    @property
    def log_vectors(self):
        return None


class Undefined(QuIA):
    name = "Undefined"

    def sent_vectors(self, batch):
        return super().sent_vectors(batch) * np.nan


class Merged(QuIA):
    name = "Merged"

    def sent_vectors(self, batch):
        return super().sent_vectors(batch).mean(axis=0, keepdims=True)[:0]


class Broken(QuIA):
    name = "Broken"

    @property
    def log_vectors(self):
        return super().log_vectors[:] * np.nan


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("attackers", "words"),
    [
        ([Short()], "Short gave no finite score for each of the 6 rows"),
        ([Endless()], "Endless gave no finite score"),
        ([Halfway(encoder=Bag())], "Halfway has sent_vectors.. but no log_vectors"),
        ([Undefined(encoder=Bag())], "Undefined gave no finite vector for each of 1"),
        ([Merged(encoder=Bag())], "Merged gave no finite vector for each of 1"),
        ([Broken(encoder=Bag())], "Broken has log_vectors that are not finite"),
        ([Overlap(), Overlap()], "Overlap is given twice"),
        ([], "no attacker is given"),
    ],
)
def test_attackers_that_break_the_rules_are_named(attackers, words) -> None:
    with pytest.raises(InputError, match=words) as fault:
        Panel(attackers, FULL).ranks(sent_by(CMP=(5.0, {"1": ["zebra"]})), QUERIES)
    assert "zebra" not in str(fault.value)


def test_an_attacker_that_is_not_in_the_panel_is_named() -> None:
    with pytest.raises(InputError, match="no attacker 'QuIA' in the panel; it has Overlap"):
        Panel([Overlap()], FULL).prepare(names=["QuIA"])


# --- what an attacker can reach ---


def reachable(thing, depth=8):
    """Iterate over what attributes and elements lead to, methods and closures' owners included."""
    known, waiting = {}, [(thing, 0)]
    while waiting:
        one, level = waiting.pop()
        if id(one) in known or level > depth:
            continue
        known[id(one)] = one
        inner = [value for value in getattr(one, "__dict__", {}).values()]
        if isinstance(one, dict):
            inner += [*one, *one.values()]
        elif isinstance(one, list | tuple | set | frozenset):
            inner += one
        inner += [
            value for name in ("__self__", "base", "func", "args") if (value := getattr(one, name, None)) is not None
        ]
        waiting += [(value, level + 1) for value in inner]
    return list(known.values())


class Curious(QuIA):
    """Prefers the rows of the log that are not where the public ones are."""

    name = "Curious"

    def prepare(self, log, progress=None):
        super().prepare(log, progress)
        self.found = reachable([self.encoder, self._log, self._log[:2], progress])
        texts = {
            text for one in self.found if isinstance(one, list | tuple | set) for text in one if isinstance(text, str)
        }
        rows = np.asarray(self._log.rows)
        self.bonus = (rows > np.median(rows)) | np.array([bool(texts) and text not in texts for text in log.texts])
        order = np.concatenate([part for part, _ in self._log.blocks(2)])
        assert order.tolist() == list(range(len(log)))

    def sent_vectors(self, batch):
        return None

    def scores(self, sent):
        return self.bonus.astype(float)


def test_no_attribute_tells_an_attacker_which_queries_were_added(tmp_path) -> None:
    common = [f"common query {number}" for number in range(40)]
    asked = pd.DataFrame({"qid": list("abcd"), "query": ["aa", "common query 0 b", "common query 3 b", "zz"]})
    log = QueryLog.of(common).completed(asked["query"].tolist())
    for store_of in (None, lambda encoder: PrivateStore(EncodingStore(encoder), tmp_path / "run")):
        panel = Panel([Curious(encoder=Bag())], log, store_of=store_of)
        sent = obfuscate(asked, "Identity", 1)
        ranks = panel.ranks(sent, asked)
        (attacker,) = panel.attackers
        kinds = {type(one).__name__ for one in attacker.found}
        assert not {"PrivateStore", "EncodingStore", "QueryLog", "RowFile", "memmap"} & kinds
        # All that is left to prefer is the second half of the alphabet.
        half = sorted(log.texts)[len(log) // 2 :]
        assert ranks["better"].tolist() == [0 if text in half else len(half) for text in asked["query"]]


class Lazy(QuIA):
    name, summary = "Lazy", "scores the first set of texts and no other"

    def sent_vectors(self, batch):
        return None

    def scores_of(self, batch):
        return iter([np.zeros(len(self.log_vectors))])


def test_an_attacker_that_leaves_sets_out_is_refused():
    queries = pd.DataFrame({"qid": ["1", "2"], "query": ["cat food", "dog"]})
    sent = obfuscate(queries, "Identity", n=1)
    with pytest.raises(ValueError, match="longer than"):
        Panel([Lazy(encoder=Bag())], QueryLog.of(queries["query"])).ranks(sent, queries)
