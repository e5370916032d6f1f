"""The whole experiment: right by another way of computing it, the same whatever the order, and silent about queries.

What is tested here through `evaluate`: quipukit.experiment.inputs and quipukit.experiment.plan (what is to be done),
quipukit.experiment.pipeline (the order of the stages), quipukit.experiment.assemble and quipukit.experiment.summary
(the tables of the result).
"""

import functools
import json
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import quipukit as qk
from quipukit.attackers import scratch
from quipukit.attackers.log import QueryLog
from quipukit.attackers.registry import PANEL
from quipukit.attackers.texts import Texts
from quipukit.errors import InputError
from quipukit.experiment.options import Options
from quipukit.experiment.plan import fingerprint, log_fingerprint
from quipukit.experiment.run import run
from quipukit.progress import ProgressListener
from quipukit.report import tables
from quipukit.report.views import views_of
from quipukit.results import TABLES, Result
from tests.experiment import tiny
from tests.experiment.conftest import SMALL, Whole, slowly

ONE_SYSTEM = (("bm25", "bm25"),)


class Listener(ProgressListener):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.stages: list[str] = []
        self.lines: list[str] = []
        self.progress: list[tuple[float, float]] = []

    def stage(self, name: str, unit: str):  # type: ignore[no-untyped-def]
        self.stages.append(name)
        return lambda done, total: self.progress.append((done, total))

    def say(self, line: str) -> None:
        self.lines.append(line)


def rows_of(result: Result, table: str, mechanism: str, value: float) -> pd.DataFrame:
    frame: pd.DataFrame = getattr(result, table)
    return frame[(frame["mechanism"] == mechanism) & (frame["value"] == value)].reset_index(drop=True)


def same_rows(one: Result, other: Result, mechanism: str, value: float) -> None:
    for table in ("obfuscated", "ranks", "scores", "guesses", "notes", "settings"):
        left, right = (rows_of(result, table, mechanism, value) for result in (one, other))
        pd.testing.assert_frame_equal(left, right, check_exact=True, obj=f"{table} of {mechanism}@{value}")


# --- what is in it ---


def test_every_query_and_setting_is_there(whole: Whole) -> None:
    found = whole.result
    assert found.name == "village" and found.judged
    assert found.mechanisms == ["CMP", "TEM", "AEA", "Identity", "Random"]
    assert found.measures == ["nDCG@10", "SetR"] and found.systems == ["bm25 + user"]
    settings = found.settings[["mechanism", "value"]].itertuples(index=False, name=None)
    assert list(settings) == [("CMP", 5), ("TEM", 2), ("AEA", 3), ("Identity", 0), ("Random", 0)]
    assert len(found.ranks) == tiny.CELLS * len(tiny.TOPICS)
    assert (found.scores["side"] == "risk").sum() == tiny.CELLS * len(tiny.TOPICS) * 3
    assert (found.scores["side"] == "utility").sum() == tiny.CELLS * len(tiny.TOPICS) * 2 * len(tiny.SYSTEMS)
    assert found.scores["score"].between(0, 1).all()
    assert found.manifest["log"]["size"] == 83 and found.manifest["log"]["in_log"] == 2
    assert found.manifest["log"]["injected"] == 3


def test_what_sends_nothing_counts_as_not_found(whole: Whole) -> None:
    found = whole.result
    setting = rows_of(found, "settings", "AEA", 3).iloc[0]
    assert setting["nothing"] == 1
    assert not (rows_of(found, "obfuscated", "AEA", 3)["qid"] == "q5").any()
    scores = rows_of(found, "scores", "AEA", 3)
    scores = scores[scores["side"] != "ceiling"]
    assert (scores.loc[scores["qid"] == "q5", "score"] == 0).all()
    assert len(scores[scores["qid"] == "q5"]) == 3 + 2 * len(tiny.SYSTEMS)
    # The original would have found something: what is not sent is a loss, and the reference shows it.
    ceiling = found.ceilings().query("mechanism == 'AEA' and qid == 'q5' and measure == 'SetR'")
    assert ceiling["score"].tolist() != [0.0]


