"""Encoders by name: the built-in one, plugins, models that cannot be had."""

import subprocess
import sys

import pytest

from quipukit.encoders.load import encoder_names, load_encoder
from quipukit.errors import InputError, ResourceError
from quipukit.plugins import temporarily_installed
from tests.encoders.fakes import HashEncoder


@pytest.mark.parametrize(
    "name", ["minilm", "MiniLM", "default", "all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"]
)
def test_the_built_in_encoder_has_several_names(name):
    encoder = load_encoder(name)
    assert (encoder.name, encoder.dimension, encoder.similarity) == ("minilm", 384, "cosine")
    assert encoder.recipe.max_length == 256


def test_an_encoder_is_returned_as_it_is():
    encoder = HashEncoder()
    assert load_encoder(encoder) is encoder


def test_plugins_are_found_and_must_be_encoders():
    with temporarily_installed("quipukit.encoders", hash=HashEncoder, wrong=dict):
        assert load_encoder("hash").dimension == 8
        assert load_encoder("hash", dimension=3).dimension == 3
        assert encoder_names() == ["minilm", "static", "hash", "wrong"]
        with pytest.raises(ResourceError, match="'wrong' gives no encoder"):
            load_encoder("wrong")
    assert encoder_names() == ["minilm", "static"]


@pytest.mark.parametrize(
    "name", ["facebook/contriever", "distilbert-base-uncased", "no-such-model", "two words", "ümläut/x"]
)
def test_a_model_that_is_not_here_offline_says_how_to_get_it(name):
    with pytest.raises(ResourceError, match="is not on this machine and cannot be downloaded; fetch it") as caught:
        load_encoder(name)
    told = str(caught.value)
    assert "\n" not in told and "HF_HOME" in told and "hf download" in told


@pytest.mark.parametrize("path", ["./nowhere", "/nowhere/model", "~/nowhere", "a/b/c"])
def test_a_path_that_is_not_there_is_not_looked_for_elsewhere(path):
    with pytest.raises(ResourceError, match="there is no folder"):
        load_encoder(path)


def test_an_empty_name_is_refused():
    with pytest.raises(InputError, match="the name of the encoder is empty"):
        load_encoder(" ")


@pytest.mark.heavy
def test_a_model_in_hugging_faces_cache_is_found_without_network(tmp_path, tiny):
    snapshot = tmp_path / "hub" / "models--facebook--contriever" / "snapshots" / ("a" * 40)
    snapshot.parent.mkdir(parents=True)
    snapshot.symlink_to(tiny)
    refs = tmp_path / "hub" / "models--facebook--contriever" / "refs"
    refs.mkdir()
    (refs / "main").write_text("a" * 40)
    code = "from quipukit.encoders.load import load_encoder as f; e = f('facebook/contriever'); print(e)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1", "PATH": "", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.strip() == "SentenceEncoder('facebook/contriever', 16, dot)", done.stderr


@pytest.mark.heavy
def test_loading_an_encoder_imports_nothing_heavy():
    code = (
        "import sys; from quipukit.encoders.load import load_encoder;"
        "from quipukit.encoders.store import EncodingStore;"
        "store = EncodingStore(load_encoder()); store.keys(['a'], 'query'); len(store);"
        "print([name for name in ('torch', 'transformers', 'numba', 'huggingface_hub') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "[]", done.stderr
