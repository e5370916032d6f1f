"""The formal side: guarantees and budgets."""

import re
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from quipukit.auditing.findings import Audit
from quipukit.auditing.kept import keep
from quipukit.mechanisms.cmp import CMP
from quipukit.plugins import temporarily_installed
from quipukit.report import tables
from quipukit.report.table_model import DASH
from quipukit.report.views import View, views_of
from quipukit.vectors.store import Vectors
from tests.example_results import make_result


@pytest.fixture(autouse=True)
def no_audits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path))


def test_the_formal_side_says_what_is_promised(view: View) -> None:
    rows = {(row[0].text, row[1].text): row for group in tables.formal(view).row_groups for row in group.rows}
    cmp = [cell.text for cell in rows["CMP", "epsilon 12.5"]]
    assert cmp[2:6] == ["12.5-metric DP (euclidean) per word", "not audited", "50", "625"]
    assert tables.formal(view).headings[3:7] == ("Audit", "N", "N × epsilon", "N × L × epsilon")
    assert "2.0 %" in cmp and "uniform" in cmp
    aea = [cell.text for cell in rows["AEA", "level 3"]]
    assert aea[2] == "none: a heuristic" and aea[5:7] == [DASH, DASH] and aea.count(DASH) == 6


def cells(view: View, mechanism: str, setting: str) -> list[str]:
    rows = [row for group in tables.formal(view).row_groups for row in group.rows]
    return next([cell.text for cell in row] for row in rows if (row[0].text, row[1].text) == (mechanism, setting))


def test_the_verdict_of_an_audit_stands_beside_the_claim(view: View) -> None:
    fingerprint = view.result.manifest["vectors"]["fingerprint"]
    line = Vectors(["a", "b"], [[0.0], [1.0]], meta={"fingerprint": fingerprint})
    other = Vectors(["a", "b"], [[0.0], [1.0]])
    for value, vectors in ((12.5, line), (10, other)):
        audited = CMP(epsilon=value, vectors=vectors)
        keep(Audit(repr(audited.spec), "", True, (), 0.001, 7, "two words"), audited, 200_000)
    assert cells(view, "CMP", "epsilon 12.5")[3] == "not violated (200,000 draws)"
    assert cells(view, "CMP", "epsilon 10")[3] == "not audited"  # it was, but with other vectors
    caption = tables.formal(view).caption
    command = re.search(r"run quipukit audit (\S+)", caption)
    assert command is not None and "@" in command[1] and "CMP@12.5" not in command[1]


def test_the_guarantee_of_another_package_is_claimed_until_it_was_audited() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Mine(CMP):
        name = "Mine"

    settings = make_result(mechanisms=("CMP",)).settings
    result = replace(make_result(mechanisms=("CMP",)), settings=settings.assign(mechanism="Mine"))
    line = Vectors(["a", "b"], [[0.0], [1.0]], meta={"fingerprint": result.manifest["vectors"]["fingerprint"]})
    audited = Mine(epsilon=10, vectors=line)
    with temporarily_installed("quipukit.mechanisms", Mine=Mine):
        (view,) = views_of([result])
        assert cells(view, "Mine", "epsilon 10")[2:4] == ["claimed: 10-metric DP (euclidean) per word", "not audited"]
        assert "only claimed, until it was audited" in tables.formal(view).caption
        keep(Audit(repr(audited.spec), "", True, (), 0.001, 7, "two words"), audited, 20_000)
        after = cells(view, "Mine", "epsilon 10")
        assert after[2:4] == ["10-metric DP (euclidean) per word", "not violated (20,000 draws)"]


@pytest.mark.parametrize(
    ("noise", "said"),
    [
        ("independent", ""),
        ("common", "The settings of a mechanism share their noise, so each budget holds for its setting alone"),
        (None, "Nothing says how the noise was drawn, and the settings may share it, so each budget holds"),
    ],
)
def test_budgets_of_several_settings_add_up_only_if_their_noise_is_independent(noise: str | None, said: str) -> None:
    result = make_result()
    (view,) = views_of([replace(result, manifest={**result.manifest, "noise": noise})])
    caption = tables.formal(view).caption
    assert said in caption and ("no finite guarantee" in caption) == (noise != "independent")
