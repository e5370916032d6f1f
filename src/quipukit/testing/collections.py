"""The check for authors of collections."""

from itertools import islice

from quipukit.collections.base import Collection
from quipukit.errors import InputError
from quipukit.frames import QRELS, QUERIES
from quipukit.testing.base import require


def check_collection(collection: Collection, sample: int = 1_000) -> None:
    """Raise AssertionError, with the reason, where a collection breaks what every collection must keep.

    Its documents come in the same order every time, each docno once, and are found again by ``texts``; its queries and
    judgments are tables, and the judgments are of its queries; it has a log exactly where ``log_name`` says so. Of the
    documents the first ``sample`` are looked at.
    """
    name = getattr(collection, "name", "")
    require(isinstance(name, str) and bool(name), f"{type(collection).__name__}: it must set a name")
    require(bool(collection.fingerprint), f"{name}: the fingerprint is empty")
    documents = list(islice(collection.documents(), sample))
    require(bool(documents), f"{name}: it holds no document")
    for docno, text in documents:
        require(all(isinstance(part, str) for part in (docno, text)), f"{name}: a document is a docno and a text")
    docnos = [docno for docno, _ in documents]
    require(len(set(docnos)) == len(docnos), f"{name}: a docno comes twice")
    again = list(islice(collection.documents(), sample))
    require(again == documents, f"{name}: the documents come in another order, or are others, the second time")
    counted = len(collection)
    holds = counted >= sample if len(documents) == sample else counted == len(documents)
    require(holds, f"{name}: its length is {counted}, and there are {len(documents)} documents")
    _check_texts(collection, dict(documents))
    _check_tables(collection)
    _check_log(collection)


def _check_texts(collection: Collection, documents: dict[str, str]) -> None:
    unknown = "no such docno"
    texts = dict(collection.texts([*documents, unknown]))
    require(unknown not in texts, f"{collection.name}: texts() gives a document that is not there")
    require(texts == documents, f"{collection.name}: texts() gives others than documents()")


def _check_tables(collection: Collection) -> None:
    queries, qrels = QUERIES.check(collection.queries()), QRELS.check(collection.qrels())
    strangers = sorted(set(qrels["qid"]) - set(queries["qid"]))
    require(not strangers, f"{collection.name}: {len(strangers)} judged queries are not among its queries")


def _check_log(collection: Collection) -> None:
    name = collection.name
    try:
        log = list(collection.query_log())
    except InputError:
        require(collection.log_name is None, f"{name}: it names a log and has none")
        return
    require(bool(collection.log_name), f"{name}: it has a log and no log_name")
    require(bool(log) and all(isinstance(text, str) for text in log), f"{name}: a log is a list of texts")
