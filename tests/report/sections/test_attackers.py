from quipukit.report.sections.attackers import Attackers
from tests.example_results import make_result
from tests.report.pages import rendered, report_data
from tests.report.results import SMALL, only, two_attackers


def test_the_section_warns_and_is_left_out_where_there_is_one_attacker() -> None:
    result = only(make_result(), SMALL)
    report = report_data(two_attackers(result))
    assert Attackers().applies(report) and "QuIA alone misleads here" in rendered(Attackers(), report)
    (table,) = Attackers().view_tables(report.views[0])
    assert "Words" in {cell.text for group in table.row_groups for row in group.rows for cell in row}
    assert set(Attackers().view_frames(report.views[0])) == {"strongest"}
    alone = report_data(result)
    assert not Attackers().applies(alone) and not Attackers().view_tables(alone.views[0])
