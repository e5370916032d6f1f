"""Simulate files of every mechanism and value, and keep their features: computed once, then read from the cache."""

import contextlib
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quipukit.errors import QuipukitError
from quipukit.identification.features import FEATURES, OWN_FEATURES, features
from quipukit.identification.reader import Reader
from quipukit.identification.worlds import SEED, World
from quipukit.mechanisms.base import Mechanism
from quipukit.obfuscation import bind, obfuscate_with_notes
from quipukit.progress import Progress, part_of
from quipukit.registry import mechanism_class
from quipukit.source_hash import code_key, source_hash
from quipukit.specs import Spec
from quipukit.storage import atomic_write, cache_home, locked

Floats = NDArray[np.float64]

LEVELS = (20, 10, 5, 2)  # variants per query that files are read with


@dataclass(frozen=True, eq=False)
class Simulation:
    """Features per world, setting, query: one array (settings, queries, features) for every world and level."""

    settings: list[Spec]
    blocks: dict[int, list[Floats]]  # level -> arrays by world, world 0 first
    left_out: dict[str, str] = field(default_factory=dict)  # mechanism -> why it cannot be simulated


def simulate(
    families: Mapping[str, Sequence[Spec]], worlds: Sequence[World], reader: Reader, progress: Progress | None = None
) -> Simulation:
    """Simulate every setting in every world; ``families`` are settings by the spec of their mechanism."""
    left_out: dict[str, str] = {}
    made: list[dict[str, Floats]] = []
    for world in worlds:
        wanted = {family: specs for family, specs in families.items() if family not in left_out}
        made.append(_world(wanted, world, reader, left_out, part_of(progress, world.number, 1, len(worlds))))
    kept = [family for family in families if family not in left_out]
    settings = [one for family in kept for one in families[family]]
    blocks = {
        level: [np.concatenate([own[family][at] for family in kept]) for own in made] if kept else []
        for at, level in enumerate(LEVELS)
    }
    return Simulation(settings, blocks, left_out)


def _world(
    families: Mapping[str, Sequence[Spec]],
    world: World,
    reader: Reader,
    left_out: dict[str, str],
    progress: Progress | None,
) -> dict[str, Floats]:
    """Return features (levels, settings, queries, features) of each family in a world, from the cache if possible."""
    folder = cache_home() / "identify"
    paths = {family: folder / f"{_key(specs, world, reader)}.npy" for family, specs in families.items()}
    blocks: dict[str, Floats] = {}
    with locked(folder / str(world.number)):
        for family, path in paths.items():
            with contextlib.suppress(OSError, ValueError):  # not there, or damaged: simulated again
                blocks[family] = np.load(path)
        bound: dict[str, list[Mechanism]] = {}
        for family, specs in families.items():
            if family not in blocks:
                try:
                    bound[family] = bind(list(specs), vectors=world.vectors, wordnet=reader.wordnet)
                except QuipukitError as fault:
                    left_out[family] = str(fault)
        # The built-in ones together, for some share work; a plugin by itself, because it may fail in any way.
        ours = [family for family in bound if type(bound[family][0]).__module__.startswith("quipukit.")]
        groups = [*([ours] if ours else []), *([family] for family in bound if family not in ours)]
        for number, group in enumerate(groups):
            try:
                tables = _tables([one for family in group for one in bound[family]], world, progress)
            except Exception as fault:
                if group is ours:
                    raise
                left_out[group[0]] = f"{type(fault).__name__}: {fault}"
                continue
            for family in group:
                blocks[family] = np.stack([_features(tables[one.spec], world, reader) for one in bound[family]], axis=1)
                with contextlib.suppress(OSError), atomic_write(paths[family]) as draft:  # it works without a cache
                    np.save(draft, blocks[family])
            if progress is not None:
                progress(number + 1, len(groups))
    return blocks


def _tables(
    mechanisms: Sequence[Mechanism], world: World, progress: Progress | None
) -> dict[Spec, dict[str, list[str]]]:
    """Return the variants of every query, by setting."""
    # Common noise: a grid costs little more than one value, and the file of each keeps its distribution.
    done = obfuscate_with_notes(world.queries, mechanisms, LEVELS[0], seed=SEED, noise="common", progress=progress)
    tables: dict[Spec, dict[str, list[str]]] = {one.spec: {} for one in mechanisms}
    specs = {(one.spec.family, one.value): one.spec for one in mechanisms}
    table = done.table
    for mechanism, value, qid, text in zip(
        *(table[name] for name in ("mechanism", "value", "qid", "query")), strict=True
    ):
        tables[specs[mechanism, value]].setdefault(qid, []).append(text)
    return tables


def _features(texts: Mapping[str, list[str]], world: World, reader: Reader) -> Floats:
    """Return features (levels, queries, features) of a file; those of queries for which nothing was sent are NaN."""
    asked = [qid for qid in world.queries if texts.get(qid)]
    rows = np.full((len(LEVELS), len(world.queries), len(FEATURES) + len(OWN_FEATURES)), np.nan)
    if asked:
        for at, level in enumerate(LEVELS):
            rows[at, : len(asked)] = features(
                [texts[qid] for qid in asked], reader, level, [world.queries[qid] for qid in asked]
            )
    return rows


def _key(specs: Sequence[Spec], world: World, reader: Reader) -> str:
    """Return what decides the features: settings and code, queries, and both vocabularies."""
    parts: list[Any] = [
        list(map(repr, specs)),
        code_key(mechanism_class(specs[0].name)),
        source_hash("quipukit.identification.simulate"),
        sorted(world.queries.items()),
        world.vectors.content_id,
        reader.vectors.fingerprint,
        reader.wordnet.fingerprint,
        LEVELS,
        SEED,
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]
