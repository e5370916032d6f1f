"""Audits that are kept: by setting, vectors and code, and what is shown of the claims of others."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

import quipukit as qk
from quipukit.auditing.findings import Audit, Check
from quipukit.auditing.kept import claim_of, is_ours, keep, kept_audit
from quipukit.mechanisms.base import Mechanism
from quipukit.mechanisms.cmp import CMP
from quipukit.plugins import temporarily_installed
from quipukit.storage import cache_home
from quipukit.testing import check_mechanism
from tests.covers.pools import partition

LINE = qk.Vectors(["cat", "dog", "fish"], [[0.0], [1.0], [3.0]])
OTHER = qk.Vectors(["cat", "dog", "fish"], [[0.0], [1.0], [2.0]])


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path / "home"))


@dataclass(frozen=True, kw_only=True)
class Mine(CMP):
    """A mechanism of another package."""

    name = "Mine"


def outcome(mechanism: Mechanism, violated: bool = False) -> Audit:
    checks = (Check("a check", "sampled", "violated"),) if violated else ()
    return Audit(repr(mechanism.spec), str(mechanism.guarantee), True, checks, 0.001, 7, "three words")


def test_an_audit_counts_for_its_setting_and_vectors_alone() -> None:
    cmp = qk.mechanism("CMP@2", vectors=LINE)
    assert kept_audit("CMP@2", LINE.fingerprint) is None
    keep(outcome(cmp), cmp, 1000)
    keep(outcome(qk.mechanism("CMP@2", vectors=OTHER), violated=True), qk.mechanism("CMP@2", vectors=OTHER), 2000)
    assert str(kept_audit("CMP@2", LINE.fingerprint)) == "not violated (1,000 draws)"
    assert str(kept_audit("CMP@2.0", OTHER.fingerprint)) == "violated"
    for setting, vectors in (("CMP@3", LINE.fingerprint), ("CMP@2", "0" * 64), ("CMP@2", None)):
        assert kept_audit(setting, vectors) is None
    assert kept_audit("NotInstalled@2", LINE.fingerprint) is None


def test_the_pool_that_was_audited_is_shown() -> None:
    cover = qk.mechanism("Cover@50", cover=partition())
    checks = (Check("groups", "exact", "holds"),)
    done = Audit("Cover@50", str(cover.guarantee), True, checks, 0.001, 7, "pool mine.tsv, 576 queries")
    keep(done, cover, 1000)
    assert str(kept_audit("Cover@50")) == "holds (pool mine.tsv, 576 queries)"


def test_an_audit_of_other_code_or_a_damaged_one_counts_for_nothing() -> None:
    cmp = qk.mechanism("CMP@2", vectors=LINE)
    keep(outcome(cmp), cmp, 1000)
    (file,) = (cache_home() / "audits").iterdir()
    content = json.loads(file.read_text())
    content[LINE.fingerprint]["code"] = "another"
    file.write_text(json.dumps(content))
    assert kept_audit("CMP@2", LINE.fingerprint) is None
    for damaged in ("{", "[]", json.dumps({LINE.fingerprint: {"code": content}})):
        file.write_text(damaged)
        assert kept_audit("CMP@2", LINE.fingerprint) is None
    keep(outcome(cmp), cmp, 1000)
    assert kept_audit("CMP@2", LINE.fingerprint) is not None


def test_nothing_of_the_words_is_kept() -> None:
    done = qk.audit("SanText@2", vectors=LINE, draws=1000, claim=0.5)
    keep(done, qk.mechanism("SanText@2", vectors=LINE), 1000)
    (file,) = (cache_home() / "audits").iterdir()
    assert done.verdict == "violated" and "cat" not in file.read_text()


def test_a_mechanism_of_another_package_is_claimed_until_audited() -> None:
    mine, ours = Mine(epsilon=2, vectors=LINE), CMP(epsilon=2, vectors=LINE)
    assert claim_of(ours) == "2-metric DP (euclidean) per word"
    with temporarily_installed("quipukit.mechanisms", Mine=Mine):
        assert is_ours("CMP@2") and not is_ours("Mine@2") and not is_ours("NotInstalled@2")
        assert claim_of(mine) == "claimed: 2-metric DP (euclidean) per word"
        keep(outcome(mine, violated=True), mine, 1000)
        assert claim_of(mine) == "claimed, and violated: 2-metric DP (euclidean) per word"
        keep(outcome(mine), mine, 1000)
        assert claim_of(mine) == "2-metric DP (euclidean) per word"
        assert claim_of(Mine(epsilon=3, vectors=LINE)) == "claimed: 3-metric DP (euclidean) per word"


@pytest.mark.heavy
def test_the_check_for_authors_counts_as_an_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quipukit.testing.mechanisms._AUDIT_DRAWS", 2_000)  # a tenth of what authors get
    with temporarily_installed("quipukit.mechanisms", Mine=Mine):
        mine = Mine(epsilon=2, vectors=LINE)
        check_mechanism(mine, audit=True)
        assert str(kept_audit("Mine@2", LINE.fingerprint)) == "not violated (2,000 draws)"
