"""Traditional measures of similarity: how near an obfuscated query stays to the original, in words and in meaning.

They say how much a text changed, not what an attacker gains: a query can change beyond recognition and still be the
nearest entry of a log. All comparisons are of keys (case-folded, white space collapsed).
"""

import warnings
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from quipukit.encoders.encodings import Encodings
from quipukit.errors import InputError
from quipukit.frames import OBFUSCATED, QUERIES, SETTING
from quipukit.text import key, tokenize

Floats = NDArray[np.float64]

# Pairs of vectors multiplied at once: some tens of megabytes, for any number of rows.
_BLOCK = 16_384


class Encodes(Protocol):
    """What turns texts into the rows of a matrix."""

    def encode(self, texts: Sequence[str], kind: str = "query") -> NDArray[np.float32]:
        """Return one row per text."""


def similarity(
    obfuscated: pd.DataFrame,
    queries: pd.DataFrame,
    encoder: "str | Encodes | Callable[[list[str]], ArrayLike] | None" = "minilm",
) -> pd.DataFrame:
    """Return mean Jaccard and mean sentence similarity of every setting over all its (query, variant) rows.

    Columns: mechanism, parameter, value, jaccard, sentence_similarity. ``encoder`` is a name or path for
    `load_encoder`, an encoder, or a function from texts to a matrix; None leaves sentence_similarity NaN. Each distinct
    text is encoded once.
    """
    return _similarity(_compared(obfuscated, queries), encoder)


def failure_rates(obfuscated: pd.DataFrame, queries: pd.DataFrame) -> pd.DataFrame:
    """Return how often each setting fails to change anything.

    Columns beside the setting:

    - ``tokens``: of all positions, the share that holds the original's word, punctuation and accents aside. A
      variant's words are set against the original's one by one: as they stand between blanks or, if their number
      differs, against its tokens without punctuation. A variant with another number of words has no such positions;
      ``aligned`` is the share of variants that have;
    - ``verbatim``: of all variants, the share with the original's key;
    - ``any_verbatim``: of all queries, the share with at least one such variant, which is all an attacker needs;
    - ``variants`` and ``queries``: how many there are.
    """
    return _failure_rates(_compared(obfuscated, queries))


def similarity_and_failures(
    obfuscated: pd.DataFrame,
    queries: pd.DataFrame,
    encoder: "str | Encodes | Callable[[list[str]], ArrayLike] | None" = "minilm",
) -> pd.DataFrame:
    """Return the columns of `similarity` and of `failure_rates`; the texts are paired once."""
    compared = _compared(obfuscated, queries)
    failures = _failure_rates(compared).drop(columns=list(SETTING))
    return pd.concat([_similarity(compared, encoder), failures], axis=1)


def jaccard(first: str, second: str) -> float:
    """Return |A & B| / |A | B| of the sets of words between blanks of two texts' keys; 1 for two empty texts.

    >>> jaccard("do goldfish grow", "Do they  grow")
    0.5
    """
    a, b = set(key(first).split()), set(key(second).split())
    return len(a & b) / len(a | b) if a or b else 1.0


def text_cosines(
    pairs: Sequence[tuple[str, str]], encoder: "str | Encodes | Callable[[list[str]], ArrayLike]" = "minilm"
) -> Floats:
    """Return the cosine of the keys of each pair of texts; ``encoder`` as in `similarity`."""
    return _cosines([(key(first), key(second)) for first, second in pairs], _encode_function(encoder))


@dataclass(frozen=True)
class BertScore:
    """Precision, recall and F1 of each pair of texts."""

    precision: Floats
    recall: Floats
    f1: Floats


