"""How much memory and disk an experiment is likely to need, and whether this machine has it."""

from dataclasses import dataclass
from pathlib import Path

from quipukit.attackers.scratch import LONG
from quipukit.encoders.half import unrounded
from quipukit.encoders.static import StaticEncoder
from quipukit.errors import ResourceError
from quipukit.experiment.cost.amounts import Amounts
from quipukit.experiment.cost.machine import free_disk, free_memory, same_disk
from quipukit.experiment.pipeline import Pipeline
from quipukit.experiment.stages.base import MOST_PAIRS
from quipukit.results.rows import HELD_ROWS
from quipukit.storage import cache_home

# Bytes. Of a process with its libraries; of torch and a model; of an index while it is built.
_PROCESS, _MODEL, _INDEXING = 0.45e9, 0.7e9, 0.35e9
# For each: row of a log that is kept in memory, or in files; obfuscated query; document of a pool, with its score;
# document that is indexed; character of a collection that is kept.
_LOG_ROW, _LONG_LOG_ROW, _LOG_FILES = 2500, 110, 1700
_SENT_ROW, _POOLED_ROW, _INDEXED = 350, 250, 120
_KEPT_DOCUMENT = 300
# On disk: of an obfuscated query and of a pooled document in a table; of a word in an index; of a report.
_SENT_ON_DISK, _POOLED_ON_DISK, _INDEX_WORD, _REPORT = 40, 16, 4.7, 6e6
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
    memory += rows * _LONG_LOG_ROW if rows > LONG else rows * _LOG_ROW
    if plan.vectors is not None:
        memory += 2 * plan.vectors.matrix.nbytes
    if not isinstance(unrounded(plan.encoder), StaticEncoder):
        memory += _MODEL
    if indexed:
        memory = max(memory, _PROCESS + _INDEXING + indexed * _INDEXED)
    own = amounts.sent_texts(plan.encoder)
    folder = (
        own.count * own.encoder.dimension * _FLOAT + sent * _SENT_ON_DISK + amounts.pooled * _POOLED_ON_DISK + _REPORT
    )
    cache = amounts.log.count * amounts.log.encoder.dimension * _FLOAT
    cache += indexed * amounts.document_words * _INDEX_WORD + (rows * _LOG_FILES if rows > LONG else 0)
    for system in plan.options.systems if plan.judged else ():
        documents = amounts.documents(system)
        if documents is not None and not documents.encoder.quick:  # whose vectors are not kept
            folder += documents.count * documents.encoder.dimension * _FLOAT
    return Space(memory, folder, cache)


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
