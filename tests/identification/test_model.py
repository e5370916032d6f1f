"""The model on made-up features: it finds settings, is calibrated, and a wrong twin is at chance."""

import numpy as np
import pytest

from quipukit.identification.model import Fit, Model, held_out, posterior, prior_of

SETTINGS, QUERIES, WIDTH = 12, 24, 8
FAMILY = np.arange(SETTINGS) // 3


def blocks(seed: int, between: float = 0.3) -> list[np.ndarray]:
    """Worlds of settings whose features lie one unit apart, with noise between queries and between worlds."""
    rng = np.random.default_rng(seed)
    means = np.random.default_rng(1).standard_normal((SETTINGS, WIDTH))
    return [
        means[:, None]
        + (between if world else 0) * rng.standard_normal((SETTINGS, 1, WIDTH))
        + rng.standard_normal((SETTINGS, QUERIES, WIDTH))
        for world in range(5)
    ]


def right(model: Model, made: np.ndarray) -> float:
    return float(np.mean([model.posterior(made[at])[0].sum(axis=1).argmax() == at for at in range(SETTINGS)]))


def test_a_posterior_sums_to_one_and_finds_the_setting() -> None:
    model = Model.of(FAMILY, blocks(2), np.random.default_rng(3))
    fresh = blocks(4)
    for rows in fresh[0]:
        assert model.posterior(rows)[0].sum() == pytest.approx(1)
    assert right(model, fresh[0]) > 0.9 and right(model, fresh[1]) > 0.7


def test_shuffled_labels_give_chance() -> None:
    rng = np.random.default_rng(7)
    # Each world has its own order of settings: nothing is left to learn.
    shuffled = [block[rng.permutation(SETTINGS)] for block in blocks(2)]
    model = Model.of(FAMILY, shuffled, np.random.default_rng(3))
    fresh = [block[rng.permutation(SETTINGS)] for seed in range(10, 20) for block in blocks(seed)]
    assert np.mean([right(model, block) for block in fresh]) < 0.2  # chance: 0.083
    sure = np.mean([model.posterior(rows)[0].sum(axis=1).max() for rows in fresh[0]])
    assert sure < 0.5, "without anything to learn the model is not sure of anything"


def test_the_temperature_makes_held_out_answers_as_sure_as_they_are_right() -> None:
    made = blocks(2, between=0.8)
    evidence, truth = held_out(FAMILY, made, np.random.default_rng(3))
    model = Model.of(FAMILY, made, np.random.default_rng(3))
    calibrated = posterior(evidence, model.temperature, prior_of(FAMILY)).sum(axis=2)
    hits, sure = (calibrated.argmax(axis=1) == truth).mean(), calibrated.max(axis=1).mean()
    assert abs(hits - sure) < 0.1
    overconfident = posterior(evidence, 0.1, prior_of(FAMILY)).sum(axis=2).max(axis=1).mean()
    assert overconfident - hits > 0.1, "the check would notice"


def test_a_file_unlike_all_settings_fits_none() -> None:
    model = Model.of(FAMILY, blocks(2), np.random.default_rng(3))
    fresh = blocks(4)[1]
    assert np.median([model.posterior(rows)[1] for rows in fresh]) > 0.1
    assert model.posterior(fresh[0] + 20)[1] < 0.01


def test_what_cannot_be_said_of_a_query_is_left_out() -> None:
    made = blocks(2)
    made[0][:, 0, :] = np.nan  # a query for which nothing was sent
    made[1][3, :, 2] = np.nan  # a feature that a setting never has
    fit = Fit.of(FAMILY, made[0], made[1:])
    assert np.isfinite(fit.evidence(made[0][:, 1:]).logs).all()


def test_of_mechanisms_that_send_the_same_none_gains_by_a_finer_grid() -> None:
    family = np.array([0] * 9 + [1, 2, 2])  # nine settings of one mechanism, one of another, and two far away
    made = [block[[0] * 10 + [5, 6]] for block in blocks(2)]  # the first ten send the same
    model = Model.of(family, made, np.random.default_rng(3))
    found = model.posterior(blocks(4)[0][0])[0].sum(axis=1)
    of_mechanism = np.bincount(family, found)
    assert of_mechanism[2] < 0.1
    assert of_mechanism[1] > 0.3, "with equal settings it would be a tenth"
