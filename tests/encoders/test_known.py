"""What is known of models by name: pooling, similarity, prefixes."""

import pytest

from quipukit.encoders.known import Recipe, known_recipe

BGE = "Represent this sentence for searching relevant passages: "


@pytest.mark.parametrize(
    ("name", "recipe"),
    [
        ("facebook/contriever", Recipe(("mean",), similarity="dot")),
        ("facebook/contriever-msmarco", Recipe(("mean",), similarity="dot")),
        ("sentence-transformers/msmarco-distilbert-base-tas-b", Recipe(("cls",), similarity="dot")),
        ("intfloat/e5-base-v2", Recipe(("mean",), True, "cosine", "query: ", "passage: ")),
        ("intfloat/multilingual-e5-small", Recipe(("mean",), True, "cosine", "query: ", "passage: ")),
        ("BAAI/bge-small-en-v1.5", Recipe(("cls",), True, "cosine", BGE, "")),
        ("BAAI/bge-m3", Recipe(("cls",), True)),
        ("distilbert-base-uncased", Recipe(("mean",))),
        ("sentence-transformers/multi-qa-mpnet-base-dot-v1", Recipe(("mean",), similarity="dot")),
        ("intfloat/e5-mistral-7b-instruct", Recipe()),
        ("intfloat/multilingual-e5-large-instruct", Recipe()),
    ],
)
def test_published_models(name, recipe):
    assert known_recipe(name) == recipe


@pytest.mark.parametrize(
    "path", ["/data/facebook/contriever", "models/Contriever/", "hub/models--facebook--contriever/snapshots/2bd46a25"]
)
def test_a_copy_on_disk_is_known_by_its_folder(path):
    assert known_recipe(path) == Recipe(similarity="dot")


@pytest.mark.parametrize("name", ["bert-base-cased", "a/distilled-e5", ".", "", "tas-b-like"])
def test_unknown_models_stay_unknown(name):
    assert known_recipe(name) is None