def bert_score(
    candidates: Sequence[ArrayLike],
    references: Sequence[ArrayLike],
    *,
    candidate_weights: Sequence[ArrayLike] | None = None,
    reference_weights: Sequence[ArrayLike] | None = None,
    baseline: float = 0.0,
) -> BertScore:
    """Compare texts by the vectors of their tokens, as BERTScore does, with any contextual encoder.

    Text i is a matrix with one row per token; rows are brought to length 1. Recall is the mean over the reference's
    tokens of the largest inner product with a token of the candidate, precision the same the other way round, F1 their
    harmonic mean. Weights (idf, one a token) turn the means into weighted ones. A ``baseline`` b rescales precision,
    recall and F1 to (x - b) / (1 - b). Two texts without tokens score 1, one without tokens against another 0.

    Values are those of BERTScore only with its model, layer and idf table; hence "like" BERTScore.
    """
    if len(candidates) != len(references):
        raise InputError(f"{len(candidates)} candidates do not match {len(references)} references; give pairs.")
    if not baseline < 1:
        raise InputError(f"baseline must be below 1 (found {baseline!r}).")
    scores = np.empty((3, len(references)))
    for number, (candidate, reference) in enumerate(zip(candidates, references, strict=True)):
        left, right = _unit_rows(candidate), _unit_rows(reference)
        if not len(left) or not len(right):
            scores[:, number] = float(len(left) == len(right))
            continue
        products = left @ right.T
        precision = _weighted(products.max(axis=1), candidate_weights, number)
        recall = _weighted(products.max(axis=0), reference_weights, number)
        total = precision + recall
        scores[:, number] = precision, recall, 2 * precision * recall / total if total else 0.0
    return BertScore(*((scores - baseline) / (1 - baseline)))


@lru_cache(1 << 16)
def _bare(word: str) -> str:
    # Without accents, too: a word is looked up without them, and may be sent so.
    return " ".join(tokenize(word, str.isascii)) or word


# --- pairs of texts -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Compared:
    """Obfuscated queries beside their originals."""

    settings: pd.DataFrame  # the distinct ones, in order
    setting_of: NDArray[np.int64]  # of each row
    query_of: NDArray[np.int64]  # of each row: the number of its setting and qid
    pairs: list[tuple[str, str]]  # the distinct pairs of keys (original, sent)
    pair_of: NDArray[np.int64]  # of each row


def _similarity(compared: _Compared, encoder: Any) -> pd.DataFrame:
    pairs = compared.pairs
    jaccards = np.array([jaccard(original, sent) for original, sent in pairs])
    cosines = np.full(len(pairs), np.nan) if encoder is None else _cosines(pairs, _encode_function(encoder))
    values = pd.DataFrame({"jaccard": jaccards, "sentence_similarity": cosines}).iloc[compared.pair_of]
    means = values.groupby(compared.setting_of, sort=False).mean()
    return compared.settings.assign(**{name: means[name].to_numpy() for name in means.columns})


def _failure_rates(compared: _Compared) -> pd.DataFrame:
    pairs = compared.pairs
    same, positions, aligned, verbatim = (np.zeros(len(pairs)) for _ in range(4))
    for number, (original, sent) in enumerate(pairs):
        verbatim[number] = original == sent
        words = sent.split()
        against = next((own for own in (original.split(), tokenize(original)) if len(own) == len(words)), None)
        if against is not None:
            aligned[number] = 1
            positions[number] = len(words)
            same[number] = sum(a == b or _bare(a) == _bare(b) for a, b in zip(against, words, strict=True))

    def total(numbers: Floats) -> Floats:
        """Add whole numbers up for every setting, which is exact in any order."""
        return np.bincount(compared.setting_of, numbers[compared.pair_of]).astype(np.float64, copy=False)

    variants = np.bincount(compared.setting_of)
    found = np.bincount(compared.query_of, verbatim[compared.pair_of]) > 0
    queries, first = np.unique(compared.query_of, return_index=True)
    setting_of_query = compared.setting_of[first]
    in_all = np.bincount(setting_of_query)
    places = total(positions)
    return compared.settings.assign(
        tokens=np.divide(total(same), places, out=np.full(len(places), np.nan), where=places > 0),
        aligned=total(aligned) / variants,
        verbatim=total(verbatim) / variants,
        any_verbatim=np.bincount(setting_of_query, found[queries]) / in_all,
        variants=variants,
        queries=in_all,
    )


def _numbered(keys: Iterable[Hashable], count: int) -> tuple[list[Any], NDArray[np.int64]]:
    """Return the distinct keys, as they come, and the number of each."""
    numbers: dict[Hashable, int] = {}
    number_of = np.fromiter((numbers.setdefault(key, len(numbers)) for key in keys), np.int64, count)
    return list(numbers), number_of


