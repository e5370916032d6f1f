"""The ledger: what is counted, what it refuses, and what happens to its file."""

import contextlib
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from quipukit.errors import FileError, InputError
from quipukit.search.ledger import IN_MEMORY, Ledger, Release

NOISE = Release("engine", "topic", "query", "CMP@10 x 20", "noise", 20, 200.0)
GROUP = Release("engine", "topic", "query", "Cover@50", "group", 50)


def release(like: Release, **changes: object) -> Release:
    return Release(**{**vars(like), **changes})  # type: ignore[arg-type]


def test_epsilon_adds_up_per_topic_and_repetitions_add_none() -> None:
    ledger = Ledger(IN_MEMORY)
    ledger.record(NOISE)
    ledger.record(release(NOISE, query="other"))
    ledger.record(release(NOISE, repeated=True))
    ledger.record(release(NOISE, topic="elsewhere", epsilon=5.0))
    (other, row) = sorted(ledger.rows(), key=lambda row: row.topic)
    assert (row.releases, row.repetitions, row.texts, row.epsilon) == (2, 1, 60, 400.0)
    assert ledger.spent("engine", "topic") == 400 and other.epsilon == 5
    assert ledger.times("engine", "query") == 3 and ledger.times("another", "query") == 0


def test_groups_are_counted_once_and_have_no_epsilon() -> None:
    ledger = Ledger(IN_MEMORY)
    ledger.record(release(GROUP, original=True))
    ledger.record(release(GROUP, repeated=True))
    ledger.record(release(GROUP, topic="second"))
    assert ledger.groups("engine") == 2 and ledger.groups("another") == 0
    first = next(row for row in ledger.rows() if row.topic == "topic")
    assert (first.releases, first.repetitions, first.originals, first.epsilon) == (1, 1, 1, None)


def test_what_nothing_bounds_is_counted_as_such() -> None:
    ledger = Ledger(IN_MEMORY)
    ledger.record(release(NOISE, epsilon=None, setting="AEA@3 x 20"))
    assert ledger.rows()[0].unbounded == 1


@pytest.mark.parametrize(
    ("kind", "value", "like", "word"),
    [
        ("epsilon", 399, NOISE, "400"),
        ("groups", 0, release(GROUP, topic="new"), "topic number 1"),
        ("repetitions", 0, NOISE, "repeats"),
    ],
)
def test_a_limit_is_told_before_it_is_crossed(kind: str, value: float, like: Release, word: str) -> None:
    ledger = Ledger(IN_MEMORY)
    ledger.record(NOISE)
    assert ledger.crossed(like) == []
    ledger.set_limit(kind, value)
    (said,) = ledger.crossed(like)
    assert word in said
    ledger.set_limit(kind, 1000, "engine")  # that of the engine comes first
    assert ledger.crossed(like) == []
    ledger.set_limit(kind, None, "engine")
    assert ledger.crossed(like) == [said]


def test_a_mechanism_without_a_bound_crosses_any_limit_of_epsilon() -> None:
    ledger = Ledger(IN_MEMORY)
    ledger.set_limit("epsilon", 1e9)
    assert "No epsilon" in ledger.crossed(release(NOISE, epsilon=None))[0]


@pytest.mark.parametrize(("kind", "value"), [("budget", 1), ("epsilon", -1), ("epsilon", float("nan"))])
def test_what_is_no_limit_is_refused(kind: str, value: float) -> None:
    with pytest.raises(InputError, match="limit"):
        Ledger(IN_MEMORY).set_limit(kind, value)


def test_variants_are_remembered_and_the_first_process_wins(tmp_path: Path) -> None:
    first, second = Ledger(tmp_path / "ledger"), Ledger(tmp_path / "ledger")
    assert first.variants("name") is None
    assert first.record(NOISE, "name", ["a", "b"]) == ("a", "b")
    assert second.record(NOISE, "name", ["c", "d"]) == ("a", "b")
    assert second.variants("name") == ("a", "b")


def test_the_file_is_its_owners_alone_and_keeps_queries_only_if_asked_to(tmp_path: Path) -> None:
    for keep in (False, True):
        path = tmp_path / str(keep) / "ledger.sqlite"
        with Ledger(path, keep_queries=keep) as ledger:
            ledger.record(NOISE, text="a secret wish")
            for file in path.parent.iterdir():
                assert stat.S_IMODE(file.stat().st_mode) == 0o600
            assert (b"secret wish" in b"".join(file.read_bytes() for file in path.parent.iterdir())) is keep
            assert [text for *_, text in ledger.queries()] == (["a secret wish"] if keep else [])
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_forgetting_leaves_no_trace_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    with Ledger(path, keep_queries=True) as ledger:
        ledger.record(NOISE, "name", ["a variant of it"], text="a secret wish")
        ledger.record(release(NOISE, engine="other"))
        ledger.set_limit("groups", 3)
        assert ledger.forget("engine") == 3 and [row.engine for row in ledger.rows()] == ["other"]
        ledger.forget()
        assert ledger.rows() == [] and ledger.variants("name") is None and ledger.limits()
    content = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"secret wish" not in content and b"a variant" not in content


