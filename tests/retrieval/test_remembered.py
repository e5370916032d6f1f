"""A re-ranker that scores each pair once."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from quipukit.progress import Progress
from quipukit.retrieval.base import Scorer
from quipukit.retrieval.remembered import RememberedScores


class Counting(Scorer):
    """Scores a document by its number, and keeps what it was asked."""

    name = "counting"

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def score_many(
        self, batches: Sequence[tuple[str, Sequence[str]]], progress: Progress | None = None
    ) -> list["np.ndarray[Any, np.dtype[np.float64]]"]:
        self.asked += [(query, docno) for query, docnos in batches for docno in docnos]
        return [np.array([float(docno) + len(query) for docno in docnos]) for query, docnos in batches]


def test_each_pair_is_scored_once_and_scores_are_the_scorer_s_own() -> None:
    counting = Counting()
    remembered = RememberedScores(counting)
    assert remembered.name == "counting"
    batches = [("a", ["3", "1"]), ("bb", ["1"]), ("a", ["1", "2"])]
    for _ in range(2):
        found = [scores.tolist() for scores in remembered.score_many(batches)]
        assert found == [scores.tolist() for scores in Counting().score_many(batches)]
    assert sorted(counting.asked) == [("a", "1"), ("a", "2"), ("a", "3"), ("bb", "1")]


def test_nothing_is_asked_for_nothing() -> None:
    counting = Counting()
    assert [scores.tolist() for scores in RememberedScores(counting).score_many([("a", [])])] == [[]]
    assert counting.asked == []
