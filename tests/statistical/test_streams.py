"""Streams: who shares noise with whom, and what a seed fixes.

Statistical checks: false-alarm rate 1e-6 each over the choice of the seed (seeds are fixed).
"""

import functools
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from quipukit import obfuscation
from quipukit.mechanisms import perturbation
from quipukit.mechanisms.vickrey import acceptance
from quipukit.obfuscation import obfuscate
from quipukit.vectors import nearest
from quipukit.vectors.store import Vectors
from tests.examples import slowly
from tests.stat_checks import assert_chi2, refuted

# Letters only, and no stop words: WBB takes no others into its boxes.
WORDS = [f"xq{a}{b}" for a in "abcdefghijklmnopqrst" for b in "abcdefghijklmno"]


@functools.cache
def vocabulary() -> Vectors:
    rng = np.random.default_rng(300)
    return Vectors(WORDS, 0.3 * rng.standard_normal((300, 12)) * np.linspace(0.7, 1.3, 12))


def queries(count: int = 9, length: int = 4) -> dict[str, str]:
    rng = np.random.default_rng(7)
    return {f"q{i}": " ".join(WORDS[w] for w in rng.integers(300, size=length)) for i in range(count)}


def table(frame: pd.DataFrame) -> dict[tuple, str]:
    """Everything that was sent, by setting, query and variant: rows in no order."""
    keys = zip(frame["mechanism"], frame["value"], frame["qid"], frame["variant"], strict=True)
    return dict(zip(keys, frame["query"], strict=True))


ALL = [
    "CMP@8",
    "CMP@12",
    "VickreyCMP@8",
    "Mahalanobis@8",
    "VickreyMhl(t=0.5)@8",
    "CusText@5",
    "SanText@8",
    "SanText+@8",
    "TEM@8",
    "WBB(all_tokens=True)@5",
    "WBB(mode='published', all_tokens=True)@5",
    "Random",
    "Identity",
]


def run(specs=ALL, asked=None, n=3, seed=5, **options) -> dict[tuple, str]:
    return table(obfuscate(asked or queries(), specs, n, vectors=vocabulary(), seed=seed, **options))


# --- what a seed fixes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", ["independent", "common"])
def test_same_seed_same_output_another_seed_another(noise):
    sent = run(noise=noise)
    assert run(noise=noise) == sent
    other = run(noise=noise, seed=6)
    for mechanism in {key[0] for key in sent} - {"Identity"}:
        mine = [text for key, text in sent.items() if key[0] == mechanism]
        assert mine != [text for key, text in other.items() if key[0] == mechanism], mechanism


@pytest.mark.parametrize("noise", ["independent", "common"])
def test_output_does_not_depend_on_order_subset_or_company(noise):
    sent = run(noise=noise)
    backwards = dict(reversed(list(queries().items())))
    assert run(noise=noise, asked=backwards) == sent
    assert run(ALL[::-1], noise=noise) == sent
    some = {qid: queries()[qid] for qid in ("q3", "q8")}
    assert run(noise=noise, asked=some) == {key: text for key, text in sent.items() if key[2] in some}
    for spec in ALL:
        alone = run([spec], noise=noise)
        assert alone == {key: sent[key] for key in alone}, spec


@pytest.mark.parametrize("noise", ["independent", "common"])
def test_first_variants_do_not_depend_on_how_many_there_are(noise):
    many = run(noise=noise, n=7)
    assert run(noise=noise, n=2) == {key: text for key, text in many.items() if key[3] < 2}


@pytest.mark.parametrize("noise", ["independent", "common"])
@pytest.mark.parametrize(
    ("chunk", "rows", "block", "tile", "threads"),
    [
        pytest.param(1, 1, 1, 64, 1, marks=pytest.mark.slow),
        (5, 7, 3, 1000, 2),
        pytest.param(4, 11, 512, 37, 3, marks=pytest.mark.slow),
    ],
)
def test_output_does_not_depend_on_batches_and_threads(noise, chunk, rows, block, tile, threads, monkeypatch):
    sent = run(noise=noise)
    monkeypatch.setattr(obfuscation, "_MOST_QUERIES", chunk)
    monkeypatch.setattr(perturbation, "_ROWS", rows)
    monkeypatch.setattr(nearest, "BLOCK", block)
    monkeypatch.setattr(nearest, "TILE", tile)
    monkeypatch.setenv("QUIPUKIT_THREADS", str(threads))
    assert run(noise=noise) == sent


