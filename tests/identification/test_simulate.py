"""Simulated files: kept in the cache, and plugins as far as they can be simulated."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from quipukit.guarantees import Guarantee, NoGuarantee
from quipukit.identification.features import FEATURES, OWN_FEATURES
from quipukit.identification.reader import Reader
from quipukit.identification.simulate import LEVELS, simulate
from quipukit.identification.worlds import make_worlds
from quipukit.mechanisms.base import QueryMechanism, Variants
from quipukit.plugins import temporarily_installed
from quipukit.specs import spec
from quipukit.wordnet.database import load_wordnet
from tests.identification.toys import log, vectors


@dataclass(frozen=True, kw_only=True)
class Reversed(QueryMechanism):
    """Send the words in reverse."""

    name: ClassVar[str] = "Reversed"
    summary: ClassVar[str] = "the words in reverse"
    strategy: ClassVar[str] = "heuristic"

    @property
    def guarantee(self) -> Guarantee:
        return NoGuarantee("it is a permutation")

    def variants(self, query, n, rngs):  # type: ignore[no-untyped-def]
        return Variants([" ".join(reversed(query.split()))] * n)


@dataclass(frozen=True, kw_only=True)
class Broken(Reversed):
    name: ClassVar[str] = "Broken"

    def variants(self, query, n, rngs):  # type: ignore[no-untyped-def]
        raise RuntimeError("out of order")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path))
    return tmp_path


def test_features_are_kept_and_the_same_when_read_again(home: Path) -> None:
    own = vectors()
    worlds, reader = make_worlds(log(), own, 6, 1), Reader(own, load_wordnet())
    families = {"CMP": [spec("CMP@2"), spec("CMP@50")], "Identity": [spec("Identity")]}
    first = simulate(families, worlds, reader)
    assert first.blocks[LEVELS[0]][0].shape == (3, 6, len(FEATURES) + len(OWN_FEATURES))
    kept = sorted((home / "identify").glob("*.npy"))
    assert len(kept) == 4, "one for each mechanism and world"
    kept[0].write_bytes(b"damaged")
    again = simulate(families, worlds, reader)
    for level in LEVELS:
        for one, other in zip(first.blocks[level], again.blocks[level], strict=True):
            np.testing.assert_array_equal(one, other)
    assert kept[0].stat().st_size > 100, "what was damaged is there again"


def test_plugins_are_simulated_and_what_fails_is_left_out_with_the_reason() -> None:
    own = vectors()
    worlds, reader = make_worlds(log(), own, 6, 1), Reader(own, load_wordnet())
    with temporarily_installed("quipukit.mechanisms", Reversed=Reversed, Broken=Broken):
        families = {name: [spec(name)] for name in ("Identity", "Reversed", "Broken")}
        made = simulate(families, worlds, reader)
    assert [one.name for one in made.settings] == ["Identity", "Reversed"]
    assert list(made.left_out) == ["Broken"]
    assert "the mechanism 'Broken'" in made.left_out["Broken"] and "raised RuntimeError" in made.left_out["Broken"]
    repeats = made.blocks[LEVELS[0]][0][..., FEATURES.index("repeats")]
    np.testing.assert_array_equal(repeats, np.ones((2, 6)))
