"""Building an index on disk: runs of sorted postings, one for each chunk of documents, are merged term by term."""

import errno
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quipukit.bm25.files import Array, ArrayFile, replacing, write_folder
from quipukit.bm25.formula import Settings, idf, mean_length, norms
from quipukit.bm25.index import WordStream
from quipukit.bm25.runs import ChunkSize, Document, DuplicateDocnosError, Run, chunks, source_hash, words_of
from quipukit.bm25.strings import StringTable, merged
from quipukit.bm25.tables import encode, scatter
from quipukit.errors import InputError, ResourceError
from quipukit.progress import Progress
from quipukit.storage import make_folder

Rows = NDArray[np.int64]

# Postings that are merged at a time: some 20 bytes of memory each. The postings of one term are never divided.
_GROUP = 16_000_000
_REPORT_EVERY = 5_000
_FORGOTTEN = 30 * 24 * 3600
# What reading and dividing takes of the whole, in percent; the rest is merging.
_READING = 85


@dataclass(frozen=True)
class Work:
    """Where an index goes, and where its runs are kept until it is complete; what to call the collection.

    ``expected`` is the number of documents, for progress, and to see early whether the disk has room for all.
    """

    folder: Path
    unfinished: Path
    name: str
    expected: int
    progress: Progress | None = None
    size: ChunkSize = ChunkSize()  # noqa: RUF009 (frozen)


def build(documents: Iterable[Document], settings: Settings, work: Work) -> None:
    """Write the index of documents; a build that was interrupted is taken up where it was."""
    _forget(work.unfinished.parent)
    try:
        runs = _runs(documents, settings, work)
        _merge(runs, settings, work)
    except DuplicateDocnosError as fault:
        shutil.rmtree(work.unfinished, ignore_errors=True)  # the same documents would fail again
        # Named by their positions: in a file that is something else they may be queries.
        raise InputError(
            f"the collection {work.name!r} has docnos that come more than once: {fault.count:,} (first: its documents "
            f"{fault.first + 1:,} and {fault.second + 1:,}); keep one of each."
        ) from None
    except InputError:
        shutil.rmtree(work.unfinished, ignore_errors=True)
        raise
    except OSError as fault:
        if fault.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise ResourceError(
            f"the disk became full while the index of {work.name!r} was written to {work.folder.parent}; free some "
            "space and run it again. What is done so far is kept."
        ) from None
    shutil.rmtree(work.unfinished, ignore_errors=True)
    _report(work, 100)


def _forget(folder: Path) -> None:
    """Remove what other builds left that nobody has taken up for weeks: it may be many gigabytes."""
    for left in folder.glob("*"):
        if time.time() - left.stat().st_mtime > _FORGOTTEN:
            shutil.rmtree(left, ignore_errors=True)


# --- runs ---------------------------------------------------------------------------------------------------------


def _runs(documents: Iterable[Document], settings: Settings, work: Work) -> list[Run]:
    """Return the runs of all chunks: those that are kept from before, and the others as they are made.

    While one chunk is divided into words, another thread sorts and writes the one before.
    """
    runs: list[Run] = []
    before = 0
    with ThreadPoolExecutor(1) as pool:
        waiting: Future[Run] | None = None
        for number, (chunk, last) in enumerate(chunks(documents, work.size)):
            if last and not number:  # all in one: it need not be written
                return [Run.of(words_of(_reported(chunk, 0, work), settings), settings)]
            place, source = work.unfinished / f"run-{number:05d}", source_hash(chunk, settings)
            run = Run.kept(place, source)
            if run is None:
                words = words_of(_reported(chunk, before, work), settings)
            if waiting is not None:  # only one at a time: more would only fill the memory
                runs.append(waiting.result())
            waiting = None
            if run is None:
                waiting = pool.submit(_written, words, settings, before, place, source, work.expected)
            else:
                runs.append(run)
            before += len(chunk)
            del chunk  # before the next one is read
        if waiting is not None:
            runs.append(waiting.result())
    return runs


def _written(words: WordStream, settings: Settings, before: int, place: Path, source: str, expected: int) -> Run:
    """Make a run, write it, and return it with the postings left on disk."""
    run = Run.of(words, settings, before)
    count = len(run.lengths)
    # The runs that are still to be written, and then the index, which takes about as much as all runs.
    check_room(place.parent, run.bytes / count * (max(expected - before, count) + max(expected, before + count)))
    with replacing(place, place.with_name("draft")) as draft:
        run.save(draft, source)
    return replace(run, postings=place)


