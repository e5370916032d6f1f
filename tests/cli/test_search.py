"""``quipukit search`` in a terminal or a pipe, and ``quipukit ledger``."""

import io
import json
from pathlib import Path

import pytest

from quipukit.cli import main
from tests.retrieval.fake_engine import Reply, searxng, serving

QUERY = "how is gonorrhea treated and passed on"


def run(monkeypatch: pytest.MonkeyPatch, typed: str, *arguments: str) -> int:
    """Run a command with something on its standard input; return its exit code."""
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    with pytest.raises(SystemExit) as end:
        main(list(arguments))
    return int(end.value.code or 0)


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("QUIPUKIT_LEDGER", str(tmp_path / "ledger.sqlite"))
    return tmp_path / "ledger.sqlite"


@pytest.mark.parametrize("options", [(), ("-m", "CMP@10"), ("-n", "3"), ("--dry-run", "--")])
def test_a_query_as_an_argument_is_refused_and_not_repeated(
    options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "", "search", *options, *QUERY.split()) == 2
    said = capsys.readouterr()
    assert "list of processes" in said.err and "gonorrhea" not in said.err + said.out


def test_a_dry_run_sends_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], ledger: Path
) -> None:
    with serving(lambda _: Reply(searxng(1))) as server:
        code = run(
            monkeypatch,
            f"{QUERY}\n",
            "search",
            "--engine",
            f"searxng+http://{server.host}",
            "-m",
            "Cover@50",
            "--dry-run",
        )
        assert code == 0 and not server.asked
    said = capsys.readouterr()
    assert "what would leave: 50 texts, your query among them" in said.out and "promised:" in said.out


def test_queries_of_a_pipe_are_one_session(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], ledger: Path
) -> None:
    with serving(lambda _: Reply(searxng(1, 2))) as server:
        options = ("--engine", f"searxng+http://{server.host}", "--gap", "0", "--depth", "2", "--json")
        assert run(monkeypatch, f"{QUERY}\n\n{QUERY}\n", "search", "-m", "StickyCover(members=5)@200", *options) == 0
        assert len(server.asked) == 5
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert len(first["texts"]) == 5 and not first["local"] and len(first["hits"]) == 2
    assert second["local"] and second["texts"] == [] and second["hits"] == first["hits"]
    assert run(monkeypatch, "", "ledger", "show", "--json") == 0
    (row,) = json.loads(capsys.readouterr().out)["topics"]
    assert row["releases"] == 1 and row["texts"] == 5 and row["kind"] == "group"


def test_a_limit_stops_a_search_until_it_is_told_to_go_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], ledger: Path
) -> None:
    assert run(monkeypatch, "", "ledger", "limit", "--groups", "0") == 0
    with serving(lambda _: Reply(searxng(1))) as server:
        command = ("search", "--engine", f"searxng+http://{server.host}", "-m", "Cover(members=2)@50", "--gap", "0")
        assert run(monkeypatch, f"{QUERY}\n", *command) == 2 and not server.asked
        assert "your limit is 0" in capsys.readouterr().err
        assert run(monkeypatch, f"{QUERY}\n", *command, "--over-limit") == 0 and len(server.asked) >= 2
    out = capsys.readouterr().out
    assert "what the engine saw: 2 texts" in out and "Result 1" in out
    assert run(monkeypatch, "", "ledger", "limit", "--remove") == 0
    assert run(monkeypatch, "", "ledger", "show") == 0
    assert "1 groups revealed" in capsys.readouterr().out


def test_what_is_forgotten_needs_a_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], ledger: Path
) -> None:
    assert run(monkeypatch, "", "ledger", "forget") == 2
    assert run(monkeypatch, "", "ledger", "forget", "--all") == 2
    assert run(monkeypatch, "", "ledger", "limit") == 2
    assert run(monkeypatch, "", "ledger", "forget", "--all", "--yes") == 0
    assert "rows deleted" in capsys.readouterr().err


def test_an_engine_that_fails_ends_with_2_and_its_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], ledger: Path
) -> None:
    with serving(lambda _: Reply(b"", 404)) as server:
        command = ("search", "--engine", f"searxng+http://{server.host}", "-m", "Random", "-n", "2", "--gap", "0")
        assert run(monkeypatch, f"{QUERY}\n", *command) == 2
    said = capsys.readouterr().err
    assert "SearXNG at" in said and "HTTP 404" in said and "gonorrhea" not in said


def test_conclusions_are_shown_with_a_log(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], ledger: Path, tmp_path: Path
) -> None:
    (tmp_path / "log.txt").write_text("how does a tumor grow\nincome tax\nflights to rome\n")
    with serving(lambda _: Reply(searxng(1))) as server:
        command = ("search", "--engine", f"searxng+http://{server.host}", "-m", "CMP@5", "-n", "2", "--gap", "0")
        assert run(monkeypatch, f"{QUERY}\n", *command, "--log", str(tmp_path / "log.txt")) == 0
    out = capsys.readouterr().out
    assert "what it could conclude, knowing 3 public queries, and yours:" in out and "  Words:\n" in out
    assert "flights to rome" in out and f"{QUERY}  <- your query" in out
