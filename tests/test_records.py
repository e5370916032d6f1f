"""What docs/performance.md says was measured with one state of the code, and says which."""

import os
import re
from pathlib import Path

import pytest

record = pytest.importorskip("benchmarks.record", reason="a source distribution has no benchmarks")

PAGE = Path(__file__).resolve().parent.parent / "docs" / "performance.md"
ENTRIES = {entry.name: entry for entry in (*record.BESIDE, *record.ALONE)}
RECORDS = [entry.file for entry in ENTRIES.values() if entry.file.is_file()]


def test_all_records_are_of_one_commit_and_of_one_machine():
    heads = [path.read_text(encoding="utf-8").splitlines()[0] for path in RECORDS]
    commits = {re.match(rf"{record.RECORDED} ([0-9a-f]+);", head)[1] for head in heads}
    machines = {re.search(r"\d+ cores?, (.*?);", head)[1] for head in heads}
    assert len(commits) <= 1 and len(machines) <= 1


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_record_is_that_of_a_command_and_names_no_folder(path):
    told = path.read_text(encoding="utf-8")
    assert f": {ENTRIES[path.stem].command}\n" in told
    assert not re.search(r"(?<![\w.])/(?:home|root|tmp|work|Users)/", told)


def test_entries_ask_for_benchmarks_that_are_there():
    from benchmarks.__main__ import NAMES

    assert len(ENTRIES) == len(record.BESIDE) + len(record.ALONE)
    for entry in ENTRIES.values():
        module, *rest = entry.arguments
        assert module == "benchmarks.audit" or (module == "benchmarks" and rest[0] in NAMES)


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(record, "CACHE", tmp_path / "cache")
    return tmp_path


def test_what_was_recorded_of_the_same_code_is_not_repeated(place):
    entry = record.Entry("platform", ("platform",))
    assert not record.is_recorded(entry, "abc")
    assert record._in_pairs([entry], "abc") == []
    assert record.is_recorded(entry, "abc") and not record.is_recorded(entry, "abd")
    told = entry.file.read_text(encoding="utf-8").splitlines()
    assert told[0].startswith("recorded at commit abc; on one core, with another benchmark on the other; ")
    assert told[1].endswith(": python -m platform") and told[3]


def test_a_record_says_which_variables_were_set(place):
    entry = record.Entry("variables", ("tests.test_records",), (("QUIPUKIT_RECORD", "one"),))
    assert record._in_pairs([entry], "abc") == []
    told = entry.file.read_text(encoding="utf-8")
    assert ": QUIPUKIT_RECORD=one python -m tests.test_records\n" in told and told.endswith("set to one\n")


def test_what_another_machine_recorded_is_measured_again(place, monkeypatch):
    entry = record.Entry("platform", ("platform",))
    assert record._in_pairs([entry], "abc") == []
    monkeypatch.setattr(record, "machine", lambda: "64 cores, Abacus; Python 3.11.7; load averages at the start 0")
    assert not record.is_recorded(entry, "abc")


@pytest.mark.parametrize("module", ["no_such_module", "tests.test_records"])
def test_what_fails_or_is_skipped_is_named_and_not_recorded(place, capsys, module):
    """The second prints that it is skipped, as a benchmark does where something is missing, and ends well."""
    entries = [record.Entry("good", ("platform",)), record.Entry("bad", (module,))]
    assert record._in_pairs(entries, "abc") == ["bad"]
    assert entries[0].file.is_file() and not entries[1].file.exists()


def test_changed_code_is_refused(monkeypatch, capsys):
    monkeypatch.setattr(record, "commit", lambda: "abc-dirty")
    monkeypatch.setattr("sys.argv", ["record"])
    with pytest.raises(SystemExit, match="2"):
        record.main()
    assert "commit them first" in capsys.readouterr().err


def test_a_name_that_is_none_is_refused(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["record", "full_sise"])
    with pytest.raises(SystemExit, match="2"):
        record.main()
    assert "no record 'full_sise'" in capsys.readouterr().err


if __name__ == "__main__":
    told = os.environ.get("QUIPUKIT_RECORD")
    print(f"set to {told}" if told else "skipped: it is not at hand")
