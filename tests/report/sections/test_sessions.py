"""Sessions: only where some were attacked, with a sentence, charts and a table."""

import re
from dataclasses import replace

from quipukit.report.sections.sessions import Sessions, over_length
from tests.example_results import make_result
from tests.report.pages import rendered, report_data
from tests.report.results import SMALL, in_sessions, only


def test_only_where_sessions_were_attacked() -> None:
    plain = only(make_result(), SMALL)
    report = report_data(plain, in_sessions(only(make_result(name="asked in a row"), SMALL)))
    assert Sessions().applies(report) and not Sessions().applies(report_data(plain))
    assert [Sessions().applies_to(view) for view in report.views] == [False, True]
    assert not Sessions().view_tables(report.views[0]) and not list(Sessions().drawings(report.views[0], {}))
    assert rendered(Sessions(), report).count("data-view") == 1


def test_charts_sentence_and_table() -> None:
    report = report_data(in_sessions(only(make_result(), SMALL)))
    text = rendered(Sessions(), report)
    assert re.search(r"At \w+@\d+ the session attacker finds \d+ % of the last queries", text)
    lines = re.findall(r'<polyline class="[^"]+" points="([^"]+)"', text)
    (table,) = Sessions().view_tables(report.views[0])
    rows = [row for group in table.row_groups for row in group.rows]
    assert len(lines) == len(rows) == text.count("<polygon")
    assert table.headings == ("Mechanism", "Setting", "1", "2", "5")
    assert all(len(line.split()) == 3 and line.startswith("0.00,") for line in lines)
    assert {"P@1", "R@10", "RR"} == set(table.frame["measure"])


def test_where_nothing_is_gained_it_is_said() -> None:
    result = in_sessions(only(make_result(), SMALL))
    report = report_data(replace(result, sessions=result.sessions.assign(better=5_000, log_rank=5_001.0)))
    assert "At none of the settings shown is more found from a session" in rendered(Sessions(), report)


def test_the_figure_has_a_panel_per_mechanism() -> None:
    report = report_data(in_sessions(only(make_result(), SMALL)))
    (drawing,) = Sessions().drawings(report.views[0], report.looks)
    figure = over_length(report.views[0], report.looks)
    assert drawing.name == "sessions"
    titles = [axes.get_title(loc="left") for axes in figure.axes if axes.lines]
    assert titles == [name for name in report.views[0].mechanisms if name not in ("Identity", "Random")]
