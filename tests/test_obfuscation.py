"""Obfuscating many at once: binding, planning, what comes back, what is refused, and how much memory it takes."""

import functools
import gc
import importlib
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

import quipukit
from quipukit import obfuscation
from quipukit.errors import FrameError, InputError, QuipukitError, SpecError
from quipukit.mechanisms import perturbation
from quipukit.mechanisms.cmp import CMP
from quipukit.mechanisms.identity import Identity
from quipukit.mechanisms.santext import SanText
from quipukit.obfuscation import (
    bind,
    mechanism,
    notes,
    obfuscate,
    obfuscate_parts,
    obfuscate_with_notes,
    plan,
    with_values,
)
from quipukit.specs import spec
from quipukit.vectors.store import Vectors
from tests.examples import examples

WORDS = ["cat", "dog", "house", "garden", "river", "city", "train", "music", "green", "cold", "ocean", "paper"]
SECRET = "my secret illness"
OPTIONS = "it has oov, tokenizer, unsafe, shuffle, length, budget"


@functools.cache
def vocabulary() -> Vectors:
    return Vectors(WORDS, np.random.default_rng(12).standard_normal((12, 4)))


@functools.cache
def other_vocabulary() -> Vectors:
    return Vectors(WORDS, np.random.default_rng(13).standard_normal((12, 4)))


WORD_SPECS = [
    "CMP@3", "Mahalanobis@3", "VickreyCMP@3", "VickreyMhl@3", "CusText(k=3)@3", "SanText@3", "SanText+@3", "TEM@3",
    "WBB(n=4)@3", "Random",
]  # fmt: skip


# --- the public names ------------------------------------------------------------------------------------------------


def test_public_names_are_there():
    for name in quipukit.__all__:
        assert getattr(quipukit, name) is not None
    assert set(quipukit.__all__) <= set(dir(quipukit))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = quipukit.nothing


def test_the_public_name_stays_the_function():
    # A module of the same name would take the function's place as soon as it is imported.
    for name in ("obfuscate", "mechanism", "notes", "spec", "key", "load_vectors"):
        assert callable(getattr(quipukit, name))
        importlib.import_module(quipukit._HOMES[name])
        assert callable(getattr(quipukit, name))
    assert quipukit.obfuscate is obfuscate


# --- binding ---------------------------------------------------------------------------------------------------------


def test_a_spec_is_bound():
    bound = mechanism("cmp@10", vectors=vocabulary())
    assert bound == CMP(epsilon=10, vectors=vocabulary())
    assert mechanism(spec("CMP@10"), vectors=vocabulary()) == bound
    assert mechanism(bound) is bound
    assert repr(bound.spec) == "CMP@10"
    assert mechanism("Identity") == Identity()


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("VickreyCMP(t=0.75)@3", "VickreyCMP@3"),
        ("VickreyMhl(lam=0.5, t=0.5)@3", None),
        ("CusText(k=10.0)@3", "CusText@3"),
        ("CusText(mapping=groups, k=4)@3", "CusText(k=4)@3"),
        ("SanText+(p=0.2)@3", "SanText+@3"),
        ("WBB(k=2, n=4)@3", "WBB(n=4)@3"),
        ("TEM(beta=0.001, gamma=none)@3", "TEM@3"),
        ("CMP(oov=anchor, tokenizer=whitespace)@3", "CMP(tokenizer='whitespace')@3"),
        ("Random(unsafe=false)", "Random"),
    ],
)
def test_the_bound_spec_is_canonical_and_binds_again(text, canonical):
    bound = mechanism(text, vectors=vocabulary())
    if canonical:
        assert repr(bound.spec) == canonical
    assert mechanism(repr(bound.spec), vectors=vocabulary()) == bound


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("CPM@10", "did you mean .*CMP"),
        ("CMP", "CMP needs its epsilon; write for instance CMP@1"),
        ("CMP@0", r"epsilon must lie in \[1e-06, 1e\+06\] \(found 0\)"),
        ("CMP@-1", "epsilon must lie in"),
        ("CMP@1e7", "epsilon must lie in"),
        ("CMP@9e-7", "epsilon must lie in"),
        ("CMP@nan", "finite"),
        ("CMP@inf", "finite"),
        ("CMP(k=3)@10", rf"CMP has no option 'k' \({OPTIONS}\)\. 'k' belongs to CusText, NoisyRANTEXT, WBB"),
        ("CMP(level=3)@10", "'level' belongs to AEA|CMP has no option 'level'"),
        ("TEM(t=0.5)@10", "'t' belongs to VickreyCMP, VickreyMhl"),
        ("CMP(nonsense=3)@10", rf"CMP has no option 'nonsense' \({OPTIONS}\)\.$"),
        ("CMP(epsilon=3)@10", "takes its epsilon after '@'"),
        ("CMP(vectors=x)@10", "CMP has no option 'vectors'"),
        ("CusText(k=3, k=4)@10", "sets an option twice"),
        ("Identity@10", "Identity has no privacy parameter; write Identity"),
        ("Random@1", "Random has no privacy parameter"),
        ("Identity(k=1)", r"Identity has no option 'k' \(it has none\)"),
        ("CMP(oov=keep)@10", "unsafe=True"),
        ("CMP(oov=keep, unsafe=no)@10", "unsafe must be True or False"),
    ],
)
def test_what_cannot_be_bound_says_why(text, fault):
    with pytest.raises(SpecError, match=fault) as caught:
        mechanism(text, vectors=vocabulary())
    assert "\n" not in str(caught.value)


