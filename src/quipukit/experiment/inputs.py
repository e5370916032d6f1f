"""Load what an experiment starts from: everything named is found and checked before work begins."""

import functools
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from quipukit.attackers.base import Attacker
from quipukit.attackers.log import QueryLog, read_log
from quipukit.attackers.registry import attacker as bind_attacker
from quipukit.attackers.registry import check_distinct
from quipukit.collections.base import Collection
from quipukit.collections.load import load_collection
from quipukit.encoders.base import Encoder
from quipukit.encoders.load import load_encoder, static_vectors
from quipukit.errors import InputError
from quipukit.experiment.grid import bind_grid, expand
from quipukit.experiment.options import PLANTED, Options
from quipukit.experiment.plan import Plan
from quipukit.frames import (
    OBFUSCATED,
    QRELS,
    SETTING,
    by_parameter,
    noise_of,
    qrels_frame,
    queries_frame,
    sessions_frame,
)
from quipukit.io.obfuscated import read_obfuscated
from quipukit.io.queries import read_queries
from quipukit.io.sessions import read_sessions
from quipukit.io.trec import read_qrels
from quipukit.mechanisms.base import Mechanism
from quipukit.progress import ProgressListener
from quipukit.registry import installed_class, mechanism_class
from quipukit.retrieval.consent import check_consent
from quipukit.retrieval.pool import default_depth
from quipukit.settings import Setting
from quipukit.specs import Spec
from quipukit.vectors.sources import load_vectors
from quipukit.vectors.store import Vectors
from quipukit.vectors.wordfilter import word_filter

if TYPE_CHECKING:
    from quipukit.covers.partition import Partition

COMPLETED = "completed"  # a pool: the log, and the queries that are to be hidden among it


@dataclass(frozen=True, eq=False)
class Objects:
    """Inputs that were given as objects; the options name them, and everything else is loaded by its name."""

    collection: Collection | None = None
    queries: Any = None
    qrels: pd.DataFrame | None = None
    log: "QueryLog | Iterable[str] | None" = None
    encoder: Encoder | None = None
    vectors: Vectors | None = None
    obfuscated: pd.DataFrame | None = None
    sessions: pd.DataFrame | None = None
    mechanisms: Mapping[Spec, Mechanism] = field(default_factory=dict)
    attackers: Mapping[str, Attacker] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """Return which inputs were given as objects."""
        given = {one.name: getattr(self, one.name) for one in fields(self)}
        return sorted(name for name, value in given.items() if value is not None and not _is_empty(value))


def _is_empty(value: Any) -> bool:
    return isinstance(value, Mapping) and not value


def resolve(options: Options, objects: Objects | None = None, listener: ProgressListener | None = None) -> Plan:
    """Load what the options name, take objects as they are, and return the plan.

    ``listener`` is told where that takes long: a pool of public queries is encoded and divided on first use.
    """
    objects = objects or Objects()
    searched = any(system.needs_documents for system in options.systems)
    collection = (
        objects.collection
        if objects.collection is not None
        else load_collection(options.collection, documents=searched)
    )
    given, originals = _given(options, objects.obfuscated)
    queries = _queries(options, collection, objects.queries, originals, given)
    whole_log = functools.cache(lambda: _log(options, objects.log, collection))

    def public() -> Sequence[str]:
        # A pool may be completed as the log is: for queries that are among the public ones, whatever log is at hand.
        completed = options.pool == COMPLETED
        return whole_log().completed(queries["query"].tolist()).texts if completed else whole_log().public

    mechanisms, skipped = _mechanisms(options, objects, public, listener)
    settings = [Setting.of(one, n) for n in options.n for one in mechanisms]
    variants: Sequence[int] = options.n
    if given is not None:
        given = given[given["qid"].isin(set(queries["qid"]))].reset_index(drop=True)  # fewer, where topics says so
        for system in options.remote[:1]:
            # Whether by design or by chance is unknown. The originals in the same file count too.
            known = [queries] if originals is None else [queries, originals]
            check_consent(given, system, known, options.send_originals)
        theirs = _settings_of(given)
        variants = [max((setting.n for setting in theirs), default=1)]
        # The references are ours: nothing hidden and everything hidden, next to the settings made elsewhere.
        names = {setting.mechanism for setting in theirs}
        settings = [*theirs, *(one for one in settings if one.n == options.n[-1] and one.mechanism not in names)]
    log = whole_log()
    # Completed once and with all queries: a rank must not depend on which settings are attacked together.
    completed = log.completed(queries["query"].tolist()) if options.inject else log
    encoder = objects.encoder if objects.encoder is not None else load_encoder(options.encoder)
    # By Kerckhoffs's principle the attackers know the vectors that hide the words.
    vectors = next((own for one in mechanisms if isinstance(own := getattr(one, "vectors", None), Vectors)), None)
    attackers = tuple(
        objects.attackers[name] if name in objects.attackers else bind_attacker(name, encoder=encoder, vectors=vectors)
        for name in options.attackers
    )
    check_distinct(attackers)
    return Plan(
        options=options,
        collection=collection,
        queries=queries,
        qrels=_judgments(options, collection, objects.qrels, queries),
        log=completed,
        log_facts={
            "size": len(completed),
            "in_log": int((log.rows(queries["query"].tolist()) >= 0).sum()),
            "injected": len(completed) - len(log),
        },
        encoder=encoder,
        attackers=attackers,
        settings=tuple(settings),
        skipped=tuple(skipped),
        given=given,
        given_noise="unknown" if given is None else noise_of(given),
        depths={n: options.depth or default_depth(len(collection), n) for n in variants},
        sessions=_sessions(options, objects.sessions, queries, given),
        objects=frozenset(objects.mechanisms),
    )


