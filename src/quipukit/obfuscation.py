"""Obfuscate many queries with many mechanisms at once: bind specs, plan what they share, run, collect."""

import threading
import weakref
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from quipukit.errors import InputError, SpecError
from quipukit.frames import NOTES, OBFUSCATED, Queries, queries_frame
from quipukit.mechanisms.base import RESOURCES, Mechanism, RootSeed, Variants, check_count, option_fields
from quipukit.registry import mechanism_class, mechanism_names
from quipukit.seeds import Noise
from quipukit.specs import Spec, spec

# Queries in one batch: enough to share work between them, few enough to bound the memory.
_CHUNK = 1024

Progress = Callable[[float, float], None]


def mechanism(
    name: "str | Spec | Mechanism", vectors: Any = None, wordnet: Any = None, collection: Any = None
) -> Mechanism:
    """Bind a spec to its resources; what is not given is the default one, loaded when it is needed."""
    if isinstance(name, Mechanism):
        return name
    wanted = spec(name)
    cls = mechanism_class(wanted.name)
    options = _checked_options(cls, wanted)
    if cls.parameter and wanted.value is None:
        example = Spec(cls.name, wanted.options, cls.grid[0] if cls.grid else 1.0)
        raise SpecError(f"{cls.name} needs its {cls.parameter}; write for instance {example!r}.")
    if not cls.parameter and wanted.value is not None:
        raise SpecError(f"{cls.name} has no privacy parameter; write {wanted.family}.")
    if cls.parameter:
        options[cls.parameter] = wanted.value
    given = {"vectors": vectors, "wordnet": wordnet, "collection": collection}
    fields = {field for field in RESOURCES if field in cls.__dataclass_fields__}
    return cls(**options, **{field: given[field] for field in fields if given[field] is not None})


def _checked_options(cls: type[Mechanism], wanted: Spec) -> dict[str, Any]:
    allowed = [field.name for field in option_fields(cls)]
    options = dict(wanted.options)
    if len(options) != len(wanted.options):
        raise SpecError(f"{wanted!r} sets an option twice; keep one.")
    for option in options:
        if option == cls.parameter:
            raise SpecError(f"{cls.name} takes its {option} after '@', as in {cls.name}@10; remove {option}=.")
        if option not in allowed:
            owners = [
                other
                for other in mechanism_names()
                if option in {field.name for field in option_fields(mechanism_class(other))}
            ]
            hint = f" {option!r} belongs to {', '.join(owners)}." if owners else ""
            raise SpecError(f"{cls.name} has no option {option!r} (it has {', '.join(allowed) or 'none'}).{hint}")
    return options


