"""``quipukit report`` as people and machines call it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from quipukit.cli.report import report
from quipukit.errors import FileError
from tests.example_results import make_result
from tests.report.results import only

app = typer.Typer()
app.command()(report)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "a"
    only(make_result(), {"CMP": (1.0, 10.0, 50.0), "AEA": (3.0, 4.0), "Identity": (0.0,)}).save(folder)
    return folder


def test_table_for_people(run: Path) -> None:
    result = CliRunner().invoke(app, [str(run), "--figures", "svg"])
    assert result.exit_code == 0, result.output
    assert "CMP" in result.stdout and "motivated" in result.stdout and "*" in result.stdout
    assert str(run / "report" / "report.html") in result.stderr
    assert (run / "report" / "report.html").is_file()
    assert {path.suffix for path in (run / "report" / "figures").iterdir()} == {".svg"}


def test_rows_for_machines(run: Path, tmp_path: Path) -> None:
    wishes = [str(run), "-o", str(tmp_path / "r"), "--figures", "none"]
    tsv = CliRunner().invoke(app, [*wishes, "--tsv", "--no-examples"])
    lines = tsv.stdout.splitlines()
    assert lines[0].split("\t")[:6] == ["collection", "system", "strategy", "mechanism", "attacker", "measure"]
    assert len(lines) == 1 + 2 * 3
    rows = json.loads(CliRunner().invoke(app, [*wishes, "--json"]).stdout)
    assert {row["mechanism"] for row in rows} == {"CMP", "AEA"}
    assert rows[0]["seed_low"] is None


def test_risk_alone(tmp_path: Path) -> None:
    only(make_result(judged=False), {"CMP": (1.0, 10.0)}).save(tmp_path)
    result = CliRunner().invoke(app, [str(tmp_path), "--figures", "none"])
    assert result.exit_code == 0, result.output
    assert "risk alone" in result.stdout and "epsilon 10" in result.stdout


def test_no_such_run(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, [str(tmp_path / "none")])
    assert isinstance(result.exception, FileError)


def test_help_has_examples() -> None:
    assert "quipukit report runs/wordnet" in CliRunner().invoke(app, ["--help"]).stdout


def test_light_start() -> None:
    code = "import sys, quipukit.cli.report; print([n for n in ('plotly', 'matplotlib', 'pandas') if n in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
