"""The formal side: the guarantee and composed budget of every setting, and what leaks anyway."""

import shlex
from collections.abc import Mapping
from typing import Any

from quipukit.auditing.kept import NOT_AUDITED, is_ours, kept_audit, shown_claim
from quipukit.report.table_model import DASH, Cell, ReportTable, number, share
from quipukit.report.tables.rows import Rows, grouped, named_frame, setting_text
from quipukit.report.views import View
from quipukit.settings import setting_name, shares_budget
from quipukit.specs import format_value

_TIMES, _N_X = "\N{MULTIPLICATION SIGN}", "N\N{LATIN SUBSCRIPT SMALL LETTER X}"


def formal(view: View) -> ReportTable:
    """Return what every setting guarantees, whether an audit agrees, and what leaks anyway."""
    rows: Rows = {}
    audits = _Audits(view)
    for row in view.settings.to_dict("records"):
        claim, verdict = audits.of(row)
        rows[row["strategy"], f"{row['mechanism']}@{row['value']}"] = (
            Cell(row["mechanism"]),
            Cell(setting_text(row["parameter"], row["value"])),
            Cell(claim),
            Cell(verdict),
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
            *("Mechanism", "Setting", "Guarantee of one variant", "Audit", "N"),
            *(f"N {_TIMES} epsilon", f"N {_TIMES} L {_TIMES} epsilon"),
            *("Sent", "Distinct", "OoV", "OoV policy", _N_X, "Kept words"),
            *("Verbatim", "Any verbatim", "Similarity", "Jaccard", "Nothing sent"),
        ),
        row_groups=grouped(rows),
        frame=named_frame(view, view.settings),
        caption=f"{audits.caption()}N variants of one query multiply epsilon by N: the composed budget is the "
        "guarantee of everything that was sent, taken together, about one word; multiplied by L, about a query of L "
        f"words (mean over the queries). {_shared_budget(view)}{_shared_noise(view)}Sent: mean number of variants per "
        f"query. OoV: share of the queries' words outside the vocabulary. {_N_X}: mean probability that a word is left "
        "unchanged. Verbatim: share of the variants equal to the original; any verbatim: share of the queries with at "
        "least one such variant. Nothing sent: queries for which the mechanism found nothing to send. "
        f"{DASH}: does not apply, or was not measured.",
        stubs=2,
        text_columns=(2, 3, 10),
    )


class _Audits:
    """The verdicts of audits that were made on this machine, for the settings of a view."""

    def __init__(self, view: View) -> None:
        """Note the vectors of the run: an audit on others is none of this setting."""
        vectors = view.result.manifest.get("vectors")
        self._vectors = str(vectors["fingerprint"]) if vectors else None
        self._open: str | None = None  # a setting that was not audited
        self._foreign = False

    def of(self, row: Mapping[str, Any]) -> tuple[str, str]:
        """Return the claim of a setting as it is shown, and the verdict."""
        guarantee = str(row["guarantee"])
        if not row["private"]:
            return guarantee, DASH
        setting = setting_name(row["mechanism"], row["parameter"], row["value"])
        audit = kept_audit(setting, self._vectors)
        if audit is None:
            self._open = self._open or setting
        if not is_ours(setting):
            self._foreign, guarantee = True, shown_claim(guarantee, audit)
        return guarantee, NOT_AUDITED if audit is None else str(audit)

    def caption(self) -> str:
        """Say what the column means, and how to fill it."""
        text = "Audit: whether a counter-example to the claim was found, by an audit on the machine that made this page"
        if self._open:
            text += f"; where it says {NOT_AUDITED}, run quipukit audit {shlex.quote(self._open)} (or another setting)"
        foreign = " A guarantee of another package is only claimed, until it was audited." if self._foreign else ""
        return f"{text}.{foreign} "


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
