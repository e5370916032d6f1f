"""Folders as collections: what is read, what is refused, and what is only said aloud."""

import gzip
import json
import os
import warnings
from pathlib import Path

import pytest

from quipukit.collections import files
from quipukit.collections.files import Folder
from quipukit.errors import FileError, QrelsWarning

DOCS = "d1\tgrowth of tumours\nd2\tthe law of debt\nd3\t\n"
TOPICS = "q1\thow tumour grows\nq2\tdebt law\n"
QRELS = "q1 0 d1 2\nq1 0 d2 0\nq2 0 d2 1\n"


def folder(
    path: Path, docs: str | bytes = DOCS, topics: str = TOPICS, qrels: str = QRELS, name: str = "docs.tsv"
) -> Path:
    content = docs.encode() if isinstance(docs, str) else docs
    (path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    (path / "topics.tsv").write_text(topics, encoding="utf-8")
    (path / "qrels.txt").write_text(qrels, encoding="utf-8")
    return path


def objects(*documents: object) -> str:
    return "".join(json.dumps(document) + "\n" for document in documents)


@pytest.mark.parametrize("name", ["docs.tsv", "docs.tsv.gz"])
def test_a_folder_is_read(tmp_path: Path, name: str) -> None:
    collection = Folder(folder(tmp_path, name=name))
    assert list(collection.documents()) == [("d1", "growth of tumours"), ("d2", "the law of debt"), ("d3", "")]
    assert len(collection) == 3
    assert collection.queries().to_dict("list") == {"qid": ["q1", "q2"], "query": ["how tumour grows", "debt law"]}
    assert collection.qrels().to_dict("list") == {
        "qid": ["q1", "q1", "q2"],
        "docno": ["d1", "d2", "d2"],
        "relevance": [2, 0, 1],
    }
    assert collection.name == tmp_path.name


@pytest.mark.parametrize("name", ["docs.jsonl", "docs.jsonl.gz"])
@pytest.mark.parametrize("id", ["docno", "docid", "id", "_id"])
def test_json_lines_under_their_usual_names(tmp_path: Path, name: str, id: str) -> None:
    docs = objects({id: "d1", "text": "of tumours", "title": "Growth"}, {id: 2, "contents": "debt", "title": " "})
    collection = Folder(folder(tmp_path, docs, qrels="q1 0 2 1\n", name=name))
    assert list(collection.documents()) == [("d1", "Growth of tumours"), ("2", "debt")]
    assert collection.qrels()["docno"].tolist() == ["2"]


def test_line_ends_blank_lines_a_header_and_a_byte_order_mark(tmp_path: Path) -> None:
    docs = b"\xef\xbb\xbfdocno\ttext\r\n\r\nd1\tone\ttwo\r\nd2\tthree"
    assert list(Folder(folder(tmp_path, docs)).documents()) == [("d1", "one\ttwo"), ("d2", "three")]


def test_documents_can_be_read_twice_and_at_once(tmp_path: Path) -> None:
    collection = Folder(folder(tmp_path))
    assert [a == b for a, b in zip(collection.documents(), collection.documents(), strict=True)] == [True] * 3


@pytest.mark.parametrize("keep", [0, files.KEEP_CHARACTERS])
def test_texts_from_memory_or_from_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keep: int) -> None:
    monkeypatch.setattr(files, "KEEP_CHARACTERS", keep)
    found = Folder(folder(tmp_path)).texts(["d2", "nowhere", "d3"])
    assert dict(found) == {"d2": "the law of debt", "d3": ""}


def test_texts_follow_a_file_that_changes(tmp_path: Path) -> None:
    collection = Folder(folder(tmp_path))
    assert collection.texts(["d1"]) == {"d1": "growth of tumours"}
    folder(tmp_path, "d1\tsomething else\n")
    assert collection.texts(["d1", "d2"]) == {"d1": "something else"}
    assert len(collection) == 1


def test_the_fingerprint_is_the_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collection = Folder(folder(tmp_path))
    before = collection.fingerprint
    monkeypatch.setattr(files, "sha256", lambda path: pytest.fail("an unchanged file was read again"))
    assert collection.fingerprint == before
    monkeypatch.undo()
    folder(tmp_path, DOCS.replace("debt", "dept"))  # the same size
    os.utime(tmp_path / "docs.tsv", ns=(1, 1))
    assert collection.fingerprint != before
    folder(tmp_path)
    assert collection.fingerprint == before


def test_files_from_different_places(tmp_path: Path) -> None:
    for part in ("a", "b"):
        (tmp_path / part).mkdir()
    one, two = folder(tmp_path / "a"), folder(tmp_path / "b", "x9\tother\n", "q1\tother query\n", "q1 0 x9 1\n")
    collection = Folder(docs=two / "docs.tsv", topics=two / "topics.tsv", qrels=two / "qrels.txt")
    assert collection.name == "b"
    assert collection.qrels()["docno"].tolist() == ["x9"]
    mixed = Folder(one, topics=two / "topics.tsv")
    assert len(mixed) == 3
    assert mixed.queries()["query"].tolist() == ["other query"]


