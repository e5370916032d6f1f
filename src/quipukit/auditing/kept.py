"""Audits that were made on this machine: kept, so that reports and lists can show a verdict beside each claim.

What is kept of an audit is its verdict, how much was drawn, and on what: no query, no word. It counts for the same
setting, the same vocabulary and the same code alone; whatever changes, the claim is "not audited" again.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from quipukit.auditing.findings import NOT_VIOLATED, VIOLATED, Audit
from quipukit.errors import SpecError
from quipukit.mechanisms.base import Mechanism
from quipukit.registry import built_in_names, mechanism_class
from quipukit.source_hash import object_hash
from quipukit.specs import spec
from quipukit.storage import atomic_write, cache_home, make_folder

NOT_AUDITED = "not audited"
CLAIMED = "claimed"


@dataclass(frozen=True)
class KeptAudit:
    """What is kept of an audit."""

    verdict: str
    draws: int
    about: str  # the vocabulary or the pool
    code: str  # hash of the mechanism's source

    def __str__(self) -> str:
        drawn = [f"{self.draws:,} draws"] if self.verdict == NOT_VIOLATED else []
        # The pool is not part of what an audit is looked up by, so the reader has to see which one it was.
        details = drawn + ([self.about] if self.about.startswith("pool ") else [])
        return f"{self.verdict} ({'; '.join(details)})" if details else self.verdict


def keep(audit: Audit, mechanism: Mechanism, draws: int) -> None:
    """Keep the verdict of an audit of one mechanism and its own claim; a cache that cannot be written keeps none."""
    path = _path(audit.mechanism)
    kept = {**_read(path), _resource(mechanism): asdict(KeptAudit(audit.verdict, draws, audit.about, _code(mechanism)))}
    try:
        make_folder(path.parent)
        with atomic_write(path) as draft:
            draft.write_text(json.dumps(kept, indent=1), encoding="utf-8")
    except OSError:
        return


def kept_audit(setting: str, vectors: str | None = None) -> KeptAudit | None:
    """Return the audit of a setting, by its spec, with these vectors (their fingerprint); None where there is none.

    A mechanism without word vectors is looked up by its spec alone: what it was audited on is part of what is kept.
    """
    try:
        cls = mechanism_class(spec(setting).name)
    except SpecError:  # made elsewhere, or by a plugin that is not installed
        return None
    records = _read(_path(setting))
    wanted = vectors if "vectors" in cls.__dataclass_fields__ else ""
    record = records.get(wanted or "") if wanted is not None else None
    if record is None or record.get("code") != object_hash(cls):
        return None
    try:
        return KeptAudit(**record)
    except TypeError:  # of another version
        return None


def is_ours(setting: str) -> bool:
    """Return whether a mechanism, by its spec or name, comes with this package; its claims are those of its tests."""
    try:
        return mechanism_class(spec(setting).name).name in built_in_names()
    except SpecError:
        return False


def shown_claim(guarantee: str, audit: KeptAudit | None) -> str:
    """Return a guarantee of another package as it is shown: "claimed" until an audit has not refuted it."""
    if audit is None:
        return f"{CLAIMED}: {guarantee}"
    return f"{CLAIMED}, and {VIOLATED}: {guarantee}" if audit.verdict == VIOLATED else guarantee


def claim_of(mechanism: Mechanism) -> str:
    """Return the guarantee of a mechanism as it is shown."""
    guarantee = mechanism.guarantee
    if not guarantee.private or type(mechanism).__module__.startswith("quipukit."):
        return str(guarantee)
    return shown_claim(str(guarantee), kept_audit(repr(mechanism.spec), _resource(mechanism)))


def _resource(mechanism: Mechanism) -> str:
    vectors = mechanism.vocabulary
    return "" if vectors is None else vectors.fingerprint


def _code(mechanism: Mechanism) -> str:
    return object_hash(type(mechanism))


def _path(setting: str) -> Path:
    return cache_home() / "audits" / f"{hashlib.sha256(repr(spec(setting)).encode()).hexdigest()[:32]}.json"


def _read(path: Path) -> Mapping[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # none, or a damaged one: as good as none
        return {}
    return content if isinstance(content, dict) else {}
