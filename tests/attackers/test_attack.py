"""The attack: its laws, with an encoder that is quick and plain, and one attacker; some for the whole panel."""

import functools

import numpy as np
import pandas as pd
import pytest

from quipukit.attackers.attack import Coverage
from quipukit.attackers.attack import attack as attack_by
from quipukit.attackers.attack import attack_report as report_by
from quipukit.attackers.log import QueryLog
from quipukit.attackers.registry import PANEL
from quipukit.errors import InputError
from quipukit.measures.risk import risk
from quipukit.obfuscation import obfuscate
from quipukit.vectors.store import Vectors
from tests.attackers.fakes import Bag

attack = functools.partial(attack_by, attackers=["QuIA"])
attack_report = functools.partial(report_by, attackers=["QuIA"])

WORDS = [f"word{letter}{other}" for letter in "abcdefgh" for other in "abcdefgh"]


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path))


@pytest.fixture(scope="module")
def vectors():
    return Vectors(WORDS, np.random.default_rng(1).standard_normal((len(WORDS), 5)))


@pytest.fixture(scope="module")
def queries():
    rng = np.random.default_rng(2)
    return pd.DataFrame(
        {"qid": [str(n) for n in range(12)], "query": [" ".join(rng.choice(WORDS, 3)) for _ in range(12)]}
    )


@pytest.fixture(scope="module")
def log(queries):
    rng = np.random.default_rng(3)
    return QueryLog.of([" ".join(rng.choice(WORDS, rng.integers(2, 5))) for _ in range(300)])


def better(frame):
    return frame.sort_values(["mechanism", "value", "qid"])["better"].tolist()


def test_identity_is_always_found(queries, log):
    report = attack_report(obfuscate(queries, "Identity", 5), queries, log, Bag())
    ranks = report.ranks
    assert ranks["better"].tolist() == [0] * 12 and ranks["tied"].tolist() == [0] * 12
    assert ranks["log_rank"].tolist() == [1.0] * 12 and set(ranks["attacker"]) == {"QuIA"}
    assert report.coverage == Coverage(log_size=len(log) + 12, no_obfuscation=0, queries=12, in_log=0, injected=12)
    assert ranks.attrs == {}


def test_noise_hides_and_large_epsilon_does_not(queries, log, vectors):
    table = obfuscate(queries, ["CMP@0.1", "CMP@1000"], 5, vectors=vectors, seed=1)
    ranks = attack(table, queries, log, Bag()).groupby("value")["log_rank"].mean()
    assert ranks[1000.0] == 1.0
    assert ranks[0.1] > 10


def test_the_log_s_order_case_and_duplicates_change_nothing(queries, log, vectors):
    table = obfuscate(queries, ["CMP@1", "CMP@3"], 5, vectors=vectors, seed=1)
    expected = better(attack(table, queries, log, Bag()))
    assert any(expected)
    shuffled = QueryLog.of(np.random.default_rng(4).permutation(log.texts).tolist())
    shouted = QueryLog.of([text.upper() for text in log.texts])
    doubled = QueryLog.of([*log.texts, *(f" {text.title()} " for text in log.texts)])
    for other in (shuffled, shouted, doubled):
        assert better(attack(table, queries, other, Bag())) == expected


@pytest.mark.parametrize("name", PANEL)
def test_order_case_and_duplicates_change_nothing_for_anybody(queries, log, vectors, name):
    table = obfuscate(queries, "CMP@2", 5, vectors=vectors, seed=1)
    found = functools.partial(attack_by, encoder=Bag(), attackers=[name], vectors=vectors)
    expected = better(found(table, queries, log))
    assert any(expected)
    shuffled = QueryLog.of(np.random.default_rng(4).permutation(log.texts).tolist())
    doubled = QueryLog.of([*log.texts, *(f" {text.title()} " for text in log.texts)])
    shouted = QueryLog.of([text.upper() for text in log.texts])
    for other in (shuffled, doubled, shouted):
        assert better(found(table, queries, other)) == expected
    # Originals have no advantage by being added: those that the log has by itself are found at the same ranks.
    itself = QueryLog.of([*queries["query"], *log.texts])
    assert better(found(table, queries, itself, inject=False)) == expected


