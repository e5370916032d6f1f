"""What is wrong with a file of obfuscated queries: general tests, each with the probability that it alarms falsely."""

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from quipukit.auditing.filedata import Family, Setting
from quipukit.auditing.findings import NOT_VIOLATED, VIOLATED, Check, Finding
from quipukit.auditing.laws import LogLaw, log_law
from quipukit.errors import NoClosedForm, QuipukitError
from quipukit.mechanisms.words import WordMechanism
from quipukit.registry import mechanism_class

_SHOWN = 5
_APART = 2.0  # times the smaller value: nearer ones may well differ little
_INERT = 0.1  # part of the agreement within a setting: a smaller difference is no effect that anybody would see


def kept_words(family: Family, alarm: float) -> Check:
    """Look for words that are always sent as they are at some value, although others hardly ever are there.

    Said of a word whose probability of being kept is one half at most, it is false with probability ``alarm`` at most,
    over all words and values.
    """
    name = f"{family.mechanism}: words sent as they are"
    if 2 * len(family.tokens) < len(family.originals) or not family.tokens:
        return Check(name, "compared", NOT_VIOLATED, note="most variants cannot be laid beside their originals")
    checks = [_kept_at(name, family, setting, alarm / len(family.settings)) for setting in family.settings]
    return next((one for one in checks if one.verdict == VIOLATED), checks[0])


def _kept_at(name: str, family: Family, setting: Setting, alarm: float) -> Check:
    kept: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for word, sent in family.aligned(setting):
        kept[word][0] += word == sent
        kept[word][1] += 1
    usual = median(hits / total for hits, total in kept.values()) if kept else 1.0
    least = math.log2(max(1, len(kept)) / alarm)
    always = sorted(word for word, (hits, total) in kept.items() if hits == total >= least)
    return _check(name, setting, always, len(kept), usual, "word", "always sent as it is")


def verbatim_queries(family: Family, alarm: float) -> Check:
    """Look for queries whose variants are all the query itself, although those of others hardly ever are."""
    name = f"{family.mechanism}: queries sent as they are"
    setting = family.settings[0]
    known = {qid: texts for qid, texts in setting.sent.items() if qid in family.originals and texts}
    if not known:
        return Check(name, "compared", NOT_VIOLATED, note="the originals are not known")
    shares = {qid: sum(family.is_verbatim(qid, text) for text in texts) / len(texts) for qid, texts in known.items()}
    least, usual = math.log2(len(known) / alarm), median(map(len, known.values()))
    # A single text where others have many is no draw: something was sent for want of anything else.
    always = sorted(
        qid
        for qid, share in shares.items()
        if share == 1 and (len(known[qid]) >= least or len(known[qid]) == 1 < usual / 5)
    )
    return _check(name, setting, always, len(known), median(shares.values()), "query", "always sent as it is")


def _check(name: str, setting: Setting, always: list[str], of: int, usual: float, kind: str, event: str) -> Check:
    if usual > 0.5:
        note = f"{setting.name} keeps more than half of what is usual ({usual:.2f}): nothing can be told"
        return Check(name, "compared", NOT_VIOLATED, note=note)
    if not always:
        return Check(name, "compared", NOT_VIOLATED, note=f"none of {of:,} at {setting.name}")
    shown = ", ".join(map(repr, always[:_SHOWN])) + (" ..." if len(always) > _SHOWN else "")
    evidence = f"{len(always):,} of {of:,} at {setting.name}, where {usual:.2f} is the median share: {shown}"
    return Check(name, "compared", VIOLATED, Finding(kind, always[0], always[0], event, 0.0, 0.0, evidence))


def shared_noise(family: Family, alarm: float) -> Check:
    """Compare what neighboring settings send in the same row, and in different ones: two tests, whichever sees more.

    With independent noise the same row agrees no more often than another. `_agreement` looks at new words alone, which
    is what noise on vectors shares; `_swaps` at all words, those that are kept too, which is what shows where a word
    is drawn from a table of probabilities.
    """
    name = f"{family.mechanism}: noise shared between settings"
    if _is_heuristic(family.mechanism):
        return Check(name, "compared", NOT_VIOLATED, note="its rows are in an order, and no draws")
    pairs = list(pairwise(family.settings))
    if not pairs:
        return Check(name, "compared", NOT_VIOLATED, note="one setting: nothing to compare")
    tests = [test(family, pairs[place : place + 1]) for test in (_agreement, _swaps) for place in range(len(pairs))]
    if len(pairs) > 2:  # all at once: every setting once, so that the rows are independent
        tests += [test(family, pairs[::2]) for test in (_agreement, _swaps)]
    strongest = min(tests, key=lambda one: one.p)  # the first of equal ones
    counted = f"{len(pairs):,} {'pair' if len(pairs) == 1 else 'pairs'} of settings"
    if strongest.p >= alarm / len(tests):
        note = f"{counted}; smallest p {_p(strongest.p)}"
        return Check(name, "compared", NOT_VIOLATED, note=note)
    finding = Finding(
        "noise", *strongest.settings, strongest.event, 0.0, 0.0, f"{strongest.evidence}; p {_p(strongest.p)}"
    )
    return Check(name, "compared", VIOLATED, finding, note=counted)


