"""What all figures share: their style, their letters, and how they become files with the same bytes every time."""

import contextlib
import functools
import io
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quipukit.report.palette import Look
from quipukit.storage import atomic_write

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("pdf", "svg", "png")
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
    "text.parse_math": False,  # a name may hold a dollar sign
    "pdf.fonttype": 42,  # type 3 fonts are refused by several publishers
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
    """Draw in the report's style, whatever the user's own is."""
    import matplotlib as mpl

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        yield


def save(figure: "Figure", stem: Path, formats: Sequence[str] = FORMATS) -> None:
    """Write the figure in every format."""
    for kind in formats:
        path = stem.with_name(f"{stem.name}.{kind}")
        content = io.BytesIO()
        with styled():
            figure.savefig(content, format=kind, metadata=_METADATA.get(kind))
        with atomic_write(path) as draft:
            draft.write_bytes(content.getvalue())


def new_figure(width: float, height: float) -> "Figure":
    """Return an empty figure, in inches, that belongs to no window."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


def axes_at(figure: "Figure", left: float, top: float, width: float, height: float) -> "Axes":
    """Return axes at a place given in inches from the figure's upper left corner; an engine would take its time."""
    wide, high = figure.get_size_inches()
    return figure.add_axes((left / wide, 1 - (top + height) / high, width / wide, height / high))


def settle(figure: "Figure") -> None:
    """Give everything its place, once; an engine of the figure's own would do so again for every format."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    engine = ConstrainedLayoutEngine()
    for _ in range(2):  # the first round moves what the second has to fit
        engine.execute(figure)


def marker_of(look: Look) -> dict[str, Any]:
    """Return how a mechanism's points are drawn."""
    # A star, a plus and a cross cover less of their square than a disc does.
    size = {"*": 8.0, "P": 5.6, "X": 5.6}.get(look.plain_marker, 4.4)
    return {"marker": look.plain_marker, "markersize": size, "markeredgecolor": "white", "markeredgewidth": 0.4}


def wrapped(name: str, width: int) -> str:
    """Return a name in lines of so many letters at most."""
    return "\n".join(textwrap.wrap(safe(name), width))


def safe(text: str) -> str:
    """Return the text with a question mark for every letter that the font lacks."""
    return "".join(letter if ord(letter) in _letters() else "?" for letter in text)


@functools.cache
def _letters() -> frozenset[int]:
    from matplotlib.font_manager import findfont
    from matplotlib.ft2font import FT2Font

    return frozenset(FT2Font(findfont("DejaVu Sans")).get_charmap())
