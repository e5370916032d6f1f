"""An audit as a page for a reviewer, in Markdown or HTML: the verdict, the counter-example, and every check."""

import html
from pathlib import Path

from quipukit.auditing.findings import HOLDS, NOT_VIOLATED, NOTHING_CLAIMED, VIOLATED, Audit
from quipukit.errors import InputError
from quipukit.storage import atomic_write
from quipukit.terminal import visible

_MEANING = {
    HOLDS: "The exact loss stays within the claim for every pair of the sample, and the draws follow the law that it "
    "was computed from. Other inputs were not looked at.",
    NOT_VIOLATED: "No counter-example was found. This is no proof: each check says the largest loss that it could have "
    "seen, and a leak that is larger than the claim but smaller than that, or rarer than the draws, stays unseen.",
    VIOLATED: "There is a counter-example: the mechanism does not keep its claim.",
    NOTHING_CLAIMED: "The mechanism claims nothing, so nothing can be violated. The checks say what it loses at least.",
}
_STYLE = "body{max-width:60em;margin:2em auto;font:16px/1.5 sans-serif}td,th{text-align:left;padding:.3em .6em;"
_STYLE += "vertical-align:top;border-bottom:1px solid #ccc}table{border-collapse:collapse}"
_HEADINGS = ("Check", "Verdict", "Details")


def check_page(path: Path) -> None:
    """Refuse a name that says no format, before any work is done."""
    if path.suffix not in (".md", ".html"):
        raise InputError(f"{path}: end the name of the page in .md or .html.")


def write_page(audit: Audit, path: Path) -> None:
    """Write an audit to a file that ends in .md or .html."""
    check_page(path)
    text = to_html(audit) if path.suffix == ".html" else to_markdown(audit)
    with atomic_write(path) as draft:
        draft.write_text(text, encoding="utf-8")


def to_markdown(audit: Audit) -> str:
    """Return the page in Markdown."""
    lines = [f"# Audit of {_code(audit.mechanism)}: {audit.verdict}", ""]
    for paragraph in _paragraphs(audit):
        lines += [_cell(paragraph), ""]
    lines += [f"| {' | '.join(_HEADINGS)} |", "|---|---|---|"]
    lines += [f"| {' | '.join(map(_cell, row))} |" for row in _rows(audit)]
    return "\n".join(lines) + "\n"


def to_html(audit: Audit) -> str:
    """Return the page in HTML; it needs no other file."""
    title = html.escape(visible(f"Audit of {audit.mechanism}: {audit.verdict}"))
    paragraphs = "\n".join(f"<p>{html.escape(visible(one))}</p>" for one in _paragraphs(audit))
    head = "".join(f"<th>{one}</th>" for one in _HEADINGS)
    rows = "\n".join(
        "<tr>" + "".join(f"<td>{html.escape(visible(cell))}</td>" for cell in row) + "</tr>" for row in _rows(audit)
    )
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{title}</title>\n<style>{_STYLE}</style>\n'
        f"<h1>{title}</h1>\n{paragraphs}\n<table>\n<tr>{head}</tr>\n{rows}\n</table>\n</html>\n"
    )


def _paragraphs(audit: Audit) -> list[str]:
    broken = audit.counter_example
    parts = [f"Claim: {audit.guarantee}. Audited on: {audit.about}.", _MEANING[audit.verdict]]
    if broken is not None:
        parts.append(f"Counter-example ({broken.name}): {broken.sentence()}.")
    parts.append(
        "Losses are in nats: ln P(event | first input) - ln P(event | second input). Over all sampled checks together, "
        f"a mechanism that keeps its claims is called violated with probability {audit.alarm:g} at most. Events are "
        f"chosen on one half of the draws and tested on the other. Seed: {audit.seed}."
    )
    return [one for one in (*parts, audit.floating_point, *audit.skipped) if one]


def _rows(audit: Audit) -> list[tuple[str, str, str]]:
    return [(check.name, check.verdict, check.sentence()) for check in audit.checks]


def _code(text: str) -> str:
    return f"`{visible(text).replace('`', '')}`"


def _cell(text: str) -> str:
    """Return a text as Markdown shows it literally: what an input holds must not become markup."""
    shown = visible(text).replace("\\", "\\\\")
    for mark in "|<>*_`[]#":
        shown = shown.replace(mark, f"\\{mark}")
    return shown
