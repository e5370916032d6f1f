"""All cases by name, and how their digests are computed: the test and the update do the same."""

import contextlib
import functools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import quipukit as qk
from tests.frozen import adapters, inputs
from tests.frozen.digest import Digest, digests_of
from tests.frozen.experiments import (
    DEFAULT_PACK,
    EXPERIMENTS,
    LONG_EXPERIMENTS,
    arguments,
    default_pack_arguments,
    evaluated,
    tables_of,
)
from tests.frozen.functions import FUNCTIONS, LONG_FUNCTIONS, RESULT_FUNCTIONS, Fixed

DIGESTS = Path(__file__).with_name("digests.json")
SAVED = Path(__file__).parent.parent / "data" / "result_v1"
# The experiment that is also run on a cluster.
ON_CLUSTER = "two seeds, two systems"
SAVED_CASE = "a saved result of version 1"

QUICK = (*FUNCTIONS, SAVED_CASE)
HEAVY = (*EXPERIMENTS, *RESULT_FUNCTIONS)
SLOW = (*LONG_EXPERIMENTS, *LONG_FUNCTIONS, DEFAULT_PACK)
ALL = (*QUICK, *HEAVY, *SLOW)


@dataclass(frozen=True, eq=False)
class Cases:
    """The cases in a folder of their own; the collection is written there."""

    root: Path

    @property
    def folder(self) -> Path:
        return self.root / "village"

    def digests(self, name: str) -> dict[str, Digest]:
        """Compute the digests of a case."""
        functions = {**FUNCTIONS, **RESULT_FUNCTIONS, **LONG_FUNCTIONS}
        if name in functions:
            place = self.root / "written" / str([*functions].index(name))
            place.mkdir(parents=True)
            with self._own_cache():
                return digests_of(functions[name](Fixed(self.folder, self._result), place))
        return digests_of(tables_of(self._result(name)))

    def digests_on_dask(self, workers: int) -> dict[str, Digest]:
        """Compute the digests of one of the experiments with the help of a cluster."""
        with self._own_cache("cluster"):
            given = arguments(self.folder, **EXPERIMENTS[ON_CLUSTER](self.folder))
            return digests_of(tables_of(evaluated(given | adapters.on_dask(workers))))

    @functools.cache  # noqa: B019 (lives as long as the tests)
    def _result(self, name: str) -> qk.Result:
        if name == SAVED_CASE:
            return qk.Result.load(SAVED)
        if name == DEFAULT_PACK:  # with the cache of all tests, where the vectors are built once
            return evaluated(default_pack_arguments())
        changes: Any = {**EXPERIMENTS, **LONG_EXPERIMENTS}[name]
        with self._own_cache():
            return evaluated(arguments(self.folder, **changes(self.folder)))

    @contextlib.contextmanager
    def _own_cache(self, name: str = "cache") -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("QUIPUKIT_HOME", str(self.root / name))
            yield


@contextlib.contextmanager
def prepared(root: Path) -> Iterator[Cases]:
    """Write the input to a folder and install the encoders."""
    with adapters.encoders_without_models(root):
        cases = Cases(root)
        inputs.write_collection(cases.folder)
        yield cases


def frozen() -> dict[str, Any]:
    """Return the digests that were frozen, and the public names."""
    found: dict[str, Any] = json.loads(DIGESTS.read_text(encoding="utf-8"))
    return found
