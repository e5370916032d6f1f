"""Models as their authors mean them: tiny ones of the same architecture against pooling computed by hand."""

import shutil
import sys

import numpy as np
import pytest

from quipukit.encoders.load import load_encoder
from quipukit.encoders.sentence import SentenceEncoder
from quipukit.errors import InputError, ResourceError
from tests.encoders.tiny import add_modules, tiny_model, token_vectors
from tests.examples import slowly

TEXTS = ["how a tumour grows", "the lung", "", "how how how a passage in the lung, relevant"]


def by_hand(folder, prefix, pool, *, unit=False):
    rows = np.stack([pool(token_vectors(folder, prefix + text)) for text in TEXTS])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True) if unit else rows


def mean(hidden):
    return hidden.mean(axis=0)


def first(hidden):
    return hidden[0]


@pytest.mark.parametrize(
    ("name", "architecture", "similarity", "query", "document", "pool", "unit"),
    [
        ("facebook/contriever", "bert", "dot", "", "", mean, False),
        ("facebook/contriever-msmarco", "bert", "dot", "", "", mean, False),
        ("sentence-transformers/msmarco-distilbert-base-tas-b", "distilbert", "dot", "", "", first, False),
        ("intfloat/e5-small-v2", "bert", "cosine", "query: ", "passage: ", mean, True),
        (
            "BAAI/bge-small-en-v1.5",
            "bert",
            "cosine",
            "Represent this sentence for searching relevant passages: ",
            "",
            first,
            True,
        ),
        ("distilbert-base-uncased", "distilbert", "cosine", "", "", mean, False),
        ("somebody/bert-of-ones-own", "bert", "cosine", "", "", mean, False),
    ],
)
def test_a_plain_checkpoint_is_used_as_its_name_says(
    tmp_path, name, architecture, similarity, query, document, pool, unit
):
    folder = tiny_model(tmp_path / name, architecture)
    encoder = load_encoder(str(folder))
    assert (encoder.name, encoder.dimension, encoder.similarity) == (name.rpartition("/")[2], 16, similarity)
    assert encoder.encode(TEXTS, "query") == pytest.approx(by_hand(folder, query, pool, unit=unit), abs=1e-5)
    assert encoder.encode(TEXTS, "document") == pytest.approx(by_hand(folder, document, pool, unit=unit), abs=1e-5)
    assert (encoder.variant("query") == encoder.variant("document")) == (query == document)


POOLINGS = {
    "cls": first,
    "max": lambda hidden: hidden.max(axis=0),
    "mean": mean,
    "lasttoken": lambda hidden: hidden[-1],
    "mean_sqrt_len_tokens": lambda hidden: hidden.sum(axis=0) / np.sqrt(len(hidden)),
    "weightedmean": lambda hidden: np.average(hidden, axis=0, weights=np.arange(1, len(hidden) + 1)),
}


@pytest.mark.parametrize("mode", ["mean", "cls", *slowly("max", "lasttoken", "mean_sqrt_len_tokens", "weightedmean")])
def test_every_pooling_of_sentence_transformers(tiny, tmp_path, mode):
    folder = add_modules(shutil.copytree(tiny, tmp_path / "m"), {"pooling_mode": mode}, normalize=mode == "max")
    rows = SentenceEncoder(str(folder)).encode(TEXTS)
    assert rows == pytest.approx(by_hand(folder, "", POOLINGS[mode], unit=mode == "max"), abs=1e-5)


def test_the_models_own_files_outrank_the_table(tiny, tmp_path):
    # A contriever somebody retrained with CLS pooling and prompts of its own; compared as contrievers are.
    folder = add_modules(
        shutil.copytree(tiny, tmp_path / "contriever-retrained"),
        {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False},
        own={"prompts": {"query": "how ", "passage": "the "}, "similarity_fn_name": "cosine"},
    )
    encoder = SentenceEncoder(str(folder))
    assert encoder.similarity == "dot"
    assert encoder.encode(TEXTS, "query") == pytest.approx(by_hand(folder, "how ", first), abs=1e-5)
    assert encoder.encode(TEXTS, "document") == pytest.approx(by_hand(folder, "the ", first), abs=1e-5)


def test_empty_prompts_in_a_models_files_leave_the_tables_prefixes(tiny, tmp_path):
    own = {"prompts": {"query": "", "document": ""}, "similarity_fn_name": "cosine"}
    folder = add_modules(shutil.copytree(tiny, tmp_path / "e5-saved-again"), {"pooling_mode": "mean"}, own=own)
    assert SentenceEncoder(str(folder)).recipe.query_prefix == "query: "


def test_two_poolings_are_joined(tiny, tmp_path):
    both = {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True}
    encoder = SentenceEncoder(str(add_modules(shutil.copytree(tiny, tmp_path / "m"), both)))
    expected = by_hand(tiny, "", lambda hidden: np.concatenate([hidden[0], hidden.mean(axis=0)]))
    assert encoder.dimension == 32
    assert encoder.encode(TEXTS) == pytest.approx(expected, abs=1e-5)


