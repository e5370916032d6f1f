"""From a name to a collection."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from quipukit.collections.files import Folder
from quipukit.collections.load import collection_names, load_collection
from quipukit.collections.wordnet_glosses import WordNetGlosses
from quipukit.errors import InputError, ResourceError
from quipukit.plugins import temporarily_installed


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


def lacks_a_library() -> None:
    raise ImportError("No module named 'nowhere_at_all'")


def test_plugins() -> None:
    with temporarily_installed("quipukit.collections", mine=WordNetGlosses, broken=lacks_a_library, wrong=dict):
        assert isinstance(load_collection("mine"), WordNetGlosses)
        assert collection_names() == ["wordnet", "broken", "mine", "wrong"]
        with pytest.raises(ResourceError, match="the plugin of collection 'broken' cannot be loaded"):
            load_collection("broken")
        with pytest.raises(ResourceError, match="'wrong' returned no Collection"):
            load_collection("wrong")


@pytest.mark.heavy
def test_the_start_is_light() -> None:
    heavy = "{'torch', 'numba', 'ir_datasets', 'sentence_transformers'}"
    code = f"import sys, quipukit.collections.load as l; l.load_collection(); print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "set()", done.stderr
