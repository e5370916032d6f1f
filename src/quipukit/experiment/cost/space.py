"""How much memory and disk an experiment is likely to need, and whether this machine has it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from quipukit.attackers.scratch import LONG
from quipukit.encoders.half import unrounded
from quipukit.encoders.static import StaticEncoder
from quipukit.errors import ResourceError
from quipukit.experiment.cost.amounts import Amounts, Texts, by_kind
from quipukit.experiment.cost.machine import free_disk, free_memory, same_disk
from quipukit.experiment.cost.steps import documents_of
from quipukit.experiment.pipeline import Pipeline
from quipukit.experiment.stages.base import MOST_PAIRS
from quipukit.results.rows import HELD_ROWS
from quipukit.storage import cache_home

# Bytes. Of a process with its libraries; of torch and a model; of an index while it is built.
_PROCESS, _MODEL, _INDEXING = 0.5e9, 0.5e9, 0.35e9
# For each: row of a log that is kept in memory, or in files; obfuscated query; document of a pool, with its score;
# document that is indexed.
_LOG_ROW, _LONG_LOG_ROW, _LOG_FILES = 600, 110, 1700
# For each row of a log in memory what attackers keep that compare words; and for each dimension of the word vectors
# what a law is learned from.
_LOG_WORDS, _LAW = 4200, 0.9e6
_SENT_ROW, _POOLED_ROW, _INDEXED = 350, 250, 120
# On disk: of an obfuscated query and of a pooled document in a table; of a word in an index; of a report, and of a
# setting in it; of the other tables of a cell, and of a cell with an attacker.
_SENT_ON_DISK, _POOLED_ON_DISK, _INDEX_WORD, _REPORT, _REPORT_SETTING = 40, 16, 4.7, 6e6, 0.3e6
_CELL_ON_DISK, _ATTACKED_ON_DISK = 0.05e6, 0.03e6
_FLOAT = 4


@dataclass(frozen=True)
class Space:
    """Bytes that an experiment is likely to need: in memory at most, in its folder, and in the cache of all runs."""

    memory: float
    folder: float
    cache: float

    def __str__(self) -> str:
        return (
            f"{size(self.memory)} of memory, {size(self.folder)} of disk in its folder, {size(self.cache)} in the cache"
        )


def space(amounts: Amounts) -> Space:
    """Return what an experiment is likely to need beyond what is there."""
    plan = amounts.plan
    rows, queries = len(plan.log), len(plan.queries)
    sent = queries * sum(cell.setting.n for cell in plan.cells)
    indexed = amounts.unindexed
    # No more than this is held of what was sent, and of what was pooled, however many settings there are.
    held = max(HELD_ROWS, *(2 * plan.rows(cell) for cell in plan.cells))
    memory = _PROCESS + min(sent, held) * _SENT_ROW + min(amounts.pooled, MOST_PAIRS) * _POOLED_ROW
    memory += rows * _LONG_LOG_ROW if rows > LONG else rows * _log_row(amounts)
    if plan.vectors is not None:
        memory += 2 * plan.vectors.matrix.nbytes
        memory += _LAW * plan.vectors.dimension if by_kind(plan.attackers)["law"] and amounts.law_pairs else 0
    documents = list(documents_of(amounts))
    encoders = [plan.encoder, *(one.encoder for one in documents)]
    if not all(isinstance(unrounded(one), StaticEncoder) for one in encoders):
        memory += _MODEL
    if indexed:
        memory = max(memory, _PROCESS + _INDEXING + indexed * _INDEXED)
    cache = amounts.log.count * amounts.log.encoder.dimension * _FLOAT
    cache += indexed * amounts.document_words * _INDEX_WORD + (rows * _LOG_FILES if rows > LONG else 0)
    return Space(memory, _in_folder(amounts, documents), cache)


def _log_row(amounts: Amounts) -> float:
    """Return how many bytes of memory a row of a log takes, which is not long: its text, its vector, its words."""
    attackers = amounts.plan.attackers
    encoded = any(getattr(one, "encoder", None) is not None for one in attackers)
    by_words = by_kind(attackers)["words"]
    return _LOG_ROW + (_FLOAT * amounts.plan.encoder.dimension if encoded else 0) + (_LOG_WORDS if by_words else 0)


def _in_folder(amounts: Amounts, documents: Sequence[Texts]) -> float:
    """Return by how many bytes the folder of a run grows: what is finished is there, and a report is replaced."""
    plan = amounts.plan
    kept = [amounts.sent_texts(plan.encoder), *(one for one in documents if not one.encoder.quick)]
    vectors = sum(one.count * one.encoder.dimension * _FLOAT for one in kept)
    tables = amounts.variants * _SENT_ON_DISK + amounts.newly_pooled * _POOLED_ON_DISK
    tables += amounts.cells * (_CELL_ON_DISK + len(plan.attackers) * _ATTACKED_ON_DISK)
    reported = (amounts.pipeline.context.artifacts.folder / "report").is_dir()
    new = len({cell.setting for cell in amounts.missing}) if reported else len(plan.settings)
    return vectors + tables + new * _REPORT_SETTING + (0 if reported else _REPORT)


def check_space(pipeline: Pipeline, folder: Path) -> list[str]:
    """Return warnings of memory or disk that may not suffice; raise ResourceError where the disk cannot.

    Texts are looked up in the store only where it matters: in most runs there is room for all of them.
    """
    for looked_up in (False, True):
        need = space(Amounts(pipeline, looked_up=looked_up))
        short = shortages(need, folder)
        if not short:
            break
    check_disk(need, folder)
    return short


def shortages(need: Space, folder: Path | None, memory: float | None = None) -> list[str]:
    """Say what this machine has too little of; ``memory`` is what it has, where that is not to be looked up."""
    memory = free_memory() if memory is None else memory
    lines = []
    if memory is not None and need.memory > memory:
        lines.append(
            f"it may need {size(need.memory)} of memory, and {size(memory)} are free: take fewer queries, settings or "
            "variants at a time, sample the log, or use a larger machine"
        )
    return [*lines, *(f"{line}: make room, or choose another folder" for line, _ in _on_disk(need, folder))]


def check_disk(need: Space, folder: Path) -> None:
    """Refuse to begin what cannot end: where not even half of what is estimated would fit on the disk."""
    for line, short in _on_disk(need, folder):
        if short:
            raise ResourceError(f"{line}; make room, name another folder with -o, or set QUIPUKIT_HOME.")


def _on_disk(need: Space, folder: Path | None) -> "list[tuple[str, bool]]":
    """Return the disks that are too small, each with whether half of the estimate would not fit either."""
    wanted = [(need.cache, cache_home())]
    if folder is not None:
        wanted = (
            [(need.folder + need.cache, folder)]
            if same_disk(folder, cache_home())
            else [(need.folder, folder), *wanted]
        )
    lines = []
    for much, place in wanted:
        free = free_disk(place)
        if much > free:
            lines.append((f"it may need {size(much)} of disk, and {size(free)} are free in {place}", much / 2 > free))
    return lines


def size(count: float) -> str:
    """Write a number of bytes as people say it.

    >>> size(3_500_000), size(1_530_000_000), size(17_200_000_000)
    ('4 MB', '1.5 GB', '17 GB')
    """
    if count < 1e9:
        return f"{max(1, round(count / 1e6))} MB"
    return f"{count / 1e9:.1f} GB" if count < 1e10 else f"{count / 1e9:.0f} GB"
