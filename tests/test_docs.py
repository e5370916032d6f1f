"""The documentation runs, and the command-line reference is what the commands print."""

import re
import runpy
from pathlib import Path

import pytest

from quipukit.cli.main import app

ROOT = Path(__file__).resolve().parent.parent
PAGES = [path for folder in (".", "docs", "examples") for path in sorted((ROOT / folder).glob("*.md"))]
# What a page needs beside quipukit itself.
NEEDED = {"pyterrier.md": "pyterrier"}


def python_blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


LONG = ("sessions.md",)  # each of its calls has tests of its own


@pytest.mark.heavy
@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.slow] * (page.name in LONG)) for page in PAGES if python_blocks(page)],
    ids=lambda page: page.name,
)
def test_python_blocks_of_a_page_run_in_order(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if page.name in NEEDED:
        pytest.importorskip(NEEDED[page.name], reason=f"needs the extra: pip install 'quipukit[{NEEDED[page.name]}]'")
    monkeypatch.chdir(tmp_path)  # for what the examples write
    names: dict[str, object] = {"__name__": "documentation"}
    for block in python_blocks(page):
        exec(compile(block, page.name, "exec"), names)
    assert len(names) > 1


def test_links_between_pages_lead_somewhere() -> None:
    broken = [
        f"{page.name}: {target}"
        for page in PAGES
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]
    assert broken == []


@pytest.mark.heavy
def test_the_command_line_reference_is_what_the_commands_print() -> None:
    script = runpy.run_path(str(ROOT / "docs" / "make_cli_reference.py"))
    made = script["reference"]()
    commands = {str(command.name) for command in app.registered_commands}
    assert commands <= set(script["VERBS"]), "docs/make_cli_reference.py leaves out a command"
    assert made == (ROOT / "docs" / "cli.md").read_text(encoding="utf-8"), (
        "docs/cli.md is out of date; run `.venv/bin/python docs/make_cli_reference.py`"
    )


def test_who_reads_how_far_is_called_a_persona() -> None:
    # An attacker ranks the log; lazy, active and motivated say how far down its ranking is read.
    mixed = re.compile(
        r"\b(?:lazy|active|motivated)\s+attacker|\bagainst\s+(?:each|every)\s+attacker|\bthree\s+attackers"
    )
    files = [*PAGES, *(ROOT / "reproduce").rglob("*.py")]
    files += [file for ending in ("py", "html", "js") for file in (ROOT / "src").rglob(f"*.{ending}")]
    found = [
        f"{file.relative_to(ROOT)}: {match.group()}"
        for file in files
        for match in mixed.finditer(file.read_text(encoding="utf-8"))
    ]
    assert found == []
