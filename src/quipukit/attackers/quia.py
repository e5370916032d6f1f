"""QuIA, the query inference attack: rank a query log by its similarity to the centroid of what was sent.

The curious system encodes the obfuscated queries that it received, takes their mean c, and ranks every query q of its
log by cos(c, T(q)). The rank of the original tells the risk.

Reference: De Faveri, Faggioli, Ferro. QuIPU. ECIR 2025.
"""

import itertools
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from quipukit.attackers.log import QueryLog, read_log
from quipukit.attackers.ranks import Counts, best_rows, count_better
from quipukit.encoders.base import Encoder
from quipukit.encoders.distributed import distributed
from quipukit.encoders.load import load_encoder
from quipukit.encoders.store import Encodings, EncodingStore, PrivateStore
from quipukit.errors import InputError
from quipukit.executors.base import Executor
from quipukit.executors.local import Local
from quipukit.frames import OBFUSCATED, QUERIES, RANKS, SETTING, Table, with_setting
from quipukit.text import key

NAME = "QuIA"

Progress = Callable[[float, float], None]
Stages = Callable[[str], Progress]


def _silent(_: str) -> Progress:
    return lambda done, total: None


@dataclass(frozen=True, eq=False)
class Attack:
    """Everything the attacker has: the log with its encodings, and a centroid for every setting and query.

    ``asked`` holds every setting with every query, in the order of the ranks; where a setting sent nothing for a query,
    there is no centroid, and nothing to guess it by.
    """

    log: QueryLog
    encodings: Encodings
    asked: pd.DataFrame  # setting, qid
    groups: pd.DataFrame  # one row per centroid: setting, qid
    centroids: NDArray[np.float64]
    targets: NDArray[np.int64]
    target_vectors: NDArray[np.float64]
    coverage: dict[str, int]

    def ranks(self, progress: Progress | None = None, executor: Executor | None = None) -> pd.DataFrame:
        """Return the rank of every original in the log, as a Ranks table: every setting with every query.

        A query for which a setting sent nothing cannot be guessed: it is not found, its risk is 0, and it is counted
        (``no_obfuscation`` in ``attrs``).
        """
        counts = count_better(
            self.centroids, self.targets, self._rows, len(self.log), self.target_vectors, progress, executor
        )
        found = _ranks_frame(self.groups, counts, self.targets)
        ranks = self.asked.merge(found, on=[*SETTING, "qid"], how="left")
        nothing = ranks["attacker"].isna()
        frame = RANKS.check(ranks.fillna({"attacker": NAME, "log_rank": np.inf, "better": -1, "tied": 0}))
        frame.attrs.update(log_size=len(self.log), no_obfuscation=int(nothing.sum()), **self.coverage)
        return frame

    def guesses(self, top: int = 10) -> pd.DataFrame:
        """Return the best guesses for every setting and query: setting, qid, guess (from 1), query, similarity."""
        rows, similarity = best_rows(self.centroids, self._rows, len(self.log), top)
        count = rows.shape[1]
        table = self.groups.loc[self.groups.index.repeat(count), [*SETTING, "qid"]].reset_index(drop=True)
        texts = [self.log.texts[row] for row in rows.ravel()]
        return table.assign(
            guess=np.tile(np.arange(1, count + 1), len(rows)),
            query=texts,
            similarity=similarity.ravel(),
            hit=rows.ravel() == np.repeat(self.targets, count),
        )

    def _rows(self, start: int, stop: int) -> NDArray[np.float32]:
        return self.encodings[start:stop]


def prepare(
    obfuscated: pd.DataFrame,
    queries: pd.DataFrame,
    log: "QueryLog | str | Iterable[str]",
    encoder: str | Encoder = "minilm",
    inject: bool = True,
    stages: Stages = _silent,
    settings: pd.DataFrame | None = None,
    store: PrivateStore | None = None,
) -> Attack:
    """Encode what the attacker sees and what it knows; see `attack`.

    The log itself is encoded once, ever. The vectors of all other texts, originals above all, stay in memory, or in
    ``store``, which then stands for the encoder.
    """
    obfuscated, queries = OBFUSCATED.check(obfuscated), QUERIES.check(queries)
    originals = _originals(obfuscated, queries)
    whole = log if isinstance(log, QueryLog) else read_log(log)
    known = sum(whole.row(text) >= 0 for text in originals.values())
    used = whole.completed(list(originals.values())) if inject else whole
    if store is None:
        store = PrivateStore(EncodingStore(load_encoder(encoder)))
    store.shared.ensure(used.public, "query", stages("encoding the log"))
    encodings = store.ensure(used.texts, "query")
    sent = store.ensure(list(dict.fromkeys(obfuscated["query"])), "query", stages("encoding the obfuscated queries"))
    groups, centroids = _centroids(obfuscated, sent)
    texts = [originals[qid] for qid in groups["qid"]]
    distinct = {
        text: vector for text, vector in zip(originals.values(), store.get(list(originals.values())), strict=True)
    }
    return Attack(
        log=used,
        encodings=encodings,
        asked=_every_setting(obfuscated, settings).merge(queries[["qid"]], how="cross"),
        groups=groups,
        centroids=centroids,
        targets=np.array([used.row(text) for text in texts], np.int64),
        target_vectors=np.array([_entry(used, encodings, text, distinct[text]) for text in texts], np.float64).reshape(
            centroids.shape
        ),
        coverage={"queries": len(originals), "in_log": known, "injected": len(used) - len(whole)},
    )


