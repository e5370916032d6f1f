"""Checks for authors of mechanisms: a plugin proves itself with one call in its own tests."""

from quipukit.guarantees import Guarantee
from quipukit.mechanisms.base import Mechanism
from quipukit.obfuscation import obfuscate
from quipukit.specs import Spec

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


def check_mechanism(mechanism: Mechanism, n: int = 4, verbatim: bool = False) -> None:
    """Raise AssertionError, with the reason, where a mechanism breaks what every mechanism must keep.

    Its name is its identity; a seed fixes its output whatever the batch; the first variants do not depend on how
    many are asked for; no query crashes it; unknown words are never sent (unless ``verbatim`` says that sending the
    query is its purpose); it states what it guarantees.
    """
    name = repr(mechanism.spec)
    _require(isinstance(mechanism.spec, Spec), f"{name}: .spec must be a Spec")
    _require(isinstance(mechanism.guarantee, Guarantee), f"{name}: .guarantee must be a Guarantee")
    for attribute in ("name", "summary", "strategy"):
        _require(bool(getattr(mechanism, attribute, "")), f"{name}: the class must set {attribute!r}")

    together = obfuscate(_QUERIES, mechanism, n, seed=7)
    for qid, query in _QUERIES.items():
        texts = _texts(together, qid)
        _require(len(texts) <= n, f"{name}: {len(texts)} variants for n={n}")
        alone = _texts(obfuscate({qid: query}, mechanism, n, seed=7), qid)
        _require(alone == texts, f"{name}: the variants of a query depend on the batch it comes in")
        fewer = _texts(obfuscate({qid: query}, mechanism, n - 1, seed=7), qid)
        _require(fewer == texts[: n - 1], f"{name}: the first {n - 1} variants depend on n")
        _require(len(mechanism.obfuscate(query, n)) == len(texts), f"{name}: obfuscate() gives another number")
    if not verbatim:
        sent = " ".join(together["query"]).split()
        _require(not set(sent) & set(_UNKNOWN), f"{name}: a word outside the vocabulary is sent verbatim")


def _texts(obfuscated, qid: str) -> list[str]:  # type: ignore[no-untyped-def]
    return list(obfuscated.loc[obfuscated["qid"] == qid, "query"])


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)
