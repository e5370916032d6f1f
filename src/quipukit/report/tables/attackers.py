"""Every attacker at every setting: who finds how much, and who is the strongest."""

from quipukit.frames import SETTING
from quipukit.measures.risk import persona_of
from quipukit.report.attacker_gaps import blind_attackers
from quipukit.report.table_model import DASH, Cell, ReportTable, number
from quipukit.report.tables.rows import Rows, grouped, named_frame, setting_text
from quipukit.report.views import View


def attackers(view: View, measure: str) -> ReportTable:
    """Return the mean risk of every setting by attacker, for one measure of risk."""
    risks = view.result.risks()
    own = risks[risks["measure"] == measure]
    count = max(1, risks["qid"].nunique())
    means = own.groupby([*SETTING, "attacker"], sort=False, observed=True)["score"].sum().div(count)
    strongest = view.strongest[view.strongest["measure"] == measure].set_index(list(SETTING))["attacker"].to_dict()
    names = view.result.attackers
    blind = blind_attackers(view)
    means = means.mask([place in blind for place in means.index])
    rows: Rows = {}
    for setting in view.settings[list(SETTING)].itertuples(index=False, name=None):
        mechanism, parameter, value = setting
        best = strongest.get(setting, "")
        found = [means.get((*setting, name)) for name in names]
        most = max((mean for mean in found if mean is not None and mean == mean), default=0.0)
        cells = [Cell(number(mean), bold=mean == most > 0) for mean in found]
        rows[view.result.strategies[mechanism], f"{mechanism}@{value}"] = (
            *(Cell(mechanism), Cell(setting_text(parameter, value))),
            *cells,
            Cell(best if most > 0 and (*setting, best) not in blind else DASH),
        )
    frame = means.rename("risk").reset_index().assign(measure=measure)
    return ReportTable(
        name="attackers",
        title=f"Risk by attacker ({persona_of(measure)}, {measure})",
        headings=("Mechanism", "Setting", *names, "Strongest"),
        row_groups=grouped(rows),
        frame=named_frame(view, frame),
        caption="Mean risk over all queries sent. Every attacker's risk is a lower bound of what there is to lose: the "
        "risk is at least that of the strongest, and may be higher against attackers that nobody has tried. Which one "
        "is the strongest was chosen by these very numbers; the intervals of the other tables allow for that choice. "
        "A dash is for an attacker to whom all queries are alike, such as one that knows no law of the mechanism.",
        stubs=2,
    )