@pytest.mark.parametrize("policy", ["gaussian", "uniform", "drop"])
def test_unknown_words_do_not_disturb_the_streams(policy, monkeypatch):
    asked = {qid: f"{text} unknown xqaa other" for qid, text in queries(4).items()}
    specs = [f"{name}(oov='{policy}')@8" for name in ("CMP", "VickreyMhl", "SanText", "TEM", "CusText")]
    sent = run(specs, asked)
    monkeypatch.setattr(obfuscation, "_MOST_QUERIES", 2)
    monkeypatch.setattr(perturbation, "_ROWS", 3)
    monkeypatch.setenv("QUIPUKIT_THREADS", "3")
    assert run(specs[::-1], dict(reversed(asked.items()))) == sent
    assert run(specs[:1], {"q2": asked["q2"]}, n=1) == {
        key: text for key, text in sent.items() if key[2:] == ("q2", 0) and key[0].startswith("CMP")
    }


def test_long_queries_are_worked_on_in_pieces_that_share_nothing(monkeypatch):
    # 2,500 words: longer than what is drawn at once. Where the batches end must not matter, and a second piece must
    # not see the noise of the first.
    asked = {"long": " ".join(["xqaa"] * 2500), "short": "xqaa xqab"}
    specs = ["CMP@4", "VickreyMhl@4", "SanText@4"]
    sent = run(specs, asked, n=2)
    monkeypatch.setattr(perturbation, "_ROWS", 700)
    monkeypatch.setattr(nearest, "BLOCK", 90)
    assert run(specs, asked, n=2) == sent
    assert perturbation._SEGMENT == 1024  # part of what a stream is: another number is other noise under the same seed
    for key, text in sent.items():
        if key[2] == "long":
            words = np.array(text.split())
            assert len(words) == 2500
            assert np.mean(words[:1024] == words[1024:2048]) < 0.5, key
            assert np.mean(words == np.array(sent[(*key[:3], 1 - key[3])].split())) < 0.5, key


def test_other_texts_under_one_id_have_noise_of_their_own():
    # Two collections that both number from 1: were the noise the same, what is sent for one query would tell about
    # the other. Random makes it visible, for its words are the noise. 40 words out of 300: a false alarm, which is
    # more than 5 equal ones, has probability 5e-9 over the seeds; shared noise makes all 40 equal.
    short, long = (run(["Random"], {"q": query}, n=20) for query in ("xqaa xqab", "xqaa xqac"))
    one, other = (np.array([text.split() for text in sent.values()]) for sent in (short, long))
    assert one.shape == (20, 2) and (one == other).sum() <= 5


def test_queries_positions_and_variants_have_noise_of_their_own():
    asked = {f"q{i}": "xqaa xqaa xqaa xqaa" for i in range(30)}
    sent = run(["Random"], asked, n=10)
    # Four draws out of 300 for each of 300 texts: any sharing would show as repeated texts or equal columns.
    assert len(set(sent.values())) == 300
    columns = np.array([text.split() for text in sent.values()])
    assert all((columns[:, a] == columns[:, b]).mean() < 0.1 for a in range(4) for b in range(a))


def test_without_a_seed_nothing_repeats():
    specs = [spec for spec in ALL if spec != "Identity"]
    first, second = run(specs, seed=None), run(specs, seed=None)
    for mechanism in {key[0] for key in first}:
        mine = [text for key, text in first.items() if key[0] == mechanism]
        assert mine != [text for key, text in second.items() if key[0] == mechanism], mechanism


def test_without_a_generator_nothing_repeats():
    one = obfuscation.mechanism("Random", vectors=vocabulary())
    sent = {one.obfuscate("xqaa xqab xqac xqad")[0] for _ in range(20)}
    assert len(sent) == 20


def test_the_global_generator_is_left_alone():
    np.random.seed(3)  # noqa: NPY002 - the very thing that must not matter
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    first = run()
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002
    np.random.seed(4)  # noqa: NPY002
    assert run() == first