@given(st.text(max_size=30))
@examples(100)
def test_any_text_is_bound_or_refused_on_purpose(text):
    try:
        mechanism(text, vectors=vocabulary())
    except QuipukitError:
        return
    assert spec(text)


def test_none_and_the_same_twice_are_refused():
    with pytest.raises(SpecError, match="no mechanism is given"):
        bind([])
    with pytest.raises(SpecError, match="CMP@3 is given twice"):
        bind(["CMP@3", "TEM@3", "cmp@3.0"], vectors=vocabulary())
    with pytest.raises(SpecError, match="is given twice"):
        bind(["VickreyCMP@3", "VickreyCMP(t=0.75)@3"], vectors=vocabulary())


# --- what comes back --------------------------------------------------------------------------------------------------


def test_the_table():
    frame = obfuscate({"x": "cat dog", "y": "river"}, ["CMP@3", "CMP@5", "Identity"], 4, vectors=vocabulary(), seed=1)
    assert list(frame.columns) == ["qid", "variant", "query", "mechanism", "parameter", "value", "n", "noise"]
    assert len(frame) == 3 * 2 * 4
    assert set(frame["n"]) == {4} and set(frame["noise"]) == {"independent"}
    assert frame.attrs == {}
    sizes = frame.groupby(["mechanism", "parameter", "value", "qid"]).size()
    assert sizes.to_dict() == {
        (name, parameter, value, qid): 4
        for name, parameter, value in [("CMP", "epsilon", 3), ("CMP", "epsilon", 5), ("Identity", "", 0)]
        for qid in "xy"
    }
    assert frame["variant"].tolist() == [0, 1, 2, 3] * 6
    # In the order in which they were asked for.
    assert frame["value"].tolist() == [3] * 8 + [5] * 8 + [0] * 8
    assert frame["qid"].tolist() == (["x"] * 4 + ["y"] * 4) * 3


def test_options_are_part_of_the_name():
    specs = ["CusText(k=3)@3", "CusText(k=4)@3"]
    frame = obfuscate("cat", specs, 1, vectors=vocabulary())
    assert frame["mechanism"].tolist() == ["CusText(k=3)", "CusText(k=4)"]


def test_the_callers_frame_is_left_alone_and_can_be_used_again():
    mine = pd.DataFrame({"query": ["cat dog", "river"], "qid": [1, 2], "more": ["x", "y"]}, index=[7, 3])
    before = mine.copy(deep=True)
    first = obfuscate(mine, WORD_SPECS, 2, vectors=vocabulary(), seed=1)
    assert_frame_equal(mine, before)
    assert_frame_equal(obfuscate(mine, WORD_SPECS, 2, vectors=vocabulary(), seed=1), first)


def test_the_form_of_the_queries_does_not_matter():
    forms = [
        ["cat dog", "river"],
        {"1": "cat dog", "2": "river"},
        {1: "cat dog", 2: "river"},
        pd.DataFrame({"qid": ["1", "2"], "query": ["cat dog", "river"]}),
        pd.DataFrame({"qid": [1, 2], "query": ["cat dog", "river"]}),
        pd.DataFrame({"qid": pd.Categorical([1, 2]), "query": ["cat dog", "river"]}),
    ]
    found = [obfuscate(form, "CMP@3", 5, vectors=vocabulary(), seed=1)["query"].tolist() for form in forms]
    assert all(texts == found[0] for texts in found)


