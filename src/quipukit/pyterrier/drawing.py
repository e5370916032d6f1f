"""Schematics of the transformers inside another one, also where there is no network."""

from typing import Any

import pyterrier as pt


def drawn(transformer: pt.Transformer) -> dict[str, Any]:
    """Return the schematic of a transformer; a plain box where PyTerrier cannot look up the address of its page.

    PyTerrier reads the list of its documentation from the network for every class that names no page of its own, and
    draws nothing at all where that fails.
    """
    try:
        return dict(pt.schematic.transformer_schematic(transformer))
    except OSError:
        columns = pt.inspect.transformer_inputs(transformer, strict=False) or [["qid", "query"]]
        return {
            "type": "transformer",
            "label": type(transformer).__name__,
            "name": type(transformer).__name__,
            "settings": {},
            "help_url": "",
            "input_columns": columns[0],
            "output_columns": pt.inspect.transformer_outputs(transformer, columns[0], strict=False),
        }
