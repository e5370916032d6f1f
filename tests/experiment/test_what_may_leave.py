"""What is refused before it reaches an engine: common noise, originals in disguise, and what nothing tells apart.

The rules are in quipukit.experiment.outbound and quipukit.retrieval.consent.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import quipukit as qk
from quipukit.encoders.load import load_encoder
from quipukit.errors import InputError
from quipukit.experiment.options import Options
from quipukit.frames import noise_of
from quipukit.io.obfuscated import read_obfuscated
from quipukit.report.write import Report
from quipukit.retrieval.consent import are_originals
from quipukit.retrieval.http import HttpEngine
from tests.experiment import tiny
from tests.experiment.conftest import slowly
from tests.experiment.test_over_the_wire import answered, at, command
from tests.retrieval.fake_engine import FakeEngine, sent, serving

QUERIES = pd.DataFrame({"qid": ["a", "b"], "query": ["captain near the island", "rope and anchor"]})


@pytest.fixture
def engine() -> Iterator[FakeEngine]:
    with serving(answered) as server:
        yield server


@pytest.fixture
def topics(tmp_path: Path) -> Path:
    QUERIES.to_csv(tmp_path / "topics.tsv", sep="\t", index=False, header=False)
    return tmp_path / "topics.tsv"


def table(*texts: str, **columns: Any) -> pd.DataFrame:
    """Return one variant of each query under a mechanism that nobody knows."""
    setting = {"variant": 0, "mechanism": "Theirs", "parameter": "", "value": 0.0}
    return pd.DataFrame({"qid": ["a", "b"], "query": texts or ("gull", "salt"), **setting, **columns})


def sweep(**columns: Any) -> pd.DataFrame:
    return pd.concat([table(value=1.0, **columns), table("worm", "frost", value=2.0, **columns)], ignore_index=True)


def refused(capsys: pytest.CaptureFixture[str], server: FakeEngine, *arguments: object) -> str:
    """Return what a command says that is refused before anything is sent."""
    assert command(*arguments) == 2
    assert server.asked == []
    return capsys.readouterr().err


# --- common noise -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["csv", *slowly("jsonl", "parquet")])
def test_a_file_with_common_noise_does_not_go_to_an_engine(
    village: Path, engine: FakeEngine, tmp_path: Path, topics: Path, capsys: pytest.CaptureFixture[str], ending: str
) -> None:
    file = tmp_path / f"sent.{ending}"
    made = ["obfuscate", "--queries", topics, "-m", "CMP", "-e", "1", "2", "-n", "1", "--seed", "1"]
    assert command(*made, "--vectors", village / "vectors.txt", "--noise", "common", "-o", file) == 0
    capsys.readouterr()
    usual = ["--collection", village, "--queries", topics, "--retriever", at(engine), "--reranker", "bm25"]
    for more in ([], ["--raw"], ["--send-originals"], ["--raw", "--send-originals"]):
        told = refused(capsys, engine, "retrieve", file, *usual, *more, "-o", tmp_path / "runs")
        assert "share common noise" in told and "independent" in told
    asked = ["evaluate", village, "--obfuscated", file, "--queries", topics, "--retriever", at(engine), "--depth", "2"]
    asked += ["--reranker", "bm25", "--encoder", "attacker", "--log", village / "log.txt", "--no-report"]
    asked += ["--attackers", "QuIA", "--vectors", village / "vectors.txt"]
    for more in ([], ["--send-originals"]):
        assert "share common noise" in refused(capsys, engine, *asked, *more, "-o", tmp_path / "run")
    read, _ = read_obfuscated(file)
    assert set(read["noise"]) == {"common"}
    alone = read[read["value"] == 1.0].assign(query=["gull", "salt"])  # one setting keeps its guarantee
    assert len(qk.retrieve(alone, None, at(engine), depth=1, queries=QUERIES)) == 2


def test_the_mark_of_common_noise_stays_on_tables(engine: FakeEngine, tmp_path: Path) -> None:
    for marked in (sweep(noise="common"), sweep(noise=["common", "independent"])):
        with pytest.raises(InputError, match="share common noise"):
            qk.retrieve(marked, None, at(engine), depth=1, queries=QUERIES)
    assert engine.asked == []
    # A folder of two files is common if one of them is, and of a mixture nobody says that it is independent.
    for first, second, joint in (
        ("common", "independent", "common"),
        ("independent", "independent", "independent"),
        ("independent", "unknown", "unknown"),
        ("common", None, "common"),
        ("independent", None, "unknown"),
        (None, None, "unknown"),
    ):
        folder = tmp_path / f"{first}-{second}"
        folder.mkdir()
        for number, said in enumerate((first, second), 1):
            marked = table(value=float(number), **({} if said is None else {"noise": said}))
            marked.to_csv(folder / f"{number}.csv", index=False)
        assert noise_of(read_obfuscated(folder)[0]) == joint
    published = table(noise="common", text="x", epsilon=1.0).rename(columns={"qid": "id", "query": "obfuscatedText"})
    published[["id", "text", "obfuscatedText", "mechanism", "epsilon", "noise"]].to_csv(tmp_path / "p.csv", index=False)
    assert set(read_obfuscated(tmp_path / "p.csv")[0]["noise"]) == {"common"}
    assert len(qk.retrieve(sweep(noise="independent"), None, at(engine), depth=1, queries=QUERIES)) == 4


def test_noise_of_which_nothing_is_said_counts_as_common(village: Path, engine: FakeEngine, tmp_path: Path) -> None:
    vectors = qk.load_vectors(village / "vectors.txt")
    common = qk.obfuscate(QUERIES, ["CMP@1", "CMP@2"], 1, vectors=vectors, seed=1, noise="common")
    selected = common[["qid", "variant", "query", "mechanism", "parameter", "value"]]
    half = pd.concat([sweep(noise="independent").query("value == 1.0"), sweep().query("value == 2.0")])
    for one in (selected, sweep(), sweep(noise="unknown"), half):
        for allowed in (False, True):
            with pytest.raises(InputError, match=r"nothing says how the noise .*'independent' in every row"):
                qk.retrieve(one, None, at(engine), depth=1, queries=QUERIES, send_originals=allowed)
        with pytest.raises(InputError, match="nothing says how the noise"):
            tiny.run(
                village, tmp_path / "run", obfuscated=one, specs=None, queries=QUERIES, systems=[(at(engine), "bm25")]
            )
    assert engine.asked == []
    alone = sweep().query("value == 1.0")
    assert len(qk.retrieve(alone, None, at(engine), depth=1, queries=QUERIES)) == 2
    measured = tiny.run(village, None, obfuscated=selected, specs=None, queries=QUERIES, qrels=judged("a", "b"))
    page = Report([measured]).write(tmp_path / "report", formats=()).read_text(encoding="utf-8")
    assert "Nothing says how the noise was drawn, and the settings may share it, so each budget holds" in page
    assert "not known, and taken for shared wherever guarantees add up" in page


def test_the_mark_of_common_noise_outlives_what_pandas_does_to_a_table(village: Path, engine: FakeEngine) -> None:
    vectors = qk.load_vectors(village / "vectors.txt")
    common = qk.obfuscate(QUERIES, ["CMP@1", "CMP@2"], 2, vectors=vectors, seed=1, noise="common")
    independent = qk.obfuscate(QUERIES, ["CMP@3", "CMP@4"], 2, vectors=vectors, seed=1)
    bare = independent.drop(columns=["n", "noise"])
    changed = [
        common.copy(),
        common[common["variant"] == 0],
        common.sort_values("query").reset_index(drop=True),
        common.merge(QUERIES[["qid"]], on="qid"),
        pd.concat([common[common["value"] == 1.0], common[common["value"] == 2.0]]),
        pd.concat([independent, common[common["value"] == 1.0]]),
        pd.concat([common[common["value"] == 1.0], bare], ignore_index=True),
        pd.DataFrame(common.to_dict("list")),
    ]
    for one in changed:
        assert noise_of(one) == "common"
        for allowed in (False, True):
            with pytest.raises(InputError, match="share common noise"):
                qk.retrieve(one, None, at(engine), depth=1, queries=QUERIES, send_originals=allowed)
    assert engine.asked == []
    # What is left of a mixture without its common rows may go.
    mixture = pd.concat([independent, common])
    rest = mixture[mixture["value"] > 2.0]
    assert noise_of(rest) == "independent"
    assert len(qk.retrieve(rest, None, at(engine), depth=1, queries=QUERIES, send_originals=True)) == 8
    assert engine.asked


def test_what_an_experiment_stores_does_not_depend_on_the_optional_columns(village: Path, tmp_path: Path) -> None:
    rest: dict[str, Any] = {"specs": None, "n": 3, "queries": QUERIES, "qrels": judged("a", "b")}
    for name, marked in {"bare": sweep(), "marked": sweep(n=1, noise="common")}.items():
        tiny.run(village, tmp_path / name, obfuscated=marked, **rest)
    stored = [
        {file.name: file.read_bytes() for file in (tmp_path / name / "artifacts" / "obfuscated").glob("*.parquet")}
        for name in ("bare", "marked")
    ]
    assert stored[0] == stored[1] and len(stored[0]) == 4  # two settings, two references
    bare, marked = (qk.Result.load(tmp_path / name).obfuscated for name in ("bare", "marked"))
    assert list(bare.columns) == list(marked.columns) and "n" not in bare
    assert (noise_of(bare), noise_of(marked)) == ("unknown", "common")


def judged(*qids: str) -> pd.DataFrame:
    return pd.DataFrame({"qid": qids, "docno": "moon-00", "relevance": 1})


def test_a_result_keeps_the_mark(village: Path, engine: FakeEngine, tmp_path: Path) -> None:
    result = tiny.run(village, tmp_path / "run", specs=["CMP@1", "CMP@2"])
    again = qk.Result.load(tmp_path / "run")
    assert again.digest == result.digest
    for one in (result, again):
        assert one.manifest["noise"] == noise_of(one.obfuscated) == "common"
        qk.write_obfuscated(one.obfuscated, tmp_path / "sent.csv")
        assert set(pd.read_csv(tmp_path / "sent.csv")["noise"]) == {"common"}
    assert set(pd.read_parquet(tmp_path / "run" / "obfuscated.parquet")["noise"]) == {"common"}
    assert noise_of(read_obfuscated(tmp_path / "run" / "obfuscated.parquet")[0]) == "common"
    sweep = again.obfuscated[again.obfuscated["mechanism"] == "CMP"]
    with pytest.raises(InputError, match="share common noise"):
        qk.retrieve(sweep, None, at(engine), depth=1, queries=again.queries, send_originals=True)
    choices = {"specs": None, "n": 3, "queries": again.queries}
    measured = tiny.run(village, None, obfuscated=sweep.drop(columns="seed"), **choices)
    assert measured.manifest["noise"] == noise_of(measured.obfuscated) == "common"
    assert engine.asked == []


# --- originals ----------------------------------------------------------------------------------------------------


def test_the_text_beside_an_obfuscated_query_is_an_original(
    village: Path, engine: FakeEngine, tmp_path: Path, topics: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "published.csv"
    rows = {"id": ["a", "b"], "text": ["a secret of mine", "frost"], "obfuscatedText": ["a secret of mine", "worm"]}
    pd.DataFrame({**rows, "mechanism": "Theirs", "epsilon": 1.0}).to_csv(file, index=False)
    usual = ["--queries", topics, "--retriever", at(engine), "--reranker", "bm25"]
    for more in ([], ["--raw"]):
        told = refused(
            capsys, engine, "retrieve", file, "--collection", village, *usual, *more, "-o", tmp_path / "runs"
        )
        assert "1 of 2 obfuscated queries are original queries" in told and "secret" not in told
    usual += [
        "--encoder",
        "attacker",
        "--log",
        village / "log.txt",
        "--depth",
        "2",
        "--no-report",
        "--attackers",
        "QuIA",
        "--vectors",
        village / "vectors.txt",
    ]
    told = refused(capsys, engine, "evaluate", village, "--obfuscated", file, *usual, "-o", tmp_path / "run")
    assert "1 of 2 obfuscated queries are original queries" in told


def test_what_cannot_be_compared_is_not_sent(
    village: Path, engine: FakeEngine, tmp_path: Path, topics: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "sent.csv"
    table().to_csv(file, index=False)
    asked = ["retrieve", file, "--collection", village, "--retriever", at(engine), "--raw", "-o", tmp_path / "runs"]
    told = refused(capsys, engine, *asked)
    assert "2 obfuscated queries have no original" in told and "--queries" in told
    assert command(*asked, "--queries", topics) == 0
    told = capsys.readouterr().err
    assert f"over the network: 2 distinct texts to {at(engine)}; none of the 2 original queries is among them" in told
    assert {sent(one) for one in engine.asked} == {"gull", "salt"}
    assert command(*asked, "--send-originals") == 0
    assert "which are originals is not known" in capsys.readouterr().err


def test_the_library_needs_the_originals_or_consent(engine: FakeEngine, village: Path) -> None:
    same = qk.obfuscate(QUERIES, "CMP@1000000", n=1, vectors=qk.load_vectors(village / "vectors.txt"))
    assert same["query"].tolist() == QUERIES["query"].tolist()
    for asked in (at(engine), HttpEngine(at(engine))):
        with pytest.raises(InputError, match="pass the originals as queries="):
            qk.retrieve(same, None, asked, depth=1)
        with pytest.raises(InputError, match="1 obfuscated queries have no original to compare them with"):
            qk.retrieve(table(), None, asked, depth=1, queries=QUERIES[:1])
    assert engine.asked == []
    assert len(qk.retrieve(table(), None, at(engine), depth=1, queries={"a": "frost", "b": "worm"})) == 2
    assert len(qk.retrieve(same, None, at(engine), depth=1, send_originals=True)) == 2
    assert len(qk.retrieve(same, qk.load_collection(village), "bm25", depth=1)) == 2


@pytest.mark.parametrize("word", ["no", "", 1, None])
def test_consent_is_true_or_false(village: Path, engine: FakeEngine, word: Any) -> None:
    for ask in (
        lambda: qk.retrieve(table(), None, at(engine), depth=1, queries=QUERIES, send_originals=word),
        lambda: Options(send_originals=word),
        lambda: tiny.run(village, systems=((at(engine), "bm25"),), send_originals=word),
    ):
        with pytest.raises(InputError, match="send_originals must be True or False"):
            ask()
    assert engine.asked == []


def test_the_words_of_a_query_are_the_query() -> None:
    original = "How does a T-cell tumor grow?"
    same = ["tumor grow t cell", "grow tumor CELL", "the cell-tumor did grow", "growtumor", "grow grow tumor cell"]
    assert are_originals(same, [original]).tolist() == [True, True, True, False, True]
    other = ["tumor", "tumor grow", "cell tumor grow fast", "how does a", "", "?"]
    assert not are_originals(other, [original]).any()
    # Of stop words alone all count, and they are no part of a query that has others.
    assert are_originals(["be to or not", "not", "the who", "who"], ["To be, or not to be"]).tolist() == [True] + 3 * [
        False
    ]
    assert are_originals(["", "???", "the"], ["???"]).tolist() == [False, True, False]


def test_a_mechanism_that_drops_stop_words_does_not_hide_the_query_by_it(
    village: Path, engine: FakeEngine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny.write_lines(tmp_path / "one.tsv", ["q1\thow does a tumor grow"])
    asked = ["evaluate", village, "--queries", tmp_path / "one.tsv", "--retriever", at(engine), "--reranker", "bm25"]
    asked += [
        "--encoder",
        "attacker",
        "--log",
        village / "log.txt",
        "--depth",
        "2",
        "--no-report",
        "--attackers",
        "QuIA",
        "--vectors",
        village / "vectors.txt",
    ]
    asked += ["--qrels", tmp_path / "one.qrels", "-m", "AEA(include_original=True)@3", "-o", tmp_path / "run"]
    tiny.write_lines(tmp_path / "one.qrels", ["q1 0 moon-00 1"])
    assert "every setting drew original queries" in refused(capsys, engine, *asked)


def test_fewer_topics_are_fewer_obfuscated_queries(village: Path, engine: FakeEngine) -> None:
    rest: dict[str, Any] = {"specs": None, "n": 3, "qrels": judged("a")}
    tiny.run(village, obfuscated=table(), queries=QUERIES, topics=1, systems=((at(engine), "bm25"),), **rest)
    texts = {sent(one) for one in engine.asked}
    assert "gull" in texts and "salt" not in texts


# --- names and objects --------------------------------------------------------------------------------------------


STATIC = ("static:bob:hunter2", "static:http://bob:hunter2@h", "dense:static:bob:hunter2@h")


def test_a_name_that_may_hold_a_password_is_not_quoted(village: Path) -> None:
    collection = qk.load_collection(village)
    for name in (
        "dense:bob:hunter2@h",
        "opensearch:bob:hunter2",
        "dense:bob:hunter2",
        "bob:hunter2",
        "bob:hunter2@h",
        *STATIC,
    ):
        for make in (
            lambda name=name: qk.retrieve(table(), collection, name, depth=1),
            lambda name=name: Options(systems=((name, "bm25"),)),
            lambda name=name: Options(systems=(("bm25", name),)),
            lambda name=name: load_encoder(name),
        ):
            with pytest.raises(InputError) as caught:
                make()
            assert "hunter2" not in str(caught.value) and "bob" not in str(caught.value)


def test_systems_are_pairs_of_names_or_objects(engine: FakeEngine, village: Path) -> None:
    made = HttpEngine(at(engine))
    for systems in ([made], made, "bm25", [("bm25",)], ["bm25"]):
        with pytest.raises(InputError, match="systems are pairs of a retriever and a re-ranker"):
            tiny.run(village, systems=systems)
    with pytest.raises(InputError, match="a reranker is a name or a Scorer"):
        tiny.run(village, systems=[("bm25", None)])
    # An engine as an object is over the network like its address.
    with pytest.raises(InputError, match="noise='common' has no joint guarantee"):
        tiny.run(village, systems=[(made, "bm25")], noise="common")
