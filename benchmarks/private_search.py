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


def milliseconds(work: Callable[..., object], *arguments: object) -> float:
    """Return how long something takes."""
    begin = time.perf_counter()
    work(*arguments)
    return 1000 * (time.perf_counter() - begin)


def main() -> None:
    """Print what each setting takes: to start, for the first variants, for searches in new sessions and in one."""
    asked = [topic.query for topic in topics()][:20]
    for setting in SETTINGS:
        begin = time.perf_counter()
        search = qk.PrivateSearch("wordnet", setting, 20)
        search.start()
        start = time.perf_counter() - begin
        first = [milliseconds(search.preview, text) for text in FIVE_WORDS]
        fresh, again = [], []
        for query in asked:
            search.new_session()
            fresh.append(milliseconds(search.search, query))
            again.append(milliseconds(search.search, query))
        session = [milliseconds(search.search, query) for query in asked]
        print(
            f"{setting}: started in {start:.1f} s; variants {max(first):.0f} ms at most; "
            f"search {statistics.median(fresh):.0f} ms (longest {max(fresh):.0f}); "
            f"the same again {statistics.median(again):.0f} ms; "
            f"one session of {len(asked)} {statistics.median(session):.0f} ms (longest {max(session):.0f})",
            flush=True,
        )


if __name__ == "__main__":
    main()