def _compared(obfuscated: pd.DataFrame, queries: pd.DataFrame) -> _Compared:
    """Pair the rows whose original is known, by mechanism and value."""
    rows = OBFUSCATED.check(obfuscated)
    checked = QUERIES.check(queries)
    originals = dict(zip(checked["qid"], checked["query"], strict=True))
    if rows.empty:
        raise InputError("there is no obfuscated query; obfuscate some first.")
    if not originals:
        raise InputError("the original queries are needed to compare with; give them (qid and query).")
    known = rows["qid"].isin(originals.keys())
    if not known.any():
        example = ", ".join(list(dict.fromkeys(rows["qid"]))[:3])
        raise InputError(f"no obfuscated query has the qid of a query (first: {example}); are these other queries?")
    if not known.all():
        strangers = rows.loc[~known, "qid"].nunique()
        warnings.warn(f"{strangers} qids of the obfuscated queries are of no query and were left out.", stacklevel=3)
        rows = rows[known]
    # Files of a folder come by name, 10 before 5; a sweep reads better by value.
    rows = rows.iloc[np.lexsort((rows["value"], pd.factorize(rows["mechanism"])[0]))]
    keys: dict[str, str] = {}
    for text in (*originals.values(), *rows["query"]):
        if text not in keys:
            keys[text] = key(text)
    columns = {name: rows[name].tolist() for name in (*SETTING, "qid", "query")}
    setting = list(zip(*(columns[name] for name in SETTING), strict=True))
    sent = zip(columns["qid"], columns["query"], strict=True)
    settings, setting_of = _numbered(setting, len(rows))
    _, query_of = _numbered(zip(setting, columns["qid"], strict=True), len(rows))
    pairs, pair_of = _numbered(((keys[originals[qid]], keys[text]) for qid, text in sent), len(rows))
    return _Compared(pd.DataFrame(settings, columns=list(SETTING)), setting_of, query_of, pairs, pair_of)


def _encode_function(encoder: Any) -> Callable[[list[str]], Any]:
    if isinstance(encoder, str):
        from quipukit.encoders.load import load_encoder

        encoder = load_encoder(encoder)
    if hasattr(encoder, "encode"):
        return lambda texts: encoder.encode(texts, kind="query")
    if callable(encoder):
        return encoder
    raise InputError(f"encoder must be a name, an encoder or a function (found {type(encoder).__name__}).")


def _cosines(pairs: Sequence[tuple[str, str]], encode: Callable[[list[str]], Any]) -> Floats:
    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    vectors = encode(texts)
    if not isinstance(vectors, Encodings):  # which are read where they are needed
        vectors = np.asarray(vectors)
    if len(vectors.shape) != 2 or len(vectors) != len(texts):
        raise InputError(f"the encoder made an array of shape {vectors.shape} of {len(texts)} texts; one row per text.")
    row_of = {text: row for row, text in enumerate(texts)}
    left, right = (np.array([row_of[pair[side]] for pair in pairs]) for side in (0, 1))
    cosines = np.empty(len(pairs))
    for start in range(0, len(pairs), _BLOCK):
        block = slice(start, start + _BLOCK)
        a, b = (_unit_rows(vectors[rows[block]]) for rows in (left, right))
        cosines[block] = np.einsum("ij,ij->i", a, b)
    return cosines


def _unit_rows(matrix: ArrayLike) -> Floats:
    """Return rows of length 1; a row of zeros stays one, so that it is like nothing."""
    rows = np.asarray(matrix, np.float64)
    if rows.size == 0:
        return rows.reshape(0, rows.shape[-1] if rows.ndim == 2 else 0)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)


def _weighted(values: Floats, weights: Sequence[ArrayLike] | None, number: int) -> float:
    if weights is None:
        return float(values.mean())
    mass = np.asarray(weights[number], np.float64)
    if mass.shape != values.shape or not (mass >= 0).all():
        raise InputError(f"text {number + 1} has {len(values)} tokens and needs as many weights, 0 or more.")
    return float(values @ mass / mass.sum()) if mass.sum() else 0.0
