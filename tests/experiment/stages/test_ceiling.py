"""What the original finds among as many documents as a setting pooled."""

import pandas as pd

from quipukit.experiment.cells import Cell
from quipukit.experiment.stages.ceiling import depths_of, first_documents
from quipukit.settings import Setting

CELL = Cell(7, Setting("CMP", "epsilon", 5.0, 3))


def test_a_query_of_which_little_was_sent_is_searched_as_deep_as_identity() -> None:
    pool = pd.DataFrame({"qid": ["1", "1", "1", "2"], "docno": ["a", "b", "c", "a"]})
    assert depths_of(pool, ["1", "2", "3"], 2) == {"1": 3, "2": 2, "3": 2}


def test_the_first_documents_become_a_pool_of_the_setting() -> None:
    pool = first_documents({"1": ["b", "a", "c"], "2": ["d"]}, {"1": 2, "2": 5}, CELL)
    assert pool[["qid", "docno"]].to_dict("list") == {"qid": ["1", "1", "2"], "docno": ["a", "b", "d"]}
    assert set(pool["mechanism"]) == {"CMP"} and set(pool["value"]) == {5.0}
