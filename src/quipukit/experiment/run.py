"""Run an experiment from queries to a Result, and resume one that was stopped."""

import contextlib
import dataclasses
import os
import tempfile
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from quipukit.attackers.base import Attacker
from quipukit.attackers.log import QueryLog
from quipukit.attackers.registry import attacker as bind_attacker
from quipukit.collections.base import Collection
from quipukit.encoders.base import Encoder
from quipukit.errors import FileError, InputError
from quipukit.executors.base import Executor
from quipukit.executors.local import Local
from quipukit.experiment.artifacts import Artifacts
from quipukit.experiment.assemble import assemble
from quipukit.experiment.begun import Begun, refuse_foreign_files, working_directory
from quipukit.experiment.cost.space import check_space
from quipukit.experiment.folder import cache_write_errors, run_lock, write_errors
from quipukit.experiment.grid import PAPER, expand, to_place
from quipukit.experiment.inputs import Objects, resolve
from quipukit.experiment.options import MEASURES, SYSTEMS, Options, usual_attackers
from quipukit.experiment.pilot import place
from quipukit.experiment.pipeline import Pipeline
from quipukit.experiment.plan import Plan
from quipukit.experiment.progress_view import ProgressView
from quipukit.experiment.stages.base import Context
from quipukit.mechanisms.base import Mechanism
from quipukit.progress import ProgressListener, StageTimer
from quipukit.results import Result
from quipukit.retrieval.base import Retriever, Scorer
from quipukit.retrieval.system import SystemSpec, check_systems, combine, parse_systems
from quipukit.seeds import Noise
from quipukit.specs import Spec
from quipukit.vectors.store import Vectors

TIMINGS = "timings.json"

Pathish = str | os.PathLike[str]
AnyMechanism = str | Spec | Mechanism