@pytest.mark.slow
def test_settings_that_all_send_nothing_stay_apart(village: Path) -> None:
    unknown = {"q5": "zorbal quintle"}
    found = tiny.run(village, specs=["AEA@3", "AEA@4"], queries=unknown, systems=ONE_SYSTEM)
    for value in (3, 4):
        ranks = rows_of(found, "ranks", "AEA", value)
        assert ranks["better"].tolist() == [-1]
        scores = rows_of(found, "scores", "AEA", value)
        scores = scores[scores["side"] != "ceiling"]
        assert len(scores) == 5 and (scores["score"] == 0).all()


def test_risk_counts_every_query_that_was_sent(village: Path, tmp_path: Path) -> None:
    """Two of five queries have no relevant document: they drop out of the utility, and of nothing else."""
    qrels = qk.read_qrels(village / "qrels.txt")
    qrels.loc[qrels["qid"].isin(["q2", "q5"]), "relevance"] = 0
    with pytest.warns(UserWarning, match="2 of 5 queries have no relevant document.* other 3, risk over all 5"):
        found = tiny.run(village, tmp_path / "out", qrels=qrels, specs=["CMP@2", "AEA@3"], systems=ONE_SYSTEM)
    risks = found.scores[found.scores["side"] == "risk"]
    assert risks.groupby(["mechanism", "value", "measure"])["qid"].nunique().unique().tolist() == [5]
    utilities = found.scores[found.scores["side"] == "utility"]
    assert set(utilities["qid"]) == {"q1", "q3", "q4"}
    names = {"P@1": "lazy", "R@10": "active", "RR": "motivated"}
    points = found.points().query("measure == 'nDCG@10'").set_index(["mechanism", "value", "persona"])
    for (mechanism, value, measure), rows in risks.groupby(["mechanism", "value", "measure"]):
        all_five = rows.set_index("qid")["score"]
        assert points.loc[(mechanism, value, names[str(measure)]), "risk"] == pytest.approx(all_five.mean())
    judged_alone = risks[risks["qid"].isin(set(utilities["qid"]))]
    means = [rows.groupby(["mechanism", "value", "measure"])["score"].mean() for rows in (risks, judged_alone)]
    assert (means[0] != means[1]).any(), "or nothing was tested"
    (view,) = views_of([found])
    listed = view.points.set_index(["mechanism", "value", "persona"])
    for setting, row in points.iterrows():
        assert listed.loc[setting, "risk"] == pytest.approx(row["risk"])
        assert listed.loc[setting, "utility"] == pytest.approx(row["utility"])
        assert listed.loc[setting, "risk_low"] <= row["risk"] <= listed.loc[setting, "risk_high"]
    for table in (tables.table_1([view]), tables.points(view)):
        assert "risk over all 5 queries sent, utility over the 3 with relevant documents" in table.caption
    assert set(found.quipu(replicates=20)["queries"]) == {5}


