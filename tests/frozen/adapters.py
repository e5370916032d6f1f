"""Where these tests touch what may get another name: one function for each, so that a change is made in one place."""

import contextlib
import functools
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import quipukit as qk
from quipukit.encoders.sentence import SentenceEncoder
from tests.frozen.inputs import SimilarityEncoder

_ENTRY_POINTS = """\
[quipukit.encoders]
frozen-user = tests.frozen.inputs:UserEncoder
frozen-search = tests.frozen.inputs:SearchEncoder
"""


@contextlib.contextmanager
def encoders_without_models(folder: Path) -> Iterator[None]:
    """Install the encoders of `inputs` under their names, as a package would, and put one in MiniLM's place."""
    package = folder / "plugins" / "frozen_encoders-1.dist-info"
    package.mkdir(parents=True)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: frozen-encoders\nVersion: 1\n", encoding="utf-8")
    (package / "entry_points.txt").write_text(_ENTRY_POINTS, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(package.parent)
        patch.setattr(SentenceEncoder, "minilm", classmethod(lambda cls, **options: SimilarityEncoder()))
        _forget_encoders()
        yield
    _forget_encoders()


def _forget_encoders() -> None:
    """Clear what was remembered about encoders by name."""
    for name, module in list(sys.modules.items()):
        if name.startswith(("quipukit.encoders", "quipukit.experiment", "quipukit.plugins", "quipukit.registry")):
            for thing in vars(module).values():
                if isinstance(thing, functools._lru_cache_wrapper):
                    thing.cache_clear()


def on_dask(workers: int) -> dict[str, Any]:
    """Return the argument of `qk.evaluate` that hands the work to processes of a Dask cluster on this machine."""
    from quipukit.executors import Dask

    return {"executor": Dask(workers=workers)}


def legacy_points(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table by attacker in the shape of version 1: ``attacker`` is lazy, active or motivated.

    Another attacker than QuIA stands before that. Later versions have the attacker's name in that column, and lazy,
    active or motivated in a column ``persona``.
    """
    if "persona" not in frame.columns:
        return frame
    named = [
        persona if attacker == "QuIA" else f"{attacker} {persona}"
        for attacker, persona in zip(frame["attacker"], frame["persona"], strict=True)
    ]
    return frame.assign(attacker=named).drop(columns="persona")


def recommended(result: qk.Result, persona: str, **wishes: Any) -> Any:
    """Return what a result recommends against a lazy, active or motivated attacker."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return result.recommend(attacker=persona, **wishes)
