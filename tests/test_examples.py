"""Every file in examples/ runs."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).resolve().parent.parent / "examples").glob("*.py"))
# What each prints, so that one that ends early is noticed.
SHOWN = {
    "quickstart.py": ("utility", "nDCG@10", "risk", "P@1"),
    "own_attacker.py": ("QuIA", "RareWords", "R@10"),
    "own_mechanism.py": ("Dropout", "0.75", "the user's own"),
    "published_files.py": ("R@2", "sentence_similarity", "CMP"),
}


def test_there_are_examples() -> None:
    assert set(SHOWN) <= {path.name for path in EXAMPLES}


@pytest.mark.heavy
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_runs(path: Path, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, str(path)], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert all(word in done.stdout for word in SHOWN.get(path.name, ())), done.stdout
    assert not list(tmp_path.iterdir()), "an example leaves nothing behind"
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 65, "an example is read in one go"
