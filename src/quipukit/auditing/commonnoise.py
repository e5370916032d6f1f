"""Draws of many words from the same noise: what an audit in a large vocabulary can afford.

Nearly all the time of a noise mechanism goes into the product of its directions with the vocabulary, which does not
depend on the word. So one direction is used for every input, at every epsilon. Each input has its own exact law; that
draws of different inputs depend on each other matters to no bound: Clopper and Pearson's holds for each input alone,
the alarm rate is divided among them, and draws that choose an event stay independent of those that test it.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from quipukit.auditing.outcomes import Outcome
from quipukit.mechanisms.perturbation import Perturbation, draw_noise
from quipukit.mechanisms.words import WordMechanism, find_sites

Floats = NDArray[np.float64]

_DIRECTIONS = 2048  # at a time


def is_plain_noise(one: WordMechanism) -> bool:
    """Return whether the words of a query get independent noise by code that is known here, and are sent in order."""
    own = getattr(type(one).obfuscate_batch, "__func__", None)
    known = getattr(Perturbation.obfuscate_batch, "__func__", None)
    return isinstance(one, Perturbation) and own is known and not one.shuffle and one.length is None


def placed_texts(one: WordMechanism, texts: Sequence[str]) -> list[str]:
    """Return the texts all of whose words have a place in the embedding: those that can share noise."""
    sites = find_sites(one, [("", text) for text in texts])
    parts = [sites.site_of[sites.span(query)] for query in range(len(texts))]
    return [text for text, part in zip(texts, parts, strict=True) if len(part) and (part >= 0).all()]


def draw_together(
    members: Sequence[Perturbation], texts: Sequence[str], count: int, rng: np.random.Generator
) -> list[dict[str, list[Outcome]]]:
    """Draw so many releases of every text by each of some mechanisms, which differ in epsilon alone.

    All texts share the noise of their first words, all that have a second one that of their second, and so on.
    """
    sites = find_sites(members[0], [("", text) for text in texts])
    parts = [sites.site_of[sites.span(query)] for query in range(len(texts))]
    words: list[dict[str, list[list[str]]]] = [{text: [] for text in texts} for _ in members]
    for position in range(max(map(len, parts))):
        longer = [text for text, part in zip(texts, parts, strict=True) if len(part) > position]
        bases = np.array([part[position] for part in parts if len(part) > position])
        drawn = _draw_words(members, sites.points[bases], count, rng)
        for mine, rows in zip(words, drawn, strict=True):
            for place, text in enumerate(longer):
                mine[text].append([members[0].vectors.words[row] for row in rows[:, place].tolist()])
    outcomes: dict[tuple[str, ...], Outcome] = {}  # one for each: most of them come again and again

    def release(sent: tuple[str, ...]) -> Outcome:
        if sent not in outcomes:
            outcomes[sent] = (" ".join(sent),)
        return outcomes[sent]

    return [{text: [release(sent) for sent in zip(*mine[text], strict=True)] for text in texts} for mine in words]


def _draw_words(
    members: Sequence[Perturbation], points: Floats, count: int, rng: np.random.Generator
) -> list[NDArray[np.int64]]:
    """Return the rows that come out at some places, a line for each noise and a column for each place."""
    from quipukit.vectors.nearest import nearest_two

    first = members[0]
    vectors = first.vectors
    epsilons = np.array([member.epsilon for member in members])
    rows: list[list[NDArray[np.int64]]] = [[] for _ in members]
    for start in range(0, count, _DIRECTIONS):
        size = min(_DIRECTIONS, count - start)
        noise = draw_noise(rng, size, vectors.dimension)
        direction_of = np.repeat(np.arange(size), len(points))
        nearest, distance = nearest_two(
            vectors.matrix,
            vectors.half_norms,
            points,
            np.tile(np.arange(len(points)), size),
            first.stretch(noise.directions),
            noise.radii[direction_of, None] / epsilons,
            direction_of,
        )
        for column, member in enumerate(members):
            chosen = member.choose(nearest[:, column], distance[:, column], noise.coins[direction_of])
            rows[column].append(chosen.reshape(size, len(points)))
    return [np.concatenate(blocks) for blocks in rows]
