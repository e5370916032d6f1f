"""A result on disk: each table as Parquet, `manifest.json`, and the SHA-256 of all of them in `checksums.json`.

Equal inputs make equal bytes: what depends on the clock lies in `timings.json`, which belongs to no result.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from quipukit.errors import FileError
from quipukit.io.parts import COMPRESSION, GROUP_ROWS, PartReader, PartWriter
from quipukit.io.tables import read_parquet
from quipukit.results.rows import Rows, parts_of, stored_rows, too_many
from quipukit.results.tables import OPTIONAL, tables_of, up_to_date
from quipukit.storage import atomic_write, sha256

MANIFEST = "manifest.json"
CHECKSUMS = "checksums.json"
FORM = 2  # of the folder
_DATA = '"data":['  # where the rows of a table begin, as JSON
_READABLE = (1, 2)  # 1: one attacker, whose guesses do not name it


def write_result(place: Path, manifest: Mapping[str, Any], tables: "Mapping[str, pd.DataFrame | Rows]") -> None:
    """Write the tables and, when they are all there, the manifest."""
    (place / MANIFEST).unlink(missing_ok=True)  # if killed from here on, no mixture of two results is left
    text = manifest_text(manifest)
    checksums = {MANIFEST: hashlib.sha256(text.encode()).hexdigest()}
    for name, rows in tables.items():
        with atomic_write(_path(place, name)) as draft:
            _write(rows, draft)
            checksums[f"{name}.parquet"] = sha256(draft)
    with atomic_write(place / CHECKSUMS) as draft:
        draft.write_text(json.dumps(checksums, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    with atomic_write(place / MANIFEST) as draft:
        draft.write_text(text, encoding="utf-8")


def _write(rows: "pd.DataFrame | Rows", path: Path) -> None:
    if isinstance(rows, Rows):
        with PartWriter(path, GROUP_ROWS) as writer:
            for part in parts_of(rows, GROUP_ROWS):
                writer.add(part)
        return
    frame = rows.copy(deep=False)
    frame.attrs = {}  # a caller's own: pandas would write them into the file
    frame.to_parquet(path, index=False, compression=COMPRESSION, row_group_size=GROUP_ROWS)


def read_result(place: Path) -> "tuple[dict[str, Any], dict[str, pd.DataFrame | Rows]]":
    """Return manifest and tables of a folder; of obfuscated queries that are too many, how they are read."""
    path = place / MANIFEST
    if not path.is_file():
        if not place.is_dir():
            raise FileError(f"{place}: there is no such folder; name one that `quipukit evaluate -o` wrote.")
        begun = (place / "experiment.json").is_file()
        fix = f"finish it with `quipukit evaluate --resume {place}`" if begun else "name one of `quipukit evaluate`"
        raise FileError(f"{place} holds no finished result; {fix}.")
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise FileError(f"{path} is damaged; run `quipukit evaluate --resume {place}`.") from None
    if not isinstance(manifest, dict) or manifest.get("form") not in _READABLE:
        raise FileError(f"{path} was written by another version of quipukit; run the experiment again.")
    checksums = _check_files(place) if manifest["form"] > 1 else {}  # the first version wrote none
    tables = tables_of(isinstance(manifest.get("n"), list))
    written = {name: table for name, table in tables.items() if name not in OPTIONAL or _path(place, name).is_file()}
    read: dict[str, pd.DataFrame | Rows] = {name: tables[name].empty() for name in tables if name not in written}
    for name, table in written.items():
        path = _path(place, name)
        if name == "obfuscated" and manifest.get("noise") and path.name in checksums and _is_large(path):
            read[name] = stored_rows(path, table, checksums[path.name])
        else:
            read[name] = table.check(up_to_date(name, _read(place, name)))
    return manifest, read


def _is_large(path: Path) -> bool:
    with PartReader(path.open("rb")) as reader:
        return too_many(len(reader))


def _check_files(place: Path) -> dict[str, str]:
    """Refuse a file that does not match its checksum, or has none, and return the checksums."""
    try:
        checksums = dict(json.loads((place / CHECKSUMS).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        checksums = {}
    optional = {_path(place, table).name for table in OPTIONAL}
    for name in (MANIFEST, *(_path(place, table).name for table in tables_of(False))):
        if name in optional and name not in checksums and not (place / name).exists():
            continue  # an earlier version wrote none
        if not (place / name).is_file() or sha256(place / name) != checksums.get(name):
            raise FileError(f"{place / name} is missing or damaged; run `quipukit evaluate --resume {place}`.")
    return checksums


def _read(folder: Path, name: str) -> pd.DataFrame:
    path = _path(folder, name)
    try:
        return read_parquet(path)
    except FileError:
        raise FileError(f"{path} is missing or damaged; run `quipukit evaluate --resume {folder}`.") from None


def _path(folder: Path, table: str) -> Path:
    return folder / f"{table}.parquet"


def result_digest(manifest: Mapping[str, Any], tables: "Mapping[str, pd.DataFrame | Rows]", common: bool) -> str:
    """Return SHA-256 over a result; ``common`` where the noise is common and the manifest does not say it."""
    total = hashlib.sha256(manifest_text(manifest).encode())
    if common:
        total.update(b"common noise")
    for name, table in tables.items():
        if name in OPTIONAL and isinstance(table, pd.DataFrame) and table.empty:
            continue  # a result of an earlier version keeps its digest
        for text in _as_json(part.drop(columns="noise", errors="ignore") for part in parts_of(table, GROUP_ROWS)):
            total.update(text.encode())
    return total.hexdigest()


def _as_json(parts: Iterable[pd.DataFrame]) -> Iterator[str]:
    """Iterate over the pieces of the text that `DataFrame.to_json` would make of all parts together."""
    separator, rows = "", False
    for part in parts:
        text = part.to_json(orient="split", index=False, double_precision=15)
        start, end = text.index(_DATA) + len(_DATA), len(text) - len("]}")
        if not separator:
            yield text[:start]
        separator = ","
        if end > start:
            yield ("," if rows else "") + text[start:end]
            rows = True
    yield "]}"


def manifest_text(manifest: Mapping[str, Any]) -> str:
    """Return a manifest as it is written: equal manifests, equal texts."""
    return json.dumps(manifest, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