def test_one_spec_needs_no_list():
    for one in ("CMP@3", spec("CMP@3"), CMP(epsilon=3, vectors=vocabulary())):
        assert len(obfuscate("cat", one, 3, vectors=vocabulary())) == 3


def test_no_queries_give_an_empty_table():
    for form in ([], {}, pd.DataFrame({"qid": [], "query": []})):
        frame = obfuscate(form, WORD_SPECS, 3, vectors=vocabulary())
        assert len(frame) == 0
        assert list(frame.columns) == ["qid", "variant", "query", "mechanism", "parameter", "value", "n", "noise"]
        assert len(notes(frame)) == 0


def test_notes_tell_what_was_flagged():
    asked = {"empty": " ?! ", "unknown": "zyzzyva cat quux", "plain": "cat dog"}
    frame = obfuscate(asked, WORD_SPECS, 3, vectors=vocabulary(), seed=1)
    found = notes(frame)
    for name in {spec(text).family for text in WORD_SPECS}:
        mine = found[found["mechanism"] == name]
        flags = {(qid, flag): count for qid, flag, count in zip(mine["qid"], mine["flag"], mine["count"], strict=True)}
        flags = {key: count for key, count in flags.items() if key[1] != "passed"}
        assert flags == {("empty", "empty"): 1, ("unknown", "oov"): 2}, name
    assert frame.loc[frame["qid"] == "empty", "query"].tolist() == [""] * 3 * len(WORD_SPECS)


def test_notes_belong_to_the_table_that_was_returned():
    frame = obfuscate("zyzzyva", "CMP@3", 2, vectors=vocabulary())
    assert len(notes(frame)) == 1
    # Not empty ones: that would read as "nothing was flagged".
    for other in (frame.copy(), frame.head(1), pd.DataFrame()):
        with pytest.raises(InputError, match="has no notes"):
            notes(other)
    number = id(frame)
    assert number in obfuscation._notes_of
    del frame, other
    gc.collect()
    assert number not in obfuscation._notes_of


def test_mechanisms_may_have_vectors_of_their_own():
    # Equal specs on different vectors in one batch would share sites; they must not.
    one = CMP(epsilon=3, vectors=vocabulary())
    other = CMP(epsilon=4, vectors=other_vocabulary())
    together = obfuscate("cat dog river", [one, other], 20, seed=1)
    for bound in (one, other):
        alone = obfuscate("cat dog river", bound, 20, seed=1)["query"].tolist()
        assert together.loc[together["value"] == bound.epsilon, "query"].tolist() == alone


@given(st.dictionaries(st.text(min_size=1, max_size=5), st.text(max_size=40), max_size=4), st.integers(1, 4))
@examples(40)
def test_any_queries_are_obfuscated(asked, n):
    frame = obfuscate(asked, WORD_SPECS, n, vectors=vocabulary(), seed=2)
    assert len(frame) == len(asked) * n * len(WORD_SPECS)
    assert {token for text in frame["query"] for token in text.split()} <= set(WORDS)


@pytest.mark.parametrize("lone", ["\ud800", "cat \udcff dog"])
def test_a_lone_surrogate_is_no_reason_to_crash(lone):
    # Bytes that are no UTF-8 reach a program's arguments in this form.
    try:
        frame = obfuscate([lone], ["CMP@3", "SanText@3"], 2, vectors=vocabulary())
    except QuipukitError:
        return
    assert {token for text in frame["query"] for token in text.split()} <= set(WORDS)


# --- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, -1, 1.5, "3", None, True])
def test_another_number_of_variants_is_refused(n):
    with pytest.raises(InputError, match="n, the number of variants"):
        obfuscate("cat", "CMP@3", n, vectors=vocabulary())


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({"n": -1}, "n, the number of variants"),
        ({"n": None}, "n, the number of variants"),
        ({"n": 2.0}, "n, the number of variants"),
        ({"n": 10**6 + 1}, "must be at most 1,000,000"),
        ({"n": 10**20}, "must be at most 1,000,000"),
        ({"rng": 7}, "rng must be a NumPy generator"),
        ({"rng": np.random.RandomState(7)}, "rng must be a NumPy generator"),
        ({"query": None}, "a query must be a text"),
        ({"query": ["cat"]}, "a query must be a text"),
    ],
)
@pytest.mark.parametrize("name", ["CMP@3", "SanText@3", "Identity"])
def test_a_mechanism_alone_refuses_the_same(name, arguments, fault):
    bound = mechanism(name, vectors=vocabulary())
    with pytest.raises(InputError, match=fault):
        bound.obfuscate(**{"query": "cat", **arguments})


