"""The page: no network, hostile texts stay texts, control characters are shown."""

import html
import json
import re
from dataclasses import replace
from pathlib import Path

from quipukit.report.write import Report, write_report
from quipukit.terminal import visible
from tests.example_results import make_result
from tests.report.pages import data_of, own_part
from tests.report.results import (
    HOSTILE,
    SMALL,
    hostile_result,
    only,
    renamed,
)


def test_no_network(small_page: Path) -> None:
    page = own_part(small_page)
    assert not re.search(r"""(src|href)\s*=\s*["']?(https?:)?//""", page)
    assert "@import" not in page and "url(" not in page
    assert "default-src 'none'" in page


def test_hostile_texts_stay_texts(tmp_path: Path) -> None:
    options = "CusText(k=20, mapping='topk')"
    few = {"CMP": (1.0, 10.0), "CusText": (1.0, 10.0), "Identity": (0.0,)}
    result = renamed(only(hostile_result(), few), {"CusText": options})
    path = write_report([result], tmp_path, formats=("svg",))
    page = own_part(path)
    assert page.count("<script") == page.count("</script>") == 2
    assert "<b>$x$" not in page and "alert(" in page
    assert "49" not in [text.strip() for text in re.findall(r">([^<>]+)<", page)]  # {{ 7 * 7 }} was not worked out
    assert html.escape(result.name) in page
    assert html.escape(options, quote=True).replace("&#x27;", "&#39;") in page
    views = data_of(path)["views"]
    assert isinstance(views, list)
    texts = [example["query"] for example in views[0]["examples"]]
    assert texts == [f"{visible(HOSTILE)} {number}" for number in range(3)]


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


def test_the_page_tells_two_runs_of_one_collection_apart(tmp_path: Path) -> None:
    results = [only(make_result(queries=queries, judged=False), SMALL) for queries in (12, 8)]
    made = Report(results, runs=["runs/old", "runs/new"])
    page = own_part(made.write(tmp_path, formats=()))
    assert "<h3>example (old)</h3>" in page and "<h3>example (new)</h3>" in page
