"""Which share of a user's queries a public pool holds, and covers where only that share is in it.

``python -m reproduce.mixture`` writes the mixtures of docs/frontier.md anew, from the tables that the page has: they
are sums of what was measured in the pool and outside it, and need no run.

No log with repetitions is at hand: that of ``../shared/data`` holds each query once. But of three of its sources it is
known how many queries they were published with. What is missing of them equals a query of a source before it, or one
of its own (or was left out for a reason that is not recorded): at most that share of their queries was in the pool
that the rows before them are.
"""

import gzip
import re
from collections import Counter
from pathlib import Path

from reproduce.published import ROOT

PAGE = ROOT / "docs" / "frontier.md"
LOG = ROOT.parent / "shared" / "data" / "querylog" / "queries.tsv.gz"
# Queries of the tracks as they were published: Million Query 2008 and 2009, efficiency topics of Terabyte 2005. A test
# compares them with what ir_datasets counts.
PUBLISHED = {"mq2008": 10_000, "mq2009": 40_000, "terabyte05-efficiency": 50_000}
SHARES = (0.0, 0.2, 0.5, 1.0)  # the first two are the headline: at least, and at most
BEGIN, END = "Mixed:", "\nOn the frontier"
Placed = dict[str, tuple[float, float]]  # by setting: risk, and the share of what the original finds


def bounds(log: Path = LOG) -> "dict[str, tuple[int, int, int]]":
    """Return for each source whose size is known: queries before it, its own that are left, and its published size."""
    with gzip.open(log, "rt", encoding="utf-8") as lines:
        next(lines)
        left = Counter(line.rstrip("\n").rsplit("\t", 1)[1] for line in lines)  # in the order of the file
    found, before = {}, 0
    for source, count in left.items():
        if source in PUBLISHED:
            found[source] = (before, count, PUBLISHED[source])
        before += count
    return found


def share_lines(found: "dict[str, tuple[int, int, int]]") -> list[str]:
    """Return the table of what a pool can have held of another log."""
    rows = [
        f"| {source} | {before:,} | {size:,} | {left:,} | {(size - left) / size:.1%} |"
        for source, (before, left, size) in found.items()
    ]
    return [
        "| log | queries of other sources before it | published | of these in the log | in the pool, at most |",
        "|---|---|---|---|---|",
        *rows,
    ]


def mixture_lines(inside: Placed, outside: Placed) -> list[str]:
    """Return risk and utility of covers where only a share of the queries is in the pool."""
    lines = [
        "Mixed: R@10 and share of what the original finds, by how many of a user's queries are in the pool. **The "
        "headline is the range of the first two columns:** a held-out log is in the pool to 20 % at most, and nothing "
        "says that it is at all.",
        "",
        f"| setting | **none in the pool** | **{SHARES[1]:.0%}** | {' | '.join(f'{one:.0%}' for one in SHARES[2:])} |",
        "|---" * (1 + len(SHARES)) + "|",
    ]
    for setting in [name for name in inside if name in outside and "Cover" in name]:
        (risk, found), (risk_out, found_out) = inside[setting], outside[setting]
        cells = [
            f"{share * risk + (1 - share) * risk_out:.3f}, {share * found + (1 - share) * found_out:.0%}"
            for share in SHARES
        ]
        lines.append(f"| {setting} | {' | '.join(f'**{cell}**' for cell in cells[:2])} | {' | '.join(cells[2:])} |")
    return lines


def remixed(page: str) -> str:
    """Return the page with its mixtures written anew."""
    head, *sections = re.split(r"(?m)^(?=## )", page)
    return head + "".join(_remixed(section) if BEGIN in section else section for section in sections)


def _remixed(section: str) -> str:
    start, end = section.index(BEGIN), section.index(END)
    inside, outside = (_placed(part) for part in section[:start].split("\nOutside the pool:\n"))
    lines = mixture_lines(inside, outside)
    return section[:start] + "\n".join(lines) + "\n" + section[end:]


def _placed(tables: str) -> Placed:
    """Return what every row of some tables says."""
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in tables.splitlines() if line.startswith("|")]
    return {row[0]: (float(row[2].split()[0]), float(row[4].rstrip("%")) / 100) for row in cells if "[" in row[2]}


def main() -> None:
    """Write the mixtures of the page anew."""
    import argparse

    argparse.ArgumentParser(description=__doc__).parse_args()
    PAGE.write_text(remixed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print("\n".join(share_lines(bounds())))


if __name__ == "__main__":
    main()
