"""A stand-in for the law of CMP, Mahalanobis, the Vickrey variants and NoisyRANTEXT, which has no closed form.

The word y that comes out lies near phi(x) + Z. Taken as a vector, its mean follows phi(x) linearly to first order, and
the sum over N texts is nearly Gaussian: ln P(y | x) is taken for the density of N(b + A (phi(x) - c), C) at phi(y).
The response A, the covariance C and the centers b and c come from a simulation of the mechanism on words of the log;
A and C are diagonal in the principal directions of what comes out. In each direction A is the slope of the output on
the noisy point. It is far below 1 where the noise is large: outputs then lie at the edge of the vocabulary, whatever
was asked, and only their mean moves a little towards the word. What NoisyRANTEXT sends follows the word in two ways,
through the noisy point and through the draw from the list around it: there A is the slope on the word itself, the noise
being held fixed.
"""

import functools
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from quipukit.attackers.logsites import Floats, LogSites, Observed, Rows
from quipukit.attackers.tables import Table, WordLaw, columns_of_any
from quipukit.mechanisms.noisyrantext import NoisyRANTEXT
from quipukit.mechanisms.perturbation import Perturbation, draw_noise
from quipukit.threads import in_threads, iter_in_threads
from quipukit.vectors.nearest import nearest_two

Noisy = Perturbation | NoisyRANTEXT

_DRAWS = 12_288
_CHUNK = 2048
_FITS = 2  # at a time: each takes ten arrays of all draws, some 400 MB
_SEED = 20_240_617  # any: the same simulation in every run
# Added to the variances, as shares of their mean and of that of the output's: where nearly every word comes out as it
# is there is none.
_RIDGE, _LEAST = 1e-3, 1e-6


@dataclass(frozen=True, eq=False)
class Response:
    """ln P(y | x) = -|(phi(y) - b) root - (phi(x) - c) lead|^2 / 2, but for what depends on y alone.

    ``log_marginal`` is ln P(y) for every word of the vocabulary, where x is a word of the log; ``wide`` is the variance
    of (phi(y) - b) root over these, in every direction: 1 where nothing follows from the word.
    """

    b: Floats
    c: Floats
    root: Floats
    lead: Floats
    log_marginal: Floats
    wide: Floats

    @functools.cached_property
    def pull(self) -> Floats:
        """Return the matrix of the products of outputs and inputs."""
        product: Floats = self.root @ self.lead.T
        return product


