"""What a collection is: documents, queries and judgments, each streamed or read when it is asked for."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from quipukit.errors import InputError
from quipukit.executors.shared import Shared

Document = tuple[str, str]


class Collection(Shared, ABC):
    """Documents as (docno, text) pairs, queries as a Queries table, judgments as a Qrels table.

    ``fingerprint`` is equal for equal documents: what was made from them (an index, encodings) is reused only while
    it stays the same. ``judgments_derived`` says that the judgments follow from a rule, and no person gave them.
    ``log_name`` is what the collection's own query log is called, None where it has none (see `query_log`).
    """

    kind = "collection"
    name: str
    judgments_derived: bool = False
    log_name: str | None = None

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Return a hash over the documents."""

    @abstractmethod
    def documents(self) -> Iterator[Document]:
        """Iterate over the documents, in an order that does not change; no docno comes twice."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of documents."""

    @abstractmethod
    def queries(self) -> pd.DataFrame:
        """Return the queries (qid, query)."""

    @abstractmethod
    def qrels(self) -> pd.DataFrame:
        """Return the judgments (qid, docno, relevance); empty where the collection has none."""

    def query_log(self) -> Sequence[str]:
        """Return the queries of the collection's own log; a collection that has one sets ``log_name``, too."""
        raise InputError(f"{self.name} has no query log of its own; pass log=FILE, or log='wordnet'.", argument="log")

    def texts(self, docnos: Sequence[str]) -> Mapping[str, str]:
        """Return the texts of some documents; a docno that the collection does not have is left out."""
        wanted = set(docnos)
        return {docno: text for docno, text in self.documents() if docno in wanted}
