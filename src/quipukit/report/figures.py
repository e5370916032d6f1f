"""Figures for papers: everything that can be drawn of a block."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from quipukit.report.palette import Look
from quipukit.report.parameter_figures import by_parameter
from quipukit.report.plane_figures import panels, plane
from quipukit.report.radar import radar_frame
from quipukit.report.radar_figures import radars
from quipukit.report.views import Block

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figures(block: Block, looks: Mapping[str, Look]) -> Iterator[tuple[str, "Figure"]]:
    """Yield the name and the figure of everything that can be drawn of a block."""
    if block.judged:
        for who in block.attackers:
            yield f"plane-{_plain(who)}", plane(block, who, looks)
            if block.mechanisms:
                yield f"panels-{_plain(who)}", panels(block, who, looks)
    if any(block.settings["parameter"] != ""):
        yield "parameter", by_parameter(block, looks)
    radar = radar_frame(block)
    if len(radar):
        yield "radar", radars(radar, looks)


def _plain(who: str) -> str:
    return who.lower().replace(" ", "-").replace("@", "-at-")
