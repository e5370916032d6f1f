"""How fast is BM25 beside bm25s, the fastest peer in Python, on the same index and queries?"""

import time

from benchmarks.data import Skipped, median
from benchmarks.table import Line, Target, show

QUESTION = "how does BM25 compare with bm25s's own numba backend?"
RATIO = Target(0.9)
DEPTH = 100


def run(quick: bool) -> list[Line]:
    """Search the built-in collection for distinct obfuscated queries with both, by turns."""
    try:
        import bm25s
    except ImportError:
        raise Skipped("bm25s is not installed; `make test` installs it") from None
    import numpy as np

    from quipukit.collections.load import load_collection
    from quipukit.lexical import stems, text_words
    from quipukit.obfuscation import obfuscate
    from quipukit.retrieval.bm25 import BM25
    from quipukit.retrieval.pool import search_distinct
    from quipukit.threads import workers

    collection = load_collection("wordnet")
    count = 5_000 if quick else 100_000
    queries = _queries(collection, obfuscate, count)
    ours = BM25.of(collection)
    peer = bm25s.BM25(k1=0.9, b=0.4, method="lucene", backend="numba")
    peer.index([stems(text_words(text)) for _, text in collection.documents()], show_progress=False)
    # Both start from texts: dividing and stemming them is part of the work. bm25s fails on a query without any known
    # word, so those are left out for it.
    peer.activate_numba_scorer()

    def peer_search(texts: list[str]) -> None:
        tokens = [[term for term in stems(text_words(text)) if term in peer.vocab_dict] for text in texts]
        peer.retrieve([t for t in tokens if t], k=DEPTH, n_threads=workers(), show_progress=False)

    def our_search(texts: list[str]) -> None:
        search_distinct(texts, ours, DEPTH)

    our_search(queries[:500])
    peer_search(queries[:500])
    times: dict[str, list[float]] = {"bm25s": [], "quipukit": []}
    for part in np.array_split(np.array(queries, object), 4):
        for name, search in (("bm25s", peer_search), ("quipukit", our_search)):
            start = time.perf_counter()
            search(list(part))
            times[name].append((time.perf_counter() - start) / len(part))
    rates = {name: 1 / median(values) for name, values in times.items()}
    duplicated = search_seconds(our_search, queries[:1000]), search_seconds(our_search, queries[:1000] * 50)
    lines = [
        Line("bm25s, numba backend (queries/s)", (), rates["bm25s"]),
        Line("quipukit (queries/s)", (), rates["quipukit"]),
        Line("ratio", (), rates["quipukit"] / rates["bm25s"], RATIO),
        Line("50 copies of every query / one copy (time)", (), duplicated[1] / duplicated[0]),
    ]
    show(("what", "value"), lines)
    return lines


def search_seconds(search, texts) -> float:  # type: ignore[no-untyped-def]
    """Time one search."""
    start = time.perf_counter()
    search(texts)
    return time.perf_counter() - start


def _queries(collection, obfuscate, count: int) -> list[str]:  # type: ignore[no-untyped-def]
    """Return distinct obfuscated queries, as an evaluation sends them."""
    originals = collection.queries()
    n = 1 + count // len(originals) // 3
    table = obfuscate(originals, ["CMP@10", "CMP@15", "Mahalanobis@15", "Random"], n, seed=1, noise="common")
    return list(dict.fromkeys(table["query"]))[:count]
