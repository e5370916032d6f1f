"""A file of obfuscated queries as an audit sees it: settings, and the words that stand where the original's stood."""

import functools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from quipukit.text import key, tokenize


@dataclass(frozen=True, eq=False)
class Setting:
    """One setting of a file: the variants of every query, in their order."""

    mechanism: str
    parameter: str
    value: float
    sent: dict[str, list[str]]

    @property
    def name(self) -> str:
        """Return the setting as a spec writes it."""
        return f"{self.mechanism}@{self.value:g}" if self.parameter else self.mechanism

    @functools.cached_property
    def words(self) -> dict[str, list[list[str]]]:
        """Return the words of every variant of every query."""
        return {qid: [text.split() for text in texts] for qid, texts in self.sent.items()}


@dataclass(frozen=True, eq=False)
class Family:
    """The settings of one mechanism, by their value, and the originals where they are known."""

    mechanism: str
    settings: list[Setting]
    originals: dict[str, str]

    @functools.cached_property
    def tokens(self) -> dict[str, list[str]]:
        """Return the words of the originals that variants can be laid beside: divided so that the numbers agree."""
        lengths: dict[str, Counter[int]] = {}
        for setting in self.settings:
            for qid, rows in setting.words.items():
                lengths.setdefault(qid, Counter()).update(map(len, rows))
        tokens = {}
        for qid, text in self.originals.items():
            if qid not in lengths:
                continue
            usual = lengths[qid].most_common(1)[0][0]
            ways = (tokenize(text), text.lower().split())
            tokens[qid] = next((words for words in ways if len(words) == usual), [])
        return {qid: words for qid, words in tokens.items() if words}

    def aligned(self, setting: Setting) -> Iterator[tuple[str, str]]:
        """Iterate over words of the originals and what was sent in their place."""
        for qid, words in self.tokens.items():
            for row in setting.words.get(qid, ()):
                if len(row) == len(words):
                    yield from zip(words, row, strict=True)

    def is_verbatim(self, qid: str, text: str) -> bool:
        """Return whether a text is the original of a query."""
        return key(text) == key(self.originals[qid])


def families(obfuscated: pd.DataFrame, originals: pd.DataFrame) -> list[Family]:
    """Return what a table of obfuscated queries holds, mechanism by mechanism."""
    texts = dict(zip(originals["qid"].astype(str), originals["query"].astype(str), strict=True))
    found: dict[str, list[Setting]] = {}
    ordered = obfuscated.sort_values("variant", kind="stable")
    for (mechanism, parameter, value), rows in ordered.groupby(["mechanism", "parameter", "value"], dropna=False):
        sent = {str(qid): list(map(str, part)) for qid, part in rows.groupby("qid")["query"]}
        found.setdefault(str(mechanism), []).append(Setting(str(mechanism), str(parameter or ""), float(value), sent))
    return [
        Family(mechanism, sorted(settings, key=lambda one: one.value), texts) for mechanism, settings in found.items()
    ]
