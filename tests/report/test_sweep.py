"""A sweep over N: the largest N is shown and named, and every N has its own numbers."""

import pytest

from quipukit.report import narrative, tables
from quipukit.report.run_description import run_description
from quipukit.report.sweep import chosen_curves, log_places, sweep_frame
from quipukit.report.views import View, views_of
from tests.example_results import make_result
from tests.report.results import SMALL, only, swept


@pytest.fixture(scope="module")
def sweep() -> View:
    return views_of([swept(only(make_result(), SMALL))])[0]


def test_the_largest_n_is_shown_and_named(sweep: View, small: View) -> None:
    plain = small
    assert set(sweep.result.settings["n"]) == {20} and sweep.whole.ns == [1, 5, 20]
    assert sweep.points["risk"].tolist() == plain.points["risk"].tolist()
    assert "N = 1, 5 and 20" in narrative.sweep(sweep) and "for N = 20" in narrative.sweep(sweep)
    for table in (tables.table_1([sweep]), tables.points(sweep)):
        assert "N = 20, the largest of the sweep over N = 1, 5 and 20." in table.caption
    assert narrative.sweep(plain) == "" and "sweep" not in tables.table_1([plain]).caption


def test_every_n_has_its_own_means(sweep: View, small: View) -> None:
    frame = sweep_frame(sweep)
    assert len(frame) == 3 * len(sweep.points) and set(frame["n"]) == {1, 5, 20}
    for n in (1, 5, 20):
        own = frame[frame["n"] == n].reset_index(drop=True)
        for side in ("risk", "utility"):
            assert own[side].to_numpy() == pytest.approx(sweep.points[side].to_numpy() * n / 20)
            assert (own[f"{side}_low"] <= own[side] + 1e-12).all() and (own[side] <= own[f"{side}_high"] + 1e-12).all()
    assert sweep_frame(small).empty


def test_settings_stay_together_and_n_rises(sweep: View) -> None:
    rows = sweep_frame(sweep).query("label == 'lazy'")
    settings = list(zip(rows["mechanism"], rows["value"], strict=True))
    assert settings[:3] == [settings[0]] * 3 and rows["n"].tolist() == [1, 5, 20] * (len(rows) // 3)
    (curve,) = [curve for curve in chosen_curves(sweep, sweep_frame(sweep), "CMP", "lazy")]
    assert curve["n"].tolist() == [1, 5, 20] and set(curve["value"]) == {10.0}


def test_the_run_names_every_n_and_counts_a_setting_once(sweep: View) -> None:
    told = dict(run_description(sweep.whole, sweep.queries))
    assert told["Obfuscation"] == "4 mechanisms, 7 settings, N = 1, 5 and 20 variants per query"
    assert told["Digest"].startswith(sweep.whole.digest[:16])


def test_places_on_the_axis() -> None:
    assert log_places([1, 10, 100]) == pytest.approx([0, 0.5, 1]) and log_places([5, 50]) == [0, 1]
