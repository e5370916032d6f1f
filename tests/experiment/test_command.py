"""``quipukit evaluate``, run as a user runs it."""

import os
import signal
from pathlib import Path

import pytest

from quipukit.experiment.artifacts import Artifacts
from quipukit.experiment.folder import run_lock
from quipukit.results import Result
from tests.cli.test_cli import assert_refused, run
from tests.experiment import killing, tiny
from tests.experiment.conftest import Whole


def no_query_in(text: str) -> None:
    assert not [query for query in tiny.TOPICS.values() if query in text]


# --- the whole loop ---


def test_from_queries_to_a_result(village: Path, whole: Whole, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run(*tiny.command(village, out), "--no-report")
    assert done.returncode == 0, done.stderr
    assert f"result: {out}" in done.stderr and "report:" not in done.stderr
    assert "CMP" in done.stdout and "TEM" in done.stdout
    lines = done.stderr.splitlines()
    assert [line for line in lines if line.startswith(f"obfuscating: {tiny.CELLS} cells, ")]
    assert [line for line in lines if line.startswith(f"measuring utility: {tiny.CELLS} cells, ")]
    assert Result.load(out).digest == Result.load(whole.folder).digest
    assert tiny.result_files(out) == tiny.result_files(whole.folder)
    no_query_in(done.stderr)
    # The same command again has nothing to do, and says the same.
    again = run(*tiny.command(village, out), "--no-report")
    assert again.stdout == done.stdout


@pytest.mark.slow
def test_a_report_is_written_beside_the_result(village: Path, whole: Whole, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(*tiny.command(village, out), "--no-report")
    done = run("evaluate", "--resume", str(out))
    assert done.returncode == 0, done.stderr
    assert f"report: {out / 'report'}" in done.stderr
    assert (out / "report" / "report.html").is_file()
    no_query_in(done.stderr)


def test_the_plan_runs_nothing(village: Path, tmp_path: Path) -> None:
    done = run(*tiny.command(village, tmp_path / "out"), "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "5 queries of village (60 documents), 5 mechanisms, 5 settings" in done.stdout
    assert "obfuscate" in done.stdout and "rank the log" in done.stdout
    assert not (tmp_path / "out").exists()
    no_query_in(done.stdout + done.stderr)


@pytest.mark.slow
def test_without_judgments_that_is_said(village: Path, tmp_path: Path) -> None:
    topics = tiny.write_collection(tmp_path / "unjudged")
    (topics / "qrels.txt").unlink()
    done = run(*tiny.command(topics, tmp_path / "out"), "--no-report")
    assert done.returncode == 0, done.stderr
    assert "unjudged has no judgments: risk is measured, but neither utility nor QuIPU" in done.stderr


# --- Ctrl-C ---


def interrupted(collection: Path, out: Path, cache: Path, number: int, told: Path) -> None:
    """Run the command, and press Ctrl-C when an artifact has been saved; what it says goes to a file."""
    tiny.no_model(pytest.MonkeyPatch(), cache)
    save, count = Artifacts.save, iter(range(1000))

    def saving(self: Artifacts, *arguments: object) -> None:
        save(self, *arguments)  # type: ignore[arg-type]
        if next(count) == number:
            os.kill(os.getpid(), signal.SIGINT)

    Artifacts.save = saving  # type: ignore[method-assign]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    done = run(*tiny.command(collection, out), "--no-report")
    told.write_text(f"{done.returncode}\n{done.stdout}{done.stderr}", encoding="utf-8")


@pytest.mark.parametrize("number", [5, pytest.param(40, marks=pytest.mark.slow)])
def test_ctrl_c_saves_and_says_how_to_go_on(
    village: Path, cache: Path, whole: Whole, tmp_path: Path, number: int
) -> None:
    out = tmp_path / "out"
    process = killing.start(village, out, cache, number, tmp_path / "told", target=interrupted)
    process.join(120)
    assert process.exitcode == 0
    code, *lines = (tmp_path / "told").read_text(encoding="utf-8").splitlines()
    assert code == "130"
    assert f"stopped; what is finished is kept. Resume with: quipukit evaluate --resume {out}" in lines
    assert not [line for line in lines if "Traceback" in line]
    no_query_in("\n".join(lines))
    finished = [path for path in out.glob("artifacts/*/*.parquet") if not path.name.startswith(".")]
    assert len(finished) == number + 1
    assert not (out / "manifest.json").exists() and (out / "timings.json").exists()
    assert tiny.drafts(out) == []
    stamps = {path: path.stat().st_mtime_ns for path in finished}
    done = run("evaluate", "--resume", str(out), "--no-report")
    assert done.returncode == 0, done.stderr
    assert {path: path.stat().st_mtime_ns for path in finished} == stamps
    assert tiny.result_files(out) == tiny.result_files(whole.folder)


@pytest.mark.slow
def test_a_preset_says_that_it_has_the_paper_s_attacker(village: Path) -> None:
    told = "the preset quipu2025 reproduces the attacker of its paper, QuIA alone"
    command = ["evaluate", str(village), "--preset", "quipu2025", "-m", "Identity", "--log", str(village / "log.txt")]
    done = run(*command, "--dry-run")
    assert done.returncode == 0 and told in done.stderr
    assert told not in run(*command, "--attackers", "panel", "--dry-run").stderr


# --- bad input: one line, the fix, exit 2 ---


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["-m", "CMQ"], ["CMQ", "did you mean CMP"]),
        (["-m", "AEA@99"], ["AEA@99 cannot be run", "--skip-invalid"]),
        (["-m", "CMP@5", "-e", "3"], ["no mechanism takes epsilons"]),
        (["-m", "AEA", "--workers", "2", "--dask", "tcp://x:1"], ["exclude each other"]),
        (["--preset", "quipu2026"], ["there is no preset", "quipu2025"]),
        (["-m", "AEA", "--obfuscated", "x.csv"], ["leave out -m and -e"]),
        (
            ["-m", "AEA", "--retriever", "bm25", "--reranker", "bm25", "--reranker", "user"],
            ["name one for all of them, or one each"],
        ),
        (["-m", "AEA", "--log", "no.txt"], ["no.txt", "check the path"]),
        (["-m", "AEA"], ["the attacker needs a query log", "--log wordnet"]),
        (["-m", "AEA", "--noise", "loud", "--log", "wordnet"], ["noise must be"]),
    ],
)
def test_a_wrong_command_says_the_fix(village: Path, tmp_path: Path, arguments: list[str], parts: list[str]) -> None:
    common = ("-n", "2", "--vectors", str(village / "vectors.txt"), "-o", str(tmp_path / "out"))
    done = run("evaluate", str(village), *common, *arguments)
    assert_refused(done, *parts)
    assert not list(tmp_path.glob("out/[!.]*")), "the folder is taken"


