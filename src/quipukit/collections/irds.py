"""Collections and query logs by their id in ir_datasets, for instance ``irds:msmarco-passage/trec-dl-2019/judged``.

ir_datasets knows most public test collections, fetches what may be fetched, and says where to put what may not. It is
an extra: ``pip install "quipukit[datasets]"``.

Reference: MacAvaney, Yates, Feldman, Downey, Cohan, Goharian. Simplified data wrangling with ir_datasets. SIGIR 2021.
"""

import contextlib
import difflib
import functools
import hashlib
import itertools
import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from quipukit.collections.base import Collection, Document
from quipukit.errors import InputError, ResourceError
from quipukit.frames import QRELS, QUERIES, qrels_frame

PREFIX = "irds:"

# How many documents go into the fingerprint beside the corpus' id and size.
SAMPLE = 1_000

_LONGEST = 200  # characters of somebody else's message
_QUERY_FIELDS = ("query", "title", "text")
# What is not text to search in: addresses, dates, and the page before its mark-up was taken out.
_NO_TEXT = ("url", "date", "marked_up_doc", "http_headers", "content_type")


class IrDataset(Collection):
    """A dataset of ir_datasets as a collection.

    A document's text is what the dataset itself offers as such (``default_text()``), else all its fields that hold
    text, joined. Of judgments that come several times for a query and a document (by subtopic, for instance) the
    highest counts, as everywhere.

    ir_datasets pins the contents of its corpora, and reading millions of documents at every start would cost
    minutes: ``fingerprint`` is a hash over the corpus' id, its size and its first documents.
    """

    def __init__(self, id: str) -> None:
        id = id.removeprefix(PREFIX)
        self._dataset = _load(id)
        self._id = id
        self.name = PREFIX + id
        self.log_name = self.name if self._dataset.has_qlogs() else None
        if not self._dataset.has_docs():
            raise InputError(f"{self.name} has no documents; choose one that has: `ir_datasets list` shows all ids.")

    def __repr__(self) -> str:
        return f"IrDataset({self._id!r})"

    @functools.cached_property
    def fingerprint(self) -> str:
        """Return a hash over the corpus' id, its size and its first documents."""
        import ir_datasets

        with _understood(self.name):
            corpus: str = ir_datasets.docs_parent_id(self._id)
        first = list(itertools.islice(self.documents(), SAMPLE))
        return hashlib.sha256(json.dumps([corpus, len(self), first]).encode()).hexdigest()

    def documents(self) -> Iterator[Document]:
        """Iterate over the documents in the dataset's own order."""
        text = _text_of(self._dataset.docs_cls())
        return ((document.doc_id, text(document)) for document in _stream(self.name, self._dataset.docs_iter))

    def __len__(self) -> int:
        return self._count

    @functools.cached_property
    def _count(self) -> int:
        with _understood(self.name):
            stated: int | None = self._dataset.docs_count()  # None until the dataset has built its own store
        return sum(1 for _ in _stream(self.name, self._dataset.docs_iter)) if stated is None else stated

    def queries(self) -> pd.DataFrame:
        """Return the queries; of TREC topics the title."""
        if not self._dataset.has_queries():
            raise InputError(f"{self.name} has no queries; choose one that has: `ir_datasets list` shows all ids.")
        rows = [(query.query_id, _query_text(query)) for query in _stream(self.name, self._dataset.queries_iter)]
        return QUERIES.check(pd.DataFrame(rows, columns=["qid", "query"]))

    def qrels(self) -> pd.DataFrame:
        """Return the judgments; empty where the dataset has none."""
        if not self._dataset.has_qrels():
            return QRELS.empty()
        judged = _stream(self.name, self._dataset.qrels_iter)
        table = pd.DataFrame([(j.query_id, j.doc_id, j.relevance) for j in judged], columns=list(QRELS.columns))
        return qrels_frame(table, self.name)

    def query_log(self) -> Sequence[str]:
        """Return the queries of the dataset's own log, as AOL-IA has one; each as often as it was asked."""
        return super().query_log() if self.log_name is None else list(log_queries(self._id))

    def texts(self, docnos: Sequence[str]) -> Mapping[str, str]:
        """Return the texts of some documents, from the store that ir_datasets keeps on disk (built on first use)."""
        text = _text_of(self._dataset.docs_cls())
        with _understood(self.name):
            documents: Mapping[str, Any] = self._dataset.docs_store().get_many(list(dict.fromkeys(docnos)))
        return {docno: text(documents[docno]) for docno in docnos if docno in documents}


