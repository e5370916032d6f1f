"""The formal side: the guarantee and composed budget of every setting, and what leaks anyway."""

from quipukit.report.table_model import DASH, Cell, ReportTable, number, share
from quipukit.report.tables.rows import Rows, grouped, named_frame, setting_text
from quipukit.report.views import View
from quipukit.settings import shares_budget
from quipukit.specs import format_value

_TIMES, _N_X = "\N{MULTIPLICATION SIGN}", "N\N{LATIN SUBSCRIPT SMALL LETTER X}"


def formal(view: View) -> ReportTable:
    """Return what every setting guarantees, and what leaks anyway."""
    rows: Rows = {}
    for row in view.settings.to_dict("records"):
        rows[row["strategy"], f"{row['mechanism']}@{row['value']}"] = (
            Cell(row["mechanism"]),
            Cell(setting_text(row["parameter"], row["value"])),
            Cell(row["guarantee"]),
            Cell(str(row["n"])),
            *(Cell(_budget(row[column])) for column in ("budget", "budget_query")),
            Cell(number(row["variants"], 1)),
            Cell(share(row["distinct"])),
            Cell(share(row["oov"])),
            Cell(row["oov_policy"] or DASH),
            Cell(number(row["n_x"])),
            Cell(share(row["kept_words"])),
            Cell(share(row["verbatim"])),
            Cell(share(row["any_verbatim"])),
            Cell(number(row["sentence_similarity"])),
            Cell(number(row["jaccard"])),
            Cell(str(row["nothing"])),
        )
    return ReportTable(
        name="formal",
        title="Guarantees, and what leaks anyway",
        headings=(
            *("Mechanism", "Setting", "Guarantee of one variant", "N"),
            *(f"N {_TIMES} epsilon", f"N {_TIMES} L {_TIMES} epsilon"),
            *("Sent", "Distinct", "OoV", "OoV policy", _N_X, "Kept words"),
            *("Verbatim", "Any verbatim", "Similarity", "Jaccard", "Nothing sent"),
        ),
        row_groups=grouped(rows),
        frame=named_frame(view, view.settings),
        caption="N variants of one query multiply epsilon by N: the composed budget is the guarantee of everything "
        "that was sent, taken together, about one word; multiplied by L, about a query of L words (mean over the "
        f"queries). {_shared_budget(view)}{_shared_noise(view)}Sent: mean number of variants per query. OoV: share of "
        f"the queries' words outside the vocabulary. {_N_X}: mean probability that a word is left unchanged. Verbatim: "
        "share of the variants equal to the original; any verbatim: share of the queries with at least one such "
        f"variant. Nothing sent: queries for which the mechanism found nothing to send. {DASH}: does not apply, or "
        "was not measured.",
        stubs=2,
        text_columns=(2, 9),
    )


def _budget(epsilon: float) -> str:
    return DASH if epsilon != epsilon else format_value(round(epsilon, 6))


def _shared_budget(view: View) -> str:
    shared = any(map(shares_budget, view.settings["mechanism"]))
    return "With budget='total' all variants share one epsilon, and N multiplies nothing. " if shared else ""


_NOT_SAID = "Nothing says how the noise was drawn, and the settings may share it"


def _shared_noise(view: View) -> str:
    noise = view.result.manifest.get("noise")
    if noise == "independent":
        return ""
    shared = "The settings of a mechanism share their noise" if noise == "common" else _NOT_SAID
    return (
        f"{shared}, so each budget holds for its setting alone: the outputs of several settings together have no "
        "finite guarantee. "
    )
