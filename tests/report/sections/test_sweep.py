"""Effect of N: only where there are several, with a chart per mechanism and a table."""

import re

from quipukit.report.sections.sweep import Sweep
from tests.example_results import make_result
from tests.report.pages import rendered, report_data
from tests.report.results import SMALL, only, swept


def test_only_where_n_was_swept() -> None:
    result = only(make_result(), SMALL)
    report = report_data(result, swept(only(make_result(name="swept"), SMALL)))
    assert Sweep().applies(report) and not Sweep().applies(report_data(result))
    assert [Sweep().applies_to(view) for view in report.views] == [False, True]
    assert not Sweep().view_tables(report.views[0]) and not list(Sweep().drawings(report.views[0], {}))


def test_charts_and_table() -> None:
    report = report_data(swept(only(make_result(), SMALL)))
    text = rendered(Sweep(), report)
    assert text.count('<figure class="chart"') == 2 * 3 and "Against the motivated persona (RR)" in text
    lines = re.findall(r'<polyline class="(?:risk|utility)[^>]* points="([^"]+)"', text)
    for line in lines:
        places = [tuple(map(float, place.split(","))) for place in line.split()]
        assert [x for x, _ in places][::2] == [0, 100] and all(0 <= y <= 60 for _, y in places)
        assert places[0][1] >= places[-1][1], "with more variants, more is found and guessed"
    (table,) = Sweep().view_tables(report.views[0])
    assert table.headings[:5] == ("Mechanism", "Setting", "N", "nDCG@10", "Pooled")
    assert [row[2].text for group in table.row_groups for row in group.rows][:3] == ["1", "5", "20"]
    assert "n" in table.frame and "label" not in table.frame
    names = [drawing.name for drawing in Sweep().drawings(report.views[0], report.looks)]
    assert names == ["sweep-lazy", "sweep-active", "sweep-motivated"]


def test_risk_only() -> None:
    text = rendered(Sweep(), report_data(swept(only(make_result(judged=False), SMALL))))
    assert 'class="utility' not in text and "Risk by N" in text
