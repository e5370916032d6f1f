"""Equal empirical privacy of a view: for the persona and the attacker of the frontier."""

import pytest

from quipukit.report.equal_risk import equal_risk_frame
from quipukit.report.views import View, views_of
from tests.example_results import make_result
from tests.report.results import SMALL, only, two_attackers


def test_all_mechanisms_at_every_target(view: View) -> None:
    frame = equal_risk_frame(view)
    assert list(dict.fromkeys(frame["mechanism"])) == view.mechanisms and len(frame) == 3 * len(view.mechanisms)
    assert set(frame["persona"]) == {"active"} and set(frame["attacker"]) == {"QuIA"}
    rows = frame[(frame["mechanism"] == "CMP") & (frame["target"] == 0.2)]
    curve = view.curve("CMP", "active")
    above = curve[curve["risk"] > 0.2]["value"].min()
    assert 1.0 < rows["value"].item() < above
    assert equal_risk_frame(view).equals(frame), "the draws are the same every time"


def test_the_strongest_of_several() -> None:
    (view,) = views_of([two_attackers(only(make_result(), SMALL))])
    frame = equal_risk_frame(view)
    assert set(frame["attacker"]) == {"strongest"}
    # The second attacker finds at least half of everything.
    assert set(frame["reached"]) == {"never"} and frame["first_risk"].min() == pytest.approx(0.5)