@pytest.mark.parametrize("content", [b"not a database at all" * 100, b"SQLite format 3\0" + b"\xff" * 4000])
def test_a_damaged_file_is_named_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "ledger"
    path.write_bytes(content)
    with pytest.raises(FileError, match="damaged") as fault:
        Ledger(path)
    assert str(path) in str(fault.value) and path.read_bytes() == content


def test_a_file_that_is_damaged_in_the_middle_raises_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    with Ledger(path) as ledger:
        for number in range(400):
            ledger.record(release(NOISE, topic=f"topic {number}"))
    damaged = bytearray(path.read_bytes())
    damaged[8192:40960] = b"\xee" * (40960 - 8192)
    path.write_bytes(damaged)
    with pytest.raises(FileError, match="damaged"), Ledger(path) as ledger:
        ledger.rows()
    assert path.read_bytes()[8192:40960] == damaged[8192:40960]


def test_another_secret_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Ledger(tmp_path / "ledger").close()
    monkeypatch.setenv("QUIPUKIT_SECRET_FILE", str(tmp_path / "other.key"))
    with pytest.raises(FileError, match="secret"):
        Ledger(tmp_path / "ledger")


def test_another_version_is_noticed(tmp_path: Path) -> None:
    Ledger(tmp_path / "ledger").close()
    with contextlib.closing(sqlite3.connect(tmp_path / "ledger")) as base:
        base.execute("UPDATE about SET value = '99' WHERE name = 'version'")
        base.commit()
    with pytest.raises(FileError, match="version"):
        Ledger(tmp_path / "ledger")


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="ledger"):
        Ledger(tmp_path / "file" / "ledger")


FULL = """
import resource, signal, sys
from quipukit.errors import FileError
from quipukit.search.ledger import Ledger, Release
ledger = Ledger(sys.argv[1])
release = Release("engine", "topic", "query", "CMP@10 x 20", "noise", 20, 200.0)
ledger.record(release)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
counted = 1
try:
    while counted < 10_000:
        ledger.record(release, f"name {counted}", ["x" * 2000])
        counted += 1
except FileError as fault:
    print(counted, fault)
"""


def test_a_full_disk_is_told_and_what_was_counted_stays(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path / "ledger")], capture_output=True, text=True, timeout=120
    )
    assert not done.stderr
    counted, _, words = done.stdout.partition(" ")
    assert "disk full" in words and "Nothing was sent" in words
    with Ledger(tmp_path / "ledger") as ledger:
        assert ledger.rows()[0].releases == int(counted) > 1


COUNT = """
import sys
from quipukit.search.ledger import Ledger, Release
ledger = Ledger(sys.argv[1])
for number in range(100):
    ledger.record(Release("engine", "topic", "query", "CMP@10 x 20", "noise", 20, 1.0), f"{number}", [sys.argv[2]])
"""


def test_two_processes_and_several_threads_lose_no_count(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    others = [subprocess.Popen([sys.executable, "-c", COUNT, str(path), name]) for name in ("first", "second")]
    with Ledger(path) as ledger:
        threads = [
            threading.Thread(target=lambda: [ledger.record(release(NOISE, epsilon=1.0)) for _ in range(50)])
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [other.wait(120) for other in others] == [0, 0]
        assert ledger.rows()[0].releases == 400 and ledger.spent("engine", "topic") == 400


def test_a_process_that_is_killed_leaves_a_sound_file(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    writer = subprocess.Popen([sys.executable, "-c", COUNT.replace("range(100)", "range(10**9)"), str(path), "killed"])
    try:
        with Ledger(path) as ledger:
            while not ledger.rows():
                pass
            writer.kill()
            writer.wait()
            counted = ledger.rows()[0].releases
            ledger.record(release(NOISE, epsilon=1.0))
            assert ledger.rows()[0].releases == counted + 1
        with contextlib.closing(sqlite3.connect(path)) as base:
            assert base.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    finally:
        writer.kill()
        writer.wait()


def test_the_place_can_be_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUIPUKIT_LEDGER", str(tmp_path / "mine"))
    Ledger().close()
    assert (tmp_path / "mine").exists()
