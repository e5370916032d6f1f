"""An object of a plugin that misbehaves when it is called is named, with its class, and no query is quoted."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

import quipukit as qk
from quipukit.attackers.base import Attacker
from quipukit.errors import InputError, QuipukitError, ResourceError
from quipukit.guarantees import NoGuarantee
from quipukit.mechanisms.base import QueryMechanism, Variants
from quipukit.plugins import is_ours, named_each, temporarily_installed
from quipukit.retrieval.base import Ranking, Retriever, Scorer, scored
from quipukit.retrieval.pool import search_distinct

SECRET = "zorbal quintle"
ASKED = pd.DataFrame({"qid": ["1", "2"], "query": [SECRET, "dog food"]})


def failing(*anything):
    raise ValueError(f"cannot work with {SECRET}")


def mechanism_that(makes):
    @dataclass(frozen=True, kw_only=True)
    class Odd(QueryMechanism):
        name, summary, strategy = "Odd", "misbehaves", "heuristic"
        guarantee = NoGuarantee("it misbehaves")

        def variants(self, query, n, rngs):
            return makes(query, n)

    return Odd


def refused(call, kind, words):
    with pytest.raises(QuipukitError, match=words) as caught:
        call()
    said = str(caught.value)
    assert f"the {kind} Odd" in said.replace("'", "") and SECRET not in said and "\n" not in said
    return caught.value


@pytest.mark.parametrize(
    ("makes", "words"),
    [
        (failing, "raised ValueError; repair it"),
        (lambda query, n: [query] * n, "gave list in the place of Variants"),
        (lambda query, n: None, "gave NoneType in the place of Variants"),
        (lambda query, n: Variants([3] * n), "gave variants that are no texts"),
        (lambda query, n: Variants([float("nan")] * n), "gave variants that are no texts"),
        (lambda query, n: Variants(["a"] * (n + 2)), "gave 5 variants where 3 were asked for"),
    ],
)
def test_a_mechanism(makes, words):
    with temporarily_installed("quipukit.mechanisms", Odd=mechanism_that(makes)):
        fault = refused(lambda: qk.obfuscate(ASKED, "Odd", n=3, seed=1), "mechanism", words)
    assert isinstance(fault, ResourceError) and "test_plugin_faults:" in str(fault)


def test_a_mechanism_may_find_fewer_variants_and_raise_our_own_errors():
    few = mechanism_that(lambda query, n: Variants(["a"]))
    assert len(qk.obfuscate(ASKED, few(), n=3, seed=1)) == 2

    def complaining(query, n):
        raise InputError("no such thing; do otherwise.")

    with pytest.raises(InputError, match=r"^no such thing; do otherwise\.$"):
        qk.obfuscate(ASKED, mechanism_that(complaining)(), n=3, seed=1)


def attacker_that(gives, learns=lambda log: None):
    class Odd(Attacker):
        name, summary, knows = "Odd", "misbehaves", "log"

        def prepare(self, log, progress=None):
            self.rows = len(log)
            learns(log)

        def scores(self, sent):
            return gives(self.rows)

    return Odd


@pytest.mark.parametrize(
    ("gives", "words"),
    [
        (failing, "raised ValueError; repair it"),
        (lambda rows: np.zeros(rows + 1), "gave no finite score for each of the 3 rows"),
        (lambda rows: np.zeros((rows, 1)), "gave no finite score for each of the 3 rows"),
        (lambda rows: np.full(rows, np.nan), "gave no finite score for each of the 3 rows"),
        (lambda rows: None, "gave no finite score for each of the 3 rows"),
        (lambda rows: ["a"] * rows, "gave no finite score for each of the 3 rows"),
    ],
)
def test_an_attacker(gives, words):
    sent = qk.obfuscate(ASKED, "Identity", n=1)
    with temporarily_installed("quipukit.attackers", Odd=attacker_that(gives)):
        refused(lambda: qk.attack(sent, ASKED, [SECRET, "dog food", "c"], attackers=["Odd"]), "attacker", words)


def test_an_attacker_that_cannot_learn():
    sent = qk.obfuscate(ASKED, "Identity", n=1)
    with temporarily_installed("quipukit.attackers", Odd=attacker_that(None, failing)):
        refused(lambda: qk.attack(sent, ASKED, [SECRET], attackers=["Odd"]), "attacker", "raised ValueError")


class Odd(Scorer):
    """A re-ranker that does what it is told."""

    name = "Odd"

    def __init__(self, does):
        self.does = does

    def score_many(self, batches, progress=None):
        return self.does(batches)


def sorting(batches):
    for _, docnos in batches:
        docnos.sort()
    return [np.arange(len(docnos)) for _, docnos in batches]


@pytest.mark.parametrize(
    ("does", "words"),
    [
        (failing, "raised ValueError; repair it"),
        (lambda batches: None, "gave no list of scores for each of 1 queries"),
        (lambda batches: [], "gave no list of scores for each of 1 queries"),
        (lambda batches: [np.zeros(3)], "gave no finite score for each of 2 documents"),
        (lambda batches: [np.full(2, np.nan)], "gave no finite score for each of 2 documents"),
        (lambda batches: [["a", "b"]], "gave scores that are no numbers"),
        (sorting, "changed the documents that it was given"),
    ],
)
def test_a_re_ranker(does, words):
    documents = ["d2", "d1"]
    refused(lambda: scored(Odd(does), [(SECRET, documents)]), "re-ranker", words)
    assert documents == ["d2", "d1"]


def test_a_re_ranker_that_does_its_work():
    (scores,) = scored(Odd(lambda batches: [[2, 1]]), [(SECRET, ("d2", "d1"))])
    assert scores.tolist() == [2.0, 1.0]


@pytest.mark.parametrize(
    ("gives", "words"),
    [
        (failing, "raised ValueError; repair it"),
        (lambda texts: None, "gave no list of 1 rankings"),
        (lambda texts: [], "gave no list of 1 rankings"),
        (lambda texts: [["d1"]], "gave no list of 1 rankings"),
        (lambda texts: [Ranking(["d1"], np.zeros(2))], "gave no list of 1 rankings"),
    ],
)
def test_a_search_system(gives, words):
    class Engine(Retriever):
        name = "Odd"

        def search(self, queries, depth, progress=None):
            return gives(queries)

    refused(lambda: search_distinct([SECRET], Engine(), 5), "search system", words)


def test_our_own_parts_are_not_blamed():
    assert is_ours(qk.mechanism("Identity")) and not is_ours(Odd(failing))
    with pytest.raises(ZeroDivisionError):
        list(named_each("mechanism", qk.mechanism("Identity"), (1 / 0 for _ in range(1))))
