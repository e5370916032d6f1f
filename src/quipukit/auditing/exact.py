"""The exact audit: the worst ln P(y | x) - ln P(y | x') minus what is claimed, where the law has a closed form.

Over a sample of the inputs. The outputs are first the words of the sample; for the worst pairs then all of them.
"""

import hashlib
import heapq
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from quipukit import seeds
from quipukit.auditing.claims import Claims, Nothing
from quipukit.auditing.findings import HOLDS, NOTHING_CLAIMED, VIOLATED, Check, Finding
from quipukit.auditing.laws import ITSELF, Floats, LogLaw, log_law
from quipukit.auditing.pairs import twins, unknown_words
from quipukit.mechanisms.base import Mechanism
from quipukit.mechanisms.words import WordMechanism
from quipukit.progress import Progress

NAME = "closed form"
_SLOW_CLAIMS = 200  # inputs, where claims are asked one by one
_SPARSE = 4096  # outputs of one input: up to so many, all of them are kept
_REFINED = 32  # pairs that are looked at again, over all outputs
_AT_ONCE = 16  # inputs that are compared with all others in one pass over these
_IMPOSSIBLE = -1e30


def exact_check(
    mechanism: Mechanism,
    claims: Claims,
    *,
    inputs: int,
    seed: int,
    times: int = 1,
    name: str = NAME,
    progress: Progress | None = None,
) -> Check:
    """Compare the laws of many inputs with each other, in both directions.

    With ``times``, of so many independent releases: the worst loss of several is that of one, so many times.
    """
    slow = type(claims).losses is Claims.losses and not isinstance(claims, Nothing)
    texts = sample_inputs(mechanism, claims, min(inputs, _SLOW_CLAIMS) if slow else inputs, seed)
    blocks: dict[object, list[str]] = {}
    for text in texts:
        blocks.setdefault(claims.group(text), []).append(text)
    comparable = [block for block in blocks.values() if len(block) > 1]
    findings: list[Finding] = []
    pairs = done = 0
    for block in comparable:
        findings += _worst_of(_Laws(mechanism, block, seed, times), claims)
        pairs += len(block) * (len(block) - 1)
        done += len(block)
        if progress is not None:
            progress(done, len(texts))
        if findings[-1].loss == math.inf and findings[-1].claimed < math.inf:
            break  # nothing is worse
    note = f"{len(texts):,} inputs"
    if slow and inputs > _SLOW_CLAIMS:
        note = f"{note}, no more than {_SLOW_CLAIMS}: what is claimed of two of them has to be asked one by one"
    if not findings:
        return Check(name, "exact", HOLDS, None, note=f"{note}; no two of them are comparable")
    if isinstance(claims, Nothing):
        return Check(name, "exact", NOTHING_CLAIMED, max(findings, key=_badness), pairs, note=note)
    worst = max(findings, key=_badness)
    if worst.excess > claims.slack(worst.claimed):
        return Check(name, "exact", VIOLATED, worst, pairs, pairs, note=note)
    tightest = max(findings, key=_used)
    if tightest.claimed:
        note = f"{note}; at most {100 * _used(tightest):.3g} % of a claim is used up"
    return Check(name, "exact", HOLDS, tightest, pairs, pairs, note=note)


def _badness(finding: Finding) -> float:
    return finding.loss if finding.claimed == math.inf else finding.excess


def _used(finding: Finding) -> float:
    """Return the share of a claim that is used up; of a claim of nothing, none."""
    return finding.loss / finding.claimed if finding.claimed else 0.0


# --- inputs ---


def sample_inputs(mechanism: Mechanism, claims: Claims, count: int, seed: int) -> list[str]:
    """Return inputs that the claim is about: frequent, outlying, equal and unknown words, random ones and neighbors."""
    rng = seeds.keyed("audit inputs", seed)
    if not isinstance(mechanism, WordMechanism):
        pool: Any = mechanism.cover.pool  # type: ignore[attr-defined]
        rows = rng.permutation(len(pool))[: max(2, count - 3)]
        return [*(pool.texts[int(row)] for row in rows), "qqzzxv", "zzqqvx", f"{pool.texts[int(rows[0])]} qqzzxv"]
    vectors = mechanism.vectors
    words = vectors.words
    chosen = range(len(vectors)) if len(vectors) <= count else _rows(mechanism, rng, count)
    known = [words[row] for row in chosen if mechanism.tokens(words[row]) == [words[row]]]
    texts = dict.fromkeys([*unknown_words(mechanism, 2), *known])
    return [text for text in texts if claims.covers(text)][:count]


