"""Encode once, keep on disk, survive a kill at any moment, share with other processes."""

import random
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from quipukit.encoders import store as module
from quipukit.encoders.store import EncodingStore, PrivateStore
from quipukit.errors import InputError, ResourceError
from tests.encoders.fakes import HashEncoder, texts

ROOT = Path(__file__).resolve().parent.parent.parent


def expected(asked, kind="query"):
    encoder = HashEncoder()
    return np.stack([encoder.vector(text, kind) for text in asked])


def test_only_what_is_missing_is_encoded(tmp_path):
    encoder = HashEncoder()
    store = EncodingStore(encoder, tmp_path)
    asked = [*texts(50), *texts(50)]
    assert np.array_equal(store.get(asked), expected(asked))
    assert sorted(encoder.encoded) == sorted(texts(50))
    assert np.array_equal(store.get(texts(60)[::-1]), expected(texts(60)[::-1]))
    assert sorted(encoder.encoded) == sorted(texts(60))
    fresh = HashEncoder()
    assert np.array_equal(EncodingStore(fresh, tmp_path).get(texts(60)), expected(texts(60)))
    assert fresh.encoded == []
    assert len(store) == 60


@pytest.mark.parametrize("private", [False, True])
def test_many_texts_are_encoded_some_after_the_other(tmp_path, monkeypatch, private):
    monkeypatch.setattr(module, "_AT_ONCE", 7)
    encoder, told = HashEncoder(), []
    store = EncodingStore(encoder, tmp_path / "shared")
    store.get(texts(5))
    if private:
        store = PrivateStore(store, tmp_path / "own")
    asked = [*texts(30), *texts(20)]
    found = store.ensure(asked, progress=lambda done, total: told.append((done, total)))
    assert np.array_equal(found[:], expected(asked))
    assert sorted(encoder.encoded) == sorted(texts(30))
    assert {total for _, total in told} == {50} and [done for done, _ in told] == sorted(done for done, _ in told)
    assert np.array_equal(store.ensure([])[:], np.empty((0, encoder.dimension)))


def test_a_file_that_is_deleted_between_two_parts_of_the_texts_is_made_again(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_AT_ONCE", 10)
    store = EncodingStore(HashEncoder(), tmp_path)
    deleted = []

    def delete(done, total):
        if done > 15 and not deleted:
            deleted.append(done)
            shutil.rmtree(store.folder)

    assert np.array_equal(store.ensure(texts(30), progress=delete)[:], expected(texts(30)))
    assert deleted and len(store) == 30


def test_case_spaces_and_kinds_are_the_models_business(tmp_path):
    store = EncodingStore(HashEncoder(), tmp_path)
    asked = ["Debt", "debt", " debt", "", "\ud800", "é", "e\u0301"]
    assert np.array_equal(store.get(asked), expected(asked))
    assert np.array_equal(store.get(asked, "document"), expected(asked, "document"))
    assert len(store) == 14


def test_kinds_of_equal_variant_share_their_vectors(tmp_path):
    class Symmetric(HashEncoder):
        def variant(self, kind):
            return ""

    encoder = Symmetric()
    store = EncodingStore(encoder, tmp_path)
    assert np.array_equal(store.get(["a"], "query"), store.get(["a"], "document"))
    assert encoder.encoded == ["a"]


def test_variants_and_texts_cannot_run_into_each_other(tmp_path):
    class Prefixed(HashEncoder):
        def variant(self, kind):
            return "a" if kind == "query" else "ab"

    store = EncodingStore(Prefixed(), tmp_path)
    assert store.keys(["bc"], "query").tolist() != store.keys(["c"], "document").tolist()


def test_encoders_do_not_share(tmp_path):
    EncodingStore(HashEncoder(), tmp_path).get(["a"])
    other = HashEncoder(tag="2")
    EncodingStore(other, tmp_path).get(["a"])
    assert other.encoded == ["a"]


def test_no_text_reaches_the_disk_and_nobody_else_may_read(tmp_path):
    store = EncodingStore(HashEncoder(), tmp_path)
    store.get(["unmistakable", *texts(20)])
    content = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert len(content) > 21 * 32
    assert b"unmistakable" not in content and b"private" not in content
    assert stat.S_IMODE(store.folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in store.folder.iterdir()} == {0o600}


def test_the_folder_follows_quipukit_home(tmp_path, monkeypatch):
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path / "home"))
    encoder = HashEncoder()
    assert EncodingStore(encoder).folder == tmp_path / "home" / "encodings" / encoder.fingerprint


def test_views_read_what_is_asked_for(tmp_path):
    asked = texts(100)
    view = EncodingStore(HashEncoder(), tmp_path).ensure(asked)
    whole = expected(asked)
    assert view.shape == (100, 8) and len(view) == 100
    assert np.array_equal(view[3:9], whole[3:9])
    assert np.array_equal(view[[7, 7, 1]], whole[[7, 7, 1]])
    assert np.array_equal(view[5], whole[5])
    assert np.array_equal(np.asarray(view), whole)
    rebuilt = np.full_like(whole, np.nan)
    for positions, rows in view.blocks(16):
        assert len(rows) <= 16 and (np.diff(view.rows[positions]) > 0).all()
        rebuilt[positions] = rows
    assert np.array_equal(rebuilt, whole)


def test_half_precision_gives_the_same_whether_read_or_just_made(tmp_path):
    first = EncodingStore(HashEncoder(), tmp_path, "float16").get(texts(20))
    again = EncodingStore(HashEncoder(), tmp_path, "float16").get(texts(20))
    assert first.dtype == np.float32
    assert np.array_equal(first, again)
    assert np.array_equal(first, expected(texts(20)).astype(np.float16).astype(np.float32))


