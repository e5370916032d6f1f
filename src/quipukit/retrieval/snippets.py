"""Documents as an engine shows them: what a re-ranker reads where their texts are not on this machine."""

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from quipukit.collections.base import Collection, Document
from quipukit.errors import InputError
from quipukit.retrieval.base import Shown
from quipukit.retrieval.fusion import NO_RERANKER
from quipukit.retrieval.hits import shown_document

PREFIX = "snippet:"  # before the name of a re-ranker that reads titles and snippets


def on_snippets(reranker: str) -> bool:
    """Return whether a re-ranker, by its name, reads titles and snippets and not the documents themselves."""
    return reranker.startswith(PREFIX)


def reranker_on(reranker: str, rerank_on: str) -> str:
    """Return the name of a re-ranker that reads the documents' ``text``, or the ``snippet`` that the engine shows.

    >>> reranker_on("minilm", "snippet"), reranker_on("minilm", "text"), reranker_on("none", "snippet")
    ('snippet:minilm', 'minilm', 'none')
    """
    if rerank_on not in ("text", "snippet"):
        raise InputError(f"rerank_on is 'text' or 'snippet' (found {rerank_on!r}).", argument="rerank_on")
    named = rerank_on == "text" or on_snippets(reranker) or reranker == NO_RERANKER
    return reranker if named else f"{PREFIX}{reranker}"


def refuse_on_snippets(reranker: str) -> None:
    """Refuse what cannot read snippets: BM25, whose weights are those of words in all documents, and no re-ranker."""
    if reranker == f"{PREFIX}bm25":
        raise InputError(
            "bm25 counts words in whole documents; to re-rank on snippets name an encoder, such as static or minilm.",
            argument="reranker",
        )
    if reranker == f"{PREFIX}{NO_RERANKER}":
        raise InputError("without a re-ranker nothing is read; write none, not snippet:none.", argument="reranker")


class ShownDocuments(Collection):
    """Titles and snippets in the place of documents: those that an engine showed, or that a collection's texts make.

    ``shown`` may grow while it is in use. Of a document of which nothing was shown the text is empty.
    """

    def __init__(self, collection: Collection | None = None, shown: Mapping[str, Shown] | None = None) -> None:
        self._collection, self._shown = collection, {} if shown is None else shown
        self.name = "snippets" if collection is None else f"snippets of {collection.name}"

    @property
    def fingerprint(self) -> str:
        """Return that of the documents; without them there is none, for what is shown may change."""
        return "" if self._collection is None else f"snippets {self._collection.fingerprint}"

    def texts(self, docnos: Sequence[str]) -> Mapping[str, str]:
        """Return title and snippet of each document as one text."""
        if self._collection is None:
            return {docno: self._shown.get(docno, Shown()).text for docno in docnos}
        return {docno: shown_document(text).text for docno, text in self._collection.texts(docnos).items()}

    def documents(self) -> Iterator[Document]:
        """Iterate over what was shown."""
        if self._collection is None:
            yield from ((docno, shown.text) for docno, shown in self._shown.items())
        else:
            yield from ((docno, shown_document(text).text) for docno, text in self._collection.documents())

    def __len__(self) -> int:
        return len(self._shown if self._collection is None else self._collection)

    def queries(self) -> pd.DataFrame:
        """Return the queries of the collection."""
        return self._known().queries()

    def qrels(self) -> pd.DataFrame:
        """Return the judgments of the collection."""
        return self._known().qrels()

    def _known(self) -> Collection:
        if self._collection is None:
            raise InputError("an engine's snippets have neither queries nor judgments; name a collection.")
        return self._collection
