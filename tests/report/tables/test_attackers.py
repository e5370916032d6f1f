from dataclasses import replace

from quipukit.report import tables
from quipukit.report.attacker_gaps import blind_note
from quipukit.report.table_model import DASH
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


def test_an_attacker_to_whom_all_queries_are_alike_has_a_dash_and_no_figure() -> None:
    result = two_attackers(only(make_result(), SMALL), "Bayes")
    name = "AEA"
    lawless = (result.ranks["attacker"] == "Bayes") & (result.ranks["mechanism"] == name)
    ranks = result.ranks.assign(
        better=result.ranks["better"].mask(lawless, 0),
        tied=result.ranks["tied"].mask(lawless, result.manifest["log"]["size"] - 1),
    )
    (view,) = views_of([replace(result, ranks=ranks)])
    table = tables.attackers(view, "R@10")
    rows = [row for group in table.row_groups for row in group.rows]
    dashed = {row[0].text for row in rows if row[3].text == DASH}
    assert dashed == {name} and all(row[4].text != "Bayes" for row in rows if row[0].text == name)
    frame = table.frame[table.frame["attacker"] == "Bayes"]
    assert frame["risk"].isna().tolist() == (frame["mechanism"] == name).tolist()
    assert blind_note(view) == (
        f"all queries are alike to Bayes at {name}, as to an attacker that knows no law of the mechanism: the risk "
        "there is that of chance, and the table of attackers has a dash."
    )
    (seeing,) = views_of([result])
    assert blind_note(seeing) == ""
