"""The check for authors of mechanisms."""

import contextlib
import dataclasses
import math
import warnings

import pandas as pd

from quipukit.auditing.kept import keep
from quipukit.auditing.run import audit as run_audit
from quipukit.errors import SpecError
from quipukit.guarantees import Guarantee
from quipukit.mechanisms.base import EPSILON_RANGE, Mechanism, default_value
from quipukit.mechanisms.perturbation import Perturbation
from quipukit.mechanisms.sampling import Sampling
from quipukit.mechanisms.words import WordMechanism
from quipukit.obfuscation import mechanism as bind_one
from quipukit.obfuscation import obfuscate
from quipukit.registry import built_in_names, mechanism_class
from quipukit.settings import shares_budget
from quipukit.specs import Spec
from quipukit.testing.base import require
from quipukit.text import key

_QUERIES = {
    "plain": "how does a tumor grow",
    "again": "how does a tumor grow",
    "punctuated": "What's the company's (best) 'land'?",
    "empty": "",
    "blank": " \t ",
    "other script": "заявление развод 離婚",
    "unknown": "qqzzxv zzqqvx",
}
_UNKNOWN = ("qqzzxv", "zzqqvx")
_AUDIT_DRAWS, _AUDIT_ALARM = 20_000, 1e-6


def check_mechanism(mechanism: Mechanism, n: int = 4, verbatim: bool = False, audit: bool = False) -> None:
    """Raise AssertionError, with the reason, where a mechanism breaks what every mechanism must keep.

    Its name is its identity; a seed fixes its output for any batch; the first variants do not depend on how
    many are asked for, nor on the mechanisms that run beside it, and theirs do not depend on it; no query crashes it;
    unknown words are never sent (unless ``verbatim`` says that sending the query is its purpose); it states what it
    guarantees, and where that is anything, it does not send every query as it is at the value that hides most.

    With ``audit``, a short audit (`quipukit.audit`, some seconds) looks for a counter-example to the guarantee; it
    alarms falsely with probability 1e-6 at most.
    """
    name = repr(mechanism.spec)
    require(isinstance(mechanism.spec, Spec), f"{name}: .spec must be a Spec")
    require(isinstance(mechanism.guarantee, Guarantee), f"{name}: .guarantee must be a Guarantee")
    for attribute in ("name", "summary", "strategy"):
        require(bool(getattr(mechanism, attribute, "")), f"{name}: the class must set {attribute!r}")

    together = obfuscate(_QUERIES, mechanism, n, seed=7)
    for qid, query in _QUERIES.items():
        texts = _texts(together, qid)
        require(mechanism.own_count or len(texts) <= n, f"{name}: {len(texts)} variants for n={n}")
        alone = _texts(obfuscate({qid: query}, mechanism, n, seed=7), qid)
        require(alone == texts, f"{name}: the variants of a query depend on the batch it comes in")
        fewer = _texts(obfuscate({qid: query}, mechanism, n - 1, seed=7), qid)
        if not shares_budget(mechanism.spec.family):  # where each variant gets the more, the fewer they are
            first = texts if mechanism.own_count else texts[: n - 1]
            require(fewer == first, f"{name}: the first {n - 1} variants depend on n")
        require(len(mechanism.obfuscate(query, n)) == len(texts), f"{name}: obfuscate() gives another number")
    _check_beside(mechanism, n)
    _check_promise(mechanism, n)
    if not verbatim:
        sent = " ".join(together["query"]).split()
        require(not set(sent) & set(_UNKNOWN), f"{name}: a word outside the vocabulary is sent verbatim")
    if audit:
        _check_audit(mechanism)


def _check_audit(mechanism: Mechanism) -> None:
    done = run_audit(mechanism, draws=_AUDIT_DRAWS, inputs=200, alarm=_AUDIT_ALARM, stop_early=True)
    keep(done, mechanism, _AUDIT_DRAWS)
    found = done.counter_example
    said = "" if found is None else f" ({found.name}): {found.sentence()}"
    require(found is None, f"{done.mechanism}: the claim {done.guarantee} is violated{said}")


