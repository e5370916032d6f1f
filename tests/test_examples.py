"""Every file in examples/ runs."""

import runpy
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
def test_an_example_runs(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # In this process, for a new one spends most of its time on loading torch.
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [str(path)])
    runpy.run_path(str(path), run_name="__main__")
    printed = capsys.readouterr().out
    assert all(word in printed for word in SHOWN.get(path.name, ())), printed
    assert not list(tmp_path.iterdir()), "an example leaves nothing behind"
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 65, "an example is read in one go"
