"""The check for authors of attackers."""

import copy
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from quipukit.attackers.base import Attacker, Floats, KnownLog, KnownSetting, Sent, fault_of
from quipukit.attackers.log import QueryLog
from quipukit.attackers.panel import Panel
from quipukit.attackers.registry import attacker_spec
from quipukit.encoders.base import similarities
from quipukit.errors import SpecError
from quipukit.testing.base import require

FALSE_ALARM = 1e-6  # how often each of the two controls fails an attacker that is in order

_WORDS = [
    "river",
    "stone",
    "paper",
    "garden",
    "winter",
    "doctor",
    "engine",
    "market",
    "silver",
    "bridge",
    "letter",
    "forest",
    "island",
    "pocket",
    "shadow",
    "summer",
    "tunnel",
    "window",
    "candle",
    "desert",
    "feather",
    "harbor",
    "jacket",
    "kitchen",
    "ladder",
    "mirror",
    "needle",
    "orange",
    "pencil",
    "rocket",
]
_ROWS, _ASKED, _READS = 240, 120, 10
_CLOSE = 1e-9


def check_attacker(attacker: Attacker, seed: int = 7) -> None:
    """Raise AssertionError, with the reason, where an attacker breaks what every attacker must keep.

    It says what it is and what it knows. For every query it gives one finite score per row of the log: whatever was
    sent (nothing but an empty text, one variant, words that nobody knows), and however few rows there are. The same log
    and the same texts give the same scores, no matter what was asked before. Scores follow their rows when the log is
    shuffled, so that no position in it reveals anything. Where it offers `sent_vectors`, their cosines are its scores.

    Run by the harness, it guesses the same whichever queries are said to be the originals, and in whatever order the
    log was completed with them. And it finds nothing where there is nothing to find: texts drawn without regard to the
    original leave the original's rank uniform, and texts sent for one query do not find another. Each of these two
    controls fails an attacker that is in order with a probability of at most ``FALSE_ALARM``, for a random ``seed``.
    """
    rng = np.random.default_rng(seed)
    name = _check_name(attacker)
    own = copy.copy(attacker)
    texts = _queries(rng, _ROWS)
    log = KnownLog(texts, rng.integers(1, 50, len(texts)))
    asked = [_sent(own, variants) for variants in _unusual(texts)]
    own.prepare(log)
    expected = _check_scores(name, own, asked, len(log))
    _check_repeated(name, own, asked, expected, log)
    _check_shuffled(name, own, asked, expected, log, rng)
    own.prepare(log)
    _check_vectors(name, own, asked, expected)
    _check_small_logs(name, own, asked, log)
    _check_unseen(name, attacker, rng)
    _check_noise(name, attacker, rng)
    _check_exchanged(name, attacker, rng)


# --- one log ------------------------------------------------------------------------------------------------------


def _check_name(attacker: Attacker) -> str:
    require(isinstance(attacker, Attacker), "an attacker must inherit quipukit.attackers.base.Attacker")
    fault = fault_of(attacker)
    require(fault is None, str(fault))
    name = repr(attacker.spec)
    try:
        written = repr(attacker_spec(name))
    except SpecError:
        written = name  # not registered, which an object need not be
    require(written == name, f"{name}: its spec does not read back as itself")
    return name


def _check_scores(name: str, attacker: Attacker, asked: Sequence[Sent], rows: int) -> list[Floats]:
    all_scores = []
    for sent in asked:
        scores = np.array(attacker.scores(sent), np.float64)  # a copy: what is returned may be overwritten
        require(scores.shape == (rows,), f"{name}: scores() gives {scores.shape} numbers for {rows} rows of the log")
        require(bool(np.isfinite(scores).all()), f"{name}: a score is not finite")
        all_scores.append(scores)
    return all_scores


def _check_repeated(
    name: str, attacker: Attacker, asked: Sequence[Sent], expected: Sequence[Floats], log: KnownLog
) -> None:
    again = [attacker.scores(sent) for sent in reversed(asked)][::-1]
    require(_equal(again, expected), f"{name}: the scores for a query depend on what was asked before, or on chance")
    attacker.prepare(log)
    again = [attacker.scores(sent) for sent in asked]
    require(_equal(again, expected), f"{name}: learning the same log again changes the scores")


def _check_shuffled(
    name: str,
    attacker: Attacker,
    asked: Sequence[Sent],
    expected: Sequence[Floats],
    log: KnownLog,
    rng: np.random.Generator,
) -> None:
    order = rng.permutation(len(log))
    attacker.prepare(KnownLog([log.texts[row] for row in order], log.counts[order]))
    shuffled = [attacker.scores(sent) for sent in asked]
    require(
        _equal(shuffled, [scores[order] for scores in expected]),
        f"{name}: a score depends on the place of its row in the log",
    )


def _check_vectors(name: str, attacker: Attacker, asked: Sequence[Sent], expected: Sequence[Floats]) -> None:
    vectors = attacker.sent_vectors(asked)
    if vectors is None:
        return
    known = attacker.log_vectors
    require(known is not None and len(known) == len(expected[0]), f"{name}: log_vectors must have one row per row")
    rows = np.asarray(known)
    cosines = [similarities(vector, rows, "cosine") for vector in vectors]
    require(_equal(cosines, expected), f"{name}: scores() are not the cosines of sent_vectors() with log_vectors")
    alone = [attacker.sent_vectors([sent]) for sent in asked]
    require(
        all(one is not None and np.array_equal(one[0], many) for one, many in zip(alone, vectors, strict=True)),
        f"{name}: sent_vectors() of a query depends on the batch that it comes in",
    )


