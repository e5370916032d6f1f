"""Text that others wrote reaches a terminal as text: it neither colors, nor rewrites, nor breaks a row."""

import io
import json
import unicodedata
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import quipukit as qk
from quipukit.cli import console
from quipukit.cli.main import _show_warning
from quipukit.io.tables import spreadsheet_text
from quipukit.terminal import say, visible
from tests.cli.test_cli import run

NASTY = "cats\x1b[31m\x1b]0;title\x07\x9b2J\N{RIGHT-TO-LEFT OVERRIDE}\tx\r\ny\x7f\u2028z\udcff"


def assert_harmless(shown: str) -> None:
    assert not {c for c in shown if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")}


def test_tables_and_lines_show_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    console.print_table(f"title {NASTY}", ["[bold]heading[/bold]", NASTY], [["1", NASTY]], f"caption {NASTY}")
    console.print_wrapped(f"words {NASTY}")
    say(f"note: {NASTY}")
    _show_warning(f"beware {NASTY}")
    shown = capsys.readouterr()
    assert_harmless(shown.out)
    assert_harmless(shown.err)
    assert "\\x1b[31m" in shown.out and "\\u202e" in shown.out and "[bold]heading[/bold]" in shown.out
    assert shown.err.count("\n") == 2, "a line stays a line"


def test_lines_for_programs_stay_whole(capsys: pytest.CaptureFixture[str]) -> None:
    console.print_tsv(pd.DataFrame({"name": [NASTY.rstrip("\udcff"), 'quoted "x"'], "number": [-0.5, 2.0]}))
    shown = capsys.readouterr().out
    assert_harmless(shown.replace("\t", ""))
    assert [line.count("\t") for line in shown.splitlines()] == [1, 1, 1]
    assert shown.endswith('quoted "x"\t2.0\n')
    console.print_json({"name": NASTY, "number": float("nan")})
    shown = capsys.readouterr().out
    assert_harmless(shown)
    assert json.loads(shown) == {"name": NASTY, "number": None}


def test_ordinary_text_is_left_alone() -> None:
    for text in ("naïve café", "جستجو\u200cها", "検索", "👩\u200d🔬", "a\u00a0b"):
        assert visible(text) == text


@pytest.mark.heavy
def test_a_query_from_a_log_does_not_reach_the_terminal_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("1\tcats \x1b[31mred\n", encoding="utf-8")
    sent, topics = str(tmp_path / "sent.csv"), str(tmp_path / "t.tsv")
    done = run("obfuscate", "--queries", topics, "-m", "Identity", "-n", "1", "-o", sent)
    assert done.returncode == 0, done.stderr
    assert "\x1b[31m" in Path(sent).read_text(encoding="utf-8"), "a file is exact"
    (tmp_path / "log.txt").write_text("dogs\x1b[2J\nfish\n", encoding="utf-8")
    shown = run(
        "attack", sent, "--queries", topics, "--log", str(tmp_path / "log.txt"), "--show", "3", "--attackers", "Lexical"
    )
    assert shown.returncode == 0 and "\\x1b[2J" in shown.stdout
    assert_harmless(shown.stdout)
    refused = run("attack", str(tmp_path / "no\x1b[31m.csv"), "--log", "wordnet")
    assert refused.returncode == 2
    assert_harmless(refused.stderr)


def test_a_spreadsheet_finds_no_formula_and_the_same_numbers() -> None:
    cells = [
        "=1+1",
        "+a",
        "-a",
        "@a",
        "\ta",
        "\r=a",
        "＝1",
        "plain",
        "-0.5",
        "a=b",
        " =1+1",
        "\xa0\u3000@a",
        "\ufeff-a",
    ]
    written = spreadsheet_text(pd.DataFrame({"=name": cells, "number": [-0.1] * len(cells)}))
    back = pd.read_csv(io.StringIO(written, newline=""), dtype={0: str})
    assert back.columns.tolist() == ["'=name", "number"]
    expected = ["'=1+1", "'+a", "'-a", "'@a", "\\ta", "\\r=a", "'＝1", "plain", "-0.5", "a=b"]
    assert back["'=name"].tolist() == [*expected, "' =1+1", "'\xa0\u3000@a", "'\ufeff-a"]
    assert back["number"].tolist() == [-0.1] * len(cells)


def test_a_spreadsheet_shows_control_characters() -> None:
    text = NASTY.rstrip("\udcff")
    written = spreadsheet_text(pd.DataFrame({text: [text, "a\0b"]}))
    assert_harmless(written)
    assert "cats\\x1b[31m" in written and "\\x9b2J" in written and "a\\x00b" in written


def test_what_a_mechanism_prepares_shows_progress(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(console, "_QUIET_SECONDS", 0.0)
    vectors = qk.Vectors([f"w{i}" for i in range(300)], np.random.default_rng(5).standard_normal((300, 4)))
    console.prepare([qk.mechanism("Diffractor@1", vectors=vectors), qk.mechanism("CMP@1", vectors=vectors)])
    shown = capsys.readouterr().err
    assert "preparing Diffractor: " in shown and "CMP" not in shown
