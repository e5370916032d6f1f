"""Building an index on disk: in bounded memory, taken up after a kill, with clear words for what cannot be indexed.

Runs (`quipukit.bm25.runs`) and the loops that merge them (`quipukit.bm25.tables`) are tested through what is built;
that it is the index in memory to the last bit, in test_mapped.py.
"""

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest

from quipukit.bm25.build import Work, build
from quipukit.bm25.formula import Settings
from quipukit.bm25.mapped import MappedIndex
from quipukit.bm25.runs import ChunkSize
from quipukit.errors import InputError, ResourceError
from tests.examples import slowly

COUNT, CHUNK = 60, 13
WORDS = ["the", "waves", "wave", *(f"w{number}" for number in range(40))]


def documents(changed=()):
    rng = np.random.default_rng(8)
    for number in range(COUNT):
        text = " ".join(rng.choice(WORDS, rng.integers(0, 12)))
        yield str(number * 7 % COUNT), f"sea {text}" if number in changed else text


def work(place, progress=None, **size):
    return Work(
        place / "index", place / "unfinished", "texts", COUNT, progress, ChunkSize(**{"documents": CHUNK, **size})
    )


def contents(place):
    return {path.name: path.read_bytes() for path in sorted((place / "index").glob("*.npy"))}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    place = tmp_path_factory.mktemp("whole")
    build(documents(), Settings(), work(place))
    return contents(place)