def _check_promise(mechanism: Mechanism, n: int) -> None:
    """Refute a promise by what is sent at the value that hides most: what never changes a query hides nothing."""
    hidden = _most_hidden(mechanism, n)
    epsilon = getattr(hidden.guarantee.composed(1), "epsilon", 0.0)
    queries = _known_queries(hidden)
    if not hidden.guarantee.private or not math.isfinite(epsilon) or not queries:
        return
    sent = obfuscate(queries, hidden, n, seed=7)
    same = [key(text) == key(queries[qid]) for qid, text in zip(sent["qid"], sent["query"], strict=True)]
    require(
        not same or not all(same),
        f"{hidden.spec!r}: it promises {hidden.guarantee}, and sends every query as it is: the promise is not true",
    )


def _most_hidden(mechanism: Mechanism, n: int) -> Mechanism:
    """Return the mechanism at the value that hides most: the least epsilon there is, else the end of the grid."""
    values = {*mechanism.grid, mechanism.value} if mechanism.parameter else set()
    ordered = sorted(values, reverse=mechanism.hides_more == "larger")
    shared = n if shares_budget(mechanism.spec.family) else 1
    least = [EPSILON_RANGE[0] * shared] if mechanism.parameter == "epsilon" else []
    for value in (*least, *ordered):
        with contextlib.suppress(SpecError):  # not every value is a valid one
            return dataclasses.replace(mechanism, **{mechanism.parameter: value})
    return mechanism


def _known_queries(mechanism: Mechanism) -> dict[str, str]:
    """Return queries of words that the mechanism knows; none where its vocabulary holds nothing to choose from."""
    if not isinstance(mechanism, WordMechanism):
        return {qid: _QUERIES[qid] for qid in ("plain", "punctuated")}
    words = mechanism.vectors.words
    spread = [words[row] for row in range(0, len(words), max(1, len(words) // 64))]
    known = [word for word in spread if mechanism.tokens(word) == [word]]
    return {str(start): " ".join(known[start : start + 8]) for start in range(0, len(known), 8)} if known[1:] else {}


def _check_beside(mechanism: Mechanism, n: int) -> None:
    """Run a mechanism with others that it might share work with: what each sends must be what it sends alone."""
    others = _others(mechanism)
    for noise in ("independent", "common"):
        alone = {one.spec: obfuscate(_QUERIES, one, n, seed=7, noise=noise) for one in (mechanism, *others)}
        for order in ([mechanism, *others], [*others, mechanism]):
            together = obfuscate(_QUERIES, order, n, seed=7, noise=noise)
            for one in order:
                mine = (together["mechanism"] == one.spec.family) & (together["value"] == one.value)
                require(
                    together.loc[mine, "query"].tolist() == alone[one.spec]["query"].tolist(),
                    f"{mechanism.spec!r}: in one batch with others, what {one.spec!r} sends changes ({noise} noise): "
                    "its class sets shares_work, but its batch_key is equal for mechanisms that do not work alike",
                )


def _others(mechanism: Mechanism) -> list[Mechanism]:
    """Return the mechanism at other values, and the built-in ones of its kind on the same words."""
    companions: dict[Spec, Mechanism] = {}
    kind = next((base for base in (Perturbation, Sampling) if isinstance(mechanism, base)), None)
    classes = {name: mechanism_class(name) for name in built_in_names()}
    names = [name for name, cls in classes.items() if kind and issubclass(cls, kind) and cls.surveyed]
    words = mechanism if isinstance(mechanism, WordMechanism) else None
    seen = {name: getattr(words, name) for name in ("oov", "tokenizer", "unsafe", "length", "shuffle")} if words else {}
    for name in names or ("AEA", "Identity"):
        cls = mechanism_class(name)
        for factor in (1, 2) if cls.parameter else (None,):
            value = None if factor is None else factor * default_value(cls)
            with contextlib.suppress(SpecError), warnings.catch_warnings():  # a vocabulary may be too small for one
                warnings.simplefilter("ignore")  # what is flat for another mechanism is not this author's concern
                one = bind_one(Spec(name, tuple(seen.items()), value), vectors=words.vectors if words else None)
                companions[one.spec] = one
    if mechanism.parameter:
        for value in {*mechanism.grid, mechanism.value / 2, mechanism.value * 2}:
            with contextlib.suppress(SpecError):  # not every value is a valid one
                other = dataclasses.replace(mechanism, **{mechanism.parameter: value})
                companions[other.spec] = other
    return [one for spec, one in companions.items() if spec != mechanism.spec]


def _texts(obfuscated: pd.DataFrame, qid: str) -> list[str]:
    return list(obfuscated.loc[obfuscated["qid"] == qid, "query"])
