"""The documentation runs, and the command-line reference is what the commands print."""

import re
import runpy
from pathlib import Path

import pytest

from quipukit.attackers.registry import built_in_attackers
from quipukit.cli.main import app
from quipukit.registry import MECHANISMS

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


# Fragments that no test runs: an experiment that takes minutes, and names that stand for the reader's own file, run
# or engine. There should be no more of them.
FRAGMENTS = {"engines.md": 1, "experiments.md": 5, "identify.md": 1, "report.md": 3}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_stands_in_blocks_that_run(page: Path) -> None:
    # Indented code is for the shell; what is indented Python no test would ever run.
    plain = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    code = re.findall(r"^    (?:(?:from|import) \w|(?:\w+ = )?qk\.|write_report\().*$", plain, re.MULTILINE)
    assert len(code) == FRAGMENTS.get(page.name, 0), code


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


# --- lists of mechanisms and attackers ---


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def chosen_from() -> dict[str, str]:
    """Return the section of every mechanism that the page on choosing has one for."""
    sections = re.findall(r"^### ([^\n]+)\n(.*?)(?=^##)", page("choosing.md"), re.MULTILINE | re.DOTALL)
    return {name.strip(): text for names, text in sections for name in names.split(",")}


def test_every_mechanism_is_among_those_to_choose_from_and_no_other():
    assert set(chosen_from()) | {"Identity", "Random"} == set(MECHANISMS.built_in)
    assert all(f"`{name}`" in page("choosing.md") for name in ("Identity", "Random"))


@pytest.mark.parametrize("name", sorted(set(MECHANISMS.built_in) - {"Identity", "Random"}))
def test_what_is_said_of_a_mechanism_has_its_guarantee_and_when_to_use_it(name):
    text = " ".join(chosen_from()[name].split())
    assert "*Guarantee*" in text and re.search(r"\*Use (it|them)\b|\*Use SanText\*", text), name


@pytest.mark.parametrize("name", ["Diffractor", "RANTEXT", "NoisyRANTEXT", "ContextualCMP", "ContextualMhl", "DPMLM"])
def test_the_newer_ones_have_an_audit_and_a_measured_risk_and_when_not_to_use_them(name):
    text = chosen_from()[name]
    assert re.search(r"\*Audit\*: .*(holds|violated)", text) and re.search(r"\*Risk\*:\s+\d?\.\d\d at", text), name
    assert "*Not*" in text


def test_every_mechanism_has_a_row_with_its_formula_and_its_promise():
    rows = [line for line in page("mechanisms.md").splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`([\w+]+?)(?:\(.*?\))?(?:@\w+)?`", row.split(" | ")[0])}
    assert set(MECHANISMS.built_in) <= named, sorted(set(MECHANISMS.built_in) - named)


def test_every_attacker_is_in_the_table_of_attackers():
    table = page("choosing.md").split("## Attackers", 1)[1]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == set(built_in_attackers())


def test_the_picture_of_the_readme_has_the_settings_of_the_measured_frontier():
    script = runpy.run_path(str(ROOT / "docs" / "make_frontier_picture.py"))
    settings = {one.name: one for one in script["points"](page("frontier.md"))}
    assert len(settings) > 15 and set(script["NAMED"]) <= set(settings)
    assert settings["Cover@50"][1:] == (0.279, 0.538, False) and settings["Cover@100"].pools_much
    assert "docs/images/frontier.svg" in (ROOT / "README.md").read_text(encoding="utf-8")
    # Of the drawing the names are looked at, not the bytes: another matplotlib draws other curves.
    drawn = script["PICTURE"].read_text(encoding="utf-8")
    assert drawn.count("<!--") > 10 and all(f"<!-- {name}" in drawn for name in ("Cover@50", "AEA@3", "Decoys@50"))


def test_the_first_screen_of_the_readme_fits():
    """45 lines, of which the picture takes some 14: the example and what it prints end before the second heading."""
    first = (ROOT / "README.md").read_text(encoding="utf-8").split("\n## ", 1)[0].splitlines()
    assert len(first) <= 45 - 14 and any("frontier.svg" in line for line in first)
    assert sum(line.startswith("    ") and not line.startswith("    $") for line in first) >= 7
