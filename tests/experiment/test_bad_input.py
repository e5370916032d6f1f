"""Bad input: clear words before any work, and nothing lost."""

import json
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from quipukit.errors import FileError, InputError, QuipukitError, ResourceError, SpecError
from quipukit.experiment import run
from quipukit.plugins import temporarily_installed
from quipukit.progress import ProgressListener
from quipukit.results import Result
from tests.experiment import tiny
from tests.experiment.conftest import Whole

SMALL: dict[str, Any] = {"specs": ["AEA@3"], "systems": (("bm25", "bm25"),)}


class Listener(ProgressListener):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        self.lines.append(line)


# --- settings that a mechanism refuses ---


def test_a_refused_setting_is_named_before_any_work(village: Path, tmp_path: Path) -> None:
    with pytest.raises(SpecError) as caught:
        tiny.run(village, tmp_path / "out", specs=["CMP@5", "AEA@99", "CMP@0"])
    assert str(caught.value).startswith("AEA@99 cannot be run: ")
    assert "from 0 to 20" in str(caught.value) and str(caught.value).endswith("The rest runs with skip_invalid=True.")
    assert not (tmp_path / "out" / "artifacts").exists()


def test_the_rest_runs_where_that_is_asked_for(village: Path, small: Whole, tmp_path: Path) -> None:
    listener = Listener()
    specs = ["CMP@5", "AEA@99", "CMP@0"]
    found = tiny.run(village, tmp_path / "out", listener, specs=specs, systems=SMALL["systems"], skip_invalid=True)
    assert found.mechanisms == ["CMP", "Identity", "Random"]
    assert [refused["spec"] for refused in found.manifest["skipped"]] == ["AEA@99", "CMP@0"]
    assert len(listener.lines) == 2 and all(line.startswith("left out: ") for line in listener.lines)
    # The refusal costs nothing: what ran is what runs without the refused ones.
    pd.testing.assert_frame_equal(found.scores, small.result.scores, check_exact=True)


def test_a_grid_of_which_nothing_is_left_is_refused(village: Path, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="no setting is left to run; the first refusal was: CMP: epsilon"):
        tiny.run(village, tmp_path / "out", specs=["CMP@0"], skip_invalid=True)


# --- judgments ---


@pytest.fixture
def unjudged(village: Path, tmp_path: Path) -> Path:
    folder = Path(shutil.copytree(village, tmp_path / "unjudged"))
    (folder / "qrels.txt").unlink()
    return folder


def test_without_judgments_risk_is_measured_and_that_is_said(unjudged: Path, small: Whole, tmp_path: Path) -> None:
    listener = Listener()
    found = tiny.run(unjudged, tmp_path / "out", listener, specs=["CMP@5"], systems=SMALL["systems"])
    assert listener.lines == ["unjudged has no judgments: risk is measured, but neither utility nor QuIPU; add qrels."]
    assert not found.judged and not Result.load(tmp_path / "out").judged
    risks = small.result.scores[small.result.scores["side"] == "risk"]
    pd.testing.assert_frame_equal(found.scores, risks.reset_index(drop=True), check_exact=True)
    for ask in (found.quipu, found.points):
        with pytest.raises(InputError, match="unjudged has no judgments"):
            ask()


@pytest.mark.slow
def test_judgments_that_come_later_cost_the_utility_alone(unjudged: Path, whole: Whole, tmp_path: Path) -> None:
    tiny.run(unjudged, tmp_path / "out")
    tiny.write_judgments(unjudged, tiny.judgments())
    found = tiny.run(unjudged, tmp_path / "out")
    pd.testing.assert_frame_equal(found.scores, whole.result.scores, check_exact=True)


def test_judgments_of_other_queries_are_refused(village: Path, tmp_path: Path) -> None:
    judged = pd.DataFrame({"qid": ["x"], "docno": ["moon-00"], "relevance": [1]})
    with pytest.raises(InputError, match="check that topics and qrels belong together"):
        tiny.run(village, tmp_path / "out", qrels=judged)


def test_queries_without_a_relevant_document_are_counted(village: Path) -> None:
    judged = pd.DataFrame({"qid": ["q1", "q2"], "docno": ["harbour-00"] * 2, "relevance": [1, 0]})
    with pytest.warns(
        UserWarning, match="4 of 5 queries have no relevant document: utility .* other 1, risk over all 5"
    ):
        found = tiny.run(village, qrels=judged, **SMALL)
    assert set(found.utilities()["qid"]) == {"q1"}


# --- the folder ---