def _check_small_logs(name: str, attacker: Attacker, asked: Sequence[Sent], log: KnownLog) -> None:
    for rows in (1, 0):
        attacker.prepare(KnownLog(log.texts[:rows], log.counts[:rows]))
        _check_scores(f"{name}, with a log of {rows}", attacker, asked, rows)


# --- the harness --------------------------------------------------------------------------------------------------


def _check_unseen(name: str, attacker: Attacker, rng: np.random.Generator) -> None:
    texts = _queries(rng, _ROWS)
    log, originals = QueryLog.of(texts[_READS:]), texts[:_READS]
    # What it learns from other users' queries depends, as it may, on which these are.
    attacker = copy.copy(attacker)
    attacker.learns_from_others = False  # type: ignore[misc]
    sent = _obfuscated(_halves(originals, rng))

    def guesses(given: Sequence[str]) -> list[str]:
        return Panel([attacker], log.completed(originals)).guesses(sent, _asked(given), 1)["query"].tolist()

    def counts(completed: Sequence[str]) -> list[list[int]]:
        # Not guesses: among equal scores the harness goes by the order of its log.
        ranks = Panel([attacker], log.completed(completed)).ranks(sent, _asked(originals))
        return ranks[["better", "tied"]].to_numpy().tolist()

    require(
        guesses(originals) == guesses(originals[::-1]), f"{name}: its guesses depend on which query is the original"
    )
    require(counts(originals) == counts(originals[::-1]), f"{name}: its ranks depend on the order of the injected rows")


def _drawn(attacker: Attacker, count: int, rng: np.random.Generator) -> tuple[list[str], Panel]:
    """Return originals, each any row of a log with equal probability, and the attacker with that log."""
    texts = _queries(rng, _ROWS)
    originals = [texts[row] for row in rng.integers(0, _ROWS, count)]
    others = [text for text in texts if text not in set(originals)]
    return originals, Panel([attacker], QueryLog.of(others).completed(originals))


def _check_noise(name: str, attacker: Attacker, rng: np.random.Generator) -> None:
    """Send random words: the original, any row with equal probability, is then as likely at one rank as at another."""
    originals, panel = _drawn(attacker, _ASKED, rng)
    noise = [tuple(_queries(rng, 3)) for _ in originals]
    places = _places(panel.ranks(_obfuscated(noise), _asked(originals)), rng)
    p = stats.kstest((places + rng.random(_ASKED)) / _ROWS, "uniform").pvalue
    require(
        p >= FALSE_ALARM,
        f"{name}: random words give the originals ranks that are not uniform (p = {p:.1g}): it knows more than it may",
    )


def _check_exchanged(name: str, attacker: Attacker, rng: np.random.Generator) -> None:
    """Send for every query what belongs to another one: it is found no more often than by chance."""
    # One more than is asked for: each is sent what belongs to the next. Given that one, all rows are equally likely the
    # original, so that the number of those found is binomial.
    originals, panel = _drawn(attacker, _ASKED + 1, rng)
    halves = _halves(originals[1:], rng)
    places = _places(panel.ranks(_obfuscated(halves), _asked(originals[:-1])), rng)
    hits = int((places < _READS).sum())
    p = float(stats.binom.sf(hits - 1, _ASKED, _READS / _ROWS))
    require(
        p >= FALSE_ALARM,
        f"{name}: it finds {hits} of {_ASKED} originals by what was sent for others (p = {p:.1g}): it knows more than "
        "it may",
    )


# --- what is sent -------------------------------------------------------------------------------------------------


def _queries(rng: np.random.Generator, count: int) -> list[str]:
    """Return distinct queries of three or four words, in random order."""
    queries: dict[str, None] = {}
    while len(queries) < count:
        queries[" ".join(rng.choice(_WORDS, rng.integers(3, 5), replace=False))] = None
    return list(queries)


def _halves(queries: Sequence[str], rng: np.random.Generator) -> list[tuple[str, ...]]:
    """Return three variants of every query, each with two of its words."""
    return [tuple(" ".join(rng.choice(query.split(), 2, replace=False)) for _ in range(3)) for query in queries]


def _unusual(texts: Sequence[str]) -> list[tuple[str, ...]]:
    return [
        (texts[0], texts[1], texts[0]),
        (texts[2],),
        ("",),
        (" \t", ""),
        ("qqzzxv zzqqvx",),
        ("заявление 離婚 what's (this)?", texts[3].upper()),
    ]


def _sent(attacker: Attacker, variants: tuple[str, ...]) -> Sent:
    if attacker.knows == "log":
        return Sent(variants)
    value = 10.0 if attacker.knows == "log+mechanism+epsilon" else None
    return Sent(variants, KnownSetting("CMP", "epsilon", value))


def _asked(originals: Sequence[str]) -> pd.DataFrame:
    return pd.DataFrame({"qid": [str(number) for number in range(len(originals))], "query": list(originals)})


def _obfuscated(sent: Sequence[Sequence[str]]) -> pd.DataFrame:
    rows = [(str(qid), variant, text) for qid, texts in enumerate(sent) for variant, text in enumerate(texts)]
    table = pd.DataFrame(rows, columns=["qid", "variant", "query"])
    return table.assign(mechanism="CMP", parameter="epsilon", value=10.0)


def _places(ranks: pd.DataFrame, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the places of the originals from 0; among rows of equal score any place is as likely."""
    better, tied = ranks["better"].to_numpy(), ranks["tied"].to_numpy()
    return better + rng.integers(0, tied + 1)


def _equal(scores: Sequence[Floats], expected: Sequence[Floats]) -> bool:
    pairs = zip(scores, expected, strict=True)
    return all(np.allclose(one, other, rtol=_CLOSE, atol=_CLOSE) for one, other in pairs)
