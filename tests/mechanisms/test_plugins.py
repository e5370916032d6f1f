"""Mechanisms of others beside ours: their methods are called for themselves alone, and their defaults are theirs."""

import os
import subprocess
import sys
import warnings
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import pytest

from quipukit import registry
from quipukit.cli.obfuscate import _specs
from quipukit.errors import SpecError
from quipukit.experiment.grid import expand
from quipukit.guarantees import MetricDP, NoGuarantee
from quipukit.mechanisms.base import QueryMechanism, Variants, default_value
from quipukit.mechanisms.changes import change_since
from quipukit.mechanisms.cmp import CMP
from quipukit.mechanisms.custext import CusText
from quipukit.mechanisms.mahalanobis import Ellipsoid, Mahalanobis
from quipukit.mechanisms.sampling import Place, Sampling, SortedRow
from quipukit.mechanisms.santext import SanText
from quipukit.mechanisms.tem import TEM
from quipukit.mechanisms.vickrey import VickreyCMP
from quipukit.mechanisms.wbb import WBB
from quipukit.mechanisms.words import WordMechanism
from quipukit.obfuscation import bind, obfuscate, plan
from quipukit.plugins import temporarily_installed
from quipukit.specs import spec
from quipukit.testing import check_mechanism
from quipukit.vectors.store import Vectors

# The check for authors takes a second: of what it says of several, one or two are looked at every time.
SLOW = pytest.mark.slow
WORDS = [f"x{a}{b}" for a in "bcdfgh" for b in "jklmn"]
VECTORS = Vectors(WORDS, np.random.default_rng(4).standard_normal((30, 5)))
QUERY = " ".join(WORDS[3:9])


class Still(CMP):
    """CMP without noise: what it sends is the query. Nobody else may get its noise."""

    name = "Still"

    def stretch(self, directions):
        return 0 * directions


class Near(SanText):
    """Looks at the place alone: its neighborhood is the word itself."""

    name = "Near"

    def neighborhood(self, place: Place) -> SortedRow:
        near = super().neighborhood(place)
        return SortedRow(near.rows[:1], near.distances[:1])


@dataclass(frozen=True, kw_only=True)
class Reach(SanText):
    """Its neighborhood depends on an option and on epsilon, and its keys do not."""

    name = "Reach"
    reach: int = 1

    def neighborhood(self, place: Place) -> SortedRow:
        near = super().neighborhood(place)
        count = self.reach if self.epsilon < 5 else 2 * self.reach
        return SortedRow(near.rows[:count], near.distances[:count])


@dataclass(frozen=True, kw_only=True)
class Turned(CMP):
    """The stretch depends on an option."""

    name = "Turned"
    size: float = 1.0

    def stretch(self, directions):
        return self.size * directions


class Passing(WBB):
    """Sends every word as it is."""

    name = "Passing"

    def passes(self, word: str) -> bool:
        return True


def sent(members, noise, query=QUERY) -> dict:
    table = obfuscate({"q": query}, members, 6, seed=2, noise=noise)
    return {key: rows["query"].tolist() for key, rows in table.groupby(["mechanism", "value"])}


@pytest.mark.parametrize("noise", ["common", "independent"])
@pytest.mark.parametrize(
    "members",
    [
        [CMP(epsilon=1, vectors=VECTORS), Still(epsilon=1, vectors=VECTORS)],
        [Mahalanobis(epsilon=1, lam=0, vectors=VECTORS), Still(epsilon=2, vectors=VECTORS)],
        [SanText(epsilon=1, vectors=VECTORS), TEM(epsilon=1, vectors=VECTORS), Near(epsilon=1, vectors=VECTORS)],
        [Reach(epsilon=1, reach=reach, vectors=VECTORS) for reach in (1, 8)],
        [Reach(epsilon=epsilon, reach=4, vectors=VECTORS) for epsilon in (1, 9)],
        [Turned(epsilon=1, size=size, vectors=VECTORS) for size in (1.0, 0.0)],
        [WBB(epsilon=1, vectors=VECTORS), Passing(epsilon=1, vectors=VECTORS)],
    ],
    ids=lambda members: "+".join(repr(one.spec) for one in members),
)
def test_what_a_plugin_overrides_is_asked_for_itself_alone(members, noise):
    alone = {key: texts for one in members for key, texts in sent([one], noise).items()}
    assert len(set(map(tuple, alone.values()))) == len(members)  # they do differ, or this would show nothing
    for order in (members, members[::-1]):
        assert sent(order, noise) == alone


