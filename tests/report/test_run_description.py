"""What was run and its limitations: stated, and without anything that gives a query away."""

import dataclasses
from pathlib import Path

import pandas as pd

from quipukit.report.run_description import limits, run_description
from quipukit.report.write import write_report
from tests.example_results import make_result
from tests.report.pages import own_part
from tests.report.results import SMALL, only


def test_a_report_lets_nobody_test_a_guess_of_the_queries(tmp_path: Path) -> None:
    result = only(make_result(), SMALL)
    page = write_report([result], tmp_path, examples=False, formats=()).read_text(encoding="utf-8")
    assert result.manifest["queries"]["fingerprint"][:12] not in page
    assert result.manifest["collection"]["fingerprint"][:12] in page


def test_the_page_says_what_was_run_and_its_limits(small_page: Path) -> None:
    page = own_part(small_page)
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


def test_a_run_made_with_several_versions_says_so() -> None:
    result = make_result(queries=4)
    assert "Mixed versions" not in dict(run_description(result))
    software = {**result.manifest.get("software", {}), "numpy": ["2.1.0", "2.2.0"]}
    mixed = dataclasses.replace(result, manifest={**result.manifest, "software": software, "mixed_software": ["numpy"]})
    told = dict(run_description(mixed))
    assert told["Mixed versions"] == "parts of this run were computed with different versions of numpy"
    assert "numpy 2.1.0 and 2.2.0" in told["Software"]


def test_a_depth_that_depends_on_n_is_listed() -> None:
    result = make_result(queries=4)
    system = {**result.manifest["systems"][0], "depth": {"20": 50, "50": 23}}
    swept = dataclasses.replace(result, manifest={**result.manifest, "systems": [system]})
    assert "retrieves 50 (N = 20) and 23 (N = 50) documents" in dict(run_description(swept))["Search system"]


def test_every_attacker_is_named() -> None:
    result = make_result(queries=4)
    assert dict(run_description(result))["Attack"].startswith(
        "QuIA (the centroid of a query's variants ranks the log); that is the attacker of the QuIPU paper alone, and "
        "stronger ones find more; log"
    )
    both = dataclasses.replace(
        result,
        ranks=pd.concat([result.ranks, result.ranks.assign(attacker="Mine")], ignore_index=True),
    )
    assert "ranks the log) and Mine; log" in dict(run_description(both))["Attack"]
    assert "measured with QuIA and Mine" in limits([both])[0]