def test_the_ceiling_is_the_original_searched_as_deep_as_the_pool_is_large(village: Path) -> None:
    """By the separate steps: pool, count, search the original to that depth, re-rank, measure."""
    found = tiny.run(village, specs=["CMP@5", "AEA@3"], seeds=2, systems=ONE_SYSTEM)
    queries, qrels = qk.read_queries(village / "topics.tsv"), qk.read_qrels(village / "qrels.txt")
    collection = qk.load_collection(village)
    whole = qk.obfuscate(queries, "Identity", 1)

    @functools.cache
    def searched(qid: str, depth: int) -> "pd.Series[float]":
        one = qk.pool(qk.retrieve(whole[whole["qid"] == qid], collection, depth=depth))
        scores = qk.utility(qk.rerank(one, queries, collection, "bm25"), qrels, ("nDCG@10", "SetR"))
        return scores[scores["qid"] == qid].set_index("measure")["score"]

    for seed in found.seeds:
        ceilings = found.ceilings(seed=seed).set_index(["mechanism", "qid", "measure"])["score"]
        sent = found.obfuscated[found.obfuscated["seed"] == seed]
        for mechanism in ("CMP", "AEA", "Identity"):
            sizes = qk.pool(qk.retrieve(sent[sent["mechanism"] == mechanism], collection, depth=4))[
                "qid"
            ].value_counts()
            for qid in queries["qid"]:
                own = searched(qid, max(4, int(sizes.get(qid, 0))))
                for measure in ("nDCG@10", "SetR"):
                    assert ceilings[mechanism, qid, measure] == pytest.approx(own.get(measure, 0.0), abs=1e-12)
    deeper, shallow = (found.ceilings().query(f"mechanism == '{name}'")["score"].mean() for name in ("CMP", "Identity"))
    assert deeper > shallow, "or the pools were no larger, and nothing was tested"
    settings = found.settings.set_index("mechanism")
    assert settings.loc["CMP", "pooled"] > settings.loc["Identity", "pooled"] > 0
    assert settings.loc["CMP", "pooled_share"] == pytest.approx(settings.loc["CMP", "pooled"] / len(collection))


def test_where_the_original_is_not_among_the_settings_it_is_not_searched_for(village: Path, tmp_path: Path) -> None:
    names = {"log": str(village / "log.txt"), "vectors": str(village / "vectors.txt"), "encoder": "attacker"}
    for specs, searched in ((("CMP@5",), False), (("CMP@5", "Identity"), True)):
        listener = Listener()
        options = Options(
            str(village), specs=specs, n=3, systems=ONE_SYSTEM, depth=4, attackers=("QuIA",), growth=False, **names
        )
        result = run(options, tmp_path / str(searched), listener=listener)
        assert ("searching with the originals" in listener.stages) == searched
        assert bool(len(result.ceilings())) == searched


def test_the_references_frame_the_rest(whole: Whole) -> None:
    identity = rows_of(whole.result, "settings", "Identity", 0).iloc[0]
    assert identity["verbatim"] == 1 and identity["kept_words"] == 1 and identity["jaccard"] == 1
    risks = rows_of(whole.result, "scores", "Identity", 0)
    assert (risks.loc[risks["side"] == "risk", "score"] == 1).all()
    directions = whole.result.hides_more
    assert directions["CMP"] == "smaller" and directions["AEA"] == "larger"
    budgets = whole.result.settings.set_index(["mechanism", "value"])["budget"]
    assert budgets["CMP", 5.0] == 15 and budgets["TEM", 2.0] == 6 and np.isnan(budgets["AEA", 3.0])
    # A query of L words spends its budget on each: N * L * epsilon, in the mean over the queries.
    words = np.mean([len(query.split()) for query in whole.result.queries["query"]])
    spent = whole.result.settings.set_index(["mechanism", "value"])["budget_query"]
    assert spent["CMP", 5.0] == pytest.approx(15 * words) and np.isnan(spent["AEA", 3.0])


# --- ways to call it ---


@pytest.mark.slow
def test_without_a_folder_nothing_stays_and_the_result_is_the_same(
    village: Path, small: Whole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "empty"))
    assert tiny.run(village, **SMALL).digest == small.result.digest
    assert list((tmp_path / "empty").iterdir()) == []


@pytest.mark.slow
def test_objects_in_place_of_names_give_the_same_numbers(village: Path, whole: Whole) -> None:
    given = tiny.run(
        village,
        collection=qk.load_collection(village),
        queries=tiny.TOPICS,
        qrels=qk.read_qrels(village / "qrels.txt"),
        log=iter(tiny.log_queries()),
        encoder=tiny.Words("attacker"),
        vectors=qk.load_vectors(village / "vectors.txt"),
        specs=[qk.spec(text) for text in tiny.SPECS],
    )
    for table in TABLES:
        pd.testing.assert_frame_equal(getattr(given, table), getattr(whole.result, table), check_exact=True)


