"""Audit a file of obfuscated queries that was made elsewhere: is it consistent with what it claims?"""

from typing import Any

import pandas as pd

from quipukit.auditing.filedata import families
from quipukit.auditing.filetests import (
    case_leaks,
    impossible_words,
    inert_parameter,
    kept_words,
    shared_noise,
    verbatim_queries,
)
from quipukit.auditing.findings import Audit, Check
from quipukit.errors import InputError
from quipukit.guarantees import NoGuarantee
from quipukit.mechanisms.base import Mechanism
from quipukit.mechanisms.words import WordMechanism
from quipukit.obfuscation import mechanism as bind
from quipukit.specs import Spec


def audit_file(
    obfuscated: pd.DataFrame,
    queries: pd.DataFrame | None = None,
    *,
    against: "str | Spec | Mechanism | None" = None,
    vectors: Any = None,
    alarm: float = 0.001,
    name: str = "file",
) -> Audit:
    """Look for defects of a table of obfuscated queries: what no mechanism that hides words alike would send.

    ``queries`` are the originals; without them, only what the settings have in common is seen. ``against`` names the
    mechanism that the file is said to come from: then words that it cannot send are looked for, too, in what bears its
    name, or in all of the file where nothing does.
    """
    own = families(obfuscated, pd.DataFrame(columns=["qid", "query"]) if queries is None else queries)
    if not own:
        raise InputError("the file holds no obfuscated query.")
    bound = None if against is None else bind(against, vectors=vectors)
    if bound is not None and not isinstance(bound, WordMechanism):
        raise InputError(f"{bound.spec!r} does not replace words one by one; leave against= out.", argument="against")
    named = [family for family in own if bound is not None and bound.name == family.mechanism.partition("(")[0]]
    compared = named or own  # another program may call the mechanism otherwise
    share = alarm / (3 * len(own))
    checks: list[Check] = []
    for family in own:
        checks += [
            kept_words(family, share),
            verbatim_queries(family, share),
            shared_noise(family, share),
            inert_parameter(family),
            case_leaks(family),
        ]
        if bound is not None and family in compared:
            checks.append(impossible_words(family, bound))
    guarantee = NoGuarantee("the file does not say") if bound is None else bound.guarantee
    skipped = [] if queries is not None and len(queries) else ["the originals are not known: give them to see more"]
    if bound is not None and not named:
        skipped.append(f"nothing in the file is called {bound.name}: all of it was compared with {bound.spec!r}")
    settings = sum(len(family.settings) for family in own)
    about = f"{len(obfuscated):,} rows, {settings:,} {'setting' if settings == 1 else 'settings'}"
    return Audit(name, str(guarantee), True, tuple(checks), alarm, 0, about, tuple(skipped))