def attack(
    obfuscated: pd.DataFrame,
    queries: pd.DataFrame,
    log: "QueryLog | str | Iterable[str]",
    encoder: str | Encoder = "minilm",
    inject: bool = True,
    stages: Stages = _silent,
    settings: pd.DataFrame | None = None,
    executor: Executor | None = None,
) -> pd.DataFrame:
    """Return the rank of every original among the log's queries, under every setting: a Ranks table.

    Every query given counts under every setting: one for which nothing was sent is not found, and has risk 0. A setting
    that sent nothing at all has no row among the obfuscated queries; give ``settings`` (a frame with mechanism,
    parameter and value) to have it counted too. With ``inject`` the log is completed with the originals, as in the
    paper; without it an original that the log lacks cannot be found. ``attrs`` of the table tell the size of the log,
    how many of the originals it held by itself (coverage), and how often nothing was sent. The log is encoded once,
    ever; what belongs to the user is encoded in memory. ``executor`` encodes and ranks in other processes.
    """
    with executor or Local() as executor:
        ready = prepare(
            obfuscated, queries, log, distributed(load_encoder(encoder), executor), inject, stages, settings
        )
        unsent = never_sent(obfuscated, queries)
        if unsent:
            warnings.warn(
                f"for {unsent} of {len(queries)} queries no setting sent anything, so they count as risk 0; if they "
                "were never obfuscated, give only those that were.",
                stacklevel=2,
            )
        return ready.ranks(stages("ranking the log"), executor)


def never_sent(obfuscated: pd.DataFrame, queries: pd.DataFrame) -> int:
    """Return for how many queries no setting sent anything: they lower every mean risk, rightly or not."""
    return len(set(queries["qid"]) - set(obfuscated["qid"]))


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


def _centroids(obfuscated: pd.DataFrame, sent: Encodings) -> tuple[pd.DataFrame, NDArray[np.float64]]:
    """Return the mean vector of the variants of every setting and query; equal variants count as often as they come."""
    place = {text: number for number, text in enumerate(dict.fromkeys(obfuscated["query"]))}
    numbers = obfuscated["query"].map(place).to_numpy(np.int64)
    keys = [*SETTING, "qid"]
    group_of = obfuscated.groupby(keys, sort=False, observed=True).ngroup().to_numpy()
    groups = obfuscated[keys].drop_duplicates(ignore_index=True)
    centroids = np.zeros((len(groups), sent.shape[1]))
    order = np.argsort(group_of, kind="stable")
    bounds = np.searchsorted(group_of[order], np.arange(len(groups) + 1))
    for group, (start, stop) in enumerate(itertools.pairwise(bounds)):
        # Summed in the order of the variants: the same centroid whatever the other settings are.
        centroids[group] = sent[numbers[order[start:stop]]].mean(axis=0, dtype=np.float64)
    return groups, centroids


def _entry(log: QueryLog, encodings: Encodings, text: str, own: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the vector of the log's entry for a query: its text may be another spelling of the same key."""
    row = log.row(text)
    if row < 0 or key(log.texts[row]) == "" or log.texts[row] == text:
        return own
    return encodings[row : row + 1][0]


def _ranks_frame(groups: pd.DataFrame, counts: Counts, targets: NDArray[np.int64]) -> pd.DataFrame:
    found = targets >= 0
    columns: dict[str, Any] = {column: groups[column] for column in [*SETTING, "qid"]}
    return RANKS.check(
        pd.DataFrame(
            {
                **columns,
                "attacker": NAME,
                "log_rank": np.where(found, counts.better + 1 + counts.tied / 2, np.inf),
                "better": np.where(found, counts.better, -1),
                "tied": np.where(found, counts.tied, 0),
            }
        )
    )
