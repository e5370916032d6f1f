"""Single documents of a large file: read where they stand; nothing is lost when the file or the disk changes."""

import gzip
import json
import shutil
import signal
import subprocess
import sys
import time
from collections import namedtuple
from pathlib import Path

import pytest

from quipukit.collections import files, offsets
from quipukit.collections.files import Folder
from quipukit.errors import FileError, ResourceError
from quipukit.storage import cache_home

DOCS = {f"d{number}": f"text {number} größe {'x' * (number % 7)}" for number in range(50)}
TSV = "".join(f"{docno}\t{text}\n" for docno, text in DOCS.items())
JSONL = "".join(json.dumps({"docno": docno, "text": text}) + "\n" for docno, text in DOCS.items())


@pytest.fixture(autouse=True)
def large(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let every file count as large."""
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(files, "KEEP_CHARACTERS", 0)


def written(path: Path, content: str | bytes, name: str = "docs.tsv") -> Path:
    raw = content.encode() if isinstance(content, str) else content
    (path / name).write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    return path


def kept() -> list[str]:
    place = cache_home() / "texts"
    return sorted(one.name for one in place.iterdir()) if place.is_dir() else []


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("docs.tsv", TSV),
        ("docs.tsv", "\ufeff" + TSV),
        ("docs.tsv", "docno\ttext\n\n" + TSV),
        ("docs.tsv", TSV.removesuffix("\n")),
        ("docs.tsv", TSV.replace("\n", "\r\n")),
        ("docs.tsv", TSV.replace("\n", "\r")),
        ("docs.tsv.gz", TSV),
        ("docs.tsv.gz", "\ufeff" + TSV.replace("\n", "\r\n")),
        ("docs.jsonl", JSONL),
        ("docs.jsonl.gz", JSONL),
    ],
)
def test_any_document_is_read_where_it_stands(tmp_path: Path, name: str, content: str) -> None:
    collection = Folder(written(tmp_path, content, name))
    assert collection.texts([*reversed(DOCS), "nowhere", "d1"]) == DOCS
    assert list(collection.texts(["d9", "d2", "d9"])) == ["d9", "d2"]
    assert not collection.texts([])


def test_the_index_is_built_once_and_the_file_is_not_read_through_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Folder(written(tmp_path, TSV)).texts(["d1"])
    later = Folder(tmp_path)
    monkeypatch.setattr(files, "_parsed_lines", lambda *_: pytest.fail("the file was read through"))
    assert later.texts(["d7"]) == {"d7": DOCS["d7"]}


def test_docnos_that_share_a_hash_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offsets, "_hash", len)
    assert Folder(written(tmp_path, TSV)).texts([*DOCS, "d99"]) == DOCS


def test_a_passage_of_ten_megabytes(tmp_path: Path) -> None:
    long = "word " * 2_000_000
    collection = Folder(written(tmp_path, f"a\tshort\nlong\t{long}\nz\tlast\n"))
    assert collection.texts(["z", "long"]) == {"z": "last", "long": long}


def test_docnos_that_come_twice_are_refused_before_anything_is_built(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"come more than once: 1 \(first in lines 1 and 51\)"):
        Folder(written(tmp_path, TSV + "d0\tagain\n")).texts(["d0"])
    assert not kept()


@pytest.mark.parametrize("name", ["docs.tsv", "docs.tsv.gz"])
def test_documents_that_change_between_runs_have_an_index_of_their_own(tmp_path: Path, name: str) -> None:
    assert Folder(written(tmp_path, TSV, name)).texts(["d3"])
    collection = Folder(written(tmp_path, "d3\tanother\n" + TSV.replace("d3\t", "d300\t"), name))
    assert collection.texts(["d3", "d300"]) == {"d3": "another", "d300": DOCS["d3"]}
    written(tmp_path, "d4\tone more time\n", name)  # under the same object
    assert collection.texts(["d3", "d4"]) == {"d4": "one more time"}
    assert len(kept()) == 3


def test_a_file_that_changes_while_it_is_read_gives_no_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collection = Folder(written(tmp_path, TSV))
    own = offsets.Offsets.texts

    def changed(self: offsets.Offsets, *given: object) -> object:
        written(tmp_path, TSV.replace("\t", "\tlonger "))
        return own(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(offsets.Offsets, "texts", changed)
    with pytest.raises(FileError, match="changed while it was read; run the command again"):
        collection.texts(["d1", "d49"])


@pytest.mark.parametrize("name", ["docs.tsv", "docs.tsv.gz"])
def test_room_on_the_disk_is_checked_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    collection = Folder(written(tmp_path, TSV, name))
    usage = namedtuple("usage", "total used free")
    # 20 bytes for each document; of a compressed file its lines too.
    needed = 20 * len(DOCS) + (len(TSV.encode()) if name.endswith("gz") else 0)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(0, 0, needed - 1))
    with pytest.raises(ResourceError, match=r"GB are needed on the disk of .* free some space, or set QUIPUKIT_HOME"):
        collection.texts(["d1"])
    assert not kept()
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(0, 0, needed))
    assert collection.texts(["d1"]) == {"d1": DOCS["d1"]}


@pytest.mark.parametrize("name", ["docs.tsv", "docs.tsv.gz"])
def test_a_damaged_index_is_built_again(tmp_path: Path, name: str) -> None:
    Folder(written(tmp_path, TSV, name)).texts(["d1"])
    for path in (cache_home() / "texts").rglob("*.npy"):
        path.write_bytes(path.read_bytes()[:-1] + b"!")
        assert Folder(tmp_path).texts(list(DOCS)) == DOCS
    assert len(kept()) == 1


@pytest.mark.heavy
def test_a_build_that_is_killed_is_begun_again(tmp_path: Path) -> None:
    written(tmp_path, TSV, "docs.tsv.gz")
    script = """
import sys, time
from quipukit.collections import files, offsets
files.KEEP_CHARACTERS = 0
write = offsets.write_folder
def stopped(*given):
    print("ready", flush=True)
    time.sleep(60)
offsets.write_folder = stopped
files.Folder(sys.argv[1]).texts(["d1"])
"""
    with subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGKILL)
    (draft,) = kept()
    assert draft.endswith("-draft")
    start = time.monotonic()
    assert Folder(tmp_path).texts(list(DOCS)) == DOCS  # and waits for no lock
    assert time.monotonic() - start < 30
    assert kept() == [draft.removesuffix("-draft")]
