"""How much faster are sums of word vectors than the sentence encoder?

Both encode the same distinct queries of the built-in log, by turns: what else runs on the machine then hits both.
"""

from benchmarks.data import median, seconds
from benchmarks.encoding import log_texts
from benchmarks.table import Line, Target, show

QUESTION = "how do static word vectors compare with the sentence encoder?"
RATIO = Target(20)


def run(quick: bool) -> list[Line]:
    """Encode slices of a query log with both."""
    from quipukit.encoders.load import load_encoder

    rounds, size = (3, 300) if quick else (5, 1_000)
    texts = log_texts(rounds * size)
    static, sentence = load_encoder("static:default"), load_encoder("minilm")
    for encoder in (static, sentence):
        encoder.encode(texts[:64])
    static_times, sentence_times = [], []
    for number in range(rounds):
        part = texts[number * size : (number + 1) * size]
        tasks = [
            (static_times, lambda part=part: static.encode(part)),
            (sentence_times, lambda part=part: sentence.encode(part)),
        ]
        for times, task in tasks if number % 2 else reversed(tasks):
            times.append(seconds(task))
    lines = [
        Line("static:default (texts/s)", (), size / median(static_times)),
        Line("minilm (texts/s)", (), size / median(sentence_times)),
        Line("time, minilm : static:default", (), sum(sentence_times) / sum(static_times), RATIO),
    ]
    print(f"{rounds} rounds of {size:,} distinct queries of the built-in log")
    show(("what", "value"), lines)
    return lines
