"""How long does encoding short texts take beside sentence-transformers' own encode?

Both encode the same distinct texts, sorted by length, in batches of 32, by turns: what else runs on the machine
then hits both. Ours gives vectors that do not depend on their neighbors; theirs, padded, do in the last bits.

Beside the machine's float32 product (4096 x 4096, all threads): the operations that the network needs for these texts,
by the clock and by processor time; and the bare products of a layer, in the shapes of one batch and in threads of one
core each, as the encoder runs them. What is missing between the two is everything that is no product.
"""

import functools
import time
from collections.abc import Callable
from typing import Any

from benchmarks.against_machine import SIDE, large_product, timed
from benchmarks.data import Skipped, cores, median, seconds
from benchmarks.table import Line, Target, number, show

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
    rounds, size = (3, 1_000) if quick else (5, 8_000)
    texts = log_texts(rounds * size)
    ours, theirs = load_encoder("minilm"), SentenceTransformer(str(model_folder()), device="cpu")
    ours.encode(texts[:64])
    theirs.encode(texts[:64])
    mine, other = [], []
    for turn in range(rounds):
        part = sorted(texts[turn * size : (turn + 1) * size], key=len)
        tasks = [
            (mine, lambda part=part: ours.encode(part)),
            (other, lambda part=part: theirs.encode(part, batch_size=32, show_progress_bar=False)),
        ]
        for times, task in tasks if turn % 2 else reversed(tasks):
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
    return lines + _beside_the_machine(ours, texts[:size])


def _beside_the_machine(encoder: Any, texts: list[str]) -> list[Line]:
    """Set the encoder, and the bare products in it, against the machine's own product, by turns."""
    import numpy as np

    lengths = np.diff(encoder._tokens(texts, "query")[1]).astype(float)
    width, layers = encoder.dimension, 6
    needed = float((lengths * 24 * width**2 + 4 * width * lengths**2).sum()) * layers
    usual = int(np.median(lengths))
    tasks: dict[str, tuple[float, Callable[[], Any]]] = {
        "the encoder": (needed, lambda: sum(len(positions) for positions, _ in encoder.pieces(texts, "query"))),
    }
    for rows in (32, 128):
        count = max(1, int(needed / cores() / (rows * usual * 24 * width**2)))
        task = functools.partial(_bare_products, rows * usual, width, count)
        tasks[f"products alone, {rows} x {usual} tokens"] = (cores() * count * rows * usual * 24.0 * width**2, task)
    product = large_product()
    product()
    shares: dict[str, list[tuple[float, float]]] = {}
    for _ in range(3):
        for what, (operations, task) in tasks.items():
            before, taken, after = timed(product), timed(task), timed(product)
            scale = 100 * operations / (2 * SIDE**3)
            by_clock = scale * min(before.clock, after.clock) / taken.clock
            by_processor = scale * min(before.processor, after.processor) / taken.processor
            shares.setdefault(what, []).append((by_clock, by_processor))
    lines = [
        Line(f"{what} (% of machine)", (number(median([one for _, one in pairs])),), median([one for one, _ in pairs]))
        for what, pairs in shares.items()
    ]
    print(f"{len(texts):,} queries of {lengths.mean():.1f} tokens")
    show(("what", "by processor time", "by the clock, median"), lines)
    return lines


def _bare_products(tokens: int, width: int, count: int) -> None:
    """Multiply as the layers of a network do: four times by width x width, there and back by 4 width x width."""
    import torch

    from quipukit.encoders.network import Workers

    linear = torch.nn.functional.linear

    def work() -> None:
        with torch.inference_mode():
            narrow, wide = torch.randn(tokens, width), torch.randn(tokens, 4 * width)
            square, there, back = (
                torch.randn(width, width),
                torch.randn(4 * width, width),
                torch.randn(width, 4 * width),
            )
            for _ in range(count):
                for _ in range(4):
                    linear(narrow, square, square[0])
                linear(narrow, there, wide[0])
                linear(wide, back, square[0])

    crew = Workers(cores())
    try:
        for future in [crew.submit(work) for _ in range(cores())]:
            future.result()
    finally:
        crew.stop()


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
