"""Obfuscate many queries with many mechanisms at once: bind specs, plan what they share, run, collect."""

import weakref
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from quipukit.errors import InputError, SpecError
from quipukit.executors.base import Executor, slices
from quipukit.executors.local import Local
from quipukit.executors.tally import Tally
from quipukit.frames import NOTES, OBFUSCATED, Queries, queries_frame
from quipukit.mechanisms.base import RESOURCES, Mechanism, RootSeed, Variants, check_count, option_fields
from quipukit.plugins import fault_of, is_ours, naming
from quipukit.progress import Progress
from quipukit.registry import mechanism_class, mechanism_names
from quipukit.seeds import Noise
from quipukit.specs import Spec, spec

Bound = TypeVar("Bound", bound=Mechanism)

# Queries in one batch: enough to share work between them, few enough to bound the memory.
_LEAST_QUERIES, _MOST_QUERIES = 4, 1024
# Texts that are made before any of them is given away: some hundred bytes each.
_MOST_TEXTS = 400_000


def mechanism(
    name: "str | Spec | Mechanism",
    vectors: Any = None,
    wordnet: Any = None,
    collection: Any = None,
    cover: Any = None,
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
    given = {"vectors": vectors, "wordnet": wordnet, "collection": collection, "cover": cover}
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
    cover: Any = None,
    seed: int | None = None,
    noise: Noise = "independent",
    progress: Progress | None = None,
    executor: Executor | None = None,
) -> pd.DataFrame:
    """Obfuscate queries with every spec, n variants each, and return an Obfuscated table.

    Queries are a frame (qid, query), a Series or a mapping of ids to texts, (qid, query) pairs, or texts. With a
    ``seed`` the result is the same for any order, batches and number of threads; without one the noise is
    that of a cryptographic generator with keys from the OS.

    ``noise="common"`` lets the settings of one noise family share their draws: each keeps its exact distribution,
    differences between them get less noisy, and a sweep costs little more than one setting. It is for experiments and
    needs a seed: outputs of several settings that share noise have *no finite joint guarantee* at any epsilon.

    The last two columns, ``n`` and ``noise``, repeat what was asked for in every row, so that a part of the table, or
    several tables put together, still show it. What was flagged stays on this side: ``notes(table)`` returns it.
    ``progress(done, total)`` is called now and then. ``executor`` runs the work in other processes
    (`quipukit.executors`); with a seed the result is the same.

    >>> obfuscate(["a cat"], "Identity", n=1)["query"].tolist()
    ['a cat']
    """
    mechanisms = bind(specs, vectors=vectors, wordnet=wordnet, collection=collection, cover=cover)
    done = obfuscate_with_notes(queries, mechanisms, n, seed=seed, noise=noise, progress=progress, executor=executor)
    return done.remembered()


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
# query holds unknown words must not reach the other side.
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
    executor: Executor | None = None,
) -> Obfuscation:
    """Obfuscate as `obfuscate` does, with mechanisms that `bind` made, and return the notes beside the table."""
    job = _Job.of(queries, n, seed, noise)
    results: list[list[Variants]] = [[] for _ in mechanisms]
    for group, _, variants in _run(job, mechanisms, progress, executor):
        for number, result in zip(group, variants, strict=True):
            results[number] += result
    return job.collect(mechanisms, results)


def obfuscate_parts(
    queries: Queries,
    mechanisms: Sequence[Mechanism],
    n: int,
    *,
    seed: int | None = None,
    noise: Noise = "independent",
    progress: Progress | None = None,
    executor: Executor | None = None,
) -> Iterator[tuple[Mechanism, Obfuscation, bool]]:
    """Obfuscate as `obfuscate_with_notes` does, and yield what a mechanism makes of some queries as soon as it is done.

    The queries of a mechanism come in their order, and the last part of each says so. Mechanisms that share work come
    side by side. No part holds more than some hundred thousand texts of such mechanisms. ``progress`` is called with
    (done, total), counted in pairs of a mechanism and a query.
    """
    job = _Job.of(queries, n, seed, noise)
    for group, span, variants in _run(job, mechanisms, progress, executor, _MOST_TEXTS):
        for number, result in zip(group, variants, strict=True):
            part = job.collect([mechanisms[number]], [result], span)
            yield mechanisms[number], part, span.stop == len(job.queries)


