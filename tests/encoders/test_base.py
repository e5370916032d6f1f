"""Distinct texts are encoded once, and what is no text or no vector is refused."""

import numpy as np
import pytest

from quipukit.encoders.base import pair_similarities, similarities
from quipukit.errors import InputError, ResourceError
from tests.encoders.fakes import HashEncoder


def test_a_text_is_encoded_once_and_its_row_stands_where_it_was_asked_for():
    encoder = HashEncoder()
    asked = ["b", "a", "b", "", "a", "b"]
    rows = encoder.encode(asked)
    assert sorted(encoder.encoded) == ["", "a", "b"]
    assert rows.dtype == np.float32
    assert np.array_equal(rows, np.stack([encoder.vector(text, "query") for text in asked]))


def test_kinds_are_passed_on_and_a_third_kind_is_refused():
    encoder = HashEncoder()
    assert not np.array_equal(encoder.encode(["a"], "query"), encoder.encode(["a"], "document"))
    with pytest.raises(InputError, match="'query' or 'document' \\(found 'passage'\\)"):
        encoder.encode(["a"], "passage")


def test_progress_counts_distinct_texts_up_to_all_of_them():
    seen = []
    HashEncoder().encode([f"{number % 40}" for number in range(100)], progress=lambda done, of: seen.append((done, of)))
    assert seen[-1] == (40, 40)
    assert seen == sorted(seen)


def test_nothing_gives_no_rows():
    assert HashEncoder(5).encode([]).shape == (0, 5)


@pytest.mark.parametrize(
    ("texts", "told"), [("abc", "put it into a list"), (["a", None], "text 1 is not a text but NoneType")]
)
def test_what_is_no_list_of_texts_is_refused(texts, told):
    with pytest.raises(InputError, match=told):
        HashEncoder().encode(texts)


def test_vectors_of_nan_or_of_another_size_are_refused():
    class Broken(HashEncoder):
        def vector(self, text, kind):
            return np.full(self.dimension if text == "nan" else 3, np.nan, np.float32)

    with pytest.raises(ResourceError, match="NaN or infinity"):
        Broken().encode(["nan"])
    with pytest.raises(ResourceError, match="another size than the 8"):
        Broken().encode(["short"])


@pytest.mark.parametrize("similarity", ["cosine", "dot"])
@pytest.mark.parametrize("dimension", [1, 7, 384, 1000])
def test_pairs_are_compared_as_one_vector_with_many(similarity, dimension):
    vectors, rows = np.random.default_rng(3).standard_normal((2, 40, dimension)).astype(np.float32)
    vectors[5] = 0
    one_by_one = [similarities(vector, rows, similarity)[place] for place, vector in enumerate(vectors)]
    assert pair_similarities(vectors, rows, similarity).tolist() == one_by_one


def test_similarities_are_those_of_the_definition():
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((50, 7)).astype(np.float32)
    rows[3] = 0
    one = rng.standard_normal(7).astype(np.float32)
    dots = [float(sum(float(a) * float(b) for a, b in zip(row, one, strict=True))) for row in rows]
    assert similarities(one, rows, "dot") == pytest.approx(dots, abs=1e-12)
    norms = np.linalg.norm(rows.astype(float), axis=1) * np.linalg.norm(one.astype(float))
    cosines = np.array([dot / norm if norm else 0.0 for dot, norm in zip(dots, norms, strict=True)])
    assert similarities(one, rows, "cosine") == pytest.approx(cosines, abs=1e-12)
    assert similarities(np.zeros(7, np.float32), rows, "cosine").tolist() == [0.0] * 50


def test_equal_rows_get_equal_scores_wherever_they_stand():
    rng = np.random.default_rng(2)
    rows = rng.standard_normal((101, 385)).astype(np.float32)
    rows[[0, 17, 50, 100]] = rows[3]
    for similarity in ("dot", "cosine"):
        assert len(set(similarities(rows[9], rows, similarity)[[0, 3, 17, 50, 100]])) == 1
