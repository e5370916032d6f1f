"""What attackers may be given and cannot do much with: they say so, or count it, and rank the log all the same."""

import warnings

import numpy as np
import pandas as pd
import pytest

import quipukit as qk
from quipukit.attackers.bayes import Bayes
from quipukit.attackers.fusion import Fusion
from quipukit.attackers.lexical import Lexical
from quipukit.attackers.log import QueryLog
from quipukit.attackers.maxsim import MaxSim
from quipukit.attackers.positional import Positional
from quipukit.attackers.style import Style
from quipukit.attackers.support import Support
from quipukit.attackers.words import Words
from tests.attackers import small

KNOWN = small.vectors()
LOG = small.queries(90)
ASKED = pd.DataFrame({"qid": [str(number) for number in range(6)], "query": LOG[:6]})


def everybody():
    agnostic = [cls(vectors=KNOWN) for cls in (Words, Positional, MaxSim, Style, Fusion)]
    aware = [Bayes(vectors=KNOWN), Bayes(vectors=KNOWN, epsilon="unknown"), Support(vectors=KNOWN)]
    return [*agnostic, Lexical(), *aware]


def sent(texts, mechanism="CusText", value=2.0):
    """Return the same texts for every query."""
    rows = [
        (qid, number, text, mechanism, "epsilon", value) for qid in ASKED["qid"] for number, text in enumerate(texts)
    ]
    return pd.DataFrame(rows, columns=["qid", "variant", "query", "mechanism", "parameter", "value"])


def ranks(obfuscated, log=LOG, **options):
    found = qk.attack(obfuscated, ASKED, log, attackers=everybody(), **options)
    assert len(found) == len(ASKED) * len(everybody()) and not found["log_rank"].isna().any()
    return found


@pytest.mark.parametrize("mechanism", ["CusText", "TEM", pytest.param("CMP", marks=pytest.mark.slow)])
def test_words_of_no_vocabulary_are_counted_and_decide_nothing(mechanism):
    texts = ["zzyx qwrt pqx", "mmmm qwrt zzyx"]
    words = r"36 of 36 words that were sent are not in the vocabulary that Bayes"
    with pytest.warns(UserWarning, match="12 of 12 texts have no word"), pytest.warns(UserWarning, match=words):
        found = ranks(sent(texts, mechanism))
    # Nothing is ruled out by them: of the queries with as many words none stands before another.
    same = sum(len(text.split()) == 3 for text in LOG)
    bayes = found[(found["attacker"] == "Bayes") & found["qid"].isin(ASKED["qid"][ASKED["query"].str.count(" ") == 2])]
    assert len(bayes) and (bayes["better"] == 0).all() and (bayes["tied"] == same - 1).all()


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param([LOG[0]], id="one variant"),
        pytest.param(LOG[:8], id="mixed lengths"),
        pytest.param(["", "", ""], id="nothing but empty variants"),
        pytest.param([LOG[0], ""], id="an empty variant"),
        pytest.param([" ".join(LOG)], id="longer than any query"),
    ],
)
def test_odd_sets_are_ranked(texts):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = ranks(sent(texts))
    assert np.isfinite(found["log_rank"]).all()
    assert found["better"].between(0, len(LOG) - 1).all()


def test_an_empty_variant_changes_nothing():
    # Of two numbers of words that are equally common it would be the smaller one, and no query has no word.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone, beside = ranks(sent([LOG[0]])), ranks(sent([LOG[0], ""]))
    assert alone["better"].tolist() == beside["better"].tolist()


def test_a_log_without_the_originals_finds_nothing_and_says_so():
    found = ranks(sent([LOG[0]]), LOG[6:], inject=False)
    assert (found["better"] == -1).all() and np.isinf(found["log_rank"]).all()
    report = qk.attack_report(sent([LOG[0]]), ASKED, LOG[6:], inject=False, attackers=[Lexical()])
    assert report.coverage.in_log == 0


def test_a_log_with_counts():
    log = QueryLog.of(LOG, range(1, len(LOG) + 1))
    assert np.isfinite(ranks(sent([LOG[0]]), log)["log_rank"]).all()


def test_a_log_of_one_query():
    assert (ranks(sent([LOG[0]]), LOG[:1])["better"] >= 0).all()