def test_a_collection_without_judgments_or_queries(tmp_path: Path) -> None:
    (tmp_path / "docs.tsv").write_text(DOCS)
    collection = Folder(tmp_path)
    assert collection.qrels().empty
    assert list(collection.qrels().columns) == ["qid", "docno", "relevance"]
    with pytest.raises(FileError, match=r"has no topics\.tsv; write lines"):
        collection.queries()


@pytest.mark.parametrize(
    ("docs", "message"),
    [
        ("d1\tone\nd2 two\n", r"docs\.tsv, line 2: a column is missing; write 'docno<TAB>text'"),
        ("d1\tone\n\n \ttwo\n", r"line 3: the docno is empty"),
        ("d1\tone\nd2\ttwo\nd1\tthree\nd2\tfour\n", r"come more than once: 2 \(first in lines 1 and 3\); keep one"),
        ("my query\t5\nmy query\t6\n", r"^(?!.*my query).*\(first in lines 1 and 2\)"),
        ("d1\tone\rd2\ttwo\nd3\tx\n", "line 1: a carriage return inside the line"),
        ("", "holds no document"),
        ("\n\n", "holds no document"),
        (b"d1\tone\nd2\tcaf\xe9\n", r"line 2: not UTF-8"),
    ],
)
def test_bad_tsv(tmp_path: Path, docs: str | bytes, message: str) -> None:
    collection = Folder(folder(tmp_path, docs))
    with pytest.raises(FileError, match=message):
        collection.documents()
    with pytest.raises(FileError, match=message):
        len(collection)


@pytest.mark.parametrize(
    ("docs", "docnos"),
    [
        ("docno\tbody\nd1\tone\n", ["d1"]),
        ("DocID\tText\nd1\tone\n", ["d1"]),
        ("number\ttext\nd1\tone\n", ["d1"]),
        ("d1\ttext\nd2\tone\n", ["d1", "d2"]),
        ("id\tis a part of the mind\nego\tanother\n", ["id", "ego"]),
        ("d1\tone\ndocno\tbody\n", ["d1", "docno"]),
    ],
)
def test_a_header_is_no_document(tmp_path: Path, docs: str, docnos: list[str]) -> None:
    assert [docno for docno, _ in Folder(folder(tmp_path, docs)).documents()] == docnos


@pytest.mark.parametrize(
    ("docs", "message"),
    [
        (objects({"docno": "d1", "text": "one"}) + "{'docno': 1}\n", r"line 2: not JSON"),
        (objects(["d1", "one"]), "line 1: not a JSON object"),
        (objects({"text": "one"}), r"line 1: 'docno' is missing or of the wrong type \(found 'text'\)"),
        (objects({"id": "d1", "body": "one"}), "'text' is missing"),
        (objects({"id": "d1", "text": None}), "'text' is missing"),
        (objects({"id": True, "text": "one"}), "'docno' is missing"),
        (objects({"id": "", "text": "one"}), "'docno' is missing"),
        ('{"id": "d1", "text": "one \\ud800"}\n', "line 1: half of a surrogate pair"),
        ('{"id": "d1", "text": "one", "text": "two"}\n', "line 1: a key stands twice"),
    ],
)
def test_bad_json(tmp_path: Path, docs: str, message: str) -> None:
    with pytest.raises(FileError, match=message):
        len(Folder(folder(tmp_path, docs, name="docs.jsonl")))


def test_a_cut_gzip_file(tmp_path: Path) -> None:
    folder(tmp_path, DOCS * 50, name="docs.tsv.gz")
    packed = tmp_path / "docs.tsv.gz"
    packed.write_bytes(packed.read_bytes()[:-12])
    with pytest.raises(FileError, match="cannot be read"):
        len(Folder(tmp_path))
    packed.write_bytes(b"not gzip")
    with pytest.raises(FileError, match="cannot be read"):
        len(Folder(tmp_path))


