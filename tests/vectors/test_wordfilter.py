"""Word filters: what they remove, what they leave, and that no slur leaves the default vocabulary, log or WordNet.

Offensive words are written in rot13 here, as in the list itself.
"""

import codecs

import numpy as np
import pytest

import quipukit as qk
from quipukit.collections.wordnet_glosses import WordNetGlosses
from quipukit.errors import FileError, VectorsError
from quipukit.mechanisms.aea import AEA
from quipukit.mechanisms.fea import FEA, marked_offensive
from quipukit.vectors import sources
from quipukit.vectors.sources import load_vectors
from quipukit.vectors.store import Vectors
from quipukit.vectors.wordfilter import OFFENSIVE, WordFilter, offensive, word_filter
from quipukit.wordnet.database import load_wordnet

# The stems that a critic greps for, some of their forms, compounds and spellings.
_OFFENDING = """
avttre Avttref avttref avttn snttbg snttbgf snt xvxr puvax fcvp tbbx pbba wnc enturnq ergneq genaal qlxr fdhnj shpx
shpxrq shpxvat zbgureshpxre pyhfgreshpx shpxjvg phag phagf juber fyhg ovgpu ovgpurf fuvg ohyyfuvg fuvggl nff nffubyr
nefrubyr qvpx pbpx chffl gvgf penc cvff cvffrq jnax onfgneq ubzb fulybpx phz
"""
OFFENDING = codecs.decode(_OFFENDING, "rot13").split()

# Words that hold such letters, words with a harmless main sense, and (the last lines) what people ask about in private:
# it must be known, so that it can be hidden.
HARMLESS = """
assassin assess class grass passing embassy cocktail peacock hancock hitchcock cockpit dickens dickinson scunthorpe
shiitake snigger niggardly document cumulative circumstance titan constitution competition essex sussex therapist
specialist spice analysis arsenal raccoon cocoon tycoon scrap skyscraper japan pakistan montenegro nigeria retardant
crackers cracker fairy queen queer prick screw bush lesbos whorl saltwater swank turdus dike
penis vagina anus anal semen sex sexual rape incest prostitute prostitution pornography masturbation homosexual
lesbian transgender gay jew jewish muslim gypsy abortion breast testicles
"""

# Words that WordNet marks for one sense, and whose main sense, or whose name, is harmless.
KEPT = """
black boy tom paddy mick mickey guinea taco spade nip hun jerry indian oriental colored white bull dirt poop pee peeing
screw screwing shag shaft tool peter prick sob butch dike fairy pansy queen queer pouf suit throwaway gamin nazi moonie
effeminacy effeminateness sissiness softness womanishness unmanliness touchy-feely paleface
"""


def test_the_offensive_list_removes_what_a_critic_greps_for():
    for word in OFFENDING:
        for form in (word, word.upper(), word.title(), f"{word}-like", f"half-{word}"):
            assert offensive().removes(form), codecs.encode(form, "rot13")


@pytest.mark.parametrize("word", HARMLESS.split())
def test_the_offensive_list_leaves_harmless_words(word):
    assert not offensive().removes(word)
    assert not offensive().removes(word.upper())


def test_words_that_wordnet_marks_as_slurs_or_obscenities_are_on_the_list():
    wordnet = load_wordnet()
    names = ("ethnic_slur", "disparagement", "obscenity")
    marks = {synset.id for name in names for synset in wordnet.synsets(name, "n")}
    marked = [
        lemma.lower()
        for synset in wordnet.all_synsets()
        if any(symbol == ";u" and target in marks for symbol, target in synset.pointers)
        for lemma in synset.lemmas
        if "_" not in lemma
    ]
    assert len(marked) > 100
    missing = [word for word in marked if word not in KEPT.split() and not offensive().removes(word)]
    assert [codecs.encode(word, "rot13") for word in missing] == []


# --- what can be sent, and what a report can show ---------------------------------------------------------------------


