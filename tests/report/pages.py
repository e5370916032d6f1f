"""Written pages for the tests of the report: their files, their own part, and the data inside."""

import hashlib
import html
import json
import re
from pathlib import Path

from quipukit.report.page import page_environment
from quipukit.report.palette import looks_of
from quipukit.report.sections import Context, ReportData, Section, SectionTables
from quipukit.report.views import views_of
from quipukit.report.write import write_report
from quipukit.results import Result


def digests(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def own_part(path: Path) -> str:
    """The page without the library's own script."""
    text = path.read_text(encoding="utf-8")
    scripts = re.findall(r"<script[^>]*>.*?</script>", text, re.DOTALL)
    return text.replace(max(scripts, key=len), "")


def data_of(path: Path) -> dict[str, object]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', own_part(path), re.DOTALL)
    assert found is not None
    return dict(json.loads(found[1]))


def write(result: Result, folder: Path, **wishes: object) -> str:
    return own_part(write_report([result], folder, **{"formats": (), **wishes}))  # type: ignore[arg-type]


def report_data(*results: Result, examples: bool = True) -> ReportData:
    """What the sections of a report on these results are made from."""
    views = views_of(results)
    return ReportData(views, looks_of([name for view in views for name in view.mechanisms]), examples)


def rendered(section: Section, report: ReportData) -> str:
    """The HTML of one section, its entities resolved."""
    context = Context(report, SectionTables.of(section, report), page_environment())
    return html.unescape(str(section.render(context)))
