"""Identify: which registered mechanism made a file of obfuscated queries, and at which value of its parameter?"""

import functools
import hashlib
import warnings
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from quipukit.errors import InputError
from quipukit.experiment.grid import expand
from quipukit.frames import Queries, queries_frame
from quipukit.identification.features import FEATURES, OWN_FEATURES, features
from quipukit.identification.model import Model
from quipukit.identification.reader import Reader
from quipukit.identification.simulate import LEVELS, Simulation, simulate
from quipukit.identification.worlds import SEED, make_worlds
from quipukit.progress import Progress
from quipukit.registry import mechanism_class, mechanism_names
from quipukit.seeds import keyed
from quipukit.settings import SETTING, setting_name
from quipukit.specs import Spec, spec

QUERIES = 24  # simulated in every world
OTHERS = 5  # worlds with other vectors
CREDIBLE = 0.9
NO_FIT = 0.01  # a file that fits worse than this share of simulated ones fits none of the mechanisms
_FEW_QUERIES = 5
_LEAST_KNOWN = 0.2


@dataclass(frozen=True, eq=False)
class Identification:
    """What `identify` found: the posterior of every setting, and a summary, both with one ``part`` per setting read.

    ``posterior`` has the columns part, mechanism, parameter, value, posterior, the likeliest first. ``summary`` has one
    row per part: the likeliest mechanism and its posterior, the smallest sets of mechanisms and of values (of the
    likeliest mechanism) that hold 90 %, the posterior that the file was made with the reader's vectors, ``fit`` (the
    share of simulated files that fit worse), and whether any registered mechanism fits.
    """

    posterior: pd.DataFrame
    summary: pd.DataFrame
    notes: list[str]

    def __repr__(self) -> str:
        lines = [f"{row['part'] or 'the queries'}: {verdict(row)}" for row in self.summary.to_dict("records")]
        return "\n".join([*lines, *self.notes])


def identify(
    obfuscated: pd.DataFrame,
    queries: "Queries | None" = None,
    *,
    mechanisms: "Sequence[str | Spec] | None" = None,
    log: "Iterable[str] | None" = None,
    vectors: Any = None,
    wordnet: Any = None,
    progress: Progress | None = None,
) -> Identification:
    """Say which registered mechanism, at which value, made obfuscated queries, with a posterior for every setting.

    Only the sent texts are read: ``obfuscated`` needs the columns qid and query, several rows per query. Where it has
    mechanism, parameter and value, each setting is identified by itself; what these columns say is never used. The
    original queries are taken as unknown unless ``queries`` gives them.

    Settings are compared with files that are simulated once, for ``mechanisms`` (default: all registered ones, with
    their grids, but for those that take long and are not ``surveyed``) on queries of ``log`` (default: the built-in
    one), and kept in the cache. ``vectors`` are those that the file may have been made with; files of other vectors are
    simulated too, and the summary says which are likelier.
    """
    originals = None if queries is None else dict(queries_frame(queries).itertuples(index=False, name=None))
    # All that can be refused is, before anything is simulated.
    parts = {part: _usable(part, variants, originals) for part, variants in _parts(obfuscated).items()}
    model_of = _models(mechanisms, log, vectors, wordnet, progress)
    posteriors, rows = [], []
    notes = [
        f"{name} was left out, because it could not be simulated: {why}" for name, why in model_of.left_out.items()
    ]
    for part, (level, variants) in parts.items():
        table, row, remarks = model_of.read(part, level, variants, originals)
        posteriors.append(table)
        rows.append(row)
        notes += remarks
    return Identification(pd.concat(posteriors, ignore_index=True), pd.DataFrame(rows), list(dict.fromkeys(notes)))


def verdict(row: Mapping[str, Any]) -> str:
    """Return a row of the summary in words."""
    best = f"{row['mechanism']}, {row['parameter']} {row['values']}" if row["values"] else row["mechanism"]
    if not row["fits"]:
        return f"none of the registered mechanisms fits (fit {row['fit']:.3f}); the least unlike: {row['mechanisms']}"
    if row["mechanisms"] == row["mechanism"]:
        return f"{best} (posterior {row['posterior']:.2f})"
    return f"one of {row['mechanisms']}; the likeliest is {best} (posterior {row['posterior']:.2f})"


