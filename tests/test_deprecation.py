"""Old names: they work, and the warning points at whoever uses them."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

import quipukit as qk
from quipukit.cli import main
from quipukit.encoders.load import load_encoder
from quipukit.mechanisms.sampling import SortedRow
from quipukit.mechanisms.santext import SanText
from quipukit.text import tokenize


@pytest.fixture
def vectors():
    words = ["cat", "dog", "horse", "house", "car", "tree", "fish", "bird"]
    return qk.Vectors(words, np.random.default_rng(0).standard_normal((8, 4)).astype(np.float32))


def test_the_warning_points_at_the_caller():
    with pytest.warns(DeprecationWarning, match="write tokenizer='whitespace'") as told:
        assert tokenize("Best land?", tokenizer="peer") == ["best", "land?"]
    assert told[0].filename == __file__


def test_a_mechanism_with_the_old_tokenizer_is_that_with_the_new_one(vectors):
    with pytest.warns(DeprecationWarning, match="write tokenizer='whitespace'") as told:
        old = qk.mechanism("CMP(tokenizer=peer)@10", vectors)
    assert told[0].filename == __file__
    assert repr(old.spec) == "CMP(tokenizer='whitespace')@10"
    assert old.spec == qk.mechanism("CMP(tokenizer=whitespace)@10", vectors).spec


@pytest.mark.parametrize(
    ("spec", "noise", "sent"),
    [  # as it was before the new name
        ("CMP(tokenizer=whitespace)@1", "independent", ["cat horse", "house cat", "tree dog", "fish dog"]),
        ("TEM(tokenizer=whitespace)@2", "common", ["cat car", "tree dog", "bird dog", "horse house"]),
    ],
)
def test_the_new_name_gives_the_noise_of_the_old_one(vectors, spec, noise, sent):
    assert qk.obfuscate({"q": "cat dog"}, spec, 4, vectors=vectors, seed=7, noise=noise)["query"].tolist() == sent


@pytest.mark.heavy
def test_the_old_flag_of_measures_works_and_warns(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.trec").write_text("q Q0 d 1 1.0 x\n")
    (tmp_path / "qrels.txt").write_text("q 0 d 1\n")

    def utility(*arguments):
        with pytest.raises(SystemExit) as end:
            main(["utility", "run.trec", "--qrels", "qrels.txt", "--tsv", *arguments])
        assert not end.value.code
        return capsys.readouterr()

    old, new = utility("-m", "P@1", "-m", "RR"), utility("--measure", "P@1", "RR")
    assert old.out == new.out and "P@1\tRR" in new.out
    assert "warning: utility -m is deprecated" in old.err and "deprecated" not in new.err


def test_the_old_name_of_the_reranker(tmp_path):
    (tmp_path / "docs.tsv").write_text("d1\ta cat\nd2\ta dog\n")
    collection = qk.load_collection(tmp_path)
    pool = pd.DataFrame({"qid": ["q"] * 2, "docno": ["d1", "d2"]})
    queries = pd.DataFrame({"qid": ["q"], "query": ["dog"]})
    with pytest.warns(DeprecationWarning, match="write reranker="):
        old = qk.rerank(pool, queries, collection, scorer="bm25")
    pd.testing.assert_frame_equal(old, qk.rerank(pool, queries, collection, reranker="bm25"))
    assert old["docno"].tolist() == ["d2", "d1"]


def test_vectors_on_disk_are_found_again():
    # The fingerprint of the built-in model: kept through a change of names, or everybody would encode anew.
    assert load_encoder().fingerprint == "985b18ea471582e08f4f231d0446ebefebf0e192222232be507842ab24b83bf1"


def test_the_old_spelling_of_an_encoders_option():
    with pytest.warns(DeprecationWarning, match="write normalize="):
        old = load_encoder("minilm", normalise=False)
    assert old.fingerprint == load_encoder("minilm", normalize=False).fingerprint != load_encoder().fingerprint


def test_a_plugin_with_the_old_spelling_is_heeded(vectors):
    with pytest.warns(DeprecationWarning, match=r"Near\.neighbourhood is deprecated; call it neighborhood"):

        @dataclass(frozen=True, kw_only=True)
        class Near(SanText):
            name = "Near"

            def neighbourhood(self, place):
                near = super().neighborhood(place)
                return SortedRow(near.rows[:1], near.distances[:1])

    assert Near(epsilon=0.1, vectors=vectors).obfuscate("cat dog", 3, np.random.default_rng(1)) == ["cat dog"] * 3
