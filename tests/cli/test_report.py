"""``quipukit report`` as people and machines call it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from quipukit.cli.report import print_report, report
from quipukit.errors import FileError
from quipukit.report import narrative, tables
from quipukit.report.views import views_of
from quipukit.report.write import Report
from tests.example_results import make_result
from tests.report.results import only, without_originals

app = typer.Typer()
app.command()(report)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "a"
    only(make_result(), {"CMP": (1.0, 10.0, 50.0), "AEA": (3.0, 4.0), "Identity": (0.0,)}).save(folder)
    return folder


def test_table_for_people(run: Path) -> None:
    result = CliRunner().invoke(app, [str(run), "--figures", "none"])
    assert result.exit_code == 0, result.output
    assert "CMP" in result.stdout and "motivated" in result.stdout and "*" in result.stdout
    assert str(run / "report" / "report.html") in result.stderr
    assert (run / "report" / "report.html").is_file()
    assert not (run / "report" / "figures").exists()


def test_rows_for_machines(run: Path, tmp_path: Path) -> None:
    wishes = [str(run), "-o", str(tmp_path / "r"), "--figures", "none"]
    tsv = CliRunner().invoke(app, [*wishes, "--tsv", "--no-examples"])
    lines = tsv.stdout.splitlines()
    assert lines[0].split("\t")[:7] == [
        "collection",
        "system",
        "strategy",
        "mechanism",
        "attacker",
        "persona",
        "measure",
    ]
    assert len(lines) == 1 + 2 * 3


def test_a_single_setting_is_shown_as_a_point(capsys: pytest.CaptureFixture[str]) -> None:
    """Its score would be 0.000 whatever it does."""
    result = only(make_result(), {"CMP": (1.0, 10.0, 50.0), "TEM": (5.0,), "Identity": (0.0,)})
    print_report(Report([result]))
    shown = capsys.readouterr().out
    points = result.points().query("mechanism == 'TEM' and persona == 'active' and measure == 'nDCG@10'").iloc[0]
    line = next(line for line in shown.splitlines() if "TEM@5" in line)
    assert f"{points['risk']:.3f}" in line and f"{points['utility']:.3f}" in line and " %" in line
    assert "CMP@10" not in shown
    print_report(Report([result]), points=True)
    every = capsys.readouterr().out
    assert all(name in every for name in ("TEM@5", "CMP@1", "CMP@10", "CMP@50", "Identity"))


def test_json_holds_the_scores_or_every_setting(run: Path, tmp_path: Path) -> None:
    wishes = [str(run), "-o", str(tmp_path), "--figures", "none", "--json"]
    rows = json.loads(CliRunner().invoke(app, wishes).stdout)
    assert {row["mechanism"] for row in rows} == {"CMP", "AEA"}
    assert rows[0]["seed_low"] is None
    rows = json.loads(CliRunner().invoke(app, [*wishes, "--points"]).stdout)
    assert {(row["mechanism"], row["value"]) for row in rows} >= {("AEA", 3.0), ("CMP", 10.0), ("Identity", 0.0)}


def test_two_runs_of_one_collection_are_named_by_their_folders(tmp_path: Path) -> None:
    for name, queries in (("old", 12), ("new", 8)):
        make_result(queries=queries, mechanisms=("Identity", "Random")).save(tmp_path / name)
    runs = [str(tmp_path / name) for name in ("old", "new")]
    shown = CliRunner().invoke(app, [*runs, "--figures", "none", "-o", str(tmp_path / "report")]).stdout
    assert "example (old)" in shown and "example (new)" in shown


def test_risk_alone(tmp_path: Path) -> None:
    only(make_result(judged=False), {"CMP": (1.0, 10.0)}).save(tmp_path)
    result = CliRunner().invoke(app, [str(tmp_path), "--figures", "svg"])
    assert result.exit_code == 0, result.output
    assert "risk only" in result.stdout and "epsilon 10" in result.stdout
    assert {path.name for path in (tmp_path / "report" / "figures").iterdir()} == {"parameter.svg"}


def test_no_such_run(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, [str(tmp_path / "none")])
    assert isinstance(result.exception, FileError)


def test_help_has_examples() -> None:
    assert "quipukit report runs/wordnet" in CliRunner().invoke(app, ["--help"]).stdout


def test_light_start() -> None:
    code = "import sys, quipukit.cli.report; print([n for n in ('plotly', 'matplotlib', 'pandas') if n in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_where_the_log_holds_no_original_nothing_is_best_and_every_output_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = without_originals(make_result(25, mechanisms=("CMP", "TEM", "Identity")))
    (view,) = views_of([result])
    assert not view.scores[["best", "hypervolume_best", "worse", "hypervolume_worse", "rankable"]].any(axis=None)
    for table in (tables.table_1([view]), tables.companions(view), tables.radar(view)):
        assert not any(cell.bold for group in table.row_groups for row in group.rows for cell in row), table.name
    told = "the attacker's log holds none of the 25 originals and was not completed, so no risk can exceed 0.000"
    for finding in narrative.findings(view):
        assert all(leader.best == "none" and told[1:] in leader.caution for leader in finding.leaders)
    made = Report([result])
    made.write(tmp_path, formats=())
    print_report(made)
    printed = " ".join(capsys.readouterr().out.split())
    assert told in printed and "*0." not in printed and "*1." not in printed
    assert "log holds none of the 25 originals" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "none of the 25 originals" in (tmp_path / "tables" / "table1.tex").read_text(encoding="utf-8")


def test_a_log_with_some_of_the_originals_is_a_ceiling_that_the_terminal_tells(
    capsys: pytest.CaptureFixture[str],
) -> None:
    result = make_result(25, mechanisms=("CMP", "TEM", "Identity"))
    for held, told in ((10, True), (25, False)):
        print_report(Report([without_originals(result, held)]))
        printed = " ".join(capsys.readouterr().out.split())
        assert ("holds 10 of the 25 originals" in printed and "no risk can exceed 0.400" in printed) is told
        assert "*" in printed, "some may be ranked anyway"


@pytest.mark.parametrize(("queries", "told"), [(19, True), (20, False)])
def test_the_terminal_warns_of_few_queries(queries: int, told: bool, capsys: pytest.CaptureFixture[str]) -> None:
    print_report(Report([make_result(queries, mechanisms=("CMP", "Identity"))]))
    assert (f"{queries} queries are very few" in " ".join(capsys.readouterr().out.split())) is told