def test_ours_beside_a_plugin_does_not_send_the_query():
    for order in ([Still, CMP], [CMP, Still]):
        texts = sent([cls(epsilon=1, vectors=VECTORS) for cls in order], "common")
        assert set(texts["Still", 1.0]) == {QUERY} and QUERY not in texts["CMP", 1.0]


def test_ours_still_share_their_work():
    ours = bind(["CMP@1", "VickreyCMP@2", "SanText@1", "TEM@1", "TEM@2"], vectors=VECTORS)
    assert plan([*ours, Still(epsilon=1, vectors=VECTORS)]) == [[0, 1], [2, 3, 4], [5]]


# --- what a subclass promises ----------------------------------------------------------------------------------------


class Verbatim(CusText):
    name = "Verbatim"

    def passes(self, word: str) -> bool:
        return True


class Nearest(SanText):
    name = "Nearest"

    def law(self, near):
        return near.rows[:1], np.zeros(1)


class Pointed(Mahalanobis):
    name = "Pointed"

    @property
    def _ellipsoid(self):
        return Ellipsoid(np.zeros((5, 5)), 1.0, 1.0)


class Passer:
    def passes(self, word: str) -> bool:
        return True


class Mixed(Passer, CMP):
    name = "Mixed"


class Aside(WordMechanism):
    def passes(self, word: str) -> bool:
        return True


class Diamond(CMP, Aside):
    name = "Diamond"


class Widened(CMP):
    name = "Widened"
    scope = "all words of all languages"


class Grandchild(Still):
    name = "Grandchild"


class First(VickreyCMP):
    name = "First"

    def choose(self, found, distance, coins):
        return found[:, 0]


@pytest.mark.parametrize(
    ("cls", "change"),
    [
        (Verbatim, "passes of CusText"),
        (Nearest, "law of SanText"),
        (Near, "neighborhood of SanText"),
        (Pointed, "_ellipsoid of Mahalanobis"),
        (Still, "stretch of CMP"),
        (Grandchild, "stretch of CMP"),
        (Mixed, "passes of CMP"),
        (Diamond, "passes of WordMechanism"),
        (Widened, "scope of CMP"),
        (First, "choose of VickreyCMP"),
    ],
)
def test_a_subclass_that_changes_the_law_inherits_no_promise(cls, change):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = cls(epsilon=10, vectors=VECTORS).guarantee
    assert found == NoGuarantee(f"{cls.name} changes {change} and promises nothing of its own")


def test_a_subclass_that_changes_names_and_defaults_keeps_the_promise():
    @dataclass(frozen=True, kw_only=True)
    class Renamed(Mahalanobis):
        name, summary, grid, default = "Renamed", "another name", (1.0, 2.0), 2.0
        lam: float = 0.5
        helper: int = 3

        def __post_init__(self) -> None:
            super().__post_init__()

        @property
        def noise_family(self) -> str:
            return "renamed"

        def more(self) -> None:
            """Do what nobody else asks for."""

    assert Renamed(epsilon=10, vectors=VECTORS).guarantee == MetricDP(10, "mahalanobis, lam=0.5")


def test_a_subclass_speaks_for_itself():
    class Halved(CMP):
        name = "Halved"

        @property
        def promise(self):
            return MetricDP(2 * self.epsilon)

        def stretch(self, directions):
            return directions / 2

    class Deeper(Halved):
        name = "Deeper"

    for cls in (Halved, Deeper):
        assert cls(epsilon=10, vectors=VECTORS).guarantee == MetricDP(20)
    check_mechanism(Deeper(epsilon=2, vectors=VECTORS))


