"""What a model's files say of its vectors, and what its name says where they are silent; no model is loaded."""

import json

import pytest

from quipukit.encoders.known import Recipe
from quipukit.encoders.model_files import find_model, read_model, weights
from quipukit.errors import ResourceError

TRANSFORMER = {"idx": 0, "path": "", "type": "sentence_transformers.models.Transformer"}
POOLING = {"idx": 1, "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}
NORMALIZE = {"idx": 2, "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}
DENSE = {"idx": 2, "path": "2_Dense", "type": "sentence_transformers.models.Dense"}


@pytest.fixture
def model(tmp_path):
    """Write a model of which only the settings are real."""

    def write(**files):
        usual = {"config": {"hidden_size": 16, "max_position_embeddings": 64, "model_type": "bert"}}
        for name, content in (usual | files).items():
            path = tmp_path / f"{name.replace('__', '/')}.json"
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps(content))
        (tmp_path / "model.safetensors").write_bytes(b"weights")
        return tmp_path

    return write


def test_a_plain_checkpoint_is_what_its_name_says(model):
    folder = model()
    assert read_model("somebody/anything", folder).recipe == Recipe(max_length=64)
    e5 = read_model("intfloat/e5-small", folder)
    assert e5.recipe.query_prefix == "query: " and e5.recipe.normalize and e5.plain and e5.dimension == 16


def test_modules_outrank_the_name(model):
    folder = model(modules=[TRANSFORMER, POOLING], **{"1_Pooling__config": {"pooling_mode_cls_token": True}})
    found = read_model("intfloat/e5-small", folder).recipe
    assert found.pooling == ("cls",) and not found.normalize
    assert found.query_prefix == "query: ", "which no file mentions"


def test_several_poolings_are_joined_end_to_end(model):
    both = {"pooling_mode": ["cls", "max"]}
    files = read_model("x", model(modules=[TRANSFORMER, POOLING, NORMALIZE], **{"1_Pooling__config": both}))
    assert files.recipe.pooling == ("cls", "max") and files.recipe.normalize and files.dimension == 32


def test_further_modules_are_left_to_sentence_transformers(model):
    files = read_model("x", model(modules=[TRANSFORMER, POOLING, DENSE], **{"1_Pooling__config": {}}))
    assert not files.plain and files.dimension is None, "only the network knows"


def test_prompts_are_prefixes_unless_they_are_empty(model):
    prompts = {"prompts": {"query": "Q: ", "passage": "P: "}, "similarity_fn_name": "dot"}
    found = read_model("x", model(config_sentence_transformers=prompts)).recipe
    assert (found.query_prefix, found.document_prefix, found.similarity) == ("Q: ", "P: ", "dot")
    empty = {"prompts": {"query": "", "document": ""}}
    assert read_model("e5-small", model(config_sentence_transformers=empty)).recipe.query_prefix == "query: "


@pytest.mark.parametrize(
    ("files", "length"),
    [
        ({}, 64),
        ({"sentence_bert_config": {"max_seq_length": 32}}, 32),
        ({"sentence_bert_config": {"max_seq_length": 128}}, 64),
        ({"tokenizer_config": {"model_max_length": 10**30}}, 64),
        ({"config": {"max_position_embeddings": 64, "model_type": "roberta"}}, 62),
        ({"config": {"model_type": "t5"}}, Recipe.max_length),
    ],
)
def test_the_least_limit_counts(model, files, length):
    assert read_model("x", model(**files)).recipe.max_length == length


def test_the_fingerprint_is_that_of_weights_and_recipe(model):
    folder = model()
    before = read_model("x", folder).fingerprint()
    assert read_model("x", folder).fingerprint() == before != read_model("e5-small", folder).fingerprint()
    (folder / "model.safetensors").write_bytes(b"Weights")
    assert read_model("x", folder).fingerprint() != before


def test_what_is_missing_or_damaged_is_named(model, tmp_path):
    folder = model()
    (folder / "config.json").write_text("{")
    with pytest.raises(ResourceError, match=r"config\.json is not JSON; download the model again"):
        read_model("x", folder)
    (folder / "config.json").unlink()
    with pytest.raises(ResourceError, match="holds no transformer model"):
        read_model("x", folder)
    model()
    (folder / "model.safetensors").unlink()
    assert weights(folder) == []
    with pytest.raises(ResourceError, match="holds no weights"):
        read_model("x", folder)


@pytest.mark.parametrize("name", ["/none/such", "./none", "a/b/c", "~/none"])
def test_a_path_that_does_not_exist_is_no_name_to_download(name):
    with pytest.raises(ResourceError, match="there is no folder"):
        find_model(name)