def test_queries_obfuscated_elsewhere_are_measured_like_our_own(village: Path, whole: Whole, tmp_path: Path) -> None:
    sent = whole.result.obfuscated.drop(columns="seed")
    given = tiny.run(village, tmp_path / "out", obfuscated=sent[sent["mechanism"] == "CMP"])
    for value in (5, 10):
        for table in ("ranks", "scores", "guesses"):
            left, right = (rows_of(result, table, "CMP", value) for result in (given, whole.result))
            pd.testing.assert_frame_equal(left, right, check_exact=True)
    assert set(given.settings.loc[given.settings["mechanism"] == "CMP", "guarantee"]) == {
        "not known: obfuscated elsewhere"
    }


@pytest.mark.slow
def test_lists_will_do_where_tuples_are_meant(village: Path, tmp_path: Path) -> None:
    choices = {"specs": ["AEA@3"], "systems": [["bm25", "bm25"]], "measures": ["nDCG@10"], "out": tmp_path / "out"}
    choices |= {"n": np.int64(2), "depth": np.int64(3)}
    assert tiny.run(village, **choices).digest == tiny.run(village, **choices).digest


# --- several seeds ---


@pytest.mark.slow
def test_several_seeds_have_artifacts_of_their_own_and_a_spread(village: Path, whole: Whole, tmp_path: Path) -> None:
    out = tmp_path / "out"
    small = {"specs": ["CMP@5", "CMP@10"], "systems": ONE_SYSTEM}
    several = tiny.run(village, out, seeds=2, **small)
    assert several.seeds == [7, 8]
    assert len(list(out.glob("artifacts/obfuscated/*.parquet"))) == 2 * 4
    for seed in several.seeds:
        assert (several.obfuscated["seed"] == seed).sum() == 4 * 3 * len(tiny.TOPICS)
    # A seed's rows are those of a run with that seed alone.
    alone = tiny.run(village, seed=8, **small)
    for table in ("obfuscated", "ranks", "scores", "notes"):
        mine = getattr(several, table)
        pd.testing.assert_frame_equal(
            mine[mine["seed"] == 8].reset_index(drop=True), getattr(alone, table), check_exact=True
        )
    assert set(several.guesses["seed"]) == {7}
    scores = several.quipu(replicates=20)
    each = [tiny_result_quipu(several, seed) for seed in several.seeds]
    for row in scores.itertuples():
        values = [table[row.mechanism, row.persona] for table in each]
        assert (row.seed_low, row.seed_high) == (pytest.approx(min(values)), pytest.approx(max(values)))
        assert row.seeds == 2
    assert (scores["seed_low"] < scores["seed_high"]).any()
    assert whole.result.quipu(replicates=20)["seed_low"].isna().all()


def tiny_result_quipu(result: Result, seed: int) -> dict[tuple[str, str], float]:
    table = qk.quipu_table(result.points(seed=seed).query("measure == 'nDCG@10'"))
    return dict(zip(zip(table["mechanism"], table["persona"], strict=True), table["quipu"], strict=True))


# --- determinism ---


@pytest.mark.slow
def test_the_order_of_mechanisms_changes_no_row(village: Path, whole: Whole) -> None:
    turned = tiny.run(village, specs=tiny.SPECS[::-1])
    assert turned.mechanisms == ["AEA", "TEM", "CMP", "Identity", "Random"]
    for mechanism, value in whole.result.settings[["mechanism", "value"]].itertuples(index=False):
        same_rows(turned, whole.result, mechanism, value)


def test_further_mechanisms_change_no_row(village: Path, whole: Whole) -> None:
    fewer = tiny.run(village, specs=["CMP@5"])
    for mechanism, value in fewer.settings[["mechanism", "value"]].itertuples(index=False):
        same_rows(fewer, whole.result, mechanism, value)


