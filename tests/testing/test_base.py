"""A condition that does not hold is an AssertionError with its reason, with and without optimization."""

import subprocess
import sys

import pytest

from quipukit.testing.base import require


def test_a_reason_is_given():
    require(True, "never")
    with pytest.raises(AssertionError, match="because of this"):
        require(False, "because of this")


@pytest.mark.slow
def test_it_holds_where_python_drops_assertions():
    code = "from quipukit.testing.base import require; require(False, 'because of this')"
    done = subprocess.run([sys.executable, "-O", "-c", code], capture_output=True, text=True)
    assert done.returncode == 1 and "because of this" in done.stderr
