"""How long a private search takes once it is started: `python -m benchmarks.private_search`.

Goals: the variants of five words, N = 20, within 300 ms; a search over the built-in collection within a second.
"""

import statistics
import time
from collections.abc import Callable

import quipukit as qk
from quipukit.collections.wordnet_glosses import topics
from quipukit.search.wording import DEFAULT

FIVE_WORDS = ["how does a tumor grow", "cheap flights to rome tomorrow", "side effects of some pills"]
SETTINGS = (DEFAULT, "Cover@50", "VickreyMhl@12.5", "CMP@10")


def milliseconds(work: Callable[..., object], *arguments: object) -> tuple[float, float]:
    """Return how long something takes by the clock, and in processor time of all threads."""
    begin, used = time.perf_counter(), time.process_time()
    work(*arguments)
    return 1000 * (time.perf_counter() - begin), 1000 * (time.process_time() - used)


def said(times: list[tuple[float, float]]) -> str:
    """Say median and longest of both."""
    clock, processor = zip(*times, strict=True)
    return (
        f"{statistics.median(clock):.0f} ms (longest {max(clock):.0f}; processor {statistics.median(processor):.0f}, "
        f"longest {max(processor):.0f})"
    )


def main() -> None:
    """Print what each setting takes: to start, for the first variants, for searches in new sessions and in one."""
    asked = [topic.query for topic in topics()][:20]
    for setting in SETTINGS:
        begin = time.perf_counter()
        search = qk.PrivateSearch("wordnet", setting, 20)
        search.start()
        start = time.perf_counter() - begin
        first = [milliseconds(search.preview, text) for text in FIVE_WORDS]
        fresh = []
        for query in asked:
            search.new_session()
            fresh.append(milliseconds(search.search, query))
        search.new_session()
        session = [milliseconds(search.search, query) for query in asked]
        print(f"{setting}: started in {start:.1f} s\n  variants {said(first)}\n  search, new session {said(fresh)}")
        print(f"  search, one session of {len(asked)} {said(session)}", flush=True)


if __name__ == "__main__":
    main()
