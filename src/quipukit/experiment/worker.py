"""What runs on a worker of a cluster: it obfuscates some queries, encodes some texts, and checks that it may.

Texts of queries travel sealed: dask writes the arguments of a task that fails into the worker's log, and the message
of its exception too. A task here therefore never raises; what went wrong goes home as part of its answer.
"""

import functools
import hashlib
import os
import threading
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from platform import python_version_tuple
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from quipukit import __version__
from quipukit.encoders.base import Encoder, Kind
from quipukit.encoders.load import load_encoder
from quipukit.errors import InputError, QuipukitError
from quipukit.experiment.codeprint import code_of, code_of_object, hash_of
from quipukit.mechanisms.base import Mechanism
from quipukit.obfuscation import Obfuscation, mechanism, obfuscate_with_notes
from quipukit.registry import mechanism_class
from quipukit.seeds import Noise
from quipukit.vectors.sources import load_vectors
from quipukit.vectors.store import Vectors
from quipukit.wordnet.database import load_wordnet

# What a vector's last bits or a table's form depend on.
_SOFTWARE = ("numpy", "scipy", "numba", "pandas", "torch", "transformers", "tokenizers", "sentence-transformers")
# Encoded once by every process: machines whose arithmetic differs show it here.
_PROBE = ("what is hidden", "a somewhat longer text, so that two lengths are compared")

_turn = threading.RLock()  # tasks of one process load and check one after the other


class Sealed:
    """Something whose content shows in no log."""

    def __init__(self, content: Any) -> None:
        self.content = content

    def __repr__(self) -> str:
        return "Sealed(...)"


@dataclass(frozen=True)
class Source:
    """Where a worker gets something from: a name by which it loads it there, or what it was handed by the run."""

    kind: Literal["vectors", "encoder"]
    name: str | None
    fingerprint: str
    run: str

    def __str__(self) -> str:
        return f"the {self.kind} {self.name}" if self.name else f"the {self.kind}"


@dataclass(frozen=True)
class Terms:
    """What a worker has to have like the coordinator, as pairs of a name and a version or fingerprint."""

    run: str
    software: tuple[tuple[str, str], ...]
    code: tuple[tuple[str, str], ...]
    mechanisms: tuple[tuple[str, str], ...]
    wordnet: str = ""
    vectors: Source | None = None
    encoder: Source | None = None


@dataclass(frozen=True)
class Part:
    """Some mechanisms that share work, on some of the queries."""

    terms: Terms
    specs: tuple[str, ...]
    queries: pd.DataFrame
    n: int
    seed: int
    noise: Noise


@dataclass(frozen=True)
class Chunk:
    """Some distinct texts to encode."""

    terms: Terms
    encoder: Source
    texts: list[str]
    kind: Kind


class Disagreement(InputError):
    """This worker does not have what the coordinator has."""


@dataclass(frozen=True)
class Answer:
    """What a task brings home: its content, or what went wrong; and who says so."""

    worker: str
    content: Any = None
    fault: str = ""
    fault_kind: Literal["", "terms", "input", "resource", "other"] = ""
    trace: str = ""
    probe: str = ""


# --- the tasks ----------------------------------------------------------------------------------------------------


def check(order: Sealed) -> Sealed:
    """Bring home what this worker lacks of the terms, as a fault; nothing where it lacks nothing."""
    return _answered(lambda: _agree(order.content))


def obfuscate_part(order: Sealed) -> Sealed:
    """Obfuscate some queries with some mechanisms."""
    part: Part = order.content

    def work() -> Obfuscation:
        _agree(part.terms)
        members = [_bound(part.terms, one) for one in part.specs]
        return obfuscate_with_notes(part.queries, members, part.n, seed=part.seed, noise=part.noise)

    return _answered(work)


def encode_chunk(order: Sealed) -> Sealed:
    """Encode some texts."""
    chunk: Chunk = order.content

    def work() -> NDArray[np.float32]:
        _agree(chunk.terms)
        return loaded_encoder(chunk.encoder).encode(chunk.texts, chunk.kind)

    return _answered(work, lambda: _probe_of(chunk.encoder))


