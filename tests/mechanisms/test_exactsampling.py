"""Exact sampling: the law is enumerated bit by bit, and compared with fractions that were computed another way."""

import decimal
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import quipukit as qk
from quipukit.errors import SpecError
from quipukit.mechanisms.base import OneGenerator, RootSeed
from quipukit.mechanisms.exactsampling import distance_rounding, exact_positions, integer_weights
from quipukit.mechanisms.sampling import invert
from quipukit.vectors.store import Vectors
from tests.stat_checks import assert_chi2, refuted

LINE = Vectors(["a", "b", "c"], [[0.0], [1.0], [3.0]])
TABLES = [
    [0.0, -1.0, -3.0],
    [0.0, 0.0],
    [-0.1, 0.0, -50.0, -0.30000000000000004, -2.5],
    [0.0, -60.0, -800.0, -1.0],
    [-1e6, -1e6 - 1, -1e6 - 2],
    [-math.inf, 0.0, -math.inf, -1.0, -math.inf],
]


class Script:
    """Bits that were written down: what a uniform number goes on with."""

    def __init__(self, bits: int, count: int) -> None:
        """Take ``count`` blocks of 64 bits, the first one first; then a third: bits that are all 0 settle nothing."""
        self._blocks = [(bits >> 64 * (count - 1 - place)) & (2**64 - 1) for place in range(count)]
        self.taken = 0

    def bytes(self, length: int) -> bytes:
        assert length == 8
        self.taken += 1
        return (self._blocks.pop(0) if self._blocks else 2**64 // 3).to_bytes(8, "little")


def position(table: list[float], bits: int, blocks: int) -> int:
    """Return where a uniform number of 53 + 64 * blocks bits falls."""
    first = bits >> 64 * blocks
    script = Script(bits & (2 ** (64 * blocks) - 1), blocks)
    return int(exact_positions(np.array(table), np.array([first / 2**53]), lambda _: script)[0])


def exponential(exponent: Fraction) -> Fraction:
    """Return exp of a negative fraction with an error of less than 2^-400: a Taylor series of fractions."""
    halvings = max(0, math.ceil(-exponent).bit_length())
    # Repeated squares lose a factor of 2 of accuracy each: rounded to 600 bits, 400 are left.
    small, term, total = exponent / 2**halvings, Fraction(1), Fraction(1)
    for k in range(1, 150):
        term = Fraction(round(term * small / k * 2**700), 2**700)
        total += term
    for _ in range(halvings):
        total = Fraction(round(total * total * 2**700), 2**700)
    return total


def shares(table: list[float]) -> list[Fraction]:
    top = max(table)
    weights = [Fraction(0) if one == -math.inf else exponential(Fraction(one) - Fraction(top)) for one in table]
    return [weight / sum(weights) for weight in weights]


def boundaries(table: list[float], blocks: int) -> list[int]:
    """Return, for each row but the first, the least number of so many bits that falls on it or behind it."""
    bits = 53 + 64 * blocks
    ends = []
    for row in range(1, len(table)):
        low, high = 0, 2**bits
        while low < high:
            middle = (low + high) // 2
            if position(table, middle, blocks) >= row:
                high = middle
            else:
                low = middle + 1
        ends.append(low)
    return ends


@pytest.mark.parametrize("table", TABLES)
def test_the_law_is_exactly_that_of_the_table(table):
    """Falls on rows are monotone in the number, so the boundaries between them are the whole law: 2^-180 at a time."""
    blocks = 2
    scale = 2 ** (53 + 64 * blocks)
    expected = np.cumsum([Fraction(0), *shares(table)])[1:-1]
    for least, share in zip(boundaries(table, blocks), expected, strict=True):
        assert abs(least - share * scale) <= 1  # the boundary lies inside one number of so many bits


def test_a_rounded_table_is_noticed():
    """The twin: the same enumeration with a weight that is off by 2^-50 finds boundaries far from the law."""
    table = [0.0, -1.0, -3.0]
    wrong = [0.0, -1.0 + 2**-50, -3.0]
    scale = 2**181
    expected = np.cumsum([Fraction(0), *shares(table)])[1:-1]
    assert all(abs(b - share * scale) > 2**100 for b, share in zip(boundaries(wrong, 2), expected, strict=True))


def test_the_usual_sampler_is_not_exact_and_this_one_is_on_all_numbers_of_few_bits():
    table = [0.0, -60.0, -0.5]  # the second has a share of 5e-27: no number of 53 bits can fall on it
    ends = boundaries(table, 2)
    assert (ends[1] - ends[0]) / 2**181 == pytest.approx(math.exp(-60) / (1 + math.exp(-60) + math.exp(-0.5)))
    grid = np.arange(2**12) / 2**12
    usual = invert(np.exp(table), grid)
    assert 1 not in usual
    middles = [position(table, (number << 1 | 1) << 168, 2) for number in range(2**12)]
    assert middles == invert(np.exp(table), grid + 2.0**-13).tolist()


def test_more_bits_are_drawn_only_where_they_decide():
    asked: list[int] = []

    def further(number: int) -> Script:
        asked.append(number)
        return Script(2**63, 1)

    equal = np.zeros(2)
    uniforms = np.array([[0.25, 0.5 - 2.0**-53], [0.75, 0.5]])
    # A half is where the two rows meet: 0.5 and what follows belongs to the second, all below to the first.
    assert exact_positions(equal, uniforms, further).tolist() == [[0, 0], [1, 1]]
    assert asked == [1, 3]
    drawn = np.random.default_rng(5).random(100_000)
    asked.clear()
    table = -np.random.default_rng(6).gamma(3, 2, 1000)
    exact = exact_positions(table, drawn, further)
    assert (exact == invert(np.exp(table - table.max()), drawn)).all()
    assert asked == []  # 4e-9 of all numbers


def test_a_boundary_that_is_a_binary_number_is_settled_in_the_end():
    script = Script(0, 5)
    assert exact_positions(np.zeros(4), np.array([0.75]), lambda _: script).tolist() == [3]
    assert script.taken == 6


def test_integer_weights_are_off_by_less_than_one():
    table = np.array([-0.3, -7.0, 0.0, -200.0])
    for digits in (5, 40, 90):
        for weight, one in zip(integer_weights(table, digits), table.tolist(), strict=True):
            assert abs(weight - exponential(Fraction(one)) * 10**digits) < 1


def test_the_exponential_is_well_within_what_is_assumed_of_it():
    """16 units of rounding are assumed; against correctly rounded decimals, 4 are not exceeded, and half of one is."""
    exponents = -np.random.default_rng(9).uniform(0, 700, 3000)
    with decimal.localcontext(prec=60):
        pairs = zip(exponents.tolist(), np.exp(exponents).tolist(), strict=True)
        worst = max(abs(decimal.Decimal(weight) / decimal.Decimal(one).exp() - 1) for one, weight in pairs) * 2**53
    assert 0.5 < worst < 4


@pytest.mark.parametrize("spec", ["SanText@2", "TEM@2", "TEM(gamma=1.5)@2", "CusText(k=3)@2", "SanText+(p=0.3)@2"])
def test_words_are_those_of_the_law(spec):
    name, value = spec.split("@")
    options = name.replace(")", ", exact=True)") if ")" in name else f"{name}(exact=True)"
    one = qk.mechanism(f"{options}@{value}", vectors=LINE)
    law = one.word_law("b")
    drawn = one.obfuscate("b", n=20_000, rng=np.random.default_rng(1))
    counts = np.array([drawn.count(LINE.words[row]) for row in law.rows])
    assert_chi2(counts, law.probabilities)  # false alarms: 1e-6
    assert refuted(assert_chi2, counts, np.roll(law.probabilities, 1))


def test_the_same_numbers_give_the_same_words_as_without():
    names = [a + b for a in "bdfghklmnprstvwz" for b in "aeiouy"]
    pets = Vectors(names, np.random.default_rng(2).standard_normal((len(names), 5)))
    for name, options in (("SanText", ""), ("TEM", ""), ("CusText", ""), ("WBB", ", all_tokens=True")):
        usual = qk.mechanism(f"{name}(exact=False{options})@3", vectors=pets)
        exact = qk.mechanism(f"{name}(exact=True{options})@3", vectors=pets)
        draws = [one.obfuscate("ba wo ba", n=500, rng=np.random.default_rng(4)) for one in (usual, exact)]
        assert draws[0] == draws[1]
    assert repr(exact.spec) == "WBB(exact=True, all_tokens=True)@3"


class HalfStreams:
    """Streams whose uniform numbers are all a half, where two equal words meet, and which say who asked for more."""

    def __init__(self) -> None:
        self.owners: list[str] = []

    def owner(self, mechanism: Any) -> str:
        return "me"

    def stream(self, owner: str, qid: str, text: str, variant: int) -> Any:
        self.owners.append(f"{owner}|{qid}|{variant}")
        half = Script(0, 0)
        half.random = lambda size: np.full(size, 0.5)  # type: ignore[attr-defined]
        return half


def test_each_number_goes_on_in_a_stream_of_its_own():
    twins = Vectors(["a", "b"], [[1.0], [1.0]])
    one = qk.mechanism("SanText(exact=True, oov='uniform')@2", vectors=twins)
    streams = HalfStreams()
    texts = type(one).obfuscate_batch([one], [("q", "a b"), ("r", "unknown a")], 2, streams)
    assert [variants.texts for variants in texts[0]] == [["b b"] * 2, ["b b"] * 2]
    first, more = streams.owners[:4], streams.owners[4:]
    assert first == ["me|q|0", "me|q|1", "me|r|0", "me|r|1"]
    assert len(set(more)) == len(more) == 8
    assert "me, further bits of word 1|r|0" in more


def test_seeds_and_generators_give_the_same_again():
    one = qk.mechanism("SanText(exact=True)@2", vectors=LINE)
    queries = [("q", "a b c a")]
    for streams in (lambda: RootSeed(3), lambda: OneGenerator(np.random.default_rng(3))):
        twice = [type(one).obfuscate_batch([one], queries, 50, streams())[0][0].texts for _ in range(2)]
        assert twice[0] == twice[1]


def test_the_guarantee_says_that_it_is_exact_and_what_rounding_adds():
    san = qk.mechanism("SanText(exact=True)@2", vectors=LINE).guarantee
    assert str(san) == "2-metric DP (euclidean) per word, sampled exactly (rounding adds 1.9e-14 at most)"
    assert san.composed(10).rounding == pytest.approx(10 * san.rounding)
    cus = qk.mechanism("CusText(k=3, exact=True)@2", vectors=LINE).guarantee
    assert str(cus) == "2-DP among the words of one group of 3 per word, sampled exactly"
    assert qk.mechanism("SanText@2", vectors=LINE).guarantee.rounding is None
    composing = Vectors(LINE.words, LINE.matrix, compose=lambda word: np.array([1e9]))  # as far off as it likes
    assert qk.mechanism("SanText(exact=True, oov='subword')@2", vectors=composing).guarantee.rounding is None
    with pytest.raises(SpecError, match="oov='anchor'"):
        qk.mechanism("SanText(exact=True, oov='gaussian')@2", vectors=LINE)
    with pytest.raises(SpecError, match="True or False"):
        qk.mechanism("SanText(exact=1)@2", vectors=LINE)


def test_the_rounding_of_distances_is_within_its_bound():
    """The table in float64 against the same in 80 bits, and the bound is not idle: a thousandth of it is exceeded."""
    rng = np.random.default_rng(8)
    words = Vectors([f"w{i}" for i in range(40)], rng.standard_normal((40, 300)) * 0.05)
    one = qk.mechanism("SanText(exact=True)@10", vectors=words)
    wide = words.matrix.astype(np.longdouble)
    far = np.sqrt(((wide[:, None] - wide[None]) ** 2).sum(axis=2))
    longest = 2 * float(np.linalg.norm(wide, axis=1).max())
    worst = 0.0
    for row in range(40):
        law = one.word_law(f"w{row}")
        logs = -5 * far[row]
        exact = logs - np.log(np.exp(logs - logs.max()).sum()) - logs.max()
        mine = np.log(law.probabilities.astype(np.longdouble))
        inside = law.probabilities > 1e-30
        worst = max(worst, float(abs(mine - exact[law.rows])[inside].max()))
    # Half of the bound is for one of the two inputs; word_law normalizes once more, by a few units of 1e-16.
    bound = distance_rounding(10, 300, longest) / 2
    assert bound / 1000 < worst < bound
