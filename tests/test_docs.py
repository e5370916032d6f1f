"""The documentation runs, and the command-line reference is what the commands print."""

import ast
import os
import re
import runpy
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from quipukit.attackers.registry import built_in_attackers
from quipukit.cli.main import app
from quipukit.registry import MECHANISMS
from tests.retrieval.fake_engine import Asked, Reply, serving

ROOT = Path(__file__).resolve().parent.parent
MADE = ROOT / "docs" / "api.md"  # by the build of the site, from docstrings, whose examples are tests of their own
PAGES = [path for folder in (".", "docs", "examples") for path in sorted((ROOT / folder).glob("*.md")) if path != MADE]
# What a page needs beside quipukit itself.
NEEDED = {"pyterrier.md": ("pyterrier", "pyterrier"), "serve.md": ("starlette", "serve")}  # module and extra


FENCE = re.compile(r"^( *)```(\S*)[^\n]*\n(.*?)^ *```", re.MULTILINE | re.DOTALL)


def fences(text: str) -> list[tuple[str, str]]:
    """Return the language and the text of every fenced block, those in lists too."""
    return [(language, textwrap.dedent(block)) for _, language, block in FENCE.findall(text)]


def python_blocks(page: Path) -> list[str]:
    return [block for language, block in fences(page.read_text(encoding="utf-8")) if language == "python"]


LONG = ("sessions.md",)  # each of its calls has tests of its own
SCRIPTS = ("scale.md",)  # its blocks are programs, each with processes of its own


@pytest.mark.heavy
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.slow] * (page.name in LONG))
        for page in PAGES
        if python_blocks(page) and page.name not in SCRIPTS
    ],
    ids=lambda page: page.name,
)
def test_python_blocks_of_a_page_run_in_order(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, news: str
) -> None:
    if page.name in NEEDED:
        module, extra = NEEDED[page.name]
        pytest.importorskip(module, reason=f"needs the extra: pip install 'quipukit[{extra}]'")
    if page.name == "serve.md":
        stand_in_for_langchain(monkeypatch)
    monkeypatch.chdir(tmp_path)  # for what the examples write
    names: dict[str, object] = {"__name__": "documentation"}
    for block in python_blocks(page):
        exec(compile(block.replace(NEWS, news), page.name, "exec"), names)
    assert len(names) > 1


# --- what stands in for what a test cannot have ---

NEWS = "127.0.0.1:9200"  # where docs/engines.md has an OpenSearch


@pytest.fixture
def news(tmp_path: Path) -> Iterator[str]:
    """Serve what OpenSearch would answer, from a port that is free, and write the files that its example names."""
    (tmp_path / "FOLDER").mkdir()
    (tmp_path / "FOLDER" / "topics.tsv").write_text("1\thow does a tumor grow\n2\twinter storm warning\n")
    (tmp_path / "FOLDER" / "qrels.txt").write_text("1 0 n1 1\n2 0 n2 1\n")
    (tmp_path / "log.txt").write_text("cancer treatment\nweather tomorrow\nhow to cook rice\n")
    found = {"n1": ("Tumors", "How a tumor grows."), "n2": ("Storms", "A storm in winter."), "n3": ("Rice", "Cooked.")}
    hits = [
        {"_id": docno, "_score": 3.0 - place, "_source": {"headline": title, "lead": lead}}
        for place, (docno, (title, lead)) in enumerate(found.items())
    ]

    def answer(asked: Asked) -> Reply:
        assert (asked.method, asked.path) == ("POST", "/news/_search")
        return Reply(
            {"timed_out": False, "_shards": {"total": 1, "successful": 1, "failed": 0}, "hits": {"hits": hits}}
        )

    with serving(answer) as server:
        yield server.host


def stand_in_for_langchain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a client that asks as LangChain's does, which is not among our packages, ask the service in this process."""
    from tests.web.fakes import client
    from tests.web.test_searx import SearxClient

    class SearxSearchWrapper:
        def __init__(self, *, searx_host: str, unsecure: bool = False) -> None:
            self.client = SearxClient(client(token=False, root=searx_host))

        def results(self, query: str, num_results: int) -> list[dict[str, Any]]:
            found = self.client.results(query, num_results)
            assert found
            return found

    utilities = ModuleType("langchain_community.utilities")
    utilities.SearxSearchWrapper = SearxSearchWrapper  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "langchain_community", ModuleType("langchain_community"))
    monkeypatch.setitem(sys.modules, utilities.__name__, utilities)


# The keywords that SLURMCluster of dask-jobqueue 0.9 documents, without those that are deprecated; an unknown one is a
# TypeError there, too.
DASK_JOBQUEUE = """
KNOWN = set(
    "n_workers loop security shared_temp_directory silence_logs name asynchronous host scheduler_options scheduler_cls "
    "interface protocol config_name queue account cores memory processes nanny death_timeout local_directory "
    "worker_command worker_extra_args walltime job_cpu job_mem job_script_prologue job_script_epilogue "
    "job_extra_directives job_directives_skip log_directory shebang python job_name".split()
)


class SLURMCluster:
    def __init__(self, **options):
        if unknown := set(options) - KNOWN:
            raise TypeError(f"SLURMCluster has no {sorted(unknown)}")
        if not {"cores", "memory"} <= set(options):
            raise ValueError("You must specify how much cores and memory per job you want to use")

    def scale(self, n=None, jobs=0, memory=None, cores=None):
        self.jobs = jobs

    @property
    def scheduler_address(self):
        return f"tcp://10.0.0.1:8786 for {self.jobs} jobs"
"""


