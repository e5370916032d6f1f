"""The process that compiles kernels beside an experiment, or makes what it needs: when it runs, and that it ends."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="looks for child processes in /proc"),
]

_LOOK = """
import os
from pathlib import Path
from quipukit.cli.rehearsal import rehearsed
def children():
    return [pid for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()]
with rehearsed():
    inside = children()
    home = Path("/proc", inside[0], "environ").read_text().split("QUIPUKIT_HOME=")[1].split("\\0")[0] if inside else ""
print(len(inside), len(children()), home != os.environ["QUIPUKIT_HOME"], bool(home) and Path(home).exists())
from quipukit.attackers import fusion
print(fusion._binned.stats.cache_path)
"""


def _look(tmp_path, threads="2"):
    places = {"QUIPUKIT_HOME": str(tmp_path / "home"), "NUMBA_CACHE_DIR": str(tmp_path / "numba")}
    done = subprocess.run(
        [sys.executable, "-c", _LOOK],
        env={**os.environ, **places, "QUIPUKIT_THREADS": threads},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def test_it_runs_beside_what_is_done_in_a_home_of_its_own_and_ends_with_it(tmp_path):
    assert _look(tmp_path)[:4] == ["1", "0", "True", "False"]


def test_it_does_not_run_on_one_core(tmp_path):
    assert _look(tmp_path, threads="1")[0] == "0"


def test_where_kernels_are_compiled_it_fills_the_cache_that_the_experiment_uses(tmp_path):
    place = _look(tmp_path, threads="1")[-1]
    Path(place).mkdir(parents=True, exist_ok=True)
    (Path(place) / "fusion._binned-104.py311.nbi").touch()
    assert _look(tmp_path)[:3] == ["1", "0", "False"]


def test_it_makes_the_vectors_and_the_index_that_the_demo_needs(tmp_path, monkeypatch):
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path))
    from quipukit.cli.rehearsal import prepare
    from quipukit.collections.load import load_collection
    from quipukit.retrieval.bm25 import BM25
    from quipukit.vectors.sources import load_vectors

    assert not BM25.kept(load_collection("wordnet"))
    prepare()
    assert BM25.kept(load_collection("wordnet"))
    made = set(tmp_path.rglob("*"))
    load_vectors()
    assert set(tmp_path.rglob("*")) == made


def test_it_compiles_what_obfuscates_searches_and_attacks(tmp_path, monkeypatch):
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path))
    from quipukit.attackers import bags, fusion, maxsim, positional, ranks, ties
    from quipukit.bm25 import kernels as bm25
    from quipukit.cli.rehearsal import rehearse
    from quipukit.encoders import bag_kernel
    from quipukit.vectors import kernels

    rehearse(tmp_path)
    called = [kernels.scan, kernels.decide, bm25.top, bag_kernel.add_up, bags._sort, bags._keep_distinct]
    called += [fusion._binned, ties._highest, ranks._count, ranks._reaching, positional._align, maxsim._before]
    assert [kernel.py_func.__name__ for kernel in called if not kernel.signatures] == []
