"""The page: one HTML file that needs nothing but itself."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from quipukit.report import narrative
from quipukit.report.chart_data import page_data, script_safe
from quipukit.report.palette import NIGHT, PAPER, Look
from quipukit.report.radar import GAIN, radar_frame
from quipukit.report.table_model import Sheet, typeset
from quipukit.report.views import Block
from quipukit.specs import format_value
from quipukit.terminal import visible

if TYPE_CHECKING:
    from markupsafe import Markup

_SIDE = 46.0  # half the width of a radar


def page(
    blocks: Sequence[Block],
    looks: Mapping[str, Look],
    shared: Mapping[str, Sheet],
    sheets: Mapping[str, Mapping[str, Sheet]],
    examples: bool,
) -> str:
    """Return the report as HTML; ``shared`` are the tables of all blocks, ``sheets`` those of each, by their names."""
    import jinja2
    from markupsafe import Markup
    from plotly.offline import get_plotlyjs

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("quipukit.report", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: value if isinstance(value, Markup) else _shown(value),
    )
    environment.filters["typeset"] = typeset
    environment.filters["prose"] = _prose
    # One block of each result; those of several systems share what was run.
    runs = list({id(block.result): block for block in blocks}.values())
    results = [block.result for block in runs]
    data = _shown(page_data(blocks, looks, examples))
    return environment.get_template("report.html").render(
        title=narrative.join(list(dict.fromkeys(result.name for result in results))),
        results=[(block.run, narrative.run_in_words(block.result, block.queries)) for block in runs],
        limits=narrative.limits(results),
        blocks=[_block(block, looks, sheets[block.name]) for block in blocks],
        judged=any(block.judged for block in blocks),
        table_1=shared["table1"],
        references=shared["references"],
        examples=examples and any(block["examples"] for block in data["blocks"]),
        told=examples,
        colors=sorted({(look.number % 10, look.light, look.dark) for look in looks.values()}),
        paper=PAPER,
        night=NIGHT,
        data=Markup(script_safe(data)),
        plotly=Markup(get_plotlyjs()),
    )


def _shown(value: Any) -> Any:
    """Return a value whose texts show their control characters: a browser would obey those that turn the direction."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {_shown(name): _shown(one) for name, one in value.items()}
    return [_shown(one) for one in value] if isinstance(value, list | tuple) else value


def _prose(text: str) -> "Markup":
    """Return a sentence as HTML, what stands between backquotes as code."""
    from markupsafe import Markup, escape

    parts = (escape(part) for part in typeset(visible(text)).split("`"))
    return Markup("").join(Markup("<code>{}</code>").format(part) if n % 2 else part for n, part in enumerate(parts))


def _block(block: Block, looks: Mapping[str, Look], sheets: Mapping[str, Sheet]) -> dict[str, Any]:
    return {
        "name": block.name,
        "judged": block.judged,
        "lead": narrative.lead(block),
        "findings": narrative.findings(block) if block.judged else [],
        "safest": narrative.safest(block) if not block.judged else [],
        "radars": _radars(radar_frame(block), looks),
        "sheets": sheets,
        "seeds": len(block.result.seeds),
    }


def _radars(frame: pd.DataFrame, looks: Mapping[str, Look]) -> list[dict[str, Any]]:
    """Return the triangles as points of an SVG, y downwards."""
    angles = np.radians([-90, 150, 30])
    spokes = np.column_stack([np.cos(angles), np.sin(angles)]) * _SIDE
    found = []
    for name, rows in frame.groupby("mechanism", sort=False):
        triangles = []
        for row in rows.to_dict("records"):
            axes = np.clip([row["obfuscation"], row["recall"], row["gain"]], 0, 1)
            triangles.append(
                {
                    "points": _svg_points(axes[:, None] * spokes),
                    "setting": f"{row['parameter']} {format_value(row['value'])}".strip(),
                    "area": f"{row['area']:.3f}",
                    "title": f"obfuscation {row['obfuscation']:.3f}, recall {row['recall']:.3f}, "
                    f"{GAIN} {row['gain']:.3f}, area {row['area']:.3f}",
                }
            )
        found.append({"name": str(name), "color": looks[str(name)].number % 10, "triangles": triangles})
    return found


def _svg_points(places: Any) -> str:
    return " ".join(f"{x:.2f},{y:.2f}" for x, y in places)
