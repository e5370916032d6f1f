"""What may leave this machine: originals go to a search system over the wire only where the user allows it."""

import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from quipukit.errors import InputError
from quipukit.registry import mechanism_class
from quipukit.retrieval.base import Retriever
from quipukit.specs import spec
from quipukit.text import key, tokenise


def are_originals(sent: Iterable[str], originals: Iterable[str]) -> NDArray[np.bool_]:
    """Tell of every text whether it is one of the originals.

    Compared are the letters and digits of their tokens: to the reader of a query a question mark, a hyphen, an accent
    or a possessive that a mechanism lost makes no difference. Texts with equal keys are equal here, too.

    >>> are_originals(["baby sitter for zoe", "a nanny"], ["Babysitter for Zoë's!"]).tolist()
    [True, False]
    """
    known = {_bare(text) for text in originals}
    verdicts: dict[str, bool] = {}
    found = []
    for text in sent:
        if text not in verdicts:
            verdicts[text] = _bare(text) in known
        found.append(verdicts[text])
    return np.array(found, bool)


def check_consent(
    obfuscated: pd.DataFrame,
    system: Retriever,
    queries: pd.DataFrame | None = None,
    send_originals: bool = False,
) -> None:
    """Refuse to send originals over the wire: what a mechanism sends by design, and what ``queries`` show to be one."""
    if send_originals or not system.remote:
        return
    names = dict.fromkeys(obfuscated["mechanism"])
    by_design = [name for name in names if sends_original(name)]
    if by_design:
        raise InputError(
            f"{', '.join(by_design)} sends the original queries, and {system.name} is over the wire; leave it out, or "
            "pass send_originals=True."
        )
    count = int(are_originals(obfuscated["query"], queries["query"]).sum()) if queries is not None else 0
    if count:
        raise InputError(
            f"{count:,} of {len(obfuscated):,} obfuscated queries are original queries, and {system.name} is over the "
            "wire; leave out the settings that kept them, or pass send_originals=True."
        )


def sends_original(mechanism: str) -> bool:
    """Tell whether a mechanism, by its name in a table, sends the original by design; unknown ones are not known to."""
    try:
        return mechanism_class(spec(mechanism).name).sends_original
    except InputError:
        return False


def sent_in_words(sent: Mapping[str, Any]) -> str:
    """Say what went, or will go, to a search system.

    >>> sent_in_words({"system": "solr+http://host/solr/news", "texts": 1200, "originals": 0, "queries": 12})
    '1,200 distinct texts to solr+http://host/solr/news; none of the 12 original queries is among them'
    """
    among = (
        f"{sent['originals']} of the {sent['queries']} original queries are among them"
        if sent["originals"]
        else f"none of the {sent['queries']} original queries is among them"
    )
    return f"{sent['texts']:,} distinct texts to {sent['system']}; {among}"


def _bare(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", "".join(tokenise(text)))  # accents are then characters of their own
    return "".join(filter(str.isalnum, decomposed)) or key(text)