def _mechanisms(
    options: Options, objects: Objects, public: "Callable[[], Sequence[str]]", listener: ProgressListener | None
) -> tuple[list[Mechanism], list[dict[str, str]]]:
    specs = options.specs or tuple(expand((), (), options.references))
    vectors, words = objects.vectors, options.vocabulary_filter
    if vectors is not None and words is not None:
        vectors = vectors.without(word_filter(words))
    elif vectors is None and (options.vectors or words):
        vectors = load_vectors(options.vectors, vocabulary_filter=words)
    chosen = [objects.mechanisms.get(one, one) for one in specs]
    resources = {"vectors": vectors, "cover": _cover(options, objects, specs, public, listener)}
    return bind_grid(chosen, options.skip_invalid, options.private, **resources)


def _cover(
    options: Options,
    objects: Objects,
    specs: Sequence[Spec],
    public: "Callable[[], Sequence[str]]",
    listener: ProgressListener | None,
) -> "Partition | None":
    """Return the public queries in groups, where a mechanism hides queries among them: those of the attacker's log."""
    classes = {one: mechanism_class(one.name) for one in specs if one not in objects.mechanisms}  # objects have theirs
    hiding = [one for one, cls in classes.items() if "cover" in cls.__dataclass_fields__]
    if not hiding:
        return None
    from quipukit.covers.describe import Description
    from quipukit.covers.load import LEAF, load_partition
    from quipukit.covers.pool import BUILT_IN, QueryPool

    # A sample of the log is a pool of its own: among queries that the attacker does not know none would hide.
    whole = options.log_sample is None and objects.log is None
    built_in = options.log == BUILT_IN or (options.log is None and options.collection == BUILT_IN)
    if options.pool is None and options.partition is None and whole and built_in:
        return load_partition()
    named = None if options.pool == COMPLETED else options.pool or (options.log if whole else None)
    source: str | QueryPool = named or QueryPool.of(public(), source_name(options.log, "the log"))
    least = min([int(one.value or LEAF) for one in hiding if classes[one].parameter == "k"], default=LEAF)
    begun = functools.cache(lambda: (listener or ProgressListener()).stage("encoding the pool", "queries"))

    def show(done: float, total: float) -> None:  # a stage that has nothing to do is none
        begun()(done, total)

    static = objects.encoder is None and static_vectors(options.encoder) is not None
    alike = Description(f"static:{static_vectors(options.encoder)}") if static else None
    return load_partition(source, options.partition, leaf=min(LEAF, least), description=alike, progress=show)


def _given(options: Options, frame: pd.DataFrame | None) -> tuple[pd.DataFrame | None, pd.DataFrame | None]:
    if frame is not None:
        return by_parameter(OBFUSCATED.check(frame)), None
    if options.obfuscated is None:
        return None, None
    read, originals = read_obfuscated(options.obfuscated)
    return by_parameter(read), originals if len(originals) else None