@dataclass(frozen=True)
class _RowTest:
    """Whether rows of settings go together: the probability of as much by chance, and what was counted."""

    p: float
    settings: tuple[str, str]
    event: str
    evidence: str


def _agreement(family: Family, pairs: list[tuple[Setting, Setting]]) -> _RowTest:
    """Count rows with a new word in common, beside their own row and beside the next: Fisher's exact test.

    Words that are kept are left out. Rows of even number stand beside their own, the others beside the next.
    """
    from scipy.stats import fisher_exact

    table = [[0, 0], [0, 0]]  # the same row or another, agreeing or not
    for one, other in pairs:
        for qid, rows in one.words.items():
            others = other.words.get(qid, [])
            original = family.tokens.get(qid, [])
            for number in range(min(len(rows), len(others)) - 1):
                same = number % 2 == 0
                table[not same][not _agree(rows[number], others[number if same else number + 1], original)] += 1
    (hits, misses), (others_hit, others_missed) = table
    return _RowTest(
        float(fisher_exact(table, alternative="greater")[1]),
        (pairs[0][0].name, pairs[-1][1].name),
        "the same row of two settings agrees more often than different rows",
        f"{hits:,} of {hits + misses:,} rows agree, and {others_hit:,} of {others_hit + others_missed:,} beside "
        "another row",
    )


def _swaps(family: Family, pairs: list[tuple[Setting, Setting]]) -> _RowTest:
    """Exchange rows of one setting two by two, and see whether they agree less with those of the other: a sign test.

    Variants of a query are draws of one law. With independent noise their order means nothing, so that an exchange
    makes the agreement larger as often as smaller, whatever the laws are.
    """
    from scipy.stats import binomtest

    less = more = 0
    for one, other in pairs:
        for qid, rows in one.words.items():
            others = other.words.get(qid, [])
            for number in range(0, min(len(rows), len(others)) - 1, 2):
                (a, b), (c, d) = rows[number : number + 2], others[number : number + 2]
                gain = _equal(a, d) + _equal(b, c) - _equal(a, c) - _equal(b, d)
                less, more = less + (gain < 0), more + (gain > 0)
    return _RowTest(
        float(binomtest(less, less + more, alternative="greater").pvalue) if less + more else 1.0,
        (pairs[0][0].name, pairs[-1][1].name),
        "rows of two settings agree less often when they are exchanged",
        f"{less:,} exchanges of two rows lessen the agreement, and {more:,} raise it",
    )


def _equal(one: list[str], other: list[str]) -> int:
    return sum(a == b for a, b in zip(one, other, strict=False))


def _is_heuristic(mechanism: str) -> bool:
    try:
        return bool(mechanism_class(mechanism.partition("(")[0]).strategy == "heuristic")
    except QuipukitError:  # another program's mechanism
        return False


def _agree(one: list[str], other: list[str], original: list[str]) -> bool:
    """Return whether two variants have a word in the same place that is not the original's."""
    if len(original) != len(one):
        original = [""] * len(one)
    return any(a == b != word for a, b, word in zip(one, other, original, strict=False))


def _p(value: float) -> str:
    return f"= {value:.2g}" if value > 0 else "< 1e-300"  # too small for a number


def inert_parameter(family: Family) -> Check:
    """Compare the ends of a grid: a parameter that changes nothing gives as much agreement between them as within.

    This is about the size of an effect, and not a test: with three standard errors over the queries, it is less than a
    tenth of the agreement within a setting.
    """
    name = f"{family.mechanism}: a parameter without effect"
    if len(family.settings) < 2:
        return Check(name, "compared", NOT_VIOLATED, note="one setting: nothing to compare")
    low, high = family.settings[0], family.settings[-1]
    shared = [qid for qid in low.sent if len(high.sent.get(qid, ())) > 1 and len(low.sent[qid]) > 1]
    if len(shared) < 5:
        return Check(name, "compared", NOT_VIOLATED, note="fewer than five queries with several variants")
    same = [Counter(low.sent[qid]) == Counter(high.sent[qid]) for qid in shared]
    within = [_collisions(low, low, qid) for qid in shared]
    # Without bias, the sum of the squared differences of the probabilities: 0 for equal laws alone.
    gaps = [
        own + _collisions(high, high, qid) - 2 * _collisions(low, high, qid)
        for qid, own in zip(shared, within, strict=True)
    ]
    mean = sum(gaps) / len(gaps)
    error = math.sqrt(sum((gap - mean) ** 2 for gap in gaps) / (len(gaps) - 1) / len(gaps))
    level = sum(within) / len(within)
    evidence = (
        f"variants of one agree in {level:.3f} of their words, those of both as often within {mean + 3 * error:.3f}"
    )
    if all(same):
        evidence = f"the same texts for all {len(shared):,} queries"
    elif high.value < _APART * low.value:
        return Check(name, "compared", NOT_VIOLATED, note=f"{low.name} and {high.name} are too near to tell")
    elif abs(mean) + 3 * error > _INERT * level:
        note = f"{low.name} and {high.name} differ by {mean:.3f}, at {level:.3f}"
        return Check(name, "compared", NOT_VIOLATED, note=note)
    finding = Finding("parameter", low.name, high.name, "the parameter has no effect", 0.0, 0.0, evidence)
    return Check(name, "compared", VIOLATED, finding)