def check_room(folder: Path, needed: float) -> None:
    """Raise where the disk does not have as many bytes for an index."""
    make_folder(folder)
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise ResourceError(
            f"the index needs about {needed / 1e9:.1f} GB more on the disk of {folder}, which has {free / 1e9:.1f} GB "
            "free; free some space, or set QUIPUKIT_HOME to a folder on a larger disk. What is done so far is kept."
        )


def _reported(chunk: list[Document], before: int, work: Work) -> Iterator[Document]:
    for number, document in enumerate(chunk, before):
        if number % _REPORT_EVERY == 0:
            _report(work, _READING * number / max(work.expected, number, 1))
        yield document


def _report(work: Work, percent: float) -> None:
    if work.progress:
        work.progress(work.expected * percent / 100, work.expected)


# --- merging ------------------------------------------------------------------------------------------------------


def _merge(runs: Sequence[Run], settings: Settings, work: Work) -> None:
    docnos, places = _placed(runs)
    terms, term_rows = merged([run.terms for run in runs])
    lengths = np.empty(len(docnos), np.int32)
    per_term = np.zeros(len(terms), np.int64)
    for run, own, rows in zip(runs, places, term_rows, strict=True):
        lengths[own] = run.lengths
        per_term[rows] += np.diff(run.starts)
    starts = np.concatenate([[0], np.cumsum(per_term)])
    pairs = np.unique(np.concatenate([run.pairs for run in runs]))
    frequencies = pairs >> 32
    mean = mean_length(int(lengths.sum(dtype=np.int64)), len(lengths))
    arrays: dict[str, Array] = {
        **{"docnos_content": docnos.content, "docnos_starts": docnos.starts},
        **{"terms_content": terms.content, "terms_starts": terms.starts},
        "starts": starts,
        "idf": idf(per_term, len(docnos)),
        "frequencies": frequencies.astype(np.float64),
        "norms": norms(pairs & 0xFFFFFFFF, mean, settings.k1, settings.b),
    }
    code = np.uint16 if len(pairs) <= 1 << 16 else np.uint32
    posting = 4 + np.dtype(code).itemsize
    check_room(work.folder.parent, posting * int(starts[-1]) + sum(array.nbytes for array in arrays.values()))
    with replacing(work.folder, work.unfinished / "index") as draft:
        with (
            ArrayFile(draft / "documents.npy", np.int32, int(starts[-1])) as documents,
            ArrayFile(draft / "codes.npy", code, int(starts[-1])) as codes,
        ):
            for first, end in _groups(starts):
                keys = _group(runs, places, term_rows, starts, first, end)
                numbers, coded = np.empty(len(keys), np.int32), np.empty(len(keys), code)
                encode(starts[first : end + 1] - starts[first], keys, lengths, pairs, numbers, coded)
                documents.append(numbers)
                codes.append(coded)
                _report(work, _READING + (99 - _READING) * starts[end] / starts[-1])
        write_folder(draft, arrays, None)


def _placed(runs: Sequence[Run]) -> tuple[StringTable, list[NDArray[np.int32]]]:
    """Return all docnos, and the number of every run's documents among them."""
    docnos, rows = merged([run.docnos for run in runs])
    places = [own[run.places] for run, own in zip(runs, rows, strict=True)]
    count = sum(map(len, places))
    if len(docnos) < count:
        every = np.concatenate(places)
        order = np.argsort(every, kind="stable")
        twice = np.flatnonzero(every[order][1:] == every[order][:-1])
        first = twice[np.argmin(order[twice + 1])]
        raise DuplicateDocnosError(count - len(docnos), int(order[first]), int(order[first + 1]))
    return docnos, places


def _groups(starts: Rows) -> Iterator[tuple[int, int]]:
    """Divide the terms into groups that have not too many postings."""
    first = 0
    while first < len(starts) - 1:
        end = max(first + 1, int(np.searchsorted(starts, starts[first] + _GROUP, "right")) - 1)
        yield first, end
        first = end


def _group(
    runs: Sequence[Run],
    places: Sequence[NDArray[np.int32]],
    rows: Sequence[NDArray[np.int32]],
    starts: Rows,
    first: int,
    end: int,
) -> Rows:
    """Return the postings of a group of terms, from all runs."""
    keys = np.empty(int(starts[end] - starts[first]), np.int64)
    free = starts[first:end] - starts[first]
    for run, own, of_terms in zip(runs, places, rows, strict=True):
        low, high = np.searchsorted(of_terms, [first, end])
        bounds = run.starts[low : high + 1]
        documents, counts = (run.part(name, int(bounds[0]), int(bounds[-1])) for name in ("documents", "frequencies"))
        scatter(bounds, of_terms[low:high] - first, documents, counts.astype(np.int32), own, free, keys)
    return keys