def _answered(work: Callable[[], Any], probe: Callable[[], str] = lambda: "") -> Sealed:
    # Each of a worker's threads runs a task, so that a task is to use one thread; who set it otherwise knows why.
    os.environ.setdefault("QUIPUKIT_THREADS", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    worker = _address()
    try:
        return Sealed(Answer(worker, work(), probe=probe()))
    except Disagreement as fault:
        return Sealed(Answer(worker, fault=str(fault), fault_kind="terms"))
    except InputError as fault:
        return Sealed(Answer(worker, fault=str(fault), fault_kind="input"))
    except QuipukitError as fault:
        return Sealed(Answer(worker, fault=str(fault), fault_kind="resource"))
    except Exception as fault:
        told = f"{type(fault).__name__}: {fault}"
        return Sealed(Answer(worker, fault=told, fault_kind="other", trace=traceback.format_exc()))


def _address() -> str:
    from distributed import get_worker

    try:
        return str(get_worker().address)
    except ValueError:
        return "here"


# --- agreement ----------------------------------------------------------------------------------------------------


def software() -> tuple[tuple[str, str], ...]:
    """Return the versions that a result may depend on; builds of one version count as equal."""
    found = {"Python": ".".join(python_version_tuple()[:2]), "quipukit": __version__}
    for package in _SOFTWARE:
        try:
            found[package] = version(package).partition("+")[0]
        except PackageNotFoundError:
            found[package] = "none"
    return tuple(found.items())


def code() -> tuple[tuple[str, str], ...]:
    """Return the fingerprints of the code that workers run."""
    return (*((stage, code_of(stage)) for stage in ("obfuscate", "attack")), ("cluster", hash_of([Path(__file__)])))


def mechanisms(names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return the fingerprints of mechanisms' own files: those of plugins are in no other."""
    return tuple((name, code_of_object(mechanism_class(name))) for name in names)


def _agree(terms: Terms) -> None:
    differing = _differences(terms)
    if differing:
        raise Disagreement("; ".join(differing))


@functools.lru_cache(maxsize=4)
def _differences_once(terms: Terms) -> tuple[str, ...]:
    here = dict(software())
    found = [f"{name} {here[name]} there, {wanted} here" for name, wanted in terms.software if here[name] != wanted]
    if found:
        return tuple(found)  # code of another version differs, of course
    mine = dict(code())
    if any(mine.get(stage) != wanted for stage, wanted in terms.code):
        return ("its code of quipukit is not the one here",)
    for name, wanted in terms.mechanisms:
        try:
            if dict(mechanisms([name])) != {name: wanted}:
                found.append(f"its code of {name} is not the one here")
        except QuipukitError:
            found.append(f"it does not have the mechanism {name}")
    if terms.wordnet and load_wordnet().fingerprint != terms.wordnet:
        found.append("its WordNet is not the one here")
    for source in (terms.vectors, terms.encoder):
        if source is not None:
            try:
                loaded_vectors(source) if source.kind == "vectors" else loaded_encoder(source)
            except QuipukitError as fault:
                found.append(str(fault))
    return tuple(found)


def _differences(terms: Terms) -> tuple[str, ...]:
    with _turn:
        return _differences_once(terms)


# --- what is loaded here --------------------------------------------------------------------------------------------

# What runs handed to this worker because it has no name: (run, fingerprint) -> how to make it.
_handed: dict[tuple[str, str], Callable[[], Any]] = {}


def hand(run: str, goods: Mapping[str, Callable[[], Any]]) -> None:
    """Keep what a run hands to this worker."""
    with _turn:
        _handed.update({(run, fingerprint): make for fingerprint, make in goods.items()})


def forget(run: str) -> None:
    """Drop everything that a run handed to this worker or loaded on it."""
    with _turn:
        for key in [key for key in _handed if key[0] == run]:
            del _handed[key]
        for kept in (_differences_once, _bound_once, _vectors_once, _encoder_once, _probe_once):
            kept.cache_clear()


def remade(
    words: Sequence[str],
    matrix: NDArray[np.float32],
    name: str,
    compose: Callable[[str], NDArray[np.float64] | None] | None,
) -> Vectors:
    """Return vectors that were handed over; without their stated fingerprint, so that what arrived is hashed."""
    return Vectors(words, matrix, name=name, compose=compose)


def loaded_vectors(source: Source) -> Vectors:
    """Return the vectors of a source, loaded once and checked to be the ones that are meant."""
    with _turn:
        return _vectors_once(source)


def loaded_encoder(source: Source) -> Encoder:
    """Return the encoder of a source, loaded once and checked to be the one that is meant."""
    with _turn:
        return _encoder_once(source)


@functools.lru_cache(maxsize=4)
def _vectors_once(source: Source) -> Vectors:
    found: Vectors = _given(source) or load_vectors(source.name)
    return _meant(found, source)


@functools.lru_cache(maxsize=4)
def _encoder_once(source: Source) -> Encoder:
    found: Encoder = _given(source) or load_encoder(str(source.name))
    return _meant(found, source)


def _given(source: Source) -> Any:
    if source.name is not None:
        return None
    make = _handed.get((source.run, source.fingerprint))
    if make is None:
        raise Disagreement(f"{source} of this run did not reach it")
    return make()


def _meant(found: Any, source: Source) -> Any:
    if found.fingerprint != source.fingerprint:
        raise Disagreement(f"{source} there is not the same as here")
    return found


def _bound(terms: Terms, one: str) -> Mechanism:
    with _turn:
        return _bound_once(terms, one)


@functools.lru_cache(maxsize=4096)
def _bound_once(terms: Terms, one: str) -> Mechanism:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the coordinator has bound it too, and has told the user
        return mechanism(one, vectors=None if terms.vectors is None else loaded_vectors(terms.vectors))


def _probe_of(source: Source) -> str:
    with _turn:
        return _probe_once(source)


@functools.lru_cache(maxsize=4)
def _probe_once(source: Source) -> str:
    return hashlib.sha256(_encoder_once(source).encode(_PROBE).tobytes()).hexdigest()
