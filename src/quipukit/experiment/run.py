"""Run an experiment from queries to a Result, and go on where an earlier run stopped."""

import contextlib
import dataclasses
import json
import os
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pandas as pd

from quipukit import __version__
from quipukit.attackers.log import QueryLog
from quipukit.collections.base import Collection
from quipukit.encoders.base import Encoder
from quipukit.errors import FileError, InputError
from quipukit.executors.base import Executor
from quipukit.executors.local import Local
from quipukit.experiment.codeprint import remember_code
from quipukit.experiment.grid import expand
from quipukit.experiment.inputs import Inputs, Options, resolve, source_name, specs_of
from quipukit.experiment.outbound import announce, outbound, withhold
from quipukit.experiment.pieces import Pieces, alone, room_elsewhere, sweep, writing
from quipukit.experiment.progress_view import ProgressView
from quipukit.experiment.provenance import Provenance, directory_of
from quipukit.experiment.settings import settings_frame, unknown_in_short
from quipukit.experiment.stages import Stages, check_models
from quipukit.measures.risk import risk
from quipukit.progress import ProgressListener, StageTimer
from quipukit.results import FORM, TABLES, Result
from quipukit.specs import Spec
from quipukit.storage import atomic_write
from quipukit.vectors.store import Vectors

BEGUN = "experiment.json"
TIMINGS = "timings.json"
_CHANGEABLE = ("specs", "skip_invalid", "send_originals")  # which settings are run, and not what is done with each
_SOFTWARE = ("numpy", "scipy", "pandas", "torch", "transformers", "tokenizers", "ir-measures")


def evaluate(
    collection: "str | os.PathLike[str] | Collection" = "wordnet",
    specs: "Sequence[str | Spec] | None" = None,
    n: int = 50,
    *,
    log: "str | os.PathLike[str] | QueryLog | Iterable[str] | None" = None,
    out: str | os.PathLike[str] | None = None,
    queries: "str | os.PathLike[str] | pd.DataFrame | Mapping[str, str] | Iterable[str] | None" = None,
    qrels: "str | os.PathLike[str] | pd.DataFrame | None" = None,
    obfuscated: "str | os.PathLike[str] | pd.DataFrame | None" = None,
    epsilons: Sequence[float] = (),
    encoder: str | Encoder = "minilm",
    vectors: "str | os.PathLike[str] | Vectors | None" = None,
    watch: ProgressListener | None = None,
    progress: bool = True,
    executor: Executor | None = None,
    help_from: Executor | None = None,
    **choices: Any,
) -> Result:
    """Hide the queries of a collection with every spec, search, attack, measure, and return the Result.

    A mechanism without '@' runs over its whole grid; without ``specs`` the ten mechanisms of the paper run over theirs.
    ``out`` is a folder: what is finished is kept there, and the same call goes on where it stopped. ``obfuscated`` are
    queries that were obfuscated elsewhere, measured instead of our own. ``choices`` are further fields of `Options`:
    topics, seed, seeds, noise, systems, depth, measures, log_sample, inject, k, examples, skip_invalid,
    vocabulary_filter, send_originals. A search system over the wire gets no original query unless ``send_originals`` is
    true.

    ``executor`` runs the work in other processes (`quipukit.executors`): the result is the same. ``help_from`` is its
    former name.

    On a terminal and in a notebook the stages are shown as they run, unless ``progress`` is false; ``watch`` is told of
    them instead.
    """
    known = {field.name for field in dataclasses.fields(Options)}
    for name in choices:
        if name not in known:
            raise InputError(f"there is no option {name!r}; there are {', '.join(sorted(known))}.")
    if help_from is not None:
        warnings.warn("help_from is called executor now; write executor=Dask(...).", DeprecationWarning, stacklevel=2)
        executor = executor or help_from
    objects: dict[str, Any] = {}

    def named(role: str, given: Any, fallback: str | None) -> str | None:
        """Keep an object for `resolve`, and return what it is called."""
        if given is None or isinstance(given, str | os.PathLike):
            return None if given is None else os.fspath(given)
        objects[role] = given
        # Only ours: a column of a frame may be called "name", too, and what it holds is nobody's business.
        return given.name if isinstance(given, Collection | Encoder | Vectors) else fallback

    options = Options(
        collection=named("collection", collection, "given") or "wordnet",
        queries=named("queries", queries, "given"),
        qrels=named("qrels", qrels, "given"),
        obfuscated=named("obfuscated", obfuscated, "given"),
        log=named("log", log, "given"),
        encoder=named("encoder", encoder, "given") or "minilm",
        vectors=named("vectors", vectors, "given"),
        n=n,
        **choices,
    )
    grid = expand(() if obfuscated is not None else _paper(specs), epsilons, options.references)
    options = dataclasses.replace(options, specs=tuple(map(repr, grid)))
    with contextlib.ExitStack() as stack:
        if watch is None and progress and ProgressView.wanted():
            watch = stack.enter_context(ProgressView())
        return run(options, out, watch=watch, executor=executor, **objects)


