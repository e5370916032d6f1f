"""Pools as points: shared while the pool lives, and no query kept."""

import gc
import weakref

import numpy as np
import pytest

from quipukit.covers.encoded import EncodedPool
from quipukit.covers.pool import QueryPool
from quipukit.encoders.load import load_encoder
from quipukit.encoders.store import EncodingStore
from tests.covers.pools import pool

STATIC = "static:default"


def test_points_are_the_unit_encodings() -> None:
    encoded = EncodedPool.of(pool(), STATIC)
    expected = load_encoder(STATIC).encode(pool().texts)
    np.testing.assert_allclose(encoded.rows, expected, atol=1e-6)
    np.testing.assert_array_equal(encoded.point("cat"), encoded.rows[pool().row("cat")])
    assert encoded.distances("cat")[pool().row("cat")] == 0
    assert encoded.distances("qqzzxv") == pytest.approx(1)


def test_a_pool_is_encoded_once_and_forgotten_with_it() -> None:
    own = QueryPool.of(["a cat", "a dog"])
    encoded = weakref.ref(EncodedPool.of(own, STATIC))
    assert EncodedPool.of(own, STATIC) is encoded()
    del own
    gc.collect()
    assert encoded() is None


def test_queries_are_not_kept_on_disk() -> None:
    encoded = EncodedPool.of(pool(), STATIC)
    secret = "a query that nobody else has asked"
    encoded.distances(secret)
    encoded.candidates([secret, "cat"])
    store = EncodingStore(load_encoder(STATIC))
    assert store.missing([secret]) == 1 and store.missing(["cat"]) == 0


def test_candidates_are_computed_once_for_each_list() -> None:
    encoded = EncodedPool.of(pool(), STATIC)
    first = encoded.candidates(["cat", "loan"])
    assert encoded.candidates(["cat", "loan"]) is first
    first.prepare([3.0, 5.0])
    kept = first.log_normalizers(5.0)
    assert first.log_normalizers(5.0) is kept
    assert encoded.candidates(["catloan"]) is not first