def start_script(block: str, folder: Path) -> "subprocess.Popen[str]":
    """Start a block as the program that it is, with a stand-in for dask-jobqueue: there is no Slurm to give it jobs."""
    (folder / "stand_ins").mkdir()
    (folder / "stand_ins" / "dask_jobqueue.py").write_text(DASK_JOBQUEUE)
    (folder / "script.py").write_text(block)
    path = os.pathsep.join([str(folder / "stand_ins"), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
    return subprocess.Popen(
        [sys.executable, "script.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path.rstrip(os.pathsep)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_the_page_on_many_machines_has_two_scripts() -> None:
    here, slurm = python_blocks(ROOT / "docs" / "scale.md")  # each has a test below
    assert "qk.Dask(" in here and "SLURMCluster(" in slurm


@pytest.mark.heavy
@pytest.mark.serial
def test_the_script_with_processes_of_this_machine_runs(tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="needs the extra: pip install 'quipukit[dask]'")
    with start_script(python_blocks(ROOT / "docs" / "scale.md")[0], tmp_path) as script:
        _, said = script.communicate(timeout=300)
    assert script.returncode == 0, said
    assert (tmp_path / "runs" / "try" / "manifest.json").exists()


def slurm_prints(block: str, folder: Path) -> str:
    """Return the line that the script for Slurm prints, or its fault; after that line it only waits, and is ended."""
    with start_script(block, folder) as script:
        assert script.stdout is not None and script.stderr is not None
        said = script.stdout.readline() or script.stderr.read()
        script.terminate()
    return said


def test_the_script_for_slurm_asks_for_jobs_and_prints_the_address(tmp_path: Path) -> None:
    block = python_blocks(ROOT / "docs" / "scale.md")[1]
    assert slurm_prints(block, tmp_path) == "tcp://10.0.0.1:8786 for 16 jobs\n"


def test_a_keyword_that_dask_jobqueue_does_not_know_would_be_noticed(tmp_path: Path) -> None:
    block = python_blocks(ROOT / "docs" / "scale.md")[1]
    assert slurm_prints(block.replace("queue=", "partition="), tmp_path).endswith("SLURMCluster has no ['partition']\n")


# --- no Python that does not run ---

# What a fence may hold beside Python; `text` is for formulas. One without a language is looked at like indented text.
OTHERS = {"", "console", "dockerfile", "sh", "text", "toml", "yaml", "{toctree}"}


def is_python(code: str) -> bool:
    """Return whether a text is Python that does something: a single name or a word in brackets says nothing."""
    try:
        statements = ast.parse(re.sub(r"^(?:>>>|\.\.\.) ?", "", textwrap.dedent(code), flags=re.MULTILINE)).body
    except SyntaxError:
        return False
    return any(
        isinstance(one.value, (ast.Attribute, ast.Await, ast.Call, ast.Subscript))
        if isinstance(one, ast.Expr)
        else True
        for one in statements
    )


def indented_blocks(text: str) -> list[str]:
    """Return the indented blocks outside of fences; an indented line right below a paragraph belongs to it."""
    plain = FENCE.sub("```\n", text).expandtabs(4)
    return [
        block for _, block in re.findall(r"(^[ ]*\n|^#.*\n|^```\n)((?:^ {4,}\S.*\n?)+)", "\n" + plain, re.MULTILINE)
    ]


def python_that_no_test_runs(text: str) -> list[str]:
    """Return the lines of a page that are Python, or begin it, and stand elsewhere than in a block that runs."""
    found = [f"```{language}" for language, _ in fences(text) if language not in OTHERS | {"python"}]
    for block in indented_blocks(text) + [block for language, block in fences(text) if not language]:
        lines = block.splitlines()
        # A statement may go on for some lines, and commands for the shell may stand before it.
        found += [
            lines[at].strip()
            for at in range(len(lines))
            if any(is_python("\n".join(lines[at:end])) for end in range(at + 1, min(at + 12, len(lines)) + 1))
        ]
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_stands_in_blocks_that_run(page: Path) -> None:
    # Indented code is for the shell; what is indented Python no test would ever run.
    assert python_that_no_test_runs(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "planted",
    [
        "    result.scores",
        "    result.quipu()      # scores with intervals",
        "    scores = result.scores",
        "    import quipukit as qk",
        "    qk.evaluate(mine, [MyMechanism(p=0.5)],\n                retriever=my_retriever)",
        "    quipukit identify obfuscated.csv\n    guess = qk.identify(obfuscated)",
        "    quipukit demo\n    for name in result.settings:\n        print(name)",
        "    >>> result.scores",
        "- a list\n\n      result.scores",
        "\tresult.scores",
        "```py\nresult.scores\n```",
        "```\nresult.scores\n```",
        "```{code-block} python\nresult.scores\n```",
    ],
)
def test_python_that_does_not_run_would_be_noticed(planted: str) -> None:
    assert python_that_no_test_runs(f"# A page\n\nSome words:\n\n{planted}\n\nAnd more.\n")


@pytest.mark.parametrize(
    "plain",
    [
        "    quipukit report runs/a runs/b -o report      # one table",
        "    export NAME=value",
        "    min(1, nDCG@10 of that list / nDCG@10 of the original's own list)",
        "- a list that goes on\n    pages (below)",
        "```python\nresult.scores\n```",
        "- a list\n\n  ```python\n  result.scores\n  ```",
    ],
)
def test_what_runs_or_is_no_python_passes(plain: str) -> None:
    assert python_that_no_test_runs(f"# A page\n\nSome words:\n\n{plain}\n\nAnd more.\n") == []


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