def _paper(specs: "Sequence[str | Spec] | None") -> "Sequence[str | Spec]":
    from quipukit.experiment.grid import PAPER

    return PAPER if specs is None else [specs] if isinstance(specs, str | Spec) else specs


def run(
    options: Options,
    out: str | os.PathLike[str] | None = None,
    *,
    watch: ProgressListener | None = None,
    executor: Executor | None = None,
    resumed: bool = False,
    **objects: Any,
) -> Result:
    """Run what the options say; ``objects`` are inputs that have no name (see `resolve`).

    A run that is ``resumed`` refuses inputs that are not those it was begun with.
    """
    with contextlib.ExitStack() as stack:
        folder = Path(out) if out is not None else Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stack.enter_context(alone(folder))
        stack.enter_context(room_elsewhere(folder))
        before = _refuse_others(folder, options)
        remember_code()
        clock = StageTimer(watch or ProgressListener())
        inputs = resolve(options, **objects)
        origin = Provenance.of(folder, inputs, check_models(options))
        before.refuse(folder, origin, options, resumed)
        # Not before everything named was found: a mistake that is mended must not find the folder taken by itself.
        _claim(folder, options, origin, given=sorted(objects))
        for refused in inputs.skipped:
            clock.watch.say(f"left out: {refused['reason']}")
        if len(inputs.log) <= options.k:
            clock.watch.say(
                f"the log holds {len(inputs.log)} queries, no more than the active attacker reads ({options.k}): R@"
                f"{options.k} is 1 whatever is sent; give a larger log, or a smaller k."
            )
        if inputs.qrels.empty:
            clock.watch.say(
                f"{inputs.collection.name} has no judgments: risk is measured, utility and QuIPU are not; "
                "give judgments with --qrels."
            )
        try:
            with executor or Local() as executor:
                result = _result(Stages(inputs, Pieces(folder), clock, executor), clock)
            with writing(folder):
                result.save(folder)
        finally:
            with writing(folder):
                clock.save(folder / TIMINGS)
        return result


def resume(
    folder: str | os.PathLike[str], *, watch: ProgressListener | None = None, executor: Executor | None = None
) -> Result:
    """Go on with the experiment of a folder, with the options that it was begun with."""
    begun = _begun(Path(folder))
    if begun is None:
        raise FileError(f"{folder} holds no experiment to go on with; begin one with `quipukit evaluate -o {folder}`.")
    options, given, origin = begun
    if given:
        raise InputError(
            f"{folder} was begun from Python with its own {', '.join(given)}; call qk.evaluate with them again."
        )
    place = Path(folder).resolve()
    with directory_of(place, origin):
        return run(options, place, watch=watch, executor=executor, resumed=True)


# --- the folder ---------------------------------------------------------------------------------------------------


def _refuse_others(folder: Path, options: Options) -> Provenance:
    """Refuse a folder that belongs to another experiment, or to something else; return what it was begun with."""
    before = _begun(folder)
    if before is None:
        ours = (".lock", ".experiment-????????.json")  # the second is a draft, of a run that was killed at once
        strangers = [path.name for path in folder.iterdir() if not any(path.match(name) for name in ours)]
        if strangers:
            raise InputError(f"{folder} holds other files ({strangers[0]} ...); name a new folder.")
    else:
        differing = [
            f"{name} {_shown(getattr(before[0], name))} there, {_shown(getattr(options, name))} here"
            for name in (field.name for field in dataclasses.fields(Options))
            if name not in _CHANGEABLE and getattr(before[0], name) != getattr(options, name)
        ]
        if differing:
            raise InputError(
                f"{folder} holds another experiment ({'; '.join(differing)}); name another folder, or go on with "
                f"that one: `quipukit evaluate --resume {folder}`."
            )
    return Provenance() if before is None else before[2]


def _claim(folder: Path, options: Options, origin: Provenance, given: list[str]) -> None:
    """Write down what is run here, and clear away what a killed run left half-written."""
    content = {"form": FORM, "options": dataclasses.asdict(options), "given": given} | dataclasses.asdict(origin)
    with writing(folder), atomic_write(folder / BEGUN) as draft:
        draft.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    sweep(folder)


def _shown(value: Any) -> str:
    return "none" if value is None else str(value)