def test_a_folder_with_other_files_is_left_alone(village: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("work of years", encoding="utf-8")
    with pytest.raises(InputError, match=r"holds other files \(thesis.tex \.\.\.\); name a new folder"):
        tiny.run(village, tmp_path)
    assert (tmp_path / "thesis.tex").read_text(encoding="utf-8") == "work of years"
    assert {path.name for path in tmp_path.iterdir()} <= {"thesis.tex", ".lock"}


def test_an_empty_folder_will_do(village: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert tiny.run(village, tmp_path / "out", **SMALL).judged


def test_a_file_in_place_of_the_folder_is_named(village: Path, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("", encoding="utf-8")
    with pytest.raises(QuipukitError, match=r"out cannot be written \(File exists\)"):
        tiny.run(village, tmp_path / "out", **SMALL)


def test_a_folder_that_may_not_be_written_is_named(
    village: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("quipukit.experiment.folder.os.open", refused)
    with pytest.raises(ResourceError, match=r"out cannot be written \(Permission denied\)"):
        tiny.run(village, tmp_path / "out", **SMALL)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "null",
        '{"options": {}, "given": []}',
        '{"options": {"color": "red"}}',
        '{"options": 5}',
        b"\xff",
    ],
)
def test_a_damaged_experiment_is_named(village: Path, finished: Path, content: str | bytes) -> None:
    (finished / "experiment.json").write_bytes(content if isinstance(content, bytes) else content.encode())
    for attempt in (lambda: tiny.run(village, finished), lambda: run.resume(finished)):
        with pytest.raises(FileError, match=r"experiment.json is damaged or of another version; name a new folder"):
            attempt()


def test_resume_says_where_there_is_nothing_to_go_on_with(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="holds no experiment to resume; begin one with `quipukit evaluate -o"):
        run.resume(tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()


def test_resume_asks_for_objects_again(village: Path, tmp_path: Path) -> None:
    judged = pd.DataFrame({"qid": ["a"], "docno": ["garden-00"], "relevance": [1]})
    tiny.run(village, tmp_path / "out", queries={"a": "frost on apple"}, log=["bread"], qrels=judged, **SMALL)
    with pytest.raises(InputError, match=r"begun from Python with its own log, qrels, queries; call qk\.evaluate"):
        run.resume(tmp_path / "out")


def test_a_mended_mistake_finds_the_folder_free(village: Path, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"lgo\.txt"):
        tiny.run(village, tmp_path / "out", log=village / "lgo.txt", **SMALL)
    assert tiny.run(village, tmp_path / "out", **SMALL).judged


# --- choices ---


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ({"n": 0}, "n, the number of variants, must be a whole number of at least 1"),
        ({"seeds": 0}, "seeds must be a whole number of at least 1"),
        ({"k": 0}, "k must be"),
        ({"topics": 0}, "topics must be"),
        ({"depth": -1}, "depth must be"),
        ({"log_sample": 0}, "log_sample must be"),
        ({"noise": "loud"}, "noise must be 'common' or 'independent'"),
        ({"systems": ()}, "no search system is given"),
        ({"systems": (("bm26", "bm25"),)}, "bm26"),
        ({"systems": (("bm25", "no-such-model"),)}, "no-such-model"),
        ({"systems": ("bm25", "bm25")}, "systems are pairs of a retriever and a re-ranker"),
        ({"systems": (("bm25",),)}, "systems are pairs"),
        ({"specs": ["CMQ@3"]}, "did you mean CMP"),
        ({"specs": ["CMP@5"], "epsilons": [1, 2]}, "no mechanism takes epsilons"),
        ({"log": None}, "pass log=FILE"),
        ({"log": []}, "the query log holds no query"),
        ({"queries": {}}, "there is no query to hide"),
        ({"measures": ("nonsense",)}, "'nonsense' is not a measure"),
        ({"collection": "nowhere"}, "there is no collection 'nowhere'"),
        ({"encoder": "no-such-model"}, "no-such-model"),
    ],
    ids=lambda given: next(iter(given)) if isinstance(given, dict) else "",
)
def test_a_wrong_choice_says_the_fix(village: Path, tmp_path: Path, choice: dict[str, Any], words: str) -> None:
    with pytest.raises(QuipukitError) as caught:
        tiny.run(village, tmp_path / "out", **{**SMALL, **choice})
    assert words in str(caught.value)
    assert not list(tmp_path.glob("out/[!.]*")), "the folder is taken"


def test_obfuscated_queries_without_originals_are_refused(village: Path, whole: Whole, tmp_path: Path) -> None:
    sent = whole.result.obfuscated.drop(columns="seed").assign(qid="z")
    sent = sent.drop_duplicates(["mechanism", "value", "variant"])
    with pytest.raises(InputError, match=r"1 obfuscated queries have no original \(first: z\)"):
        tiny.run(village, tmp_path / "out", obfuscated=sent)


def test_no_error_quotes_a_query(village: Path, tmp_path: Path) -> None:
    secret = {"a": "my secret illness"}
    for wrong in ({"log": []}, {"n": 0}, {"measures": ("nonsense",)}, {"systems": (("bm26", "bm25"),)}):
        with pytest.raises(QuipukitError) as caught:
            tiny.run(village, tmp_path / str(len(wrong)), **{**SMALL, "queries": secret, **wrong})
        assert "secret" not in str(caught.value)


def test_experiment_json_is_plain_and_complete(whole: Whole) -> None:
    begun = json.loads((whole.folder / "experiment.json").read_text(encoding="utf-8"))
    assert begun["given"] == [] and begun["form"] == 2
    assert begun["options"]["specs"] == [*tiny.SPECS, "Identity", "Random"]


@pytest.mark.slow
def test_a_plugin_may_bring_the_search_system(village: Path, small: Whole) -> None:
    from quipukit.retrieval.bm25 import BM25

    with temporarily_installed("quipukit.retrievers", mine=BM25.of):
        found = tiny.run(village, specs=["CMP@5"], systems=(("mine", "bm25"),))
    assert found.utilities()["score"].tolist() == small.result.utilities()["score"].tolist()
