"""``--rerank-on snippet``: an experiment with an engine whose documents are not on this machine."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from quipukit.retrieval.saved import saved_shown
from tests.experiment.test_over_the_wire import DOCUMENTS, answered, command
from tests.retrieval.fake_engine import Asked, FakeEngine, Reply, serving

QUERIES = pd.DataFrame({"qid": ["a", "b"], "query": ["captain near the island", "rope and anchor"]})


def showing(asked: Asked) -> Reply:
    """Answer with titles and snippets, if they are asked for: those of other documents, to tell them apart."""
    reply = answered(asked)
    if asked.json["_source"]:
        for hit in reply.body["hits"]["hits"]:
            hit["_source"] = {"head": hit["_id"], "lead": DOCUMENTS[hit["_id"]]}
    return reply


@pytest.fixture
def engine() -> Iterator[FakeEngine]:
    with serving(showing) as server:
        yield server


def at(engine: FakeEngine, fields: str = "?title=head&snippet=lead") -> str:
    return f"opensearch+http://{engine.host}/news{fields}"


@pytest.fixture
def sent_file(tmp_path: Path) -> Path:
    rows = [("a", 0, "storm island"), ("a", 1, "gull salt"), ("b", 0, "tide lantern")]
    table = pd.DataFrame(rows, columns=["qid", "variant", "query"])
    table.assign(mechanism="Theirs", parameter="", value=0.0).to_csv(tmp_path / "sent.csv", index=False)
    QUERIES.to_csv(tmp_path / "topics.tsv", sep="\t", index=False, header=False)
    return tmp_path / "sent.csv"


def test_retrieve_ranks_what_the_engine_shows(
    village: Path, engine: FakeEngine, sent_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    usual = ["--collection", village, "--queries", tmp_path / "topics.tsv", "--reranker", "user", "--depth", "3"]
    shared = ["retrieve", sent_file, "--retriever", at(engine), *usual]
    assert command(*shared, "--rerank-on", "snippet", "-o", tmp_path / "runs") == 0
    shown = saved_shown(tmp_path / "runs" / "answers")
    assert shown and all(own.title == docno for docno, own in shown.items())
    (run,) = (tmp_path / "runs").glob("*.trec")
    lines = [line for line in run.read_text().splitlines() if not line.startswith("#")]
    ranked = [line.split() for line in lines]
    assert {line[2] for line in ranked} == set(shown)
    assert command("retrieve", sent_file, *usual, "--rerank-on", "snippet", "-o", tmp_path / "local") == 0


def test_an_engine_that_shows_nothing_is_told(
    village: Path, engine: FakeEngine, sent_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    usual = ["--collection", village, "--queries", tmp_path / "topics.tsv", "--reranker", "user", "--depth", "3"]
    told = [
        "retrieve",
        sent_file,
        "--retriever",
        at(engine, ""),
        *usual,
        "--rerank-on",
        "snippet",
        "-o",
        tmp_path / "x",
    ]
    assert command(*told) == 2
    assert "neither titles nor snippets" in capsys.readouterr().err
    assert command(*told[:-4], "--rerank-on", "title", "-o", tmp_path / "y") == 2
    assert "'text' or 'snippet'" in capsys.readouterr().err


def test_evaluate_measures_what_snippets_find(village: Path, engine: FakeEngine, tmp_path: Path) -> None:
    common = ["--log", village / "log.txt", "--vectors", village / "vectors.txt", "--encoder", "attacker"]
    common += ["--attackers", "QuIA", "--no-growth", "-m", "CMP@2", "-n", "2", "--depth", "4", "--no-report"]
    common += ["--retriever", at(engine), "--reranker", "user"]
    first = ["evaluate", village, *common, "-o", tmp_path / "run"]
    assert command(*first, "--rerank-on", "snippet") == 0
    asked = len(engine.asked)
    assert asked and all(one.json["_source"] == ["head", "lead"] for one in engine.asked)
    assert command("evaluate", village, *common, "-o", tmp_path / "text") == 0
