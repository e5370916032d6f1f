"""Experiments with an engine over the network: no original is sent unless allowed, and no login is written down."""

import base64
import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import quipukit as qk
from quipukit.cli import main
from quipukit.errors import InputError
from quipukit.experiment.options import Options
from quipukit.experiment.run import resume
from quipukit.plugins import temporarily_installed
from quipukit.retrieval.base import Ranking, Retriever
from quipukit.retrieval.consent import are_originals
from quipukit.retrieval.load import load_retriever
from quipukit.text import key
from tests.experiment import tiny
from tests.experiment.conftest import slowly
from tests.retrieval.fake_engine import Asked, FakeEngine, Reply, sent, serving

ORIGINALS = [
    *("captain near the island", "storm before the harbour", "apple and pear harvest", "soil, rain, and frost"),
    *("bread and butter", "onion recipe with smoke", "The Lantern's Tide!", "pupil and teacher", "chalk on a corridor"),
    *("a poem of the holiday", "rope and anchor", "knife beside the oven"),
]
DOCUMENTS = tiny.documents()
USER, PASSWORD = "qx-alizarin", "Tr0ub4dor-zebra"


def answered(asked: Asked) -> Reply:
    """Answer as OpenSearch does: the documents with most words of the query."""
    words = set(sent(asked).split())
    scores = {docno: len(words & set(text.replace(",", "").split())) for docno, text in DOCUMENTS.items()}
    best = sorted((docno for docno in scores if scores[docno]), key=lambda docno: (-scores[docno], docno))
    hits = [{"_id": docno, "_score": float(scores[docno])} for docno in best[: asked.json["size"]]]
    return Reply({"timed_out": False, "_shards": {"failed": 0}, "hits": {"hits": hits}})


def only_with(header: str) -> Any:
    """Answer nobody but those who send this header."""
    return lambda asked: answered(asked) if asked.headers.get("authorization") == header else Reply(b"", 401)


BASIC = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()


@pytest.fixture
def engine() -> Iterator[FakeEngine]:
    with serving(answered) as server:
        yield server


