"""What may leave this machine: originals go to a search system over the network only where the user allows it."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from quipukit.errors import InputError
from quipukit.frames import SETTING, noise_of
from quipukit.lexical import is_stop_word
from quipukit.registry import mechanism_class
from quipukit.specs import spec
from quipukit.text import key, tokenize


def are_originals(sent: Iterable[str], originals: Iterable[str]) -> NDArray[np.bool_]:
    """Return for every text whether it is one of the originals.

    Two texts are the same to the reader of a query if the letters and digits of their tokens are: a question mark, a
    hyphen, an accent or a possessive that a mechanism lost makes no difference. So are two with the same words, in
    whatever order and however often, stop words left aside; where a query consists of stop words alone, all its words
    count. Texts with equal keys are equal here, too.

    >>> are_originals(["baby sitter for zoe", "a nanny"], ["Babysitter for Zoë's!"]).tolist()
    [True, False]
    >>> are_originals(["tumor grow", "grow the tumor", "tumor"], ["how does a tumor grow"]).tolist()
    [True, True, False]
    """
    known = {form for text in originals for form in _forms(text)}
    verdicts: dict[str, bool] = {}
    flags = []
    for text in sent:
        if text not in verdicts:
            verdicts[text] = not known.isdisjoint(_forms(text))
        flags.append(verdicts[text])
    return np.array(flags, bool)


def check_flag(send_originals: object) -> None:
    """Refuse what is neither true nor false: a text such as "no" is no consent."""
    if not isinstance(send_originals, bool):
        raise InputError(f"send_originals must be True or False (found {type(send_originals).__name__}).")


def check_consent(
    obfuscated: pd.DataFrame, system: str, originals: Sequence[pd.DataFrame], send_originals: bool = False
) -> None:
    """Refuse to send to a system over the network what must not leave this machine.

    That is: several settings about one query whose noise is common, or of which nothing says that it is not, even if
    the user allows it; and originals, unless they are allowed: what a mechanism sends by design, what any of the
    ``originals`` shows to be one, and what cannot be compared, because its original is unknown.
    """
    check_flag(send_originals)
    _refuse_common_noise(obfuscated, system)
    if send_originals:
        return
    names = dict.fromkeys(obfuscated["mechanism"])
    by_design = [name for name in names if sends_original(name)]
    if by_design:
        raise InputError(
            f"{', '.join(by_design)} sends the original queries, and {system} is over the network; leave it out, or "
            "pass send_originals=True.",
            argument="send_originals",
        )
    if not originals:
        raise InputError(
            f"{system} is over the network, and it is unknown whether the table holds original queries; pass the "
            "originals as queries=, or send_originals=True.",
            argument=("queries", "send_originals"),
        )
    unknown = sorted(set(obfuscated["qid"]).difference(*(frame["qid"] for frame in originals)))
    if unknown:
        raise InputError(
            f"{len(unknown):,} obfuscated queries have no original to compare them with (first: "
            f"{', '.join(unknown[:3])}), and {system} is over the network; pass all originals as queries=, or "
            "send_originals=True.",
            argument=("queries", "send_originals"),
        )
    known = [text for frame in originals for text in frame["query"]]
    count = int(are_originals(obfuscated["query"], known).sum())
    if count:
        raise InputError(
            f"{count:,} of {len(obfuscated):,} obfuscated queries are original queries, and {system} is over the "
            "wire; leave out the settings that kept them, or pass send_originals=True.",
            argument="send_originals",
        )


def _refuse_common_noise(obfuscated: pd.DataFrame, system: str) -> None:
    settings = obfuscated[[*SETTING, "qid"]].drop_duplicates()
    noise = noise_of(obfuscated)
    if noise == "independent" or not settings["qid"].duplicated().any():
        return
    if noise == "unknown":
        # A column that was left out must not make common noise harmless.
        raise InputError(
            "nothing says how the noise of this table was drawn. Settings that share noise have no joint guarantee, "
            f"and {system} receives them all; keep the column 'noise', give it the value 'independent' in every row if "
            "each setting has noise of its own, or send one setting alone."
        )
    raise InputError(
        f"the settings of this table share common noise, which has no joint guarantee, and {system} receives them "
        "all; obfuscate with noise='independent', or send one setting alone.",
        argument="noise",
    )


def sends_original(mechanism: str) -> bool:
    """Return whether a mechanism, by its name in a table, sends the original by design; False for unknown ones."""
    try:
        return mechanism_class(spec(mechanism).name).sends_original
    except InputError:
        return False


def outgoing(texts: Iterable[str], system: str, originals: Iterable[str]) -> dict[str, Any]:
    """Return what goes to a search system over the network: how many distinct texts, and how many originals in them."""
    distinct = list(dict.fromkeys(texts))
    among = are_originals(originals, distinct)
    return {"system": system, "texts": len(distinct), "originals": int(among.sum()), "queries": len(among)}


def sent_in_words(sent: Mapping[str, Any]) -> str:
    """Say what went, or will go, to a search system; ``originals`` is None where they are not known.

    >>> sent_in_words({"system": "solr+http://host/solr/news", "texts": 1200, "originals": 0, "queries": 12})
    '1,200 distinct texts to solr+http://host/solr/news; none of the 12 original queries is among them'
    """
    if sent["originals"] is None:
        return f"{sent['texts']:,} distinct texts to {sent['system']}; which are originals is not known"
    among = (
        f"{sent['originals']} of the {sent['queries']} original queries are among them"
        if sent["originals"]
        else f"none of the {sent['queries']} original queries is among them"
    )
    return f"{sent['texts']:,} distinct texts to {sent['system']}; {among}"


def _forms(text: str) -> tuple[str, frozenset[str]]:
    """Return the two forms by which texts are compared: all letters and digits in a row, and the words that matter."""
    tokens = tokenize(text)
    words = [word for token in tokens for word in _divided(token)]
    content = [word for word in words if not is_stop_word(word)] or words
    bare = _bare("".join(tokens)) or key(text)
    return bare, frozenset(filter(None, map(_bare, content))) or frozenset([bare])


def _divided(token: str) -> list[str]:
    """Divide a token at its hyphens and other punctuation, as a mechanism may have done; apostrophes hold together."""
    if token.isalnum():
        return [token]
    return "".join(" " if unicodedata.category(c)[0] in "PSZ" and c not in "'\u2019" else c for c in token).split()


def _bare(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text)  # accents are then characters of their own
    return "".join(filter(str.isalnum, decomposed))
