"""What an experiment starts from: everything named is loaded, checked and given a fingerprint before work begins."""

import functools
import hashlib
import json
import os
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from quipukit.attackers.log import QueryLog, read_log
from quipukit.collections.base import Collection
from quipukit.collections.load import load_collection
from quipukit.encoders.base import Encoder
from quipukit.encoders.load import load_encoder
from quipukit.errors import InputError
from quipukit.experiment.grid import REFERENCES, bind_grid, expand
from quipukit.frames import OBFUSCATED, QRELS, SETTING, by_parameter, qrels_frame, queries_frame
from quipukit.io.obfuscated import read_obfuscated
from quipukit.io.queries import read_queries
from quipukit.io.trec import read_qrels
from quipukit.measures.utility import parse_measures
from quipukit.mechanisms.base import Mechanism
from quipukit.registry import installed_class
from quipukit.retrieval.consent import check_consent, check_flag, sends_original
from quipukit.retrieval.load import is_remote, refuse_address, system_name
from quipukit.retrieval.pool import default_depth
from quipukit.seeds import Noise
from quipukit.specs import Spec, spec
from quipukit.vectors.sources import load_vectors
from quipukit.vectors.store import Vectors
from quipukit.vectors.wordfilter import word_filter

MEASURES = ("nDCG@10", "SetR")
SYSTEMS = (("bm25", "minilm"),)
SIMILARITY = "minilm"  # sentence similarity is defined by this model, whatever the attacker uses


@dataclass(frozen=True)
class Options:
    """What a user chose, as plain values: enough to run the experiment again, and to tell two apart.

    ``specs`` may change between two runs in one folder, and so may what is left out of them; a change of anything else
    is another experiment. Nothing here is secret: an engine's address holds no login.
    """

    collection: str = "wordnet"
    queries: str | None = None
    qrels: str | None = None
    topics: int | None = None
    obfuscated: str | None = None
    specs: tuple[str, ...] = ()
    n: int = 50
    seed: int = 7
    seeds: int = 1
    noise: Noise = None  # type: ignore[assignment]  # common; where variants are really sent, independent
    vectors: str | None = None
    vocabulary_filter: str | None = None
    systems: tuple[tuple[str, str], ...] = SYSTEMS
    depth: int | None = None
    measures: tuple[str, ...] = MEASURES
    log: str | None = None
    log_sample: int | None = None
    inject: bool = True
    encoder: str = "minilm"
    k: int = 10
    examples: int = 5
    skip_invalid: bool = False
    send_originals: bool = False

    def __post_init__(self) -> None:
        # Lists and NumPy's numbers will do; what is written down comes back as plain values, and has to be equal.
        for name, value in vars(self).items():
            if isinstance(value, np.integer):
                object.__setattr__(self, name, int(value))
        for name in ("specs", "measures"):
            given = getattr(self, name)
            object.__setattr__(self, name, (given,) if isinstance(given, str) else tuple(given))
        if self.vocabulary_filter is not None:
            object.__setattr__(self, "vocabulary_filter", os.fspath(self.vocabulary_filter))
        check_flag(self.send_originals)
        pairs = _pairs(self.systems)
        for _, reranker in pairs:
            refuse_address(reranker)
        object.__setattr__(self, "systems", tuple((system_name(one), reranker) for one, reranker in pairs))
        if self.remote and self.noise == "common":
            raise InputError(
                f"noise='common' has no joint guarantee over several settings, and {self.remote[0]} receives them all; "
                "use noise='independent', which is the default for search systems over the wire."
            )
        if self.noise is None:
            object.__setattr__(self, "noise", "independent" if self.remote else "common")

    @property
    def remote(self) -> list[str]:
        """Return the search systems over the wire."""
        return list(dict.fromkeys(retriever for retriever, _ in self.systems if is_remote(retriever)))

    @property
    def private(self) -> bool:
        """Tell whether no original may be sent: where a system is over the wire, unless the user allows it."""
        return bool(self.remote) and not self.send_originals

    @property
    def references(self) -> tuple[str, ...]:
        """Return the references that the experiment adds to what is named."""
        return tuple(name for name in REFERENCES if not (self.private and sends_original(name)))


def _pairs(systems: Any) -> list[tuple[str, str]]:
    """Return pairs of names: an experiment writes down what it ran, and makes the systems itself."""
    given = list(systems) if isinstance(systems, Iterable) and not isinstance(systems, str) else [systems]
    pairs = [tuple(pair) if isinstance(pair, Sequence) and not isinstance(pair, str) else () for pair in given]
    if any(len(pair) != 2 or not all(isinstance(name, str) for name in pair) for pair in pairs):
        raise InputError(
            "systems are pairs of names, of a retriever and a re-ranker; write [('bm25', 'minilm')], and for an engine "
            "its address."
        )
    return [(retriever, reranker) for retriever, reranker in pairs]


