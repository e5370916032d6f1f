"""The whole report: its files, the same bytes twice, no text where none is wanted, and the odd results."""

import hashlib
import html
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from quipukit.errors import FileError, InputError
from quipukit.measures.quipu import quipu_table
from quipukit.report.chart_data import script_safe
from quipukit.report.table_model import typeset
from quipukit.report.write import Report, write_report
from quipukit.results import Result
from quipukit.terminal import visible
from tests.example_results import make_result
from tests.report.results import HOSTILE, hostile_result, only, renamed

SMALL = {"CMP": (1.0, 10.0, 50.0), "AEA": (3.0, 4.0), "Identity": (0.0,), "Random": (0.0,)}


def digests(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def own_part(path: Path) -> str:
    """The page without the library's own script."""
    text = path.read_text(encoding="utf-8")
    scripts = re.findall(r"<script[^>]*>.*?</script>", text, re.DOTALL)
    return text.replace(max(scripts, key=len), "")


def data_of(path: Path) -> dict[str, object]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', own_part(path), re.DOTALL)
    assert found is not None
    return dict(json.loads(found[1]))


def write(result: Result, folder: Path, **wishes: object) -> str:
    return own_part(write_report([result], folder, **{"formats": (), **wishes}))  # type: ignore[arg-type]


def test_files_and_equal_bytes(tmp_path: Path) -> None:
    shown: list[tuple[float, float]] = []
    for name in ("one", "two"):
        path = write_report(
            [only(make_result(), SMALL)], tmp_path / name, progress=lambda done, total: shown.append((done, total))
        )
        assert path == tmp_path / name / "report.html"
    first = digests(tmp_path / "one")
    assert first == digests(tmp_path / "two")
    figures = [*(f"{kind}-{who}" for kind in ("plane", "panels") for who in ("lazy", "active", "motivated"))]
    assert set(first) == {
        "report.html",
        "SHA256SUMS",
        *(f"figures/{name}.{kind}" for name in (*figures, "parameter", "radar") for kind in ("pdf", "svg", "png")),
        *(
            f"tables/{name}.{kind}"
            for name in ("table1", "references", "companions", "points", "formal", "radar", "equal_privacy")
            for kind in ("csv", "tex")
        ),
        "tables/comparisons.csv",
    }
    assert all(0 <= done <= total for done, total in shown) and shown[-1][0] == shown[-1][1]


def test_a_report_replaces_the_one_before_and_nothing_else(tmp_path: Path) -> None:
    out = tmp_path / "report"
    many = only(make_result(systems=("bm25 + minilm", "dense + bm25")), SMALL)
    write_report([many], out, formats=("svg",))
    before = set(digests(out))
    assert any("dense" in name for name in before)
    (out / "notes.txt").write_text("mine")
    (out / "figures" / "drawn-by-hand.svg").write_text("mine too")
    edited = next(path for path in (out / "tables").glob("points*dense*.tex"))
    edited.write_text(edited.read_text() + "% corrected by hand\n")
    write_report([only(make_result(), SMALL)], out, formats=("png",))
    fresh = tmp_path / "fresh"
    write_report([only(make_result(), SMALL)], fresh, formats=("png",))
    mine = {"notes.txt", "figures/drawn-by-hand.svg", str(edited.relative_to(out))}
    assert set(digests(out)) == set(digests(fresh)) | mine
    assert {name: own for name, own in digests(out).items() if name not in mine} == digests(fresh)


def test_an_interrupted_report_leaves_the_one_before(tmp_path: Path) -> None:
    """Stopped at any part: no mixture of two reports, nothing half-written, and the next one knows what to clear."""
    earlier = only(make_result(), {"CMP": (1.0, 10.0), "Identity": (0.0,)})
    write_report([earlier], tmp_path, formats=("svg",))

    def contents() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    before = contents()
    for part in (2, 3, 5):

        def stop(done: float, total: float, part: int = part) -> None:
            if done == part:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            write_report([make_result()], tmp_path, formats=("svg", "png"), progress=stop)
        assert contents() == before and not list(tmp_path.glob(".draft-*"))
    write_report([make_result()], tmp_path, formats=())
    assert not list((tmp_path / "figures").glob("*"))


def test_a_list_of_files_cannot_reach_outside(tmp_path: Path) -> None:
    out, other = tmp_path / "report", tmp_path / "precious.csv"
    other.write_text("mine")
    out.mkdir()
    digest = hashlib.sha256(b"mine").hexdigest()
    (out / "SHA256SUMS").write_text(f"{digest}  ../precious.csv\n{digest}  {other}\nnonsense\n")
    write_report([only(make_result(), SMALL)], out, formats=())
    assert other.read_text() == "mine"


def test_the_page_tells_two_runs_of_one_collection_apart(tmp_path: Path) -> None:
    made = Report([only(make_result(), SMALL), only(make_result(queries=8), SMALL)], runs=["runs/old", "runs/new"])
    page = own_part(made.write(tmp_path, formats=()))
    assert "<h3>example (old)</h3>" in page and "<h3>example (new)</h3>" in page


def test_no_network(tmp_path: Path) -> None:
    page = write(make_result(), tmp_path)
    assert not re.search(r"""(src|href)\s*=\s*["']?(https?:)?//""", page)
    assert "@import" not in page and "url(" not in page
    assert "default-src 'none'" in page


def test_hostile_texts_stay_texts(tmp_path: Path) -> None:
    result = only(hostile_result(), SMALL)
    path = write_report([result], tmp_path, formats=("svg",))
    page = own_part(path)
    assert page.count("<script") == page.count("</script>") == 2
    assert "<b>$x$" not in page and "alert(" in page
    assert "49" not in [text.strip() for text in re.findall(r">([^<>]+)<", page)]  # {{ 7 * 7 }} was not worked out
    assert html.escape(result.name) in page
    blocks = data_of(path)["blocks"]
    assert isinstance(blocks, list)
    texts = [example["query"] for example in blocks[0]["examples"]]
    assert texts == [f"{visible(HOSTILE)} {number}" for number in range(3)]


def test_script_safe_survives_the_round_trip() -> None:
    data = {"a": HOSTILE, "b": ["</script>", "<!--", "]]>"]}
    text = script_safe(data)
    assert json.loads(text) == data
    assert not set(text) & set("<>&\u2028\u2029")


def test_no_examples_leaves_out_every_text(tmp_path: Path) -> None:
    result = make_result()
    texts = {text for frame in (result.queries, result.obfuscated, result.guesses) for text in frame["query"]}
    told = write(result, tmp_path / "told")
    assert sum(text in told for text in texts) > 50
    write_report([only(result, SMALL)], tmp_path / "silent", examples=False, formats=("svg",))
    for path in (tmp_path / "silent").rglob("*"):
        if path.is_file():
            content = own_part(path) if path.suffix == ".html" else path.read_text(encoding="utf-8")
            assert not [text for text in texts if text in content], path
    assert 'id="examples"' not in own_part(tmp_path / "silent" / "report.html")


def test_without_judgments_risk_alone(tmp_path: Path) -> None:
    page = write(make_result(judged=False), tmp_path, formats=("png",))
    assert "no relevance judgments" in page and "risk alone" in page
    assert 'id="plane"' not in page and 'id="scores"' not in page
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {"parameter.png"}
    assert not (tmp_path / "tables" / "table1.csv").exists()
    assert (tmp_path / "tables" / "points.csv").read_text().startswith("collection,system,mechanism,parameter,value")


def test_judged_and_unjudged_together(tmp_path: Path) -> None:
    path = write_report([make_result(judged=False, name="bare"), make_result(name="full")], tmp_path, formats=())
    page = own_part(path)
    assert "bare has no relevance judgments" in page and 'id="plane"' in page
    assert (tmp_path / "tables" / "points-bare.csv").is_file() and (
        tmp_path / "tables" / "companions-full.csv"
    ).is_file()


@pytest.mark.parametrize(
    "settings",
    [
        {"CMP": (10.0,)},
        {"AEA": (3.0, 4.0, 5.0)},
        {"CMP": (10.0,), "Identity": (0.0,)},
        {"Identity": (0.0,), "Random": (0.0,)},
    ],
    ids="+".join,
)
def test_few_settings(tmp_path: Path, settings: dict[str, tuple[float, ...]]) -> None:
    page = write(only(make_result(), settings), tmp_path, formats=("svg",))
    assert "What this cannot tell" in page


def test_several_systems_and_seeds(tmp_path: Path) -> None:
    result = make_result(systems=("bm25 + minilm", "dense + bm25"), seeds=(1, 2))
    page = write(result, tmp_path)
    assert page.count("<option value=") == 2
    assert "0.0" in page and "single noise seed" in page
    assert {path.name for path in (tmp_path / "tables").glob("companions*.csv")} == {
        "companions-example-bm25-minilm.csv",
        "companions-example-dense-bm25.csv",
    }


def test_names_with_options(tmp_path: Path) -> None:
    name = "CusText(k=20, mapping='topk')"
    page = write(
        renamed(make_result(mechanisms=("CusText", "Identity")), {"CusText": name}), tmp_path, formats=("svg",)
    )
    assert html.escape(name, quote=True).replace("&#x27;", "&#39;") in page


def test_the_page_says_what_was_run_and_its_limits(tmp_path: Path) -> None:
    page = write(make_result(), tmp_path)
    for words in (
        "117,659 documents",
        "15,000 queries",
        "encoder minilm",
        "bm25 retrieves 23 documents",
        "derived, not made by people",
        "lower bound",
        "comparable parts of the diagonal",
        "small collection",
        "N = 50 variants",
    ):
        assert words in page, words


def test_the_summary_names_the_best(tmp_path: Path) -> None:
    result = make_result(queries=30)
    page = write(result, tmp_path)
    scores = quipu_table(result.points().query("measure == 'nDCG@10'"))
    scores = scores[~scores["mechanism"].isin(["Identity", "Random"]) & scores["rankable"]]
    for who in ("lazy", "active", "motivated"):
        own = scores[scores["attacker"] == who]
        best = own.loc[own["quipu"].idxmax()]
        card = page.split(f"Against the {who} attacker")[1].split("</article>")[0]
        assert f"<strong>{best['mechanism']}</strong>" in card
        assert f"{best['quipu']:.3f}".replace("-", "\N{MINUS SIGN}") in card
        assert typeset(result.recommend(persona=who).sentence) in html.unescape(card)


def test_the_summary_recommends_only_what_is_certified(tmp_path: Path) -> None:
    """0 hits in 30 queries leave a risk of 0.2 possible among 46 settings: the page must not call that 10 % at most."""
    for queries, told in ((30, "No setting can be certified (statistics)"), (200, "certified (statistics): with")):
        page = write(make_result(queries=queries), tmp_path / str(queries))
        card = page.split("Against the active attacker")[1].split("</article>")[0]
        assert told in card and "At a risk of at most" not in card


def test_the_ceiling_that_the_log_puts_on_risk_is_told(tmp_path: Path) -> None:
    result = make_result(queries=12)
    assert "no risk can exceed" not in write(result, tmp_path / "whole")
    manifest = {**result.manifest, "log": {**result.manifest["log"], "in_log": 1, "inject": False}}
    ranks = result.ranks.assign(better=result.ranks["better"].where(result.ranks["qid"] == "q01", -1))
    page = html.unescape(write(replace(result, manifest=manifest, ranks=ranks), tmp_path / "one"))
    assert "the attacker's log holds 1 of the 12 originals" in page and "no risk can exceed 0.083" in page
    assert "Nothing is recommended" in page and "Use " not in page.split("</article>")[0]


def test_wrong_wishes(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="formats must be among pdf, svg, png"):
        write_report([make_result()], tmp_path, formats=("gif",))
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="is a file; name a folder"):
        write_report([make_result()], tmp_path / "file")