def _rows(mechanism: WordMechanism, rng: np.random.Generator, count: int) -> list[int]:
    from quipukit.vectors.nearest import distances, top_k

    vectors = mechanism.vectors
    random = rng.permutation(len(vectors))
    grouping = getattr(mechanism, "grouping", None)
    if grouping is not None:
        near = np.concatenate([grouping.group_of_place(vectors.matrix[row], row) for row in random[: count // 10]])
    else:
        points = vectors.matrix[random[: count // 4]].astype(np.float64)
        near = top_k(vectors.matrix, vectors.half_norms, points, 2).ravel()
    far = np.argsort(-distances(vectors.matrix, vectors.mean), kind="stable")[: count // 20]
    equal = [row for pair in twins(vectors, count // 20) for row in pair]
    frequent = range(count // 10)
    return list(dict.fromkeys([*equal, *far.tolist(), *frequent, *near.tolist(), *random.tolist()]))[:count]


# --- laws ---


class _Laws:
    """The laws of some inputs, at the same outputs: all of them, or those of a sample."""

    def __init__(self, mechanism: Mechanism, texts: Sequence[str], seed: int, times: int) -> None:
        """Compute the laws; wide ones are cut down to a sample of the outputs at once."""
        from quipukit.threads import in_threads

        self.mechanism, self.texts, self.times = mechanism, list(texts), times
        first = self.law(0)
        self.complete = len(first.rows) <= _SPARSE
        numbers = range(len(self.texts))
        if self.complete:
            laws = in_threads(self.law, numbers)
            self.columns = np.unique(np.concatenate([law.rows for law in laws]))
            self.supports = [law.support for law in laws]
            self.values = np.array([law.at(self.columns) for law in laws])
        else:
            own = np.array([self._row(text) for text in self.texts])
            extra = seeds.keyed("audit outputs", seed).choice(first.rows, min(500, len(first.rows)), replace=False)
            self.columns = np.unique(np.concatenate([own[own >= 0], extra]))

            def cut(number: int) -> tuple[bytes, Floats]:
                law = self.law(number)
                return hashlib.blake2b(law.support).digest(), law.at(self.columns)

            pieces = in_threads(cut, numbers)
            self.supports = [support for support, _ in pieces]
            self.values = np.array([values for _, values in pieces])

    def law(self, number: int) -> LogLaw:
        """Return the whole law of one input; a word that is sent as it is becomes an output of its own."""
        law = log_law(self.mechanism, self.texts[number])
        return LogLaw(np.where(law.rows == ITSELF, ITSELF - 1 - number, law.rows), law.logs)

    def name(self, row: int) -> str:
        """Return an output as a text."""
        if row < 0:
            return self.texts[ITSELF - 1 - row]
        if isinstance(self.mechanism, WordMechanism):
            return str(self.mechanism.vectors.words[row])
        return str(self.mechanism.cover.pool.texts[row])  # type: ignore[attr-defined]

    def _row(self, text: str) -> int:
        if isinstance(self.mechanism, WordMechanism):
            return self.mechanism.vectors.row(text)
        return int(self.mechanism.cover.pool.row(text))  # type: ignore[attr-defined]

    def finding(self, one: int, other: int, claim: float) -> Finding:
        """Return the output that tells two inputs apart best, over all outputs."""
        law, against = self.law(one), self.law(other)
        loss = law.logs - against.at(law.rows)
        # Of several impossible outputs the likeliest.
        place = int(np.argmax(np.where(np.isinf(loss), 1e6 + np.exp(law.logs), loss)))
        p, q = math.exp(law.logs[place]), math.exp(float(against.at(law.rows[place : place + 1])[0]))
        event = f"the output is {self.name(int(law.rows[place]))!r}"
        evidence = f"probability {p:.4g} against {q:.4g}"
        if self.times > 1:
            event, evidence = f"{event}, {self.times} times", f"{evidence} each time"
        total = self.times * float(loss[place])
        return Finding("exact", self.texts[one], self.texts[other], event, total, claim, evidence)


def _worst_of(laws: _Laws, claims: Claims) -> list[Finding]:
    """Return the worst pairs of some inputs: those that exceed their claim most, or use most of it up."""
    from quipukit.auditing.losses import largest_losses
    from quipukit.threads import in_threads

    texts, nothing = laws.texts, isinstance(claims, Nothing)
    broken = _different_supports(laws, claims, nothing)
    if broken is not None:
        return [broken]
    values = np.maximum(laws.values, _IMPOSSIBLE)

    def compare(first: int) -> list[tuple[float, float, int, int, float]]:
        losses = np.empty((min(_AT_ONCE, len(texts) - first), len(texts)))
        largest_losses(values, first, losses)
        losses *= laws.times
        return [one for number, own in enumerate(losses, first) for one in worst_of_row(number, own)]

    def worst_of_row(number: int, losses: Floats) -> list[tuple[float, float, int, int, float]]:
        claim = np.zeros(len(texts)) if nothing else claims.losses(texts[number], texts)
        excess = losses - claim
        used = np.divide(losses, claim, out=np.zeros(len(texts)), where=(claim > 0) & (claim < np.inf))
        excess[number] = used[number] = -np.inf
        worst = {*np.argsort(excess)[-4:].tolist(), *np.argsort(used)[-4:].tolist()} - {number}
        return [(float(excess[other]), float(used[other]), number, other, float(claim[other])) for other in worst]

    found = [one for several in in_threads(compare, range(0, len(texts), _AT_ONCE)) for one in several]
    worst = {*heapq.nlargest(_REFINED, found), *heapq.nlargest(_REFINED, found, key=lambda one: one[1])}
    return [laws.finding(one, other, math.inf if nothing else claim) for _, _, one, other, claim in sorted(worst)]


def _different_supports(laws: _Laws, claims: Claims, nothing: bool) -> Finding | None:
    """Return two comparable inputs of which one can send what the other cannot, where there are such."""
    first: dict[bytes, int] = {}
    for number, support in enumerate(laws.supports):
        first.setdefault(support, number)
    if len(first) == 1:
        return None
    kinds = np.array([first[support] for support in laws.supports])
    best: tuple[float, int, int] | None = None
    for number in list(first.values())[:_REFINED]:
        claim = np.zeros(len(laws.texts)) if nothing else claims.losses(laws.texts[number], laws.texts)
        others = np.flatnonzero((kinds != kinds[number]) & (claim < np.inf))
        if len(others):
            nearest = int(others[np.argmin(claim[others])])
            if best is None or claim[nearest] < best[0]:
                best = float(claim[nearest]), number, nearest
    if best is None:
        return None
    least, one, other = best
    both = [laws.finding(*pair, math.inf if nothing else least) for pair in ((one, other), (other, one))]
    return max(both, key=lambda finding: finding.loss)
