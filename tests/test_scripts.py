"""What the scripts beside the package import from it is there, and asking them for help costs nothing."""

import ast
import importlib
import importlib.util
import sys
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = sorted(path for folder in ("benchmarks", "reproduce", "docs") for path in (ROOT / folder).glob("*.py"))


def _is_run(script: Path) -> bool:
    return script.parent.name == "reproduce" and "__main__" in script.read_text(encoding="utf-8")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_a_script_imports_is_there(script: Path) -> None:
    imports = [
        (node.module, name.name)
        for node in ast.walk(ast.parse(script.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "quipukit"
        for name in node.names
    ]
    missing = []
    for module, name in imports:
        loaded = importlib.import_module(module)
        if not hasattr(loaded, name) and importlib.util.find_spec(f"{module}.{name}") is None:
            missing.append(f"{module}.{name}")
    assert missing == []


@pytest.mark.parametrize(
    "name",
    ["benchmarks.attackers", "benchmarks.audit", *(f"reproduce.{path.stem}" for path in SCRIPTS if _is_run(path))],
)
def test_asking_for_help_runs_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit, match=r"^0$"):
        importlib.import_module(name).main()
    assert capsys.readouterr().out.startswith("usage: ")


def test_a_section_of_the_published_page_is_written_again_and_nothing_else() -> None:
    from reproduce.published import replaced

    page = "# Page\n\nText\n\n## One\n\n1\n\n## Last\n\n2\n"
    section = "## What an audit finds in the files"
    once = replaced(page, [section, "", "old"])
    assert once == f"# Page\n\nText\n\n## One\n\n1\n\n{section}\n\nold\n\n## Last\n\n2\n"
    assert replaced(once, [section, "", "new"]) == once.replace("old", "new")


def test_attackers_without_a_law_have_a_dash_and_quia_a_column_of_its_own() -> None:
    from reproduce.attackers import quia_risks, table
    from tests.measures.simulated import scores

    risks = [
        scores("risk", measure, {("AEA", 3.0): [hit, 0], ("CMP", 5.0): [0, hit]}, attacker)
        for measure in ("P@1", "R@10")
        for attacker, hit in (("Words", 1), ("Bayes", 0))
    ]
    rows = [line.strip("| ").split(" | ") for line in table(pd.concat(risks), ("Words", "Bayes"), quia_risks())]
    assert rows[0][:5] == ["mechanism", "value", "QuIA", "Words", "Bayes"] and len(rows[1][0].split("|")) == len(
        rows[0]
    )
    assert [row[:5] for row in rows[2:]] == [
        ["AEA", "3", "0.837", "0.500", "-"],
        ["CMP", "5", "0.000", "0.500", "0.000"],
    ]
    assert len(quia_risks()) == 86
