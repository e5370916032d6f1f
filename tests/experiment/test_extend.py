"""A finished run can be extended, and everything that a user brings works as an object, too."""

import functools
import json
import warnings
from collections.abc import Callable, Sequence
from dataclasses import InitVar, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

import quipukit as qk
from quipukit.attackers.base import Attacker, KnownLog, Sent
from quipukit.errors import InputError
from quipukit.experiment.artifacts import Record
from quipukit.experiment.run import resume
from quipukit.experiment.stages.obfuscate import resources_of, state_hash
from quipukit.guarantees import Guarantee, NoGuarantee
from quipukit.mechanisms.base import QueryMechanism, Variants
from quipukit.mechanisms.identity import Identity
from quipukit.progress import Progress, ProgressListener
from quipukit.results import Result
from quipukit.retrieval.base import Ranking, Retriever, Scorer
from tests.experiment import tiny
from tests.experiment.conftest import SMALL, Whole

Saved = Callable[[], dict[str, int]]
TABLES = (
    "notes",
    "obfuscated",
    "pool",
    "utility",
    "ceiling",
    "first_guesses",
    "ranks",
    "risk",
    "text_similarity",
    "guesses",
    "need",
)


def same(one: pd.DataFrame, other: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(one.reset_index(drop=True), other.reset_index(drop=True), check_exact=True)


# --- more seeds, more variants, more attackers ---


class Until(ProgressListener):
    """Stops a run as a stage begins: what comes after it is not looked at."""

    def __init__(self, stage: str) -> None:
        self.last = stage

    def stage(self, name: str, unit: str) -> Progress:
        if name == self.last:
            raise KeyboardInterrupt
        return super().stage(name, unit)


def test_seeds_are_added_to_a_finished_run(
    village: Path, small: Whole, small_copy: Path, tmp_path: Path, saved: Saved
) -> None:
    one = small.result
    two = tiny.run(village, small_copy, **SMALL, seeds=2)
    counts = saved()
    assert counts["obfuscated"] == counts["notes"] == 3
    # Identity sends the same under every seed, and what follows from it is there.
    assert counts["ranks"] == counts["pool"] == 2
    assert max(counts["risk"], counts["utility"]) <= 2
    assert "guesses" not in counts  # of the first seed alone
    assert two.seeds == [7, 8]
    for table in ("obfuscated", "ranks", "scores"):
        frame = getattr(two, table)
        same(frame[frame["seed"] == 7], getattr(one, table))
    assert two.digest == tiny.run(village, tmp_path / "fresh", **SMALL, seeds=2).digest


def test_numbers_of_variants_are_added_to_a_finished_run(
    village: Path, small: Whole, small_copy: Path, saved: Saved
) -> None:
    three = small.result
    sweep = tiny.run(village, small_copy, **SMALL, n=[3, 5])
    counts = saved()
    # What depends on content alone is shared where the content is the same, as Identity's pools are.
    assert set(counts) == set(TABLES) and max(counts.values()) == counts["obfuscated"] == counts["ranks"] == 3
    assert sweep.ns == [3, 5] and sweep.manifest["n"] == [3, 5]
    for table in ("obfuscated", "ranks", "scores", "settings"):
        assert sorted(set(getattr(sweep, table)["n"])) == [3, 5], table
    for table in ("obfuscated", "ranks", "scores", "guesses", "notes", "settings", "need"):
        same(getattr(sweep.at(3), table), getattr(three, table))
    assert Result.load(small_copy).digest == sweep.digest
    # The first variants do not depend on how many are asked for.
    first = sweep.at(5).obfuscated.query("variant < 3").drop(columns="variant")
    same(first, three.obfuscated.drop(columns="variant"))
    sizes = sweep.at(5).obfuscated.groupby(["mechanism", "value", "qid"]).size()
    assert set(sizes) == {5}


@pytest.mark.slow
def test_the_depth_of_one_number_of_variants_does_not_depend_on_the_others(village: Path) -> None:
    alone = tiny.run(village, **SMALL, depth=None, n=2)
    both = tiny.run(village, **SMALL, depth=None, n=[2, 4])
    same(both.at(2).scores, alone.scores)


def test_an_attacker_is_added_to_a_finished_run(village: Path, small: Whole, small_copy: Path, saved: Saved) -> None:
    both = tiny.run(village, small_copy, **SMALL, attackers=["QuIA", Overlap()])
    assert saved() == {"first_guesses": 3, "ranks": 3, "risk": 3, "guesses": 3, "need": 3}
    assert both.attackers == ["QuIA", "Overlap"]
    quia = both.ranks[both.ranks["attacker"] == "QuIA"]
    same(quia, small.result.ranks)
    # Identity sends the query itself: whoever counts common words finds it.
    found = both.ranks.query("attacker == 'Overlap' and mechanism == 'Identity'")
    assert (found["better"] == 0).all()


@pytest.mark.parametrize("n", [0, -1, 2.5, True, "3", [], [3, 0]])
def test_a_wrong_number_of_variants_is_refused(village: Path, n: Any) -> None:
    with pytest.raises(InputError, match=r"\bn\b"):
        tiny.run(village, **{**SMALL, "n": n})


# --- objects ---


class Overlap(Attacker):
    """Counts the words that a query of the log shares with what was sent."""

    name = "Overlap"
    summary = "common words"

    def prepare(self, log: KnownLog, progress: Progress | None = None) -> None:
        self.words = [set(text.lower().split()) for text in log.texts]

    def scores(self, sent: Sent) -> "np.ndarray[Any, np.dtype[np.float64]]":
        seen = {word for text in sent.texts for word in text.lower().split()}
        return np.array([len(words & seen) / len(words | seen) if words | seen else 0.0 for words in self.words])


class Weighted(Overlap):
    """Has an option that is not part of its name."""

    name = "Weighted"

    def __init__(self, weight: float, then: Callable[[float], float] | None = None) -> None:
        self.weight, self.then = weight, then

    def scores(self, sent: Sent) -> "np.ndarray[Any, np.dtype[np.float64]]":
        return self.weight * super().scores(sent)


@dataclass(frozen=True, kw_only=True)
class Reversed(QueryMechanism):
    """Sends the words in reverse."""

    name: ClassVar[str] = "Reversed"
    summary: ClassVar[str] = "words in reverse order"
    strategy: ClassVar[str] = "heuristic"
    parameter: ClassVar[str] = "strength"
    hides_more: ClassVar[Any] = "larger"
    strength: float = 1.0

    @property
    def guarantee(self) -> Guarantee:
        return NoGuarantee("a test")

    def variants(self, query: str, n: int, rngs: Any) -> Variants:
        return Variants([" ".join(reversed(query.split()))] * n)


@dataclass(frozen=True, kw_only=True)
class Replacing(Reversed):
    """Replaces words as a table says, which is no part of its name."""

    name: ClassVar[str] = "Replacing"
    parameter: ClassVar[str] = ""
    table: InitVar[Any] = None

    def __post_init__(self, table: Any) -> None:
        object.__setattr__(self, "_table", table)

    @functools.cached_property
    def _used(self) -> object:
        return object()  # cannot be hashed, and need not be

    def variants(self, query: str, n: int, rngs: Any) -> Variants:
        _ = self._used
        table = getattr(self, "_table")  # noqa: B009 - set in an unusual way
        return Variants([" ".join(table(word) if callable(table) else table[0] for word in query.split())] * n)


class First(Retriever):
    """Finds the first documents of a collection, whatever is asked."""

    name = "first"
    fingerprint = "first-1"

    def search(self, queries: Sequence[str], depth: int, progress: Progress | None = None) -> list[Ranking]:
        return [Ranking([f"garden-{number:02d}" for number in range(depth)], np.zeros(depth)) for _ in queries]


class Longest(Scorer):
    """Prefers long names."""

    name = "longest"
    fingerprint = "longest-1"

    def score_many(self, batches: Any, progress: Progress | None = None) -> list[Any]:
        return [np.array([len(docno) for docno in docnos], float) for _, docnos in batches]


def test_a_mechanism_as_an_object(village: Path, small_copy: Path, saved: Saved) -> None:
    specs = [Reversed(strength=0.5), "CMP@5", Reversed(strength=2.0)]
    found = tiny.run(village, small_copy, **{**SMALL, "specs": specs})
    assert found.mechanisms == ["Reversed", "CMP", "Identity", "Random"]
    assert found.hides_more["Reversed"] == "larger"
    sent = found.obfuscated.query("mechanism == 'Reversed' and qid == 'q2'")["query"]
    assert set(sent) == {"blossom apple on frost"}
    saved()
    assert tiny.run(village, small_copy, **{**SMALL, "specs": specs}).digest == found.digest
    assert saved() == {}
    with pytest.raises(InputError, match=r"its own mechanisms; call qk\.evaluate"):
        resume(small_copy)


def test_the_state_of_a_mechanism_counts(village: Path, small_copy: Path, saved: Saved) -> None:
    def obfuscate(one: Replacing) -> dict[str, int]:
        saved()
        with pytest.raises(KeyboardInterrupt):
            tiny.run(village, small_copy, Until("searching (bm25)"), **{**SMALL, "specs": [one]})
        return saved()

    apples, pears = Replacing(table=["apple"]), Replacing(table=["pear"])
    for one, computed in ((apples, True), (apples, False), (Replacing(table=["apple"]), False), (pears, True)):
        assert ("obfuscated" in obfuscate(one)) == computed
    found = tiny.run(village, small_copy, **{**SMALL, "specs": [pears]})
    assert set(" ".join(found.obfuscated.query("mechanism == 'Replacing'")["query"]).split()) == {"pear"}
    for _ in range(2):  # what cannot be hashed is never taken for known
        assert obfuscate(Replacing(table=lambda word: word[::-1]))["obfuscated"] == 1


def test_a_mechanism_of_options_and_resources_has_no_other_state() -> None:
    pets = qk.Vectors(["cat", "dog"], np.eye(2))
    for one in (qk.CMP(epsilon=5, vectors=pets), qk.AEA(level=3), qk.Identity(), Reversed(strength=2.0)):
        assert state_hash(one) == ""
    assert state_hash(Replacing(table=["pear"])) != state_hash(Replacing(table=["apple"]))


def left(word: str) -> Any:
    return np.array([1.0, 0.0])


def right(word: str) -> Any:
    return np.array([0.0, 1.0])


def test_how_vectors_compose_words_counts() -> None:
    def bound(compose: Any) -> list[str]:
        return resources_of(qk.CMP(epsilon=5, vectors=qk.Vectors(["cat", "dog"], np.eye(2), compose=compose)))

    assert bound(left) == bound(left) != bound(right) != bound(None)
    assert len(bound(None)) == 1
    unnamed = functools.partial(left)
    assert bound(unnamed) == bound(functools.partial(left)) != bound(functools.partial(right))
    local = lambda word: left(word).copy()  # noqa: E731 - without a name to be found by
    assert bound(local) != bound(local), "good for one run"


class Verbatim(Identity):
    """Has a name that it did not choose."""


def test_an_object_is_not_taken_for_what_is_named_alike(village: Path) -> None:
    vectors = qk.load_vectors(village / "vectors.txt")
    for specs in (["CMP@5", qk.CMP(epsilon=5, vectors=vectors)], [qk.CMP(epsilon=10, vectors=vectors), "cmp"]):
        with pytest.raises(InputError, match=r"CMP@(5|10) is given by name and as an object.*keep one"):
            tiny.run(village, **{**SMALL, "specs": specs})
    with pytest.raises(InputError, match=r"Verbatim is called Identity like a reference.*name of its own"):
        tiny.run(village, **{**SMALL, "specs": [Verbatim()]})
    assert tiny.run(village, **{**SMALL, "specs": ["AEA@3", Identity()]}).mechanisms == ["AEA", "Identity", "Random"]


def test_the_state_of_an_attacker_counts(village: Path, small_copy: Path, saved: Saved) -> None:
    def attack(one: Weighted) -> dict[str, int]:
        saved()
        with pytest.raises(KeyboardInterrupt):
            tiny.run(village, small_copy, Until("measuring risk"), **SMALL, attackers=[one])
        return saved()

    for attacker, computed in ((Weighted(1.0), True), (Weighted(1.0), False), (Weighted(-1.0), True)):
        assert ("ranks" in attack(attacker)) == computed
    found = tiny.run(village, small_copy, **SMALL, attackers=[Weighted(-1.0)])
    same(found.ranks, tiny.run(village, **SMALL, attackers=[Weighted(-1.0)]).ranks)
    for _ in range(2):  # what cannot be hashed is never taken for known
        assert "ranks" in attack(Weighted(1.0, lambda score: score))


def typed(base: type, name: str, sign: float) -> Any:
    """Return a class as a prompt makes it: without a file."""
    space: dict[str, Any] = {"__name__": "a_prompt", "Base": base, "sign": sign}
    exec(f"class {name}(Base):\n  name = '{name}'\n  def scores(self, sent): return sign * super().scores(sent)", space)
    return space[name]


@pytest.mark.slow
def test_an_attacker_typed_anew_is_another(village: Path, tmp_path: Path, saved: Saved) -> None:
    choices = {**SMALL, "specs": ["AEA@3"]}
    first, second = typed(Overlap, "Typed", 1.0), typed(Overlap, "Typed", -1.0)
    for kind, computed in ((first, True), (first, False), (second, True)):
        saved()
        tiny.run(village, tmp_path / "out", **choices, attackers=[kind()])
        assert ("ranks" in saved()) == computed


@pytest.mark.parametrize(
    "twice",
    [
        {"attackers": [Weighted(1.0), Weighted(2.0)]},
        {"attackers": ["QuIA", "quia"]},
        {"specs": [Reversed(), Reversed()]},
    ],
)
def test_two_of_one_name_are_refused_before_any_work(village: Path, tmp_path: Path, twice: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"given twice|are called"):
        tiny.run(village, tmp_path / "out", **{**SMALL, **twice})
    assert not (tmp_path / "out" / "artifacts").exists()


@pytest.mark.slow
def test_a_retriever_and_a_reranker_as_objects(village: Path, tmp_path: Path, saved: Saved) -> None:
    choices = {key: value for key, value in tiny.choices(village).items() if key != "systems"} | {"specs": ["CMP@5"]}
    found = qk.evaluate(**choices, retriever=First(), reranker=Longest(), out=tmp_path / "out")
    assert found.systems == ["first + longest"]
    pooled = found.settings["pooled"]
    assert (pooled <= 4).all() and found.settings.query("mechanism == 'Identity'")["pooled"].item() == 4
    saved()
    qk.evaluate(**choices, retriever=First(), reranker=Longest(), out=tmp_path / "out")
    assert saved() == {}
    changed = First()
    changed.fingerprint = "first-2"
    qk.evaluate(**choices, retriever=changed, reranker=Longest(), out=tmp_path / "out")
    assert set(saved()) == {"pool", "ceiling"}
    mixed = qk.evaluate(**{**choices, "specs": ["Random"]}, retriever=["bm25", First()], reranker="bm25")
    assert mixed.systems == ["bm25 + bm25", "first + bm25"]


def test_what_is_not_an_extension_is_refused(village: Path) -> None:
    for wrong in ({"retriever": 3}, {"reranker": object()}, {"attackers": ["Nobody"]}, {"specs": [3]}):
        choices = {**tiny.choices(village), **wrong}
        if "retriever" in wrong or "reranker" in wrong:
            choices.pop("systems")
        with pytest.raises((InputError, qk.QuipukitError)):
            qk.evaluate(**choices)
    with pytest.raises(InputError, match="leave out retriever=, reranker= and rerank_on="):
        qk.evaluate(**tiny.choices(village), retriever="bm25")


def test_old_names_of_arguments_still_work(village: Path, small_copy: Path) -> None:
    choices = {**tiny.choices(village, **SMALL), "out": small_copy}
    with pytest.warns(DeprecationWarning, match=r"watch.*use progress="):
        old = qk.evaluate(**choices, watch=ProgressListener())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert qk.evaluate(**choices, progress=ProgressListener()).digest == old.digest


# --- software ---


def test_a_run_made_with_several_versions_says_so(village: Path, whole: Whole, finished: Path) -> None:
    assert whole.result.manifest["mixed_software"] == []
    path = sorted(finished.glob("artifacts/ranks/*.json"))[0]
    record = Record.loads(path.read_bytes())
    assert record is not None
    path.write_text(replace(record, software={**record.software, "numpy": "1.0.0"}).dumps(), encoding="utf-8")
    mixed = tiny.run(village, finished)
    assert mixed.manifest["mixed_software"] == ["numpy"]
    assert mixed.manifest["software"]["numpy"] == ["1.0.0", record.software["numpy"]]
    assert json.loads((finished / "manifest.json").read_text())["mixed_software"] == ["numpy"]
    same(mixed.ranks, whole.result.ranks)
