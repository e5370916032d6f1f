"""How long texts are: near what the tokenizer says, without it."""

import pytest
import tokenizers

from quipukit.collections.load import load_collection
from quipukit.encoders.load import load_encoder
from quipukit.experiment.cost.lengths import filled, first, mean_tokens, spread
from quipukit.vectors.default_pack import model_folder


def test_samples_are_spread_over_the_texts() -> None:
    texts = [str(number) for number in range(1000)]
    assert spread(texts, 4) == ["0", "250", "500", "750"]
    assert spread(texts[:3], 4) == ["0", "1", "2"] and spread([], 4) == []
    assert first(iter(texts), 3) == ["0", "4", "8"]


def test_nothing_has_no_length_and_a_static_encoder_reads_all_of_a_text() -> None:
    static, minilm = load_encoder("static"), load_encoder("minilm")
    assert mean_tokens([], minilm) == 0
    long = "word " * 10_000
    assert mean_tokens([long], static) > 10_000 > mean_tokens([long], minilm) == minilm.recipe.max_length


def test_few_texts_in_many_rounds_fill_more_rows_than_they_are() -> None:
    assert filled(0, 33, 10) == 0 and filled(10, 0) == 10
    assert filled(10_000, 33) == pytest.approx(10_000, rel=0.03)
    once, often = filled(500, 33), filled(500, 33, rounds=10)
    assert 500 < once < often < 8 * 500


@pytest.mark.heavy
def test_the_guess_is_near_the_tokenizer() -> None:
    """Within a fifth, for documents and for queries."""
    minilm, wordnet = load_encoder("minilm"), load_collection("wordnet")
    tokenizer = tokenizers.Tokenizer.from_file(str(next(model_folder().rglob("tokenizer.json"))))
    tokenizer.no_padding()
    tokenizer.enable_truncation(minilm.recipe.max_length)
    for texts in (first(text for _, text in wordnet.documents()), spread(wordnet.query_log())):
        true = sum(len(one.ids) for one in tokenizer.encode_batch(texts)) / len(texts)
        assert mean_tokens(texts, minilm) == pytest.approx(true, rel=0.2)
