"""Search systems as values."""

import pickle

import numpy as np
import pytest

from quipukit.encoders.load import load_encoder
from quipukit.encoders.store import EncodingStore, PrivateStore
from quipukit.errors import InputError, ResourceError, SpecError
from quipukit.plugins import temporarily_installed
from quipukit.retrieval.base import Ranking, Retriever, Scorer
from quipukit.retrieval.bm25 import BM25
from quipukit.retrieval.http import HttpEngine
from quipukit.retrieval.saved import Saved
from quipukit.retrieval.system import SystemSpec, check_systems, combine, parse_systems
from tests.encoders.fakes import HashEncoder
from tests.retrieval.test_pool import Pets

ENGINE = "solr+http://127.0.0.1:1/solr/news"


class Mine(Retriever):
    name = "mine"

    def __init__(self, found: str = "d1") -> None:
        self.found = found

    def search(self, queries, depth, progress=None):
        return [Ranking([self.found], np.ones(1)) for _ in queries]


class Longest(Scorer):
    name = "longest"

    def score_many(self, batches, progress=None):
        return [np.array([float(len(docno)) for docno in docnos]) for _, docnos in batches]


def test_names_are_kept_and_printed():
    spec = SystemSpec("BM25", "minilm")
    assert (spec.name, spec.names, repr(spec)) == ("bm25 + minilm", ("bm25", "minilm"), "SystemSpec('bm25', 'minilm')")
    assert spec.portable and not spec.remote
    assert SystemSpec(*spec.names) == spec and len({spec, SystemSpec("bm25", "minilm")}) == 1
    assert pickle.loads(pickle.dumps(spec)) == spec


def test_an_address_is_written_in_one_way_and_holds_no_login():
    spec = SystemSpec("SOLR+http://127.0.0.1:1/solr/news/", "bm25")
    assert spec.name == f"{ENGINE} + bm25" and spec.remote and spec.retriever_fingerprint == ""
    with pytest.raises(InputError, match="must hold no user or password") as told:
        SystemSpec("solr+http://bob:s3cret@host/solr/news")
    assert "s3cret" not in str(told.value)


@pytest.mark.parametrize("reranker", [ENGINE, "solr:bob:s3cret"])
def test_a_reranker_is_never_an_address(reranker):
    with pytest.raises(InputError, match="a model on this machine") as told:
        SystemSpec("bm25", reranker)
    assert "s3cret" not in str(told.value)


def test_an_unknown_retriever_is_told_at_once():
    with pytest.raises(SpecError, match=r"there is no search system 'bm52'; did you mean bm25\?"):
        SystemSpec("bm52")


def test_objects_have_a_name_and_a_fingerprint():
    spec = SystemSpec(Mine(), Longest())
    assert spec.name == "mine + longest" and not spec.portable
    assert spec.fingerprint == SystemSpec(Mine(), Longest()).fingerprint
    assert spec.retriever_fingerprint != SystemSpec(Mine("d2")).retriever_fingerprint
    assert spec.load_retriever(Pets()) is spec.retriever
    assert spec.load_scorer(Pets()) is spec.reranker


class Nameless(Mine):
    name = ""


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((Longest(), "bm25"), r"a retriever is a name or a Retriever \(found Longest\)"),
        (("bm25", Mine()), r"a reranker is a name or a Scorer \(found Mine\)"),
        ((Nameless(), "bm25"), "give Nameless an attribute 'name'"),
        ((None, "bm25"), r"\(found NoneType\)"),
    ],
)
def test_what_is_neither_a_name_nor_an_object_of_its_kind(parts, message):
    with pytest.raises(InputError, match=message):
        SystemSpec(*parts)


@pytest.mark.parametrize("given", [("bm25", "minilm"), "bm25", [("bm25",)], [("bm25", "minilm", "x")], 7, [7], Mine()])
def test_what_is_no_system(given):
    with pytest.raises(InputError, match="systems are pairs of a retriever and a re-ranker"):
        parse_systems(given)