def evaluate(
    collection: "Pathish | Collection" = "wordnet",
    specs: "AnyMechanism | Sequence[AnyMechanism] | None" = None,
    n: int | Sequence[int] = 50,
    *,
    log: "Pathish | QueryLog | Iterable[str] | None" = None,
    out: Pathish | None = None,
    queries: "Pathish | pd.DataFrame | Mapping[str, str] | Iterable[str] | None" = None,
    qrels: "Pathish | pd.DataFrame | None" = None,
    obfuscated: "Pathish | pd.DataFrame | None" = None,
    epsilons: Sequence[float] = (),
    grid: str = "adaptive",
    attackers: "str | Attacker | Sequence[str | Attacker] | None" = None,
    encoder: str | Encoder = "minilm",
    vectors: "Pathish | Vectors | None" = None,
    pool: Pathish | None = None,
    partition: Pathish | None = None,
    retriever: "str | Retriever | Sequence[str | Retriever] | None" = None,
    reranker: "str | Scorer | Sequence[str | Scorer] | None" = None,
    rerank_on: str = "text",
    systems: "Sequence[SystemSpec | tuple[str | Retriever, str | Scorer]] | None" = None,
    topics: int | None = None,
    seed: int = 7,
    seeds: int = 1,
    noise: Noise | None = None,
    depth: int | None = None,
    measures: str | Sequence[str] = MEASURES,
    log_sample: int | None = None,
    inject: bool = True,
    k: int = 10,
    examples: int = 5,
    vocabulary_filter: Pathish | None = None,
    skip_invalid: bool = False,
    send_originals: bool = False,
    growth: bool = True,
    sessions: "Pathish | pd.DataFrame | None" = None,
    progress: bool | ProgressListener = True,
    executor: Executor | None = None,
    watch: ProgressListener | None = None,
    help_from: Executor | None = None,
) -> Result:
    """Hide the queries of a collection with every spec, search, attack, measure, and return the Result.

    Args:
        collection: a name, a folder, or a Collection.
        specs: mechanisms, as specs or objects. One without '@' runs at several settings, see ``grid``; without any,
            the ten mechanisms of the paper do. The references Identity and Random are added.
        n: variants per query; several numbers make a sweep, and the tables of the result get a column ``n``.
        log: the attacker's query log. By default the collection's own.
        out: a folder. What is finished is kept there, and the same call resumes where it stopped; more specs,
            attackers, seeds or numbers of variants can be added later, and cost their own work only.
        queries: the queries to hide. By default the collection's.
        qrels: relevance judgments. By default the collection's; without any, risk alone is measured.
        obfuscated: queries that were obfuscated elsewhere, measured in place of our own.
        epsilons: take the grid's place for mechanisms with an epsilon.
        grid: 'adaptive' places epsilons where risk and utility move, by a few queries of the log that are none of the
            experiment's; 'fixed' takes the grid that a mechanism states, as the papers do.
        attackers: who ranks the log, by name or as objects; by default the panel and Bayes.
        encoder: the encoder of attackers that use one.
        vectors: the word vectors of mechanisms that use some.
        pool: public queries, for mechanisms that hide a query among others; by default those of the log, with
            "completed" the queries themselves among them.
        partition: the file that divides the pool into groups; by default it is made, once.
        retriever: the search system, by name or as an object; several are measured side by side.
        reranker: the user's own model, one for all retrievers or one for each; 'none' fuses the lists by rank.
        rerank_on: what it reads, the 'text' of documents, or the title and 'snippet' that an engine shows. With
            'snippet' or without a re-ranker an engine's documents are not needed on this machine.
        systems: pairs of a retriever and a re-ranker, in place of the three arguments above.
        topics: take this many queries, spread evenly over all.
        seed: the root seed of the noise.
        seeds: repeat with this many seeds, for the spread over the noise.
        noise: 'common' or 'independent'. Common by default; independent where a system is over the network.
        depth: documents per obfuscated query. By default 1 % of the collection over all variants, 10 to 100.
        measures: of utility, the main one first.
        log_sample: take a random sample of the log, of this size.
        inject: complete the log with the originals, as the paper does.
        k: how many guesses the active persona reads.
        examples: how many queries the report shows.
        vocabulary_filter: which words may not be sent.
        skip_invalid: leave out settings that a mechanism refuses.
        send_originals: let a search system over the network receive original queries; none does otherwise.
        growth: attack random subsets of the variants as well, at a few settings: how risk grows with what was seen.
        sessions: which queries one user asked in a row (sid, position, qid), as a file or a frame; or 'planted', which
            puts related queries of the log before each query. The last query of each is attacked.
        progress: show the stages on a terminal or in a notebook; or a listener that receives them.
        executor: where the work is done: ``Local()``, or ``Dask(...)``.
        watch: the old name of a listener, now given as ``progress``.
        help_from: the old name of ``executor``.
    """
    if watch is not None:
        _deprecated("watch", "progress")
        progress = watch
    if help_from is not None:
        _deprecated("help_from", "executor")
        executor = help_from
    inputs = _Named()
    chosen: Sequence[AnyMechanism] = PAPER if specs is None else _several(specs)
    options = Options(
        collection=inputs.take("collection", collection) or "wordnet",
        queries=inputs.take("queries", queries),
        qrels=inputs.take("qrels", qrels),
        obfuscated=inputs.take("obfuscated", obfuscated),
        log=inputs.take("log", log),
        encoder=inputs.take("encoder", encoder) or "minilm",
        vectors=inputs.take("vectors", vectors),
        pool=None if pool is None else os.fspath(pool),
        partition=None if partition is None else os.fspath(partition),
        n=n,  # type: ignore[arg-type]  # one or several: Options makes them a tuple
        attackers=inputs.take_attackers(usual_attackers(chosen) if attackers is None else _several(attackers)),
        systems=_systems(retriever, reranker, rerank_on, systems),
        topics=topics,
        seed=seed,
        seeds=seeds,
        noise=noise,  # type: ignore[arg-type]  # None is decided by the systems
        depth=depth,
        measures=measures,  # type: ignore[arg-type]  # likewise
        log_sample=log_sample,
        inject=inject,
        k=k,
        examples=examples,
        vocabulary_filter=None if vocabulary_filter is None else os.fspath(vocabulary_filter),
        skip_invalid=skip_invalid,
        send_originals=send_originals,
        growth=growth,
        sessions=inputs.take("sessions", sessions),
    )
    mechanisms = {one.spec: one for one in chosen if isinstance(one, Mechanism)}
    ours: Sequence[AnyMechanism] = () if obfuscated is not None else chosen
    options = dataclasses.replace(options, specs=tuple(expand(ours, epsilons, options.references)))
    objects = Objects(**inputs.objects, mechanisms=mechanisms, attackers=inputs.attackers)
    with contextlib.ExitStack() as stack:
        listener = progress if isinstance(progress, ProgressListener) else None
        if progress is True and ProgressView.wanted():
            listener = stack.enter_context(ProgressView())
        return run(
            options, out, objects=objects, listener=listener, executor=executor, placed=to_place(ours, epsilons, grid)
        )


