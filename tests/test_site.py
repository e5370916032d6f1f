"""The documentation site builds without a warning, needs no other host, and its commands exist."""

import html
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from quipukit.cli.main import app
from quipukit.cli.multi_values import expand_multi_values

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "examples").glob("*.md"))]
GROUP = typer.main.get_command(app)
UsageError = typer.BadParameter.__mro__[1]  # typer brings a click of its own, which has no public name
# Pages that the commands themselves write, or that quote what they print.
GENERATED = {"cli.md", "api.md"}


def commands(page: Path) -> list[str]:
    """Return the command lines of a page: those that begin with `quipukit` in an indented or fenced block."""
    text = page.read_text(encoding="utf-8")
    fences = re.findall(r"^```(\S*)[^\n]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    fenced = "\n".join(block for language, block in fences if language in ("", "console", "sh"))
    indented = "\n".join(re.findall(r"^    (.*)$", text, re.MULTILINE))
    lines = re.sub(r"\\\n\s*", " ", f"{fenced}\n{indented}").splitlines()
    return [line.strip().removeprefix("$ ") for line in lines if re.match(r"\s*(\$ )?quipukit ", line)]


def parse(line: str) -> None:
    """Let the command's own parser read a line; nothing is run."""
    line = line.replace("MyAttacker", "Words")  # which stands for one of the reader's own
    words = shlex.split(re.sub(r"\s\(then:.*$", "", line), comments=True)[1:]
    for stop in ("|", ">", "&&", "<"):
        words = words[: words.index(stop)] if stop in words else words
    words = expand_multi_values([word for word in words if word != "..."])
    command = GROUP
    while words and not words[0].startswith("-") and hasattr(command, "commands"):
        command = command.commands.get(words[0]) or command.get_command(None, words[0])
        if command is None:
            raise UsageError(f"there is no command {words[0]!r}")
        words.pop(0)
    command.make_context(command.name, words)


@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in GENERATED], ids=lambda page: page.name)
def test_every_command_on_a_page_is_one_that_exists(page):
    wrong = []
    for line in commands(page):
        try:
            parse(line)
        except UsageError as fault:
            wrong.append(f"{line}: {fault.format_message()}")
    assert wrong == []


def in_passing(text: str) -> list[str]:
    """Return the commands that sentences name, with options at most: they need not be whole."""
    return [" ".join(line.split()) for line in re.findall(r"(?<!`)`(quipukit [a-z][^`]*)`(?!`)", text)]


def unknown_options(line: str) -> list[str]:
    """Return the options of a line that its command does not have."""
    command = GROUP
    words = line.split()[1:]
    while words and hasattr(command, "commands") and words[0] in command.commands:
        command = command.commands[words.pop(0)]
    known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)} | {"--help"}
    return [word for word in words if re.match(r"--?[a-zA-Z]", word) and word.split("=")[0] not in known]


@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in GENERATED], ids=lambda page: page.name)
def test_every_option_that_a_sentence_names_with_its_command_exists(page):
    lines = in_passing(page.read_text(encoding="utf-8"))
    assert {line: wrong for line in lines if (wrong := unknown_options(line))} == {}


def test_a_wrong_option_in_a_sentence_would_be_noticed():
    [line] = in_passing("What `quipukit report\n--no-exmples` writes")
    assert unknown_options(line) == ["--no-exmples"]
    assert unknown_options("quipukit ledger limit --epsilon 400 --hours") == ["--hours"]


def test_a_wrong_command_would_be_noticed():
    with pytest.raises(UsageError):
        parse("quipukit evaluate --no-such-option")
    with pytest.raises(UsageError):
        parse("quipukit atack file.csv")


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    pytest.importorskip("sphinx", reason="the site needs the extra docs")
    place = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "sphinx",
            "-W",
            "--keep-going",
            "-q",
            "-b",
            "html",
            "-d",
            place / "trees",
            "docs",
            place / "html",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return place / "html"


@pytest.mark.heavy
def test_the_site_builds_without_a_warning_and_loads_nothing_from_elsewhere(site):
    pages = sorted(site.glob("*.html"))
    assert {"index.html", "quickstart.html", "ideas.html", "api.html", "cli.html", "private_search.html"} <= {
        page.name for page in pages
    }
    for page in pages:
        loaded = re.findall(
            r"<(?:script|img|link|iframe)\b[^>]*?(?:src|href)=\"(?:https?:)?//[^\"]+\"", page.read_text("utf-8")
        )
        assert loaded == [], page.name


@pytest.mark.heavy
def test_links_inside_the_site_lead_to_a_page_and_a_heading(site):
    ids = {page.name: set(re.findall(r'\bid="([^"]+)"', page.read_text("utf-8"))) for page in site.glob("*.html")}
    broken = []
    for page in site.glob("*.html"):
        for target in re.findall(r'<a\b[^>]*?href="([^"]+)"', page.read_text("utf-8")):
            if re.match(r"[a-z]+:", target) or target.startswith("_downloads"):
                continue
            name, _, anchor = target.partition("#")
            name = name or page.name
            if name not in ids or (anchor and anchor not in ids[name]):
                broken.append(f"{page.name}: {target}")
    assert broken == []


@pytest.mark.heavy
def test_no_page_is_overwritten_by_one_that_sphinx_makes(site):
    # Sphinx writes pages of its own last: a search.md of ours would be replaced by its search form without a warning.
    for source in sorted((ROOT / "docs").glob("*.md")):
        title = re.sub(r"[`*]", "", source.read_text(encoding="utf-8").split("\n", 1)[0].removeprefix("# "))
        shown = (site / f"{source.stem}.html").read_text(encoding="utf-8")
        headings = re.findall(r"<h1>(.*?)(?:<a\b.*?)?</h1>", shown, re.DOTALL)
        plain = [html.unescape(re.sub(r"<[^>]+>", "", one)).replace("\u2019", "'") for one in headings]
        assert plain[:1] == [title], source.name
    assert "searchtools.js" in (site / "search.html").read_text(encoding="utf-8")


@pytest.mark.heavy
def test_the_search_index_knows_the_words_of_the_pages(site):
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    assert '"mahalanobi' in index and '"stickycov' in index.casefold()