def log_queries(id: str) -> Iterator[str]:
    """Iterate over the texts of a query log (``irds:aol-ia``), or of a dataset's queries where it is not a log.

    Every entry comes as often as it was asked; nothing is counted or cleaned here.
    """
    id = id.removeprefix(PREFIX)
    dataset = _load(id)
    name = PREFIX + id
    if dataset.has_qlogs():
        return map(_query_text, _stream(name, dataset.qlogs_iter))
    if dataset.has_queries():
        return map(_query_text, _stream(name, dataset.queries_iter))
    raise InputError(f"{name} has neither a log nor queries; 'irds:aol-ia' is a log.")


def _load(id: str) -> Any:
    try:
        with _understood(PREFIX + id):  # it makes its folder when it is imported
            import ir_datasets
    except ImportError:
        raise ResourceError(
            f'{PREFIX}{id} needs the package ir_datasets; install it with `pip install "quipukit[datasets]"`.'
        ) from None
    try:
        with _understood(PREFIX + id):
            return ir_datasets.load(id)
    except KeyError:
        near = difflib.get_close_matches(id, list(ir_datasets.registry), 3)
        hint = f"did you mean {' or '.join(near)}?" if near else "`ir_datasets list` shows them all."
        raise InputError(f"ir_datasets has no dataset {id!r}; {hint}") from None


@contextlib.contextmanager
def _understood(name: str) -> Iterator[None]:
    """Turn what goes wrong while data is fetched or read (no network, no license, a full disk) into one line."""
    try:
        with _quiet_retries():
            yield
    except (OSError, RuntimeError, EOFError) as fault:
        if hosts := _unreachable(fault):
            raise ResourceError(
                f"ir_datasets cannot provide {name}: {hosts} cannot be reached; fetch it once where there is a "
                "network, and set IR_DATASETS_HOME to the folder that holds it."
            ) from None
        reason = next(iter(str(fault).strip().splitlines()), type(fault).__name__)
        raise ResourceError(
            f"ir_datasets cannot provide {name} ({reason[:_LONGEST]}); see its documentation, or set IR_DATASETS_HOME "
            "to a folder for its data."
        ) from None


@contextlib.contextmanager
def _quiet_retries() -> Iterator[None]:
    """Leave out what ir_datasets says of every attempt at a download: how it ended is said once."""
    logger = logging.getLogger("ir_datasets")
    logger.addFilter(_is_no_retry)
    try:
        yield
    finally:
        logger.removeFilter(_is_no_retry)


def _is_no_retry(record: logging.LogRecord) -> bool:
    return not record.getMessage().casefold().startswith(("download error", "download failed"))


def _unreachable(fault: BaseException) -> str:
    """Return the hosts that an error of a download names, if it is that they did not answer; else nothing."""
    text = repr(fault.args)
    signs = ("Failed to resolve", "Failed to establish", "Max retries exceeded", "timed out", "Connection refused")
    hosts = dict.fromkeys(re.findall(r"host=\\*'([\w.-]+?)\\*'", text))
    return " and ".join(hosts) if any(sign in text for sign in signs) else ""


def _stream(name: str, start: Callable[[], Iterable[Any]]) -> Iterator[Any]:
    with _understood(name):
        yield from start()


def _text_of(kind: type) -> Callable[[Any], str]:
    if hasattr(kind, "default_text"):
        return lambda document: str(document.default_text())
    fields = [name for name in getattr(kind, "_fields", ()) if not name.endswith(("_id", *_NO_TEXT))]
    return lambda document: " ".join(v for name in fields if isinstance(v := getattr(document, name), str) and v)


def _query_text(query: Any) -> str:
    if hasattr(query, "default_text"):
        return str(query.default_text())
    for field in _QUERY_FIELDS:
        if isinstance(value := getattr(query, field, None), str):
            return value
    raise InputError(f"queries of type {type(query).__name__} have no field {', '.join(_QUERY_FIELDS)}.")