def test_pairs_and_a_series_keep_their_ids():
    for form in ([("q1", "cat"), ("q2", "dog")], pd.Series({"q1": "cat", "q2": "dog"})):
        frame = obfuscate(form, "Identity", 1)
        assert list(zip(frame["qid"], frame["query"], strict=True)) == [("q1", "cat"), ("q2", "dog")]


@pytest.mark.parametrize(
    ("options", "fault"),
    [({"noise": "shared"}, "noise must be"), ({"noise": "common"}, "needs a seed"), ({"noise": None}, "noise must be")],
)
def test_another_noise_is_refused(options, fault):
    with pytest.raises(InputError, match=fault):
        obfuscate("cat", "CMP@3", 2, vectors=vocabulary(), **options)


@pytest.mark.parametrize("seed", [1.5, "seven", [1], True])
def test_another_seed_is_refused(seed):
    with pytest.raises(InputError, match="seed"):
        obfuscate("cat", "CMP@3", 2, vectors=vocabulary(), seed=seed)


def test_a_seed_of_numpy_is_the_seed():
    plain = obfuscate("cat dog", "CMP@3", 5, vectors=vocabulary(), seed=7)
    assert_frame_equal(obfuscate("cat dog", "CMP@3", 5, vectors=vocabulary(), seed=np.int64(7)), plain)


def test_queries_without_an_id_are_refused():
    with pytest.raises(FrameError, match="needs column 'qid'"):
        obfuscate(pd.DataFrame({"id": [1], "query": [SECRET]}), "CMP@3", 2, vectors=vocabulary())
    with pytest.raises(FrameError, match="two rows with qid=1"):
        obfuscate(pd.DataFrame({"qid": [1, 1], "query": [SECRET, SECRET]}), "CMP@3", 2, vectors=vocabulary())


@pytest.mark.parametrize(
    ("specs", "options"),
    [("CPM@1", {}), ("CMP@0", {}), ("CMP@3", {"n": 0}), ("CMP@3", {"noise": "x"}), ([], {}), (["CMP@3", "CMP@3"], {})],
)
def test_no_message_quotes_a_query(specs, options):
    with pytest.raises(QuipukitError) as caught:
        obfuscate([SECRET], specs, options.pop("n", 2), vectors=vocabulary(), **options)
    assert "secret" not in str(caught.value)


def test_a_failure_inside_a_mechanism_is_not_swallowed(monkeypatch):
    # An exception handler that falls back to the word itself is how released code leaks.
    def broken(self, near):
        raise RuntimeError("broken law")

    monkeypatch.setattr(SanText, "law", broken)
    with pytest.raises(RuntimeError, match="broken law"):
        obfuscate("cat dog", "SanText@3", 2, vectors=vocabulary())


# --- planning and progress ------------------------------------------------------------------------------------------


def test_what_can_share_work_is_planned_together():
    specs = [
        "CMP@1",
        "SanText@1",
        "CMP@2",
        "VickreyCMP@1",
        "TEM@1",
        "Mahalanobis@1",
        "CusText(k=3)@1",
        "CusText(k=3)@2",
    ]
    groups = plan(bind([*specs, "Identity", "CMP(oov=drop)@1"], vectors=vocabulary()))
    assert sorted(map(sorted, groups)) == [[0, 2, 3, 5], [1, 4], [6, 7], [8], [9]]


@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize("asked", [["cat dog", "", "zyzzyva"], ["", "?"], ["cat"] * 7])
def test_progress_rises_to_its_end(threads, asked, monkeypatch):
    monkeypatch.setenv("QUIPUKIT_THREADS", threads)
    monkeypatch.setattr(obfuscation, "_MOST_QUERIES", 2)
    seen = []
    specs = [*WORD_SPECS, "Identity"]
    obfuscate(asked, specs, 3, vectors=vocabulary(), seed=1, progress=lambda done, total: seen.append((done, total)))
    assert {total for _, total in seen} == {len(asked) * len(specs)}
    done = [amount for amount, _ in seen]
    assert done == sorted(done)
    assert done[-1] == pytest.approx(len(asked) * len(specs))


