"""A slice of the published obfuscated queries, attacked with the real encoder; `make reproduce` attacks them all."""

import pytest

import quipukit as qk

pytestmark = pytest.mark.published


@pytest.fixture(scope="module")
def risks(shared_data):
    obfuscated, queries = qk.read_obfuscated(shared_data / "published" / "dl19" / "CMP")
    some = set(queries["qid"].head(8))
    kept = obfuscated["qid"].isin(some) & obfuscated["value"].isin([1.0, 15.0, 50.0]) & (obfuscated["variant"] < 4)
    log = qk.read_log(qk.read_log(shared_data / "querylog" / "queries.tsv.gz").texts[:150])
    ranks = qk.attack(obfuscated[kept], queries[queries["qid"].isin(some)], log, attackers=["QuIA"])
    return qk.risk(ranks).groupby(["value", "measure"])["score"].mean()


def test_more_epsilon_is_more_risk(risks):
    for measure in ("P@1", "R@10", "RR"):
        assert risks[1.0, measure] <= risks[15.0, measure] <= risks[50.0, measure]


def test_pure_noise_hides_and_next_to_none_does_not(risks):
    # Ten of 158 entries are a share of 0.06: at epsilon 1 the attacker does hardly better than by chance.
    assert risks[1.0, "R@10"] <= 0.25
    assert risks[50.0, "R@10"] == 1.0
    assert risks[50.0, "P@1"] >= 0.8