# --- who shares noise -------------------------------------------------------------------------------------------


def agreement(a: list[list[str]], b: list[list[str]], original: list[str], shift: int) -> tuple[int, int]:
    """Count equal substitutions of two settings at variants that are `shift` apart."""
    b = b[shift:] + b[:shift]
    both = [
        (x, y)
        for row_a, row_b in zip(a, b, strict=True)
        for x, y, w in zip(row_a, row_b, original, strict=True)
        if x != w != y
    ]
    return sum(x == y for x, y in both), len(both)


def assert_no_common_noise(one: str, other: str, noise: str, alpha: float = 1e-6) -> None:
    """Row-aligned agreement of substituted words is not above the agreement of shifted rows.

    Both counts are sums of independent draws with one mean, so their difference is normal with at most the sum of
    the two binomial variances (where they depend, they do so positively). One-sided.
    """
    sent = run([one, other], queries(20, 8), n=40, noise=noise)
    settings = list(dict.fromkeys(key[:2] for key in sent))
    assert len(settings) == 2
    aligned = shifted = trials = 0
    for qid, text in queries(20, 8).items():
        a, b = ([sent[(*setting, qid, v)].split() for v in range(40)] for setting in settings)
        hits, count = agreement(a, b, text.split(), 0)
        aligned, trials = aligned + hits, trials + count
        shifted += agreement(a, b, text.split(), 1)[0]
    assert trials > 500, "too few substitutions to judge by"
    p = max(aligned + shifted, 1) / (2 * trials)
    z = (aligned - shifted) / np.sqrt(2 * trials * p * (1 - p))
    assert stats.norm.sf(z) >= alpha, f"{aligned} of {trials} agree in the same row, {shifted} in shifted rows"


PAIRS = [
    ("CMP@6", "CMP@7"),
    ("CMP@6", "VickreyCMP@6"),
    ("CMP@6", "Mahalanobis@6"),
    ("CMP@6", "Mahalanobis(lam=0)@6"),
    ("VickreyCMP@6", "VickreyMhl@6"),
    ("Mahalanobis@6", "Mahalanobis@7"),
    ("SanText@6", "SanText@7"),
    ("TEM@6", "TEM@7"),
    ("CusText@6", "CusText@7"),
    ("CusText@6", "CusText(mapping='topk')@6"),
    ("SanText@6", "TEM@6"),
    ("WBB(all_tokens=True)@6", "WBB(all_tokens=True)@7"),
]


@pytest.mark.statistical
@pytest.mark.parametrize(("one", "other"), [*PAIRS[:4], PAIRS[6], *slowly(PAIRS[4], PAIRS[5], *PAIRS[7:])])
def test_independent_settings_share_no_noise(one, other):
    assert_no_common_noise(one, other, "independent")


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("CMP@6", "CMP@7"),
        ("CMP@6", "VickreyCMP(t=0.25)@6"),
        ("Mahalanobis@6", "VickreyMhl(t=0.25)@7"),
        ("CusText@6", "CusText@7"),
        ("TEM@6", "TEM@6.01"),
    ],
)
def test_common_noise_is_noticed(one, other):
    # The twin: forked workers that inherit one generator look like this, and the check above tells.
    assert refuted(assert_no_common_noise, one, other, "common")


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("CMP@6", "Mahalanobis@6"),
        ("VickreyCMP@6", "VickreyMhl@6"),
        ("Mahalanobis@6", "Mahalanobis(lam=0.5)@6"),
        ("CMP@6", "SanText@6"),
        ("SanText@6", "TEM@6"),
    ],
)
def test_families_do_not_share_in_common_mode(one, other):
    assert_no_common_noise(one, other, "common")


def test_one_family_shares_in_common_mode():
    def texts(spec: str, noise: str = "common") -> list[str]:
        return list(run([spec], noise=noise).values())

    assert texts("VickreyCMP(t=0)@8") == texts("CMP@8")
    assert texts("VickreyMhl(t=0)@8") == texts("Mahalanobis@8")
    assert texts("Mahalanobis(lam=0)@8") == texts("CMP@8")
    assert texts("VickreyMhl(t=0, lam=0.5)@8") == texts("Mahalanobis(lam=0.5)@8")
    # Independent mode keeps all of them apart.
    assert texts("VickreyCMP(t=0)@8", "independent") != texts("CMP@8", "independent")
    assert texts("Mahalanobis(lam=0)@8", "independent") != texts("CMP@8", "independent")


