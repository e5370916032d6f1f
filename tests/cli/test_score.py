"""``quipukit score``, run as a user runs it."""

import csv
import io
import json
from pathlib import Path

import pandas as pd
import pytest

from tests.cli.test_cli import assert_refused, run

POINTS = """mechanism,value,risk,utility
A,10,0.9,0.6
A,1,0,0
A,5,0.0,0.6
B,1,0.3,0.5
"""


@pytest.fixture
def points(tmp_path: Path) -> str:
    file = tmp_path / "points.csv"
    file.write_text(POINTS, encoding="utf-8")
    return str(file)


def test_a_table_with_the_score_its_parts_and_companions(points: str) -> None:
    done = run("score", points)
    assert done.returncode == 0, done.stderr
    header, _, first, second = (line for line in done.stdout.splitlines() if line.strip())
    assert header.split() == [
        *("mechanism", "points", "QuIPU", "R+", "R-", "hypervolume"),
        *("U@0.01", "U@0.05", "U@0.1", "anchored", "flags"),
    ]
    assert first.split()[:3] == ["A", "3", "0.3150"] and first.split()[6] == "0.6000"
    assert second.split()[:3] == ["B", "1", "0.0000"] and "single point" in second and second.split()[6] == "-"
    assert "note: single point: points that coincide score 0 wherever they lie" in done.stderr


def test_json_and_tsv_hold_the_same(points: str) -> None:
    rows = json.loads(run("score", points, "--json").stdout)
    assert [(row["mechanism"], row["quipu"]) for row in rows] == [("A", 0.315), ("B", 0)]
    assert rows[1]["best_0.1"] is None and rows[1]["single"] is True and "score is 0" in rows[1]["note"]
    tabbed = list(csv.DictReader(io.StringIO(run("score", points, "--tsv").stdout), delimiter="\t"))
    assert [float(row["quipu"]) for row in tabbed] == [row["quipu"] for row in rows]
    assert list(tabbed[0]) == list(rows[0])


def test_curves_are_told_apart_by_every_name(tmp_path: Path) -> None:
    lines = ["collection\tmechanism\tvalue\tattacker\trisk\tutility"]
    for collection in ("dl19", "dl20"):
        for attacker in ("lazy", "active"):
            lines += [f"{collection}\tA\t{value}\t{attacker}\t{value / 10}\t{value / 20}" for value in (1, 5, 10)]
    file = tmp_path / "points.tsv"
    file.write_text("\n".join(lines), encoding="utf-8")
    done = run("score", str(file))
    assert done.returncode == 0 and done.stdout.count("lazy") == 2 and done.stdout.count("dl20") == 2
    assert "measure" not in done.stdout
    assert done.stderr.startswith("note: A: not installed, so smaller values are taken to hide more")
    assert len(done.stderr.splitlines()) == 1


BELOW = "mechanism,value,risk,utility\nMine,1,0.9,0.5\nMine,2,0.5,0.1\nMine,3,0.1,0\n"


def test_a_mechanism_whose_larger_values_hide_more_is_read_from_there(tmp_path: Path) -> None:
    """Its points lie below the diagonal: read the other way round they would score as if they lay above."""
    file = tmp_path / "points.csv"
    file.write_text(BELOW, encoding="utf-8")
    assumed, said = (json.loads(run("score", str(file), "--json", *more).stdout)[0] for more in ([], MORE))
    assert said["quipu"] == -assumed["quipu"] < 0 and said["hides_more"] == "larger"
    lines = BELOW.splitlines()
    file.write_text("\n".join([lines[0] + ",hides_more", *(f"{line},larger" for line in lines[1:])]), encoding="utf-8")
    done = run("score", str(file), "--json")
    assert json.loads(done.stdout)[0]["quipu"] == said["quipu"] and done.stderr == ""


MORE = ["--hides-more", "larger"]


def test_installed_mechanisms_say_themselves_which_values_hide_more(tmp_path: Path) -> None:
    file = tmp_path / "points.csv"
    both = "".join(f"{name},{value},{risk},0.9\n" for name in ("AEA", "CMP") for value, risk in ((3, 0.7), (5, 0.1)))
    file.write_text(f"mechanism,value,risk,utility\n{both}", encoding="utf-8")
    done = run("score", str(file), "--json", *MORE)
    aea, cmp = json.loads(done.stdout)
    assert (aea["hides_more"], cmp["hides_more"]) == ("larger", "smaller") and done.stderr == ""
    assert aea["quipu"] == -cmp["quipu"] > 0


def test_a_narrow_curve_is_marked(tmp_path: Path) -> None:
    file = tmp_path / "points.csv"
    file.write_text("mechanism,value,risk,utility\nAEA,3,0.1,0.52\nAEA,5,0.1,0.5\n", encoding="utf-8")
    done = run("score", str(file))
    assert "narrow 1 %" in done.stdout and "not to be ranked" in done.stderr


