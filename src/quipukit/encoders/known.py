"""How the vectors of known models are made and compared, where their own files do not say it.

Sentence-transformers models carry their pooling with them; plain Hugging Face checkpoints carry none, and hardly any
model's files state its prefixes or that its scores are inner products. What is not known is taken as QuIPU takes
distilbert-base-uncased: the mean of the token vectors, compared by cosine.
"""

import fnmatch
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

from quipukit.encoders.base import Kind, Similarity

Pooling = Literal["cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"]


@dataclass(frozen=True)
class Recipe:
    """From token vectors to a vector, and from two vectors to a score."""

    pooling: tuple[Pooling, ...] = ("mean",)
    normalize: bool = False
    similarity: Similarity = "cosine"
    query_prefix: str = ""
    document_prefix: str = ""
    max_length: int = 512  # in tokens, those that the model adds included
    lower_case: bool = False

    def prefix(self, kind: Kind) -> str:
        """Return what goes before every text of a kind."""
        return self.query_prefix if kind == "query" else self.document_prefix


_MEAN_DOT = Recipe(similarity="dot")
_CLS_DOT = Recipe(pooling=("cls",), similarity="dot")
_E5 = Recipe(normalize=True, query_prefix="query: ", document_prefix="passage: ")
_BGE = Recipe(pooling=("cls",), normalize=True)
_BGE_ENGLISH = Recipe(
    pooling=("cls",), normalize=True, query_prefix="Represent this sentence for searching relevant passages: "
)
_BGE_CHINESE = Recipe(pooling=("cls",), normalize=True, query_prefix="为这个句子生成表示以用于检索相关文章：")  # noqa: RUF001

# The first pattern that fits the last part of a name or path decides.
_KNOWN: tuple[tuple[str, Recipe], ...] = (
    ("contriever*", _MEAN_DOT),  # Izacard et al. 2022; also contriever-msmarco
    ("mcontriever*", _MEAN_DOT),
    ("*-tas-b", _CLS_DOT),  # Hofstätter et al. 2021
    ("*instruct*", Recipe()),  # their instruction names the task: no fixed prefix is right
    ("e5-mistral*", Recipe()),
    ("e5-*", _E5),  # Wang et al. 2022
    ("multilingual-e5-*", _E5),
    ("bge-m3*", _BGE),
    ("bge-*-en*", _BGE_ENGLISH),  # Xiao et al. 2023
    ("bge-*-zh*", _BGE_CHINESE),
    ("*-dot-v[0-9]*", _MEAN_DOT),  # sentence-transformers names its models for inner products so
    ("*-ance-*", _CLS_DOT),
    ("distilbert-base-*", Recipe()),  # the encoder of the QuIPU paper: mean, not normalized
)


def known_recipe(name: str) -> Recipe | None:
    """Return what is known about a model, by its name on Hugging Face or the last part of its path.

    >>> known_recipe("facebook/contriever").similarity, known_recipe("models/e5-small-v2").query_prefix
    ('dot', 'query: ')
    >>> known_recipe("a-model-of-ones-own") is None
    True
    """
    last = _last_part(name).casefold()
    return next((recipe for pattern, recipe in _KNOWN if fnmatch.fnmatchcase(last, pattern)), None)


def _last_part(name: str) -> str:
    parts = PurePath(name).parts
    # A snapshot in Hugging Face's cache ends in a commit; its name stands before: models--owner--name/snapshots/...
    cached = [part for part in parts if part.startswith("models--")]
    return cached[-1].rpartition("--")[2] if cached else (parts[-1] if parts else "")
