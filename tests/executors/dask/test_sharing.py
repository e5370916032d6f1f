"""A resource is loaded where workers have it, sent once where not, and withdrawn when nobody needs it."""

import gc
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import quipukit as qk
from quipukit.errors import InputError
from quipukit.executors.dask.payload import Reference
from quipukit.executors.dask.sharing import SharePlugin, Sharing
from tests.executors.moody import Words


class Client:
    """Takes the place of dask's: keeps the plugins that are registered."""

    def __init__(self) -> None:
        self.plugins: dict[str, SharePlugin] = {}

    def register_plugin(self, plugin: SharePlugin, name: str) -> None:
        self.plugins[name] = plugin

    def unregister_worker_plugin(self, name: str) -> None:
        del self.plugins[name]


def sharing(ask: Callable[[Reference], bool] = lambda reference: True) -> tuple[Client, Sharing]:
    client = Client()
    return client, Sharing(client, "run", ask)


def vectors(**options: Any) -> qk.Vectors:
    return qk.Vectors(["cat", "dog"], np.eye(2), **options)


def test_what_workers_have_is_not_sent() -> None:
    client, shared = sharing()
    wordnet = qk.load_wordnet()
    reference = shared.refer(wordnet)
    assert reference.origin is qk.load_wordnet
    assert reference.content_id == wordnet.fingerprint
    assert [plugin.content for plugin in client.plugins.values()] == [None]


@pytest.mark.parametrize("resource", [qk.load_wordnet(), Words()])
def test_what_workers_do_not_have_is_sent_once(resource: Any) -> None:
    client, shared = sharing(lambda reference: False)
    assert shared.refer(resource) is shared.refer(resource)
    assert shared.refer(resource).origin is None
    (plugin,) = client.plugins.values()
    assert plugin.content is not None
    shared.release()
    assert client.plugins == {}


def test_equal_vectors_that_compose_words_differently_are_two() -> None:
    client, shared = sharing()
    plain, composing = vectors(), vectors(compose=lambda word: np.ones(2))
    assert plain.fingerprint == composing.fingerprint
    assert shared.refer(plain).content_id != shared.refer(composing).content_id
    assert len(client.plugins) == 2


def test_what_nobody_needs_any_more_is_withdrawn() -> None:
    client, shared = sharing()
    shared.refer(vectors())
    gc.collect()
    other = vectors()
    shared.refer(other)
    assert list(client.plugins) == ["quipukit-run-1"]


def test_what_cannot_be_sent_is_told_of() -> None:
    _, shared = sharing()
    encoder = Words()
    encoder.lock = threading.Lock()  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="the encoder of this run cannot be sent to the workers"):
        shared.refer(encoder)
