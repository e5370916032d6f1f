"""What there is to guess: the texts sent for every setting and query, and the row of the log that is right."""

import itertools
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from quipukit.attackers.base import Attacker, KnownSetting, Sent
from quipukit.attackers.log import QueryLog
from quipukit.errors import InputError
from quipukit.frames import OBFUSCATED, QUERIES, SETTING, with_setting
from quipukit.table import Table
from quipukit.text import key

if TYPE_CHECKING:
    from quipukit.mechanisms.base import Mechanism

GROUP = (*SETTING, "qid")
_FOLDS = 5

Rows = NDArray[np.int64]
Key = tuple[str, str, float]  # a setting, as the columns `SETTING` hold it


@dataclass(frozen=True, eq=False)
class Task:
    """What was sent for which query under which setting, and which row of the log is the right one (-1: none)."""

    asked: pd.DataFrame  # every setting with every query, in the order of the ranks
    groups: pd.DataFrame  # those for which something was sent
    texts: list[tuple[str, ...]]  # what was sent for each
    targets: Rows
    queries: dict[str, str]  # every original by its id, of which an attacker never sees the one to be guessed
    earlier: list[tuple[tuple[str, ...], ...]] = field(default_factory=list)  # of each, in a session; see `Sent`

    @classmethod
    def of(
        cls, obfuscated: pd.DataFrame, queries: pd.DataFrame, log: QueryLog, settings: pd.DataFrame | None = None
    ) -> "Task":
        """Group what was sent by setting and query."""
        sent, asked = OBFUSCATED.check(obfuscated), QUERIES.check(queries)
        originals = _originals(sent, asked)
        groups = sent[list(GROUP)].drop_duplicates(ignore_index=True)
        group_of = sent.groupby(list(GROUP), sort=False, observed=True).ngroup().to_numpy()
        order = np.lexsort((sent["variant"].to_numpy(), group_of))
        bounds = np.searchsorted(group_of[order], np.arange(len(groups) + 1))
        texts = sent["query"].to_numpy(object)[order]
        return cls(
            asked=every_setting(sent, settings).merge(asked[["qid"]], how="cross"),
            groups=groups,
            texts=[tuple(texts[start:stop]) for start, stop in itertools.pairwise(bounds)],
            targets=log.rows([originals[qid] for qid in groups["qid"]]),
            queries=originals,
        )

    def sent_to(self, attacker: Attacker, mechanisms: "Mapping[Key, Mechanism] | None" = None) -> list[Sent]:
        """Return what an attacker sees: the texts, of the setting as much as it knows, and queries of other users."""
        seen = self._seen_by(attacker, mechanisms or {})
        if self.earlier:
            seen = [replace(one, earlier=earlier) for one, earlier in zip(seen, self.earlier, strict=True)]
        if not attacker.learns_from_others:
            return seen
        others = others_of(self.queries)
        return [replace(one, others=others[qid]) for one, qid in zip(seen, self.groups["qid"], strict=True)]

    def _seen_by(self, attacker: Attacker, mechanisms: "Mapping[Key, Mechanism]") -> list[Sent]:
        if attacker.knows == "log":
            return [Sent(texts) for texts in self.texts]
        keys = list(self.groups[list(SETTING)].itertuples(index=False, name=None))
        known = attacker.knows == "log+mechanism+epsilon"
        settings = {one: _known_setting(one, known, mechanisms.get(one)) for one in dict.fromkeys(keys)}
        return [Sent(texts, settings[one]) for texts, one in zip(self.texts, keys, strict=True)]


def by_setting(mechanisms: "Iterable[Mechanism]") -> "dict[Key, Mechanism]":
    """Return mechanisms by the setting that tables call them."""
    return {(one.spec.family, one.parameter, one.value): one for one in mechanisms}


def _known_setting(setting: Key, value_known: bool, bound: "Mechanism | None") -> KnownSetting:
    mechanism, parameter, value = setting
    if value_known:
        return KnownSetting(mechanism, parameter, value, bound)
    if bound is not None and bound.parameter:
        # The same object would show its value. Without a grid there is no value that says nothing.
        bound = replace(bound, **{bound.parameter: bound.grid[0]}) if bound.grid else None
    return KnownSetting(mechanism, parameter, None, bound)


def others_of(queries: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return for every query those of other users: all that are not in its own fifth, and not the same text.

    A fifth is chosen by a hash of the text: it does not depend on the other queries, nor on their order.
    """
    fifths = {qid: zlib.crc32(key(text).encode()) % _FOLDS for qid, text in queries.items()}
    others = {
        fold: tuple(sorted({text for qid, text in queries.items() if fifths[qid] != fold})) for fold in range(_FOLDS)
    }
    return {qid: others[fold] for qid, fold in fifths.items()}


def _originals(obfuscated: pd.DataFrame, queries: pd.DataFrame) -> dict[str, str]:
    texts = dict(zip(queries["qid"], queries["query"], strict=True))
    sent = list(dict.fromkeys(obfuscated["qid"]))
    missing = [qid for qid in sent if qid not in texts]
    if missing:
        shown = ", ".join(missing[:3])
        raise InputError(
            f"{len(missing)} of {len(sent)} obfuscated queries have no original (first: {shown}); "
            "give the queries that were obfuscated."
        )
    return texts


def every_setting(obfuscated: pd.DataFrame, settings: pd.DataFrame | None) -> pd.DataFrame:
    """Return the settings of the table, and of those named the ones that it lacks."""
    named = obfuscated[list(SETTING)].drop_duplicates()
    if settings is None:
        return named
    checked = Table("Settings", {name: OBFUSCATED.columns[name] for name in SETTING}, SETTING).check(
        with_setting(settings)[list(SETTING)].drop_duplicates()
    )
    return pd.concat([named, checked]).drop_duplicates(ignore_index=True) if len(named) else checked