def test_options_outrank_everything(tiny):
    encoder = load_encoder(str(tiny), pooling="cls", similarity="dot", query_prefix="query: ", normalize=True)
    assert encoder.similarity == "dot"
    assert encoder.encode(TEXTS, "query") == pytest.approx(by_hand(tiny, "query: ", first, unit=True), abs=1e-5)
    with pytest.raises(InputError, match="no option 'poling'; there are document_prefix, max_length"):
        load_encoder(str(tiny), poling="cls")
    with pytest.raises(InputError, match="'cosine' or 'dot' \\(found 'l2'\\)"):
        load_encoder(str(tiny), similarity="l2")


def test_texts_are_cut_at_the_models_length(tiny, tmp_path):
    folder = tiny_model(tmp_path / "short", positions=8)
    encoder = SentenceEncoder(str(folder))
    assert encoder.recipe.max_length == 8
    # [CLS], six words, [SEP]
    assert np.array_equal(encoder.encode(["lung " * 500]), encoder.encode(["lung " * 6]))
    assert not np.array_equal(encoder.encode(["lung " * 6]), encoder.encode(["lung " * 5]))
    assert SentenceEncoder(str(tiny), max_length=8).recipe.max_length == 8
    assert SentenceEncoder(str(tiny), max_length=1000).recipe.max_length == 64


def test_models_whose_positions_start_later_are_cut_earlier(tmp_path):
    folder = tiny_model(tmp_path / "roberta", "roberta", positions=20)
    encoder = SentenceEncoder(str(folder))
    assert encoder.recipe.max_length == 18
    assert np.isfinite(encoder.encode(["lung " * 500])).all()


def test_of_an_encoder_decoder_the_encoder_is_used(tmp_path):
    import torch
    import transformers

    folder = tiny_model(tmp_path / "t5", "t5")
    encoder = SentenceEncoder(str(folder))
    assert encoder.dimension == 16
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.T5EncoderModel.from_pretrained(folder).eval()
    with torch.inference_mode():
        hidden = [model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0] for text in TEXTS]
    assert encoder.encode(TEXTS) == pytest.approx(np.stack([part.mean(dim=0).numpy() for part in hidden]), abs=1e-5)
    with pytest.raises(InputError, match="brings modules of its own"):
        SentenceEncoder(str(folder), pooling="cls")


def test_the_length_in_a_models_files_counts(tiny, tmp_path):
    folder = add_modules(shutil.copytree(tiny, tmp_path / "m"), {"pooling_mode": "mean"})
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 12, "do_lower_case": false}')
    assert SentenceEncoder(str(folder)).recipe.max_length == 12


def test_the_fingerprint_is_that_of_weights_tokenizer_and_recipe(tiny, tmp_path):
    plain = SentenceEncoder(str(tiny)).fingerprint
    copy = shutil.copytree(tiny, tmp_path / "another-name")
    assert SentenceEncoder(str(copy)).fingerprint == plain
    (copy / "README.md").write_text("no part of the model")
    assert SentenceEncoder(str(copy)).fingerprint == plain
    different = [
        SentenceEncoder(str(tiny), **options).fingerprint
        for options in ({"pooling": "cls"}, {"query_prefix": "q "}, {"max_length": 10}, {"normalize": True})
    ]
    weights = bytearray((copy / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (copy / "model.safetensors").write_bytes(weights)
    different.append(SentenceEncoder(str(copy)).fingerprint)
    shutil.copy(tiny / "model.safetensors", copy)
    (copy / "tokenizer.json").write_text((copy / "tokenizer.json").read_text().replace('"lung"', '"lunge"'))
    different.append(SentenceEncoder(str(copy)).fingerprint)
    assert len({plain, *different}) == 1 + len(different)


def test_weights_that_lack_tensors_are_refused_instead_of_filled_with_random_numbers(tiny, tmp_path):
    from safetensors.numpy import load_file, save_file

    folder = shutil.copytree(tiny, tmp_path / "m")
    tensors = load_file(folder / "model.safetensors")
    lacking = {name: tensor for name, tensor in tensors.items() if "layer.1.output.dense" not in name}
    save_file(lacking, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ResourceError, match=r"lack 2 tensors, encoder\.layer\.1\.output\.dense"):
        SentenceEncoder(str(folder)).encode(["lung"])


@pytest.mark.parametrize(
    ("file", "content", "told"),
    [
        ("config.json", None, "holds no transformer model"),
        ("model.safetensors", None, "holds no weights"),
        ("config.json", "{", "config.json is not JSON; download the model again"),
        ("modules.json", "[", "modules.json is not JSON"),
        ("model.safetensors", "damaged", "cannot be loaded as an encoder"),
        ("tokenizer.json", "{}", "cannot be loaded as an encoder"),
    ],
)
def test_damaged_folders_are_told_in_one_line(tiny, tmp_path, file, content, told):
    folder = shutil.copytree(tiny, tmp_path / "m")
    if content is None:
        (folder / file).unlink()
    else:
        (folder / file).write_text(content)
    with pytest.raises(ResourceError, match=told) as caught:
        SentenceEncoder(str(folder)).encode(["lung"])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("package", ["torch", "transformers"])
@pytest.mark.parametrize("name", ["minilm", "somebody/anything"])
def test_without_the_extra_an_encoder_says_what_to_install(monkeypatch, package, name):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ResourceError, match=r'pip install "quipukit\[encoders\]", or choose \'static\''):
        load_encoder(name)
    assert load_encoder("static").name.startswith("static")