def test_progress_counts_what_had_to_be_encoded(tmp_path):
    store = EncodingStore(HashEncoder(), tmp_path)
    store.get(texts(30))
    seen = []
    store.get(texts(100), progress=lambda done, of: seen.append((done, of)))
    assert seen[-1] == (70, 70)


def test_an_interrupted_run_keeps_what_was_ready(tmp_path):
    store = EncodingStore(HashEncoder(), tmp_path)

    def interrupt(done, of):
        if done >= 48:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.get(texts(208), progress=interrupt)
    encoder = HashEncoder()
    EncodingStore(encoder, tmp_path).get(texts(208))
    assert len(encoder.encoded) == 160


def test_damaged_rows_are_encoded_again(tmp_path):
    store = EncodingStore(HashEncoder(), tmp_path)
    store.get(texts(40))
    path = store.folder / "rows.float32"
    content = bytearray(path.read_bytes())
    content[5 * 32 + 3] ^= 1
    content[20 * 32 : 21 * 32] = bytes(32)
    path.write_bytes(content)
    encoder = HashEncoder()
    again = EncodingStore(encoder, tmp_path)
    assert np.array_equal(again.get(texts(40)), expected(texts(40)))
    assert len(encoder.encoded) == 2
    assert np.array_equal(EncodingStore(HashEncoder(), tmp_path).get(texts(40)), expected(texts(40)))


def test_a_folder_deleted_meanwhile_is_filled_again(tmp_path):
    import shutil

    store = EncodingStore(HashEncoder(), tmp_path)
    store.get(texts(40))
    shutil.rmtree(store.folder)
    assert np.array_equal(store.get(texts(50)), expected(texts(50)))


def test_what_is_no_text_is_refused(tmp_path):
    with pytest.raises(InputError, match="text 1 is not a text"):
        EncodingStore(HashEncoder(), tmp_path).get(["a", 3])


def test_a_folder_that_cannot_be_made_is_told_with_the_fix(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ResourceError, match="set QUIPUKIT_HOME to another folder"):
        EncodingStore(HashEncoder(), tmp_path / "file").get(["a"])


def test_a_full_disk_is_told_with_the_fix(tmp_path, monkeypatch):
    import errno

    from quipukit.encoders import rowfile

    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    store = EncodingStore(HashEncoder(), tmp_path)
    store.get(texts(10))
    with monkeypatch.context() as patch:
        patch.setattr(rowfile.os, "fsync", full)
        with pytest.raises(ResourceError, match="No space left on device"):
            store.get(texts(20))
    assert np.array_equal(store.get(texts(20)), expected(texts(20)))


# --- several at once --------------------------------------------------------------------------------------------


def child(folder, count, pause):
    code = f"from tests.encoders.fakes import fill; print('begin', flush=True); fill({str(folder)!r}, {count}, {pause})"
    return subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finish(process):
    _, told = process.communicate(timeout=120)
    assert process.returncode == 0, told.decode()


@pytest.mark.serial
def test_killed_at_any_moment_it_holds_no_wrong_row_and_goes_on(tmp_path):
    wanted, chance, counts = texts(12_000), random.Random(11), [0]
    reference = HashEncoder()
    while len(counts) <= 2 or not counts[-1]:
        process = child(tmp_path, len(wanted), 0.002)
        process.stdout.readline()
        time.sleep(chance.uniform(0.0, 0.25))
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        store = EncodingStore(HashEncoder(), tmp_path)
        rows = store._find(store.keys(wanted, "document"))
        there = np.flatnonzero(rows >= 0)
        for place, row in zip(there, store.view(rows[there])[:], strict=True):
            assert np.array_equal(row, reference.vector(wanted[place], "document"))
        counts.append(len(there))
    assert counts == sorted(counts)
    assert counts[-1] < len(wanted), "it was never interrupted"
    encoder = HashEncoder()
    resumed = EncodingStore(encoder, tmp_path).get(wanted, "document")
    assert len(encoder.encoded) == len(wanted) - counts[-1]
    for place in range(0, len(wanted), 7):
        assert np.array_equal(resumed[place], reference.vector(wanted[place], "document"))


def test_two_processes_share_the_work_and_corrupt_nothing(tmp_path):
    processes = [child(tmp_path, 1500, 0.003), child(tmp_path, 1500, 0.003)]
    for process in processes:
        finish(process)
    encoder = HashEncoder()
    store = EncodingStore(encoder, tmp_path)
    assert np.array_equal(store.get(texts(1500), "document"), expected(texts(1500), "document"))
    assert encoder.encoded == []
    assert len(store) == 1500  # the second waited and found everything


@pytest.mark.serial
def test_small_requests_do_not_wait_for_a_long_one(tmp_path):
    slow = EncodingStore(HashEncoder(pause=0.05), tmp_path)
    thread = threading.Thread(target=slow.ensure, args=(texts(640),))
    thread.start()
    try:
        time.sleep(0.1)
        start = time.monotonic()
        EncodingStore(HashEncoder(), tmp_path).get(["something else"])
        assert time.monotonic() - start < 1.0
        assert thread.is_alive()
    finally:
        thread.join()
    assert np.array_equal(slow.get(texts(640)), expected(texts(640)))


def test_threads_may_share_a_store(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_SAVE_ROWS", 16)
    store = EncodingStore(HashEncoder(), tmp_path)
    results = {}
    threads = [
        threading.Thread(target=lambda part=part: results.update({part: store.get(texts(100 + 50 * part))}))
        for part in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for part, rows in results.items():
        assert np.array_equal(rows, expected(texts(100 + 50 * part)))
    assert len(store) == 250
