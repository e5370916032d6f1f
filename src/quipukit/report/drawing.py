"""What all figures share: style, fonts, and files with the same bytes every time."""

import contextlib
import functools
import io
import math
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quipukit.report.palette import Look
from quipukit.storage import atomic_write

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("pdf", "svg", "png")
DASHES = ("-", "--", ":", "-.")  # of the settings in a panel
INK, FAINT, PALE = "#22262b", "#8a9099", "#d3d7dc"
STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "grid.color": "#e9ebee",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 7,
    "lines.linewidth": 1.2,
    "text.color": INK,
    "text.parse_math": False,  # a name may contain a dollar sign
    "pdf.fonttype": 42,  # several publishers refuse type 3 fonts
    "svg.hashsalt": "quipukit",
    "savefig.dpi": 200,
}
_METADATA: dict[str, dict[str, None]] = {
    "pdf": {"CreationDate": None},
    "svg": {"Date": None},
    "png": {"Software": None},
}


@contextlib.contextmanager
def styled() -> Iterator[None]:
    """Draw in the report's style, regardless of the user's own."""
    import matplotlib as mpl

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        yield


def save(figure: "Figure", stem: Path, formats: Sequence[str] = FORMATS) -> None:
    """Write the figure in each format."""
    for kind in formats:
        path = stem.with_name(f"{stem.name}.{kind}")
        with atomic_write(path) as draft:
            draft.write_bytes(file_of(figure, kind))


def file_of(figure: "Figure", kind: str) -> bytes:
    """Return the figure as a file of one of the formats."""
    content = io.BytesIO()
    with styled():
        figure.savefig(content, format=kind, metadata=_METADATA.get(kind))
    return content.getvalue()


def new_figure(width: float, height: float) -> "Figure":
    """Return an empty figure of this size in inches, without a window."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


def axes_at(figure: "Figure", left: float, top: float, width: float, height: float) -> "Axes":
    """Return axes placed in inches from the figure's upper left corner; much faster than a layout engine."""
    wide, high = figure.get_size_inches()
    return figure.add_axes((left / wide, 1 - (top + height) / high, width / wide, height / high))


def lay_out(figure: "Figure") -> None:
    """Lay out the figure once; an engine attached to the figure would repeat it for every format."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    engine = ConstrainedLayoutEngine()
    for _ in range(2):  # the first round moves what the second then fits
        engine.execute(figure)
    # Its solver goes through sets of texts, whose order changes from process to process, and so do its last digits.
    for axes in figure.axes:
        left, bottom, width, height = (round(float(side), 6) for side in axes.get_position().bounds)
        axes.set_position((left, bottom, width, height))


def panels(names: Sequence[str], draw: "Callable[[Axes, str], None]", x: str, y: str) -> "Figure":
    """Return a figure with a panel for each name, drawn by ``draw``, under common names of the axes."""
    columns = min(4, len(names))
    rows = math.ceil(len(names) / columns)
    figure = new_figure(max(2.1 * columns, 4), 2.2 * rows + 0.3)
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for axes in grid.flat[len(names) :]:
        axes.set_axis_off()
    for number, (axes, name) in enumerate(zip(grid.flat, names, strict=False)):
        draw(axes, name)
        axes.set_title(safe(name), loc="left")
        axes.tick_params(labelbottom=number + columns >= len(names))
    figure.supxlabel(x, fontsize=8)
    figure.supylabel(y, fontsize=8)
    lay_out(figure)
    return figure


def axis_of_counts(axes: "Axes", counts: Sequence[int]) -> None:
    """Prepare axes for shares from 0 to 1 against counts on a logarithmic axis."""
    axes.grid(True)
    axes.set_xscale("log")
    axes.set_ylim(-0.04, 1.04)
    axes.set_xticks(counts, [str(count) for count in counts])
    axes.minorticks_off()


def marker_of(look: Look) -> dict[str, Any]:
    """Return the marker options of a mechanism's points."""
    # A star, a plus and a cross cover less of their square than a circle.
    size = {"*": 8.0, "P": 5.6, "X": 5.6}.get(look.plain_marker, 4.4)
    return {"marker": look.plain_marker, "markersize": size, "markeredgecolor": "white", "markeredgewidth": 0.4}


def wrapped(name: str, width: int) -> str:
    """Return a name in lines of at most ``width`` characters."""
    return "\n".join(textwrap.wrap(safe(name), width))


def safe(text: str) -> str:
    """Return the text with a question mark for every character that the font lacks."""
    return "".join(character if ord(character) in _characters() else "?" for character in text)


@functools.cache
def _characters() -> frozenset[int]:
    from matplotlib.font_manager import findfont
    from matplotlib.ft2font import FT2Font

    return frozenset(FT2Font(findfont("DejaVu Sans")).get_charmap())
