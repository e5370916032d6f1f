"""`quipukit audit`, with a small vocabulary."""

import json
from pathlib import Path

import pytest

from quipukit.auditing.kept import kept_audit
from quipukit.vectors.sources import load_vectors
from tests.cli.test_cli import SMALL, assert_refused, run

pytestmark = pytest.mark.heavy  # not in make quick


def audit(folder: Path, *arguments: str):  # type: ignore[no-untyped-def]
    (folder / "small.txt").write_text(SMALL, encoding="utf-8")
    return run("audit", *arguments, "--vectors", str(folder / "small.txt"), "--draws", "1000")


def test_what_holds_ends_with_0_and_says_what_could_have_been_seen(tmp_path: Path) -> None:
    done = audit(tmp_path, "SanText@2")
    assert done.returncode == 0 and done.stdout.startswith("SanText@2: holds. It claims: 2-metric DP")
    vectors = load_vectors(str(tmp_path / "small.txt"))
    assert str(kept_audit("SanText@2", vectors.fingerprint)) == "holds"  # for reports
    assert "could have seen" in done.stdout and "Floating point: each probability is off by" in done.stdout


def test_what_is_violated_ends_with_1_and_writes_a_page(tmp_path: Path) -> None:
    done = audit(tmp_path, "SanText@2", "--claim", "0.5", "-o", str(tmp_path / "page.html"), "--json")
    content = json.loads(done.stdout)
    assert done.returncode == 1 and content["verdict"] == "violated"
    finding = content["checks"][0]["finding"]
    assert finding["loss"] > finding["claimed"]
    assert "Counter-example (closed form)" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_what_claims_nothing_says_so(tmp_path: Path) -> None:
    done = audit(tmp_path, "CusText(k=2, mapping='topk')@2")
    assert done.returncode == 0 and "nothing claimed" in done.stdout and "infinite" in done.stdout


def test_wrong_input_ends_with_2(tmp_path: Path) -> None:
    assert_refused(audit(tmp_path, "Nonsense@2"), "Nonsense")
    assert_refused(audit(tmp_path, "CMP@2", "-o", "page.txt"), ".md or .html")
    assert_refused(audit(tmp_path, "CMP@2", "--noise", "loud"), "independent or common")
    assert_refused(audit(tmp_path, "CMP@2", "--alarm", "2"), "--alarm")


def test_a_file_is_audited(tmp_path: Path) -> None:
    (tmp_path / "small.txt").write_text(SMALL, encoding="utf-8")
    (tmp_path / "asked.tsv").write_text("1\tcat dog\n2\tfish bird\n3\thorse mouse\n", encoding="utf-8")
    asked, sent = str(tmp_path / "asked.tsv"), str(tmp_path / "sent.csv")
    given = ("--queries", asked, "--vectors", str(tmp_path / "small.txt"), "-n", "40", "--seed", "1", "-o", sent)
    made = run("obfuscate", "-m", "CMP@1", "CMP@1.5", "--noise", "common", *given)
    assert made.returncode == 0, made.stderr
    done = run("audit", "--file", sent, "--queries", asked)
    assert done.returncode == 1 and "noise shared between settings" in done.stdout
    assert_refused(run("audit", "CMP@2", "--file", sent), "not both")
    assert_refused(run("audit"), "name a mechanism")
    assert_refused(run("audit", "--file", sent, "--claim", "5"), "--claim")
    assert_refused(run("audit", "CMP@2", "--against", "CMP@2"), "--file")
    assert_refused(run("audit", "CMP@2", "--queries", asked), "--file")