def _settings_of(given: pd.DataFrame) -> list[Setting]:
    """Return the settings of queries obfuscated elsewhere; n is the largest number of variants of a query."""
    sizes = given.groupby([*SETTING, "qid"], sort=False).size().groupby(list(SETTING), sort=False).max()
    settings = []
    for (mechanism, parameter, value), n in sizes.items():
        known = installed_class(mechanism)
        strategy = "obfuscated elsewhere" if known is None else known.strategy
        settings.append(Setting(mechanism, parameter, value, int(n), strategy))
    return settings


def _queries(
    options: Options, collection: Collection, queries: Any, originals: pd.DataFrame | None, given: pd.DataFrame | None
) -> pd.DataFrame:
    if queries is not None:
        asked = queries_frame(queries)
    elif options.queries is not None:
        asked = read_queries(options.queries)
    else:
        asked = originals if originals is not None else collection.queries()
    if given is not None:
        missing = sorted(set(given["qid"]) - set(asked["qid"]))
        if missing:
            raise InputError(
                f"{len(missing)} obfuscated queries have no original (first: {', '.join(missing[:3])}); "
                "pass the originals as queries=FILE.",
                argument="queries",
            )
        asked = asked[asked["qid"].isin(set(given["qid"]))].reset_index(drop=True)
    if asked.empty:
        raise InputError("there is no query to hide; check the topics.")
    if options.topics is not None and options.topics < len(asked):
        chosen = [number * len(asked) // options.topics for number in range(options.topics)]
        asked = asked.iloc[chosen].reset_index(drop=True)
    return asked


def _sessions(
    options: Options, sessions: pd.DataFrame | None, queries: pd.DataFrame, given: pd.DataFrame | None
) -> pd.DataFrame | None:
    """Return the sessions of a file or a frame; None where there are none, or where they are planted."""
    if sessions is not None:
        return sessions_frame(sessions, queries)
    if options.sessions == PLANTED and given is not None:
        raise InputError(
            "planted sessions hold queries that were not obfuscated elsewhere; give a file of sessions, or leave "
            "sessions out.",
            argument="sessions",
        )
    return None if options.sessions in (None, PLANTED) else read_sessions(str(options.sessions), queries)


def _judgments(
    options: Options, collection: Collection, qrels: pd.DataFrame | None, queries: pd.DataFrame
) -> pd.DataFrame:
    if qrels is not None:
        judged = qrels_frame(qrels)
    else:
        judged = read_qrels(options.qrels) if options.qrels is not None else collection.qrels()
    if judged.empty:
        return QRELS.empty()
    mine = judged[judged["qid"].isin(set(queries["qid"]))].reset_index(drop=True)
    if not (mine["relevance"] > 0).any():
        raise InputError(
            f"none of the {len(queries)} queries has a relevant document among the {len(judged):,} judgments; "
            "check that topics and qrels belong together."
        )
    without = len(queries) - mine.loc[mine["relevance"] > 0, "qid"].nunique()
    if without:
        warnings.warn(
            f"{without} of {len(queries)} queries have no relevant document: utility is over the other "
            f"{len(queries) - without}, risk over all {len(queries)}.",
            stacklevel=4,
        )
    return mine


def _log(options: Options, log: "QueryLog | Iterable[str] | None", collection: Collection) -> QueryLog:
    source = log if log is not None else options.log
    if source is None:
        if collection.log_name is None:
            raise InputError(
                f"the attacker needs a query log, and {collection.name} brings none; pass log=FILE, or log='wordnet' "
                "for the built-in one.",
                argument="log",
            )
        source = collection.query_log()
    whole = source if isinstance(source, QueryLog) else read_log(source)
    if options.log_sample is None:
        return whole
    return whole.sample(options.log_sample, np.random.default_rng(options.seed))


def source_name(source: str | os.PathLike[str] | None, fallback: str) -> str:
    """Return what a source is called in a result: of a path the last part, because the rest describes a machine."""
    if source is None:
        return fallback
    text = os.fspath(source)
    return Path(text).name if os.sep in text and ":" not in text else text
