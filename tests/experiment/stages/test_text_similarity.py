"""Sentence similarity is that of one model; a run with static word vectors needs no model at all."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from quipukit.encoders.load import load_encoder
from quipukit.experiment.stages.text_similarity import similarity_encoder
from quipukit.measures.similarity import similarity
from tests.experiment import tiny

STATIC = {"encoder": "static", "systems": (("bm25", "static"),)}


def test_the_encoder_of_a_static_run_is_its_own(village: Path) -> None:
    static = load_encoder("static")
    assert similarity_encoder(static) is static
    assert similarity_encoder(load_encoder("attacker")).name == "meaning"


@pytest.mark.heavy
def test_a_static_run_is_compared_by_its_own_encoder(village: Path, tmp_path: Path) -> None:
    result = tiny.run(village, tmp_path / "static", **STATIC)
    measured = result.settings.set_index(["mechanism", "value"])["sentence_similarity"]
    expected = similarity(result.obfuscated, result.queries, "static").set_index(["mechanism", "value"])
    assert np.allclose(measured, expected["sentence_similarity"].reindex(measured.index), atol=1e-12)
    usual = tiny.run(village, tmp_path / "usual").settings["sentence_similarity"]
    assert not np.allclose(usual, measured.to_numpy(), atol=1e-3)


@pytest.mark.slow
def test_a_static_run_never_loads_torch(tmp_path: Path) -> None:
    """With Cover, too, which divides a pool that comes with no partition."""
    place = tiny.write_collection(tmp_path / "village")
    code = f"""
import sys
import quipukit as qk
qk.evaluate({str(place)!r}, ["CMP@5", "Cover@5"], 3, log={str(place / "log.txt")!r}, pool="completed", depth=4,
            systems=[("bm25", "static")], encoder="static", attackers="panel", progress=False)
assert "torch" not in sys.modules
"""
    environment = {"QUIPUKIT_HOME": str(tmp_path / "home"), "PATH": "", "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
