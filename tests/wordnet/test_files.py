"""The files of a copy of WordNet: found in the order of their places, read once, refused where they are damaged."""

import zipfile

import pytest

from quipukit.errors import ResourceError
from quipukit.wordnet.files import WordNetFiles, find_copy, usual_places
from tests.wordnet.test_database import TINY, write


@pytest.fixture
def files(tmp_path):
    return WordNetFiles(write(tmp_path / "dict", TINY))


def test_the_first_complete_copy_is_taken(tmp_path):
    half = write(tmp_path / "half", {name: text for name, text in TINY.items() if name != "adv.exc"})
    packed = tmp_path / "wordnet.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in TINY.items():
            archive.writestr(f"wordnet/{name}", text)
    whole = write(tmp_path / "whole", TINY)
    assert find_copy(places=[tmp_path / "none", half, packed, whole]) == packed
    assert find_copy(places=[half, whole, packed]) == whole
    with pytest.raises(ResourceError, match=r"adv\.exc is missing"):
        find_copy(half)
    assert WordNetFiles(packed).find("n00000112") == WordNetFiles(whole).find("n00000112")


def test_the_environment_comes_before_the_systems_copies(tmp_path, monkeypatch):
    monkeypatch.setenv("NLTK_DATA", str(tmp_path / "nltk"))
    monkeypatch.setenv("WNHOME", str(tmp_path / "wn"))
    places = [str(place) for place in usual_places()]
    order = [str(tmp_path / "nltk" / "corpora" / "wordnet"), str(tmp_path / "wn" / "dict"), "/usr/share/wordnet"]
    assert sorted(order, key=places.index) == order


def test_a_line_is_taken_apart(files):
    assert files.find("n00000026") == (
        "n00000026",
        ("whole", "Big_thing"),
        'all of it; "the whole"',
        (("~", "n00000112"),),
        False,
    )
    assert files.find("a00000000") == ("a00000000", ("able",), "having the skill", (), True), "a satellite, unmarked"


@pytest.mark.parametrize("id", ["n00000027", "n99999999", "x00000026", "n26", "", "n00000026 "])
def test_what_is_no_id_finds_nothing(files, id):
    assert files.find(id) is None


def test_counts_and_exceptions(files):
    assert files.tag_counts() == {("able", "a00000000"): 4, ("part", "n00000112"): 7}
    assert files.exceptions("n") == {"partz": ("part",)} and files.exceptions("v") == {}
    assert files.word_counts()["whole"] == 2 and files.word_counts()["big"] == 1


def test_a_file_is_read_once(files):
    first = files.index("n")
    (files.source / "index.noun").write_text("")
    assert files.index("n") is first
    with pytest.raises(ResourceError, match=r"index\.noun .* is damaged: it is empty"):
        WordNetFiles(files.source).index("n")


def test_windows_line_ends_make_the_same_copy(tmp_path, files):
    other = WordNetFiles(write(tmp_path / "windows", TINY, line_end="\r\n"))
    assert other.fingerprint() == files.fingerprint()
    write(tmp_path / "other", {**TINY, "data.adv": TINY["data.adv"].replace("quickly", "quicker")})
    assert WordNetFiles(tmp_path / "other").fingerprint() != files.fingerprint()