def _checked_seed(seed: object) -> int | None:
    # A float or a text would be a seed of its own, and 7.0 would silently differ from 7.
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int | np.integer)):
        raise InputError(f"seed must be a whole number, or None to seed from OS entropy (found {seed!r}).")
    return None if seed is None else int(seed)


def bind(specs: "str | Spec | Mechanism | Sequence[str | Spec | Mechanism]", **resources: Any) -> list[Mechanism]:
    """Bind specs to their resources; the default vectors are loaded once for all."""
    if isinstance(specs, str | Spec | Mechanism):
        specs = [specs]
    # Each class says itself how its settings share a resource: a change of one leaves what others computed alone.
    for cls in dict.fromkeys(mechanism_class(spec(one).name) for one in specs if not isinstance(one, Mechanism)):
        resources = dict(cls.shared_resources(resources))
    # The first holds the default vectors, if they are used, so that the others find them loaded.
    mechanisms = [mechanism(one, **resources) for one in specs]
    if not mechanisms:
        raise SpecError("no mechanism is given; name at least one, for instance CMP@10.")
    for one, count in Counter(one.spec for one in mechanisms).items():
        if count > 1:
            raise SpecError(f"{one!r} is given twice; keep one.")
    return mechanisms


def with_values(
    names: "Iterable[str | Spec | Bound]",
    epsilons: Sequence[float],
    usual: "Callable[[type[Mechanism]], Sequence[float]]",
) -> "list[Spec | Bound]":
    """Combine mechanisms that do not set their parameter with every epsilon, or else with their ``usual`` values.

    A `Mechanism` has its value already, and stays as it is.
    """
    settings: list[Spec | Bound] = []
    used = not epsilons
    for name in names:
        if isinstance(name, Mechanism):
            settings.append(name)
            continue
        one = spec(name)
        cls = mechanism_class(one.name)
        if one.value is not None or not cls.parameter:
            values: Sequence[float] | None = None
        elif cls.parameter == "epsilon" and epsilons:
            used, values = True, epsilons
        else:
            values = usual(cls)
        settings += [one] if values is None else [one @ value for value in values]
    if not used:
        raise SpecError(
            "epsilons= is given, but no mechanism takes epsilons; leave '@...' out of the one that should.",
            argument="epsilons",
        )
    return settings


def plan(mechanisms: Sequence[Mechanism]) -> list[list[int]]:
    """Group mechanisms (by their number) that can share work."""
    groups: dict[Hashable, list[int]] = {}
    for number, one in enumerate(mechanisms):
        groups.setdefault(one.batch_key, []).append(number)
    return list(groups.values())


@dataclass(frozen=True, eq=False)
class _Job:
    """Queries to obfuscate, how many variants of each to make, and where the noise comes from; all checked."""

    queries: list[tuple[str, str]]
    n: int
    streams: RootSeed

    @classmethod
    def of(cls, queries: Queries, n: int, seed: int | None, noise: Noise) -> "_Job":
        frame = queries_frame(queries)
        n, seed = check_count(n), _checked_seed(seed)
        if noise not in ("independent", "common"):
            raise InputError(f"noise must be 'independent' or 'common' (found {noise!r}).")
        if noise == "common" and seed is None:
            raise InputError("noise='common' is for experiments and needs a seed; give one, for instance seed=7.")
        return cls(list(zip(frame["qid"], frame["query"], strict=True)), n, RootSeed(seed, noise))

    def collect(
        self, mechanisms: Sequence[Mechanism], results: list[list[Variants]], span: slice = slice(None)
    ) -> Obfuscation:
        """Return the tables of what every mechanism made of every query, or of some."""
        return _collect(mechanisms, [qid for qid, _ in self.queries[span]], results, self.n, self.streams.mode)


