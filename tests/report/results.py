"""Results for the tests of the report: hostile texts, fewer settings, curves worked out by hand."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd

from quipukit.results import Result
from tests.example_results import make_result

HOSTILE = (
    "<script>alert('x')</script></script> \"quoted\" $x_1$ 100 % \\ & {{ 7 * 7 }} <!-- \N{GRINNING FACE} \u2028 end"
)


def hostile_result() -> Result:
    """Return a result whose texts and name try to break out of wherever they are put."""
    result = make_result(queries=6, name="odd_100%<b>$x$\N{GRINNING FACE}")
    odd = {
        name: frame.assign(query=[f"{HOSTILE} {number}" for number in range(len(frame))])
        for name, frame in (
            ("queries", result.queries),
            ("obfuscated", result.obfuscated),
            ("guesses", result.guesses),
        )
    }
    return replace(result, **odd)


def renamed(result: Result, names: Mapping[str, str]) -> Result:
    """Return the result with other names for its mechanisms."""
    frames = {
        field: getattr(result, field).replace({"mechanism": dict(names)})
        for field in ("settings", "obfuscated", "ranks", "scores", "guesses", "notes")
    }
    return replace(result, **frames)


def only(result: Result, settings: Mapping[str, Sequence[float]]) -> Result:
    """Return the result with these values of these mechanisms alone."""

    def chosen(frame: pd.DataFrame) -> pd.DataFrame:
        pairs = zip(frame["mechanism"], frame["value"], strict=True)
        wanted = pd.Series([value in settings.get(name, ()) for name, value in pairs], frame.index, dtype=bool)
        return frame[wanted].reset_index(drop=True)

    fields = ("settings", "obfuscated", "ranks", "scores", "guesses", "notes")
    return replace(result, **{field: chosen(getattr(result, field)) for field in fields})


def with_similarity(result: Result, mechanism: str, similarities: Sequence[float]) -> Result:
    """Return the result with other sentence similarities for a mechanism, in the order of its settings."""
    settings = result.settings.copy()
    settings.loc[settings["mechanism"] == mechanism, "sentence_similarity"] = list(similarities)
    return replace(result, settings=settings)