class Responses:
    """Responses of mechanisms, from one simulation for all that share their noise; each is computed once."""

    def __init__(self, sites: LogSites) -> None:
        """Choose the words that are simulated: as often as the log has them."""
        vectors = sites.vectors
        rows = sites.rows[sites.ids]
        inside = (rows >= 0) & (rows < len(vectors)) & (sites.kinds[sites.ids] == 0)
        often = np.bincount(rows[inside], minlength=len(vectors)).astype(np.float64)
        shares = often / often.sum() if often.any() else np.full(len(vectors), 1 / len(vectors))
        self._words = np.random.default_rng(_SEED).choice(len(vectors), _DRAWS, p=shares)
        self._vectors = vectors
        self._known: dict[Hashable, Response] = {}

    def of(self, mechanism: Noisy) -> Response:
        """Return the response of a mechanism."""
        self.compute([mechanism])
        return self._known[_key(mechanism)]

    def compute(self, wanted: Sequence[Noisy]) -> None:
        """Simulate the mechanisms that are not known, those with the same noise at once."""
        groups: dict[Hashable, dict[Hashable, Perturbation]] = {}
        for one in wanted:
            if isinstance(one, NoisyRANTEXT):
                if _key(one) not in self._known:
                    self._known[_key(one)] = self._fitted(*self._simulated_lists(one), of_word=True)
            elif _key(one) not in self._known:
                groups.setdefault((type(one).stretch, one.noise_family), {})[_key(one)] = one
        for group in groups.values():
            outputs, noise = self._simulated(list(group.values()))
            pairs = zip((one.epsilon for one in group.values()), outputs, strict=True)
            fits = iter_in_threads(functools.partial(self._fit, noise), pairs, _FITS)
            self._known.update(zip(group, fits, strict=True))

    def _simulated(self, group: Sequence[Perturbation]) -> tuple[list[Rows], Floats]:
        """Return the row that each mechanism sends for every word, and the noise at epsilon = 1."""
        vectors = self._vectors
        epsilons = np.array(sorted({one.epsilon for one in group}))
        rng = np.random.default_rng(_SEED)
        drawn = [draw_noise(rng, _CHUNK, vectors.dimension) for _ in range(0, _DRAWS, _CHUNK)]
        directions = np.concatenate([group[0].stretch(one.directions) for one in drawn])
        radii, coins = (np.concatenate([getattr(one, part) for one in drawn]) for part in ("radii", "coins"))
        # Equal words side by side: a block of the search multiplies each of its words once.
        order = np.argsort(self._words, kind="stable")
        used, base_of = np.unique(self._words[order], return_inverse=True)
        points = vectors.matrix[used].astype(np.float64)
        steps = radii[order, None] / epsilons
        near, distance = nearest_two(vectors.matrix, vectors.half_norms, points, base_of, directions[order], steps)
        outputs = []
        for one in group:
            column, rows = int(np.searchsorted(epsilons, one.epsilon)), np.empty(_DRAWS, np.int64)
            rows[order] = one.choose(near[:, column], distance[:, column], coins[order])
            outputs.append(rows)
        return outputs, radii[:, None] * directions

    def _simulated_lists(self, one: NoisyRANTEXT) -> tuple[Rows, Floats]:
        """Return the row that the mechanism sends for every word, and the noise of its list."""
        rows, noise = [], []
        rng = np.random.default_rng(_SEED)
        for start in range(0, _DRAWS, _CHUNK):
            points = self._vectors.matrix[self._words[start : start + _CHUNK]].astype(np.float64)
            drawn = draw_noise(rng, len(points), self._vectors.dimension)
            rows.append(one.choose(points, drawn))
            noise.append(one.noise(drawn))
        return np.concatenate(rows), np.concatenate(noise)

    def _fit(self, noise: Floats, simulated: tuple[float, Rows]) -> Response:
        epsilon, outputs = simulated
        return self._fitted(outputs, noise / epsilon)

    def _fitted(self, outputs: Rows, noise: Floats, of_word: bool = False) -> Response:
        inputs, sent = (self._vectors.matrix[rows].astype(np.float64) for rows in (self._words, outputs))
        b, c = sent.mean(axis=0), inputs.mean(axis=0)
        variances, axes = np.linalg.eigh((sent - b).T @ (sent - b) / len(sent))
        y, x, z = (sent - b) @ axes, (inputs - c) @ axes, noise @ axes
        slope = np.clip(_slopes(y, x, z) if of_word else _slopes(y, x + z), 0.0, 1.0)
        left = ((y - slope * x) ** 2).mean(axis=0)
        ridge = _RIDGE * left.mean() + _LEAST * variances.clip(0).mean()
        spreads = left + (ridge or 1.0)
        root = axes / np.sqrt(spreads)
        wide = np.maximum(variances / spreads, 1.0)
        return Response(b, c, root, root * slope, _log_marginal(outputs, len(self._vectors)), wide)


def _slopes(y: Floats, x: Floats, held: Floats | None = None) -> Floats:
    """Return the slopes of y on x, column by column; beside another cause of y, where one is given."""
    xx, xy = (x * x).sum(axis=0), (x * y).sum(axis=0)
    if held is not None:
        zz, xz, zy = ((held * other).sum(axis=0) for other in (held, x, y))
        xx, xy = xx * zz - xz**2, xy * zz - zy * xz
    return np.divide(xy, xx, out=np.zeros_like(xx), where=xx > 0)


def _log_marginal(outputs: Rows, words: int) -> Floats:
    """Return the logarithms of how often each word came out; words that never did share what came out once (Turing)."""
    counts = np.bincount(outputs, minlength=words)
    unseen = max(1, int((counts == 1).sum())) / len(outputs)
    return np.asarray(np.log((1 - unseen) * counts / len(outputs) + unseen / words), np.float64)


