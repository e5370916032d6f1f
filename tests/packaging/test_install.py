"""Wheel, source distribution and the oldest allowed versions: installed outside the tree, and tried."""

import re
import subprocess
import sys

import pytest

from tests.packaging.install import ROOT, downloaded, oldest


def test_the_oldest_versions_are_those_of_the_project_file():
    assert "numpy==2.0" in oldest() and all("==" in one for one in oldest())


def test_downloads_are_added_up_without_metadata():
    printed = "  Downloading a-1.whl (1.5 MB)\nDownloading b-2.whl.metadata (9.0 MB)\n  Downloading c.tar.gz (500 kB)\n"
    assert downloaded(printed) == pytest.approx(2.0)


@pytest.mark.slow
@pytest.mark.serial
@pytest.mark.parametrize("kind", ["slim", "oldest", "sdist"])
def test_an_installation_outside_the_tree_works(kind):
    done = subprocess.run(
        [sys.executable, "-m", "tests.packaging.install", kind], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)
    assert re.search(r"works without torch, .* MB downloaded", done.stdout)
