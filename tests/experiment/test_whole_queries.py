"""Mechanisms that send whole queries of a pool, through an experiment: obfuscated, searched, attacked, reported."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quipukit.covers.load import load_pool
from quipukit.covers.make import make_partition
from quipukit.covers.partition import read_partition
from quipukit.covers.pool import QueryPool
from quipukit.errors import QuipukitError
from quipukit.experiment.inputs import resolve
from quipukit.experiment.options import Options
from quipukit.mechanisms.cover import Cover
from quipukit.mechanisms.decoys import Decoys
from quipukit.mechanisms.queryexp import QueryExp
from quipukit.report.run_description import run_description
from quipukit.retrieval.consent import sends_original
from tests.covers.pools import STATIC
from tests.experiment import tiny


@pytest.mark.slow
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


@pytest.mark.heavy
def test_a_pool_and_its_partition_are_named_like_other_inputs(village: Path, tmp_path: Path) -> None:
    """Two of the topics are in the log, which is the pool; the others are hidden, and not sent."""
    partition = tmp_path / "log.cover"
    make_partition(load_pool(village / "log.txt"), 5, STATIC).save(partition)
    attackers = ("Bayes", "Bayes(prior=style)")
    result = tiny.run(
        village,
        tmp_path / "out",
        specs=["Cover@5", "Cover@40"],
        systems=(("bm25", "bm25"),),
        attackers=attackers,
        partition=partition,
    )
    covered = result.obfuscated[result.obfuscated["mechanism"] == "Cover"]
    sent = covered.groupby("qid")["query"].agg(set)
    own = {qid: tiny.TOPICS[qid] in sent[qid] for qid in tiny.TOPICS}
    assert own == {"q1": False, "q2": True, "q3": False, "q4": False, "q5": True}
    assert set(result.notes.loc[result.notes["flag"] == "outside", "qid"]) == {"q1", "q3", "q4"}
    ranks = result.ranks[(result.ranks["attacker"] == "Bayes") & (result.ranks["qid"] == "q2")].set_index("value")
    assert ranks.loc[5, "log_rank"] < ranks.loc[40, "log_rank"]
    whole = read_partition(partition, load_pool(village / "log.txt"))
    assert result.manifest["covers"] == {
        "log.txt": {
            "queries": len(whole.pool),
            "sha256": whole.pool.sha256,
            "completed": False,
            "partition": {"leaf": 5, "fingerprint": whole.fingerprint},
            "settings": ["Cover@5", "Cover@40"],
            "k": [5, 40],
        }
    }
    assert not [text for text in whole.pool.texts if text in json.dumps(result.manifest["covers"])]
    told = dict(run_description(result))["Public queries to hide among"]
    assert told.startswith(f"log.txt, {len(whole.pool)} queries, groups of 5 and 40, SHA-256 {whole.pool.sha256[:12]}")
    assert f"partition {whole.fingerprint[:12]}" in told and told.endswith("for Cover@5 and Cover@40")
    with pytest.raises(QuipukitError, match="give the pool that it was made for"):
        tiny.run(village, tmp_path / "other", specs=["Cover@5"], log=["another log"], partition=partition)


@pytest.mark.heavy
def test_a_pool_can_be_completed_with_the_queries(village: Path, tmp_path: Path) -> None:
    completed = QueryPool.of([*tiny.log_queries(), *tiny.TOPICS.values()], "log.txt")
    partition = tmp_path / "completed.cover"
    make_partition(completed, 5, STATIC).save(partition)
    result = tiny.run(
        village,
        tmp_path / "out",
        specs=["Cover@5"],
        systems=(("bm25", "bm25"),),
        attackers=("Bayes",),
        pool="completed",
        partition=partition,
    )
    covered = result.obfuscated[result.obfuscated["mechanism"] == "Cover"].groupby("qid")["query"].agg(set)
    assert all(tiny.TOPICS[qid] in covered[qid] for qid in tiny.TOPICS)
    told = dict(run_description(result))["Public queries to hide among"]  # by whose hashes a guess could be tested
    assert "completed with the queries of this run" in told
    assert completed.sha256[:12] not in told and result.manifest["covers"]["log.txt"]["sha256"] == completed.sha256


@pytest.mark.heavy
def test_another_partition_changes_what_depends_on_it_and_nothing_else(
    village: Path, tmp_path: Path, saved: "Callable[[], dict[str, int]]"
) -> None:
    path, first = tmp_path / "log.cover", make_partition(load_pool(village / "log.txt"), 5, STATIC)
    other = dataclasses.replace(first, order=first.order[::-1].copy())
    chosen: dict[str, Any] = {"specs": ["Cover@5", "CMP@10"], "systems": (("bm25", "bm25"),), "attackers": ("Bayes",)}
    results = []
    for number, partition in enumerate((first, first, other)):
        partition.save(path)
        saved()
        results.append(tiny.run(village, tmp_path / "out", **chosen, partition=path))
        if number == 1:
            assert saved() == {}  # the same groups, in a file that was written anew
    again = saved()
    assert again and set(again.values()) == {1}  # of three settings (Identity is one) that of Cover alone
    assert again["obfuscated"] == again["ranks"] == again["pool"] == 1
    prints = [one.manifest["covers"]["log.txt"]["partition"]["fingerprint"] for one in results]
    assert prints[0] == prints[1] != prints[2] and results[0].digest == results[1].digest != results[2].digest
    assert "covers" not in tiny.run(village, tmp_path / "without", **{**chosen, "specs": ["CMP@10"]}).manifest


def test_the_pool_of_a_static_run_is_divided_by_its_own_encoder(village: Path) -> None:
    """Otherwise the model would be loaded for the pool alone, and millions of queries would take hours."""
    chosen = {"specs": ("Cover@5",), "log": str(village / "log.txt"), "collection": str(village), "n": 3}
    covers = [resolve(Options(**chosen, encoder=one)).settings[0].bound for one in ("static", "static:default")]
    assert [one.cover.description.encoder for one in covers if isinstance(one, Cover)] == ["static:default"] * 2
