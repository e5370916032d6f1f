"""The check of collections lets right ones pass, and finds what is wrong with others."""

import pandas as pd
import pytest

from quipukit.collections.wordnet_glosses import WordNetGlosses
from quipukit.testing import check_collection
from tests.retrieval.test_pool import Pets


class Logged(Pets):
    log_name = "pets"

    def query_log(self):
        return ["a cat"]


class Nameless(Pets):
    name = ""


class Twice(Pets):
    def documents(self):
        yield from [*super().documents()] * 2


class Turning(Pets):
    turn = 1

    def documents(self):
        self.turn = -self.turn
        return iter(list(super().documents())[:: self.turn])


class Longer(Pets):
    def __len__(self):
        return super().__len__() + 1


class Other(Pets):
    def texts(self, docnos):
        return {docno: text.upper() for docno, text in super().texts(docnos).items()}


class Inventive(Pets):
    def texts(self, docnos):
        return dict.fromkeys(docnos, "") | dict(super().texts(docnos))


class Strangers(Pets):
    def qrels(self):
        return pd.DataFrame({"qid": ["nobody"], "docno": ["d1"], "relevance": [1]})


class Promising(Pets):
    log_name = "pets"


class Silent(Logged):
    log_name = None


class Unprinted(Pets):
    fingerprint = ""


@pytest.mark.parametrize("make", [Pets, Logged])
def test_right_ones_pass(make):
    check_collection(make())


@pytest.mark.heavy
def test_the_built_in_one_passes():
    check_collection(WordNetGlosses())


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (Nameless, "must set a name"),
        (Unprinted, "fingerprint is empty"),
        (Twice, "a docno comes twice"),
        (Turning, "in another order"),
        (Longer, "its length is"),
        (Other, "gives others than documents"),
        (Inventive, "that is not there"),
        (Strangers, "are not among its queries"),
        (Promising, "names a log and has none"),
        (Silent, "no log_name"),
    ],
)
def test_wrong_ones_do_not(wrong, reason):
    with pytest.raises(AssertionError, match=reason):
        check_collection(wrong())