def test_a_topic_keeps_its_noise_among_others(village: Path, whole: Whole) -> None:
    fewer = tiny.run(village, topics=2, systems=ONE_SYSTEM, specs=["CMP@5"])
    assert fewer.queries["qid"].tolist() == ["q1", "q3"]
    mine = whole.result.obfuscated.query("mechanism == 'CMP' and value == 5 and qid in ['q1', 'q3']")
    theirs = fewer.obfuscated.query("mechanism == 'CMP' and value == 5")
    assert mine["query"].tolist() == theirs["query"].tolist()


# --- what it tells ---


def test_stages_are_told_in_order_and_progress_never_exceeds_the_total(village: Path, tmp_path: Path) -> None:
    listener = Listener()
    tiny.run(village, tmp_path / "out", listener, specs=["Random"])
    assert listener.stages == [
        "obfuscating",
        "searching (bm25)",
        "re-ranking (user)",
        "measuring utility",
        "searching with the originals",
        "re-ranking for the originals (user)",
        "measuring the originals",
        "encoding the log",
        "encoding obfuscated queries",
        "ranking the log",
        "measuring risk",
        "guessing the examples",
        "comparing texts",
        "re-ranking for the guesses (user)",
        "assembling the result",
    ]
    assert listener.progress and all(0 <= done <= total * (1 + 1e-9) for done, total in listener.progress)
    assert listener.lines == []
    sessions = json.loads((tmp_path / "out" / "timings.json").read_text(encoding="utf-8"))
    assert len(sessions) == 1 and {lap["stage"] for lap in sessions[0]} == set(listener.stages)
    tiny.run(village, tmp_path / "out", specs=["Random"])
    assert len(json.loads((tmp_path / "out" / "timings.json").read_text(encoding="utf-8"))) == 2


def test_no_file_beside_the_tables_holds_a_query(village: Path, whole: Whole, tmp_path: Path) -> None:
    # Given as objects: their texts pass through more hands than a file's name does.
    secret = pd.DataFrame({"qid": ["a"], "query": ["my secret illness"], "name": ["my secret illness"]})
    judged = pd.DataFrame({"qid": ["a"], "docno": ["moon-00"], "relevance": [1]})
    out = tmp_path / "out"
    tiny.run(village, out, queries=secret, qrels=judged, specs=["AEA@3"], systems=ONE_SYSTEM, log=["my own secret"])
    for folder, texts in ((whole.folder, tiny.TOPICS.values()), (out, ["secret", "illness"])):
        for name in ("manifest.json", "experiment.json", "timings.json"):
            content = (folder / name).read_text(encoding="utf-8")
            assert not [text for text in texts if text in content], name


def test_the_manifest_names_no_place_on_the_machine(village: Path, whole: Whole) -> None:
    content = json.dumps(whole.result.manifest)
    assert str(village) not in content and str(village.parent) not in content


# --- end to end with the real models ---


def test_whoever_is_not_told_otherwise_gets_the_whole_panel_and_bayes() -> None:
    assert Options().attackers == (*PANEL, "Bayes")


# MiniLM attacks and compares texts in both; as a re-ranker it encodes many documents.
@pytest.mark.parametrize("reranker", slowly("bm25", "minilm"))
def test_the_built_in_collection_from_end_to_end(tmp_path: Path, reranker: str) -> None:
    small = {"topics": 2, "depth": 2, "log_sample": 100, "examples": 1, "reranker": reranker}
    found = qk.evaluate("wordnet", ["CMP@10"], 2, attackers="panel", out=tmp_path / "out", **small)
    assert found.judged and found.manifest["judgements"]["derived"]
    assert found.mechanisms == ["CMP", "Identity", "Random"]
    assert found.attackers == list(PANEL)
    risks = found.points().set_index(["attacker", "mechanism", "persona"])["risk"].groupby(level=[0, 1, 2]).first()
    for attacker in (*PANEL, "strongest"):
        if attacker != "Style":  # learns nothing from what was sent
            assert risks[attacker, "Identity", "lazy"] == 1
            assert risks[attacker, "Identity", "motivated"] >= risks[attacker, "CMP", "motivated"]
            assert risks[attacker, "CMP", "motivated"] > risks[attacker, "Random", "motivated"]
    assert risks["strongest", "CMP", "active"] == max(risks[name, "CMP", "active"] for name in PANEL)
    assert Result.load(tmp_path / "out").digest == found.digest


