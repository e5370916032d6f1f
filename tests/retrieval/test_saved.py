"""Rankings on disk: nothing is lost, nothing is asked twice, whatever moment the process dies at."""

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from quipukit.errors import EngineError, FileError, InputError
from quipukit.retrieval.base import Ranking, Retriever
from quipukit.retrieval.saved import Saved

QUERIES = [f"query {number}" for number in range(20)]


def answer(query: str, depth: int) -> Ranking:
    """Documents and scores that depend on the query, with digits that a careless file would lose."""
    rng = np.random.default_rng([depth, *query.encode("utf-8", "surrogatepass")])
    return Ranking([f"é{number}" for number in rng.integers(0, 10**6, depth)], np.sort(rng.random(depth))[::-1])


class Plain(Retriever):
    """Answers everything at once, and remembers what it was asked."""

    name = "plain"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def search(self, queries: Sequence[str], depth: int) -> list[Ranking]:
        self.asked += queries
        return [answer(query, depth) for query in queries]


class Stream(Plain):
    """Answers one by one, in reverse order; dies after some, if told to."""

    identity = "stream+http://host"

    def __init__(self, dies_after: int | None = None, pause: float = 0.0) -> None:
        super().__init__()
        self.dies_after, self.pause = dies_after, pause

    def search_iter(self, queries: Sequence[str], depth: int) -> Iterator[tuple[int, Ranking]]:
        for done, number in enumerate(reversed(range(len(queries)))):
            if done == self.dies_after:
                raise EngineError("Stream at host", "gone", (number,), done, len(queries))
            time.sleep(self.pause)
            self.asked.append(queries[number])
            yield number, answer(queries[number], depth)


def same(results: list[Ranking], queries: Sequence[str], depth: int) -> bool:
    expected = [answer(query, depth) for query in queries]
    return all(
        a.docnos == b.docnos and a.scores.dtype == np.float64 and a.scores.tolist() == b.scores.tolist()
        for a, b in zip(results, expected, strict=True)
    )


def test_the_second_time_nothing_is_asked(tmp_path: Path) -> None:
    first = Saved(Stream(), tmp_path)
    assert same(first.search(QUERIES, 7), QUERIES, 7)
    for again in (first, Saved(Stream(), tmp_path)):
        asked = len(again.retriever.asked)
        assert same(again.search(QUERIES[::-1], 7), QUERIES[::-1], 7)
        assert len(again.retriever.asked) == asked


def test_depth_text_and_engine_make_a_difference(tmp_path: Path) -> None:
    saved = Saved(Stream(), tmp_path)
    saved.search(["a"], 7)
    assert same(saved.search(["a"], 5), ["a"], 5)
    saved.search(["a ", "A", "ａ"], 7)
    assert saved.retriever.asked == ["a", "a", "ａ", "A", "a "]
    other = Stream()
    other.identity = "stream+http://elsewhere"
    Saved(other, tmp_path).search(["a"], 7)
    assert other.asked == ["a"]


def test_equal_queries_of_a_batch_are_asked_once(tmp_path: Path) -> None:
    saved = Saved(Stream(), tmp_path)
    queries = ["a", "b", "a", "", "a"]
    told: list[tuple[int, int]] = []
    assert same(saved.search(queries, 3, lambda *counts: told.append(counts)), queries, 3)
    assert sorted(saved.retriever.asked) == ["", "a", "b"]
    assert told == [(done, 5) for done in range(1, 6)]


def test_an_engine_that_dies_and_one_that_resumes(tmp_path: Path) -> None:
    Saved(Stream(), tmp_path).search([QUERIES[19], QUERIES[18]], 7)
    dying = Stream(dies_after=5)
    found: dict[int, Ranking] = {}
    with pytest.raises(EngineError) as caught:
        found.update(Saved(dying, tmp_path).search_iter(QUERIES, 7))
    # Numbers are those of the whole batch, not of the part that was asked.
    assert (caught.value.failed, caught.value.done, caught.value.total) == ((12,), 7, 20)
    assert str(caught.value) == "Stream at host, query 13 of 20: gone. Answered: 7 of 20."
    assert caught.value.__context__ is None
    healthy = Stream()
    assert same(Saved(healthy, tmp_path).search(QUERIES, 7), QUERIES, 7)
    assert sorted(healthy.asked + dying.asked) == sorted(QUERIES[:18])


