"""The whole report: its files, the same bytes twice, and unusual results."""

from dataclasses import replace
from pathlib import Path

import pytest

from quipukit.errors import FileError, InputError
from quipukit.report.write import Report, write_report
from tests.example_results import make_result
from tests.report.pages import digests, own_part, write
from tests.report.results import SMALL, only

TABLE_NAMES = ("table1", "references", "companions", "points", "need", "formal", "radar", "equal_privacy")


def test_files_and_equal_bytes(tmp_path: Path) -> None:
    shown: list[tuple[float, float]] = []
    result = only(make_result(), SMALL)
    # One format is enough here: test_drawing.py compares the files of a figure in all of them.
    path = write_report(
        [result], tmp_path / "one", formats=("svg",), progress=lambda done, total: shown.append((done, total))
    )
    assert path == tmp_path / "one" / "report.html"
    write_report([replace(result)], tmp_path / "two", formats=("svg",))
    first, second = digests(tmp_path / "one"), digests(tmp_path / "two")
    assert first == second
    figures = [*(f"{kind}-{who}" for kind in ("plane", "panels") for who in ("lazy", "active", "motivated"))]
    assert set(first) == {
        "report.html",
        "SHA256SUMS",
        *(f"figures/{name}.svg" for name in (*figures, "frontier", "parameter", "radar")),
        *(f"tables/{name}.{kind}" for name in (*TABLE_NAMES, "frontier", "equal_risk") for kind in ("csv", "tex")),
        "tables/comparisons.csv",
    }
    assert all(0 <= done <= total for done, total in shown) and shown[-1][0] == shown[-1][1]


def test_an_interrupted_report_leaves_the_one_before(tmp_path: Path) -> None:
    """Stopped at any part: no mixture of two reports, nothing half-written, and the next one knows what to clear."""
    # Without judgments a result has one figure; two of them have one before the stop and one after it.
    few = {"CMP": (1.0, 10.0), "Identity": (0.0,)}
    one, other = (only(make_result(name=name, judged=False), few) for name in ("one", "other"))
    write_report([one], tmp_path, formats=("svg",))

    def contents() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    before = contents()
    later = Report([one, other])
    for part in (2, 3):  # before the first figure, and after it

        def stop(done: float, total: float, part: int = part) -> None:
            if done == part:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            later.write(tmp_path, formats=("png",), progress=stop)
        assert contents() == before and not list(tmp_path.glob(".draft-*"))
    later.write(tmp_path, formats=())
    assert not list((tmp_path / "figures").glob("*"))


def test_without_judgments_risk_alone(tmp_path: Path) -> None:
    page = write(only(make_result(judged=False), SMALL), tmp_path, formats=("svg", "png"))
    assert "no relevance judgments" in page and "risk only" in page
    assert 'id="plane"' not in page and 'id="scores"' not in page
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {"parameter.svg", "parameter.png"}
    assert not (tmp_path / "tables" / "table1.csv").exists()
    assert (tmp_path / "tables" / "points.csv").read_text().startswith("collection,system,mechanism,parameter,value")


def test_judged_and_unjudged_together(tmp_path: Path) -> None:
    few = {"CMP": (1.0, 10.0), "Identity": (0.0,)}
    results = [only(make_result(judged=judged, name=name), few) for judged, name in ((False, "bare"), (True, "full"))]
    path = write_report(results, tmp_path, formats=())
    page = own_part(path)
    assert "bare has no relevance judgments" in page and 'id="plane"' in page
    assert (tmp_path / "tables" / "points-bare.csv").is_file() and (
        tmp_path / "tables" / "companions-full.csv"
    ).is_file()


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"CMP": (10.0,)}, marks=pytest.mark.slow),
        pytest.param({"AEA": (3.0, 4.0, 5.0)}, marks=pytest.mark.slow),
        pytest.param({"CMP": (10.0,), "Identity": (0.0,)}, marks=pytest.mark.slow),
        {"Identity": (0.0,), "Random": (0.0,)},
    ],
    ids="+".join,
)
def test_few_settings(tmp_path: Path, settings: dict[str, tuple[float, ...]]) -> None:
    page = write(only(make_result(), settings), tmp_path, formats=("svg",))
    assert "Limitations" in page


@pytest.mark.slow
def test_several_systems_and_seeds(tmp_path: Path) -> None:
    few = {"CMP": (1.0, 10.0), "Identity": (0.0,)}
    result = only(make_result(systems=("bm25 + minilm", "dense + bm25"), seeds=(1, 2)), few)
    page = write(result, tmp_path)
    assert page.count("<option value=") == 2
    assert "0.0" in page and "single noise seed" in page
    assert {path.name for path in (tmp_path / "tables").glob("companions*.csv")} == {
        "companions-example-bm25-minilm.csv",
        "companions-example-dense-bm25.csv",
    }


def test_wrong_wishes(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="formats must be among pdf, svg, png"):
        write_report([make_result()], tmp_path, formats=("gif",))
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="is a file; name a folder"):
        write_report([make_result()], tmp_path / "file")


def test_one_result_is_a_report_too(tmp_path: Path) -> None:
    result = only(make_result(judged=False), {"CMP": (1.0, 10.0)})
    one = write_report(result, tmp_path / "one", formats=())
    assert one.read_bytes() == write_report([result], tmp_path / "two", formats=()).read_bytes()
