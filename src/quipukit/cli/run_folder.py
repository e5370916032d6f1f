"""A folder of runs: one TREC file per setting, and runs.json, which says what was asked.

A TREC file cannot show a query that found nothing. runs.json names the queries that were asked, so that such a query
counts 0 and one that was never asked does not count at all.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from quipukit.errors import FileError, InputError

if TYPE_CHECKING:
    import pandas as pd

Setting = tuple[str, str, float]

INDEX = "runs.json"
_FORM = 1
_LONGEST = 255 - len(".-12345678.trec")  # bytes of a file's name, less what the draft of a run adds to it


def run_names(settings: Iterable[Setting]) -> dict[Setting, str]:
    """Name the run of every setting, each its own: as a spec, with %XX for what a file's name should not hold.

    >>> run_names([("CMP", "epsilon", 12.5), ("A/B", "", 0.0), ("A:B", "", 0.0), ("cmp", "level", 12.5)]).values()
    dict_values(['CMP@12.5', 'A%2FB', 'A%3AB', 'cmp@12.5~2'])

    A mechanism whose name makes no file's name is refused, before anything is searched or written.
    """
    from quipukit.specs import format_value

    names: dict[Setting, str] = {}
    taken: set[str] = set()
    for mechanism, parameter, value in settings:
        base = quote(mechanism, safe="+=(),")
        base = f"%2E{base[1:]}" if base.startswith(".") else base  # a dot would hide the file
        base += f"@{format_value(value)}" if parameter else ""
        name, number = base, 1
        while name.casefold() in taken:  # some file systems ignore case
            number += 1
            name = f"{base}~{number}"
        if not mechanism.strip() or len(name.encode()) > _LONGEST:
            raise InputError(
                f"setting number {len(names) + 1}: the mechanism has no name, or one that is too long for a file "
                f"({len(name.encode())} bytes, at most {_LONGEST}); give it another."
            )
        taken.add(name.casefold())
        names[mechanism, parameter, value] = name
    return names


def refuse_strangers(folder: Path, names: Iterable[str]) -> None:
    """Refuse a folder with runs of something else, which would be measured as new."""
    others = sorted({file.stem for file in folder.glob("*.trec")} - set(names))
    if others:
        raise InputError(f"{folder} holds runs of something else ({others[0]}.trec ...); name another folder.")


def write_runs(run: "pd.DataFrame", folder: Path, names: dict[Setting, str], asked: Sequence[str]) -> list[str]:
    """Write a run for every setting that was sent, and what was asked; return the names of those that found nothing."""
    from quipukit.frames import SETTING
    from quipukit.io.trec import write_run
    from quipukit.storage import atomic_write, sha256

    by_setting = {tuple(setting): rows for setting, rows in run.groupby(list(SETTING), sort=False, observed=True)}
    written = {}
    for setting, name in names.items():
        path = folder / f"{name}.trec"
        write_run(by_setting.get(setting, run.iloc[:0]), path, tag=name)
        written[path.name] = {**dict(zip(SETTING, setting, strict=True)), "sha256": sha256(path)}
    content = {"form": _FORM, "queries": list(asked), "runs": written}
    try:
        with atomic_write(folder / INDEX) as draft:
            draft.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    except OSError as fault:
        raise FileError(f"{folder / INDEX} cannot be written ({fault.strerror}); name another place.") from None
    return [name for setting, name in names.items() if setting not in by_setting]


def asked_queries(run: Path) -> list[str] | None:
    """Return the queries that were asked for a run, or None if they were not recorded or the run was changed."""
    entry, queries = _indexed(run)
    return None if entry is None else queries


def _setting_name(run: Path) -> str:
    """Return how a run's setting is written, or the name of its file if it was not recorded."""
    from quipukit.specs import format_value

    entry, _ = _indexed(run)
    if entry is None:
        return _stem(run)
    return str(entry["mechanism"]) + (f"@{format_value(float(entry['value']))}" if entry["parameter"] else "")


def _stem(run: Path) -> str:
    return run.name.removesuffix(".gz").removesuffix(".trec")


def _indexed(run: Path) -> tuple[dict[str, Any] | None, list[str]]:
    """Return what runs.json says about a run, if it is still as it was written, and the queries that were asked."""
    from quipukit.frames import SETTING
    from quipukit.storage import sha256

    index = run.parent / INDEX
    if not index.is_file():
        return None, []
    try:
        content = json.loads(index.read_text(encoding="utf-8"))
        entry = content["runs"].get(run.name)
        queries = [str(qid) for qid in content["queries"]]
        known = entry is not None and entry["sha256"] == sha256(run) and all(name in entry for name in SETTING)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise FileError(f"{index} is damaged; write the runs again, or delete it.") from None
    return entry if known else None, queries


def find_runs(paths: Sequence[Path]) -> dict[str, Path]:
    """Return the runs in files and folders by name, with as many parent folders as make them unique.

    The name is that of the setting, as runs.json has it, or that of the file where it has none.
    """
    listed = [file for path in paths for file in (sorted(path.glob("*.trec*")) if path.is_dir() else [path])]
    files = list({file.resolve(): file for file in listed}.values())
    if not files:
        raise InputError(f"{paths[0]} holds no run; runs end in .trec.")
    places = [(file.resolve().parent, _setting_name(file)) for file in files]
    parts = [
        (*place[0].parts, place[1] if places.count(place) == 1 else _stem(file))
        for place, file in zip(places, files, strict=True)
    ]
    for depth in range(1, max(map(len, parts)) + 1):
        names = ["/".join(part[-depth:]) for part in parts]
        if len(set(names)) == len(names):
            return dict(zip(names, files, strict=True))
    return {str(file): file for file in files}  # run.trec beside run.trec.gz
