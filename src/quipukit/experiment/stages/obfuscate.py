"""Obfuscate the queries under every setting; settings that can share work do."""

import dataclasses
import functools
import secrets
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from quipukit.experiment.artifacts import key_of
from quipukit.experiment.cells import Cell
from quipukit.experiment.stages.base import Part, Stage
from quipukit.fingerprints import state_of
from quipukit.frames import NOTES, OBFUSCATED
from quipukit.mechanisms.base import RESOURCES, Mechanism
from quipukit.obfuscation import obfuscate_parts
from quipukit.progress import Progress, part_of
from quipukit.source_hash import code_key
from quipukit.specs import Spec


class Obfuscate(Stage[Cell]):
    """Caches `quipukit.obfuscate`: the obfuscated queries of a cell, and the notes about them."""

    name = "obfuscate"
    tables = ("notes", "obfuscated")

    @property
    def cells(self) -> Sequence[Cell]:
        return self.plan.cells

    def depends_on(self, cell: Cell) -> Any:
        plan, mechanism = self.plan, cell.setting.bound
        if mechanism is None:
            assert plan.given is not None
            content = cell.rows_of(plan.given)[["qid", "variant", "query"]].to_dict("list")
            return ["given", cell.setting.key, content, plan.fingerprints["queries"]]
        chosen = [repr(mechanism.spec), cell.setting.n, cell.seed, plan.options.noise]
        return [code_key(type(mechanism)), *self._bound_to(mechanism), plan.fingerprints["queries"], chosen]

    def _bound_to(self, mechanism: Mechanism) -> list[Any]:
        """Return what a mechanism holds beside what its spec says."""
        state = self._states.get(mechanism.spec, "")
        return [resources_of(mechanism), *([state] if state else [])]

    @functools.cached_property
    def _states(self) -> dict[Spec, str]:
        """Return the states of mechanisms that were given as objects, as they are before they are first used."""
        return {one.spec: state_hash(one) for one in self.plan.mechanisms if one.spec in self.plan.objects}

    def compute(self, missing: Sequence[Cell]) -> Iterator[tuple[Cell, tuple[pd.DataFrame, ...] | Part]]:
        given = [cell for cell in missing if cell.setting.bound is None]
        for one in (cell.setting.bound for cell in missing):
            if one is not None:
                with self.context.timer.stage_if_needed(f"preparing {one.name}", "parts") as progress:
                    one.prepare(progress)
        with self.context.timer.stage("obfuscating") as progress:
            for cell in given:
                assert self.plan.given is not None
                yield cell, (NOTES.empty(), _stored(cell.rows_of(self.plan.given)))
            finished = len(given)
            ours = [cell for cell in missing if cell.setting.bound is not None]
            for seed, n in dict.fromkeys((cell.seed, cell.setting.n) for cell in ours):
                some = [cell for cell in ours if (cell.seed, cell.setting.n) == (seed, n)]
                part = part_of(progress, finished, len(some), len(missing))
                yield from self._obfuscated(some, n, seed, part)
                finished += len(some)

    def _obfuscated(
        self, cells: Sequence[Cell], n: int, seed: int, progress: Progress | None
    ) -> Iterator[tuple[Cell, tuple[pd.DataFrame, ...] | Part]]:
        by_spec = {cell.setting.bound.spec: cell for cell in cells if cell.setting.bound is not None}
        mechanisms = [cell.setting.bound for cell in cells if cell.setting.bound is not None]
        plan = self.plan
        parts = obfuscate_parts(
            plan.queries,
            mechanisms,
            n,
            seed=seed,
            noise=plan.options.noise,
            executor=self.context.executor,
            progress=progress,
        )
        for mechanism, part, last in parts:
            frames = (part.notes, _stored(part.table))
            yield by_spec[mechanism.spec], frames if last else Part(frames)

    # --- what other stages ask for ---

    def sent(self, cell: Cell) -> pd.DataFrame:
        """Return the obfuscated queries of a cell."""
        return self.load(cell, kind=OBFUSCATED)

    def variants(self, cell: Cell) -> int:
        """Return the number of obfuscated queries of a cell."""
        with self.reader(cell) as reader:
            return len(reader)

    def asked(self, cell: Cell) -> set[str]:
        """Return the ids of the queries for which something was sent."""
        with self.reader(cell) as reader:
            return {qid for rows in reader.frames(["qid"]) for qid in rows["qid"].unique()}

    def notes(self, cell: Cell) -> pd.DataFrame:
        """Return the notes of a cell."""
        return self.load(cell, "notes", NOTES)

    def law(self, cell: Cell) -> str:
        """Return a hash over all that the law of a cell's mechanism depends on; empty where it is not known."""
        bound = cell.setting.bound
        return "" if bound is None else key_of(repr(bound.spec), code_key(type(bound)), *self._bound_to(bound))


def _stored(obfuscated: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of an artifact: without ``n`` and ``noise``, which the cell and the plan say.

    Other people's tables may or may not have them, and what is computed from an artifact depends on its content.
    """
    return obfuscated[list(OBFUSCATED.columns)]


def resources_of(mechanism: Mechanism) -> list[str]:
    """Return the fingerprints of what a mechanism is bound to."""
    bound = [one for one in (getattr(mechanism, name, None) for name in RESOURCES) if one is not None]
    model = getattr(mechanism, "model_fingerprint", None)  # of a model that the spec names by its folder
    own = [] if model is None else [str(model)]
    return (
        own
        + [str(getattr(one, "fingerprint", repr(one))) for one in bound]
        + [
            key_of(state_of(composes) or secrets.token_hex(16))
            for composes in (getattr(one, "compose", None) for one in bound)
            # How vectors of ours compose words is part of the source that they are hashed with.
            if composes is not None and not str(getattr(composes, "__module__", "")).startswith("quipukit.")
        ]
    )


def state_hash(mechanism: Mechanism) -> str:
    """Return a hash over the state of an object beside its options and resources; empty where it has none.

    A mechanism may state its own ``fingerprint``. Where its state cannot be hashed, nobody can tell whether it has
    changed, and what it sends is good for one run. What a cached property keeps is computed from the rest.
    """
    stated = getattr(mechanism, "fingerprint", None)
    if isinstance(stated, str) and stated:
        return stated
    fields = {field.name for field in dataclasses.fields(mechanism)}
    state = {**vars(mechanism), **{name: getattr(mechanism, name) for name in fields}}
    computed = {
        name
        for cls in type(mechanism).__mro__
        for name, attribute in vars(cls).items()
        if isinstance(attribute, functools.cached_property)
    }
    beside = {
        name: value
        for name, value in state.items()
        if name not in computed
        and not (_has_fingerprint(value) if name in RESOURCES else name in fields and _is_plain(value))
    }
    return key_of(state_of(beside) or secrets.token_hex(16)) if beside else ""


def _has_fingerprint(resource: Any) -> bool:
    return resource is None or isinstance(getattr(resource, "fingerprint", None), str)


def _is_plain(option: Any) -> bool:
    """Return whether the spec, as it is written, says all about an option."""
    return isinstance(option, str | int | float | None)
