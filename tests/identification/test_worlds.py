"""Worlds: other queries, other vectors, and how far they differ."""

import numpy as np
import pytest

from quipukit.identification.worlds import Distortion, distort, make_worlds, scale_of
from tests.identification.toys import log, vectors


def test_no_query_is_in_two_worlds_and_only_the_first_has_the_vectors() -> None:
    own = vectors()
    worlds = make_worlds(log(), own, 20, 3)
    texts = [text for world in worlds for text in world.queries.values()]
    assert len(texts) == len(set(texts)) == 80
    assert [world.vectors is own for world in worlds] == [True, False, False, False]
    again = make_worlds(log(), own, 20, 3)
    assert [world.queries for world in again] == [world.queries for world in worlds]
    assert [world.vectors.fingerprint for world in again] == [world.vectors.fingerprint for world in worlds]


def test_a_distortion_has_the_words_the_names_and_the_scale_that_it_states() -> None:
    own, asked = vectors(), log()[:3]
    distorted = distort(own, Distortion(200, 8, 0.5, 1.3), 1, asked)
    assert (len(distorted), distorted.dimension) == (200, 8)
    assert all(word in distorted for text in asked for word in text.split())
    needed = {word for text in asked for word in text.split()}
    unseen = sum(word not in own for word in distorted.words)
    assert unseen == int(0.5 * (200 - len(needed)))
    assert scale_of(distorted) == pytest.approx(1.3 * scale_of(own), rel=1e-5)


def test_the_scale_is_the_distance_to_the_nearest_word() -> None:
    own = vectors()
    apart = np.linalg.norm(own.matrix[:, None] - own.matrix[None], axis=2)
    np.fill_diagonal(apart, np.inf)
    assert scale_of(own) == pytest.approx(np.median(apart.min(axis=1)) / np.sqrt(13), rel=1e-5)