def test_a_result_needs_a_folder(village: Path) -> None:
    assert_refused(run("evaluate", str(village), "-m", "AEA"), "name a folder for the result with -o")


def test_another_experiment_s_folder_is_refused(village: Path, whole: Whole) -> None:
    before = tiny.result_files(whole.folder)
    done = run(*tiny.command(village, whole.folder), "--seed", "8")
    assert_refused(
        done, "holds another experiment (--seed: 7 there, 8 here)", "name another folder, or resume that one"
    )
    assert tiny.result_files(whole.folder) == before


@pytest.mark.parametrize(
    ("typed", "named"),
    [
        (["-n", "3"], "leave out -n, or"),
        (["--log-sample", "5"], "leave out --log-sample, or"),
        (["--no-inject"], "leave out --no-inject, or"),
        (["wordnet"], "leave out 'wordnet', or"),
    ],
)
def test_what_resume_does_not_take_is_named_as_it_is_typed(tmp_path: Path, typed: list[str], named: str) -> None:
    assert_refused(run("evaluate", "--resume", str(tmp_path), *typed), named)


def test_resume_of_nothing_is_refused(tmp_path: Path) -> None:
    assert_refused(run("evaluate", "--resume", str(tmp_path / "no")), "holds no experiment to resume")


def test_a_second_run_is_refused(village: Path, whole: Whole) -> None:
    with run_lock(whole.folder):
        assert_refused(run(*tiny.command(village, whole.folder)), "another run is using")


def test_the_plan_of_a_resumed_run_runs_nothing(village: Path, whole: Whole) -> None:
    before = {path: path.stat().st_mtime_ns for path in whole.folder.rglob("*")}
    assert_refused(run("evaluate", "--resume", str(whole.folder), "--dry-run"), "--resume uses the options", "dry-run")
    assert {path: path.stat().st_mtime_ns for path in whole.folder.rglob("*")} == before