def _collisions(one: Setting, other: Setting, qid: str) -> float:
    """Return how often two variants have the same word in the same place: the mean over the places."""
    rows, others = one.words[qid], other.words[qid]
    places = min(max(map(len, rows), default=0), max(map(len, others), default=0))
    shares = []
    for place in range(places):
        a, b = (Counter(row[place] for row in side if len(row) > place) for side in (rows, others))
        total = a.total() * b.total() if one is not other else a.total() * (a.total() - 1)
        hits = sum(count * (b[word] if one is not other else count - 1) for word, count in a.items())
        if one is not other:  # rows of the same number may share their noise, which is another matter
            beside = [(x[place], y[place]) for x, y in zip(rows, others, strict=False) if min(len(x), len(y)) > place]
            hits, total = hits - sum(x == y for x, y in beside), total - len(beside)
        if total > 0:
            shares.append(hits / total)
    return sum(shares) / len(shares) if shares else 0.0


def case_leaks(family: Family) -> Check:
    """Look for upper case that comes from queries with upper case alone."""
    name = f"{family.mechanism}: case"
    if not family.originals:
        return Check(name, "compared", NOT_VIOLATED, note="the originals are not known")
    upper: dict[bool, list[str]] = {True: [], False: []}
    for setting in family.settings:
        for qid, texts in setting.sent.items():
            if any(text != text.lower() for text in texts) and qid in family.originals:
                upper[family.originals[qid] != family.originals[qid].lower()].append(qid)
    if not upper[True] or upper[False]:
        return Check(name, "compared", NOT_VIOLATED, note="what is sent in upper case does not tell how it was typed")
    lower = sum(text == text.lower() for text in family.originals.values())
    if not lower:
        return Check(name, "compared", NOT_VIOLATED, note="all originals have upper case: nothing can be told")
    qids = sorted(set(upper[True]))
    evidence = f"{len(qids):,} queries, and none of the {lower:,} that have none"
    event = "upper case is sent for queries that were typed in upper case"
    return Check(name, "compared", VIOLATED, Finding("case", qids[0], qids[0], event, 0.0, 0.0, evidence))


def impossible_words(family: Family, against: WordMechanism) -> Check:
    """Look for words that the mechanism which a file names cannot have sent for the word in their place."""
    name = f"{family.mechanism}: against {against.spec!r}"
    laws: dict[str, LogLaw | None] = {}
    wrong: Counter[tuple[str, str]] = Counter()
    total = 0
    setting = next((one for one in family.settings if one.value == against.value), family.settings[0])
    for word, sent in family.aligned(setting):
        if word not in laws:
            try:
                laws[word] = log_law(against, word)
            except NoClosedForm:
                laws[word] = None
        law = laws[word]
        if law is None:
            impossible = against.vectors.row(sent) < 0
        else:
            row = against.vectors.row(sent)
            impossible = row not in law.rows if row >= 0 else not (-1 in law.rows and sent == word)
        total += 1
        wrong[word, sent] += impossible
    wrong += Counter()
    if not total:
        return Check(name, "compared", NOT_VIOLATED, note="most variants cannot be laid beside their originals")
    if not wrong:
        return Check(name, "compared", NOT_VIOLATED, note=f"{total:,} words of {setting.name} can all have been sent")
    (word, sent), times = wrong.most_common(1)[0]
    verbatim = sum(count for (a, b), count in wrong.items() if a == b)
    evidence = f"{wrong.total():,} of {total:,} words, {verbatim:,} of them the original word; {sent!r} {times:,} times"
    event = "a word was sent that the mechanism cannot send"
    return Check(name, "compared", VIOLATED, Finding("law", word, word, event, 0.0, 0.0, evidence))
