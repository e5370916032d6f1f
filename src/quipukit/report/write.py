"""Write the report: `report.html`, `figures/` and `tables/` in one folder."""

import functools
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from quipukit.errors import FileError, InputError
from quipukit.io.tables import spreadsheet_text
from quipukit.progress import Progress
from quipukit.report import tables
from quipukit.report.drawing import FORMATS, save
from quipukit.report.latex import latex
from quipukit.report.names import slugs
from quipukit.report.page import page
from quipukit.report.palette import Look, looks_of
from quipukit.report.sections import ReportData, Section, SectionTables, sections
from quipukit.report.views import View, views_of
from quipukit.report.written import replace_report
from quipukit.results import Result
from quipukit.storage import atomic_write, make_folder

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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

    ``examples=False`` leaves out all query texts. ``formats`` are those of the figures; if empty, only the page and the
    tables are written. ``measure`` is the utility, by default the first one measured. Equal results make
    equal bytes.
    """
    results = [results] if isinstance(results, Result) else results
    return Report(results, measure=measure).write(folder, examples=examples, formats=formats, progress=progress)


class Report:
    """A report before it is written: its views and sections, each computed once."""

    def __init__(
        self, results: Sequence[Result], *, measure: str | None = None, runs: Sequence[str] | None = None
    ) -> None:
        """Prepare a report; ``runs`` are the results' folders, which name results of the same collection."""
        self.views: list[View] = views_of(results, measure, runs)

    @functools.cached_property
    def frame(self) -> pd.DataFrame:
        """Return Table 1 as plain numbers, or where nothing was judged the risk of every setting."""
        if not any(view.judged and view.mechanisms for view in self.views):
            return self.points_frame
        return tables.table_1(self.views).frame

    @functools.cached_property
    def points_frame(self) -> pd.DataFrame:
        """Return risk and utility of every setting as plain numbers."""
        return pd.concat([tables.points(view).frame for view in self.views], ignore_index=True)

    def write(
        self,
        folder: str | os.PathLike[str],
        *,
        examples: bool = True,
        formats: Sequence[str] = FORMATS,
        progress: Progress | None = None,
    ) -> Path:
        """Write everything into the folder, and return the path of the page; see `write_report`.

        Once the new report is complete, the files of an earlier one, as listed in its SHA256SUMS, are removed. Other
        files are kept, and so are files changed since, unless the new report has a file of the same name.
        """
        unknown = [kind for kind in formats if kind not in FORMATS]
        if unknown:
            raise InputError(f"formats must be among {', '.join(FORMATS)} (found {unknown[0]!r}).")
        place = Path(folder)
        if place.exists() and not place.is_dir():
            raise FileError(f"{place} is a file; name a folder for the report.")
        report = ReportData(self.views, self.looks, examples)
        drawings = self.drawings
        show = progress or (lambda done, total: None)
        # Drawing takes most of the time; the page and the tables count as two figures.
        done, total = 2, 2 + (len(drawings) if formats else 0)
        show(0, total)
        files = self.table_files
        html = page(report, [content for content in self._contents if content[0].applies(report)])
        make_folder(place)
        # Written aside until complete: an interruption keeps the earlier report, never a mixture of the two.
        with tempfile.TemporaryDirectory(prefix=".draft-", dir=place) as aside:
            draft = Path(aside)
            for name, text in files.items():
                _write_text(draft / "tables" / name, text)
            show(done, total)
            for name, draw in drawings.items() if formats else ():
                save(draw(), draft / "figures" / name, formats)
                done += 1
                show(done, total)
            _write_text(draft / "report.html", html)
            replace_report(place, draft)
        show(total, total)
        return place / "report.html"

    @functools.cached_property
    def drawings(self) -> "Mapping[str, Callable[[], Figure]]":
        """Return the figures for papers by the names of their files, without an ending: each is drawn when called."""
        return {
            drawing.name + self._suffixes[view.name]: drawing.draw
            for section in self._sections
            for view in self.views
            for drawing in section.drawings(view, self.looks)
        }

    @functools.cached_property
    def _sections(self) -> list[Section]:
        report = ReportData(self.views, self.looks)
        return [section for section in sections() if section.applies(report)]

    @functools.cached_property
    def _contents(self) -> list[tuple[Section, SectionTables]]:
        """Return the sections with their tables, which never hold the text of a query."""
        report = ReportData(self.views, self.looks)
        return [(section, SectionTables.of(section, report)) for section in self._sections]

    @functools.cached_property
    def looks(self) -> Mapping[str, Look]:
        """Return how every mechanism looks, in all figures."""
        return looks_of([name for view in self.views for name in view.mechanisms])

    @functools.cached_property
    def _suffixes(self) -> Mapping[str, str]:
        """Return what follows the names of a view's files: nothing where there is one view."""
        names = slugs(view.name for view in self.views)
        return {name: "" if len(self.views) == 1 else f"-{slug}" for name, slug in names.items()}

    @functools.cached_property
    def table_files(self) -> Mapping[str, str]:
        """Return the content of every file with a table, by its name."""
        files: dict[str, str] = {}
        for section, own in self._contents:
            for name, text in self._files_of(section, own):
                if not re.fullmatch(r"[\w-]+\.\w+", name):
                    raise InputError(
                        f"the section {section.id!r} names a table {Path(name).stem!r}; use letters, digits, _ and -."
                    )
                if name in files:
                    raise InputError(f"the section {section.id!r} writes tables/{name} again; rename its table.")
                files[name] = text
        return files

    def _files_of(self, section: Section, own: SectionTables) -> Iterator[tuple[str, str]]:
        named = [("", table) for table in own.shared.values()]
        for view, by_name in zip(self.views, own.views, strict=True):
            named += [(self._suffixes[view.name], table) for table in by_name.values()]
        for suffix, table in named:
            yield f"{table.name}{suffix}.csv", spreadsheet_text(table.frame)
            yield f"{table.name}{suffix}.tex", latex(replace(table, name=table.name + suffix))
        for view in self.views:
            for name, frame in section.view_frames(view).items():
                yield f"{name}{self._suffixes[view.name]}.csv", spreadsheet_text(frame)


def _write_text(path: Path, text: str) -> None:
    with atomic_write(path) as draft:
        draft.write_text(text, encoding="utf-8", newline="\n")