@pytest.mark.parametrize("name", registry.built_in_names())
def test_ours_promise_for_themselves(name):
    cls = registry.mechanism_class(name)
    if issubclass(cls, WordMechanism):
        assert change_since(cls, "promise") == ""


@pytest.mark.parametrize("base", [pytest.param(Still, marks=SLOW), pytest.param(Verbatim, marks=SLOW), Nearest])
def test_a_promise_that_what_is_sent_refutes_is_caught(base):
    class Liar(base):
        name = "Liar"

        @property
        def promise(self):
            return MetricDP(self.epsilon)

    with pytest.raises(AssertionError, match="sends every query as it is: the promise is not true"):
        check_mechanism(Liar(epsilon=2, vectors=VECTORS))


@pytest.mark.slow
def test_an_audit_refutes_what_looks_well():
    class Quarter(SanText):
        name = "Quarter"

        @property
        def promise(self):
            return MetricDP(self.epsilon / 4)

    check_mechanism(Quarter(epsilon=2, vectors=VECTORS))
    with pytest.raises(
        AssertionError, match=r"the claim 0\.5-metric DP .* is violated \(closed form\): .* nats, .* claimed"
    ):
        check_mechanism(Quarter(epsilon=2, vectors=VECTORS), audit=True)


@SLOW
@pytest.mark.parametrize("cls", [SanText, CMP])
def test_an_audit_passes_what_keeps_its_promise(cls):
    check_mechanism(cls(epsilon=2, vectors=VECTORS), audit=True)


def test_a_promise_about_whole_queries_is_refuted_likewise():
    class Parrot(QueryMechanism):
        name, summary, strategy = "Parrot", "the query in capitals", "heuristic"
        guarantee = MetricDP(1)

        def variants(self, query, n, rngs):
            return Variants([query.upper()] * n)

    with pytest.raises(AssertionError, match="the promise is not true"):
        check_mechanism(Parrot(), verbatim=True)


@pytest.mark.parametrize(
    "spec",
    [
        "SanText@50",
        *(pytest.param(one, marks=SLOW) for one in ("CMP@50", "VickreyCMP@50", "TEM@50", "CusText@50")),
        "Random",
    ],
)
def test_what_ours_promise_is_not_refuted(spec):
    # Words far from each other: at 50 all of them are sent as they are, at the least epsilon they are not.
    far = Vectors(WORDS, 1000 * VECTORS.matrix)
    check_mechanism(bind([spec], vectors=far)[0])


# --- the check for authors --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [Reach, *(pytest.param(one, marks=SLOW) for one in (Still, Near, Turned))])
def test_a_subclass_as_the_documentation_makes_it_passes(cls):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_mechanism(cls(epsilon=2, vectors=VECTORS))


@pytest.mark.parametrize("base", [Still, pytest.param(Near, marks=SLOW), pytest.param(Reach, marks=SLOW)])
def test_one_that_says_it_shares_work_and_does_not_work_alike_is_caught(base):
    class Careless(base):
        name = "Careless"
        shares_work = True

    with pytest.raises(AssertionError, match="in one batch with others"):
        check_mechanism(Careless(epsilon=2, vectors=VECTORS))


def test_one_that_takes_the_key_of_another_is_caught():
    class Thief(QueryMechanism):
        name, summary, strategy = "Thief", "stands in another's batch", "heuristic"
        guarantee = NoGuarantee("none")

        @property
        def batch_key(self) -> Hashable:
            return registry.mechanism_class("Identity")().batch_key

        @classmethod
        def obfuscate_batch(cls, group, queries, n, streams, tick=lambda _: None):
            return [[Variants(["mine"] * n) for _ in queries] for _ in group]

        def variants(self, query, n, rngs):
            return Variants(["mine"] * n)

    with pytest.raises(AssertionError, match="in one batch with others"):
        check_mechanism(Thief(), verbatim=True)


# --- parameter, grid and default --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Mine(QueryMechanism):
    """At strength 0 it sends the query."""

    name, summary, strategy = "Mine", "the query, or something else", "heuristic"
    parameter = "strength"
    guarantee = NoGuarantee("a test")
    strength: float = 0.5

    def variants(self, query, n, rngs):
        return Variants([query if self.strength == 0 else "else"] * n)


