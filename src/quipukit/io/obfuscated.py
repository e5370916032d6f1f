"""Obfuscated queries as files: our own layout, and the published ones, which hold the originals too."""

from pathlib import Path

import numpy as np
import pandas as pd

from quipukit.errors import FileError
from quipukit.frames import OBFUSCATED, QUERIES, SETTING, Queries, noise_of
from quipukit.io.layouts import OWN, from_foreign, is_foreign, one_spelling, write_foreign
from quipukit.io.reading import file_kind
from quipukit.io.tables import FORMATS, Pathish, as_table, check_finite, checked_table, read_table, write_table
from quipukit.settings import shares_budget


def read_obfuscated(path: Pathish) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read obfuscated queries, a file or a folder of files; return them and the originals in the same file.

    Our own layout carries no originals, so that the second table is empty. The published ones do: those of QuIPU,
    pyPANTERA, DP-COMET and GECO (`quipukit.io.layouts`), told by their columns, in any order. The first table has the
    columns ``n`` and ``noise`` where files have them; for rows of files that do not say, they are 0 and "unknown".
    """
    path = Path(path)
    if not path.exists():
        raise FileError(f"{path}: there is no such file or folder; check the name.")
    files = sorted(file for file in path.rglob("*") if file_kind(file) in FORMATS) if path.is_dir() else [path]
    if not files:
        raise FileError(f"{path}: the folder holds no file of obfuscated queries ({', '.join(FORMATS)}).")
    parts = [_read_part(file) for file in files]
    obfuscated = pd.concat([part for part, _ in parts], ignore_index=True)
    if obfuscated.duplicated(list(OBFUSCATED.key)).any():
        raise FileError(f"{path}: two of its files hold the same setting of the same query; keep one of them.")
    originals = pd.concat([queries for _, queries in parts], ignore_index=True)
    originals = one_spelling(originals.drop_duplicates())
    if originals.duplicated(list(QUERIES.key)).any():
        raise FileError(f"{path}: two originals have the same id; give every query one id, in all files.")
    return as_table(path, lambda: OBFUSCATED.check(obfuscated)), as_table(path, lambda: QUERIES.check(originals))


def write_obfuscated(
    obfuscated: pd.DataFrame, path: Pathish, layout: str = OWN, queries: "Queries | None" = None
) -> None:
    """Write obfuscated queries by the ending of the path, complete or not at all.

    Beside the columns of the table stand n, whether the noise is independent or common, and, where the parameter is an
    epsilon, the composed budget: n * epsilon, unless the variants share it. The file is what crosses the trust
    boundary: it holds these columns and nothing else.

    ``layout`` is "pypantera", "dp-comet" or "geco" for a file, or a folder of files, as those projects read it. Such a
    file holds the originals too, which are given as ``queries``: it must not leave the user's side.
    """
    if layout != OWN:
        write_foreign(obfuscated, path, layout, queries)
        return
    write_table(with_budget(obfuscated), path)


def with_budget(obfuscated: pd.DataFrame) -> pd.DataFrame:
    """Add what was asked for and what it costs: n, the kind of noise, and n * epsilon where there is an epsilon.

    The budget is that of one setting. With common noise the settings of a table have no joint one, and all rows say
    that it is common, for a row of a file may meet any other. Where a query has more variants than n says, as when
    several tables were put together, they count.
    """
    counts = obfuscated.groupby([*SETTING, "qid"])["variant"].transform("size")
    if "n" in obfuscated.columns:
        asked = pd.to_numeric(obfuscated["n"], errors="coerce").fillna(0)
        counts = counts.where(counts >= asked, asked).astype("int64")
    shared = obfuscated["mechanism"].map(shares_budget).to_numpy(bool)
    budget = (obfuscated["value"] * np.where(shared, 1, counts)).where(obfuscated["parameter"] == "epsilon")
    noise = noise_of(obfuscated)
    return obfuscated.drop(columns="noise", errors="ignore").assign(n=counts, noise=noise, budget=budget)


def _read_part(path: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    frame = read_table(path)
    if is_foreign(frame):
        return from_foreign(path, frame)
    if "mechanism" not in frame.columns:
        # Not what is found: the first line of a file of plain queries may be one of them.
        raise FileError(f"{path} holds no obfuscated queries; make some with `quipukit obfuscate -o`.")
    if list(frame.columns).count("value") == 1:
        check_finite(path, frame, "value")
    return checked_table(path, OBFUSCATED, frame), QUERIES.empty()
