"""What a result holds: a manifest and tables, in memory or in a folder."""

import functools
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, cast

import pandas as pd

from quipukit.errors import InputError
from quipukit.frames import noise_of
from quipukit.io.parts import GROUP_ROWS
from quipukit.results.files import read_result, result_digest, write_result
from quipukit.results.rows import HeldOrRead, Rows, parts_of
from quipukit.results.tables import OPTIONAL, TABLES
from quipukit.table import Table


@dataclass(frozen=True, eq=False, repr=False)
class Tables:
    """Manifest and tables of a result, which come from a folder and go to one."""

    manifest: Mapping[str, Any]
    queries: pd.DataFrame
    settings: pd.DataFrame
    obfuscated: pd.DataFrame
    ranks: pd.DataFrame
    scores: pd.DataFrame
    guesses: pd.DataFrame
    notes: pd.DataFrame
    need: pd.DataFrame = field(default_factory=TABLES["need"].empty)
    growth: pd.DataFrame = field(default_factory=TABLES["growth"].empty)
    sessions: pd.DataFrame = field(default_factory=TABLES["sessions"].empty)

    def __post_init__(self) -> None:
        # Results of earlier versions say it in the manifest alone, and a table that leaves the result must not lose it.
        noise = self.manifest.get("noise") or noise_of(self.obfuscated)

        def with_noise(rows: pd.DataFrame) -> pd.DataFrame:
            plain = rows.drop(columns="noise", errors="ignore")
            return plain.assign(noise=pd.Series(noise, plain.index, object))

        sent = self._tables["obfuscated"]
        said = sent.through(with_noise) if isinstance(sent, Rows) else with_noise(sent)
        object.__setattr__(self, "obfuscated", said)

    @property
    def _tables(self) -> "dict[str, pd.DataFrame | Rows]":
        """Return the tables by their names; those that are not held as what reads them."""
        return {name: vars(self)[name] for name in TABLES}

    def sent_for(self, qids: Iterable[str], seed: int | None = None) -> pd.DataFrame:
        """Return the obfuscated queries of some queries, under one seed or all; of many others none is held."""
        chosen = set(qids)
        parts = [
            part[part["qid"].isin(chosen) & (seed is None or part["seed"] == seed)]
            for part in parts_of(self._tables["obfuscated"], GROUP_ROWS)
        ]
        return pd.concat(parts, ignore_index=True)

    @property
    def ns(self) -> list[int]:
        """Return how many variants per query were asked for: one number, or those of a sweep."""
        asked = self.manifest.get("n")
        return sorted(asked) if isinstance(asked, list) else [int(n) for n in sorted(set(self.settings["n"]))]

    @property
    def is_sweep(self) -> bool:
        """Return whether the experiment swept over several N, so that tables have a column ``n``."""
        return isinstance(self.manifest.get("n"), list)

    def at(self, n: int) -> Self:
        """Return the result of one N of a sweep."""
        if n not in self.ns:
            raise InputError(f"there is no n={n}; the result has n = {', '.join(map(str, self.ns))}.", argument="n")
        if not self.is_sweep:
            return self
        chosen: dict[str, Any] = {"queries": self.queries}
        for name, rows in self._tables.items():
            if name == "queries" or (name in OPTIONAL and isinstance(rows, pd.DataFrame) and rows.empty):
                continue
            table = TABLES[name]

            def at_n(part: pd.DataFrame, table: Table = table) -> pd.DataFrame:
                own = part[part["n"] == n].reset_index(drop=True)
                return own if "n" in table.columns else own.drop(columns="n")

            chosen[name] = rows.through(at_n, table) if isinstance(rows, Rows) else at_n(rows)
        return type(self)({**self.manifest, "n": n}, **chosen)

    @functools.cached_property
    def digest(self) -> str:
        """Return SHA-256 over manifest and frames: equal for equal results.

        The column ``noise`` repeats what the manifest says, and adds nothing unless that says nothing.
        """
        common = not self.manifest.get("noise") and noise_of(self.obfuscated) == "common"
        return result_digest(self.manifest, self._tables, common)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the tables and, when they are all there, the manifest."""
        write_result(Path(folder), self.manifest, self._tables)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Self:
        """Read a result from its folder."""
        manifest, tables = read_result(Path(folder))
        return cls(manifest, **cast("dict[str, Any]", tables))

    def settled(self, folder: Path | None) -> Self:
        """Return the result as it is read from a folder, or from memory alone, once nothing else is there."""
        if not isinstance(self._tables["obfuscated"], Rows):
            return self
        if folder is not None:
            return type(self).load(folder)
        _ = self.obfuscated  # from now on it is held
        return self


# A frame to all who ask for it. Where the rows are too many to be held, they are read then.
Tables.obfuscated = HeldOrRead("obfuscated")
