"""The tables of the report, one file per table: each function returns a `ReportTable`."""

from quipukit.report.tables.attackers import attackers
from quipukit.report.tables.companions import companions
from quipukit.report.tables.equal_risk import equal_risk
from quipukit.report.tables.formal import formal
from quipukit.report.tables.frontier import frontier
from quipukit.report.tables.need import need
from quipukit.report.tables.points import POOLS_MUCH, points
from quipukit.report.tables.radar import equal_privacy, radar
from quipukit.report.tables.references import references
from quipukit.report.tables.scores import BACKWARD, NOT_MONOTONE, NOT_RANKED, SINGLE, WORSE, table_1
from quipukit.report.tables.topics import topics

__all__ = [
    "BACKWARD",
    "NOT_MONOTONE",
    "NOT_RANKED",
    "POOLS_MUCH",
    "SINGLE",
    "WORSE",
    "attackers",
    "companions",
    "equal_privacy",
    "equal_risk",
    "formal",
    "frontier",
    "need",
    "points",
    "radar",
    "references",
    "table_1",
    "topics",
]