def test_a_curve_that_turns_back_is_flagged(tmp_path: Path) -> None:
    file = tmp_path / "points.csv"
    file.write_text("mechanism,value,risk,utility\nA,1,0.5,0.5\nA,2,0.1,0.4\nA,3,0.9,0.6\n", encoding="utf-8")
    done = run("score", str(file))
    assert "backward 0.35" in done.stdout and "the range [-1, 1] is not assured" in done.stderr


def test_options_change_the_definition(points: str) -> None:
    plain, corners, original = (
        json.loads(run("score", points, "--json", *more).stdout)[0]
        for more in ([], ["--order", "risk", "--anchor", "corners"], ["--anchor", "original", "--original", "0.6"])
    )
    assert corners["quipu"] == corners["anchored"] == plain["anchored"] != plain["quipu"]
    assert original["quipu"] == pytest.approx(0.28) and original["u0"] == 0.6 and plain["u0"] == 1
    assert original["hypervolume"] == 1


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("", ["is empty", "mechanism,value,risk,utility"]),
        ("mechanism,value,risk\nA,1,0\n", ["no column 'utility'", "'risk'"]),
        ("mechanism,value,risk,utility\n", ["no point"]),
        ("mechanism,value,risk,utility\nA,1,nan,0.5\n", ["A at 1: risk is nan", "leave it out"]),
        ("mechanism,value,risk,utility\nA,1,,0.5\n", ["A at 1: risk is empty"]),
        ("mechanism,value,risk,utility\nA,1,0.5,1.01\n", ["A at 1: utility is 1.01", "from 0 to 1"]),
        ("mechanism,value,risk,utility\nA,one,0.5,1\n", ["'value' must hold numbers"]),
        ("mechanism,value,risk,utility\nA,1,0,0\nA,1.0,0,0\n", ["two rows with", "value=1.0"]),
        ("mechanism,value,hides_more,risk,utility\nA,1,both,0,0\n", ["hides_more must be 'smaller' or 'larger'"]),
        ("mechanism,value,risk,utility\nA,1,0,0\nA,1,0,0,9,9\n", ["points.csv", "line 3"]),
        ("mechanism,value,risk,utility\nA,1,0.5,0.5,0.5\n", ["line 2", "column too many"]),
        (b"mechanism,value,risk,utility\n\xff\xfe,1,0,0\n", ["UTF-8"]),
    ],
)
def test_bad_files_end_in_one_line_that_says_the_fix(tmp_path: Path, content: str | bytes, parts: list[str]) -> None:
    file = tmp_path / "points.csv"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert_refused(run("score", str(file)), "points.csv", *parts)


def test_cells_of_the_wrong_type_and_damaged_parquet_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "points.parquet"
    pd.DataFrame({"mechanism": [b"A"], "value": [1], "risk": [0.5], "utility": [0.5]}).to_parquet(path)
    assert_refused(run("score", str(path)), "row 1: column 'mechanism'")
    path.write_bytes(b"PAR1\4\0\0\0PAR1")
    assert_refused(run("score", str(path)), "damaged, or not a Parquet file")
    (tmp_path / "log.csv").write_text("my illness,5\nother,2\n")
    done = run("score", str(tmp_path / "log.csv"))
    assert_refused(done, "no column 'mechanism'")
    assert "illness" not in done.stderr


def test_bad_options_end_in_one_line_that_says_the_fix(points: str, tmp_path: Path) -> None:
    assert_refused(run("score", str(tmp_path / "no.csv")), "no.csv", "no such file")
    assert_refused(run("score", str(tmp_path)), "cannot tell the format")
    assert_refused(run("score", points, "--order", "epsilon"), "'diagonal'")
    assert_refused(run("score", points, "--anchor", "ends"), "'corners'")
    assert_refused(run("score", points, "--anchor", "original"), "--anchor original ends", "pass --original UTILITY")
    assert_refused(run("score", points, "--original", "2"), "u0")
    assert_refused(run("score", points, "--hides-more", "both"), "smaller or larger")


def test_help_has_examples() -> None:
    assert "quipukit score" in run("score", "--help").stdout.split("Example", 1)[1]


def test_the_published_points_give_the_published_scores(tmp_path: Path, project_root: Path) -> None:
    fixtures = project_root.parent / "shared" / "fixtures"
    if not fixtures.is_dir():
        pytest.skip("needs the published numbers in ../shared/fixtures, beside the checkout; the folder is absent")
    points = pd.read_csv(fixtures / "quipu_points_dl19.csv")
    printed = pd.read_csv(fixtures / "quipu_table1_dl19.csv").set_index(["mechanism", "risk"])["table1"]
    parts = [
        points.assign(value=points["position"], attacker=name, risk=points[column], utility=points["u_ndcg10"])
        for name, column in (("P@1", "risk_p1"), ("R@10", "risk_r10"), ("MRR", "risk_rr"))
    ]
    target = tmp_path / "points.csv"
    pd.concat(parts)[["mechanism", "value", "attacker", "risk", "utility"]].to_csv(target, index=False)
    rows = json.loads(run("score", str(target), "--json").stdout)
    assert len(rows) == 24
    for row in rows:
        assert row["quipu"] == pytest.approx(printed[row["mechanism"], row["attacker"]], abs=0.001)