def run(
    options: Options,
    out: Pathish | None = None,
    *,
    objects: Objects | None = None,
    listener: ProgressListener | None = None,
    executor: Executor | None = None,
    resumed: bool = False,
    placed: Sequence[Spec] = (),
) -> Result:
    """Run what the options say; a run that is ``resumed`` refuses inputs that are not those it was begun with.

    The settings of mechanisms in ``placed`` are placed where something moves, instead of at those that the options
    name.
    """
    objects = objects or Objects()
    with contextlib.ExitStack() as stack:
        folder = Path(out) if out is not None else Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stack.enter_context(run_lock(folder))
        stack.enter_context(cache_write_errors(folder))
        before = Begun.load(folder)
        if before is None:
            refuse_foreign_files(folder)
        else:
            before.check_options(folder, options)
        timer = StageTimer(listener or ProgressListener())
        plan = resolve(options, objects, timer.listener)
        check_systems(options.systems)
        if placed:
            plan = place(plan, placed, folder, timer)
        begun = Begun.of(folder, plan, objects.names)
        if before is not None:
            before.check_inputs(folder, begun, options, resumed)
        # Not before everything named was found: a corrected mistake must not find the folder taken by itself.
        begun.save(folder)
        _warn(plan, timer.listener)
        try:
            with executor or Local() as workers:
                artifacts = Artifacts(folder, timer.listener.say)
                pipeline = Pipeline(Context(plan, artifacts, timer, workers))
                for line in check_space(pipeline, folder):
                    timer.listener.say(f"warning: {line}")
                pipeline.run()
            with timer.stage("assembling the result"):
                result = assemble(pipeline)
            with write_errors(folder):
                result.save(folder)
            pipeline.context.forget_shared()
            result = result.settled(None if out is None else folder)
        finally:
            with write_errors(folder):
                timer.save(folder / TIMINGS)
        return result


def resume(folder: Pathish, *, listener: ProgressListener | None = None, executor: Executor | None = None) -> Result:
    """Resume the experiment of a folder, with the options that it was begun with."""
    begun = Begun.load(Path(folder))
    if begun is None:
        raise FileError(f"{folder} holds no experiment to resume; begin one with `quipukit evaluate -o {folder}`.")
    if begun.objects:
        raise InputError(
            f"{folder} was begun from Python with its own {', '.join(begun.objects)}; call qk.evaluate with them again."
        )
    place = Path(folder).resolve()
    with working_directory(place, begun):
        return run(begun.options, place, listener=listener, executor=executor, resumed=True)


def _warn(plan: Plan, listener: ProgressListener) -> None:
    """Say what the user should know before hours of work."""
    for refused in plan.skipped:
        listener.say(f"left out: {refused['reason']}")
    k = plan.options.k
    if len(plan.log) <= k:
        listener.say(
            f"the log holds {len(plan.log)} queries, no more than the active persona reads ({k}): R@{k} is 1 whatever "
            "is sent; give a larger log, or a smaller k."
        )
    if not plan.judged:
        listener.say(
            f"{plan.collection.name} has no judgments: risk is measured, but neither utility nor QuIPU; add qrels."
        )


def _systems(retriever: Any, reranker: Any, rerank_on: str, systems: Any) -> tuple[SystemSpec, ...]:
    if systems is not None:
        if retriever is not None or reranker is not None or rerank_on != "text":
            raise InputError(
                "systems= holds the retrievers and re-rankers; leave out retriever=, reranker= and rerank_on=.",
                argument="systems",
            )
        return parse_systems(systems)
    if retriever is None and reranker is None and rerank_on == "text":
        return SYSTEMS
    return combine(
        SYSTEMS[0].retriever if retriever is None else retriever,
        SYSTEMS[0].reranker if reranker is None else reranker,
        rerank_on,
    )


class _Named:
    """Inputs by name; those without a name of their own are kept as objects."""

    def __init__(self) -> None:
        self.objects: dict[str, Any] = {}
        self.attackers: dict[str, Attacker] = {}

    def take(self, role: str, given: Any) -> str | None:
        """Keep an object, and return what the input is called."""
        if given is None or isinstance(given, str | os.PathLike):
            return None if given is None else os.fspath(given)
        self.objects[role] = given
        # Only ours: a column of a frame may be called "name", too, and what it holds must not be written down.
        return given.name if isinstance(given, Collection | Encoder | Vectors) else "given"

    def take_attackers(self, given: Sequence[Any]) -> tuple[str, ...]:
        """Keep attackers that are objects, and return the names of all."""
        objects = [bind_attacker(one) for one in given if isinstance(one, Attacker)]
        self.attackers = {repr(one.spec): one for one in objects}
        return tuple(repr(one.spec) if isinstance(one, Attacker) else str(one) for one in given)


def _several(given: Any) -> list[Any]:
    return [given] if isinstance(given, str | Spec | Mechanism | Attacker) else list(given)


def _deprecated(old: str, new: str) -> None:
    warnings.warn(f"evaluate({old}=...) is deprecated; use {new}=.", DeprecationWarning, stacklevel=3)
