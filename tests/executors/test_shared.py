"""What is loaded by name knows how another machine loads the same."""

import io
import pickle
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest

import quipukit as qk
from quipukit.bm25.index import SmallIndex
from quipukit.executors.shared import Plain, Shared
from quipukit.plugins import temporarily_installed
from quipukit.retrieval.bm25 import BM25
from tests.executors import small_job
from tests.executors.moody import Words


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return small_job.write_collection(tmp_path / "collection")


def loaded_again(resource: Shared) -> Any:
    assert resource.origin is not None
    return pickle.loads(pickle.dumps(resource.origin))()


def test_resources_by_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "filter.txt").write_text("tree\n")
    for resource in (
        qk.load_vectors(),
        qk.load_vectors("./vectors.txt"),
        qk.load_vectors("./vectors.txt", vocabulary_filter="./filter.txt"),
        qk.load_wordnet(),
        qk.load_encoder("minilm"),
        qk.load_encoder("minilm", max_length=16),
        qk.load_encoder("static:./vectors.txt", weights="idf"),
        qk.load_collection("."),
        qk.load_collection("wordnet"),
        BM25.of(qk.load_collection(folder), k1=1.2),
    ):
        with monkeypatch.context() as elsewhere:
            elsewhere.chdir("/")
            again = loaded_again(resource)
        assert type(again) is type(resource)
        assert again.content_id == resource.content_id


def test_plugins_are_loaded_by_their_name() -> None:
    with temporarily_installed("quipukit.encoders", moody=Words):
        assert isinstance(loaded_again(qk.load_encoder("moody")), Words)
    assert Words().origin is None


def test_the_files_of_a_pack_compose_no_words_and_are_something_else() -> None:
    default = qk.load_vectors()
    assert default.folder is not None
    files = qk.load_vectors(default.folder)
    assert (files.fingerprint, files.compose) == (default.fingerprint, None)
    assert files.content_id != default.content_id
    assert loaded_again(files).content_id == files.content_id
    assert loaded_again(default).compose is not None


def test_vectors_arrive_as_they_were_and_are_hashed_again() -> None:
    vectors = qk.Vectors(["cat", "dog"], np.eye(2), name="pets", meta={"fingerprint": "stated"}, compose=_compose)
    arrived = cloudpickle.loads(cloudpickle.dumps(vectors))
    assert (arrived.words, arrived.name, arrived.compose) == (["cat", "dog"], "pets", _compose)
    assert arrived.matrix.tobytes() == vectors.matrix.tobytes()
    assert arrived.fingerprint != "stated"


def _compose(word: str) -> Any:
    return np.ones(2)


def test_indexes_are_told_apart_by_content() -> None:
    one, same, other = (SmallIndex.build([("a", "crime story"), ("b", text)]) for text in ("sea", "sea", "ocean"))
    assert one.content_id == same.content_id != other.content_id
    copy = BM25(postings=BM25.of(qk.load_collection("wordnet")).postings)
    assert len(copy.fingerprint) == 64


def test_what_holds_nothing_shared_travels_in_one_piece() -> None:
    texts = [f"text {number}" for number in range(1000)]
    asked: list[object] = []

    class Looking(pickle.Pickler):
        def persistent_id(self, thing: object) -> None:
            asked.append(thing)

    for thing in (Plain(texts), texts):
        asked.clear()
        file = io.BytesIO()
        Looking(file, protocol=5).dump(thing)
        assert (len(asked) < 20) == isinstance(thing, Plain)
        back = pickle.loads(file.getvalue())
        assert (back.content if isinstance(back, Plain) else back) == texts
