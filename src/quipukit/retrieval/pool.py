"""Ask a search system for many obfuscated queries, and pool what it answers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from quipukit.collections.base import Collection
from quipukit.errors import InputError
from quipukit.executors.base import Executor, slices
from quipukit.executors.local import Local
from quipukit.executors.shared import Plain
from quipukit.executors.tally import Tally
from quipukit.frames import OBFUSCATED, POOL, RUN, SETTING, Queries, queries_frame, with_setting
from quipukit.plugins import fault_of, is_ours, naming
from quipukit.progress import Progress
from quipukit.retrieval.base import Ranking, Retriever
from quipukit.retrieval.consent import check_consent, check_flag
from quipukit.retrieval.load import load_retriever

# A query takes some fifty microseconds: fewer texts would not be worth their way.
_LEAST_TEXTS = 512


def default_depth(documents: int, variants: int) -> int:
    """Return how many documents to ask for per obfuscated query: 1 % of the collection over all variants, 10 to 100.

    In a small collection many deep lists would pool most of it, and even random queries would find what is relevant.
    Without documents on this machine it is 100.

    >>> default_depth(117_659, 50), default_depth(8_841_823, 50), default_depth(11_429, 20), default_depth(0, 20)
    (23, 100, 10, 100)
    """
    if not documents:
        return 100
    return int(np.clip(0.01 * documents / max(1, variants), 10, 100))


def depth_for(obfuscated: pd.DataFrame, collection: Collection | None) -> int:
    """Return the default depth for these variants: by the collection's size, or 100 for an engine's own documents."""
    if collection is None:
        return default_depth(0, 1)
    variants = int(obfuscated.groupby([*SETTING, "qid"]).size().max()) if len(obfuscated) else 1
    return default_depth(len(collection), variants)


def search_distinct(
    texts: Sequence[str],
    retriever: Retriever,
    depth: int,
    progress: Progress | None = None,
    executor: Executor | None = None,
) -> dict[str, Ranking]:
    """Ask for every distinct text once.

    Only a portable system runs on the workers of an executor. An engine is asked from one place, where its login is,
    its answers are saved and its pace is kept; the vectors of a dense one lie in the cache of this machine.
    """
    distinct = list(dict.fromkeys(texts))
    rankings: dict[str, Ranking] = {}
    with executor if executor is not None and searches_elsewhere(retriever, executor) else Local() as chosen:
        spans = slices(len(distinct), chosen.parts(), _LEAST_TEXTS)
        tally = Tally(progress, len(distinct))
        parts = (_Part(retriever, Plain(distinct[span]), depth, tally) for span in spans)
        for number, answers in chosen.map(_search, parts):
            rankings.update(zip(distinct[spans[number]], answers, strict=True))
            tally.reach(len(rankings))
    return {text: rankings[text] for text in distinct}


def searches_elsewhere(retriever: Retriever, executor: Executor) -> bool:
    """Return whether a search system runs on the workers of an executor."""
    return retriever.portable and not retriever.remote and not executor.in_process


@dataclass(frozen=True, eq=False)
class _Part:
    """Some texts to search with."""

    retriever: Retriever
    texts: Plain[list[str]]
    depth: int
    tally: Tally


def _search(part: _Part) -> list[Ranking]:
    texts = part.texts.content

    def progress(done: float, total: float) -> None:
        part.tally.reach(len(texts) * done / max(total, 1))

    with naming("search system", part.retriever):
        rankings: Any = part.retriever.search(texts, part.depth, progress)
    if not is_ours(part.retriever) and not (
        isinstance(rankings, list)
        and len(rankings) == len(texts)
        and all(isinstance(one, Ranking) and len(one.docnos) == len(one.scores) for one in rankings)
    ):
        raise fault_of("search system", part.retriever, f"gave no list of {len(texts):,} rankings, one for every text")
    return list(rankings)


def retrieve(
    obfuscated: pd.DataFrame,
    collection: Collection | None = None,
    retriever: str | Retriever = "bm25",
    depth: int | None = None,
    progress: Progress | None = None,
    *,
    queries: "Queries | None" = None,
    send_originals: bool = False,
    executor: Executor | None = None,
) -> pd.DataFrame:
    """Return a Run: the documents found for every variant, as they came.

    Identical obfuscated queries are searched once. ``depth`` defaults to `default_depth`. A search system over the
    network gets no original without ``send_originals``: it needs ``queries``, the originals, and a table that holds any
    of them, or Identity, is refused. Several settings are always refused, unless the table's column ``noise`` says
    that it is independent. ``executor`` lets other processes search, if the system is portable.
    """
    check_flag(send_originals)
    obfuscated = OBFUSCATED.check(obfuscated)
    depth = depth or depth_for(obfuscated, collection)
    system = load_retriever(retriever, collection)
    if system.remote:
        check_consent(obfuscated, system.name, [] if queries is None else [queries_frame(queries)], send_originals)
    rankings = search_distinct(obfuscated["query"].tolist(), system, depth, progress, executor)
    lists = [rankings[query] for query in obfuscated["query"]]
    lengths = np.array([len(ranking.docnos) for ranking in lists], np.int64)
    rows = np.repeat(np.arange(len(obfuscated)), lengths)
    run = obfuscated[[column for column in RUN.columns if column in OBFUSCATED.columns]].copy()
    for column in ("qid", "mechanism", "parameter"):
        run[column] = pd.Categorical(run[column])
    run = run.iloc[rows].reset_index(drop=True)
    run["docno"] = pd.Categorical([docno for ranking in lists for docno in ranking.docnos])
    run["score"] = np.concatenate([ranking.scores for ranking in lists]) if lists else np.empty(0)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    run["rank"] = np.arange(len(run)) - starts[rows]
    return run[list(RUN.columns)]


def pool(run: pd.DataFrame) -> pd.DataFrame:
    """Return the union of the lists of every query: each document once, scores discarded.

    >>> run = pd.DataFrame({"qid": ["1", "1", "1"], "variant": [0, 1, 1], "docno": ["b", "b", "a"]})
    >>> pool(run)["docno"].tolist()
    ['a', 'b']
    """
    frame = with_setting(run)
    missing = [column for column in ("qid", "docno") if column not in frame.columns]
    if missing:
        raise InputError(f"a run needs column {missing[0]!r} (found {', '.join(map(str, frame.columns))}).")
    groups = frame.groupby([*SETTING, "qid"], sort=False, observed=True)["docno"]
    return pooled_documents({key: docnos for key, docnos in groups})


def pool_rankings(obfuscated: pd.DataFrame, rankings: Mapping[str, Ranking]) -> pd.DataFrame:
    """Pool answers straight from the rankings: what ``pool(retrieve(...))`` gives, without the long table between."""
    groups = obfuscated.groupby([*SETTING, "qid"], sort=False, observed=True)["query"]
    return pooled_documents(
        {key: [docno for query in queries for docno in rankings[query].docnos] for key, queries in groups}
    )


def pooled_documents(found: "Mapping[tuple[Any, ...], Iterable[str]]") -> pd.DataFrame:
    """Return a Pool from the documents found for every (mechanism, parameter, value, qid), each document once."""
    pools = [
        (str(mechanism), str(parameter), float(value), str(qid), sorted({str(docno) for docno in docnos}))
        for (mechanism, parameter, value, qid), docnos in found.items()
    ]
    pools.sort(key=lambda one: one[:4])
    sizes = [len(docnos) for *_, docnos in pools]
    columns: dict[str, Any] = {
        name: np.repeat(np.array([one[place] for one in pools], float if name == "value" else object), sizes)
        for place, name in enumerate((*SETTING, "qid"))
    }
    columns["docno"] = np.array([docno for *_, docnos in pools for docno in docnos], object)
    return POOL.typed(pd.DataFrame(columns))  # no document twice, by construction
