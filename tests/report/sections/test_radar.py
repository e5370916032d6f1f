"""The radar: triangles inside their axes, and a sentence where there are none."""

import re

from quipukit.report.sections.radar import Radar
from tests.example_results import make_result
from tests.report.pages import rendered, report_data


def test_triangles_lie_inside_the_outer_ring() -> None:
    report = report_data(make_result(mechanisms=("CMP", "AEA")))
    text = rendered(Radar(), report)
    assert text.count('<figure class="radar">') == 2 and "Epsilons of equal privacy" in text
    triangles = re.findall(r'<polygon class="triangle[^>]* points="([^"]+)"', text)
    assert len(triangles) == 6
    for corners in triangles:
        places = [tuple(map(float, corner.split(","))) for corner in corners.split()]
        assert all((x * x + y * y) ** 0.5 <= 46.01 for x, y in places)
        assert places[0][0] == 0 and places[0][1] <= 0, "obfuscation points up"
    assert [drawing.name for drawing in Radar().drawings(report.views[0], report.looks)] == ["radar"]


def test_without_judgments_no_radar() -> None:
    report = report_data(make_result(judged=False, mechanisms=("CMP", "AEA")))
    assert "No radar" in rendered(Radar(), report) and not list(Radar().drawings(report.views[0], report.looks))
