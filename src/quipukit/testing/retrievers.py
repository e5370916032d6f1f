"""The check for authors of search systems."""

from collections.abc import Sequence

import numpy as np

from quipukit.retrieval.base import Ranking, Retriever
from quipukit.testing.base import require

_ODD = ("", " \t ", "?!", '"a quote" -minus field:colon (bracket', "заявление развод 離婚")
_BLANK = 2  # this many of them are blank


def check_retriever(retriever: Retriever, queries: Sequence[str], depth: int = 10) -> None:
    """Raise AssertionError, with the reason, where a search system breaks what every one must keep.

    ``queries`` are texts that find something. Each query has one ranking of at most ``depth`` documents, each once, by
    falling score and ties by docno; it depends neither on the other queries nor, apart from its length, on the depth;
    any text is taken, and an empty one finds nothing.
    """
    name = getattr(retriever, "name", "")
    require(isinstance(name, str) and bool(name), f"{type(retriever).__name__}: it must set a name")
    require(isinstance(retriever.remote, bool), f"{name}: remote must be True or False")
    require(isinstance(retriever.identity, str), f"{name}: identity must be a string")
    require(retriever.window is None or retriever.window >= depth, f"{name}: depth is more than its window")
    texts = [*_ODD, *queries]
    together = _search(retriever, texts, depth)
    require(all(ranking.docnos for ranking in together[len(_ODD) :]), f"{name}: finds nothing for one of the queries")
    for text, ranking in zip(texts, together, strict=True):
        [alone] = _search(retriever, [text], depth)
        require(_same(alone, ranking), f"{name}: the ranking of a query depends on the batch it comes in")
        half = max(1, depth // 2)
        [short] = _search(retriever, [text], half)
        require(short.docnos == ranking.docnos[:half], f"{name}: a shorter list is not the top of a longer one")
    require(not any(ranking.docnos for ranking in together[:_BLANK]), f"{name}: an empty query finds something")


def _search(retriever: Retriever, texts: Sequence[str], depth: int) -> list[Ranking]:
    reported: list[tuple[float, float]] = []
    rankings = retriever.search(texts, depth, lambda done, total: reported.append((done, total)))
    name = retriever.name
    require(len(rankings) == len(texts), f"{name}: {len(rankings)} rankings for {len(texts)} queries")
    require(all(done <= total for done, total in reported), f"{name}: more is done than there is in total")
    for ranking in rankings:
        _check_ranking(name, ranking, depth)
    return rankings


def _check_ranking(name: str, ranking: Ranking, depth: int) -> None:
    docnos, scores = ranking.docnos, np.asarray(ranking.scores)
    require(len(docnos) == len(scores), f"{name}: {len(docnos)} documents, {len(scores)} scores")
    require(len(docnos) <= depth, f"{name}: {len(docnos)} documents where {depth} were asked for")
    require(all(isinstance(docno, str) for docno in docnos), f"{name}: a docno is not a string")
    require(len(set(docnos)) == len(docnos), f"{name}: a document comes twice")
    require(bool(np.isfinite(scores).all()), f"{name}: a score is not a finite number")
    pairs = [(-float(score), docno) for score, docno in zip(scores, docnos, strict=True)]
    require(pairs == sorted(pairs), f"{name}: documents must come by falling score, ties by docno")


def _same(one: Ranking, other: Ranking) -> bool:
    return one.docnos == other.docnos and bool(np.allclose(one.scores, other.scores, rtol=1e-6, atol=1e-9))