def test_systems_from_pairs_and_specs():
    one = SystemSpec("bm25", "bm25")
    assert parse_systems(one) == (one,)
    assert parse_systems([one, ["bm25", "minilm"]]) == (one, SystemSpec("bm25", "minilm"))


def test_retrievers_and_rerankers_are_combined():
    mine = Mine()
    assert combine(mine, "bm25") == (SystemSpec(mine, "bm25"),)
    assert combine(["bm25", "dense"], ["minilm", "bm25"]) == (SystemSpec("bm25"), SystemSpec("dense", "bm25"))
    with pytest.raises(InputError, match="2 re-rankers for 3 retrievers"):
        combine(["bm25"] * 3, ["minilm", "bm25"])


def test_the_fingerprint_follows_the_model_behind_a_name():
    with temporarily_installed("quipukit.encoders", mine=HashEncoder):
        spec = SystemSpec("dense:mine", "mine")
        assert spec.retriever_fingerprint == spec.reranker_fingerprint == HashEncoder().fingerprint
        assert SystemSpec("bm25", "bm25").retriever_fingerprint == ""
    with temporarily_installed("quipukit.retrievers", mine=lambda collection: Mine()):
        assert SystemSpec("mine", "bm25").retriever_fingerprint != ""
    with temporarily_installed("quipukit.rerankers", longest=lambda collection: Longest()):
        spec = SystemSpec("bm25", "longest")
        assert spec.reranker_fingerprint != ""
        assert isinstance(spec.load_scorer(Pets()), Longest)


def test_plugins_must_give_what_their_group_says():
    documents = Pets()
    wrong = len
    with temporarily_installed("quipukit.retrievers", mine=wrong), pytest.raises(ResourceError, match="no Retriever"):
        SystemSpec("mine", "bm25").load_retriever(documents)
    with temporarily_installed("quipukit.rerankers", mine=wrong), pytest.raises(ResourceError, match="no Scorer"):
        SystemSpec("bm25", "mine").load_scorer(documents)


def test_a_caller_may_bring_the_encodings(tmp_path):
    documents = Pets()
    stores = []

    def store_of(encoder):
        stores.append(PrivateStore(EncodingStore(encoder, tmp_path / "shared"), tmp_path / "private"))
        return stores[-1]

    with temporarily_installed("quipukit.encoders", mine=HashEncoder):
        spec = SystemSpec("dense:mine", "mine")
        spec.load_retriever(documents, store_of=store_of).search(["a query"], 1)
        assert stores[0].missing(["a query"]) == 0
        docno = next(docno for docno, _ in documents.documents())
        spec.load_scorer(documents, store_of=store_of).score("a query", [docno])
        assert len(stores) == 2 and stores[1].encoder.fingerprint == load_encoder("mine").fingerprint


def test_only_answers_over_the_wire_are_kept(tmp_path):
    documents = Pets()
    kept = SystemSpec(ENGINE, "bm25").load_retriever(documents, answers=tmp_path)
    assert isinstance(kept, Saved) and isinstance(kept.retriever, HttpEngine)
    assert (kept.remote, kept.window, kept.identity) == (True, 10_000, ENGINE)
    local = SystemSpec("bm25", "bm25").load_retriever(documents, answers=tmp_path)
    assert isinstance(local, BM25) and local.window is None


def test_one_login_goes_to_one_host(monkeypatch):
    monkeypatch.setenv("QUIPUKIT_ENGINE_TOKEN", "t0ken")
    check_systems([SystemSpec(ENGINE, "bm25"), SystemSpec(f"{ENGINE}2", "bm25")])
    with pytest.raises(InputError, match="the environment holds one login, and there are 2 engines"):
        check_systems(combine([ENGINE, "solr+http://127.0.0.2:1/solr/news"], "bm25"))


def test_a_missing_model_is_told_before_work_begins():
    with pytest.raises(ResourceError, match="is not on this machine"):
        check_systems([SystemSpec("bm25", "no-such-model")])