@pytest.mark.slow
def test_vaswani_from_end_to_end(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "vaswani"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # judgments of documents that the collection lacks
        found = qk.evaluate(
            folder,
            ["CMP@10", "TEM@5"],
            2,
            topics=3,
            depth=5,
            log=folder / "topics.tsv",
            attackers=["QuIA"],
            systems=(("bm25", "bm25"),),
            out=tmp_path / "out",
        )
    assert found.name == "vaswani" and found.manifest["collection"]["documents"] == 11_429
    means = found.utilities().groupby(["mechanism", "measure"])["score"].mean()
    assert means["Identity", "SetR"] >= means["Random", "SetR"]
    assert found.quipu(replicates=10)["quipu"].between(0, 1).all()
    assert Result.load(tmp_path / "out").digest == found.digest


# --- the vocabulary ---


def test_the_manifest_and_the_report_tell_of_unknown_words(small: Whole, tmp_path: Path) -> None:
    found = small.result
    told = found.manifest["unknown_words"]
    # "grobnic" alone: one of the eight words of q1, one of the 26 of all five queries.
    assert (told["unknown"], told["queries"], told["most"]) == (1, 1, [["q1", 1, 8]])
    assert told["mean_share"] == pytest.approx(1 / 8 / 5)
    assert rows_of(found, "settings", "CMP", 5)["oov"].item() == pytest.approx(1 / told["words"])
    page = qk.write_report([found], tmp_path, examples=False, formats=()).read_text(encoding="utf-8")
    text = " ".join(re.sub(r"<[^>]+>", " ", page).replace("&nbsp;", " ").split())
    assert "in 20.0 % of the queries; per query 2.5 % on average, most in q1 (1 of 8)" in text
    assert "grobnic" not in page


def test_a_vocabulary_filter_is_recorded_and_nothing_of_it_is_sent(village: Path, whole: Whole, tmp_path: Path) -> None:
    words = tmp_path / "words.txt"
    words.write_text("storm\nbread\n")
    vectors = qk.load_vectors(village / "vectors.txt")
    for given in (village / "vectors.txt", vectors):
        found = tiny.run(village, specs=["Random"], vectors=given, vocabulary_filter=words)
        sent = rows_of(found, "obfuscated", "Random", 0)["query"]
        assert not {"storm", "bread"} & {word for text in sent for word in text.split()}
        assert found.manifest["vectors"]["name"] == "vectors without 2 words (words.txt)"
        assert found.manifest["vectors"]["fingerprint"] != whole.result.manifest["vectors"]["fingerprint"]
        assert str(tmp_path) not in str(found.manifest)
        assert found.manifest["unknown_words"]["unknown"] == 3


def test_a_filter_is_part_of_the_experiment(village: Path, finished: Path) -> None:
    with pytest.raises(InputError, match="vocabulary_filter"):
        tiny.run(village, finished, vocabulary_filter="offensive")
    with pytest.raises(InputError, match="no vocabulary filter 'no'"):
        tiny.run(village, specs=["Random"], vocabulary_filter="no")


def test_the_fingerprint_of_a_log_does_not_tell_how_it_is_kept(monkeypatch):
    texts = ["cats", 'a "dog"', "caf\u00e9", "back\\slash", *(f"query {number}" for number in range(10)), "\x7f"]
    for counts in ([1] * len(texts), range(1, len(texts) + 1)):
        short = QueryLog.of(texts, counts)
        expected = fingerprint([texts, list(counts)])
        assert log_fingerprint(short) == expected
        with monkeypatch.context() as patch:
            patch.setattr(scratch, "LONG", 2)
            patch.setattr("quipukit.experiment.plan._CELLS", 4)
            long = QueryLog.of(texts, counts)
            assert isinstance(long.texts, Texts) and log_fingerprint(long) == log_fingerprint(short) == expected