def test_common_noise_shrinks_along_its_own_direction(monkeypatch):
    # One direction and one radius at epsilon 1 for the whole grid; the coin is shared as well.
    seen = []
    search = nearest.nearest_two

    def record(matrix, half_norms, bases, base_of, directions, radii):
        seen.append((directions, radii))
        return search(matrix, half_norms, bases, base_of, directions, radii)

    monkeypatch.setattr(nearest, "nearest_two", record)
    run(["CMP@2", "CMP@8", "VickreyCMP@2", "VickreyCMP@4"], noise="common")
    # One product for all: the specs of a family are searched together.
    assert len(seen) == 1
    radii = seen[0][1]
    assert radii.shape[1] == 3
    np.testing.assert_allclose(radii * np.array([2.0, 4.0, 8.0]), radii[:, :1] * 2 * np.ones(3))
    seen.clear()
    run(["CMP@2", "CMP@8"], noise="independent")
    assert len(seen) == 2
    assert not np.allclose(seen[0][0], seen[1][0])


# --- common mode keeps every law --------------------------------------------------------------------------------


LINE = np.array([0.0, 1.0, 3.0])
line = Vectors(["zero", "one", "three"], LINE[:, None])


def cells(frame: pd.DataFrame, mechanism: str, value: float) -> np.ndarray:
    chosen = frame[(frame["mechanism"] == mechanism) & (frame["value"] == value)]
    found = Counter(token for text in chosen["query"] for token in text.split())
    return np.array([found[word] for word in line.words])


def laplace_law(epsilon: float) -> np.ndarray:
    return np.diff([0, *stats.laplace(0, 1 / epsilon).cdf([0.5, 2.0]), 1])


def vickrey_law(epsilon: float, t: float = 0.75) -> np.ndarray:
    """By summing over a fine grid of noisy points: good to 1e-7, far below what 200,000 draws can see."""
    edges = stats.laplace(0, 1 / epsilon).ppf(np.linspace(0, 1, 2_000_001)[1:-1:2])
    gaps = np.abs(edges[:, None] - LINE)
    order = np.argsort(gaps, axis=1)
    near = np.take_along_axis(gaps, order, axis=1)
    first = acceptance(near[:, 0], near[:, 1], t)
    law = np.bincount(order[:, 0], first, 3) + np.bincount(order[:, 1], 1 - first, 3)
    return law / law.sum()


@pytest.mark.statistical
def test_common_mode_keeps_the_law_of_each_setting():
    specs = ["CMP@0.5", "CMP@1", "CMP@4", "VickreyCMP@1", "Mahalanobis@1", "SanText@1", "SanText@2", "TEM(gamma=1.5)@2"]
    asked = {f"q{i}": " ".join(["zero"] * 1000) for i in range(4)}
    frame = obfuscate(asked, specs, 25, vectors=line, seed=11, noise="common")
    for value in (0.5, 1.0, 4.0):
        assert_chi2(cells(frame, "CMP", value), laplace_law(value), smallest=50)
        assert refuted(assert_chi2, cells(frame, "CMP", value), laplace_law(2 * value), smallest=50)
    assert_chi2(cells(frame, "Mahalanobis", 1), laplace_law(1), smallest=50)
    assert_chi2(cells(frame, "VickreyCMP", 1), vickrey_law(1), smallest=50)
    assert refuted(assert_chi2, cells(frame, "VickreyCMP", 1), vickrey_law(1, 0.7), smallest=50)
    for value in (1.0, 2.0):
        weights = np.exp(-value / 2 * LINE)
        assert_chi2(cells(frame, "SanText", value), weights / weights.sum(), smallest=50)
    weights = np.exp(-np.minimum(LINE, 1.5))
    assert_chi2(cells(frame, "TEM(gamma=1.5)", 2), weights / weights.sum(), smallest=50)
