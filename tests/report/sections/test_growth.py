"""Variants seen: only where subsets were attacked, with a sentence, charts and a table."""

import re

from quipukit.report.sections.growth import Growth
from tests.example_results import make_result
from tests.report.pages import rendered, report_data
from tests.report.results import SMALL, grown, only, swept, two_attackers


def test_only_where_subsets_were_attacked() -> None:
    plain = only(make_result(), SMALL)
    report = report_data(plain, grown(only(make_result(name="grown"), SMALL)))
    assert Growth().applies(report) and not Growth().applies(report_data(plain))
    assert [Growth().applies_to(view) for view in report.views] == [False, True]
    assert not Growth().view_tables(report.views[0]) and not list(Growth().drawings(report.views[0], {}))
    assert rendered(Growth(), report).count("data-view") == 1


def test_charts_sentence_and_table() -> None:
    report = report_data(grown(two_attackers(only(make_result(), SMALL))))
    text = rendered(Growth(), report)
    assert text.count('<figure class="chart"') == 2 * 3 and "Against the motivated persona (RR)" in text
    assert re.search(r"At \w+@\d+ the strongest attacker finds \d+ % \(\d+ to \d+\) of the queries", text)
    assert "without color: QuIA." in text and "Effect of N" not in text
    for kind, count in (("polyline", 2 * 5 * 3), ("polygon", 5 * 3)):
        lines = re.findall(rf'<{kind} class="[^"]+" points="([^"]+)"', text)
        assert len(lines) == count
        for line in lines:
            places = [tuple(map(float, place.split(","))) for place in line.split()]
            assert places[0][0] == 0 and max(x for x, _ in places) == 100 and all(0 <= y <= 60 for _, y in places)
    assert re.findall(r"<details( open)?><summary>Against the active", text) == [" open"]
    (table,) = Growth().view_tables(report.views[0])
    assert table.headings == ("Mechanism", "Setting", "Attacker", "1", "5", "50")
    assert [row[2].text for group in table.row_groups for row in group.rows][:2] == ["QuIA", "strongest"]
    assert {"P@1", "R@10", "RR"} == set(table.frame["measure"]) and "Words" in set(table.frame["attacker"])
    names = [drawing.name for drawing in Growth().drawings(report.views[0], report.looks)]
    assert names == ["growth-lazy", "growth-active", "growth-motivated"]


def test_one_attacker_and_a_sweep() -> None:
    report = report_data(swept(grown(only(make_result(), SMALL)), ns=(1, 50)))
    text = rendered(Growth(), report)
    assert "In color: QuIA, with its 95 % interval." in text and text.count("<polyline") == 5 * 3
    assert "subsets of the variants of N = 50" in text and '<a href="#sweep">Effect of N</a>' in text
