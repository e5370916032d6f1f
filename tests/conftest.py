"""What every test stands on: a cache of its own, no network, and the data beside the checkout if present."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

PROJECT_ROOT = Path(__file__).resolve().parent.parent
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

# No deadline: the first call of a kernel compiles it.
settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("trust", deadline=None, max_examples=1000)
settings.load_profile("ci" if os.environ.get("CI") else "local")


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
