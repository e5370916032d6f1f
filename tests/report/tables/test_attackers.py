from quipukit.report import tables
from quipukit.report.views import views_of
from tests.example_results import make_result
from tests.report.results import SMALL, only, two_attackers


def test_every_attacker_has_a_column_and_the_strongest_is_named() -> None:
    (view,) = views_of([two_attackers(only(make_result(), SMALL))])
    table = tables.attackers(view, "R@10")
    assert table.headings == ("Mechanism", "Setting", "QuIA", "Words", "Strongest")
    rows = [row for group in table.row_groups for row in group.rows]
    assert len(rows) == len(view.settings)
    for row in rows:
        quia, words, name = (cell.text for cell in row[2:])
        assert float(words) >= float(quia)
        if float(words) > float(quia):
            assert name == "Words" and row[3].bold and not row[2].bold
    assert any(row[3].bold for row in rows)