def test_equal_hashes_are_not_equal_docnos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "hash", lambda text: 7, raising=False)
    assert len(Folder(folder(tmp_path))) == 3
    folder(tmp_path, "d1\tone\nd1\ttwo\n")
    with pytest.raises(FileError, match=r"docnos that come more than once: 1 \(first in lines \d+ and \d+\)"):
        len(Folder(tmp_path))


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"nowhere: there is no such folder"):
        Folder(tmp_path / "nowhere")
    with pytest.raises(FileError, match=r"has no file of documents; write lines 'docno<TAB>text' to docs\.tsv"):
        Folder(tmp_path)
    with pytest.raises(FileError, match="no file of documents was named"):
        Folder(topics=folder(tmp_path) / "topics.tsv")
    with pytest.raises(FileError, match=r"judged\.txt: there is no such file"):
        Folder(tmp_path, qrels=tmp_path / "judged.txt")
    (tmp_path / "docs.jsonl").write_text("{}\n")
    with pytest.raises(FileError, match=r"has docs\.tsv and docs\.jsonl; keep one"):
        Folder(tmp_path)
    (tmp_path / "docs.xml").write_text("<d/>")
    with pytest.raises(FileError, match=r"cannot tell the format; end the name in \.tsv or \.jsonl"):
        Folder(docs=tmp_path / "docs.xml")


def test_a_file_that_vanishes(tmp_path: Path) -> None:
    collection = Folder(folder(tmp_path))
    (tmp_path / "docs.tsv").unlink()
    with pytest.raises(FileError, match="cannot be read"):
        len(collection)


def test_judgments_that_name_unknown_documents_are_kept_and_said(tmp_path: Path) -> None:
    collection = Folder(folder(tmp_path, qrels=QRELS + "".join(f"q1 0 x{i} 1\n" for i in range(5))))
    with pytest.warns(QrelsWarning, match=r"5 of 7 judged documents are not in docs\.tsv \(x0, x1, x2 \.\.\.\)"):
        assert len(collection.qrels()) == 8
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # once is enough
        collection.qrels()


def test_judgments_of_unknown_queries_are_left_out_and_said(tmp_path: Path) -> None:
    collection = Folder(folder(tmp_path, qrels=QRELS + "q3 0 d1 1\n"))
    with pytest.warns(QrelsWarning, match=r"1 of 3 judged queries are not in topics\.tsv \(q3\); they are left out"):
        assert set(collection.qrels()["qid"]) == {"q1", "q2"}


@pytest.mark.parametrize(
    ("qrels", "message"),
    [
        (
            "q1 0 y1 1\nq1 0 y2 1\nq2 0 y3 1\nq2 0 y4 1\n",
            r"none of the 4 judged documents is in docs\.tsv; the files",
        ),
        ("7 0 d1 1\n", r"none of the 1 judged queries is in topics\.tsv; the files"),
        ("q1 0 d1\n", r"qrels\.txt, line 1"),
        ("q1 0 d1 high\n", r"qrels\.txt, line 1"),
    ],
)
def test_judgments_that_cannot_be_used(tmp_path: Path, qrels: str, message: str) -> None:
    with pytest.raises(FileError, match=message):
        Folder(folder(tmp_path, qrels=qrels)).qrels()


def test_of_repeated_judgments_the_highest_counts(tmp_path: Path) -> None:
    with pytest.warns(QrelsWarning, match=r"qrels\.txt: .* judged more than once: 1; the highest"):
        found = Folder(folder(tmp_path, qrels="q1 0 d1 1\nq1 1 d1 2\nq1 2 d1 0\nq2 0 d2 1\n")).qrels()
    assert found.values.tolist() == [["q1", "d1", 2], ["q2", "d2", 1]]


def test_documents_keep_tabs_and_lose_a_byte_order_mark(tmp_path: Path) -> None:
    assert list(Folder(folder(tmp_path, docs='\ufeffd1\ta b\tc\r\nd2\t"x\n')).documents()) == [
        ("d1", "a b\tc"),
        ("d2", '"x'),
    ]
    assert list(Folder(folder(tmp_path, docs="d1\ta\rd2\tb\r")).documents()) == [("d1", "a"), ("d2", "b")]


def test_a_callers_change_stays_with_the_caller(tmp_path: Path) -> None:
    collection = Folder(folder(tmp_path))
    mine = collection.qrels()
    mine["relevance"] = 0
    assert collection.qrels()["relevance"].max() == 2


def test_vaswani(shared_data: Path) -> None:
    collection = Folder(shared_data / "vaswani")
    assert (len(collection), len(collection.queries()), len(collection.qrels())) == (11_429, 93, 2_083)
    assert collection.texts(["1"])["1"].startswith("compact memories have flexible capacities")


def test_a_pool_with_topics_and_judgments_from_elsewhere(shared_data: Path) -> None:
    dl19 = shared_data / "dl19"
    docs = shared_data / "msmarco_pool" / "docs.tsv.gz"
    collection = Folder(docs=docs, topics=dl19 / "topics.tsv", qrels=dl19 / "qrels.txt")
    assert (len(collection), len(collection.queries())) == (31_249, 43)
    with pytest.warns(QrelsWarning, match=r"of [\d,]+ judged documents are not in docs\.tsv\.gz"):
        assert len(collection.qrels()) == 9_260
