"""Draw docs/images/frontier.svg, the picture of the README, from the table of DL'19 in docs/frontier.md.

    .venv/bin/python docs/make_frontier_picture.py

The figures are those that `python -m reproduce.frontier` measured; equal figures give equal bytes.
"""

import re
from pathlib import Path
from typing import NamedTuple

from quipukit.report.drawing import FAINT, INK, axes_at, file_of, new_figure, styled
from quipukit.report.frontier_figures import frontier_steps

DOCS = Path(__file__).resolve().parent
PICTURE = DOCS / "images" / "frontier.svg"
HIDING, OTHERS = "#0b7a75", "#c2571a"  # both dark enough on white
NAMED = {  # where names stand: points to the right and up, and how they are aligned
    "Cover@100, depth 6": (7, -9, "left"),
    "Cover@100": (7, 3, "left"),
    "Cover@50": (7, -9, "left"),
    "Cover(members=50)@100": (7, 3, "left"),
    "Cover(members=50)@200": (7, -9, "left"),
    "AEA@3": (20, -1, "left"),
    "Decoys@50": (-7, -9, "right"),
    "Identity: the query as it is": (-7, -9, "right"),
}


class Point(NamedTuple):
    """A setting: what the strongest attacker finds, and what the user does."""

    name: str
    risk: float
    utility: float
    pools_much: bool


def points(page: str) -> list[Point]:
    """Return the settings of DL'19 with 50 variants whose queries are in the pool, and the query itself."""
    part = page.split("\n## DL'19", 1)[1].split("\nOutside the pool", 1)[0]
    original = re.search(r"the original finds ([\d.]+) \(nDCG@10\)", part)
    assert original is not None
    found = [Point("Identity: the query as it is", 1.0, float(original[1]), False)]
    for line in part.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and "@" in cells[0] and "variants" not in cells[0]:
            found.append(
                Point(cells[0], float(cells[2].split()[0]), float(cells[3].split()[0]), "too much" in cells[6])
            )
    return found


def drawn(settings: list[Point]) -> bytes:
    """Return the picture as SVG."""
    import pandas as pd

    frame = pd.DataFrame(settings)
    counted = frame[~frame["pools_much"]]
    beaten = [
        any((counted["risk"] <= risk) & (counted["utility"] >= utility) & (counted["name"] != name))
        for name, risk, utility in zip(counted["name"], counted["risk"], counted["utility"], strict=True)
    ]
    steps = frontier_steps(counted.assign(frontier=[not one for one in beaten]))
    with styled():
        figure = new_figure(6.6, 2.4)
        axes = axes_at(figure, 0.55, 0.25, 5.9, 1.68)
        axes.set_xlim(-0.02, 1.03)
        axes.set_ylim(0, 0.62)
        axes.grid(True)
        axes.set_title(
            "What you find, and who finds you out: TREC DL'19, queries that the public pool holds",
            loc="left",
            fontweight="bold",
        )
        axes.set_xlabel("risk: share of queries that the strongest attacker finds with ten guesses (R@10)")
        axes.set_ylabel("what you find (nDCG@10)")
        axes.plot(*zip(*steps, strict=True), color=INK, linewidth=1.1, zorder=2)
        for one in settings:
            color = HIDING if one.name.startswith("Cover") else OTHERS
            axes.plot(
                [one.risk],
                [one.utility],
                marker="o",
                markersize=6,
                markerfacecolor="white" if one.pools_much else color,
                markeredgecolor=color,
                zorder=3,
                clip_on=False,
            )
            if one.name in NAMED:
                right, up, side = NAMED[one.name]
                axes.annotate(
                    f"{one.name} (fetches too much to count)" if one.pools_much else one.name.replace("Identity: ", ""),
                    (one.risk, one.utility),
                    (right, up),
                    textcoords="offset points",
                    ha=side,
                    fontsize=7,
                )
        axes.annotate(
            "CMP, Vickrey, Mahalanobis, TEM, SanText,\nCusText, WBB: whatever they still find,\n"
            "almost every query is guessed",
            (0.975, 0.3),
            (-10, 0),
            textcoords="offset points",
            ha="right",
            va="center",
            fontsize=7,
            color=OTHERS,
        )
        axes.annotate("the frontier", (0.62, steps[-1][1]), (0, 3), textcoords="offset points", fontsize=7, color=FAINT)
        return file_of(figure, "svg")


if __name__ == "__main__":
    PICTURE.write_bytes(drawn(points((DOCS / "frontier.md").read_text(encoding="utf-8"))))
    print(PICTURE)
