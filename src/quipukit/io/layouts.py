"""The layouts in which other projects publish obfuscated queries: read by their columns, in any order, and written.

All of them hold the original in the column ``text`` beside what was made of it: such a file belongs to the evaluation,
on the user's side, and is never what is sent.

| layout | columns |
|---|---|
| ``pypantera``, and the files of QuIPU | id, text, obfuscatedText, mechanism, epsilon (or level) |
| ``dp-comet`` | id, text, obfuscatedText, epsilon, mechanism |
| ``geco`` | query_id, text, obfuscatedText, mechanism, epsilon, and how GECO made the text |
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd

from quipukit.errors import FileError, InputError
from quipukit.frames import OBFUSCATED, QUERIES, SETTING, Queries, queries_frame
from quipukit.io.tables import FORMATS, ID_COLUMNS, Pathish, as_table, check_cells, check_finite, write_table
from quipukit.specs import format_value
from quipukit.text import key

OWN = "quipukit"
_PARAMETER = ""  # where the column of the parameter stands, which has the parameter's name
LAYOUTS = {
    "pypantera": ("id", "text", "obfuscatedText", "mechanism", _PARAMETER),
    "dp-comet": ("id", "text", "obfuscatedText", _PARAMETER, "mechanism"),
    "geco": ("query_id", "text", "obfuscatedText", "mechanism", _PARAMETER),
}
PARAMETERS = ("epsilon", "level", "window")
_NEEDED = ("text", "obfuscatedText", "mechanism")


def check_layout(name: str) -> None:
    """Refuse a layout that is not known."""
    if name not in (OWN, *LAYOUTS):
        known = ", ".join((OWN, *LAYOUTS))
        raise InputError(f"layout must be one of {known} (found {name!r}).", argument="layout")


def is_foreign(frame: pd.DataFrame) -> bool:
    """Return whether a table that was read has one of the layouts here."""
    return "obfuscatedText" in frame.columns


def from_foreign(path: Path, frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return obfuscated queries and originals from a table in any of the layouts; other columns are left out."""
    ids = [name for name in ("id", "query_id", "qid") if name in frame.columns]
    missing = [name for name in _NEEDED if name not in frame.columns]
    parameter = next((name for name in PARAMETERS if name in frame.columns), None)
    if not ids or missing or parameter is None:
        wanted = "id" if not ids else missing[0] if missing else "epsilon' or 'level"
        raise FileError(
            f"{path}: column '{wanted}' is missing; the published layouts have id or query_id, {', '.join(_NEEDED)}, "
            "and epsilon or level."
        )
    if len(ids) > 1:
        raise FileError(f"{path}: columns {' and '.join(map(repr, ids))} both name an id; keep one of them.")
    check_cells(path, frame, {ids[0]: "text", **dict.fromkeys(_NEEDED, "text"), parameter: "number"})
    check_finite(path, frame, parameter)
    settings: dict[str, Any] = {"mechanism": frame["mechanism"], "parameter": parameter, "value": frame[parameter]}
    rows = pd.DataFrame({"qid": frame[ids[0]], "query": frame["obfuscatedText"], **settings, "variant": 0})
    if "noise" in frame.columns:
        rows["noise"] = frame["noise"]
    obfuscated = as_table(path, lambda: OBFUSCATED.typed(rows))  # where 1 and "1" are one id, and 5 and 5.0 one value
    obfuscated["variant"] = obfuscated.groupby([*SETTING, "qid"]).cumcount()
    originals = frame[[ids[0], "text"]].set_axis(["qid", "query"], axis=1)
    return obfuscated, as_table(path, lambda: QUERIES.typed(one_spelling(originals.drop_duplicates())))


def one_spelling(originals: pd.DataFrame) -> pd.DataFrame:
    """Keep one row of those that have the same id and are the same query: files differ in case and white space.

    >>> rows = pd.DataFrame({"qid": ["1", "1", "2"], "query": ["Iron in humans", "iron in  humans", "iron"]})
    >>> one_spelling(rows)["query"].tolist()
    ['Iron in humans', 'iron']
    """
    texts = [key(text) if isinstance(text, str) else text for text in originals["query"]]
    same = pd.DataFrame({"qid": originals["qid"].astype(str).to_numpy(), "key": texts}).duplicated()
    return originals[~same.to_numpy()]


def write_foreign(obfuscated: pd.DataFrame, path: Pathish, layout: str, queries: "Queries | None") -> None:
    """Write obfuscated queries with their originals in a layout of others.

    A path with the ending of a table is one file; any other is a folder, with ``MECHANISM/obfuscatedText_MECHANISM_
    VALUE.csv`` for every setting, as those projects publish them. Columns that only say how GECO made its texts are
    not written.
    """
    check_layout(layout)
    if queries is None:
        raise InputError(f"the layout {layout!r} holds the originals; give them as queries=TABLE.", argument="queries")
    table = OBFUSCATED.check(obfuscated)
    asked = queries_frame(queries)
    texts = dict(zip(asked["qid"], asked["query"], strict=True))
    unknown = sorted(set(table["qid"]) - set(texts))
    if unknown:
        raise InputError(
            f"{len(unknown)} obfuscated queries have no original (first: {', '.join(unknown[:3])}); give the originals "
            "of all.",
            argument="queries",
        )
    _refuse_parameters(table, layout)
    path = Path(path)
    if path.suffix in FORMATS:
        named = table["parameter"].unique().tolist()
        if len(named) > 1:
            raise InputError(
                f"{path}: a file of this layout has one parameter, not {' and '.join(named)}; name a folder."
            )
        write_table(_arranged(table, texts, layout), path)
        return
    for name, own in _files(table):
        place = path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        write_table(_arranged(own, texts, layout), place)


def _refuse_parameters(table: pd.DataFrame, layout: str) -> None:
    for mechanism, parameter in table[["mechanism", "parameter"]].drop_duplicates().itertuples(index=False):
        if parameter not in PARAMETERS:
            what = f"its parameter is {parameter!r}" if parameter else "it has no parameter"
            raise InputError(
                f"the layout {layout!r} cannot hold {mechanism}: {what}, and it has epsilon or level; write the layout "
                "'quipukit'.",
                argument="layout",
            )


def _files(table: pd.DataFrame) -> Iterator[tuple[Path, pd.DataFrame]]:
    names: set[str] = set()
    for (mechanism, _, value), own in table.groupby(list(SETTING), sort=False, observed=True):
        family = quote(str(mechanism), safe="+=(),")
        place = Path(family, f"obfuscatedText_{family}_{format_value(float(value))}.csv")
        if str(place).casefold() in names or family.startswith("."):
            raise InputError("two settings would have the same file name, or a hidden one; write one file instead.")
        names.add(str(place).casefold())
        yield place, own


def _arranged(table: pd.DataFrame, texts: dict[str, str], layout: str) -> pd.DataFrame:
    parameter = str(table["parameter"].iloc[0]) if len(table) else PARAMETERS[0]
    cells: dict[str, Iterable[Any]] = {
        "text": [texts[qid] for qid in table["qid"]],
        "obfuscatedText": table["query"].to_numpy(),
        "mechanism": table["mechanism"].to_numpy(),
        _PARAMETER: [format_value(value) for value in table["value"]],
    }
    columns = {
        name or parameter: table["qid"].to_numpy() if name in ID_COLUMNS else cells[name] for name in LAYOUTS[layout]
    }
    return pd.DataFrame(columns)
