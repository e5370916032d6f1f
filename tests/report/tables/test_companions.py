"""The companions of QuIPU against numbers computed by hand."""

import numpy as np
import pytest

from quipukit.report import tables
from quipukit.report.table_model import DASH
from quipukit.report.views import View
from tests.report.results import by_name, curve_by_hand


def test_companions_by_hand(view: View) -> None:
    rows = by_name(tables.companions(view))
    curve = curve_by_hand(view.result.scores, "CMP", "R@10", "nDCG@10")
    width = len(rows["CMP"]) // 3
    cells = rows["CMP"][width : 2 * width]
    for cell, budget in zip(cells, (0.01, 0.05, 0.1), strict=True):
        safe = [u for r, u in curve if r <= budget]
        assert cell.text == (f"{max(safe):.3f}" if safe else DASH)
    top = curve_by_hand(view.result.scores, "Identity", "R@10", "nDCG@10")[0][1]
    grid = np.linspace(0, 1, 200_001)
    best = [max((min(u, top) for r, u in curve if r <= rho), default=0.0) for rho in grid[::100]]
    volume = by_name(tables.table_1([view]))["CMP"][3]
    assert float(volume.text) == pytest.approx(np.mean(best) / top, abs=0.002)
