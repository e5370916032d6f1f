"""Put the artifacts of an experiment together into a Result."""

import functools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from quipukit import __version__
from quipukit.experiment.cells import AttackCell, Cell, SystemCell
from quipukit.experiment.inputs import source_name
from quipukit.experiment.outbound import outgoing_texts
from quipukit.experiment.pipeline import Pipeline
from quipukit.experiment.plan import Plan
from quipukit.experiment.summary import covers_summary, settings_table, unknown_words_summary
from quipukit.results import FORM, Result, tables_of
from quipukit.results.rows import Rows, too_many


def assemble(pipeline: Pipeline) -> Result:
    """Return the result, its tables in the order of the plan."""
    plan = pipeline.context.plan
    parts: dict[str, list[tuple[pd.DataFrame, dict[str, Any]]]] = {}

    def add(table: str, frame: pd.DataFrame, cell: Cell, **columns: Any) -> None:
        parts.setdefault(table, []).append((frame, {"seed": cell.seed, "n": cell.setting.n, **columns}))

    held = not too_many(sum(map(pipeline.obfuscate.variants, plan.cells)))
    for cell in plan.cells:
        if held:
            add("obfuscated", pipeline.obfuscate.sent(cell), cell)
        add("notes", pipeline.obfuscate.notes(cell), cell)
        for attacker in range(len(plan.attackers)):
            attacked = AttackCell(attacker, cell)
            add("ranks", pipeline.attack.load(attacked), cell)
            add("scores", pipeline.risk.load(attacked), cell, system="")
            if cell.seed == plan.seeds[0]:
                add("guesses", pipeline.guesses.load(attacked), cell)
    for attacked in pipeline.growth.cells:
        add("growth", pipeline.growth.load(attacked), attacked.cell)
    for cell in pipeline.sessions.cells:
        add("sessions", pipeline.sessions.load(cell), cell)
    measured = [stage for stage in (pipeline.utility, pipeline.ceiling) if stage.cells]
    for number, system in enumerate(plan.options.systems):
        for cell in plan.cells:
            for stage in measured:
                add("scores", stage.load(SystemCell(number, cell)), cell, system=system.name)
    sweep = len(plan.ns) > 1
    checks = tables_of(sweep)
    tables: dict[str, Any] = {name: checks[name].check(_joined(added)) for name, added in parts.items()}
    if not held:
        tables["obfuscated"] = Rows(functools.partial(_obfuscated, pipeline), checks["obfuscated"])
    for name in ("growth", "sessions"):
        tables.setdefault(name, checks[name].empty())
    need = pipeline.need.table()
    tables["need"] = checks["need"].check(need) if len(need) else checks["need"].empty()
    tables["queries"] = plan.queries
    tables["settings"] = checks["settings"].check(settings_table(pipeline))
    return Result(manifest=_manifest(pipeline), **tables)


def _obfuscated(pipeline: Pipeline) -> Iterator[pd.DataFrame]:
    """Iterate over the obfuscated queries of all cells, some rows at a time."""
    for cell in pipeline.context.plan.cells:
        with pipeline.obfuscate.reader(cell) as reader:
            for rows in reader.frames():
                yield rows.assign(seed=cell.seed, n=cell.setting.n)


def _joined(parts: list[tuple[pd.DataFrame, dict[str, Any]]]) -> pd.DataFrame:
    """Put frames together, each with columns of its own that hold one value throughout."""
    rows = [len(frame) for frame, _ in parts]
    joined = pd.concat([frame for frame, _ in parts], ignore_index=True)
    values = {name: np.repeat([columns[name] for _, columns in parts], rows) for name in parts[0][1]}
    return joined.assign(**values)


def _manifest(pipeline: Pipeline) -> dict[str, Any]:
    """Return what was run: names, numbers and fingerprints; no text of a query, no clock, no place on a disk."""
    plan = pipeline.context.plan
    options, prints, vectors = plan.options, plan.fingerprints, plan.vectors
    software = pipeline.context.artifacts.software()
    covers = covers_summary(plan)
    return {
        "form": FORM,
        "version": __version__,
        "collection": {
            "name": plan.collection.name,
            "documents": len(plan.collection),
            "fingerprint": prints["collection"],
        },
        "queries": {"count": len(plan.queries), "fingerprint": prints["queries"]},
        "judgements": {
            "count": len(plan.qrels),
            "derived": plan.collection.judgments_derived,
            "fingerprint": prints["qrels"],
        },
        "systems": [
            {
                "name": system.name,
                "retriever": system.retriever_name,
                "reranker": system.reranker_name,
                "depth": _one_or_by_n(plan.depths),
            }
            for system in options.systems
        ],
        "log": {
            "name": source_name(options.log, plan.collection.log_name or "given"),
            "sample": options.log_sample,
            "inject": options.inject,
            **plan.log_facts,
            "fingerprint": prints["log"],
        },
        "attackers": pipeline.attack.panel.names,
        "encoder": {"name": plan.encoder.name, "fingerprint": prints["encoder"]},
        "vectors": None
        if vectors is None
        else {"name": vectors.name, "words": len(vectors), "fingerprint": vectors.fingerprint},
        **({"covers": covers} if covers else {}),
        "unknown_words": unknown_words_summary(plan),
        "obfuscated": source_name(options.obfuscated, ""),
        "n": _number_of_variants(plan),
        "noise": options.noise if plan.given is None else _known(plan.given_noise),
        "seeds": plan.seeds,
        "k": options.k,
        "measures": list(options.measures),
        "specs": [repr(mechanism.spec) for mechanism in plan.mechanisms],
        "skipped": [dict(one) for one in plan.skipped],
        "sent": outgoing_texts(pipeline.obfuscate),
        "examples": plan.examples,
        "software": software,
        "mixed_software": sorted(name for name, version in software.items() if isinstance(version, list)),
    }


def _number_of_variants(plan: Plan) -> int | list[int]:
    if plan.given is not None:
        return plan.options.n[-1]
    return plan.ns[0] if len(plan.ns) == 1 else plan.ns


def _one_or_by_n(depths: Mapping[int, int]) -> int | dict[str, int]:
    """Return the depth, or by the number of variants where they differ."""
    distinct = set(depths.values())
    return next(iter(distinct)) if len(distinct) == 1 else {str(n): depth for n, depth in sorted(depths.items())}


def _known(noise: str) -> str | None:
    return None if noise == "unknown" else noise
