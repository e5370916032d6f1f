"""The compiled loops over postings: what a query adds up to, and where documents come.

Imported only where a search runs, because the compiler is slow to load.
"""

import numpy as np

from quipukit.bm25.formula import SCALE
from quipukit.jit import numba

# Documents whose sums are in the cache at a time, and terms of a query whose summands are.
_RANGE = 1 << 15
_TABLES = 64


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
    """Find the best documents of many queries, and their scores, the best first."""
    total = np.zeros(size)
    last = np.full(size, -1, np.int64)
    touched = np.empty(size, np.int32)
    for query in range(starts.shape[0] - 1):
        own = rows[starts[query] : starts[query + 1]]
        count = add_up(own, query, term_starts, documents, impacts, total, last, touched)
        filled = _keep_best(touched, count, total, 0, found[query], scores[query], 0)
        _sort_best(found[query], scores[query], filled)


@numba.njit(nogil=True, cache=True)
def top_coded(rows, starts, term_starts, documents, codes, idf, frequencies, norms, size, found, scores):  # type: ignore[no-untyped-def]
    """Find the best documents as `top` does; a posting's code stands for its frequency and its document's norm.

    The postings of a term are in the order of the documents. They are gone through a range of documents at a time, for
    all terms of the query: then the sums stay in the cache, whatever the size of the collection.
    """
    most = 0
    for query in range(starts.shape[0] - 1):
        most = max(most, starts[query + 1] - starts[query])
    count_codes = frequencies.shape[0]
    summands = np.empty((min(most, _TABLES), count_codes))
    table, at = np.empty(most, np.int64), np.empty(most, np.int64)
    width = min(size, _RANGE)
    total = np.empty(width)
    last = np.full(width, -1, np.int64)
    touched = np.empty(width, np.int32)
    turn = 0
    for query in range(starts.shape[0] - 1):
        own = rows[starts[query] : starts[query + 1]]
        tables = 0
        for i in range(own.shape[0]):
            row = own[i]
            at[i] = term_starts[row]
            # Many postings share few codes: then every code is computed once, else every posting.
            table[i] = -1
            if term_starts[row + 1] - term_starts[row] > count_codes and tables < summands.shape[0]:
                table[i] = tables
                for code in range(count_codes):
                    summands[tables, code] = summand(idf[row], frequencies[code], norms[code])
                tables += 1
        filled = 0
        for first in range(0, size, width):
            turn += 1
            count = 0
            for i in range(own.shape[0]):
                row, posting = own[i], at[i]
                end = term_starts[row + 1]
                while posting < end and documents[posting] < first + width:
                    place, code = documents[posting] - first, codes[posting]
                    if table[i] >= 0:
                        value = summands[table[i], code]
                    else:
                        value = summand(idf[row], frequencies[code], norms[code])
                    if last[place] == turn:
                        total[place] += value
                    else:
                        last[place] = turn
                        total[place] = value
                        touched[count] = place
                        count += 1
                    posting += 1
                at[i] = posting
            filled = _keep_best(touched, count, total, first, found[query], scores[query], filled)
        _sort_best(found[query], scores[query], filled)


@numba.njit(nogil=True, cache=True)
def summand(weight, frequency, norm):  # type: ignore[no-untyped-def]
    """Return what a posting adds to a score: the same operations, in the same order, as `formula.summands`."""
    return np.rint(weight * frequency / (frequency + norm) * SCALE) / SCALE


@numba.njit(nogil=True, cache=True)
def _keep_best(touched, count, total, first, heap, scores, filled):  # type: ignore[no-untyped-def]
    """Add documents to the best so far, a heap with the worst of them on top; return how many these are now."""
    depth = heap.shape[0]
    for i in range(count):
        score, document = total[touched[i]], touched[i] + first
        if filled < depth:
            heap[filled], scores[filled] = document, score
            filled += 1
            if filled == depth:
                for at in range(filled // 2 - 1, -1, -1):
                    _sink(heap, scores, at, filled, heap[at], scores[at])
        elif _after(scores[0], heap[0], score, document):
            _sink(heap, scores, 0, depth, document, score)
    return filled


@numba.njit(nogil=True, cache=True)
def _sort_best(heap, scores, filled):  # type: ignore[no-untyped-def]
    """Sort the best documents, the best first."""
    if filled < heap.shape[0]:  # it is no heap yet
        for at in range(filled // 2 - 1, -1, -1):
            _sink(heap, scores, at, filled, heap[at], scores[at])
    for end in range(filled - 1, 0, -1):  # heap sort: the worst goes to the end
        document, score = heap[end], scores[end]
        heap[end], scores[end] = heap[0], scores[0]
        _sink(heap, scores, 0, end, document, score)


@numba.njit(nogil=True, cache=True)
def _sink(heap, scores, at, size, document, score):  # type: ignore[no-untyped-def]
    """Put a document where it belongs at ``at`` or below: entries that rank after it come up."""
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and _after(scores[child + 1], heap[child + 1], scores[child], heap[child]):
            child += 1
        if not _after(scores[child], heap[child], score, document):
            break
        heap[at], scores[at] = heap[child], scores[child]
        at = child
    heap[at], scores[at] = document, score


@numba.njit(nogil=True, cache=True)
def _after(score, document, other_score, other_document):  # type: ignore[no-untyped-def]
    """Return whether a document ranks after another: a lower score, or the same and a later number."""
    return score < other_score or (score == other_score and document > other_document)