def obfuscate(
    queries: Queries,
    specs: "str | Spec | Mechanism | Sequence[str | Spec | Mechanism]",
    n: int = 50,
    *,
    vectors: Any = None,
    wordnet: Any = None,
    collection: Any = None,
    seed: int | None = None,
    noise: Noise = "independent",
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Obfuscate queries with every spec, n variants each, and return an Obfuscated table.

    Queries are a frame (qid, query), a Series or a mapping of ids to texts, (qid, query) pairs, or texts. With a
    ``seed`` the result is the same whatever the order, the batches and the number of threads; without one the noise is
    seeded from OS entropy.

    ``noise="common"`` lets the settings of one noise family share their draws: each keeps its exact distribution,
    differences between them get less noisy, and a sweep costs little more than one setting. It is for experiments and
    needs a seed: outputs of several settings that share noise have *no finite joint guarantee* at any epsilon.

    The table holds its columns; ``attrs`` holds ``n`` and ``noise``, nothing about a query. What was flagged stays on
    this side: ``notes(table)`` tells it. ``progress(done, total)`` is called now and then.

    >>> obfuscate(["a cat"], "Identity", n=1)["query"].tolist()
    ['a cat']
    """
    mechanisms = bind(specs, vectors=vectors, wordnet=wordnet, collection=collection)
    return obfuscate_with_notes(queries, mechanisms, n, seed=seed, noise=noise, progress=progress).remembered()


@dataclass(frozen=True)
class Obfuscation:
    """An Obfuscated table, which may be sent, and the Notes about its queries, which may not."""

    table: pd.DataFrame
    notes: pd.DataFrame

    def remembered(self) -> pd.DataFrame:
        """Return the table, and let ``notes(table)`` find its notes for as long as the table lives."""
        number = id(self.table)
        _notes_of[number] = self.notes
        weakref.finalize(self.table, _notes_of.pop, number, None)
        return self.table


# By the identity of the table. Not in its `attrs`: pandas writes those into the metadata of Parquet files, and which
# query holds unknown words is nobody's business on the other side.
_notes_of: dict[int, pd.DataFrame] = {}


def notes(obfuscated: pd.DataFrame) -> pd.DataFrame:
    """Return the Notes of a table that `obfuscate` returned: which queries were empty, had unknown words, got nothing.

    They belong to that very table: a copy, a part of it or what was read from a file has none, by design.
    """
    known = _notes_of.get(id(obfuscated))
    if known is None:
        raise InputError(
            "this table has no notes: only the one that obfuscate() returned does, not a copy, a part or a file; "
            "ask for notes(table) before you copy it."
        )
    return known.copy()


def obfuscate_with_notes(
    queries: Queries,
    mechanisms: Sequence[Mechanism],
    n: int,
    *,
    seed: int | None = None,
    noise: Noise = "independent",
    progress: Progress | None = None,
) -> Obfuscation:
    """Obfuscate as `obfuscate` does, with mechanisms that `bind` made, and return the notes beside the table."""
    frame = queries_frame(queries)
    n, seed = check_count(n), _checked_seed(seed)
    if noise not in ("independent", "common"):
        raise InputError(f"noise must be 'independent' or 'common' (found {noise!r}).")
    if noise == "common" and seed is None:
        raise InputError("noise='common' is for experiments and needs a seed; give one, for instance seed=7.")
    results = _run(mechanisms, list(zip(frame["qid"], frame["query"], strict=True)), n, RootSeed(seed, noise), progress)
    done = _collect(mechanisms, frame["qid"].tolist(), results)
    done.table.attrs.update(n=n, noise=noise)
    return done


def _checked_seed(seed: object) -> int | None:
    # A float or a text would be a seed of its own, and 7.0 would silently differ from 7.
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int | np.integer)):
        raise InputError(f"seed must be a whole number, or None for noise of the operating system (found {seed!r}).")
    return None if seed is None else int(seed)


def bind(specs: "str | Spec | Mechanism | Sequence[str | Spec | Mechanism]", **resources: Any) -> list[Mechanism]:
    """Bind specs to their resources; the default vectors are loaded once for all."""
    if isinstance(specs, str | Spec | Mechanism):
        specs = [specs]
    if resources.get("collection") is not None:
        from quipukit.mechanisms.fea import local_index

        # Indexed once for all settings; an iterator could not be read a second time either.
        resources["collection"] = local_index(resources["collection"])
    mechanisms = [mechanism(specs[0], **resources)] if specs else []
    # The first holds the default vectors, if they are used, so that the others find them loaded.
    mechanisms += [mechanism(one, **resources) for one in specs[1:]]
    if not mechanisms:
        raise SpecError("no mechanism is given; name at least one, for instance CMP@10.")
    for one, count in Counter(one.spec for one in mechanisms).items():
        if count > 1:
            raise SpecError(f"{one!r} is given twice; keep one.")
    return mechanisms


def with_values(
    names: "Iterable[str | Spec]",
    epsilons: Sequence[float],
    usual: "Callable[[type[Mechanism]], Sequence[float]]",
) -> list[Spec]:
    """Combine mechanisms that do not set their parameter with every epsilon, the others with their ``usual`` values."""
    found: list[Spec] = []
    used = not epsilons
    for name in names:
        one = spec(name)
        cls = mechanism_class(one.name)
        if one.value is not None or not cls.parameter:
            values: Sequence[float] | None = None
        elif cls.parameter == "epsilon" and epsilons:
            used, values = True, epsilons
        else:
            values = usual(cls)
        found += [one] if values is None else [one @ value for value in values]
    if not used:
        raise SpecError("-e is given, but no mechanism takes epsilons; leave '@...' out of the one that should.")
    return found


@dataclass
class _Counter:
    """Adds up what is done and reports it."""

    report: Progress
    total: float
    done: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, amount: float) -> None:
        with self.lock:  # threads report side by side
            self.done += amount
            self.report(min(self.done, self.total), self.total)


def plan(mechanisms: Sequence[Mechanism]) -> list[list[int]]:
    """Group mechanisms (by their number) that can share work."""
    groups: dict[Hashable, list[int]] = {}
    for number, one in enumerate(mechanisms):
        groups.setdefault(one.batch_key, []).append(number)
    return list(groups.values())


def _run(
    mechanisms: Sequence[Mechanism],
    queries: Sequence[tuple[str, str]],
    n: int,
    streams: RootSeed,
    progress: Progress | None,
) -> list[list[Variants]]:
    tick = _Counter(progress or (lambda done, total: None), len(mechanisms) * len(queries))
    results: list[list[Variants]] = [[] for _ in mechanisms]
    for group in plan(mechanisms):
        members = [mechanisms[number] for number in group]
        for start in range(0, len(queries), _CHUNK):
            found = type(members[0]).obfuscate_batch(members, queries[start : start + _CHUNK], n, streams, tick)
            for number, variants in zip(group, found, strict=True):
                results[number].extend(variants)
    return results


def _collect(mechanisms: Sequence[Mechanism], qids: Sequence[str], results: list[list[Variants]]) -> Obfuscation:
    columns: dict[str, list[Any]] = {column: [] for column in OBFUSCATED.columns}
    flags: list[dict[str, Any]] = []
    for one, found in zip(mechanisms, results, strict=True):
        setting = {"mechanism": one.spec.family, "parameter": one.parameter, "value": one.value}
        for qid, variants in zip(qids, found, strict=True):
            count = len(variants.texts)
            columns["qid"].extend([qid] * count)
            columns["variant"].extend(range(count))
            columns["query"].extend(variants.texts)
            for column, cell in setting.items():
                columns[column].extend([cell] * count)
            flags.extend({**setting, "qid": qid, "flag": flag, "count": c} for flag, c in variants.flags.items())
    return Obfuscation(
        OBFUSCATED.check(pd.DataFrame(columns, dtype=object)),
        NOTES.check(pd.DataFrame(flags, columns=list(NOTES.columns))),
    )
