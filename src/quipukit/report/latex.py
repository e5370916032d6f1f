"""A ReportTable as LaTeX: booktabs, and longtable where it is longer than a page."""

from quipukit.report.table_model import Cell, ReportTable, RowGroup, typeset

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    "'": r"\textquotesingle{}",
    "\N{EN DASH}": "--",
    "\N{NO-BREAK SPACE}": r"\,",
    "\N{MINUS SIGN}": "$-$",
    "\N{DAGGER}": r"$^{\dagger}$",
    "\N{DOUBLE DAGGER}": r"$^{\ddagger}$",
    "\N{DIAMOND OPERATOR}": r"$^{\diamond}$",
    "\N{LEFTWARDS ARROW}": r"$^{\leftarrow}$",
    "\N{WHITE BULLET}": r"$^{\circ}$",
    "\N{TILDE OPERATOR}": r"$^{\sim}$",
    "\N{SQUARE ROOT}": r"$\surd$",
    "\N{MULTIPLICATION SIGN}": r"$\times$",
    "\N{LATIN SUBSCRIPT SMALL LETTER X}": "$_x$",
}


_PAGE = 40  # rows that fit on a page together with the caption
_NEEDS = "% needs \\usepackage[T1]{fontenc}, \\usepackage{textcomp}"


def escape(text: str) -> str:
    r"""Return a text that LaTeX prints literally; a character that common fonts lack becomes a question mark.

    >>> escape("100 % of $x_i$")
    '100 \\% of \\$x\\_i\\$'
    """
    return "".join(_ESCAPES.get(letter) or (letter if _printable(letter) else "?") for letter in text)


def latex(table: ReportTable) -> str:
    """Return the table in booktabs style; one longer than a page breaks across pages (longtable)."""
    columns = len(table.headings)
    shape = "".join("l" if n < table.stubs or n in table.text_columns else "r" for n in range(columns))
    body: list[str] = []
    for number, group in enumerate(table.row_groups):
        if number:
            body.append("\\addlinespace")
        body += _row_group(group, columns)
    head = ["\\toprule", *_column_groups(table), _row([escape(heading) for heading in table.headings]), "\\midrule"]
    caption = f"\\caption{{{_prose(table.caption or table.title)}}}"
    label = f"\\label{{tab:{table.name.replace('_', '-')}}}"
    frame = _long if len(body) > _PAGE else _short
    return "\n".join(frame(f"{{@{{}}{shape}@{{}}}}", caption, label, head, body))


def _short(shape: str, caption: str, label: str, head: list[str], body: list[str]) -> list[str]:
    begin = [f"{_NEEDS} and \\usepackage{{booktabs}}", "\\begin{table}", "\\centering", caption, label]
    begin.append(f"\\begin{{tabular}}{shape}")
    return [*begin, *head, *body, "\\bottomrule", "\\end{tabular}", "\\end{table}", ""]


def _long(shape: str, caption: str, label: str, head: list[str], body: list[str]) -> list[str]:
    return [
        f"{_NEEDS}, \\usepackage{{booktabs}} and \\usepackage{{longtable}}",
        "\\begingroup\\footnotesize\\setlength{\\tabcolsep}{3pt}",
        f"\\begin{{longtable}}{shape}",
        f"{caption} {label} \\tabularnewline",
        *head,
        "\\endfirsthead",
        *head,
        "\\endhead",
        "\\bottomrule",
        "\\endfoot",
        *body,
        "\\end{longtable}",
        "\\endgroup",
        "",
    ]


def _prose(text: str) -> str:
    """Return a sentence; text between backquotes is code, whose double hyphens must not become a dash."""
    parts = (escape(part) for part in text.split("`"))
    return "".join(f"\\texttt{{{part.replace('--', '-{}-')}}}" if n % 2 else part for n, part in enumerate(parts))


def _column_groups(table: ReportTable) -> list[str]:
    if not table.column_groups:
        return []
    cells, rules, column = [""] * table.stubs, [], table.stubs + 1
    for heading, width in table.column_groups:
        cells.append(f"\\multicolumn{{{width}}}{{c}}{{{escape(heading)}}}")
        rules.append(f"\\cmidrule(lr){{{column}-{column + width - 1}}}")
        column += width
    return [_row(cells), "".join(rules)]


def _row_group(group: RowGroup, columns: int) -> list[str]:
    lines = []
    if group.heading:
        lines.append(f"\\multicolumn{{{columns}}}{{@{{}}l}}{{\\emph{{{escape(group.heading)}}}}} \\\\")
    for row in group.rows:
        lines.append(_row([_cell(cell) for cell in row]))
        # Small lines get rows of their own, so that the table needs no further package.
        for depth in range(max(len(cell.small) for cell in row)):
            small = (escape(typeset(cell.small[depth])) if depth < len(cell.small) else "" for cell in row)
            lines.append(_row([f"{{\\scriptsize {text}}}" if text else "" for text in small]))
    return lines


def _cell(cell: Cell) -> str:
    text = escape(typeset(cell.text))
    return (f"\\textbf{{{text}}}" if cell.bold else text) + escape(cell.marks)


def _row(cells: list[str]) -> str:
    # LaTeX would read a bracket at the start of a row as an option of the preceding line break.
    return " & ".join(cells) + " \\\\"


def _printable(letter: str) -> bool:
    # What T1 encodes: ASCII and Western European letters.
    return (
        " " <= letter <= "~" or "\N{INVERTED EXCLAMATION MARK}" <= letter <= "\N{LATIN SMALL LETTER Y WITH DIAERESIS}"
    )