def _key(mechanism: Noisy) -> Hashable:
    return (type(mechanism), mechanism.spec)


class NoiseLaw(WordLaw):
    """The stand-in for the law of a mechanism that adds noise."""

    together = "any"  # one product with the places of the log, instead of a copy of the places for every set of texts
    normalized = False

    def __init__(self, sites: LogSites, mechanism: Noisy, responses: Responses) -> None:
        """Take the response of the mechanism, and what it costs each column."""
        super().__init__(sites)
        self.mechanism = mechanism
        self._response = responses.of(mechanism)
        columns = np.flatnonzero(sites.kinds == 0)
        self._costs, self._prices = np.zeros((2, len(sites.kinds)))
        for start in range(0, len(columns), _CHUNK):
            mine = columns[start : start + _CHUNK]
            squares = ((sites.places(mine) - self._response.c) @ self._response.lead) ** 2
            self._costs[mine] = squares.sum(axis=1) / 2
            self._prices[mine] = squares @ self._response.wide / 2

    def of_places(self, rows: Rows, counts: Floats, columns: Rows) -> tuple[Floats, Floats]:
        """Return the Gaussian log-likelihoods; nothing is impossible."""
        products = self._pulls(rows, counts) @ (self.sites.shared_places(columns) - self._response.c).T
        return self._less_costs(products, counts, columns)

    def tables(self, several: "Sequence[tuple[Observed, Rows]]") -> list[Table]:
        """Return the tables of many sets of texts, from one product for all of them with the columns that any needs."""

        def pulls(pair: "tuple[Observed, Rows]") -> Floats:
            inside = pair[0].rows < len(self.sites.vectors)
            return self._pulls(pair[0].rows[inside], pair[0].counts[:, inside])

        stacked = np.concatenate([np.empty((0, self.sites.vectors.dimension)), *in_threads(pulls, several)])
        ends = np.cumsum([seen.length for seen, _ in several])
        needed = columns_of_any(columns for _, columns in several)
        products = np.empty((len(stacked), len(needed)))

        def part(start: int) -> None:
            span = slice(start, start + _CHUNK)
            products[:, span] = stacked @ (self.sites.places(needed[span]) - self._response.c).T

        in_threads(part, range(0, len(needed), _CHUNK))

        def filled(one: "tuple[Observed, Rows, int]") -> Table:
            seen, columns, end = one
            own = products[end - seen.length : end]

            def of_places(rows: Rows, counts: Floats, here: Rows) -> tuple[Floats, Floats]:
                return self._less_costs(own[:, np.searchsorted(needed, here)], counts, here)

            return self._filled(seen, columns, of_places)

        return in_threads(filled, [(*pair, int(end)) for pair, end in zip(several, ends, strict=True)])

    def _pulls(self, rows: Rows, counts: Floats) -> Floats:
        """Return, for every position, the vector whose product with a place is what the outputs say for it."""
        words = self.sites.vectors.matrix[rows].astype(np.float64) - self._response.b
        pulls: Floats = (counts @ words) @ self._response.pull
        return pulls

    def _less_costs(self, products: Floats, counts: Floats, columns: Rows) -> tuple[Floats, Floats]:
        number = counts.sum(axis=1, keepdims=True)
        likelihood = products - number * self._costs[columns]
        return likelihood, np.zeros_like(likelihood)

    def log_marginal(self, rows: Rows) -> Floats:
        """Return ln P(y) for outputs, over the words that the log has: what the simulation sent, smoothed."""
        return self._response.log_marginal[rows]

    def surplus(self, columns: Rows) -> Floats:
        """Return by how much the likelihoods of a text exceed ln P(y | x) / P(y), column by column.

        With p the input and o the output in the coordinates of the response, that ratio is exp(o p - S(p)), where S
        makes its mean over all y 1; for outputs with the variances v it is v p^2 / 2.
        """
        surplus: Floats = self._prices[columns] - self._costs[columns]
        return surplus