@dataclass(frozen=True)
class Setting:
    """A column of the plan: a mechanism at one value; bound, or (for queries obfuscated elsewhere) in name alone."""

    mechanism: str
    parameter: str
    value: float
    strategy: str
    bound: Mechanism | None = field(default=None, compare=False, repr=False)

    @property
    def key(self) -> tuple[str, str, float]:
        """Return what the columns of a setting hold."""
        return (self.mechanism, self.parameter, self.value)


@dataclass(frozen=True, eq=False)
class Inputs:
    """Everything an experiment starts from, loaded."""

    options: Options
    collection: Collection
    queries: pd.DataFrame
    qrels: pd.DataFrame
    log: QueryLog
    log_facts: dict[str, Any]
    encoder: Encoder
    settings: list[Setting]
    skipped: list[dict[str, str]]
    given: pd.DataFrame | None
    depth: int
    derived: bool

    @property
    def seeds(self) -> list[int]:
        """Return the root seeds of the noise."""
        return [self.options.seed + number for number in range(self.options.seeds)]

    @functools.cached_property
    def prints(self) -> dict[str, str]:
        """Return the fingerprints of what pieces depend on."""
        return {
            "queries": fingerprint(self.queries.to_dict("list")),
            "qrels": fingerprint(self.qrels.to_dict("list")),
            "log": fingerprint([self.log.texts, self.log.counts.tolist()]),
            "collection": self.collection.fingerprint,
            "encoder": self.encoder.fingerprint,
        }

    @functools.cached_property
    def examples(self) -> list[str]:
        """Return the queries that the report shows: spread evenly over all."""
        qids = self.queries["qid"].tolist()
        count = min(self.options.examples, len(qids))
        return [qids[number * len(qids) // count] for number in range(count)]

    @property
    def vectors(self) -> Vectors | None:
        """Return the word vectors, where a mechanism uses some."""
        for setting in self.settings:
            found = getattr(setting.bound, "vectors", None)
            if found is not None:
                return found
        return None


def fingerprint(content: Any) -> str:
    """Return a hash over anything that JSON can write."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def resolve(
    options: Options,
    *,
    collection: Collection | None = None,
    queries: Any = None,
    qrels: pd.DataFrame | None = None,
    log: "QueryLog | Iterable[str] | None" = None,
    encoder: Encoder | None = None,
    vectors: Vectors | None = None,
    obfuscated: pd.DataFrame | None = None,
) -> Inputs:
    """Load what the options name; what is given as an object is taken as it is."""
    _check(options)
    documents = load_collection(options.collection) if collection is None else collection
    given, originals = _given(options, obfuscated)
    asked = _queries(options, documents, queries, originals, given)
    settings, skipped = _grid(options, vectors)
    if given is not None:
        given = given[given["qid"].isin(set(asked["qid"]))].reset_index(drop=True)  # fewer, where topics says so
        for system in options.remote[:1]:
            # Whether by design or by chance, nobody can say. What stands beside them in a file is an original, too.
            originals_known = [asked] if originals is None else [asked, originals]
            check_consent(given, system, originals_known, options.send_originals)
        # The references are ours: nothing hidden and everything hidden, beside whatever was done elsewhere.
        theirs = _settings_of(given)
        names = {setting.mechanism for setting in theirs}
        settings = [*theirs, *(setting for setting in settings if setting.mechanism not in names)]
    whole = _log(options, log, documents)
    known = sum(whole.row(text) >= 0 for text in asked["query"])
    # Completed once and with all queries: a rank must not depend on which settings are attacked together.
    used = whole.completed(asked["query"].tolist()) if options.inject else whole
    variants = options.n if given is None else int(given.groupby([*SETTING, "qid"]).size().max())
    return Inputs(
        options=options,
        collection=documents,
        queries=asked,
        qrels=_judgments(options, documents, qrels, asked),
        log=used,
        log_facts={"size": len(used), "in_log": known, "injected": len(used) - len(whole)},
        encoder=load_encoder(options.encoder) if encoder is None else encoder,
        settings=settings,
        skipped=skipped,
        given=given,
        depth=options.depth or default_depth(len(documents), variants),
        derived=documents.name == "wordnet",
    )


def _check(options: Options) -> None:
    for name in ("n", "seeds", "k", "examples"):
        if getattr(options, name) < 1:
            raise InputError(f"{name} must be a whole number of at least 1 (found {getattr(options, name)}).")
    for name in ("topics", "depth", "log_sample"):
        number = getattr(options, name)
        if number is not None and number < 1:
            raise InputError(f"{name} must be a whole number of at least 1 (found {number}).")
    if options.noise not in ("common", "independent"):
        raise InputError(f"noise must be 'common' or 'independent' (found {options.noise!r}).")
    if not options.systems:
        raise InputError("no search system is given; name one, for instance bm25.")
    parse_measures(options.measures)


def _grid(options: Options, vectors: Vectors | None) -> tuple[list[Setting], list[dict[str, str]]]:
    specs = [spec(text) for text in options.specs] or expand((), (), options.references)
    words = options.vocabulary_filter
    if vectors is not None and words is not None:
        vectors = vectors.without(word_filter(words))
    elif vectors is None and (options.vectors or words):
        vectors = load_vectors(options.vectors, vocabulary_filter=words)
    bound, skipped = bind_grid(specs, options.skip_invalid, options.private, vectors=vectors)
    settings = [Setting(one.spec.family, one.parameter, one.value, one.strategy, one) for one in bound]
    return settings, skipped


def _given(options: Options, frame: pd.DataFrame | None) -> tuple[pd.DataFrame | None, pd.DataFrame | None]:
    if frame is not None:
        return by_parameter(OBFUSCATED.check(frame)), None
    if options.obfuscated is None:
        return None, None
    read, originals = read_obfuscated(options.obfuscated)
    return by_parameter(read), originals if len(originals) else None


def _settings_of(given: pd.DataFrame) -> list[Setting]:
    found = []
    for mechanism, parameter, value in given[list(SETTING)].drop_duplicates().itertuples(index=False):
        known = installed_class(mechanism)
        strategy = "obfuscated elsewhere" if known is None else known.strategy
        found.append(Setting(mechanism, parameter, value, strategy))
    return found


def _queries(
    options: Options, documents: Collection, queries: Any, originals: pd.DataFrame | None, given: pd.DataFrame | None
) -> pd.DataFrame:
    if queries is not None:
        asked = queries_frame(queries)
    elif options.queries is not None:
        asked = read_queries(options.queries)
    else:
        asked = originals if originals is not None else documents.queries()
    if given is not None:
        missing = sorted(set(given["qid"]) - set(asked["qid"]))
        if missing:
            raise InputError(
                f"{len(missing)} obfuscated queries have no original (first: {', '.join(missing[:3])}); "
                "give the originals with --queries topics.tsv."
            )
        asked = asked[asked["qid"].isin(set(given["qid"]))].reset_index(drop=True)
    if asked.empty:
        raise InputError("there is no query to hide; check the topics.")
    if options.topics is not None and options.topics < len(asked):
        chosen = [number * len(asked) // options.topics for number in range(options.topics)]
        asked = asked.iloc[chosen].reset_index(drop=True)
    return asked


def _judgments(
    options: Options, documents: Collection, qrels: pd.DataFrame | None, asked: pd.DataFrame
) -> pd.DataFrame:
    if qrels is not None:
        judged = qrels_frame(qrels)
    else:
        judged = read_qrels(options.qrels) if options.qrels is not None else documents.qrels()
    if judged.empty:
        return QRELS.empty()
    mine = judged[judged["qid"].isin(set(asked["qid"]))].reset_index(drop=True)
    if not (mine["relevance"] > 0).any():
        raise InputError(
            f"none of the {len(asked)} queries has a relevant document among the {len(judged):,} judgments; "
            "check that topics and qrels belong together."
        )
    without = len(asked) - mine.loc[mine["relevance"] > 0, "qid"].nunique()
    if without:
        line = (
            f"{without} of {len(asked)} queries have no relevant document: utility is over the other "
            f"{len(asked) - without}, risk over all {len(asked)}."
        )
        warnings.warn(line, stacklevel=4)
    return mine


def _log(options: Options, log: "QueryLog | Iterable[str] | None", documents: Collection) -> QueryLog:
    if log is None:
        name = options.log or ("wordnet" if documents.name == "wordnet" else None)
        if name is None:
            raise InputError(
                f"the attacker needs a query log, and {documents.name} brings none; give one with --log FILE, or "
                "take the built-in one with --log wordnet."
            )
        log = read_log(name)
    whole = log if isinstance(log, QueryLog) else read_log(log)
    if options.log_sample is None:
        return whole
    return whole.sample(options.log_sample, np.random.default_rng(options.seed))


def source_name(source: str | os.PathLike[str] | None, fallback: str) -> str:
    """Return how a source is called in a result: of a path the last part, for the rest tells about a machine."""
    if source is None:
        return fallback
    text = os.fspath(source)
    return Path(text).name if os.sep in text and ":" not in text else text


def specs_of(settings: Sequence[Setting]) -> list[Spec]:
    """Return the specs of settings that were bound."""
    return [setting.bound.spec for setting in settings if setting.bound is not None]
