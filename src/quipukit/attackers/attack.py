"""Attack obfuscated queries: complete the log, let every attacker rank it, and say how much of it there was to find."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from quipukit.attackers.base import Attacker
from quipukit.attackers.growth import GROWTH, SIZES, growth_ranks, sizes_below, with_own_budgets
from quipukit.attackers.log import QueryLog, read_log
from quipukit.attackers.panel import Panel
from quipukit.attackers.task import Task
from quipukit.encoders.base import Encoder
from quipukit.encoders.distributed import distributed_store
from quipukit.encoders.store import PrivateStore
from quipukit.executors.base import Executor
from quipukit.executors.local import Local
from quipukit.frames import QUERIES, SETTING
from quipukit.progress import Progress
from quipukit.specs import Spec
from quipukit.text import tokenize

if TYPE_CHECKING:
    from quipukit.mechanisms.base import Mechanism
    from quipukit.vectors.store import Vectors

DEFAULT = ("panel",)
_MANY = 0.1  # a share of texts that is worth a word

Stages = Callable[[str], Progress]


def _silent(_: str) -> Progress:
    return lambda done, total: None


@dataclass(frozen=True)
class Coverage:
    """How much there was to find.

    ``log_size`` is the number of rows that were ranked, ``queries`` that of the originals, of which the log held
    ``in_log`` by itself and ``injected`` were added. ``no_obfuscation`` is how often a setting sent nothing for a
    query.
    """

    log_size: int
    queries: int
    in_log: int
    injected: int
    no_obfuscation: int = 0


def coverage(queries: pd.DataFrame, log: "QueryLog | str | Iterable[str]", inject: bool = True) -> Coverage:
    """Return how many of the queries a log holds, and its size when it is completed with the others (``inject``)."""
    whole = log if isinstance(log, QueryLog) else read_log(log)
    texts = QUERIES.check(queries)["query"].tolist()
    used = whole.completed(texts) if inject else whole
    return Coverage(len(used), len(texts), int((whole.rows(texts) >= 0).sum()), len(used) - len(whole))


@dataclass(frozen=True, eq=False)
class AttackReport:
    """The ranks of an attack, what there was to find, and what the attackers would guess."""

    ranks: pd.DataFrame
    coverage: Coverage
    panel: Panel
    obfuscated: pd.DataFrame
    queries: pd.DataFrame

    def guesses(self, top: int = 10) -> pd.DataFrame:
        """Return the best guesses of every attacker for every setting and query; see `Panel.guesses`."""
        return self.panel.guesses(self.obfuscated, self.queries, top)

    def remark(self) -> str:
        """Return in words how many texts no attacker that reads words can read; empty where they are few.

        What is found there is what `quipukit.attackers.style` finds: who looks like an original, whatever was sent.
        """
        # Those that know the mechanism count unknown words by themselves.
        agnostic = [getattr(one, "vectors", None) for one in self.panel.attackers if one.knows == "log"]
        vectors = {id(own): own for own in agnostic if own is not None}
        divided = [set(tokenize(text)) for text in self.obfuscated["query"]]
        odd = [words for words in divided if not any(word in own for own in vectors.values() for word in words)]
        if not vectors or not odd or len(odd) < _MANY * len(divided):
            return ""
        strange = set().union(*odd)
        for text in self.panel.log.texts:
            if not strange:
                break
            strange.difference_update(tokenize(text))
        count = sum(words <= strange for words in odd)
        if not count or count < _MANY * len(divided):
            return ""
        return (
            f"{count:,} of {len(divided):,} texts have no word that the log or the attackers' word vectors know, or "
            "are empty; what is found by them is the floor by style, and says nothing about the mechanism"
        )

    def growth(self, sizes: Sequence[int] = SIZES) -> pd.DataFrame:
        """Return the ranks after fewer variants, by random subsets, and after all of them: Ranks with ``seen``.

        ``sizes`` are the numbers of variants seen; those that no query exceeds are left out. `quipukit.risk_growth`
        makes a curve of them for every setting and attacker. Settings whose variants share one budget have none: with
        fewer variants each would have had more of it. Obfuscate with each n to see theirs.
        """
        counts = self.obfuscated.groupby([*SETTING, "qid"], observed=True).size()
        most = int(counts.max()) if len(counts) else 0
        settings = self.ranks[list(SETTING)].drop_duplicates()
        fewer = growth_ranks(self.panel, self.obfuscated, self.queries, sizes_below(most, sizes), settings=settings)
        whole = with_own_budgets(self.ranks)
        return GROWTH.check(pd.concat([fewer, whole.assign(seen=most)], ignore_index=True))


def attack(
    obfuscated: pd.DataFrame,
    queries: pd.DataFrame,
    log: "QueryLog | str | Iterable[str]",
    encoder: str | Encoder = "minilm",
    inject: bool = True,
    stages: Stages = _silent,
    settings: pd.DataFrame | None = None,
    *,
    attackers: "Sequence[str | Spec | Attacker]" = DEFAULT,
    vectors: "str | Vectors | None" = None,
    mechanisms: "Sequence[Mechanism]" = (),
    executor: Executor | None = None,
) -> pd.DataFrame:
    """Return the rank of every original among the log's queries, for every attacker and setting: a Ranks table.

    ``attackers`` are specs ("QuIA", "QuIA(encoder='minilm')") or objects; ``encoder`` and ``vectors`` are for those
    that need one and name none. Attackers that know the mechanism take it from ``mechanisms`` (bound ones, as
    `quipukit.mechanism` returns them), or else bind the name that the table holds to ``vectors``. Every query given
    counts under every setting: one for which nothing was sent is not found, and has risk 0. A setting that sent
    nothing at all has no row among the obfuscated queries; give ``settings`` (a frame with mechanism, parameter and
    value) to have it counted too. With ``inject`` the log is completed with the originals, as in the paper; without
    it an original that the log lacks cannot be found. The log is encoded once, ever; what belongs to the user is
    encoded in memory. `attack_report` returns, with the ranks, how many of the originals the log held and how often
    nothing was sent. ``executor`` encodes and ranks in other processes.
    """
    report = attack_report(
        obfuscated,
        queries,
        log,
        encoder,
        inject,
        stages,
        settings,
        attackers=attackers,
        vectors=vectors,
        mechanisms=mechanisms,
        executor=executor,
    )
    unsent = never_sent(obfuscated, queries)
    if unsent:
        warnings.warn(
            f"for {unsent} of {len(queries)} queries no setting sent anything, so they count as risk 0; if they were "
            "never obfuscated, give only those that were.",
            stacklevel=2,
        )
    if remark := report.remark():
        warnings.warn(f"{remark}.", stacklevel=2)
    return report.ranks


def attack_report(
    obfuscated: pd.DataFrame,
    queries: pd.DataFrame,
    log: "QueryLog | str | Iterable[str]",
    encoder: str | Encoder = "minilm",
    inject: bool = True,
    stages: Stages = _silent,
    settings: pd.DataFrame | None = None,
    *,
    attackers: "Sequence[str | Spec | Attacker]" = DEFAULT,
    vectors: "str | Vectors | None" = None,
    mechanisms: "Sequence[Mechanism]" = (),
    executor: Executor | None = None,
) -> AttackReport:
    """Attack as `attack` does, and return the ranks with their coverage and with the attackers' best guesses."""
    whole = log if isinstance(log, QueryLog) else read_log(log)
    used = whole.completed(QUERIES.check(queries)["query"].tolist()) if inject else whole
    task = Task.of(obfuscated, queries, used, settings)
    with executor or Local() as executor:

        def store_of(encoder: Encoder) -> PrivateStore:
            return distributed_store(encoder, executor)

        panel = Panel(attackers, used, encoder=encoder, vectors=vectors, store_of=store_of, mechanisms=mechanisms)
        panel.prepare(stages("encoding the log"))
        panel.encode(obfuscated["query"].tolist(), stages("encoding the obfuscated queries"))
        ranks = panel.ranks(
            obfuscated, queries, settings=settings, progress=stages("ranking the log"), executor=executor
        )
    known = coverage(queries, whole, inject)
    facts = Coverage(known.log_size, known.queries, known.in_log, known.injected, len(task.asked) - len(task.groups))
    return AttackReport(ranks, facts, panel, obfuscated, queries)


def never_sent(obfuscated: pd.DataFrame, queries: pd.DataFrame) -> int:
    """Return for how many queries no setting sent anything: they lower every mean risk, rightly or not."""
    return len(set(queries["qid"]) - set(obfuscated["qid"]))
