"""Post-processing: what happens to the words after they were drawn must not look at the query again.

Order and number of the words are all that the options of a text add. With ``shuffle`` the order must be random whatever
was asked: of the first and the last word that are sent, each is as often the first, in the order of the alphabet. With
``length`` the number of words must be that of the bin. And inputs that are the same to the mechanism (unknown words, a
word in upper case) must come out the same from the same noise; where they do not, they may still follow the same law,
which is left to the draws of other checks.
"""

from quipukit import seeds
from quipukit.auditing.findings import NOT_VIOLATED, VIOLATED, Check, Finding
from quipukit.auditing.pairs import unknown_words
from quipukit.mechanisms.base import OneGenerator
from quipukit.mechanisms.words import WordMechanism

NAME = "post-processing"
_VARIANTS = 64  # of inputs that are the same to the mechanism


def postprocessing_check(toy: WordMechanism, *, draws: int, alarm: float, seed: int) -> Check:
    """Look at the order and the number of the words that a mechanism sends on a toy vocabulary."""
    notes = [_same_noise(toy, seed)]
    queries = _queries(toy)
    if toy.shuffle:
        for query in queries:
            finding = _order(toy, query, draws, alarm / len(queries), seed)
            if isinstance(finding, Finding):
                return Check(NAME, "compared", VIOLATED, finding, draws=draws)
            notes.append(finding)
    if toy.bins is not None:
        for query in (*queries, queries[0].split()[0]):
            wanted = toy.bins.of(len(toy.tokens(query)))
            counts = {len(text.split()) for text in _texts(toy, query, _VARIANTS, seed)}
            if counts != {wanted}:
                evidence = f"{sorted(counts)} words, where the bin has {wanted}"
                finding = Finding("length", query, query, "the number of words is not that of the bin", 0, 0, evidence)
                return Check(NAME, "compared", VIOLATED, finding, draws=_VARIANTS)
        notes.append("the number of words is that of the bin")
    return Check(NAME, "compared", NOT_VIOLATED, draws=draws if toy.shuffle else 0, note="; ".join(notes))


def _queries(toy: WordMechanism) -> list[str]:
    """Return a query of words that are far from each other, and the same in reverse."""
    words = sorted(toy.vectors.words, key=lambda word: float(toy.vectors.vector(word)[0]))
    chosen = [words[0], words[len(words) // 2], words[-1]]
    return [" ".join(chosen), " ".join(reversed(chosen))]


def _texts(toy: WordMechanism, query: str, count: int, seed: int) -> list[str]:
    rng = seeds.keyed("audit post-processing", seed, repr(toy.spec), query)
    return type(toy).obfuscate_batch([toy], [("", query)], count, OneGenerator(rng))[0][0].texts


def _order(toy: WordMechanism, query: str, draws: int, alarm: float, seed: int) -> Finding | str:
    """Return what is wrong with the order of the words, or what was seen of it."""
    from scipy.stats import binomtest

    ends = [(words[0], words[-1]) for text in _texts(toy, query, draws, seed) if len(words := text.split()) > 1]
    apart = [first < last for first, last in ends if first != last]
    if not apart:
        return "all texts begin and end with the same word"
    rising = sum(apart)
    p = float(binomtest(rising, len(apart)).pvalue)
    evidence = f"of {len(apart):,} texts whose first and last words differ, {rising:,} have them in alphabetical order"
    if p < alarm:
        return Finding("order", query, query, "the order depends on the query", 0, 0, f"{evidence}; p = {p:.2g}")
    return evidence


def _same_noise(toy: WordMechanism, seed: int) -> str:
    known = next((word for word in toy.vectors.words if toy.tokens(word.upper()) == [word]), None)
    pairs = [(known, known.upper())] if known is not None else []
    if toy.oov == "anchor":
        first, second = unknown_words(toy, 2)
        pairs.append((first, second))
    same = 0
    for pair in pairs:
        rngs = [seeds.keyed("audit post-processing", seed, repr(toy.spec)) for _ in pair]
        sent = [
            type(toy).obfuscate_batch([toy], [("", text)], _VARIANTS, OneGenerator(rng))[0][0].texts
            for text, rng in zip(pair, rngs, strict=True)
        ]
        same += sent[0] == sent[1]
    return f"from the same noise the same texts, for {same} of {len(pairs)} pairs that are one input to the mechanism"
