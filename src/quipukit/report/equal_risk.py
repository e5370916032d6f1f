"""Equal empirical privacy in a view: its mechanisms at the same risk against the strongest attacker."""

import pandas as pd

from quipukit.measures.equal_privacy import TARGETS, equal_privacy
from quipukit.measures.sides import grids
from quipukit.report.frontier import main_label
from quipukit.report.views import View


def equal_risk_frame(view: View) -> pd.DataFrame:
    """Return the settings of equal risk (`quipukit.measures.equal_privacy`), for whom the frontier is about."""
    label = main_label(view)
    utilities = view.result.utilities(view.system)
    own = utilities[utilities["measure"] == view.measure]
    grid = grids(view.result.risks(), own, view.result.hides_more)[
        view.attacker(label), view.persona(label), view.measure
    ]
    table = equal_privacy(grid, TARGETS, mechanisms=view.mechanisms)
    return table.assign(attacker=view.attacker(label), persona=view.persona(label), measure=view.measure)
