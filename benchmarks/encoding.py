"""How long does encoding short texts take beside sentence-transformers' own encode?

Both encode the same distinct texts, sorted by length, in batches of 32, by turns: what else runs on the machine
then hits both. Ours gives vectors that do not depend on their neighbors; theirs, padded, do in the last bits.
"""

import time
from collections.abc import Callable
from typing import Any

from benchmarks.data import Skipped, median, seconds
from benchmarks.table import Line, Target, show

QUESTION = "how does encoding compare with sentence-transformers?"
RATIO, DUPLICATES = Target(1.15, at_most=True), Target(1.1, at_most=True)
COPIES = 5


def run(quick: bool) -> list[Line]:
    """Encode slices of a query log with both, and once more with every text five times over."""
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise Skipped("sentence-transformers is not installed; `make test` installs it") from None
    from transformers.utils import logging

    from quipukit.encoders.load import load_encoder
    from quipukit.vectors.default_pack import model_folder

    logging.disable_progress_bar()
    rounds, size = (3, 1_000) if quick else (5, 20_000)
    texts = log_texts(rounds * size)
    ours, theirs = load_encoder("minilm"), SentenceTransformer(str(model_folder()), device="cpu")
    ours.encode(texts[:64])
    theirs.encode(texts[:64])
    mine, other = [], []
    for number in range(rounds):
        part = sorted(texts[number * size : (number + 1) * size], key=len)
        tasks = [
            (mine, lambda part=part: ours.encode(part)),
            (other, lambda part=part: theirs.encode(part, batch_size=32, show_progress_bar=False)),
        ]
        for times, task in tasks if number % 2 else reversed(tasks):
            times.append(seconds(task))
    some = texts[: size // 4]
    once, often = [], []
    for _ in range(3):
        once.append(_work(lambda: ours.encode(some)))
        often.append(_work(lambda: ours.encode(some * COPIES)))
    lines = [
        Line("ours (texts/s)", (), size / median(mine)),
        Line("sentence-transformers (texts/s)", (), size / median(other)),
        Line("time, ours : theirs", (), sum(mine) / sum(other), RATIO),
        Line(f"work, every text {COPIES} times : once", (), median(often) / median(once), DUPLICATES),
    ]
    print(f"{rounds} rounds of {size:,} distinct queries of the built-in log")
    show(("what", "value"), lines)
    return lines


def _work(task: Callable[[], Any]) -> float:
    # Processor time: the difference looked for is smaller than what other processes do to a clock on the wall.
    start = time.process_time()
    task()
    return time.process_time() - start


def log_texts(count: int) -> list[str]:
    """Return distinct queries of the built-in log."""
    from quipukit.collections.wordnet_glosses import WordNetGlosses

    log = WordNetGlosses().query_log()
    # Spread over the log, whatever its order.
    return [log[number * len(log) // count] for number in range(count)]