def test_a_ranking_is_on_disk_before_it_is_handed_out(tmp_path: Path) -> None:
    for done, _ in enumerate(Saved(Stream(), tmp_path).search_iter(QUERIES, 7), 1):
        reader = Saved(Stream(dies_after=0), tmp_path)
        assert same(reader.search(QUERIES[20 - done :], 7), QUERIES[20 - done :], 7)


def test_a_retriever_that_cannot_stream_needs_an_identity(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="plain, pass identity="):
        Saved(Plain(), tmp_path)
    queries = [str(number) for number in range(150)]
    saved = Saved(Plain(), tmp_path, identity="plain over collection 53aa")
    assert same(saved.search(queries, 3), queries, 3)
    assert same(Saved(Stream(dies_after=0), tmp_path, identity=saved.identity).search(queries, 3), queries, 3)


def test_no_text_of_a_query_is_stored_and_others_cannot_read_the_file(tmp_path: Path) -> None:
    saved = Saved(Stream(), tmp_path / "deep" / "folder")
    saved.search(["zebrafinch haemorrhoids"], 7)
    assert b"zebra" not in saved.path.read_bytes() and b"haemo" not in saved.path.read_bytes()
    assert stat.S_IMODE(saved.path.stat().st_mode) == 0o600


def test_any_text_can_be_a_query(tmp_path: Path) -> None:
    queries = ["", "\ud800", "\x00", 'say "no"\n', "é", "e\u0301"]
    saved = Saved(Stream(), tmp_path)
    saved.search(queries, 2)
    assert same(saved.search(queries, 2), queries, 2)
    assert len(saved.retriever.asked) == 6


def test_a_file_cut_at_any_byte_loses_at_most_the_cut_line(tmp_path: Path) -> None:
    whole = Saved(Stream(), tmp_path / "whole")
    whole.search(QUERIES[:2], 1)
    content = whole.path.read_bytes()
    for cut in range(len(content)):
        folder = tmp_path / str(cut)
        folder.mkdir()
        (folder / whole.path.name).write_bytes(content[:cut])
        complete = content[:cut].count(b"\n")
        for missing in (2 - complete, 0):  # and what is appended after the cut is found again
            saved = Saved(Stream(), folder)
            assert same(saved.search(QUERIES[:2], 1), QUERIES[:2], 1)
            assert len(saved.retriever.asked) == missing


def test_a_damaged_line_is_asked_again(tmp_path: Path) -> None:
    saved = Saved(Stream(), tmp_path)
    saved.search(QUERIES[:3], 2)
    content = bytearray(saved.path.read_bytes())
    content[100] ^= 1
    saved.path.write_bytes(content)
    again = Saved(Stream(), tmp_path)
    assert same(again.search(QUERIES[:3], 2), QUERIES[:3], 2)
    assert again.retriever.asked == [QUERIES[2]]


def test_a_file_that_vanishes_is_begun_anew(tmp_path: Path) -> None:
    saved = Saved(Stream(), tmp_path)
    saved.search(QUERIES, 2)
    saved.path.unlink()
    assert same(saved.search(QUERIES, 2), QUERIES, 2)
    assert len(saved.retriever.asked) == 40


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match="choose another folder"):
        Saved(Stream(), tmp_path / "file" / "folder").search(["x"], 1)


@pytest.mark.serial
def test_kill_nine(tmp_path: Path) -> None:
    """What a process had written before it was killed is there for the next one."""
    queries = [f"query {number}" for number in range(400)]
    code = (
        "import sys; from pathlib import Path; from tests.retrieval.test_saved import Saved, Stream\n"
        "Saved(Stream(pause=0.001), Path(sys.argv[1])).search([f'query {n}' for n in range(400)], 100)"
    )
    path = Saved(Stream(), tmp_path).path
    for lines in (20, 280):
        with subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], cwd=Path(__file__).parents[2]) as process:
            try:
                deadline = time.monotonic() + 60
                while not path.exists() or path.read_bytes().count(b"\n") < lines:
                    assert process.poll() is None and time.monotonic() < deadline
                    time.sleep(0.002)
            finally:
                os.kill(process.pid, signal.SIGKILL)
        assert process.returncode == -signal.SIGKILL
    kept = path.read_bytes().count(b"\n")
    assert 280 <= kept < 400
    last = Saved(Stream(), tmp_path)
    assert same(last.search(queries, 100), queries, 100)
    # A line that a kill cut in two, which hardly ever happens, ends in a line break too.
    assert 400 - kept <= len(last.retriever.asked) <= 400 - kept + 2
