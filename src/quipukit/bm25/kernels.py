"""The compiled loops over postings: what a query adds up to, and where documents come.

Imported only where a search runs, because the compiler is slow to load.
"""

import numpy as np

from quipukit.bm25.formula import SCALE
from quipukit.jit import numba


@numba.njit(nogil=True, cache=True)
def add_up(rows, query, term_starts, documents, impacts, total, last, touched):  # type: ignore[no-untyped-def]
    """Add up the scores of one query; return how many documents it touched.

    ``last`` holds the query that last touched a document, so that nothing has to be cleared between queries.
    """
    count = 0
    for row in rows:
        for posting in range(term_starts[row], term_starts[row + 1]):
            document = documents[posting]
            if last[document] == query:
                total[document] += impacts[posting]
            else:
                last[document] = query
                total[document] = impacts[posting]
                touched[count] = document
                count += 1
    return count


@numba.njit(nogil=True, cache=True)
def rank_targets(rows, starts, targets, term_starts, documents, impacts, size, ranks, matched):  # type: ignore[no-untyped-def]
    """Count, for many queries, how many documents come before each of a few targets."""
    total = np.zeros(size)
    last = np.full(size, -1, np.int64)
    touched = np.empty(size, np.int32)
    for query in range(starts.shape[0] - 1):
        own = rows[starts[query] : starts[query + 1]]
        count = add_up(own, query, term_starts, documents, impacts, total, last, touched)
        matched[query] = count
        lowest = np.inf
        for t in range(targets.shape[0]):
            if last[targets[t]] == query:
                ranks[query, t] = 0
                lowest = min(lowest, total[targets[t]])
        for i in range(count):
            document = touched[i]
            score = total[document]
            if score < lowest:
                continue
            for t in range(targets.shape[0]):
                target = targets[t]
                if last[target] == query and (score > total[target] or (score == total[target] and document < target)):
                    ranks[query, t] += 1


@numba.njit(nogil=True, cache=True)
def top(rows, starts, term_starts, documents, impacts, size, found, scores):  # type: ignore[no-untyped-def]
    """Find the best documents of many queries; the heap holds the best so far, the worst of them on top."""
    total = np.zeros(size)
    last = np.full(size, -1, np.int64)
    touched = np.empty(size, np.int32)
    for query in range(starts.shape[0] - 1):
        own = rows[starts[query] : starts[query + 1]]
        count = add_up(own, query, term_starts, documents, impacts, total, last, touched)
        _best(touched, count, total, found[query], scores[query])


@numba.njit(nogil=True, cache=True)
def top_coded(rows, starts, term_starts, documents, codes, idf, frequencies, norms, size, found, scores):  # type: ignore[no-untyped-def]
    """Find the best documents as `top` does; a posting's code stands for its frequency and its document's norm."""
    total = np.zeros(size)
    last = np.full(size, -1, np.int32)
    touched = np.empty(size, np.int32)
    summands = np.empty(frequencies.shape[0])
    for query in range(starts.shape[0] - 1):
        count = 0
        for row in rows[starts[query] : starts[query + 1]]:
            begin, end = term_starts[row], term_starts[row + 1]
            # Many postings share few codes: then every code is computed once, else every posting.
            shared = end - begin > frequencies.shape[0]
            if shared:
                for code in range(frequencies.shape[0]):
                    summands[code] = summand(idf[row], frequencies[code], norms[code])
            for posting in range(begin, end):
                document, code = documents[posting], codes[posting]
                value = summands[code] if shared else summand(idf[row], frequencies[code], norms[code])
                if last[document] == query:
                    total[document] += value
                else:
                    last[document] = query
                    total[document] = value
                    touched[count] = document
                    count += 1
        _best(touched, count, total, found[query], scores[query])


@numba.njit(nogil=True, cache=True)
def summand(weight, frequency, norm):  # type: ignore[no-untyped-def]
    """Return what a posting adds to a score: the same operations, in the same order, as `formula.summands`."""
    return np.rint(weight * frequency / (frequency + norm) * SCALE) / SCALE


@numba.njit(nogil=True, cache=True)
def _best(touched, count, total, heap, scores):  # type: ignore[no-untyped-def]
    """Put the best of the documents that a query touched into ``heap``, best first, and their scores beside it."""
    depth, filled = heap.shape[0], 0
    for i in range(count):
        document = touched[i]
        if filled < depth:
            heap[filled] = document
            filled += 1
            if filled == depth:
                _build_heap(heap, filled, total)
        elif _after(heap[0], document, total):
            heap[0] = document
            _sink(heap, 0, depth, total)
    if filled < depth:
        _build_heap(heap, filled, total)
    for end in range(filled - 1, 0, -1):  # heap sort: the worst goes to the end
        heap[0], heap[end] = heap[end], heap[0]
        _sink(heap, 0, end, total)
    for i in range(filled):
        scores[i] = total[heap[i]]


@numba.njit(nogil=True, cache=True)
def _build_heap(heap, size, total):  # type: ignore[no-untyped-def]
    for at in range(size // 2 - 1, -1, -1):
        _sink(heap, at, size, total)


@numba.njit(nogil=True, cache=True)
def _sink(heap, at, size, total):  # type: ignore[no-untyped-def]
    """Let an entry sink below entries that rank after it."""
    while True:
        child = 2 * at + 1
        if child >= size:
            return
        if child + 1 < size and _after(heap[child + 1], heap[child], total):
            child += 1
        if not _after(heap[child], heap[at], total):
            return
        heap[at], heap[child] = heap[child], heap[at]
        at = child


@numba.njit(nogil=True, cache=True)
def _after(one, other, total):  # type: ignore[no-untyped-def]
    """Return whether a document ranks after another: a lower score, or the same and a later number."""
    return total[one] < total[other] or (total[one] == total[other] and one > other)