@dataclass(frozen=True, eq=False)
class _Part:
    """Some mechanisms that share work, on some of the queries."""

    members: list[Mechanism]
    queries: list[tuple[str, str]]
    n: int
    streams: RootSeed
    tally: Tally


def _obfuscate_part(part: _Part) -> list[list[Variants]]:
    first = part.members[0]
    with naming("mechanism", first):
        results = type(first).obfuscate_batch(part.members, part.queries, part.n, part.streams, part.tally.add)
    if not is_ours(first):  # ours are tested
        for one, result in zip(part.members, results, strict=True):
            _check_variants(one, result, len(part.queries), part.n)
    return results


def _check_variants(one: Mechanism, result: object, queries: int, n: int) -> None:
    """Refuse what somebody else's mechanism made, where it is not what the tables hold."""
    if not isinstance(result, list) or len(result) != queries:
        raise fault_of("mechanism", one, "gave no list with one Variants for every query")
    for variants in result:
        if not isinstance(variants, Variants):
            raise fault_of("mechanism", one, f"gave {type(variants).__name__} in the place of Variants")
        if not all(isinstance(text, str) for text in variants.texts):
            raise fault_of("mechanism", one, "gave variants that are no texts")
        if len(variants.texts) > n and not one.own_count:
            raise fault_of("mechanism", one, f"gave {len(variants.texts)} variants where {n} were asked for")


def _run(
    job: _Job,
    mechanisms: Sequence[Mechanism],
    progress: Progress | None,
    executor: Executor | None,
    most_texts: int | None = None,
) -> Iterator[tuple[list[int], slice, list[list[Variants]]]]:
    """Yield for the groups of a plan (mechanisms by number) what each made of some queries; of a group in their order.

    A part is a group on some of the queries: streams go by identity, so that any division gives the same variants.
    """
    tally = Tally(progress, len(mechanisms) * len(job.queries))
    groups = plan(mechanisms)
    most = _MOST_QUERIES
    if most_texts is not None:
        most = max(1, min(most, most_texts // (job.n * max(map(len, groups)))))
    with executor or Local() as executor:
        spans = slices(len(job.queries), executor.parts(len(groups)), _LEAST_QUERIES, most)
        places = [(group, span) for group in range(len(groups)) for span in range(len(spans))]
        parts = (
            _Part([mechanisms[number] for number in groups[group]], job.queries[spans[span]], job.n, job.streams, tally)
            for group, span in places
        )
        arrived: list[dict[int, list[list[Variants]]]] = [{} for _ in groups]
        following, done = [0] * len(groups), 0
        for number, variants in executor.map(_obfuscate_part, parts):
            group, span = places[number]
            arrived[group][span] = variants
            done += len(groups[group]) * (spans[span].stop - spans[span].start)
            tally.reach(done)
            while following[group] in arrived[group]:
                span = following[group]
                following[group] += 1
                yield groups[group], spans[span], arrived[group].pop(span)


def _collect(
    mechanisms: Sequence[Mechanism], qids: Sequence[str], results: list[list[Variants]], n: int, noise: Noise
) -> Obfuscation:
    columns: dict[str, list[Any]] = {column: [] for column in OBFUSCATED.columns}
    flags: list[dict[str, Any]] = []
    for one, result in zip(mechanisms, results, strict=True):
        setting = {"mechanism": one.spec.family, "parameter": one.parameter, "value": one.value}
        for qid, variants in zip(qids, result, strict=True):
            count = len(variants.texts)
            columns["qid"].extend([qid] * count)
            columns["variant"].extend(range(count))
            columns["query"].extend(variants.texts)
            for column, cell in setting.items():
                columns[column].extend([cell] * count)
            flags.extend({**setting, "qid": qid, "flag": flag, "count": c} for flag, c in variants.flags.items())
    return Obfuscation(
        OBFUSCATED.check(pd.DataFrame(columns, dtype=object).assign(n=n, noise=noise)),
        NOTES.check(pd.DataFrame(flags, columns=list(NOTES.columns))),
    )