def test_the_panel_attacks_unless_somebody_is_named(queries, log, vectors):
    table = obfuscate(queries, "CMP@2", 5, vectors=vectors, seed=1)
    ranks = attack_by(table, queries, log, Bag(), vectors=vectors)
    assert list(dict.fromkeys(ranks["attacker"])) == list(PANEL)
    beside = attack_by(table, queries, log, Bag(), vectors=vectors, attackers=["Lexical", "panel"])
    assert sorted(set(beside["attacker"])) == sorted(PANEL)


def test_a_query_is_attacked_by_its_own_variants_only(queries, log, vectors):
    table = obfuscate(queries, ["CMP@1", "CMP@3"], 5, vectors=vectors, seed=1)
    whole = attack(table, queries, log, Bag())
    shuffled = table.sample(frac=1, random_state=1)
    assert better(attack(shuffled, queries, log, Bag())) == better(whole)
    one = table[(table["qid"] == "3") & (table["value"] == 3.0)]
    alone = attack(one, queries[queries["qid"] == "3"], log.completed(queries["query"].tolist()), Bag())
    together = whole[(whole["qid"] == "3") & (whole["value"] == 3.0)]
    assert alone["better"].tolist() == together["better"].tolist()


def test_without_injection_an_original_that_the_log_lacks_cannot_be_found(queries, log):
    some = log.completed(queries["query"].tolist()[:5])
    report = attack_report(obfuscate(queries, "Identity", 2), queries, some, Bag(), inject=False)
    ranks = report.ranks
    assert report.coverage.in_log == 5 and report.coverage.injected == 0
    assert (ranks["better"] == -1).sum() == 7
    assert np.isinf(ranks["log_rank"]).sum() == 7


def test_two_originals_of_one_key_share_the_entry(log):
    twins = pd.DataFrame({"qid": ["a", "b"], "query": ["wordaa wordbb", "WORDAA  wordbb"]})
    report = attack_report(obfuscate(twins, "Identity", 1), twins, log, Bag())
    assert report.ranks["better"].tolist() == [0, 0] and report.ranks["tied"].tolist() == [0, 0]
    assert report.coverage.injected == 1


def test_empty_variants_and_uneven_numbers_are_used_as_they_are(queries, log):
    table = obfuscate(queries.head(2), "Identity", 3)
    table.loc[table["qid"] == "0", "query"] = ""
    table = table[(table["qid"] == "0") | (table["variant"] == 0)]
    ranks = attack(table, queries.head(2), log, Bag()).set_index("qid")
    assert ranks.loc["1", "better"] == 0
    # The centroid of nothing has norm 0 and is equally far from everything.
    assert ranks.loc["0", "tied"] == len(log) + 1


def test_texts_that_no_attacker_can_read_are_counted_in_a_warning(queries, log, vectors):
    table = obfuscate(queries, "Identity", 2)
    by_words = functools.partial(report_by, queries=queries, vectors=vectors, attackers=["Words", "Lexical"])
    assert by_words(table, log=log).remark() == ""
    strange = [f"zz{number}" if number % 2 else "" for number in range(len(table))]
    odd = table.assign(query=strange)
    with pytest.warns(UserWarning, match=r"24 of 24 texts have no word .* floor by style"):
        attack_by(odd, queries, log, vectors=vectors, attackers=["Words", "Lexical"])
    assert by_words(odd, log=[*log.texts, "zz1 zz3 zz5"]).remark().startswith("21 of 24"), "the log knows three"
    one = table.assign(query=["", *table["query"][1:]])
    assert by_words(one, log=log).remark() == "", "too few for a word"
    assert by_words(odd, log=log, attackers=["Lexical"]).remark() == "", "nobody has word vectors"


def test_guesses_show_what_the_attacker_would_say(queries, log):
    seen = attack_report(obfuscate(queries, "Identity", 2), queries, log, Bag()).guesses(3)
    first = seen[seen["guess"] == 1]
    assert first["hit"].all()
    assert first["query"].tolist() == queries["query"].tolist()
    assert (seen.groupby("qid")["similarity"].diff().dropna() <= 0).all()