@pytest.fixture(autouse=True)
def no_login(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nobody has a login yet."""
    for name in ("USER", "PASSWORD", "TOKEN"):
        monkeypatch.delenv(f"QUIPUKIT_ENGINE_{name}", raising=False)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))


@pytest.fixture
def topics(village: Path, tmp_path: Path) -> list[str]:
    """The options for twelve queries, every one judged."""
    qids = [f"q{number}" for number in range(len(ORIGINALS))]
    queries, qrels = tmp_path / "twelve.tsv", tmp_path / "twelve.qrels"
    tiny.write_lines(queries, (f"{qid}\t{text}" for qid, text in zip(qids, ORIGINALS, strict=True)))
    tiny.write_lines(qrels, (f"{qid} 0 {docno} 1" for qid, docno in zip(qids, DOCUMENTS, strict=False)))
    common = ["--log", village / "log.txt", "--vectors", village / "vectors.txt", "--encoder", "attacker"]
    common += ["--attackers", "QuIA", "--no-growth"]
    given = ["evaluate", village, "--queries", queries, "--qrels", qrels, *common, "--depth", "4", "-n", "3"]
    return [*map(str, given), "--reranker", "user"]


def command(*arguments: object) -> int:
    """Run a command in this process, and return how it ended."""
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    return int(end.value.code or 0)


def at(server: FakeEngine, login: str = "") -> str:
    return f"opensearch+http://{login}{server.host}/news"


def received(server: FakeEngine) -> int:
    """Return how many of the originals the engine has seen."""
    texts = [sent(asked) for asked in server.asked]
    assert {key(text) for text in texts} & {key(text) for text in ORIGINALS} <= set(map(key, ORIGINALS))
    return int(are_originals(ORIGINALS, texts).sum())


# --- originals ----------------------------------------------------------------------------------------------------


def test_by_default_the_engine_receives_none_of_twelve_originals(
    topics: list[str], engine: FakeEngine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    # At epsilon 1000 a query stays as it is: what is drawn counts, not what the mechanism is called.
    asked = [*topics, "--seed", "8", "-m", "CMP@1", "CMP@1000", "TEM@0.5"]
    assert command(*asked, "--retriever", at(engine), "-o", out, "--no-report") == 0
    assert received(engine) == 0 and len(engine.asked) > 30
    told = capsys.readouterr().err
    assert "left out: CMP@1000 drew" in told
    assert f"distinct texts to {at(engine)}; none of the 12 original queries is among them" in told
    result = qk.Result.load(out)
    assert result.mechanisms == ["CMP", "TEM", "Random"] and result.settings["value"].tolist()[:2] == [1, 0.5]
    assert result.manifest["noise"] == "independent"
    distinct = result.obfuscated["query"].nunique()
    assert result.manifest["sent"] == [{"system": at(engine), "texts": distinct, "originals": 0, "queries": 12}]
    assert len({sent(asked) for asked in engine.asked}) == distinct
    # What needs Identity says so, or does without.
    assert command("report", out, "--figures", "none") == 0
    page = (out / "report" / "report.html").read_text(encoding="utf-8")
    assert "Sent over the network" in page and "none of the 12 original queries is among them" in page
    assert "not measured, because they were not sent over the network" in page
    assert result.recommend(max_risk=0.9).settings["kept"].isna().all()
    assert not result.quipu(replicates=20).empty
    assert command("recommend", out, "--max-risk", "0.9") == 0
    assert command("compare", out, out) == 0
    # The same command again asks for nothing.
    before = len(engine.asked)
    assert command("evaluate", "--resume", out, "--no-report") == 0
    assert len(engine.asked) == before


def test_no_guess_of_an_attacker_is_sent(topics: list[str], engine: FakeEngine, tmp_path: Path) -> None:
    # The log is completed with the originals, and what CMP sends at epsilon 20 is enough to guess some of them.
    out = tmp_path / "run"
    assert command(*topics, "-m", "CMP@1", "CMP@20", "--retriever", at(engine), "-o", out, "--no-report") == 0
    result = qk.Result.load(out)
    sent_by_us = set(result.obfuscated["query"])
    assert {sent(asked) for asked in engine.asked} == sent_by_us
    assert result.guesses["hit"].any() and not set(result.guesses["query"]) <= sent_by_us
    assert received(engine) == 0
    # Measured all the same, with BM25 on this machine.
    assert result.need["guesser"].unique().tolist() == ["Consensus", "Guess"] and len(result.need_leakage())


def test_with_consent_it_receives_all_of_them(
    topics: list[str], engine: FakeEngine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = [*topics, "-m", "CMP@1", "--retriever", at(engine), "-o", tmp_path / "run", "--no-report"]
    assert command(*asked) == 0
    assert received(engine) == 0
    assert command(*asked, "--send-originals") == 0  # in the same folder: it costs what was kept back
    assert received(engine) == 12
    assert "12 of the 12 original queries are among them" in capsys.readouterr().err
    result = qk.Result.load(tmp_path / "run")
    assert "Identity" in result.mechanisms and result.manifest["sent"][0]["originals"] == 12
    assert result.manifest["noise"] == "independent"


def test_a_mechanism_that_sends_the_original_is_refused_by_its_word(
    topics: list[str], engine: FakeEngine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = [*topics, "-m", "CMP@1", "Identity", "--retriever", at(engine), "-o", tmp_path / "run", "--no-report"]
    assert command(*asked) == 2
    assert "Identity sends the original queries" in (told := capsys.readouterr().err) and "--send-originals" in told
    assert engine.asked == [] and not (tmp_path / "run" / "experiment.json").exists()
    assert command(*asked, "--skip-invalid") == 0
    assert received(engine) == 0


def test_settings_that_all_draw_originals_leave_nothing_to_run(
    topics: list[str], engine: FakeEngine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(*topics, "-m", "CMP@1000", "--retriever", at(engine), "-o", tmp_path / "run") == 2
    assert "choose settings that hide more" in capsys.readouterr().err
    assert engine.asked == []


def test_common_noise_is_not_for_what_is_really_sent(village: Path, engine: FakeEngine) -> None:
    systems = ((at(engine), "bm25"),)
    assert Options(systems=systems).noise == "independent" and Options().noise == "common"
    assert Options(systems=systems, send_originals=True).noise == "independent"
    with pytest.raises(InputError, match="noise='common' has no joint guarantee"):
        Options(systems=systems, noise="common")
    assert Options(noise="common").noise == "common"


def test_queries_obfuscated_elsewhere_are_compared_with_the_originals(
    village: Path, engine: FakeEngine, tmp_path: Path
) -> None:
    queries = pd.DataFrame({"qid": ["a", "b"], "query": ["The Lantern's Tide!", "rope and anchor"]})
    table = pd.DataFrame(
        {"qid": ["a", "b"], "variant": 0, "mechanism": "Theirs", "parameter": "", "value": 0.0}
        | {"query": ["LANTERN?", "gull and salt"]}
    )
    qrels = pd.DataFrame({"qid": ["a", "b"], "docno": "harbour-00", "relevance": 1})
    # Half of its words are another text; all of them but for stop words are the same.
    choices = {"queries": queries, "qrels": qrels, "log": village / "log.txt", "encoder": "attacker", "depth": 2}
    choices |= {"attackers": ["QuIA"], "vectors": village / "vectors.txt", "growth": False}
    systems = ((at(engine), "bm25"),)
    qk.evaluate(village, obfuscated=table, systems=systems, out=tmp_path / "1", **choices)
    assert received(engine) == 0 and engine.asked
    engine.asked.clear()
    same = table.assign(query=["tide lantern", "gull and salt"])
    with pytest.raises(InputError, match="1 of 2 obfuscated queries are original queries") as caught:
        qk.evaluate(village, obfuscated=same, systems=systems, out=tmp_path / "2", **choices)
    assert "lantern" not in str(caught.value).lower() and engine.asked == []
    qk.evaluate(village, obfuscated=same, systems=(("bm25", "bm25"),), out=tmp_path / "3", **choices)
    qk.evaluate(village, obfuscated=same, systems=systems, send_originals=True, out=tmp_path / "4", **choices)
    assert "tide lantern" in {sent(asked) for asked in engine.asked}


def test_the_plan_says_what_would_leave(
    topics: list[str], engine: FakeEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = [*topics, "-m", "CMP@1", "--dry-run"]
    assert command(*asked, "--retriever", at(engine)) == 0
    plan = capsys.readouterr().out
    assert f"distinct texts go to {at(engine)}; none of the 12 original queries is among them" in plan
    assert command(*asked, "--retriever", at(engine), "--send-originals") == 0
    assert "the 12 original queries are among them" in capsys.readouterr().out
    assert command(*asked) == 0
    assert "over the network" not in capsys.readouterr().out
    assert engine.asked == []


def test_the_single_steps_ask_for_consent_too(
    village: Path, engine: FakeEngine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    queries = pd.DataFrame({"qid": ["q1", "q2"], "query": ORIGINALS[:2]})
    plain = qk.obfuscate(queries, "Identity", n=1)
    for table, known in ((plain, None), (plain.assign(mechanism="Theirs"), queries)):
        with pytest.raises(InputError, match="send_originals=True"):
            qk.retrieve(table, None, at(engine), depth=2, queries=known)
    assert engine.asked == []
    assert len(qk.retrieve(plain, None, at(engine), depth=2, send_originals=True)) == 4
    assert len(qk.retrieve(plain, qk.load_collection(village), "bm25", depth=2)) == 4
    engine.asked.clear()
    file, topics = tmp_path / "sent.csv", tmp_path / "topics.tsv"
    plain.assign(mechanism="Theirs").to_csv(file, index=False)
    tiny.write_lines(topics, (f"{qid}\t{text}" for qid, text in zip(queries["qid"], queries["query"], strict=True)))
    asked = ["retrieve", file, "--collection", village, "--queries", topics, "--retriever", at(engine)]
    for more in ([], ["--raw"]):
        assert command(*asked, "--reranker", "bm25", "-o", tmp_path / "runs", *more) == 2
        assert "2 of 2 obfuscated queries are original queries" in capsys.readouterr().err
    assert engine.asked == []
    assert command(*asked, "--reranker", "bm25", "-o", tmp_path / "runs", "--send-originals") == 0
    assert len(engine.asked) == 2


class Far(Retriever):
    """A plugin that asks another machine."""

    name, remote = "far", True

    def __init__(self, collection: Any) -> None:
        self.asked: list[str] = seen

    def search(self, queries: Any, depth: int, progress: Any = None) -> list[Ranking]:
        self.asked += queries
        return [Ranking(["moon-00"], np.ones(1)) for _ in queries]


seen: list[str] = []


def test_a_plugin_says_for_itself_that_it_is_remote(village: Path, tmp_path: Path) -> None:
    seen.clear()
    with temporarily_installed("quipukit.retrievers", far=Far, shy=functools.partial(Far)):
        result = tiny.run(village, tmp_path / "run", specs=["AEA@3"], systems=(("far", "bm25"),))
        assert result.mechanisms == ["AEA", "Random"] and result.manifest["sent"][0]["originals"] == 0
        assert seen and not set(seen) & set(tiny.TOPICS.values())
        with pytest.raises(InputError, match="set remote = True"):
            load_retriever("shy", qk.load_collection(village))


# --- logins -------------------------------------------------------------------------------------------------------

SECRETS = [secret.encode() for secret in (PASSWORD, USER, BASIC.removeprefix("Basic "), "t0ken-of-mine")]


def traces(*folders: Path) -> list[str]:
    """Return every file, by content or by name, that holds a part of a login."""
    return [
        str(path)
        for folder in folders
        for path in folder.rglob("*")
        if any(secret in str(path).encode() or (path.is_file() and secret in path.read_bytes()) for secret in SECRETS)
    ]


@pytest.mark.parametrize("source", ["environment", *slowly("netrc")])
def test_a_whole_experiment_leaves_no_trace_of_a_login(
    topics: list[str],
    tmp_path: Path,
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    source: str,
) -> None:
    with serving(only_with(BASIC)) as server:
        if source == "environment":
            monkeypatch.setenv("QUIPUKIT_ENGINE_USER", USER)
            monkeypatch.setenv("QUIPUKIT_ENGINE_PASSWORD", PASSWORD)
        else:
            (tmp_path / "netrc").write_text(f"machine 127.0.0.1 login {USER} password {PASSWORD}\n")
            (tmp_path / "netrc").chmod(0o600)
        out, other = tmp_path / "runs" / "run", tmp_path / "runs" / "report"
        assert command(*topics, "-m", "CMP@1", "TEM@0.5", "--retriever", at(server), "-o", out, "--no-report") == 0
        assert len(server.asked) > 10
        assert command("report", out, "-o", out / "report", "--figures", "none") == 0
        for piece in out.glob("artifacts/pool/*.parquet"):
            piece.unlink()
        for answers in (out / "answers").iterdir():
            answers.unlink()
        assert command("evaluate", "--resume", out, "--no-report") == 0  # the login is found again, where it was
        if source == "netrc":  # the slow one looks at the figures, too
            assert command("report", out, "--no-examples", "--figures", "svg", "-o", other) == 0
        assert command("recommend", out, "--max-risk", "0.9") == 0
        told = capsys.readouterr()
        assert at(server) in (out / "manifest.json").read_text(encoding="utf-8")
        assert traces(tmp_path / "runs", cache) == []
        for shown in (told.out, told.err, repr(load_retriever(at(server))), json.dumps(list(vars(resume(out))))):
            assert not any(secret.decode() in shown for secret in SECRETS)


WITH_LOGIN = [
    "opensearch+http://alice:Tr0ub4dor-zebra@{host}/news",
    "opensearch+http://alice@{host}/news",
    "opensearch+http://alice:Tr0ub4dor%2Dzebra@{host}/news",
    "opensearch+http://alice:1/Tr0ub4dor-zebra@{host}/news",
    "opensearch+http:/alice:Tr0ub4dor-zebra@{host}/news",
    "opensearch+http//alice:Tr0ub4dor-zebra@{host}/news",
    "opensearch+htp://alice:Tr0ub4dor-zebra@{host}/news",
    "opensearch:alice:Tr0ub4dor-zebra@{host}/news",
    "opensearch+http://alice:1?Tr0ub4dor-zebra@{host}/news",
    "opensearch+http://alice:1#Tr0ub4dor-zebra@{host}/news",
    "opensearch+http://{host}/news?api_key=Tr0ub4dor-zebra",
    "opensearch+http://{host}/news?Tr0ub4dor-zebra",
    "opensearch+http://{host}/news#Tr0ub4dor-zebra",
    "http://alice:Tr0ub4dor-zebra@{host}/news",
    "http://{host}/news?key=Tr0ub4dor-zebra",
    "dense:http://alice:Tr0ub4dor-zebra@{host}/news",
    "dense:alice:Tr0ub4dor-zebra@{host}",
    "dense:alice:Tr0ub4dor-zebra",
    "opensearch:alice:Tr0ub4dor-zebra",
    "alice:Tr0ub4dor-zebra",
]


@pytest.mark.parametrize(
    "form",
    [
        "--retriever {}",
        *(pytest.param(form, marks=pytest.mark.slow) for form in ("--retriever={}", "--reranker {}")),
        "--collection {}",
    ],
)
def test_an_address_with_a_login_is_refused_and_shown_nowhere(
    topics: list[str], engine: FakeEngine, tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    out = tmp_path / "runs" / "run"
    # In a place where no address belongs, only those that are plainly one are known for what they are.
    for address in WITH_LOGIN[:4] if "collection" in form else WITH_LOGIN:
        option = form.format(address.format(host=engine.host)).split(" ")
        verb = ["obfuscate"] if "collection" in form else [*topics, "-m", "CMP@1"]
        assert command(*verb, *option, "-o", out) == 2
        told = capsys.readouterr()
        assert told.err.startswith("quipukit: ") and told.err.count("\n") == 1
        for shown in (told.out, told.err):
            assert "zebra" not in shown and "Tr0ub4dor" not in shown and "alice" not in shown
    assert traces(tmp_path / "runs") == [] and engine.asked == []


def test_the_library_refuses_it_with_nothing_hanging_on_the_exception(engine: FakeEngine) -> None:
    address = at(engine, f"{USER}:{PASSWORD}@")
    for make in (load_retriever, lambda name: Options(systems=((name, "bm25"),))):
        with pytest.raises(InputError, match="QUIPUKIT_ENGINE_USER") as caught:
            make(address)
        fault: BaseException | None = caught.value
        while fault is not None:
            assert PASSWORD not in repr(fault) and PASSWORD not in str(fault)
            fault = fault.__cause__ or fault.__context__
    with pytest.raises(InputError, match="re-ranker is a model on this machine"):
        Options(systems=(("bm25", address),))


def test_one_login_does_not_go_to_two_hosts(
    village: Path, engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUIPUKIT_ENGINE_TOKEN", "t0ken-of-mine")
    with serving(answered) as other:
        systems = ((at(engine), "bm25"), (at(other), "bm25"))
        with pytest.raises(InputError, match="one login, and there are 2 engines") as caught:
            tiny.run(village, tmp_path / "run", specs=["AEA@3"], systems=systems)
        assert "t0ken" not in str(caught.value) and not engine.asked and not other.asked
