"""Mechanisms that send whole queries of a pool, through an experiment: obfuscated, searched, attacked, reported."""

from pathlib import Path

import pytest

from quipukit.covers.make import make_partition
from quipukit.covers.pool import QueryPool
from quipukit.mechanisms.cover import Cover
from quipukit.mechanisms.decoys import Decoys
from quipukit.mechanisms.queryexp import QueryExp
from quipukit.retrieval.consent import sends_original
from tests.covers.pools import STATIC
from tests.experiment import tiny


@pytest.mark.heavy
def test_they_are_evaluated_like_any_other(village: Path, tmp_path: Path) -> None:
    cover = make_partition(QueryPool.of([*tiny.log_queries(), *tiny.TOPICS.values()], "village"), 5, STATIC)
    mechanisms = [Cover(k=5, cover=cover), QueryExp(epsilon=20, cover=cover), QueryExp(epsilon=0.01, cover=cover)]
    mechanisms += [Decoys(k=10, cover=cover), Decoys(k=2, cover=cover, topic="matched")]
    result = tiny.run(
        village, tmp_path / "out", specs=mechanisms, systems=(("bm25", "bm25"),), attackers=("Bayes", "Words")
    )
    assert result.mechanisms[:4] == ["Cover", "QueryExp", "Decoys", "Decoys(topic='matched')"]
    sent = result.obfuscated.groupby(["mechanism", "value", "qid"]).size()
    assert (sent["Decoys", 10] == 10).all() and (sent["Decoys(topic='matched')", 2] == 2).all()
    assert (sent["QueryExp", 20] == tiny.choices(village)["n"]).all()
    # The posterior of two texts is a half, of ten a tenth; nearly uniform noise leaves next to nothing.
    ranks = result.ranks[result.ranks["attacker"] == "Bayes"].groupby(["mechanism", "value"])["log_rank"].mean()
    assert ranks["Decoys(topic='matched')", 2] == 1.5 and ranks["Decoys", 10] == 5.5
    assert ranks["QueryExp", 20] < 3 < ranks["QueryExp", 0.01]


def test_what_sends_the_query_needs_consent() -> None:
    assert sends_original("Decoys") and sends_original("Decoys(topic='matched')") and sends_original("Cover")
    assert not sends_original("QueryExp") and not sends_original("QueryExp(encoder='minilm')")