def test_one_result_is_a_report_too(tmp_path: Path) -> None:
    result = only(make_result(), SMALL)
    one = write_report(result, tmp_path / "one", formats=())
    assert one.read_bytes() == write_report([result], tmp_path / "two", formats=()).read_bytes()


def test_control_characters_are_shown_on_the_page_and_in_the_tables(tmp_path: Path) -> None:
    nasty = "cats\x1b[31m\x07\x9b2J\N{RIGHT-TO-LEFT OVERRIDE}\x7f"
    plain = only(make_result(), SMALL)
    frames = {}
    for name in ("queries", "obfuscated", "guesses"):
        frame = getattr(plain, name)
        frames[name] = frame.assign(query=[f"{nasty}{row}" for row in range(len(frame))])
    manifest = {**plain.manifest, "collection": {**plain.manifest["collection"], "name": nasty}}
    manifest["encoder"] = {**plain.manifest["encoder"], "name": nasty}
    path = write_report([replace(plain, manifest=manifest, **frames)], tmp_path, formats=())
    files = [own_part(path), *(file.read_text(encoding="utf-8") for file in (tmp_path / "tables").glob("*.csv"))]
    for text in files:
        assert not re.search("[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)
    assert "cats\\x1b[31m\\x07\\x9b2J\\u202e\\x7f" in files[0]
    assert "cats\\x1b[31m" in json.dumps(data_of(path)).replace("\\\\", "\\")
