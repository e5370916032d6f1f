"""From features to a posterior over settings: one distribution per setting, calibrated on simulated files alone.

The features of a file are the means over its Q queries. For a setting they lie around the mean of the simulated files,
with covariance

- ``S (1/Q + 1/R)`` where the file was made with the vectors of world 0: S is the covariance between queries, R how many
  were simulated;
- ``S (1/Q + 1/(R W)) + B (1 + 1/W)`` where it was made with others: B is the covariance between the W other worlds.

Correlations in S and B are pooled over the settings of a mechanism and shrunk. Settings are told apart in the few
directions that do it best (Fisher's linear discriminants), with the tails of Student's t, for simulated worlds are few;
whether a file fits at all is seen in all features. All mechanisms have equal prior probability, within each all of its
settings, and so have the vectors of world 0 and others: how fine the grid of a mechanism is says nothing about how
likely it is. Densities are raised to the power 1 / temperature, which is chosen on held-out simulated files: those of a
world that was left out, and of queries of world 0 that were left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

Floats = NDArray[np.float64]
Families = NDArray[np.int64]

_SHRINK = 0.2  # of pooled correlations towards none
_FLOOR = 0.05  # in units of the deviation between settings: no feature is known more exactly than that
_LEAST = 0.1  # the same for a file, and in directions:
_LEAST_ALONG = 0.2
_TINY = 0.01  # the same for one query or world
_SMALLEST = 1e-9  # a feature that varies less between settings is the same in all of them
_DIRECTIONS = 14
_TAILS = 8.0  # degrees of freedom
_TYPICAL = 15  # queries of a file for which the directions are best
SIZES = (5, 15, 40)  # queries per held-out file
_FILES = 2  # held-out files per setting, world and size


@dataclass(frozen=True, eq=False)
class Evidence:
    """Of files: log densities (files, settings, [world 0, others]), and squared distances from the nearest setting."""

    logs: Floats
    distances: Floats


@dataclass(frozen=True, eq=False)
class Normals:
    """Means and covariances of every setting, made with the vectors of world 0 or with others."""

    means: tuple[Floats, Floats]  # (settings, features): world 0, others
    queries: Floats  # S, (settings, features, features)
    worlds: Floats  # B, (settings, features, features)
    simulated: tuple[int, int]  # R, W
    least: float  # deviation that no feature is below

    def spreads(self, size: int) -> tuple[Floats, Floats]:
        """Return the covariances of files of so many queries."""
        simulated, worlds = self.simulated
        least = self.least**2 * np.eye(self.queries.shape[1])
        return (
            self.queries * (1 / size + 1 / simulated) + least,
            self.queries * (1 / size + 1 / (simulated * worlds)) + self.worlds * (1 + 1 / worlds) + least,
        )

    def apart(self, points: Floats, size: int) -> tuple[Floats, Floats]:
        """Return squared distances (files, settings, 2) in units of the covariance, and the logs of its volume."""
        squares, volumes = [], []
        for means, spread in zip(self.means, self.spreads(size), strict=True):
            factors = np.linalg.cholesky(spread)
            away = np.einsum("sab,fsb->fsa", np.linalg.inv(factors), points[:, None] - means, optimize=True)
            squares.append(np.square(away).sum(axis=2))
            volumes.append(np.log(np.einsum("saa->sa", factors)).sum(axis=1))
        return np.stack(squares, axis=2), np.stack(volumes, axis=1)

    def along(self, axes: Floats, least: float) -> "Normals":
        """Return the same in other directions."""
        first, others = (means @ axes for means in self.means)
        queries, worlds = (np.einsum("ia,sij,jb->sab", axes, each, axes) for each in (self.queries, self.worlds))
        return Normals((first, others), queries, worlds, self.simulated, least)


@dataclass(frozen=True, eq=False)
class Fit:
    """The features of every setting: all of them, and in the directions that tell settings apart."""

    center: Floats
    unit: Floats
    axes: Floats  # (features, directions)
    whole: Normals
    narrow: Normals

    @classmethod
    def of(cls, family: Families, known: Floats, others: Sequence[Floats]) -> "Fit":
        """Fit to arrays (settings, queries, features) of world 0 and of others; ``family`` numbers mechanisms."""
        flat = np.concatenate([_mean(block) for block in (known, *others)])
        center = np.nan_to_num(_mean(flat[None])[0])
        unit = np.nan_to_num(np.sqrt(_mean(np.square(flat - center)[None])[0]))
        unit[unit < _SMALLEST] = 1.0
        blocks = [(block - center) / unit for block in (known, *others)]
        # What cannot be said of any query of a file is the mean of all: it then speaks for no setting.
        means = np.nan_to_num([_mean(block) for block in blocks])
        inner = np.concatenate(
            [np.nan_to_num(block - mean[:, None]) for block, mean in zip(blocks, means, strict=True)], axis=1
        )
        within = np.einsum("sqi,sqj->sij", inner, inner) / max(1, inner.shape[1] - len(blocks))
        away = means[1:] - means[1:].mean(axis=0)
        between = np.einsum("wsi,wsj->sij", away, away) / max(1, len(others) - 1)
        queries = _pooled(within, family)
        worlds = _pooled(between, family) + _FLOOR**2 * np.eye(len(center))
        pair = (means[0], means[1:].mean(axis=0))
        axes = _discriminants(np.concatenate(pair), (queries / _TYPICAL + worlds).mean(axis=0))
        whole = Normals(pair, queries, worlds, (known.shape[1], len(others)), _LEAST)
        return cls(center, unit, axes, whole, whole.along(axes, _LEAST_ALONG))

    def points(self, files: Floats) -> Floats:
        """Return the features of files (files, queries, features), averaged and in standard units."""
        return np.nan_to_num(_mean((files - self.center) / self.unit))

    def evidence(self, files: Floats) -> Evidence:
        """Return the evidence of files of equal size, given features (files, queries, features)."""
        points, size = self.points(files), files.shape[1]
        squares, volumes = self.narrow.apart(points @ self.axes, size)
        logs = -volumes - (_TAILS + self.axes.shape[1]) / 2 * np.log1p(squares / _TAILS)
        # In all features: a file may be like a setting in what tells settings apart, and like none in the rest.
        return Evidence(logs, self.whole.apart(points, size)[0].min(axis=(1, 2)))

    def unlike(self, rows: Floats) -> Floats:
        """Return for every feature of a file how many deviations it lies from the setting that it is nearest to."""
        points, size = self.points(rows[None]), len(rows)
        squares = self.whole.apart(points, size)[0][0]
        setting, vectors = np.unravel_index(squares.argmin(), squares.shape)
        variances = np.diagonal(self.whole.spreads(size)[vectors][setting])
        return np.asarray((points[0] - self.whole.means[vectors][setting]) / np.sqrt(variances))


@dataclass(frozen=True, eq=False)
class Model:
    """A fit, its temperature, and how far held-out simulated files lie from the setting nearest to them."""

    fit: Fit
    prior: Floats  # of every setting
    temperature: float
    distances: Floats  # by increasing distance

    @classmethod
    def of(cls, family: Families, blocks: Sequence[Floats], rng: np.random.Generator) -> "Model":
        """Fit to the blocks of all worlds, and calibrate on files that the fit behind them has not seen."""
        evidence, truth = held_out(family, blocks, rng)
        distances = np.sort(evidence.distances)
        prior = prior_of(family)
        fit = Fit.of(family, blocks[0], blocks[1:])
        return cls(fit, prior, best_temperature(evidence, truth, prior), distances)

    def posterior(self, rows: Floats) -> tuple[Floats, float]:
        """Return the posterior (settings, [world 0, others]) and which share of simulated files fits worse."""
        evidence = self.fit.evidence(rows[None])
        worse = len(self.distances) - np.searchsorted(self.distances, evidence.distances[0], side="left")
        return posterior(evidence, self.temperature, self.prior)[0], float((1 + worse) / (1 + len(self.distances)))


def prior_of(family: Families) -> Floats:
    """Return the prior probability of every setting: equal for all mechanisms, and within a mechanism.

    >>> prior_of(np.array([0, 0, 0, 0, 1])).tolist()
    [0.125, 0.125, 0.125, 0.125, 0.5]
    """
    _, of, number = np.unique(family, return_inverse=True, return_counts=True)
    return np.asarray(1 / number[of] / len(number), float)


def posterior(evidence: Evidence, temperature: float, prior: Floats) -> Floats:
    """Return the posterior of settings and of whose vectors were used, for every file; each sums to 1."""
    logs = evidence.logs / temperature + np.log(prior)[:, None]
    return np.exp(logs - logsumexp(logs, axis=(1, 2), keepdims=True))


def best_temperature(evidence: Evidence, truth: NDArray[np.int64], prior: Floats) -> float:
    """Return the temperature at which the true settings of files, drawn by their prior, have the highest likelihood."""
    weights = prior[truth] / prior[truth].sum()

    def loss(log_temperature: float) -> float:
        own = posterior(evidence, float(np.exp(log_temperature)), prior)[np.arange(len(truth)), truth].sum(axis=1)
        return -float(weights @ np.log(np.maximum(own, 1e-300)))

    best = minimize_scalar(loss, bounds=(0.0, np.log(300.0)), method="bounded", options={"xatol": 0.02})
    return float(np.exp(best.x))


def held_out(
    family: Families, blocks: Sequence[Floats], rng: np.random.Generator
) -> tuple[Evidence, NDArray[np.int64]]:
    """Return the evidence and the true settings of simulated files that the fit behind it has not seen.

    Those of world 0 come first, then those of each other world.
    """
    known, others = blocks[0], list(blocks[1:])
    half = known.shape[1] // 2
    parts = [(Fit.of(family, known[:, :half], others), known[:, half:])]
    parts += [
        (Fit.of(family, known, others[:left] + others[left + 1 :]), block)
        for left, block in enumerate(others)
        if len(others) > 1
    ]
    held, truth = [], []
    for fit, block in parts:
        for size in SIZES:
            for _ in range(_FILES):
                rows = np.stack([rng.permutation(block.shape[1])[:size] for _ in family])
                held.append(fit.evidence(np.take_along_axis(block, rows[..., None], axis=1)))
                truth.append(np.arange(len(family)))
    logs = np.concatenate([one.logs for one in held])
    return Evidence(logs, np.concatenate([one.distances for one in held])), np.concatenate(truth)


def _mean(blocks: Floats) -> Floats:
    """Return means over the second axis, without NaN; NaN is the mean of none."""
    there = ~np.isnan(blocks)
    number = there.sum(axis=1)
    total = np.where(there, blocks, 0.0).sum(axis=1)
    return np.divide(total, number, out=np.full(total.shape, np.nan), where=number > 0)


def _pooled(each: Floats, family: Families) -> Floats:
    """Return covariances: correlations of the whole mechanism, shrunk, and variances of the setting and its neighbors.

    Variances are a setting's own, because settings of different mechanisms that send the same must have equal ones.
    """
    pooled, variances = np.empty_like(each), np.empty(each.shape[:2])
    overall, own = each.mean(axis=0), np.einsum("sii->si", each)
    for one in np.unique(family):
        members = np.flatnonzero(family == one)
        weight = len(members) / (len(members) + 3)  # a mechanism with few settings borrows from all
        pooled[members] = weight * each[members].mean(axis=0) + (1 - weight) * overall
        before, after = np.r_[members[:1], members[:-1]], np.r_[members[1:], members[-1:]]
        variances[members] = (own[before] + own[members] + own[after]) / 3
    deviations = np.sqrt(np.maximum(np.einsum("sii->si", pooled), _SMALLEST))
    correlations = (1 - _SHRINK) * pooled / deviations[:, :, None] / deviations[:, None, :]
    axis = np.arange(each.shape[1])
    correlations[:, axis, axis] = 1.0
    scale = np.sqrt(variances + _TINY**2)
    return np.asarray(correlations * scale[:, :, None] * scale[:, None, :])


def _discriminants(means: Floats, within: Floats) -> Floats:
    """Return the directions in which means lie far apart for what varies within a setting."""
    away = means - means.mean(axis=0)
    # NumPy's own sign of an eigenvector may differ from machine to machine; distances do not depend on it.
    vectors = eigh(away.T @ away / len(means), within)[1]
    return np.asarray(vectors[:, ::-1][:, :_DIRECTIONS], float)
