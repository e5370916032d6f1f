"""Write the report: `report.html`, `figures/` and `tables/` in one folder."""

import functools
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from quipukit.errors import FileError, InputError
from quipukit.io.tables import spreadsheet_text
from quipukit.report import tables
from quipukit.report.drawing import FORMATS, save
from quipukit.report.figures import figures
from quipukit.report.latex import latex
from quipukit.report.page import page
from quipukit.report.palette import Look, looks_of
from quipukit.report.table_model import Sheet
from quipukit.report.views import Block, blocks_of
from quipukit.report.written import replace_report
from quipukit.results import Result
from quipukit.storage import atomic_write, make_folder

Progress = Callable[[float, float], None]


def write_report(
    results: Result | Sequence[Result],
    folder: str | os.PathLike[str],
    *,
    examples: bool = True,
    formats: Sequence[str] = FORMATS,
    measure: str | None = None,
    progress: Progress | None = None,
) -> Path:
    """Write the report of one or several results, and return the path of its page.

    ``examples=False`` leaves every text of a query out. ``formats`` are those of the figures; without any, the page and
    the tables are written alone. ``measure`` is the utility, by default the first one measured. Equal results make
    equal bytes.
    """
    results = [results] if isinstance(results, Result) else results
    return Report(results, measure=measure).write(folder, examples=examples, formats=formats, progress=progress)


class Report:
    """A report before it is written: its blocks and tables, each computed once."""

    def __init__(
        self, results: Sequence[Result], *, measure: str | None = None, runs: Sequence[str] | None = None
    ) -> None:
        """Prepare a report; ``runs`` are the folders of the results, by which two of one collection are told apart."""
        self.blocks: list[Block] = blocks_of(results, measure, runs)

    @functools.cached_property
    def frame(self) -> pd.DataFrame:
        """Return Table 1 as plain numbers, or where nothing was judged the risk of every setting."""
        if self._shared["table1"].empty:
            return self.points_frame
        return self._shared["table1"].frame

    @functools.cached_property
    def points_frame(self) -> pd.DataFrame:
        """Return risk and utility of every setting as plain numbers."""
        return pd.concat([self._sheets[block.name]["points"].frame for block in self.blocks], ignore_index=True)

    def write(
        self,
        folder: str | os.PathLike[str],
        *,
        examples: bool = True,
        formats: Sequence[str] = FORMATS,
        progress: Progress | None = None,
    ) -> Path:
        """Write everything into the folder, and return the path of the page; see `write_report`.

        What an earlier report left there is removed, as listed in its SHA256SUMS, when the new one is complete. Other
        files stay, and so does what was changed since, unless the new report has a file of that name.
        """
        unknown = [kind for kind in formats if kind not in FORMATS]
        if unknown:
            raise InputError(f"formats must be among {', '.join(FORMATS)} (found {unknown[0]!r}).")
        place = Path(folder)
        if place.exists() and not place.is_dir():
            raise FileError(f"{place} is a file; name a folder for the report.")
        show = progress or (lambda done, total: None)
        # Figures take the time; the page and the tables count as two of them.
        drawn = sum(2 + (2 * len(block.attackers) if block.judged else 0) for block in self.blocks)
        total = 2 + (drawn if formats else 0)
        show(0, total)
        texts = dict(self._tables())
        html = page(self.blocks, self._looks, self._shared, self._sheets, examples)
        make_folder(place)
        # Aside until all of it is there: whoever interrupts keeps the earlier report, and no mixture of two.
        with tempfile.TemporaryDirectory(prefix=".draft-", dir=place) as aside:
            draft = Path(aside)
            for name, text in texts.items():
                _write_text(draft / "tables" / name, text)
            done = 2
            show(done, total)
            for block in self.blocks if formats else ():
                for name, figure in figures(block, self._looks):
                    save(figure, draft / "figures" / (name + self._suffixes[block.name]), formats)
                    done += 1
                    show(done, total)
            _write_text(draft / "report.html", html)
            replace_report(place, draft)
        show(total, total)
        return place / "report.html"

    @functools.cached_property
    def _shared(self) -> Mapping[str, Sheet]:
        return {sheet.name: sheet for sheet in (tables.table_1(self.blocks), tables.references(self.blocks))}

    @functools.cached_property
    def _sheets(self) -> Mapping[str, Mapping[str, Sheet]]:
        return {block.name: {sheet.name: sheet for sheet in tables.block_sheets(block)} for block in self.blocks}

    @functools.cached_property
    def _looks(self) -> Mapping[str, Look]:
        return looks_of([name for block in self.blocks for name in block.mechanisms])

    @functools.cached_property
    def _suffixes(self) -> Mapping[str, str]:
        slugs = tables.slugs(block.name for block in self.blocks)
        return {name: "" if len(self.blocks) == 1 else f"-{slug}" for name, slug in slugs.items()}

    def _tables(self) -> Iterator[tuple[str, str]]:
        """Yield the name and the content of every file with a table."""
        named = [("", sheet) for sheet in self._shared.values()]
        named += [(self._suffixes[block], sheet) for block, own in self._sheets.items() for sheet in own.values()]
        for suffix, sheet in named:
            if not sheet.empty:
                yield f"{sheet.name}{suffix}.csv", spreadsheet_text(sheet.frame)
                yield f"{sheet.name}{suffix}.tex", latex(replace(sheet, name=sheet.name + suffix))
        for block in self.blocks:
            if block.judged and len(block.comparisons):
                yield f"comparisons{self._suffixes[block.name]}.csv", spreadsheet_text(block.comparisons)


def _write_text(path: Path, text: str) -> None:
    with atomic_write(path) as draft:
        draft.write_text(text, encoding="utf-8", newline="\n")
