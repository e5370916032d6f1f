"""From a name to a collection."""

import os
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from quipukit.collections import load
from quipukit.collections.files import Folder
from quipukit.collections.load import collection_names, load_collection
from quipukit.collections.wordnet_glosses import WordNetGlosses
from quipukit.errors import InputError, ResourceError


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wordnet").mkdir()
    (tmp_path / "wordnet" / "docs.tsv").write_text("d1\ttext\n")
    return tmp_path


def test_wordnet_is_the_default() -> None:
    assert isinstance(load_collection(), WordNetGlosses)
    assert isinstance(load_collection("WordNet"), WordNetGlosses)


def test_folders_by_path(here: Path) -> None:
    for name in (here / "wordnet", str(here / "wordnet"), f".{os.sep}wordnet", Path("wordnet")):
        assert isinstance(load_collection(name), Folder)
    assert isinstance(load_collection("wordnet"), WordNetGlosses)


def test_a_home_folder(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(here))
    assert isinstance(load_collection("~/wordnet"), Folder)


@pytest.mark.parametrize("name", ["", "msmarco", "nowhere/at/all"])
def test_an_unknown_name_tells_what_there_is(here: Path, name: str) -> None:
    with pytest.raises(InputError, match=f"no collection '{name}'; name a folder, 'irds:ID', or one of: wordnet"):
        load_collection(name)


def test_a_file_is_not_a_folder(here: Path) -> None:
    with pytest.raises(InputError, match=r"docs\.tsv is a file; name the folder"):
        load_collection(here / "wordnet" / "docs.tsv")


def plugin(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    entry = EntryPoint("mine", value, load.GROUP)
    monkeypatch.setattr(load, "_plugins", lambda: {"mine": entry})


def test_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    plugin(monkeypatch, "quipukit.collections.wordnet_glosses:WordNetGlosses")
    assert isinstance(load_collection("mine"), WordNetGlosses)
    assert collection_names() == ["wordnet", "mine"]
    plugin(monkeypatch, "nowhere_at_all:Mine")
    with pytest.raises(ResourceError, match="the plugin of collection 'mine' cannot be loaded"):
        load_collection("mine")
    plugin(monkeypatch, "builtins:dict")
    with pytest.raises(ResourceError, match="'mine' returned no Collection"):
        load_collection("mine")


def test_the_start_is_light() -> None:
    heavy = "{'torch', 'numba', 'ir_datasets', 'sentence_transformers'}"
    code = f"import sys, quipukit.collections.load as l; l.load_collection(); print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "set()", done.stderr
