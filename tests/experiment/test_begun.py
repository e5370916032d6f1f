"""experiment.json: read by later versions, refused where it was damaged or belongs to something else."""

import json
from pathlib import Path

import pytest

from quipukit.errors import FileError, InputError
from quipukit.experiment.begun import FILE, Begun, refuse_foreign_files, working_directory
from quipukit.experiment.options import Options


def begun(**changes: object) -> Begun:
    return Begun(json.loads(json.dumps(Options(**changes).to_json())), [], "..", {"queries": "abc"})  # type: ignore[arg-type]


def test_what_was_written_is_read(tmp_path: Path) -> None:
    begun(k=5).save(tmp_path)
    read = Begun.load(tmp_path)
    assert read is not None and read.options == Options(k=5)
    assert (read.directory, read.fingerprints) == ("..", {"queries": "abc"})
    assert Begun.load(tmp_path / "nothing") is None


def test_a_file_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    content = begun().content
    old = {name: value for name, value in content.items() if name != "attackers"} | {"n": 50}
    (tmp_path / FILE).write_text(
        json.dumps({"form": 1, "options": old, "given": [], "prints": {"log": "x", "systems": "y"}})
    )
    read = Begun.load(tmp_path)
    assert read is not None and read.options == Options() and read.fingerprints == {"log": "x"}


def test_a_changed_file_is_refused(tmp_path: Path) -> None:
    begun().save(tmp_path)
    text = (tmp_path / FILE).read_text(encoding="utf-8")
    (tmp_path / FILE).write_text(text.replace('"k": 10', '"k": 11'), encoding="utf-8")
    with pytest.raises(FileError, match="is damaged or of another version"):
        Begun.load(tmp_path)


def test_what_can_be_extended_is_not_compared(tmp_path: Path) -> None:
    first = begun()
    first.check_options(tmp_path, Options(n=(5, 50), seeds=3, specs=("CMP@5",)))  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"holds another experiment \(k: 10 there, 5 here\)"):
        first.check_options(tmp_path, Options(k=5))


def test_foreign_files_are_refused_and_locks_are_not(tmp_path: Path) -> None:
    (tmp_path / ".lock").touch()
    (tmp_path / ".experiment-abcd1_fg.json").touch()
    refuse_foreign_files(tmp_path)
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(InputError, match="holds other files"):
        refuse_foreign_files(tmp_path)


def test_relative_paths_lead_from_where_it_was_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "project" / "run").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    with working_directory(tmp_path / "project" / "run", begun()):
        assert Path.cwd() == tmp_path / "project"
    assert Path.cwd() == tmp_path
