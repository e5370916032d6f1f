"""Controls of the session attacker: random groups, exchanged sessions, and why one of them is found more often."""

import dataclasses
from typing import Any

import numpy as np
import pandas as pd

SEED = 7
FROM_LOG = 400  # sessions whose last query is drawn from the log
REPEATED = (7, 8, 9)  # seeds of random groups and exchanges
SAMPLED = 3000  # rows of the log that stand for it in Z
UNLIKE = 0.1  # share of the other sessions, the least similar ones, that earlier queries are taken from


def lines_of(planted: Any, log: Any) -> list[str]:
    """Return the controls as tables: on the collection, on the log, and the tests of a control that rises."""
    import quipukit as qk
    from quipukit.mechanisms.cover import Cover

    drawn = np.random.default_rng(SEED).choice(len(log), FROM_LOG, replace=False)
    asked = {f"log{number}": log.texts[row] for number, row in enumerate(drawn)}
    of_log = qk.plant_sessions(asked, log.texts, "minilm", 5, SEED)
    similar = Cover(k=50)
    lines = []
    for own, told in ((planted, "of the collection"), (of_log, "whose last query is drawn from the log")):
        count = own.sessions["sid"].nunique()
        lines += [f"P@1 / R@10 by the number of queries seen, for {count} sessions {told}.", "", _HEAD, _RULE]
        exchanged = _exchanged(own, own, np.random.default_rng(SEED))
        for name, cover, sessions in (
            ("Cover@50", similar, own.sessions),
            ("Cover@50, earlier queries exchanged", similar, exchanged),
            ("random groups of 50", _random_groups(SEED), own.sessions),
            ("random groups of 50, earlier queries exchanged", _random_groups(SEED), exchanged),
        ):
            risks = _risks(cover, own.queries, sessions, log)
            cells = [f"{risks['P@1', length]:.2f} / {risks['R@10', length]:.2f}" for length in (1, 2, 3, 5)]
            lines.append(f"| {name} | {' | '.join(cells)} |")
        lines.append("")
    return [*lines, *_reason(planted, of_log, log)]


def _reason(planted: Any, of_log: Any, log: Any) -> list[str]:
    """Return R@10 under random groups when earlier queries come from elsewhere: means over seeds, and each seed."""
    all_queries = pd.concat([planted.queries, of_log.queries], ignore_index=True)
    lines = [
        f"R@10 after five queries seen, random groups of 50, over {len(REPEATED)} seeds of groups and exchange.",
        "",
        "| sessions | earlier queries taken from | mean | by seed |",
        "|---|---|---|---|",
    ]
    for own, other, unlike, names, attacker in (
        (planted, planted, False, ("collection", "other sessions of the collection"), None),
        (
            planted,
            planted,
            True,
            ("collection", f"the {UNLIKE:.0%} of them whose last queries are least similar"),
            None,
        ),
        (planted, of_log, False, ("collection", "sessions of the log"), None),
        (of_log, of_log, False, ("log", "other sessions of the log"), None),
        (of_log, planted, False, ("log", "sessions of the collection"), None),
        (planted, planted, False, ("collection", "other sessions of the collection; divided by Z"), _normalized()),
    ):
        found = []
        for seed in REPEATED:
            sessions = _exchanged(own, other, np.random.default_rng(seed), unlike)
            used = all_queries[all_queries["qid"].isin(set(sessions["qid"]))]
            found.append(_risks(_random_groups(seed), used, sessions, log, (5,), attacker)["R@10", 5])
        by_seed = ", ".join(f"{risk:.2f}" for risk in found)
        lines.append(f"| {names[0]} | {names[1]} | {np.mean(found):.3f} | {by_seed} |")
    return lines


def _normalized() -> Any:
    """Return the attacker that divides exp(12 cos(a, b)) by its mean Z(a) over the log: to be central is no gain."""
    import quipukit as qk
    from quipukit.attackers.session import Candidates, Session
    from quipukit.vectors.sources import load_vectors

    class Normalized(Session):
        def prepare(self, log: Any, progress: Any = None) -> None:
            super().prepare(log, progress)
            rows = np.sort(np.random.default_rng(1).choice(len(log), SAMPLED, replace=False))
            self._sample = Candidates(rows, np.zeros(SAMPLED))

        def _related(self, vectors: Any, earlier: Any) -> Any:
            return super()._related(vectors, earlier) - super()._related(vectors, self._sample)

    return Normalized(encoder=qk.load_encoder("minilm"), vectors=load_vectors())


def _risks(
    cover: Any,
    queries: pd.DataFrame,
    sessions: pd.DataFrame,
    log: Any,
    lengths: Any = (1, 2, 3, 5),
    attacker: Any = None,
) -> Any:
    import quipukit as qk

    sent = qk.obfuscate(queries, cover, 1, seed=SEED)
    ranks = qk.session_attack(sent, queries, sessions, log, mechanisms=[cover], lengths=lengths, attacker=attacker)
    return qk.session_risk(ranks).set_index(["measure", "length"])["risk"]


def _random_groups(seed: int) -> Any:
    from quipukit.covers.load import load_partition
    from quipukit.mechanisms.cover import Cover

    order = np.random.default_rng(seed).permutation(len(load_partition().pool)).astype(np.int32)
    return Cover(k=50, cover=dataclasses.replace(load_partition(), order=order))


def _exchanged(own: Any, other: Any, rng: np.random.Generator, unlike: bool = False) -> pd.DataFrame:
    """Return sessions in which each earlier query is one of another session: any, or one about something else."""
    table = own.sessions.copy()
    earlier = table["position"] < table.groupby("sid")["position"].transform("max")
    if other is own and not unlike:
        table.loc[earlier, "qid"] = rng.permutation(table.loc[earlier, "qid"].to_numpy())
        return table
    donors = other.sessions
    last = donors["position"] == donors.groupby("sid")["position"].transform("max")
    of_donor = {sid: rows.tolist() for sid, rows in donors[~last].groupby("sid")["qid"]}
    names = np.array(list(of_donor), object)
    allowed = _least_similar(own, names) if unlike else {}
    taken = [
        of_donor[donor][rng.integers(len(of_donor[donor]))]
        for sid in table.loc[earlier, "sid"]
        for donor in [rng.choice(allowed.get(sid, names))]
    ]
    table.loc[earlier, "qid"] = taken
    return table


def _least_similar(planted: Any, names: "np.ndarray") -> "dict[str, np.ndarray]":
    """Return for every session the sessions whose last queries are least similar to its own."""
    import quipukit as qk

    texts = dict(zip(planted.queries["qid"], planted.queries["query"], strict=True))
    vectors = np.asarray(qk.load_encoder("minilm").encode([texts[name] for name in names]), np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    order = np.argsort(vectors @ vectors.T, axis=1)[:, : round(UNLIKE * len(names))]
    return {name: names[rows] for name, rows in zip(names, order, strict=True)}


_HEAD = "| | 1 | 2 | 3 | 5 |"
_RULE = "|---|---|---|---|---|"
