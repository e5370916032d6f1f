"""LaTeX that compiles: escapes, balanced braces, as many cells as columns."""

import re

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quipukit.report import tables
from quipukit.report.latex import escape, latex
from quipukit.report.sections import sections
from quipukit.report.table_model import Cell, ReportTable, RowGroup
from quipukit.report.views import views_of
from tests.example_results import make_result
from tests.report.results import HOSTILE, hostile_result, only, renamed


def bare(text: str) -> str:
    """Take out everything that stands behind a backslash: what is left must be harmless."""
    return re.sub(r"\\(?:[a-zA-Z]+|.)", "", text, flags=re.DOTALL)


def check(text: str) -> None:
    body = "\n".join(line for line in text.splitlines() if not line.startswith("%"))
    left = bare(body)
    assert left.count("{") == left.count("}")
    depth = 0
    for letter in left:
        depth += {"{": 1, "}": -1}.get(letter, 0)
        assert depth >= 0
    assert left.count("$") % 2 == 0
    outside = re.sub(r"\$[^$]*\$", "", left)
    assert not set(outside) & set("%#_^~\\$"), set(outside)
    assert all(ord(letter) < 256 for letter in body)
    assert "--" not in re.sub(r"(?<!-)--(?!-)", "", body)  # dashes of two hyphens, never of three
    shape = re.search(r"\\begin\{(?:tabular|longtable)\}\{@\{\}([lr]+)@\{\}\}", body)
    assert shape is not None
    for line in body.splitlines():
        if line.endswith(r"\\"):
            spans = [int(width) for width in re.findall(r"\\multicolumn\{(\d+)\}", line)]
            cells = len(re.findall(r"(?<!\\)&", line)) + 1
            assert cells - len(spans) + sum(spans) == len(shape[1]), line


@given(st.text(max_size=60))
def test_any_text_is_harmless(text: str) -> None:
    cells = (Cell(text), Cell("1.0", bold=True, marks=tables.WORSE, small=("[-1, 2]",)))
    table = ReportTable("any", text, (text, "b"), (RowGroup(text, (cells,)),), pd.DataFrame(), text, ((text, 1),))
    check(latex(table))


def test_escapes() -> None:
    assert escape(r"50% of a_b & {c} #1 ~ ^ \ $x$") == (
        r"50\% of a\_b \& \{c\} \#1 \textasciitilde{} \textasciicircum{} \textbackslash{} \$x\$"
    )
    assert escape("\N{GRINNING FACE}") == "?"
    assert "<" not in escape(HOSTILE)


def test_every_table_of_a_report() -> None:
    odd = {"CusText": "CusText(k=20, mapping='top_k')"}
    few = {"CMP": (1.0, 10.0), "CusText": (1.0, 10.0), "AEA": (3.0,), "Identity": (0.0,), "Random": (0.0,)}
    result = renamed(only(make_result(seeds=(1, 2), systems=("a & b", "c_d")), few), odd)
    views = views_of([result, only(hostile_result(), few)])
    check(latex(tables.table_1(views)))
    check(latex(tables.references(views)))
    for view in views:
        for section in sections():
            for table in section.view_tables(view):
                check(latex(table))


def test_a_table_longer_than_a_page_breaks_over_pages() -> None:
    view = views_of([make_result()])[0]
    long, short = latex(tables.points(view)), latex(tables.references([view]))
    assert "\\begin{table}" not in long and "\\begin{table}" in short and "longtable" not in short
    assert "\\usepackage{longtable}" in long.splitlines()[0]
    order = ["begin{longtable}", "caption", "endfirsthead", "endhead", "endfoot", "CMP", "end{longtable}"]
    places = [long.index(f"\\{word}" if word != "CMP" else word) for word in order]
    assert places == sorted(places)
    # The headings stand on every page: before the end of the first head and of that of later pages.
    head, later = long.split("\\endfirsthead")[0], long.split("\\endfirsthead")[1].split("\\endhead")[0]
    assert all("Setting & nDCG@10" in part and "\\toprule" in part for part in (head, later))
    check(long)


def test_numbers_and_marks() -> None:
    text = latex(tables.table_1(views_of([make_result(queries=30)])))
    assert r"\textbf{" in text and r"$^{\dagger}$" in text and "$-$0." in text
    assert r"\texttt{quipukit evaluate -{}-seeds 3}" in text
    assert not re.search(r"& -0\.", text)


def test_the_check_itself_finds_faults() -> None:
    good = latex(tables.references(views_of([make_result()])))
    for fault in (good.replace("Identity", "a_b", 1), good.replace("0.", "0 & ", 1), good.replace("Random", "{")):
        with pytest.raises(AssertionError):
            check(fault)