def test_the_default_vocabulary_holds_no_offensive_word():
    vectors = load_vectors()
    assert [word for word in vectors.words if offensive().removes(word)] == []
    assert len(vectors) == 49_366, "docs/mechanisms.md and CHANGELOG.md name the number"
    assert 40 <= vectors.meta["removed"] <= 100
    assert not any(word.lower() in vectors for word in OFFENDING)
    assert load_vectors(vocabulary_filter="offensive") is vectors
    # Composed of pieces, such a word has a place all the same: whoever asks with it is hidden like anybody else.
    assert vectors.compose(OFFENDING[0]) is not None


def test_the_built_in_log_holds_no_offensive_word():
    log = WordNetGlosses().query_log()
    assert len(log) == 120_000
    assert [query for query in log if offensive().removes(query)] == []


def test_relatives_in_wordnet_are_sent_without_offensive_words():
    word = "prostitute"
    lemmas = [lemma for synset in load_wordnet().synsets(word, "n") for lemma in synset.lemmas]
    assert any(map(offensive().removes, lemmas)), "the test has lost its object"
    candidates = AEA(level=5, senses="all").candidates(word)
    assert candidates
    assert not any(map(offensive().removes, candidates))


def test_keyqueries_are_sent_without_offensive_words():
    bad = OFFENDING[0]
    corpus = [(str(n), f"theft {bad} prison {bad}") for n in range(3)]
    sent = FEA(window=12, collection=corpus).obfuscate("theft", n=10)
    assert sent == ["prison"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "unsaid"),
    [
        ("homosexual man", "pouf queen pansy fairy"),
        ("black person slur", "mick spade tom boy offensive term"),
    ],
)
def test_keyqueries_of_wordnet_know_no_entry_that_it_marks_as_offensive(query, unsaid):
    """Each of these words is harmless, and was sent in the sense in which it is not."""
    sent = FEA(window=12).obfuscate(query, n=50)
    assert len(sent) == 50
    assert not set(" ".join(sent).split()) & set(unsaid.split())


def test_the_entries_that_wordnet_marks_as_offensive():
    entries = list(load_wordnet().entries())
    marked = dict(entry for entry in entries if marked_offensive(entry[1]))
    assert 60 <= len(marked) <= 80
    # All that say so in their gloss; words that are marked for some of the words of an entry alone are not enough.
    said = {id for id, entry in entries if "ethnic slur) " in entry or "offensive term for" in entry}
    assert len(said) > 20 and said <= set(marked)
    # What merely speaks of offence stays: attacks, smells, insults and the law about them.
    for word in ("offensive", "insult", "ethnic slur", "indecent exposure", "homosexual", "gay", "Jew", "prostitute"):
        assert not any(entry.startswith((f"{word}:", f"{word},")) for entry in marked.values())


# --- the format -------------------------------------------------------------------------------------------------------


def test_a_filter_of_one_s_own():
    words = WordFilter.of("own", ["# pets", "", "  Cat ", "dog*", "*fish", "*bird*", "CAF\u00c9"])
    removed = ["cat", "CAT", "dogs", "dog", "catfish", "fish", "birds", "jailbirds", "tom-cat", "caf\u00e9", "two_cat"]
    left = ["cats", "concat", "lapdog", "fishy"]
    assert [word for word in removed if not words.removes(word)] == []
    assert [word for word in left if words.removes(word)] == []


@pytest.mark.parametrize("line", ["*", "**", "a*", "*ab*", "f***", "c*t", "ca*ts*"])
def test_a_star_that_would_take_too_much_is_refused(line):
    with pytest.raises(FileError, match=r"own, line 2: '\*' may stand"):
        WordFilter.of("own", ["cat", line])


def test_files_that_are_no_filter_are_refused(tmp_path):
    with pytest.raises(FileError, match="no vocabulary filter 'offensiv'"):
        word_filter("offensiv")
    with pytest.raises(FileError, match="no vocabulary filter"):
        word_filter(tmp_path)
    (tmp_path / "empty.txt").write_text("# nothing\n\n")
    with pytest.raises(FileError, match=r"empty\.txt holds no word"):
        word_filter(tmp_path / "empty.txt")
    (tmp_path / "latin.txt").write_bytes("caf\u00e9".encode("latin-1"))
    with pytest.raises(FileError, match=r"latin\.txt is not UTF-8"):
        word_filter(tmp_path / "latin.txt")