def _begun(folder: Path) -> tuple[Options, list[str], Provenance] | None:
    path = folder / BEGUN
    if not path.is_file():
        return None
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        fields = content["options"]
        fields |= {name: tuple(fields[name]) for name in ("specs", "measures")}
        fields["systems"] = tuple((retriever, reranker) for retriever, reranker in fields["systems"])
        origin = Provenance(str(content.get("directory", "")), dict(content.get("prints", {})))
        return Options(**fields), list(content["given"]), origin
    except (ValueError, KeyError, TypeError):
        raise FileError(f"{path} is damaged or of another version; name a new folder.") from None


# --- from pieces to a result --------------------------------------------------------------------------------------


def _result(stages: Stages, clock: StageTimer) -> Result:
    stages.obfuscate()
    withhold(stages)
    announce(stages)
    stages.encode()
    stages.search()
    stages.measure()
    stages.measure_ceilings()
    stages.attack()
    stages.compare_texts()
    stages.guess()
    with clock.stage("putting it together"):
        return assemble(stages)


def assemble(stages: Stages) -> Result:
    """Join the finished pieces in the order of the plan."""
    inputs, pieces, cells = stages.inputs, stages.pieces, stages.cells
    frames: dict[str, list[pd.DataFrame]] = {name: [] for name in TABLES}
    for cell in cells:
        ranks = pieces.load("attack", stages.attack_name(cell))
        own = {
            "obfuscated": stages.obfuscated(cell),
            "notes": stages.notes(cell),
            "ranks": ranks,
            "scores": risk(ranks, inputs.options.k).assign(system=""),
        }
        for name, frame in own.items():
            frames[name].append(frame.assign(seed=cell.seed))
        if cell.seed == inputs.seeds[0]:
            frames["guesses"].append(pieces.load("guesses", stages.guesses_name(cell)).assign(seed=cell.seed))
    if not inputs.qrels.empty:
        for system, name in enumerate(system_names(inputs)):
            for cell in cells:
                found = [pieces.load("utility", stages.utility_name(system, cell))]
                if stages.has_ceilings:
                    found.append(pieces.load("ceiling", stages.ceiling_name(system, cell)))
                frames["scores"] += [frame.assign(seed=cell.seed, system=name) for frame in found]
    tables = {
        name: TABLES[name].check(pd.concat(parts, ignore_index=True)) for name, parts in frames.items() if len(parts)
    }
    tables["queries"] = inputs.queries
    tables["settings"] = settings_frame(stages)
    return Result(manifest=_manifest(inputs, outbound(stages)), **tables)


def system_names(inputs: Inputs) -> list[str]:
    """Return what the systems are called in a result: retriever and re-ranker."""
    return [f"{source_name(retriever, '')} + {reranker}" for retriever, reranker in inputs.options.systems]


def _manifest(inputs: Inputs, sent: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what was run: names, numbers and fingerprints; no text of a query, no clock, no place on a disk."""
    options, prints = inputs.options, inputs.prints
    vectors = inputs.vectors
    log = source_name(options.log, "wordnet" if inputs.collection.name == "wordnet" else "given")
    return {
        "form": FORM,
        "version": __version__,
        "collection": {
            "name": inputs.collection.name,
            "documents": len(inputs.collection),
            "fingerprint": prints["collection"],
        },
        "queries": {"count": len(inputs.queries), "fingerprint": prints["queries"]},
        "judgements": {"count": len(inputs.qrels), "derived": inputs.derived, "fingerprint": prints["qrels"]},
        "systems": [
            {"name": name, "retriever": retriever, "reranker": reranker, "depth": inputs.depth}
            for name, (retriever, reranker) in zip(system_names(inputs), options.systems, strict=True)
        ],
        "log": {
            "name": log,
            "sample": options.log_sample,
            "inject": options.inject,
            **inputs.log_facts,
            "fingerprint": prints["log"],
        },
        "encoder": {"name": inputs.encoder.name, "fingerprint": prints["encoder"]},
        "vectors": None
        if vectors is None
        else {"name": vectors.name, "words": len(vectors), "fingerprint": vectors.fingerprint},
        "unknown_words": unknown_in_short(inputs),
        "obfuscated": source_name(options.obfuscated, ""),
        "n": options.n,
        "noise": options.noise if inputs.given is None else inputs.given.attrs.get("noise"),
        "seeds": inputs.seeds,
        "k": options.k,
        "measures": list(options.measures),
        "specs": [repr(one) for one in specs_of(inputs.settings)],
        "skipped": inputs.skipped,
        "sent": sent,
        "examples": inputs.examples,
        "software": dict(_software()),
    }


def _software() -> Iterator[tuple[str, str]]:
    for package in _SOFTWARE:
        with contextlib.suppress(PackageNotFoundError):
            yield package, version(package)
