"""A toy collection: documents of eight topics, each with words of its own, and a query for each topic."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from quipukit.collections.base import Collection

TOPICS = 8
DOCUMENTS = 30  # of each topic
WORDS = [[f"w{topic}x{number}" for number in range(12)] for topic in range(TOPICS)]
# The query of topic 0 has no word of any document: the original itself finds nothing.
QUERIES = {f"q{topic}": " ".join(words[:3]) if topic else "nothing like that" for topic, words in enumerate(WORDS)}


class Topical(Collection):
    """Four words of a topic a document; the first ten documents of a topic are relevant to its query."""

    name = "topical"
    fingerprint = "topical-1"

    def documents(self) -> Iterator[tuple[str, str]]:
        rng = np.random.default_rng(11)
        for topic, words in enumerate(WORDS):
            for number in range(DOCUMENTS):
                yield f"d{topic}-{number:02d}", " ".join(rng.choice(words, 4))

    def __len__(self) -> int:
        return TOPICS * DOCUMENTS

    def queries(self) -> pd.DataFrame:
        return pd.DataFrame(list(QUERIES.items()), columns=["qid", "query"])

    def qrels(self) -> pd.DataFrame:
        rows = [(f"q{t}", f"d{t}-{n:02d}", 1 + n % 2 if n < 10 else 0) for t in range(TOPICS) for n in range(DOCUMENTS)]
        return pd.DataFrame(rows, columns=["qid", "docno", "relevance"])


def sent(texts: dict[str, list[str]], mechanism: str = "Own") -> pd.DataFrame:
    """Return an Obfuscated table of one setting."""
    rows = [(qid, number, text) for qid, own in texts.items() for number, text in enumerate(own)]
    frame = pd.DataFrame(rows, columns=["qid", "variant", "query"])
    return frame.assign(mechanism=mechanism, parameter="epsilon", value=1.0)


def guesses(texts: dict[str, str], attacker: str = "QuIA", mechanism: str = "Own") -> pd.DataFrame:
    """Return a table of best guesses, as attackers give it."""
    frame = pd.DataFrame(list(texts.items()), columns=["qid", "query"])
    setting = {"mechanism": mechanism, "parameter": "epsilon", "value": 1.0}
    return frame.assign(**setting, attacker=attacker, guess=1, similarity=0.5, hit=False)