def test_a_byte_order_mark_and_windows_lines_are_no_part_of_a_word(tmp_path):
    (tmp_path / "w.txt").write_bytes(b"\xef\xbb\xbfcat\r\ndog\r\n")
    assert word_filter(tmp_path / "w.txt").words == {"cat", "dog"}


def test_the_fingerprint_is_that_of_the_words():
    one = WordFilter.of("one", ["cat", "dog*"])
    assert one.fingerprint == WordFilter.of("two", ["# x", "dog*", "CAT", "cat"]).fingerprint
    assert one.fingerprint != WordFilter.of("one", ["cat", "dog"]).fingerprint


# --- vectors without words --------------------------------------------------------------------------------------------


@pytest.fixture
def pets(tmp_path, monkeypatch):
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path / "home"))
    path = tmp_path / "pets.txt"
    path.write_text("cat 0 0\ndog 1 0\nfish 0 2\nbird 3 1\nhorse 2 2\n")
    return path


def test_filtered_vectors_have_lost_the_words_and_nothing_else(tmp_path, pets):
    (tmp_path / "words.txt").write_text("Dog\nunicorn\nbir*\n")
    whole, left = load_vectors(pets), load_vectors(pets, vocabulary_filter=tmp_path / "words.txt")
    assert list(left.words) == ["cat", "fish", "horse"]
    for word in left.words:
        np.testing.assert_array_equal(left.vector(word), whole.vector(word))
    assert left.name == "pets without 2 words (words.txt)"
    assert left.fingerprint != whole.fingerprint
    assert left.folder is not None
    # Kept, and shared as long as it is in use.
    assert load_vectors(pets, vocabulary_filter=tmp_path / "words.txt") is left
    # Another list under the same name is another vocabulary.
    (tmp_path / "words.txt").write_text("cat\n")
    assert "cat" not in load_vectors(pets, vocabulary_filter=tmp_path / "words.txt")


def test_a_filtered_vocabulary_never_sends_a_removed_word(tmp_path, pets):
    (tmp_path / "words.txt").write_text("dog\nbird\n")
    left = load_vectors(pets, vocabulary_filter=tmp_path / "words.txt")
    for spec in ("CMP@0.1", "TEM@0.1", "SanText@0.1", "CusText(k=2)@0.1", "VickreyCMP@0.1", "Random"):
        sent = qk.mechanism(spec, left).obfuscate("cat dog fish bird", n=200, rng=np.random.default_rng(1))
        words = {word for text in sent for word in text.split()}
        assert words <= {"cat", "fish", "horse"}, spec
        assert len(words) > 1, spec


def test_a_pack_keeps_its_way_of_composing(tmp_path, monkeypatch, pets):
    pack = type("Pack", (), {"ABOUT": "", "fingerprint": staticmethod(lambda: "1")})
    pack.build = staticmethod(lambda: Vectors(["a", "bad"], np.eye(2), name="toy"))

    def finish(vectors):
        vectors.compose = lambda word: np.ones(2)
        return vectors

    pack.finish = staticmethod(finish)
    monkeypatch.setitem(sources.PACKS, "toy", pack)
    (tmp_path / "words.txt").write_text("bad\n")
    left = load_vectors("toy", vocabulary_filter=tmp_path / "words.txt")
    assert list(left.words) == ["a"]
    assert left.compose("bad").tolist() == [1, 1]


def test_a_filter_that_leaves_nothing_is_refused(tmp_path, pets):
    (tmp_path / "all.txt").write_text("cat\ndog\nfish\nbird\nhorse\n")
    with pytest.raises(VectorsError, match=r"all\.txt leaves no word of 'pets'"):
        load_vectors(pets, vocabulary_filter=tmp_path / "all.txt")


def test_the_built_in_filter_goes_by_its_name():
    assert word_filter(OFFENSIVE) is offensive()