# --- the simulated side ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Models:
    """A simulation and the models that are fitted to it, one per number of variants, when they are needed."""

    simulation: Simulation
    reader: Reader
    families: tuple[str, ...]

    @property
    def left_out(self) -> dict[str, str]:
        return self.simulation.left_out

    @functools.cached_property
    def _fitted(self) -> "dict[tuple[int, bool], Model]":
        return {}

    def model(self, level: int, own: bool) -> Model:
        """Return the model for a number of variants, with or without the originals."""
        if (level, own) not in self._fitted:
            count = len(FEATURES) + (len(OWN_FEATURES) if own else 0)
            numbers = {family: number for number, family in enumerate(dict.fromkeys(self.families))}
            family = np.array([numbers[one] for one in self.families])
            blocks = [block[..., :count] for block in self.simulation.blocks[level]]
            self._fitted[level, own] = Model.of(family, blocks, keyed(SEED, "held out", level, int(own)))
        return self._fitted[level, own]

    def read(
        self, part: str, level: int, usable: "dict[str, list[str]]", originals: "dict[str, str] | None"
    ) -> tuple[pd.DataFrame, dict[str, Any], list[str]]:
        """Return the posterior, the row of the summary, and remarks about one part."""
        asked = None if originals is None else [originals[qid] for qid in usable]
        rows = features(list(usable.values()), self.reader, level, asked)
        name = part or "the queries"
        remarks = []
        if np.nanmean(rows[:, FEATURES.index("known")]) < _LEAST_KNOWN:
            remarks.append(
                f"{name}: fewer than {_LEAST_KNOWN:.0%} of the words are in the vocabulary of "
                f"{self.reader.vectors.name}; read with vectors of that language."
            )
        if len(usable) < _FEW_QUERIES:
            remarks.append(f"{name}: only {len(usable)} queries can be read, so little can be told.")
        model = self.model(level, originals is not None)
        posterior, fit = model.posterior(rows)
        if fit < NO_FIT:
            names = FEATURES if originals is None else (*FEATURES, *OWN_FEATURES)
            away = model.fit.unlike(rows)
            most = [f"{names[at]} ({away[at]:+.0f})" for at in np.argsort(-np.abs(away))[:3]]
            remarks.append(f"{name}: deviations from the nearest setting: {', '.join(most)}.")
        table = self._table(part, posterior.sum(axis=1))
        row = {"part": part, "queries": len(usable), "variants": level, **_summary(table)}
        return table, {**row, "own_vectors": float(posterior[:, 0].sum()), "fit": fit, "fits": fit >= NO_FIT}, remarks

    def _table(self, part: str, posterior: NDArray[np.float64]) -> pd.DataFrame:
        settings = self.simulation.settings
        table = pd.DataFrame(
            {
                "part": part,
                "mechanism": [one.family for one in settings],
                "parameter": [mechanism_class(one.name).parameter for one in settings],
                "value": [0.0 if one.value is None else float(one.value) for one in settings],
                "posterior": posterior,
            }
        )
        order = np.argsort(-posterior, kind="stable")
        return table.iloc[order].reset_index(drop=True)


_KEPT: dict[Hashable, _Models] = {}


def _models(
    mechanisms: "Sequence[str | Spec] | None",
    log: "Iterable[str] | None",
    vectors: Any,
    wordnet: Any,
    progress: Progress | None,
) -> _Models:
    from quipukit.attackers.log import read_log
    from quipukit.vectors.sources import load_vectors
    from quipukit.wordnet.database import load_wordnet

    vectors = load_vectors() if vectors is None else vectors
    wordnet = load_wordnet() if wordnet is None else wordnet
    texts = tuple(read_log("wordnet" if log is None else log).texts)
    surveyed = [name for name in mechanism_names() if mechanism_class(name).surveyed]
    names = surveyed if mechanisms is None else list(mechanisms)
    if not names:
        raise InputError("mechanisms= names none; leave it out for all of them.", argument="mechanisms")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a mechanism without a grid is simulated at its default alone
        families: dict[str, list[Spec]] = {}
        for name in names:
            families.setdefault(spec(name).family, []).extend(expand([name], (), ()))
    families = {family: list(dict.fromkeys(settings)) for family, settings in families.items()}
    key = (tuple(map(repr, families.items())), texts, vectors.content_id, wordnet.fingerprint)
    if key not in _KEPT:
        worlds = make_worlds(texts, vectors, QUERIES, OTHERS)
        reader = Reader(vectors, wordnet)
        simulation = simulate(families, worlds, reader, progress)
        if not simulation.settings:
            reasons = "; ".join(f"{name}: {why}" for name, why in simulation.left_out.items())
            raise InputError(f"none of the mechanisms can be simulated ({reasons}); name others in mechanisms=.")
        _KEPT.clear()  # one is enough, and small
        _KEPT[key] = _Models(simulation, reader, tuple(one.family for one in simulation.settings))
    return _KEPT[key]


# --- the side of the file ------------------------------------------------------------------------------------------


