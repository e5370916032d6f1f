"""The records behind docs/performance.md and docs/scale.md are of one commit and one machine, and say which."""

import os
import re
from pathlib import Path

import pytest

record = pytest.importorskip("benchmarks.record", reason="a source distribution has no benchmarks")

DOCS = Path(__file__).resolve().parent.parent / "docs"
ENTRIES = {entry.name: entry for entry in (*record.CONCURRENT, *record.EXCLUSIVE)}
RECORDS = [entry.file for entry in ENTRIES.values() if entry.file.is_file()]


def test_all_records_are_of_one_commit_and_one_machine():
    heads = [path.read_text(encoding="utf-8").splitlines()[0] for path in RECORDS]
    commits = {re.match(rf"{record.RECORDED} ([0-9a-f]+);", head)[1] for head in heads}
    machines = {re.search(r"\d+ cores?, (.*?);", head)[1] for head in heads}
    assert len(commits) <= 1 and len(machines) <= 1
    for page in ("performance.md", "scale.md"):
        stated = set(re.findall(r"commit\W+([0-9a-f]{7,})\b", (DOCS / page).read_text(encoding="utf-8")))
        assert stated == commits, f"docs/{page} is about other commits than benchmarks/results"


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_record_holds_its_command_and_no_path_of_the_machine(path):
    told = path.read_text(encoding="utf-8")
    assert f": {ENTRIES[path.stem].command}\n" in told
    assert not re.search(r"(?<![\w.])/(?:home|root|tmp|work|Users)/", told)


def test_entries_name_existing_benchmarks():
    from benchmarks.__main__ import NAMES

    assert len(ENTRIES) == len(record.CONCURRENT) + len(record.EXCLUSIVE)
    for entry in ENTRIES.values():
        module, *rest = entry.arguments
        assert module == "benchmarks.audit" or (module == "benchmarks" and rest[0] in NAMES)


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(record, "CACHE", tmp_path / "cache")
    return tmp_path


def test_a_benchmark_recorded_for_the_same_code_is_skipped(place):
    entry = record.Entry("platform", ("platform",))
    assert not record.is_recorded(entry, "abc")
    assert record._record_in_pairs([entry], "abc") == []
    assert record.is_recorded(entry, "abc") and not record.is_recorded(entry, "abd")
    told = entry.file.read_text(encoding="utf-8").splitlines()
    assert told[0].startswith("recorded at commit abc; on one core, with another benchmark on the other; ")
    assert told[1].endswith(": python -m platform") and told[3]


def test_a_record_says_which_variables_were_set(place):
    entry = record.Entry("variables", ("tests.test_records",), (("QUIPUKIT_RECORD", "one"),))
    assert record._record_in_pairs([entry], "abc") == []
    told = entry.file.read_text(encoding="utf-8")
    assert ": QUIPUKIT_RECORD=one python -m tests.test_records\n" in told and told.endswith("set to one\n")


def test_a_record_of_another_machine_is_replaced(place, monkeypatch):
    entry = record.Entry("platform", ("platform",))
    assert record._record_in_pairs([entry], "abc") == []
    monkeypatch.setattr(record, "machine", lambda: "64 cores, Abacus; Python 3.11.7; load averages at the start 0")
    assert not record.is_recorded(entry, "abc")


@pytest.mark.parametrize("module", ["no_such_module", "tests.test_records"])
def test_a_failed_or_skipped_benchmark_is_named_and_not_recorded(place, capsys, module):
    """The second one prints that it is skipped, as a benchmark does when something is missing, and exits with 0."""
    entries = [record.Entry("good", ("platform",)), record.Entry("bad", (module,))]
    assert record._record_in_pairs(entries, "abc") == ["bad"]
    assert entries[0].file.is_file() and not entries[1].file.exists()


def test_uncommitted_changes_are_refused(monkeypatch, capsys):
    monkeypatch.setattr(record, "commit", lambda: "abc-dirty")
    monkeypatch.setattr("sys.argv", ["record"])
    with pytest.raises(SystemExit, match="2"):
        record.main()
    assert "commit them first" in capsys.readouterr().err


def test_an_unknown_name_is_refused(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["record", "full_sise"])
    with pytest.raises(SystemExit, match="2"):
        record.main()
    assert "no record 'full_sise'" in capsys.readouterr().err


if __name__ == "__main__":
    told = os.environ.get("QUIPUKIT_RECORD")
    print(f"set to {told}" if told else "skipped: it is not at hand")
