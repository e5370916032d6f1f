"""A Sheet as LaTeX: a table with booktabs, and one that may be longer than a page with longtable."""

from quipukit.report.table_model import Cell, Section, Sheet, typeset

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


_PAGE = 40  # lines of a table that fit on a page together with its caption
_NEEDS = "% needs \\usepackage[T1]{fontenc}, \\usepackage{textcomp}"


def escape(text: str) -> str:
    r"""Return a text that LaTeX prints as it is; a character that no common font has becomes a question mark.

    >>> escape("100 % of $x_i$")
    '100 \\% of \\$x\\_i\\$'
    """
    return "".join(_ESCAPES.get(letter) or (letter if _printable(letter) else "?") for letter in text)


def latex(sheet: Sheet) -> str:
    """Return the sheet as a table with booktabs; one of more lines than a page holds breaks over pages (longtable)."""
    columns = len(sheet.headings)
    shape = "".join("l" if n < sheet.stubs or n in sheet.texts else "r" for n in range(columns))
    body: list[str] = []
    for number, section in enumerate(sheet.sections):
        if number:
            body.append("\\addlinespace")
        body += _section(section, columns)
    head = ["\\toprule", *_groups(sheet), _row([escape(heading) for heading in sheet.headings]), "\\midrule"]
    caption = f"\\caption{{{_prose(sheet.caption or sheet.title)}}}"
    label = f"\\label{{tab:{sheet.name.replace('_', '-')}}}"
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
    """Return a sentence; what stands between backquotes is code, whose hyphens must not become a dash."""
    parts = (escape(part) for part in text.split("`"))
    return "".join(f"\\texttt{{{part.replace('--', '-{}-')}}}" if n % 2 else part for n, part in enumerate(parts))


def _groups(sheet: Sheet) -> list[str]:
    if not sheet.groups:
        return []
    cells, rules, column = [""] * sheet.stubs, [], sheet.stubs + 1
    for heading, width in sheet.groups:
        cells.append(f"\\multicolumn{{{width}}}{{c}}{{{escape(heading)}}}")
        rules.append(f"\\cmidrule(lr){{{column}-{column + width - 1}}}")
        column += width
    return [_row(cells), "".join(rules)]


def _section(section: Section, columns: int) -> list[str]:
    lines = []
    if section.heading:
        lines.append(f"\\multicolumn{{{columns}}}{{@{{}}l}}{{\\emph{{{escape(section.heading)}}}}} \\\\")
    for row in section.rows:
        lines.append(_row([_cell(cell) for cell in row]))
        # Small lines stand in rows of their own, so that the table needs no further package.
        for depth in range(max(len(cell.small) for cell in row)):
            small = (escape(typeset(cell.small[depth])) if depth < len(cell.small) else "" for cell in row)
            lines.append(_row([f"{{\\scriptsize {text}}}" if text else "" for text in small]))
    return lines


def _cell(cell: Cell) -> str:
    text = escape(typeset(cell.text))
    return (f"\\textbf{{{text}}}" if cell.bold else text) + escape(cell.marks)


def _row(cells: list[str]) -> str:
    # A row that begins with a bracket would be read as an option of the line break before it.
    return " & ".join(cells) + " \\\\"


def _printable(letter: str) -> bool:
    # What T1 encodes: ASCII and the letters of western Europe.
    return (
        " " <= letter <= "~" or "\N{INVERTED EXCLAMATION MARK}" <= letter <= "\N{LATIN SMALL LETTER Y WITH DIAERESIS}"
    )