def killed(place, after=None, at=None):
    """Build in a process that kills itself, after so many documents, or once so many percent are done."""
    code = f"""
import os, signal
from pathlib import Path
from quipukit.bm25.build import build
from quipukit.bm25.formula import Settings
from tests.bm25.test_build import documents, work

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def some():
    for number, document in enumerate(documents()):
        if number == {after}:
            die()
        yield document

def progress(done, total):
    if {at} is not None and done >= total * {at} / 100:
        die()

build(some(), Settings(), work(Path({str(place)!r}), progress))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert not (place / "index").exists()


def runs(place):
    """Return the finished runs, and when each was written."""
    return {path.parent.name: path.stat().st_mtime_ns for path in (place / "unfinished").glob("run-*/meta.json")}


@pytest.mark.heavy
def test_a_killed_build_is_taken_up_where_it_was(tmp_path, whole):
    killed(tmp_path, after=5)
    assert runs(tmp_path) == {}
    killed(tmp_path, after=3 * CHUNK)
    first = runs(tmp_path)
    assert 1 <= len(first) <= 3  # the last one may have been in the making
    killed(tmp_path, after=COUNT - 1)
    second = runs(tmp_path)
    assert len(second) >= 3 and first.items() <= second.items()
    killed(tmp_path, at=99)  # all is merged, but not yet in its place
    third = runs(tmp_path)
    assert len(third) == 5 and second.items() <= third.items()
    build(documents(), Settings(), work(tmp_path))
    assert contents(tmp_path) == whole
    assert not (tmp_path / "unfinished").exists()


@pytest.mark.heavy
@pytest.mark.parametrize("change", ["damaged", "documents", *slowly("missing", "settings")])
def test_a_kept_run_is_used_only_if_it_is_that_of_the_same_documents(tmp_path, whole, change):
    killed(tmp_path, at=99)
    before = runs(tmp_path)
    run = tmp_path / "unfinished" / "run-00002"
    if change == "damaged":
        content = bytearray((run / "documents.npy").read_bytes())
        content[-1] ^= 1
        (run / "documents.npy").write_bytes(content)
    elif change == "missing":
        (run / "lengths.npy").unlink()
    settings = Settings(stemmed=False, skip_stop_words=False) if change == "settings" else Settings()
    changed = (2 * CHUNK + 1,) if change == "documents" else ()
    kept = {}

    def progress(done, total):
        kept.update({name: before[name] == number for name, number in runs(tmp_path).items()} if done < total else {})

    build(documents(changed), settings, work(tmp_path, progress))
    assert kept == {f"run-0000{number}": number != 2 and change != "settings" for number in range(5)}
    other = tmp_path / "other"
    build(documents(changed), settings, work(other))
    assert contents(tmp_path) == contents(other)
    assert (contents(tmp_path) == whole) == (change in ("damaged", "missing"))


@pytest.mark.parametrize("second", [3, CHUNK + 3, COUNT - 1])
def test_a_docno_that_comes_twice_is_named_by_its_positions(tmp_path, second):
    pairs = list(documents())
    pairs[second] = (pairs[2][0], "another text")
    with pytest.raises(InputError, match=rf"'texts' has docnos .* 1 \(first: its documents 3 and {second + 1}\); keep"):
        build(pairs, Settings(), work(tmp_path))
    assert not (tmp_path / "unfinished").exists() and not (tmp_path / "index").exists()


def test_the_first_docno_that_comes_again_is_named(tmp_path):
    pairs = [("z", "sea"), ("b", "sea"), ("a", "sea"), ("b", "sea"), ("a", "sea"), ("z", "sea")]
    for size in (2, 100):
        with pytest.raises(InputError, match=r"more than once: 3 \(first: its documents 2 and 4\)"):
            build(pairs, Settings(), work(tmp_path, documents=size))


@pytest.mark.heavy
def test_a_passage_of_ten_megabytes_is_indexed_like_any_other(tmp_path):
    long = "sea wolf " * 1_200_000 + "needle"
    pairs = [("a", "sea"), ("long", long), ("b", "needle")]
    build(pairs, Settings(), work(tmp_path, characters=10_000))
    index = MappedIndex.open(tmp_path / "index")
    rows = index.terms.find(["needl", "sea", "wolf"])
    assert (np.diff(index.starts)[rows] == [2, 2, 1]).all() and index.frequencies.max() == 1_200_000


def test_a_full_disk_is_seen_before_it_is_full(tmp_path, monkeypatch, whole):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 10**9 - 9000, 9000))
    with pytest.raises(
        ResourceError, match=r"needs about 0\.0 GB more .* has 0\.0 GB free; .* QUIPUKIT_HOME .* is kept"
    ):
        build(documents(), Settings(), work(tmp_path))
    assert runs(tmp_path) == {}
    # With room for the first run and what is then expected, but less later on: what is done is kept.
    free = iter([10**9, 10**9, 100])
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 0, next(free)))
    with pytest.raises(ResourceError):
        build(documents(), Settings(), work(tmp_path))
    assert len(runs(tmp_path)) == 2
    monkeypatch.undo()
    build(documents(), Settings(), work(tmp_path))
    assert contents(tmp_path) == whole


def test_a_disk_that_becomes_full_is_told_in_clear_words(tmp_path, whole):
    def some():
        yield from list(documents())[: 3 * CHUNK]
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(ResourceError, match=r"disk became full while the index of 'texts' .* is kept"):
        build(some(), Settings(), work(tmp_path))
    assert len(runs(tmp_path)) >= 2
    build(documents(), Settings(), work(tmp_path))
    assert contents(tmp_path) == whole


@pytest.mark.parametrize("size", [CHUNK, 1000])
def test_progress_ascends_to_the_whole(tmp_path, size):
    seen = []
    build(documents(), Settings(), work(tmp_path, lambda done, total: seen.append(done / total), documents=size))
    assert seen == sorted(seen) and seen[0] == 0 and seen[-1] == 1 and len(seen) >= 3


def test_documents_without_any_word_are_indexed(tmp_path):
    build([("a", ""), ("b", "the"), ("c", "?")], Settings(), work(tmp_path, documents=1))
    index = MappedIndex.open(tmp_path / "index")
    assert len(index) == 3 and len(index.terms) == 0 and index.docnos.take(np.arange(3)) == ["a", "b", "c"]


def test_what_nobody_takes_up_is_removed_after_a_month(tmp_path):
    left = {name: tmp_path / "unfinished" / name for name in ("old", "new")}
    for place in left.values():
        (place / "run-00000").mkdir(parents=True)
    long_ago = time.time() - 31 * 24 * 3600
    os.utime(left["old"], (long_ago, long_ago))
    build(documents(), Settings(), Work(tmp_path / "index", tmp_path / "unfinished" / "mine", "texts", COUNT))
    assert [path.name for path in (tmp_path / "unfinished").iterdir()] == ["new"]
