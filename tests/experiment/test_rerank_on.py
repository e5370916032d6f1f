"""``--rerank-on snippet`` and ``--reranker none``: experiments with an engine whose documents are elsewhere."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

import quipukit as qk
from quipukit.errors import InputError
from quipukit.retrieval.fusion import fuse
from quipukit.retrieval.load import load_scorer
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


@pytest.fixture
def bare(village: Path, tmp_path: Path) -> Path:
    """The same queries and judgments, without any documents."""
    folder = tmp_path / "bare"
    folder.mkdir()
    for name in ("topics.tsv", "qrels.txt"):
        (folder / name).write_bytes((village / name).read_bytes())
    return folder


def lines_of(folder: Path) -> list[list[str]]:
    (run,) = folder.glob("*.trec")
    return [line.split() for line in run.read_text().splitlines() if not line.startswith("#")]


def test_retrieve_without_a_reranker_fuses_the_lists(
    bare: Path, engine: FakeEngine, sent_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shared = ["retrieve", sent_file, "--retriever", at(engine), "--collection", bare, "--depth", "3"]
    shared += ["--queries", tmp_path / "topics.tsv"]
    assert command(*shared, "--reranker", "none", "-o", tmp_path / "runs") == 0
    assert "fused by rank" in capsys.readouterr().err
    queries = pd.read_csv(sent_file).assign(parameter="")
    lists = qk.retrieve(queries, None, at(engine), 3, queries=QUERIES)
    fused = fuse(lists)
    assert [line[2] for line in lines_of(tmp_path / "runs")] == fused["docno"].tolist()
    assert [float(line[4]) for line in lines_of(tmp_path / "runs")] == pytest.approx(fused["score"].tolist(), rel=1e-4)
    (metadata,) = (tmp_path / "runs" / "ir-metadata").glob("*.yml")
    assert "reciprocal ranks" in metadata.read_text() and "minilm" not in metadata.read_text()
    # What is not there cannot be re-ranked, and is said before anything is sent.
    before = len(engine.asked)
    assert command(*shared, "--reranker", "user", "-o", tmp_path / "text") == 2
    told = capsys.readouterr().err
    assert "no file of documents" in told and "--rerank-on snippet" in told and "--reranker none" in told
    assert len(engine.asked) == before
    assert command(*shared, "--reranker", "user", "--rerank-on", "snippet", "-o", tmp_path / "snippets") == 0


def evaluated(folder: Path, village: Path, retriever: object, out: Path, *more: object) -> qk.Result:
    common = ["--log", village / "log.txt", "--vectors", village / "vectors.txt", "--encoder", "attacker"]
    common += ["--attackers", "QuIA", "--no-growth", "-m", "CMP@2", "CMP@4", "-n", "2", "--depth", "4", "--seed", "8"]
    assert command("evaluate", folder, *common, "--retriever", retriever, "-o", out, *more) == 0
    return qk.Result.load(out)


@pytest.mark.parametrize("how", [["--reranker", "none"], ["--reranker", "user", "--rerank-on", "snippet"]])
def test_evaluate_needs_no_document_on_this_machine(
    bare: Path, village: Path, engine: FakeEngine, tmp_path: Path, how: list[str]
) -> None:
    result = evaluated(bare, village, at(engine), tmp_path / "run", *how, "--no-report")
    assert command("report", tmp_path / "run", "--figures", "none") == 0
    assert result.settings["pooled_share"].isna().all() and (result.settings["pooled"] > 0).any()
    page = (tmp_path / "run" / "report" / "report.html").read_text(encoding="utf-8")
    assert ("fused by rank" in page) == (how[-1] == "none")
    # The documents change nothing in what is found.
    whole = evaluated(village, village, at(engine), tmp_path / "whole", *how, "--no-report")
    keys = ["mechanism", "value", "qid", "measure"]
    ours, theirs = (
        one.scores[one.scores["side"] == "utility"].sort_values(keys)["score"].tolist() for one in (result, whole)
    )
    assert ours == theirs and max(ours) > 0


def test_fused_utility_is_that_of_the_fused_run(village: Path, tmp_path: Path) -> None:
    result = evaluated(village, village, "bm25", tmp_path / "run", "--reranker", "none", "--no-report")
    reranked = evaluated(village, village, "bm25", tmp_path / "user", "--reranker", "user", "--no-report")
    collection = qk.load_collection(str(village))
    sent = result.obfuscated[result.obfuscated["mechanism"] == "CMP"]
    run = fuse(qk.retrieve(sent, collection, "bm25", 4))
    expected = qk.utility(run, collection.qrels(), ["nDCG@10"])
    keys = ["value", "qid"]
    ours, others = (
        one.scores.query("mechanism == 'CMP' and measure == 'nDCG@10' and side == 'utility'").sort_values(keys)
        for one in (result, reranked)
    )
    assert ours["score"].tolist() == pytest.approx(expected.sort_values(keys)["score"].tolist())
    assert ours["score"].tolist() != others["score"].tolist()
    # The original query is measured in the order of its own list.
    identity = result.scores.query("mechanism == 'Identity' and measure == 'nDCG@10' and side == 'utility'")
    own = fuse(qk.retrieve(result.obfuscated.query("mechanism == 'Identity'"), collection, "bm25", 4))
    assert identity["score"].sum() == pytest.approx(qk.utility(own, collection.qrels(), ["nDCG@10"])["score"].sum())


def test_python_takes_the_same_names(village: Path, bare: Path, engine: FakeEngine) -> None:
    options = {"n": 2, "log": str(village / "log.txt"), "vectors": str(village / "vectors.txt"), "encoder": "attacker"}
    options |= {"attackers": "QuIA", "growth": False, "depth": 4, "progress": False, "retriever": at(engine)}
    fused = qk.evaluate(str(bare), ["CMP@2"], reranker="none", **options)
    assert fused.manifest["systems"][0]["reranker"] == "none"
    shown = qk.evaluate(str(bare), ["CMP@2"], reranker="user", rerank_on="snippet", **options)
    assert shown.manifest["systems"][0]["reranker"] == "snippet:user"
    with pytest.raises(InputError, match="rerank_on is"):
        qk.evaluate(str(bare), ["CMP@2"], rerank_on="title", **options)
    with pytest.raises(InputError, match="no file of documents"):
        qk.evaluate(str(bare), ["CMP@2"], reranker="user", **options)
    with pytest.raises(InputError, match=r"fusion\.fuse"):
        load_scorer("none", qk.load_collection(str(village)))


def test_a_plan_without_documents_can_be_estimated(
    bare: Path, village: Path, engine: FakeEngine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    common = ["--log", village / "log.txt", "--vectors", village / "vectors.txt", "--encoder", "attacker"]
    common += ["--retriever", at(engine), "--reranker", "user", "--rerank-on", "snippet", "-m", "CMP@2", "-n", "2"]
    assert command("evaluate", bare, *common, "--dry-run") == 0
    assert "search" in capsys.readouterr().out and not engine.asked