@pytest.mark.parametrize("noise", ["common", "independent"])
@pytest.mark.parametrize("most", [1, 10, 14, 1000])
def test_parts_come_one_by_one_and_add_up_to_the_whole(noise, most, monkeypatch):
    asked = {"1": "cat dog", "2": "", "3": "zyzzyva house", "4": "house cat", "5": "dog"}
    members = bind(["CMP@5", "TEM@5", "CMP@10", "Identity"], vectors=vocabulary())
    told, tables, notes_of, ended = [], {}, {}, []
    monkeypatch.setattr(obfuscation, "_MOST_TEXTS", most)
    parts = obfuscate_parts(
        asked, members, 3, seed=5, noise=noise, progress=lambda done, total: told.append((done, total))
    )
    for member, part, last in parts:
        assert member not in ended
        # Two members share their work, so that each may have half of the texts; but one query at least.
        assert len(part.table) <= max(3, most // 2)
        tables.setdefault(member, []).append(part.table)
        notes_of.setdefault(member, []).append(part.notes)
        ended += [member] if last else []
    assert [repr(one.spec) for one in ended] == ["CMP@5", "CMP@10", "TEM@5", "Identity"]
    assert len(tables[members[0]]) == {1: 5, 10: 5, 14: 3, 1000: 1}[most]
    for member in members:
        alone = obfuscate_with_notes(asked, [member], 3, seed=5, noise=noise)
        assert_frame_equal(pd.concat(tables[member], ignore_index=True), alone.table)
        assert_frame_equal(pd.concat(notes_of[member], ignore_index=True), alone.notes)
        assert set(alone.table["n"]) == {3} and set(alone.table["noise"]) == {noise}
    assert told[-1] == (20, 20)


# --- memory ---------------------------------------------------------------------------------------------------------


def peak(work) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.heavy
@pytest.mark.parametrize("name", [pytest.param("CMP@8", marks=pytest.mark.slow), "TEM@8"])
def test_memory_does_not_grow_with_variants_times_dimensions(name):
    # 200 queries of 5 words and 20 variants: 20,000 noisy vectors of 256 dimensions would be 40 MB at once, and the
    # distances to all words 24 MB more for each mechanism.
    vectors = Vectors([f"w{i}" for i in range(300)], np.random.default_rng(1).standard_normal((300, 256)))
    bound = mechanism(name, vectors=vectors)
    asked = [" ".join(f"w{(i * 7 + j) % 300}" for j in range(5)) for i in range(200)]
    bound.obfuscate("w1 w2")  # what is built once does not count
    few = peak(lambda: obfuscate(asked, bound, 2, seed=1))
    many = peak(lambda: obfuscate(asked, bound, 20, seed=1))
    # What has to be there for each word that is sent: its number, its text and its cell in the table.
    assert many - few < 18 * 1000 * 400 + perturbation._ROWS * 256 * 8 * 5


@pytest.mark.heavy
@pytest.mark.parametrize(
    "name", [*(pytest.param(one, marks=pytest.mark.slow) for one in ("CMP@8", "VickreyMhl(lam=0.5)@8")), "SanText@8"]
)
def test_memory_of_a_huge_query_is_bounded(name):
    # 30,000 words in one query: their noise alone would be 61 MB at once, and it is copied more than once.
    vectors = Vectors([f"w{i}" for i in range(50)], np.random.default_rng(2).standard_normal((50, 256)))
    bound = mechanism(name, vectors=vectors)
    short, long = " ".join(["w1 w2"] * 2500), " ".join(["w1 w2"] * 15_000)
    bound.obfuscate("w1 w2")
    small = peak(lambda: obfuscate([short], bound, 1, seed=1))
    large = peak(lambda: obfuscate([long], bound, 1, seed=1))
    assert large - small < 25_000 * 500
    assert len(obfuscate([long], bound, 1, seed=1)["query"][0].split()) == 30_000

    settings = with_values([bound, "TEM", "AEA@3"], [1.0, 2.0], lambda cls: [])
    assert settings == [bound, spec("TEM@1"), spec("TEM@2"), spec("AEA@3")]
    assert with_values([bound], [], lambda cls: []) == [bound]
    with pytest.raises(SpecError, match="epsilons= is given") as told:
        with_values([bound], [1.0], lambda cls: [])
    assert told.value.arguments == ("epsilons",)
