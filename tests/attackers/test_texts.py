"""Texts in a file: read back as they were, and sorted as a list would be (quipukit.attackers.textkernels)."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quipukit.attackers import scratch
from quipukit.attackers import texts as module
from quipukit.attackers.log import QueryLog
from quipukit.attackers.texts import Texts, alphabetical, kept
from quipukit.errors import InputError
from quipukit.text import divided, joined, key


@pytest.mark.parametrize("written", [[], [""], ["cat", "", "d\u00f6g", "\U0001f42d\n", "", "fish"]])
def test_a_file_is_read_as_a_list(written):
    texts = Texts.of(iter(written))
    assert (len(texts), list(texts)) == (len(written), written)
    assert [texts[row] for row in range(-len(written), len(written))] == written * 2
    for start, stop, step in itertools.product((None, -7, -2, 0, 3, 9), (None, -7, -2, 0, 3, 9), (None, 2, -1)):
        assert list(texts[start:stop:step]) == written[start:stop:step]
    for beyond in (len(written), -len(written) - 1):
        with pytest.raises(IndexError):
            texts[beyond]


def test_half_a_character_is_kept():
    assert Texts.of(["\ud800 a"])[0] == "\ud800 a"


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", 3)
    monkeypatch.setattr(module, "_RUN", 4)
    monkeypatch.setattr(module, "_FEW", 3)
    monkeypatch.setattr(module, "_FEW", 5)
    monkeypatch.setattr(module, "_COPIED", 7)


@pytest.mark.usefixtures("small_blocks")
def test_blocks_and_runs_do_not_change_anything():
    written = [f"{number * 7 % 23} Query {'é' * (number % 4)}" for number in range(23)]
    assert list(Texts.of(written)) == written
    expected = sorted(range(23), key=lambda row: key(written[row]))
    assert alphabetical(written).tolist() == alphabetical(Texts.of(written)).tolist() == expected


CHARACTERS = st.text(alphabet="ab\0 \u00e9\u4e00\U0001f600\ud800z", max_size=30)


@pytest.mark.usefixtures("small_blocks")
@given(st.lists(CHARACTERS, min_size=1, max_size=40, unique=True), st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_order_choice_and_addition_are_those_of_a_list(written, data):
    start = data.draw(st.integers(0, len(written) - 1))
    own, texts = written[start:], Texts.of(written)[start:]
    assert texts.order().tolist() == sorted(range(len(own)), key=own.__getitem__)
    rows = np.array(data.draw(st.lists(st.integers(0, len(own) - 1), max_size=20)), np.int64)
    assert list(texts.take(rows)) == [own[row] for row in rows]
    assert list(texts.joined(["x", "", "\u4e00"])) == [*own, "x", "", "\u4e00"]


@pytest.mark.parametrize(("few", "deepest"), [(2, 0), (2, 1000), (2, 16), (40, 16), (1000, 16)])
def test_many_texts_that_begin_alike_are_sorted(monkeypatch, few, deepest):
    monkeypatch.setattr(module, "_FEW", few)
    monkeypatch.setattr(module, "_LOTS", 500)
    monkeypatch.setattr(module, "_DEEPEST", deepest)
    rng = np.random.default_rng(few)
    ends = ["", "\0", "\0\0", *(f"{number:0{size}}" for number, size in rng.integers(1, 30, (60, 2)).tolist())]
    begins = ["", "the same beginning of all", "the same beginning of some", "the same b"]
    written = [begins[first] + ends[last] for first, last in rng.integers(0, (4, len(ends)), (500, 2)).tolist()]
    assert Texts.of(written).order().tolist() == sorted(range(500), key=written.__getitem__)


PIECES = st.text(alphabet='aB\0 \t"\\\x1c\x7f\u00e9\u212a\U0001f600\ud800', max_size=12)


@pytest.mark.usefixtures("small_blocks")
@given(st.lists(PIECES, min_size=1, max_size=20))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_packed_texts_are_those_of_a_list(written):
    texts = Texts.of(["before", *written])[1:]
    assert list(texts.keys()) == [key(text) for text in written]
    assert b", ".join(texts.as_json(3)).decode() == json.dumps(written)[1:-1]
    rows = np.arange(len(written))[::-1]
    for content, sizes in (texts.packed(rows), joined(written[::-1])):
        assert divided(content, list(sizes)) == written[::-1]
    content, sizes = joined(texts)
    assert divided(content, list(sizes)) == written
    assert texts.sizes.tolist() == [len(text.encode("utf-8", "surrogatepass")) for text in written]


LOG = ["Cats", "cats ", "dogs", "", "ＣＡＴＳ", "Dogs", "a mouse", "fish"]


def described(log):
    full = log.completed(["CATS", "Bird", "bird", ""])
    some = full.sample(4, np.random.default_rng(3))
    sought = [*LOG, "bird", "none"]
    rows = full.rows(sought).tolist()  # before there is an index, and after
    assert rows == [full.row(text) for text in sought] == full.rows(sought).tolist()
    found = [(list(one.texts), one.counts.tolist(), one.added, list(one.public)) for one in (log, full, some)]
    return found, rows, alphabetical(full.texts).tolist()


@pytest.mark.usefixtures("small_blocks")
def test_a_long_log_is_the_same_log(monkeypatch):
    short = described(QueryLog.of(LOG, range(1, 9)))
    assert short[0][0][:2] == (["Cats", "dogs", "a mouse", "fish"], [8, 9, 7, 8])
    monkeypatch.setattr(scratch, "LONG", 2)
    monkeypatch.setattr("quipukit.attackers.log._MANY", 0)
    assert isinstance(QueryLog.of(LOG).texts, Texts) and isinstance(kept(["a", "b"]), list)
    assert described(QueryLog.of(LOG, range(1, 9))) == short


def test_keys_with_one_hash_are_told_apart(monkeypatch):
    monkeypatch.setattr("quipukit.attackers.log.hashes_of", lambda keys: np.array(list(map(len, keys)), np.uint64))
    log = QueryLog.of(["cat", "dog", "CAT", "bird", "Dog", "cow"])
    assert (log.texts, log.counts.tolist()) == (["cat", "dog", "bird", "cow"], [2, 2, 1, 1])
    assert [log.row(text) for text in ("cow", "dog", "bird", "ant")] == [3, 1, 2, -1]


@pytest.mark.parametrize("counts", [[2**63, 1], [2**62, 2**62]])
def test_counts_that_do_not_add_up_are_refused(counts):
    with pytest.raises(InputError, match="too large to add up"):
        QueryLog.of(["cats", "Cats"], counts)
