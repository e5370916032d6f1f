"""The adapter to ir_datasets, against its own API: datasets are registered from local files, nothing is fetched."""

import datetime
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pytest

from quipukit.collections.irds import IrDataset, log_queries
from quipukit.collections.load import load_collection
from quipukit.errors import InputError, QrelsWarning, ResourceError
from tests.cli.test_cli import run


class Local:
    """A file that is there already, in the shape of ir_datasets' downloads."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def path(self, force: bool = True) -> str:
        return str(self._path)

    def stream(self) -> BinaryIO:
        return self._path.open("rb")


class Page(NamedTuple):
    doc_id: str
    title: str
    body: str
    url: str


class Asked(NamedTuple):
    user_id: str
    query_id: str
    query: str
    time: datetime.datetime


@pytest.fixture(scope="module")
def irds(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IR_DATASETS_HOME", str(tmp_path_factory.mktemp("ir_datasets")))
        yield pytest.importorskip("ir_datasets", reason="needs the extra: pip install 'quipukit[datasets]'")


@pytest.fixture
def register(irds: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    # Each test sees a registry without what the others registered.
    monkeypatch.setattr(irds.registry, "_registered", dict(irds.registry._registered))

    def register(id: str, *parts: Any) -> None:
        irds.registry.register(id, irds.Dataset(*parts))

    return register


def corpus(irds: Any, path: Path, docs: str = "d1\tgrowth of tumours\nd2\tthe läw of debt\n") -> Any:
    path.write_text(docs, encoding="utf-8")
    return irds.formats.TsvDocs(Local(path))


def test_documents_queries_and_judgments(irds: Any, register: Any, tmp_path: Path) -> None:
    (tmp_path / "queries.tsv").write_text("7\thow tumour grows\n08\tdebt law\n")
    (tmp_path / "qrels.txt").write_text("7 0 d1 2\n7 0 d2 0\n08 0 d2 1\n")
    queries = irds.formats.TsvQueries(Local(tmp_path / "queries.tsv"))
    qrels = irds.formats.TrecQrels(Local(tmp_path / "qrels.txt"), {0: "no", 1: "yes", 2: "very"})
    register("quipukit-test", corpus(irds, tmp_path / "docs.tsv"))
    register("quipukit-test/judged", corpus(irds, tmp_path / "docs.tsv"), queries, qrels)
    collection = load_collection("irds:quipukit-test/judged")
    assert collection.name == "irds:quipukit-test/judged"
    assert list(collection.documents()) == [("d1", "growth of tumours"), ("d2", "the läw of debt")]
    assert len(collection) == 2
    assert collection.queries().to_dict("list") == {"qid": ["7", "08"], "query": ["how tumour grows", "debt law"]}
    assert collection.qrels().to_dict("records")[2] == {"qid": "08", "docno": "d2", "relevance": 1}
    assert dict(collection.texts(["d2", "nowhere"])) == {"d2": "the läw of debt"}


def test_the_corpus_alone_has_no_queries_and_no_judgments(irds: Any, register: Any, tmp_path: Path) -> None:
    register("quipukit-test", corpus(irds, tmp_path / "docs.tsv"))
    collection = IrDataset("irds:quipukit-test")
    assert collection.qrels().empty
    with pytest.raises(InputError, match="irds:quipukit-test has no queries; choose one that has"):
        collection.queries()


def test_subsets_of_a_corpus_share_its_fingerprint(irds: Any, register: Any, tmp_path: Path) -> None:
    docs = corpus(irds, tmp_path / "docs.tsv")
    register("quipukit-test", docs)
    register("quipukit-test/part", docs)
    register("quipukit-other", corpus(irds, tmp_path / "more.tsv", "d1\tgrowth of tumours\nd2\tthe law of debts\n"))
    assert IrDataset("quipukit-test").fingerprint == IrDataset("quipukit-test/part").fingerprint
    assert IrDataset("quipukit-test").fingerprint != IrDataset("quipukit-other").fingerprint


def test_text_without_a_default_is_joined(irds: Any, register: Any, tmp_path: Path) -> None:
    (tmp_path / "docs.tsv").write_text("d1\tGrowth\tof tumours\thttp://example.org/\nd2\t\tdebt\t\n")
    register("quipukit-test", irds.formats.TsvDocs(Local(tmp_path / "docs.tsv"), doc_cls=Page))
    assert list(IrDataset("quipukit-test").documents()) == [("d1", "Growth of tumours"), ("d2", "debt")]


def test_of_trec_topics_the_title(irds: Any, register: Any, tmp_path: Path) -> None:
    topics = "<top>\n<num> Number: 301\n<title> International Crime\n<desc> Description:\nOrganisations.\n"
    (tmp_path / "topics.txt").write_text(topics + "<narr> Narrative:\nNone.\n</top>\n")
    queries = irds.formats.TrecQueries(Local(tmp_path / "topics.txt"))
    register("quipukit-test", corpus(irds, tmp_path / "docs.tsv"), queries)
    found = IrDataset("quipukit-test").queries()
    assert found.to_dict("records") == [{"qid": "301", "query": "International Crime"}]


def test_of_repeated_judgments_the_highest(irds: Any, register: Any, tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_text("7 0 d1 1\n7 1 d1 3\n7 2 d1 0\n")
    qrels = irds.formats.TrecQrels(Local(tmp_path / "qrels.txt"), {})
    register("quipukit-test", corpus(irds, tmp_path / "docs.tsv"), qrels)
    with pytest.warns(QrelsWarning, match="irds:quipukit-test: .* judged more than once: 1; the highest"):
        merged = IrDataset("quipukit-test").qrels()
    assert merged.to_dict("records") == [{"qid": "7", "docno": "d1", "relevance": 3}]


def test_logs_come_as_they_were_asked(irds: Any, register: Any, tmp_path: Path) -> None:
    class Log(irds.formats.BaseQlogs):  # type: ignore[misc, name-defined]
        def qlogs_iter(self) -> Iterator[Asked]:
            for query in ("debt law", "weather", "debt law"):
                yield Asked("u", "1", query, datetime.datetime(2006, 3, 1))

        def qlogs_cls(self) -> type:
            return Asked

    (tmp_path / "queries.tsv").write_text("7\thow tumour grows\n")
    register("quipukit-log", Log())
    register("quipukit-queries", irds.formats.TsvQueries(Local(tmp_path / "queries.tsv")))
    register("quipukit-docs", corpus(irds, tmp_path / "docs.tsv"))
    assert list(log_queries("irds:quipukit-log")) == ["debt law", "weather", "debt law"]
    assert list(log_queries("quipukit-queries")) == ["how tumour grows"]
    with pytest.raises(InputError, match="neither a log nor queries"):
        log_queries("quipukit-docs")
    with pytest.raises(InputError, match="has no documents"):
        IrDataset("quipukit-log")


def test_real_ids_are_known_without_the_network(irds: Any) -> None:
    for id in ("msmarco-passage/trec-dl-2019/judged", "disks45/nocr/trec-robust-2004"):
        assert repr(IrDataset(id)) == f"IrDataset({id!r})"
    log_queries("aol-ia")


def test_an_unknown_id_names_its_neighbors(irds: Any) -> None:
    with pytest.raises(InputError, match=r"no dataset 'msmarco-pasage/dev'; did you mean msmarco-passage/dev"):
        load_collection("irds:msmarco-pasage/dev")
    with pytest.raises(InputError, match="`ir_datasets list` shows them all"):
        load_collection("irds:qqqqqqqqqqq")


def test_data_that_cannot_be_had(irds: Any, register: Any, tmp_path: Path) -> None:
    register("quipukit-test", irds.formats.TsvDocs(Local(tmp_path / "nowhere.tsv")))
    with pytest.raises(ResourceError, match="ir_datasets cannot provide irds:quipukit-test"):
        list(IrDataset("quipukit-test").documents())
    with pytest.raises(ResourceError, match="ir_datasets cannot provide irds:quipukit-test"):
        IrDataset("quipukit-test").texts(["d1"])


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(ResourceError, match=r'needs the package ir_datasets; .* `pip install "quipukit\[datasets\]"`'):
        load_collection("irds:msmarco-passage/dev")
    with pytest.raises(ResourceError, match="aol-ia needs the package"):
        log_queries("irds:aol-ia")


@pytest.mark.heavy
def test_a_home_that_cannot_be_written_says_the_fix(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    program = "from quipukit.collections.irds import IrDataset\nIrDataset('vaswani')"
    environment = {**os.environ, "IR_DATASETS_HOME": str(tmp_path / "file" / "data")}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert "ResourceError: ir_datasets cannot provide irds:vaswani" in done.stderr and "IR_DATASETS_HOME" in done.stderr


def test_offline_the_error_is_one_short_line(irds: Any, register: Any, tmp_path: Path, capfd: Any) -> None:
    import requests

    hosts = ["trec.example.org", "mirror.example.org"]
    faults = [requests.ConnectionError(f"HTTPConnectionPool(host='{h}'): Failed to resolve '{h}'" * 9) for h in hosts]

    class Unreachable(Local):
        def stream(self) -> BinaryIO:
            irds.log.easy().info(f"download error: {faults[0]}. Retrying from start.")
            irds.log.easy().warn(f"Download failed: {faults[0]}")
            irds.log.easy().info("something else")
            raise RuntimeError("All download sources failed", list(zip(hosts, faults, strict=True)))

    register("quipukit-far", irds.formats.TsvDocs(Unreachable(tmp_path)))
    with pytest.raises(ResourceError) as caught:
        list(load_collection("irds:quipukit-far").documents())
    message = str(caught.value)
    assert message.startswith(
        "ir_datasets cannot provide irds:quipukit-far: trec.example.org and mirror.example.org can"
    )
    assert "IR_DATASETS_HOME" in message and len(message) < 250 and "\n" not in message
    said = capfd.readouterr().err
    assert "something else" in said and "ownload" not in said


@pytest.mark.heavy
def test_a_query_log_by_its_id_attacks(irds: Any, register: Any, tmp_path: Path) -> None:
    class Log(irds.formats.BaseQlogs):  # type: ignore[misc, name-defined]
        def qlogs_iter(self) -> Iterator[Asked]:
            for query in ("how tumors grow", "weather tomorrow", "weather tomorrow", "cheap flights"):
                yield Asked("u", "1", query, datetime.datetime(2006, 3, 1))

        def qlogs_cls(self) -> type:
            return Asked

    register("quipukit-aol", Log(), corpus(irds, tmp_path / "docs.tsv"))  # in the shape of aol-ia
    collection = load_collection("irds:quipukit-aol")
    assert collection.log_name == "irds:quipukit-aol" and len(collection.query_log()) == 4
    file = tmp_path / "sent.csv"
    file.write_text("id,text,obfuscatedText,mechanism,epsilon\n1,how tumors grow,tumors grow,CMP,5\n")
    done = run("attack", str(file), "--log", "irds:quipukit-aol", "--attackers", "Lexical", "--json")
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert (facts["log_size"], facts["in_log"], facts["injected"]) == (3, 1, 0)
    assert facts["settings"][0]["P@1"] == 1.0