class Graded(Mine):
    name = "Graded"
    grid = (1.0, 2.0)
    default = 2.0


@dataclass(frozen=True, kw_only=True)
class Bare(QueryMechanism):
    name, summary, strategy = "Bare", "has a parameter without any default", "heuristic"
    parameter = "strength"
    guarantee = NoGuarantee("a test")
    strength: float

    def variants(self, query, n, rngs):
        return Variants(["else"] * n)


@pytest.fixture
def installed():
    with temporarily_installed("quipukit.mechanisms", Mine=Mine, Graded=Graded, Bare=Bare):
        yield


def test_the_default_is_the_fields_where_the_class_sets_none():
    assert default_value(Mine) == 0.5 and default_value(Graded) == 2.0
    with pytest.raises(SpecError, match=r"Bare has no default strength; name one, as in Bare@1"):
        default_value(Bare)


def test_obfuscating_takes_the_default(installed):
    assert _specs(["Mine", "Graded"], []) == [spec("Mine@0.5"), spec("Graded@2")]
    assert obfuscate("a secret", _specs(["Mine"], []), 1)["query"].tolist() == ["else"]
    with pytest.raises(SpecError, match="no default strength"):
        _specs(["Bare"], [])
    with pytest.raises(SpecError, match=r"Mine has no epsilon; set its strength, as in Mine@0\.5"):
        _specs(["Mine"], [1.0])


def test_evaluating_measures_the_grid_or_the_default_and_says_so(installed):
    assert expand(["Graded"])[:2] == [spec("Graded@1"), spec("Graded@2")]
    with pytest.warns(
        UserWarning, match=r"Mine has no grid, so it is measured at its default alone \(strength = 0.5\)"
    ):
        assert expand(["Mine"])[0] == spec("Mine@0.5")
    with pytest.raises(SpecError, match="Bare has no default strength"):
        expand(["Bare"])


def test_the_list_shows_every_plugin(installed):
    from quipukit.cli.listing import _describe

    assert _describe("Mine", VECTORS)["default"] == 0.5
    assert "no default strength" in _describe("Bare", VECTORS)["guarantee"]


@pytest.mark.slow
def test_the_commands_take_a_plugin_without_grid_and_default(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from dataclasses import dataclass\n"
        "from quipukit.guarantees import NoGuarantee\n"
        "from quipukit.mechanisms.base import QueryMechanism, Variants\n\n\n"
        "@dataclass(frozen=True, kw_only=True)\n"
        "class Mine(QueryMechanism):\n"
        "    name, summary, strategy, parameter = 'Mine', 'the query, or something else', 'heuristic', 'strength'\n"
        "    guarantee = NoGuarantee('a test')\n"
        "    strength: float = 0.5\n\n"
        "    def variants(self, query, n, rngs):\n"
        "        return Variants([query if self.strength == 0 else 'else'] * n)\n"
    )
    info = tmp_path / "mine-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[quipukit.mechanisms]\nMine = mine:Mine\n")
    path = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH", ""))))

    both = (
        "from quipukit.cli import main\n"
        "for line in ('obfuscate my-secret -m Mine -n 1 --tsv', 'evaluate -m Mine --topics 2 --dry-run'):\n"
        "    try:\n"
        "        main(line.split())\n"
        "    except SystemExit as end:\n"
        "        assert not end.code, line\n"
    )
    command = [sys.executable, "-c", both]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 0, done.stderr
    assert "secret" not in done.stdout and "Mine\tstrength\t0.5" in done.stdout
    assert "warning: Mine has no grid, so it is measured at its default alone (strength = 0.5)" in done.stderr


def test_sampling_is_what_a_plugin_derives_from():
    # docs/plugins.md: a law over the vocabulary, and the rest for free.
    @dataclass(frozen=True, kw_only=True)
    class Second(Sampling):
        name, summary = "Second", "one of the two nearest words"

        @property
        def promise(self):
            return NoGuarantee("two words")

        def law(self, near):
            return near.rows[:2], np.zeros(2)

    check_mechanism(Second(vectors=VECTORS))