def _parts(obfuscated: pd.DataFrame) -> "dict[str, dict[str, list[str]]]":
    """Return the texts of every query of every setting; the order of rows does not matter."""
    for column in ("qid", "query"):
        if column not in obfuscated.columns:
            raise InputError(f"the obfuscated queries need a column {column!r}; rename or add it.")
    if obfuscated.empty:
        raise InputError("there are no obfuscated queries to identify; the table is empty.")
    table = obfuscated.assign(qid=obfuscated["qid"].astype(str), query=obfuscated["query"].fillna("").astype(str))
    by = [column for column in SETTING if column in table.columns]
    parts: dict[str, dict[str, list[str]]] = {}
    for labels, rows in table.groupby(by, sort=False) if by else [((), table)]:
        name = _label(dict(zip(by, labels, strict=True)))
        own = parts[name] = {}
        for qid, texts in rows.groupby("qid", sort=True)["query"]:
            own[str(qid)] = _shuffled(texts.tolist())
    return dict(sorted(parts.items()))


def _shuffled(texts: Sequence[str]) -> list[str]:
    """Return texts in an order that is random, but the same for any order in which they are given.

    Some files list variants in the order of a product: the first of them have most of their words in common.
    """
    times: Counter[str] = Counter()
    keys = []
    for text in texts:
        times[text] += 1
        keys.append((hashlib.sha256(f"{times[text]} {text}".encode()).digest(), text))
    return [text for _, text in sorted(keys)]


def _label(labels: "dict[str, Any]") -> str:
    if not labels:
        return ""
    name = str(labels.get("mechanism", ""))
    if "value" not in labels:
        return name
    return setting_name(name, str(labels.get("parameter", "")), float(labels["value"]))


def _usable(
    part: str, variants: "dict[str, list[str]]", originals: "dict[str, str] | None"
) -> "tuple[int, dict[str, list[str]]]":
    """Return with how many variants the queries are read, and those that have two or more that are not empty."""
    if originals is not None:
        variants = _matched(part, variants, originals)
    texts = {qid: [text for text in own if text.strip()] for qid, own in variants.items()}
    several = {qid: own for qid, own in texts.items() if len(own) >= LEVELS[-1]}
    name = f"{part}: " if part else ""
    if not any(texts.values()):
        raise InputError(f"{name}all obfuscated queries are empty; nothing can be told from them.")
    if not several:
        raise InputError(
            f"{name}every query has only one variant, and one shows no law; identify needs two or more of at least one "
            "query."
        )
    most = float(np.quantile([len(own) for own in several.values()], 0.9))
    level = next(level for level in LEVELS if level <= max(most, LEVELS[-1]))
    return level, {qid: own[:level] for qid, own in several.items()}


def _matched(part: str, usable: "dict[str, list[str]]", originals: "dict[str, str]") -> "dict[str, list[str]]":
    there = {qid: own for qid, own in usable.items() if qid in originals}
    if not there:
        raise InputError(
            f"{part or 'the file'}: queries= has none of the ids of the obfuscated queries; give their originals.",
            argument="queries",
        )
    return there


def _summary(table: pd.DataFrame) -> "dict[str, Any]":
    """Return the likeliest mechanism, and the smallest sets of mechanisms and of its values that hold 90 %."""
    by_mechanism = table.groupby("mechanism", sort=False)["posterior"].sum().sort_values(ascending=False, kind="stable")
    best = str(by_mechanism.index[0])
    own = table[table["mechanism"] == best]
    parameter = str(own["parameter"].iloc[0])
    chosen = own[: _enough(own["posterior"] / own["posterior"].sum())]["value"] if parameter else own["value"][:0]
    return {
        "mechanism": best,
        "posterior": float(by_mechanism.iloc[0]),
        "mechanisms": ", ".join(map(str, by_mechanism.index[: _enough(by_mechanism)])),
        "parameter": parameter,
        "value": float(own["value"].iloc[0]) if parameter else np.nan,
        "values": _values(sorted(chosen), sorted(own["value"])) if parameter else "",
    }


def _enough(shares: "pd.Series[float]") -> int:
    """Return how many of the largest shares, which come first, hold 90 %."""
    return min(len(shares), int(np.searchsorted(np.cumsum(shares.to_numpy()), CREDIBLE)) + 1)


def _values(chosen: Sequence[float], grid: Sequence[float]) -> str:
    """Write values of a grid; neighbors as a range.

    >>> _values([10, 12.5, 15, 50], [1, 5, 10, 12.5, 15, 17.5, 50])
    '10 to 15, 50'
    >>> _values([1, 5], [1, 5])
    'any from 1 to 5'
    """
    if len(chosen) == len(grid) > 1:
        return f"any from {grid[0]:g} to {grid[-1]:g}"
    runs: list[list[float]] = []
    for value in chosen:
        if runs and list(grid).index(value) == list(grid).index(runs[-1][-1]) + 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    return ", ".join(f"{run[0]:g}" if len(run) == 1 else f"{run[0]:g} to {run[-1]:g}" for run in runs)
