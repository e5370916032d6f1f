"""What the original finds among as many documents as a setting pooled."""

import pandas as pd

from quipukit.experiment.stages.ceiling import depths_of, first_documents


def test_a_query_of_which_little_was_sent_is_searched_as_deep_as_identity() -> None:
    pool = pd.DataFrame({"qid": ["1", "1", "1", "2"], "docno": ["a", "b", "c", "a"]})
    for parts in ([pool], [pool[:2], pool[2:]]):
        assert depths_of(parts, ["1", "2", "3"], 2) == {"1": 3, "2": 2, "3": 2}


def test_the_first_documents_become_a_pool() -> None:
    pool = first_documents({"1": ["b", "a", "c"], "2": ["d", "d"]}, {"1": 2, "2": 5})
    assert pool[["qid", "docno"]].to_dict("list") == {"qid": ["1", "1", "2"], "docno": ["b", "a", "d"]}
    # Without a re-ranker the order of each list stays.
    assert pool["fused"].tolist() == [1 / 61, 1 / 62, 1 / 61]
    assert first_documents({}, {}).empty
