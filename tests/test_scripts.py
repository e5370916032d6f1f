"""What the scripts beside the package import from it is there, and asking them for help costs nothing."""

import ast
import gzip
import importlib
import importlib.util
import json
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


def test_mixtures_follow_from_what_the_page_says_in_the_pool_and_outside_it() -> None:
    from reproduce.mixture import PAGE, remixed

    page = PAGE.read_text(encoding="utf-8")
    assert remixed(page) == page  # as it is kept, and written twice
    assert "| Cover@100 | **0.279, 64%** | **0.242, 72%** | 0.186, 85% | 0.093, 106% |" in page
    changed = page.replace("| Cover@50 | 50 | 0.465", "| Cover@50 | 50 | 0.965", 1)
    assert "| Cover@50 | **0.965, 57%** | **0.828, 67%** | 0.622, 81% | 0.279, 105% |" in remixed(changed)


def test_of_a_log_at_most_what_is_missing_was_in_the_pool_before_it(tmp_path: Path) -> None:
    from reproduce.mixture import bounds, share_lines

    rows = [*(f"a{number}\tmq2007" for number in range(100)), *(f"b{number}\tmq2008" for number in range(9_900))]
    log = tmp_path / "log.tsv.gz"
    log.write_bytes(gzip.compress("\n".join(["query\tsource", *rows, "c\tother"]).encode()))
    assert bounds(log) == {"mq2008": (100, 9_900, 10_000)}
    assert share_lines(bounds(log))[-1] == "| mq2008 | 100 | 10,000 | 9,900 | 1.0% |"


def test_the_published_sizes_of_logs_are_those_that_ir_datasets_counts() -> None:
    import ir_datasets

    from reproduce.mixture import PUBLISHED

    counted = json.loads((Path(ir_datasets.__file__).parent / "etc" / "metadata.json").read_text(encoding="utf-8"))
    names = {
        "mq2008": "gov2/trec-mq-2008",
        "mq2009": "clueweb09/trec-mq-2009",
        "terabyte05-efficiency": "gov2/trec-tb-2005/efficiency",
    }
    assert {log: counted[name]["queries"]["count"] for log, name in names.items()} == PUBLISHED


def test_parts_of_the_sessions_page_that_were_not_run_here_stay_as_they_are() -> None:
    from reproduce.sessions import PAGE, parts_of

    page = PAGE.read_text(encoding="utf-8")
    parts = parts_of(page)
    head = page[: page.index("\n## Risk against")]
    assert "\n".join([head, *parts.values()]) == page and parts_of("") == {}


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
