"""A promise and a law speak for the class that states them, and for no subclass that sends something else."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from quipukit.attackers.laws import Laws
from quipukit.guarantees import NoGuarantee
from quipukit.mechanisms.base import Variants
from quipukit.mechanisms.changes import change_since
from quipukit.mechanisms.cover import Cover
from quipukit.mechanisms.decoys import Decoys
from quipukit.mechanisms.queryexp import QueryExp
from quipukit.mechanisms.sticky import StickyCover
from quipukit.obfuscation import obfuscate
from tests.covers.pools import partition, pool


@dataclass(frozen=True, kw_only=True)
class Renamed(Cover):
    name: ClassVar[str] = "Renamed"
    summary: ClassVar[str] = "another name for the same"


@dataclass(frozen=True, kw_only=True)
class First(Cover):
    """Sends what stands first."""

    def variants(self, query: str, n: int, rngs: Any) -> Variants:
        return Variants(self.cover.pool.texts[:2])


@dataclass(frozen=True, kw_only=True)
class Lawful(First):
    """Sends something else, too, and says by what law."""

    def query_law(self, candidates: Any) -> Any:
        return "a law"


@dataclass(frozen=True, kw_only=True)
class Steep(QueryExp):
    """Changes a part of what QueryExp computes."""

    name: ClassVar[str] = "Steep"

    def _log_probs(self, distances: Any) -> Any:
        return super()._log_probs(distances * 100)


@dataclass(frozen=True, kw_only=True)
class Only(QueryExp):
    """Changes what goes before it."""

    name: ClassVar[str] = "Only"

    def log_probs(self, query: str) -> Any:
        logs = np.full(len(self.cover.pool), -np.inf)
        logs[3] = 0.0
        return logs


def test_names_are_no_change_and_methods_are() -> None:
    assert change_since(Cover, "guarantee") == change_since(Renamed, "guarantee") == ""
    assert change_since(First, "guarantee") == change_since(First, "query_law") == "variants of Cover"
    assert change_since(StickyCover, "guarantee") == change_since(StickyCover, "query_law") == ""
    assert change_since(Lawful, "query_law") == "" and change_since(Lawful, "guarantee") == "variants of Cover"


@pytest.mark.parametrize(("cls", "holds"), [(Renamed, True), (First, False), (Lawful, False)])
def test_the_guarantee_of_a_cover(cls: type[Cover], holds: bool) -> None:
    assert isinstance(cls(k=10, cover=partition()).guarantee, NoGuarantee) is not holds


@pytest.mark.parametrize("cls", [Steep, Only])
def test_a_part_of_queryexp_that_is_changed_takes_its_guarantee(cls: type[QueryExp]) -> None:
    assert isinstance(cls(epsilon=5, cover=partition()).guarantee, NoGuarantee)


def test_two_settings_of_a_subclass_send_what_it_says() -> None:
    sent = obfuscate(["cat", "dog"], [Only(epsilon=value, cover=partition()) for value in (5.0, 20.0)], 3, seed=1)
    assert set(sent["query"]) == {pool().texts[3]}


def test_the_law_of_another_class_is_not_believed() -> None:
    laws = Laws(pool().texts, None)  # type: ignore[arg-type]  # none of them has words
    own = {"cover": partition()}
    assert laws.query_law(Renamed(k=10, **own)) is not None  # type: ignore[arg-type]
    assert laws.query_law(Lawful(k=10, **own)) == "a law"  # type: ignore[arg-type]
    assert laws.query_law(First(k=10, **own)) is None  # type: ignore[arg-type]
    assert laws.query_law(Steep(epsilon=5, **own)) is None  # type: ignore[arg-type]
    assert laws.query_law(Decoys(k=10, **own)) is not None  # type: ignore[arg-type]
