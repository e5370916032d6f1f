"""Compiled code is kept beside the source; where it cannot be, in our own cache instead of not at all."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import quipukit
from quipukit.jit import fixed, numba

CODE = """
from quipukit.jit import numba
from quipukit.bm25 import kernels
print(numba.config.CACHE_DIR)
"""


@pytest.mark.heavy
@pytest.mark.parametrize("writable", [True, False])
def test_a_package_that_cannot_be_written_is_compiled_into_our_cache(tmp_path, writable):
    package = shutil.copytree(
        Path(quipukit.__file__).parent, tmp_path / "lib" / "quipukit", ignore=shutil.ignore_patterns("__pycache__")
    )
    (tmp_path / "file").write_text("")
    if not writable:  # a file of that name stops even an administrator
        for folder in (package, package / "bm25"):
            (folder / "__pycache__").write_text("")
    environment = {
        **{name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"},
        "PYTHONPATH": str(tmp_path / "lib"),
        "QUIPUKIT_HOME": str(tmp_path / "home"),
        "HOME": str(tmp_path / "file"),
        "XDG_CACHE_HOME": str(tmp_path / "file"),
    }
    done = subprocess.run([sys.executable, "-c", CODE], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == ("" if writable else str(tmp_path / "home" / "numba"))


def test_arrays_that_can_be_written_and_memory_maps_are_one_type_to_numba(tmp_path):
    own = np.arange(6.0).reshape(2, 3)
    np.save(tmp_path / "kept.npy", own)
    mapped = np.load(tmp_path / "kept.npy", mmap_mode="r")
    assert numba.typeof(own) != numba.typeof(fixed(own)) == numba.typeof(fixed(mapped))
    assert np.shares_memory(fixed(own), own) and own.flags.writeable
    assert type(fixed(mapped)) is np.ndarray
