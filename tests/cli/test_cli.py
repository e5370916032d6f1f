"""The command line, run as a user runs it."""

import io
import json
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pandas as pd
import pytest

from quipukit.cli import main
from quipukit.cli.multi_values import expand_multi_values
from quipukit.cli.obfuscate import note_lines

SMALL = "cat 0 0\ndog 1 0\nfish 0 2\nbird 3 1\nhorse 2 2\nmouse 0 3\n"


def run(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command in this process: what a shell would see, without a second start of Python."""
    out, err = io.StringIO(), io.StringIO()
    code = 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "stdin", io.StringIO(stdin))
        try:
            main(list(arguments))
        except SystemExit as end:
            code = int(end.code or 0)
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())


@pytest.fixture
def small(tmp_path: Path) -> str:
    file = tmp_path / "small.txt"
    file.write_text(SMALL, encoding="utf-8")
    return str(file)


def assert_refused(done: subprocess.CompletedProcess[str], *parts: str) -> None:
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    for part in parts:
        assert part in lines[0]


# --- a light start ---


@pytest.mark.heavy
def test_help_imports_nothing_heavy() -> None:
    pages = ["--help", "obfuscate --help", "vectors --help", "vocabulary --help", "--version"]
    program = (
        "import sys\nfrom quipukit.cli import main\n"
        f"for page in {pages!r}:\n"
        "    try:\n        main(page.split())\n    except SystemExit:\n        pass\n"
        "    heavy = {'torch', 'numba', 'plotly', 'pandas', 'numpy', 'scipy', 'transformers'} & set(sys.modules)\n"
        "    if heavy:\n        sys.exit(page + ': ' + ','.join(sorted(heavy)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_verb_has_examples_in_its_help() -> None:
    for verb in ("obfuscate", "list", "vectors", "vocabulary", "demo"):
        assert "quipukit " + verb in run(verb, "--help").stdout.split("Example", 1)[1]


def test_no_help_shows_a_mark_of_its_own_source() -> None:
    from typer.main import get_command

    from quipukit.cli.main import app

    verbs = list(get_command(app).commands)  # type: ignore[attr-defined]
    for arguments in ([], ["vectors", "install"], *([verb] for verb in verbs)):
        shown = run(*arguments, "--help").stdout
        assert shown.startswith("Usage:") and "\\b" not in shown and "\b" not in shown, arguments


# --- one query ---


def test_one_query_prints_its_variants_and_the_composed_budget(small: str) -> None:
    done = run("obfuscate", "cat dog", "-m", "CMP", "-e", "2", "-n", "3", "--vectors", small)
    assert done.returncode == 0, done.stderr
    assert "N = 3, composed budget 6" in done.stdout
    assert "2-metric DP (euclidean) per word" in done.stdout


def test_the_same_seed_prints_the_same(small: str) -> None:
    command = ("obfuscate", "cat dog", "-m", "CMP", "-m", "TEM", "-e", "1", "2", "-n", "4", "--vectors", small, "--tsv")
    assert run(*command, "--seed", "7").stdout == run(*command, "--seed", "7").stdout
    assert run(*command, "--seed", "7").stdout != run(*command, "--seed", "8").stdout
    assert run(*command).stdout != run(*command).stdout


def test_json_names_n_and_budget(small: str) -> None:
    done = run("obfuscate", "cat eel", "-m", "SanText", "-e", "0.5", "2", "-n", "2", "--vectors", small, "--json")
    settings = json.loads(done.stdout)["settings"]
    assert [(one["value"], one["n"], one["budget"]) for one in settings] == [(0.5, 2, 1.0), (2.0, 2, 4.0)]
    assert all(len(one["variants"]) == 2 for one in settings)
    assert settings[0]["notes"] == [{"qid": "1", "flag": "oov", "count": 1}]


def test_a_query_from_standard_input(small: str) -> None:
    done = run("obfuscate", "-", "-m", "Identity", "-n", "1", "--tsv", "--vectors", small, stdin="cat [bold]\n\ndog\n")
    rows = done.stdout.splitlines()[1:]
    assert [row.split("\t")[2] for row in rows] == ["cat [bold]", "dog"]


def test_notes_are_told_whatever_the_output(small: str, tmp_path: Path) -> None:
    command = ("obfuscate", "cat eel", "-m", "CMP@1", "-n", "2", "--vectors", small)
    for more in ((), ("--tsv",), ("-o", str(tmp_path / "out.csv"))):
        assert "1 word outside the vocabulary" in run(*command, *more).stderr


def test_an_interrupt_leaves_nothing_and_says_so(small: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> str:
        assert list(tmp_path.glob(".out*")), "the interrupt comes while the file is being written"
        raise KeyboardInterrupt

    monkeypatch.setattr("quipukit.io.tables.as_text", interrupted)
    target = tmp_path / "out.csv"
    done = run("obfuscate", "cat dog", "-m", "CMP@1", "--vectors", small, "-o", str(target))
    assert done.returncode == 130, done.stderr
    assert "interrupted; nothing half-written" in done.stderr
    assert not target.exists() and not list(tmp_path.glob(".out*"))


def test_square_brackets_are_printed_as_they_are(small: str) -> None:
    done = run("obfuscate", "cat [bold]dog[/bold] [/]", "-m", "Identity", "-n", "1", "--vectors", small)
    assert "cat [bold]dog[/bold] [/]" in done.stdout


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("arguments", "reader", "code"),
    [
        pytest.param("obfuscate cat -m Identity -n 3000 --tsv", "head -1", 0, marks=pytest.mark.slow),
        ("obfuscate cat -m Identity -n 1200", "head -1", 0),
        ("--help", "true", 0),
        # The work may be unfinished.
        pytest.param("obfuscate cat -m Identity -n 2 --json 2>&1", "true", 141, marks=pytest.mark.slow),
    ],
)
def test_a_closed_pipe_is_no_error(arguments: str, reader: str, code: int) -> None:
    command = f"{sys.executable} -m quipukit {arguments} | {reader}; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert "Error" not in done.stderr and "Broken" not in done.stderr and "Traceback" not in done.stderr


# A table, JSON, a help page, rows: each is printed its own way.
@pytest.mark.heavy
@pytest.mark.parametrize(
    "arguments",
    [
        "vectors",
        pytest.param("obfuscate cat -m Identity -n 1 --json", marks=pytest.mark.slow),
        "--help",
        "obfuscate cat -m Identity -n 3000 --tsv",
    ],
)
@pytest.mark.parametrize(("target", "words"), [("/dev/full", "No space left"), ("&-", "standard output is closed")])
def test_output_that_cannot_be_written_ends_in_one_line(arguments: str, target: str, words: str) -> None:
    command = f"{sys.executable} -m quipukit {arguments} >{target}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1 and words in done.stderr, done.stderr


def test_a_misspelt_collection_is_said_first() -> None:
    assert_refused(run("evaluate", "wordnett"), "there is no collection 'wordnett'")
    assert_refused(run("evaluate"), "-o")


# --- files ---


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_a_file_of_queries_to_a_file_and_back(tmp_path: Path, small: str, suffix: str) -> None:
    from quipukit.io.obfuscated import read_obfuscated

    topics, target = tmp_path / "topics.tsv", tmp_path / f"out{suffix}"
    topics.write_text('007\tcat dog\n8\tit\'s "fish", or bird\n9\t\n', encoding="utf-8")
    command = ("obfuscate", "--queries", str(topics), "-m", "CMP", "-e", "1", "5", "-n", "3", "--vectors", small)
    done = run(*command, "-o", str(target), "--seed", "1")
    assert done.returncode == 0, done.stderr
    assert "wrote 18 obfuscated queries" in done.stderr and "composed budget 15" in done.stderr
    obfuscated, originals = read_obfuscated(target)
    assert originals.empty
    assert list(obfuscated["qid"].unique()) == ["007", "8", "9"]
    assert set(obfuscated[obfuscated["qid"] == "9"]["query"]) == {""}
    raw = pd.read_parquet(target) if suffix == ".parquet" else None
    if raw is not None:
        assert set(raw["n"]) == {3} and set(raw["budget"]) == {3.0, 15.0}
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith(".")] == []


def test_the_published_layout_is_read(tmp_path: Path) -> None:
    from quipukit.io.obfuscated import read_obfuscated

    header = "id,text,obfuscatedText,mechanism,"
    (tmp_path / "a.csv").write_text(header + "epsilon\n1,cat,dog,CMP,5\n1,cat,,CMP,5\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text(header + 'level\n1,cat,"pet, big",AEA,3\n', encoding="utf-8")
    obfuscated, queries = read_obfuscated(tmp_path)
    assert obfuscated.to_dict("records") == [
        {"qid": "1", "variant": 0, "query": "dog", "mechanism": "CMP", "parameter": "epsilon", "value": 5.0},
        {"qid": "1", "variant": 1, "query": "", "mechanism": "CMP", "parameter": "epsilon", "value": 5.0},
        {"qid": "1", "variant": 0, "query": "pet, big", "mechanism": "AEA", "parameter": "level", "value": 3.0},
    ]
    assert queries.to_dict("records") == [{"qid": "1", "query": "cat"}]


def test_the_published_files_are_read(shared_data: Path) -> None:
    from quipukit.io.obfuscated import read_obfuscated

    obfuscated, queries = read_obfuscated(shared_data / "published" / "dl19" / "CMP")
    assert obfuscated.groupby(["value", "qid"]).size().eq(50).all()
    assert obfuscated["value"].nunique() == 10 and len(queries) == 43


# --- bad input: one line, the fix, exit 2 ---


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["-m", "CMQ"], ["CMQ", "did you mean CMP"]),
        (["-m", "CMP", "-e", "0"], ["epsilon", "[1e-06, 1e+06]"]),
        (["-m", "CMP", "-e", "-3"], ["epsilon"]),
        (["-m", "CMP@nan"], ["finite"]),
        (["-m", "CMP", "-e", "nan"], ["finite"]),
        (["-m", "CMP", "-e", "1e7"], ["[1e-06, 1e+06]"]),
        (["-m", "CMP(k=3)@1"], ["no option 'k'", "belongs to", "CusText"]),
        (["-m", "CMP(lam=0.5)@1"], ["no option 'lam'", "Mahalanobis"]),
        (["-m", "CMP(oov=keep)@1"], ["unsafe=True"]),
        (["-m", "AEA", "-e", "5"], ["AEA has no epsilon", "AEA@3"]),
        (["-m", "Random@5"], ["no privacy parameter"]),
        (["-m", "CMP@1", "-e", "5"], ["--epsilon is given"]),
        (["-m", "CMP@1", "-m", "cmp@1.0"], ["twice"]),
        (["-m", "CMP@1", "-n", "0"], ["variants"]),
        (["-m", "CMP@1", "--noise", "common"], ["needs a seed"]),
        (["-m", "CMP@1", "--noise", "loud"], ["noise"]),
        (["-m", "CMP@1", "-o", "out.xls"], ["out.xls", ".parquet"]),
    ],
)
def test_wrong_settings_say_the_fix(small: str, arguments: list[str], parts: list[str]) -> None:
    assert_refused(run("obfuscate", "cat dog", "--vectors", small, *arguments), *parts)


@pytest.mark.parametrize(
    ("name", "content", "parts"),
    [
        ("topics.tsv", b"1\tcat\n2 dog\n", ["line 2", "column is missing"]),
        ("topics.tsv", b"", ["empty"]),
        ("topics.tsv", b"1\tcat\n2\t\xff\xfe\n", ["line 2", "UTF-8"]),
        ("topics.tsv", b"1\tcat\n1\tdog\n", ["line 1 and line 2 have the same qid"]),
        ("topics.csv", b"qid,words\n1,cat\n", ["'query'", "'words'"]),
        ("topics.parquet", b"nonsense", ["parquet"]),
        ("topics.xyz", b"cat", ["format"]),
    ],
)
def test_wrong_topics_say_the_fix(tmp_path: Path, small: str, name: str, content: bytes, parts: list[str]) -> None:
    (tmp_path / name).write_bytes(content)
    target = tmp_path / "out.csv"
    command = ("obfuscate", "--queries", str(tmp_path / name), "-m", "CMP@1", "--vectors", small, "-o", str(target))
    assert_refused(run(*command), name, *parts)
    assert not target.exists()


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        (b"cat 0 0\ndog 1\n", ["line 2", "2 numbers"]),
        (b"cat 0 0\ndog 1 x\n", ["line 2", "'x'"]),
        (b"cat 0 0\ndog 1 nan\n", ["line 2", "NaN"]),
        (b"", ["no vector"]),
        (b"cat 0 0\n\xff 1 1\n", ["line 2", "UTF-8"]),
    ],
)
def test_wrong_vectors_say_the_line(tmp_path: Path, content: bytes, parts: list[str]) -> None:
    (tmp_path / "bad.txt").write_bytes(content)
    done = run("obfuscate", "cat", "-m", "CMP@1", "--vectors", str(tmp_path / "bad.txt"))
    assert_refused(done, "bad.txt", *parts)


def test_missing_files_are_named(tmp_path: Path) -> None:
    assert_refused(run("obfuscate", "cat", "-m", "CMP@1", "--vectors", str(tmp_path / "no.txt")), "no.txt")
    assert_refused(run("obfuscate", "--queries", str(tmp_path / "no.tsv"), "-m", "Identity"), "no.tsv")
    assert_refused(run("obfuscate", "-m", "CMP@1"), "give one query or a file")


def test_an_error_never_quotes_the_query(small: str) -> None:
    done = run("obfuscate", "my secret illness", "-m", "CMP@1", "-n", "0", "--vectors", small)
    assert "secret" not in done.stderr and "illness" not in done.stderr


def test_nothing_half_written_where_the_folder_cannot_be_written(tmp_path: Path, small: str) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    done = run("obfuscate", "cat", "-m", "CMP@1", "--vectors", small, "-o", str(tmp_path / "file" / "out.csv"))
    assert_refused(done, "out.csv")


# --- listing ---


@pytest.mark.heavy
def test_list_names_every_mechanism_with_its_guarantee() -> None:
    from quipukit.registry import mechanism_names

    listed = json.loads(run("list", "--json").stdout)
    assert [one["name"] for one in listed["mechanisms"]] == mechanism_names()
    promise = {one["name"]: one["guarantee"] for one in listed["mechanisms"]}
    assert promise["CMP"] == "10-metric DP (euclidean) per word"
    assert all(promise[name].startswith("none") for name in ("WBB", "AEA", "FEA", "Identity"))
    assert {"vectors", "encoders", "collections"} <= set(listed)


def test_vectors_lists_what_is_kept(tmp_path: Path, small: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path / "home"))
    assert "not built yet" in run("vectors").stdout
    assert "6 words x 2" in run("vectors", "install", small).stdout
    assert "6 x 2" in run("vectors").stdout
    assert_refused(run("vectors", "install", "nothing"), "nothing", "minilm-words")


# --- pieces ---


def test_numbers_after_e_are_spread() -> None:
    assert expand_multi_values(["q", "-e", "1", "5", "10", "-n", "3"]) == [
        "q",
        "-e",
        "1",
        "-e",
        "5",
        "-e",
        "10",
        "-n",
        "3",
    ]
    assert expand_multi_values(["-e", "x", "5"]) == ["-e", "x", "-e", "5"]
    assert expand_multi_values(["-n", "3", "5"]) == ["-n", "3", "5"]
    assert expand_multi_values(["-e"]) == ["-e"]
    several = expand_multi_values(["attack", "x.csv", "--attackers", "QuIA", "panel"])
    assert several == ["attack", "x.csv", "--attackers", "QuIA", "--attackers", "panel"]


def test_a_folder_called_like_a_value_is_not_taken_for_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("tem", "2019", "CMP"):
        (tmp_path / name).mkdir()
    refused = run("evaluate", "-m", "CMP", "tem", "-o", "out")
    assert_refused(refused, "'tem' is a folder", "./tem", "-m tem")
    assert_refused(run("evaluate", "-e", "1", "5", "2019", "-o", "out"), "'2019' is a folder", "./2019")
    assert expand_multi_values(["evaluate", "-m", "CMP", "./tem"]) == ["evaluate", "-m", "CMP", "./tem"]
    assert expand_multi_values(["evaluate", "tem", "-m", "CMP", "-m", "tem"]) == [
        "evaluate",
        "tem",
        "-m",
        "CMP",
        "-m",
        "tem",
    ]
    assert expand_multi_values(["evaluate", "-m", "CMP", "TEM"]) == ["evaluate", "-m", "CMP", "-m", "TEM"]
    assert expand_multi_values(["utility", "-m", "SetR", "CMP"]) == ["utility", "-m", "SetR", "CMP"]
    several = expand_multi_values(["utility", "--measure", "AP", "R(rel=2)@10", "run.trec"])
    assert several == ["utility", "--measure", "AP", "--measure", "R(rel=2)@10", "run.trec"]
    assert expand_multi_values(["evaluate", "--measure", "AP", "wordnet"]) == ["evaluate", "--measure", "AP", "wordnet"]


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (
            ["evaluate", "--attackers", "QuIA", "Nobody"],
            ["'Nobody' is no value of --attackers", "no attacker 'Nobody'"],
        ),
        (["evaluate", "wordnet", "--attackers", "QuIA", "Nobody"], ["no attacker 'Nobody'"]),
        (["evaluate", "-m", "CMP", "TEMM", "-o", "out"], ["'TEMM' is no value of -m", "did you mean TEM"]),
        (["evaluate", "-m", "CMP@5", "TEM@1.5x"], ["'TEM@1.5x' is no value of -m", "not a number"]),
        (["evaluate", "-e", "1", "1O"], ["'1O' is no value of -e: it is no number"]),
        (["evaluate", "-n", "1", "five"], ["'five' is no value of -n: it is no whole number"]),
        (["attack", "sent.csv", "--attackers", "QuIA", "Nobody"], ["no attacker 'Nobody'"]),
        (["utility", "run.trec", "--measure", "AP", "NDGC@10"], ["'NDGC@10' is no value of --measure"]),
        (["obfuscate", "-m", "CMP@5", "TEMM@3"], ["'TEMM@3' is no value of -m", "did you mean TEM"]),
    ],
)
def test_a_misspelled_value_is_not_taken_for_something_to_work_on(typed: list[str], words: list[str]) -> None:
    assert_refused(run(*typed), *words)


def test_what_a_command_works_on_may_follow_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "village").mkdir()
    for last in ("village", "WordNet", "irds:vaswani", "./nowhere", "~/data/x"):
        assert expand_multi_values(["evaluate", "-m", "CMP", last])[-1] == last
    for last in ("flowers", "my @ home", "what is CMP@5"):
        assert expand_multi_values(["obfuscate", "-m", "CMP", last]) == ["obfuscate", "-m", "CMP", last]
    assert expand_multi_values(["attack", "--attackers", "QuIA", "sent.csv"])[-1] == "sent.csv"
    assert expand_multi_values(["attack", "--attackers", "QuIA", "village"])[-1] == "village"


def test_notes_are_grouped_by_what_they_say() -> None:
    note = {"parameter": "epsilon", "value": 1.0, "qid": "1", "flag": "oov", "count": 2}
    lines = note_lines(pd.DataFrame([{**note, "mechanism": "CMP"}, {**note, "mechanism": "TEM"}]))
    assert lines == ["note: CMP, TEM: 2 words outside the vocabulary, treated by the policy 'oov'"]
