"""SHA256SUMS: a report replaces the one before, and nothing else."""

import hashlib
from pathlib import Path

from quipukit.report.write import write_report
from tests.example_results import make_result
from tests.report.pages import digests
from tests.report.results import SMALL, only


def test_a_report_replaces_the_one_before_and_nothing_else(tmp_path: Path) -> None:
    out = tmp_path / "report"
    few = {"CMP": (1.0, 10.0), "Identity": (0.0,)}
    one, other = (only(make_result(name=name, judged=False), few) for name in ("one", "other"))
    write_report([one, other], out, formats=("svg",))
    before = set(digests(out))
    assert {"figures/parameter-other.svg", "tables/points-other.csv"} <= before
    (out / "notes.txt").write_text("mine")
    (out / "figures" / "drawn-by-hand.svg").write_text("mine too")
    edited = next(path for path in (out / "tables").glob("points*other*.tex"))
    edited.write_text(edited.read_text() + "% corrected by hand\n")
    write_report([one], out, formats=("png",))
    fresh = tmp_path / "fresh"
    write_report([one], fresh, formats=("png",))
    mine = {"notes.txt", "figures/drawn-by-hand.svg", str(edited.relative_to(out))}
    assert set(digests(out)) == set(digests(fresh)) | mine
    assert {name: own for name, own in digests(out).items() if name not in mine} == digests(fresh)


def test_a_list_of_files_cannot_reach_outside(tmp_path: Path) -> None:
    out, other = tmp_path / "report", tmp_path / "precious.csv"
    other.write_text("mine")
    out.mkdir()
    digest = hashlib.sha256(b"mine").hexdigest()
    (out / "SHA256SUMS").write_text(f"{digest}  ../precious.csv\n{digest}  {other}\nnonsense\n")
    write_report([only(make_result(judged=False), SMALL)], out, formats=())
    assert other.read_text() == "mine"
