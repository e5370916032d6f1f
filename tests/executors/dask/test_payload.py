"""What travels shows nothing; resources go as references, and classes of a notebook go whole."""

import pickle
from typing import Any

import numpy as np
import pytest

import quipukit as qk
from quipukit.executors.dask.payload import Redacted, Reference, dump_call, load_call
from quipukit.executors.shared import Shared
from tests.executors.moody import Words


def test_what_travels_shows_nothing() -> None:
    assert repr(Redacted(b"secret")) == str([Redacted(b"secret")])[1:-1] == "Redacted(...)"


def refuse(resource: Shared) -> Reference:
    raise AssertionError(f"nothing is shared here: {resource}")


def reference(resource: Shared) -> Reference:
    return Reference("run", 7, resource.kind, "", resource.content_id, None)


def test_a_call_arrives_as_it_was() -> None:
    call, classes = dump_call(sorted, ["b", "a"], refuse)
    assert load_call(call, lambda _: None) == (sorted, ["b", "a"])
    assert classes == frozenset()


def test_mechanisms_travel_without_their_vectors() -> None:
    vectors = qk.Vectors(["cat", "dog"], np.eye(2))
    mechanism = qk.mechanism("CMP@5", vectors=vectors)
    call, _ = dump_call(repr, mechanism, reference)
    assert b"dog" not in call
    asked: list[Reference] = []
    _, arrived = load_call(call, lambda one: asked.append(one) or vectors)  # type: ignore[func-returns-value]
    assert arrived.vectors is vectors
    assert arrived == mechanism
    assert asked == [reference(vectors)]
    assert str(asked[0]) == "the vectors"


def test_classes_of_others_are_noted_and_ours_are_not() -> None:
    _, classes = dump_call(repr, [Words(), qk.load_encoder("minilm"), qk.mechanism("Identity")], reference)
    assert classes == {Words}


def test_a_class_of_a_notebook_travels_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(
        "import dataclasses, quipukit as qk\n"
        "@dataclasses.dataclass(frozen=True, kw_only=True)\n"
        "class Upper(qk.Identity):\n"
        "    name = 'Upper'\n"
        "    def variants(self, query, n, rngs):\n"
        "        return type(super().variants(query, n, rngs))([query.upper()] * n)\n",
        space,
    )
    call, classes = dump_call(repr, space["Upper"](), refuse)
    del space["Upper"]
    _, arrived = load_call(call, lambda _: None)
    assert arrived.obfuscate("cat", 2) == ["CAT", "CAT"]
    assert classes == frozenset()


def test_a_reference_travels_with_its_origin() -> None:
    origin = qk.load_vectors
    sent = Reference("run", 0, "vectors", "default", "1", origin)
    arrived = pickle.loads(pickle.dumps(sent))
    assert arrived.origin is origin
    assert str(arrived) == "the vectors default"
