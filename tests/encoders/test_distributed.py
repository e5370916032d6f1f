"""Texts that are encoded elsewhere give the vectors that they give here."""

import numpy as np
import pytest

import quipukit as qk
from quipukit.encoders import distributed as module
from quipukit.encoders.distributed import chunks_by_length, distributed
from quipukit.executors import Dask, Local
from tests.executors.moody import Words, set_mood
from tests.executors.travelling import Travelling

TEXTS = [f"number {number} of {'many ' * (number % 5)}texts" for number in range(70)]


def test_a_local_executor_needs_nothing_in_between() -> None:
    encoder = Words()
    assert distributed(encoder, Local()) is encoder


def test_vectors_come_back_in_their_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LEAST_TEXTS", 4)
    encoder = Words()
    with Travelling() as executor:
        remote = distributed(encoder, executor)
        assert (remote.name, remote.dimension, remote.fingerprint) == ("moody words", 24, "moody-words")
        assert (remote.variant("query"), remote.similarity) == (encoder.variant("query"), "cosine")
        assert remote.encode(TEXTS).tobytes() == encoder.encode(TEXTS).tobytes()
        assert executor.items == 6
        assert executor.shared == 1


def test_workers_that_differ_in_the_last_bits_are_told_of_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LEAST_TEXTS", 4)
    probes = iter(["", "", "nudged", "", "nudged", ""])
    monkeypatch.setattr(module, "_probe", lambda encoder: next(probes))
    with Travelling() as executor, pytest.warns(UserWarning, match="differ in the last bits") as told:
        distributed(Words(), executor).encode(TEXTS[:24])
    assert len(told) == 1


def test_the_probe_sees_a_nudge() -> None:
    encoder = Words()
    usual = module._probe(encoder)
    assert module._probe(encoder) == usual  # and is computed once
    set_mood("nudged")
    try:
        assert module._probe(encoder) == usual
        assert module._probe(Words()) != usual
    finally:
        set_mood("")


def test_texts_are_divided_by_length_and_none_is_forgotten() -> None:
    lengths = np.array([5, 450_000, 7, 350_000, 0, 1_000_000, *range(10, 40)])
    chunks = chunks_by_length(lengths, 8)
    assert sorted(np.concatenate(chunks)) == list(range(len(lengths)))
    assert [chunk.tolist() for chunk in chunks[:3]] == [[5], [1], [3, *range(35, 28, -1)]]
    assert chunks_by_length(np.array([], np.int64), 8) == []


@pytest.mark.slow
@pytest.mark.serial
def test_minilm_encodes_on_a_worker_as_it_does_here() -> None:
    pytest.importorskip("distributed")
    encoder = qk.load_encoder("minilm")
    with Dask(workers=1) as executor:
        remote = distributed(encoder, executor)
        assert remote.dimension == 384
        assert remote.encode(TEXTS).tobytes() == encoder.encode(TEXTS).tobytes()
