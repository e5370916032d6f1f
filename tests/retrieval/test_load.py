"""Search systems and re-rankers by name: found, refused with the fix, and never confused with an address."""

import pytest

from quipukit.errors import InputError, ResourceError, SpecError
from quipukit.plugins import temporarily_installed
from quipukit.retrieval.base import Retriever
from quipukit.retrieval.load import (
    is_address,
    is_dense,
    is_remote,
    load_retriever,
    load_scorer,
    model_of,
    reranker_plugins,
    system_name,
)


class Mine(Retriever):
    name = "mine"

    def __init__(self, collection):
        self.collection = collection

    def search(self, queries, depth):
        return [[] for _ in queries]


class Remote(Mine):
    remote = True


def test_a_plugin_is_made_with_the_collection():
    collection = object()
    with temporarily_installed("quipukit.retrievers", Mine=Mine, Remote=Remote, Wrong=lambda collection: 1):
        found = load_retriever("mine", collection)
        assert isinstance(found, Mine) and found.collection is collection
        assert is_remote("Remote") and not is_remote("Mine") and not is_dense("Mine")
        with pytest.raises(ResourceError, match=r"'Wrong' gives no Retriever"):
            load_retriever("Wrong", collection)


def test_a_plugin_that_hides_that_it_is_remote_is_refused():
    def make(collection):
        return Remote(collection)

    with temporarily_installed("quipukit.retrievers", Sly=make), pytest.raises(InputError, match="set remote = True"):
        load_retriever("Sly", object())


def test_a_retriever_is_taken_as_it_is():
    mine = Mine(None)
    assert load_retriever(mine) is mine


def test_names_are_written_in_one_way():
    assert system_name("BM25") == "bm25" and system_name("dense:org/model") == "dense:org/model"
    assert system_name("opensearch+http://host/news/") == "opensearch+http://host/news"


@pytest.mark.parametrize("name", ["dense:org/model", "Dense:org/model", "DENSE:org/model"])
def test_a_dense_search_is_no_address_in_any_case(name):
    assert not is_address(name) and not is_remote(name) and is_dense(name)
    assert system_name(name) == "dense:org/model" and model_of(name) == "org/model"
    assert is_address("Dense:me@host") and is_address("Dense:bob:secret")
    assert model_of("Dense") == model_of("Dense:") == "minilm"


def test_an_unknown_name_lists_what_there_is():
    with pytest.raises(SpecError, match=r"no search system 'bm24'.*bm25"):
        load_retriever("bm24", object())
    with pytest.raises(InputError, match="searches a collection"):
        load_retriever("bm25")


@pytest.mark.parametrize("name", ["solr+http://host/solr/core", "http://host", "solr:bob:hunter2"])
def test_no_engine_re_ranks(name):
    """It would get the original queries."""
    with pytest.raises(InputError, match="a model on this machine") as fault:
        load_scorer(name, object())
    assert "hunter2" not in str(fault.value)


def test_a_wrong_re_ranker_of_a_plugin_is_refused():
    with temporarily_installed("quipukit.rerankers", Wrong=lambda collection: 1):
        assert set(reranker_plugins()) == {"Wrong"}
        with pytest.raises(ResourceError, match="'Wrong' gives no Scorer"):
            load_scorer("Wrong", object())
