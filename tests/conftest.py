"""What every test stands on: a cache of its own, no network, and the data beside the checkout if present."""

import gc
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import settings

from tests.examples import USUAL

# What `pytest --quick` (and so `make quick`) leaves out: whole experiments, pages and figures, real models, processes,
# laws of probability. Single tests elsewhere are left out by the marker `heavy`.
HEAVY = (
    "browser",
    "comparison",
    "executors",
    "experiment",
    "frozen",
    "identification",
    "pyterrier",
    "recommend",
    "report",
    "results",
    "statistical",
    "testing",
    "web",
    "attackers/test_bayes.py",
    "attackers/test_fusion.py",
    "attackers/test_lexical.py",
    "attackers/test_published.py",
    "attackers/test_scratch.py",
    "attackers/test_style.py",
    "attackers/test_support.py",
    "attackers/test_words.py",
    "auditing/test_joint.py",
    "auditing/test_run.py",
    "cli/test_audit.py",
    "cli/test_identify.py",
    "cli/test_recommend_compare.py",
    "cli/test_report.py",
    "cli/test_search.py",
    "cli/test_search_side.py",
    "collections/test_wordnet_glosses.py",
    "encoders/test_distributed.py",
    "encoders/test_minilm.py",
    "encoders/test_recipes.py",
    "encoders/test_static.py",
    "encoders/test_store.py",
    "measures/test_bootstrap.py",
    "measures/test_growth.py",
    "measures/test_intervals.py",
    "measures/test_metrics.py",
    "measures/test_resampling.py",
    "mechanisms/test_aea.py",
    "mechanisms/test_plugins.py",
    "retrieval/test_dense.py",
    "retrieval/test_engine.py",
    "retrieval/test_saved.py",
    "search/test_conclusions.py",
    "search/test_leaks.py",
    "search/test_mcp_server.py",
    "search/test_private.py",
    "search/test_same_utility.py",
    "search/test_system.py",
    "test_common_noise.py",
    "test_cost_cliffs.py",
    "test_contributor.py",
    "test_examples.py",
    "test_stat_checks.py",
    "test_trust_boundary.py",
    "vectors/test_default_pack.py",
    "vectors/test_wordfilter.py",
)

# Files that load MiniLM: one process runs them all, because to import torch and transformers takes seconds.
WITH_MODEL = (
    "tests/cli/test_search_side.py",
    "tests/encoders/test_load.py",
    "tests/encoders/test_minilm.py",
    "tests/encoders/test_network.py",
    "tests/encoders/test_recipes.py",
    "tests/experiment/test_evaluate.py",
    "tests/measures/test_similarity.py",
    "tests/retrieval/test_dense.py",
    "tests/search/test_leaks.py",
    "tests/search/test_private.py",
    "tests/test_docs.py",
    "tests/test_examples.py",
)

collect_ignore = ["experiment/warm.py"]  # takes seconds to import, for processes of their own

TESTS = Path(__file__).resolve().parent
HEAVY_PATHS = frozenset(TESTS / name for name in HEAVY)
PROJECT_ROOT = TESTS.parent
SHARED_DATA = PROJECT_ROOT.parent / "shared" / "data"

# Set on import, not in a fixture: modules may look at the environment while they are collected, and child
# processes inherit it. The folder outlives the run, so that the default vectors are built once per checkout.
os.environ["QUIPUKIT_HOME"] = str(PROJECT_ROOT / ".cache" / "quipukit-test")
# Beside that folder, as it must be, and not in the user's own.
os.environ["QUIPUKIT_SECRET_FILE"] = str(PROJECT_ROOT / ".cache" / "quipukit-test.key")
# An accidental download fails at once instead of passing on a machine that happens to have the network.
os.environ["HF_HUB_OFFLINE"] = "1"
# Tables and help pages look the same in a terminal, in a pipe and in CI.
os.environ["COLUMNS"] = "120"
os.environ["NO_COLOR"] = "1"
os.environ.pop("FORCE_COLOR", None)

# Processes that share the cores take one each: with more threads than cores, BLAS and OpenMP mostly wait.
if "PYTEST_XDIST_WORKER" in os.environ:
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")

# No deadline: the first call of a kernel compiles it.
settings.register_profile("local", deadline=None, max_examples=USUAL)
settings.register_profile("ci", deadline=None, max_examples=USUAL, derandomize=True, print_blob=True)
settings.register_profile("trust", deadline=None, max_examples=1000)
settings.register_profile("quick", deadline=None, max_examples=20)
settings.load_profile("ci" if os.environ.get("CI") else "local")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="leave out what takes long; see tests/conftest.py")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--quick"):
        settings.load_profile("quick")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return True if config.getoption("--quick") and collection_path in HEAVY_PATHS else None


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    # Examples in docstrings are for src: to look for them in every object of every test takes seconds.
    return [one for one in (yield) if not isinstance(one, DoctestModule)]


def _is_heavy(path: Path) -> bool:
    return path in HEAVY_PATHS or any(folder in HEAVY_PATHS for folder in path.parents)


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    # Processes that share the tests end together only if what takes long is not left for last.
    items.sort(key=lambda item: not _is_heavy(item.path))
    if config.getoption("--quick"):
        left_out = [item for item in items if any(map(item.get_closest_marker, ("heavy", "serial")))]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    gc.disable()  # what is collected stays, and garbage is looked for once, at the end
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give a file to one process as a whole, and those that load a model to the same one."""
    from xdist.scheduler import LoadFileScheduling

    class ByFile(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file: str = super()._split_scope(nodeid)
            return "with a model" if file in WITH_MODEL else file

    return ByFile(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_collection_finish() -> None:
    # Thousands of tests and their modules stay until the end: no need to search them for garbage again and again.
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def project_root() -> Path:
    """The root of the checkout."""
    return PROJECT_ROOT


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Public collections and published files in `../shared/data`; skips the test where they are absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip("needs the public test data in ../shared/data, beside the checkout; the folder is absent")
    return SHARED_DATA
