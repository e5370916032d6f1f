"""What there is to guess: the texts sent for every setting and query, and the row of the log that is right."""

import itertools
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from quipukit.attackers.base import Attacker, KnownSetting, Sent
from quipukit.attackers.log import QueryLog
from quipukit.errors import InputError
from quipukit.frames import OBFUSCATED, QUERIES, SETTING, Table, with_setting

GROUP = (*SETTING, "qid")

Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Task:
    """What was sent for which query under which setting, and which row of the log is the right one (-1: none)."""

    asked: pd.DataFrame  # every setting with every query, in the order of the ranks
    groups: pd.DataFrame  # those for which something was sent
    texts: list[tuple[str, ...]]  # what was sent for each
    targets: Rows

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
            asked=_every_setting(sent, settings).merge(asked[["qid"]], how="cross"),
            groups=groups,
            texts=[tuple(texts[start:stop]) for start, stop in itertools.pairwise(bounds)],
            targets=np.array([log.row(originals[qid]) for qid in groups["qid"]], np.int64),
        )

    def sent_to(self, attacker: Attacker) -> list[Sent]:
        """Return what an attacker sees: the texts, and of the setting as much as it knows."""
        if attacker.knows == "log":
            return [Sent(texts) for texts in self.texts]
        known = attacker.knows == "log+mechanism+epsilon"
        settings = self.groups[list(SETTING)].itertuples(index=False, name=None)
        return [
            Sent(texts, KnownSetting(mechanism, parameter, value if known else None))
            for texts, (mechanism, parameter, value) in zip(self.texts, settings, strict=True)
        ]


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


def _every_setting(obfuscated: pd.DataFrame, settings: pd.DataFrame | None) -> pd.DataFrame:
    """Return the settings of the table, and of those named the ones that it lacks."""
    named = obfuscated[list(SETTING)].drop_duplicates()
    if settings is None:
        return named
    checked = Table("Settings", {name: OBFUSCATED.columns[name] for name in SETTING}, SETTING).check(
        with_setting(settings)[list(SETTING)].drop_duplicates()
    )
    return pd.concat([named, checked]).drop_duplicates(ignore_index=True) if len(named) else checked