def test_unknown_queries_are_refused_by_their_ids(queries, log):
    table = obfuscate({"x1": "wordaa", "x2": "wordbb"}, "Identity", 1)
    with pytest.raises(InputError, match=r"2 of 2 .* x1, x2") as fault:
        attack(table, queries, log, Bag())
    assert "wordaa" not in str(fault.value)


def test_a_setting_that_sent_nothing_for_a_query_has_risk_zero_there(queries, log, vectors):
    table = obfuscate(queries, ["CMP@1000", "CMP@2000"], 3, vectors=vectors, seed=1)
    table = table[(table["value"] != 2000) | (table["qid"] != "4")]
    report = attack_report(table, queries, log, Bag())
    ranks = report.ranks
    assert report.coverage.no_obfuscation == 1
    assert len(ranks) == 24
    lost = ranks[(ranks["value"] == 2000) & (ranks["qid"] == "4")].iloc[0]
    assert lost["better"] == -1 and np.isinf(lost["log_rank"])
    means = risk(ranks, 10).query("measure == 'P@1'").groupby("value")["score"].mean()
    assert means[1000.0] == 1.0 and means[2000.0] == pytest.approx(11 / 12)


def test_a_query_for_which_no_setting_sent_anything_counts_too(queries, log):
    """Two of three queries were sent: the risk is over three, not over two."""
    asked = queries.head(3)
    with pytest.warns(UserWarning, match="for 1 of 3 queries no setting sent anything"):
        ranks = attack(obfuscate(asked.head(2), "Identity", 2), asked, log, Bag())
    assert ranks["qid"].tolist() == ["0", "1", "2"] and ranks["better"].tolist() == [0, 0, -1]
    facts = attack_report(obfuscate(asked.head(2), "Identity", 2), asked, log, Bag()).coverage
    assert facts.no_obfuscation == 1 and facts.queries == 3
    hits = risk(ranks).query("measure == 'P@1'")["score"]
    assert len(hits) == 3 and hits.mean() == pytest.approx(2 / 3)


def test_where_nothing_at_all_was_sent_every_risk_is_zero(queries, log):
    nothing = obfuscate(queries, ["Identity"], 1).iloc[:0]
    named = pd.DataFrame({"mechanism": ["AEA", "AEA"], "parameter": "level", "value": [3, 4]})
    with pytest.warns(UserWarning, match="for 12 of 12 queries"):
        ranks = attack(nothing, queries, log, Bag(), settings=named)
    assert len(ranks) == 24 and (ranks["better"] == -1).all() and np.isinf(ranks["log_rank"]).all()
    assert attack_report(nothing, queries, log, Bag(), settings=named).coverage.no_obfuscation == 24
    assert (risk(ranks)["score"] == 0).all()
    # Without their names nobody can know which settings these were, but nothing breaks.
    with pytest.warns(UserWarning, match="for 12 of 12 queries"):
        assert attack(nothing, queries, log, Bag()).empty


def test_a_setting_that_sent_nothing_stands_beside_those_that_did(queries, log):
    sent = obfuscate(queries, "Identity", 1)
    silent = pd.DataFrame({"mechanism": ["AEA"], "parameter": ["level"], "value": [3.0]})
    report = attack_report(sent, queries, log, Bag(), settings=pd.concat([sent, silent]))
    ranks = report.ranks
    assert len(ranks) == 24 and report.coverage.no_obfuscation == 12
    means = risk(ranks).query("measure == 'R@10'").groupby("mechanism")["score"].mean()
    assert means.to_dict() == {"AEA": 0.0, "Identity": 1.0}


def test_guesses_where_nothing_was_sent(queries, log):
    nothing = obfuscate(queries, "Identity", 1).iloc[:0]
    assert attack_report(nothing, queries, log, Bag()).guesses(3).empty


def test_an_empty_original_is_a_query_like_any_other(log):
    queries = pd.DataFrame({"qid": ["1", "2"], "query": ["", "wordaa wordbb"]})
    report = attack_report(obfuscate(queries, "Identity", 1), queries, log, Bag())
    assert (report.ranks["better"] >= 0).all() and report.coverage.injected == 2
