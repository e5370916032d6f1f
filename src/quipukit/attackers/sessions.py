"""Attack sessions: how much better the last query of a session is found when the engine has seen those before it."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from quipukit.attackers.base import Attacker
from quipukit.attackers.log import QueryLog, read_log
from quipukit.attackers.panel import Panel
from quipukit.attackers.session import Session
from quipukit.attackers.task import GROUP, Task, by_setting, every_setting
from quipukit.encoders.base import Encoder
from quipukit.encoders.load import load_encoder
from quipukit.encoders.store import EncodingStore, PrivateStore
from quipukit.errors import InputError
from quipukit.frames import OBFUSCATED, QUERIES, SESSION_RANKS, sessions_frame
from quipukit.progress import Progress
from quipukit.vectors.sources import load_vectors
from quipukit.vectors.store import Vectors

if TYPE_CHECKING:
    from quipukit.mechanisms.base import Mechanism

LENGTHS = (1, 2, 3, 5)
_SPACE = "\x1f"  # between a length and an id of a session


def session_attack(
    obfuscated: pd.DataFrame,
    queries: pd.DataFrame,
    sessions: pd.DataFrame,
    log: "QueryLog | str | Iterable[str]",
    *,
    lengths: Sequence[int] = LENGTHS,
    encoder: str | Encoder = "minilm",
    vectors: "str | Vectors | None" = None,
    mechanisms: "Sequence[Mechanism]" = (),
    attacker: Attacker | None = None,
    inject: bool = True,
    settings: pd.DataFrame | None = None,
    store_of: "Callable[[Encoder], PrivateStore] | None" = None,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Return the rank of every session's last query, for every setting and number of queries seen: SessionRanks.

    ``obfuscated`` holds what each query of the sessions would send alone; what is sent in a session is up to the
    mechanism (`Mechanism.in_session`), so mechanisms that remember must be among ``mechanisms``. Where nothing is sent
    for the last query, the attacker has what was sent before it. ``inject`` completes the log with all queries of the
    sessions. ``attacker`` takes the place of `Session`. `quipukit.session_risk` makes a curve of the ranks.
    """
    asked = QUERIES.check(queries)
    table = sessions_frame(sessions, asked)
    whole = log if isinstance(log, QueryLog) else read_log(log)
    texts = dict(zip(asked["qid"], asked["query"], strict=True))
    used = whole.completed([texts[qid] for qid in dict.fromkeys(table["qid"])]) if inject else whole
    if attacker is None:
        pack = load_vectors(vectors) if vectors is None or isinstance(vectors, str) else vectors
        attacker = Session(encoder=load_encoder(encoder), vectors=pack)
    panel = Panel([attacker], used, store_of=store_of or _private, mechanisms=mechanisms)
    task = session_task(obfuscated, texts, table, used, lengths, mechanisms, settings)
    ranks = panel.ranks_of(task, progress=progress)
    length, sid = zip(*(one.split(_SPACE, 1) for one in ranks["qid"]), strict=True)
    return SESSION_RANKS.check(ranks.drop(columns="qid").assign(sid=sid, length=list(map(int, length))))


def session_task(
    obfuscated: pd.DataFrame,
    texts: "dict[str, str]",
    sessions: pd.DataFrame,
    log: QueryLog,
    lengths: Sequence[int],
    mechanisms: "Sequence[Mechanism]" = (),
    settings: pd.DataFrame | None = None,
) -> Task:
    """Return what there is to guess: the last query of every session, at every length."""
    given: Sequence[object] = lengths
    for one in given:
        if isinstance(one, bool) or not isinstance(one, int | np.integer) or one < 1:
            raise InputError(f"a length must be a whole number of at least 1 (found {one!r}).", argument="lengths")
    sent = OBFUSCATED.check(obfuscated).sort_values("variant", kind="stable")
    alone = {key: tuple(own) for key, own in sent.groupby(list(GROUP), sort=False, observed=True)["query"]}
    wanted = every_setting(sent.sort_index(), settings)
    known = by_setting(mechanisms)
    in_order = {sid: own.tolist() for sid, own in sessions.groupby("sid", sort=False)["qid"]}
    named, shown, before, targets = [], [], [], []
    for setting in wanted.itertuples(index=False, name=None):
        for sid, qids in in_order.items():
            for length in sorted(set(map(int, lengths))):
                transcript = [alone.get((*setting, qid), ()) for qid in qids[-length:]]
                if setting in known:
                    transcript = known[setting].in_session(transcript)
                *earlier, last = transcript
                earlier = [one for one in earlier if one]
                seen = last or tuple(text for one in earlier for text in one)
                if seen:
                    named.append((*setting, _named(length, sid)))
                    shown.append(seen)
                    before.append(tuple(earlier))
                    targets.append(log.row(texts[qids[-1]]))
    ids = [_named(length, sid) for sid in in_order for length in sorted(set(map(int, lengths)))]
    return Task(
        asked=wanted.merge(pd.DataFrame({"qid": ids}, dtype=object), how="cross"),
        groups=pd.DataFrame(named, columns=list(GROUP)).astype({"value": float}),
        texts=shown,
        targets=np.array(targets, np.int64),
        queries={_named(length, sid): texts[qids[-1]] for sid, qids in in_order.items() for length in lengths},
        earlier=before,
    )


def _named(length: int, sid: str) -> str:
    return f"{length}{_SPACE}{sid}"


def _private(encoder: Encoder) -> PrivateStore:
    return PrivateStore(EncodingStore(encoder))
