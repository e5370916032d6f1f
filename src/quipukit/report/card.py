"""A card: what any file of obfuscated queries gives away, and what it finds, on one page and as one JSON file.

It is made from the file alone, whoever wrote it, and holds no text of a query: it can be linked from a paper. Equal
inputs make equal bytes.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from quipukit import __version__
from quipukit.attackers.attack import DEFAULT, Coverage, Stages, attack_report
from quipukit.attackers.log import QueryLog, read_log
from quipukit.collections.base import Collection
from quipukit.collections.load import load_collection
from quipukit.errors import InputError
from quipukit.frames import SETTING, Queries, by_parameter, queries_frame
from quipukit.io.obfuscated import read_obfuscated
from quipukit.io.reading import file_kind
from quipukit.io.tables import FORMATS, Pathish
from quipukit.measures.risk import risk
from quipukit.measures.strongest import STRONGEST, risk_intervals, strongest_names
from quipukit.measures.utility import mean_scores, utility
from quipukit.obfuscation import obfuscate
from quipukit.retrieval.consent import are_originals
from quipukit.retrieval.fusion import fused_pool
from quipukit.retrieval.pool import depth_for, pool_rankings, search_distinct
from quipukit.retrieval.rerank import fused_ranked, rerank
from quipukit.retrieval.system import SystemSpec
from quipukit.richtext import block, table
from quipukit.settings import ORIGINAL, composed_budget, setting_name
from quipukit.storage import atomic_write, sha256

if TYPE_CHECKING:
    from quipukit.attackers.base import Attacker
    from quipukit.encoders.base import Encoder
    from quipukit.specs import Spec

FORM = 1
MEASURES = ("nDCG@10", "SetR", "P@10")


def _silent(_: str) -> Any:
    return lambda done, total: None


@dataclass(frozen=True, eq=False)
class Card:
    """What a card says: the file, the log, and one row per setting; ``facts`` is all of it, as JSON has it."""

    facts: dict[str, Any]

    def __repr__(self) -> str:
        return f"Card({self.facts['file']['name']!r}, {len(self.facts['settings'])} settings)"

    def _repr_html_(self) -> str:
        from quipukit.report.card_page import verdict

        rows = self.settings
        below = table(list(rows.columns), rows.itertuples(index=False))
        return block(self.facts["file"]["name"], notes=verdict(self.facts), below=below)

    @property
    def settings(self) -> pd.DataFrame:
        """Return one row per setting: risk of the first attacker and of the strongest, and utility."""
        rows = []
        for one in self.facts["settings"]:
            row = {name: one[name] for name in ("mechanism", "parameter", "value", "n", "budget", "kept_as_is")}
            for who in (self.facts["attackers"][0], STRONGEST):
                row |= {f"{who} {name}": risks["risk"] for name, risks in one["risks"].get(who, {}).items()}
            rows.append({**row, **one["utility"]})
        return pd.DataFrame(rows)

    def to_json(self) -> str:
        """Return the card as JSON."""
        return json.dumps(self.facts, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def to_html(self) -> str:
        """Return the card as a page that needs nothing but itself."""
        from quipukit.report.card_page import card_page

        return card_page(self.facts)

    def write(self, path: Pathish) -> tuple[Path, Path]:
        """Write the page to a file that ends in .html, and the JSON beside it; return both."""
        page = checked_page(path)
        with atomic_write(page) as draft:
            draft.write_text(self.to_html(), encoding="utf-8")
        with atomic_write(page.with_suffix(".json")) as draft:
            draft.write_text(self.to_json(), encoding="utf-8")
        return page, page.with_suffix(".json")


def checked_page(path: Pathish) -> Path:
    """Return the path of a page, or refuse a name that says no format, before any work is done."""
    if Path(path).suffix != ".html":
        raise InputError(f"{path}: end the name of the page in .html; the JSON file is written beside it.")
    return Path(path)


def card(
    file: Pathish,
    queries: "Queries | None" = None,
    log: "str | QueryLog | Iterable[str] | None" = None,
    collection: "str | Collection | None" = None,
    *,
    attackers: "Sequence[str | Spec | Attacker]" = DEFAULT,
    encoder: "str | Encoder" = "minilm",
    retriever: str = "bm25",
    reranker: str = "minilm",
    measures: Sequence[str] = MEASURES,
    k: int = 10,
    depth: int | None = None,
    stages: Stages = _silent,
) -> Card:
    """Attack a file of obfuscated queries, search with it where there are judgments, and return the card of it.

    ``file`` is a file or a folder, in our own or a published layout (`quipukit.read_obfuscated`). The originals are
    ``queries``, or else those that the file holds, or those of the collection. ``log`` is what attackers rank,
    completed with the originals: the collection's own, or else the built-in one, where it is not given. Utility needs
    a ``collection`` with judgments; it is searched on this machine alone.
    """
    system = SystemSpec(retriever, reranker)
    if system.remote:
        raise InputError("a card searches on this machine alone; name bm25 or dense.", argument="retriever")
    sent, inside = read_obfuscated(file)
    documents = None if collection is None else load_collection(collection)
    asked = _originals(inside, queries, documents, sent)
    named = log if log is not None else _own_log(documents)
    attacked = read_log(named) if isinstance(named, str) else named
    report = attack_report(sent, asked, attacked, encoder, True, stages, attackers=attackers)
    scores = risk(report.ranks, k)
    intervals, strongest = risk_intervals(scores), strongest_names(scores)
    utilities, original = _utilities(sent, asked, documents, system, measures, depth, stages)
    names = list(dict.fromkeys(report.ranks["attacker"].astype(str)))
    rows = [_setting(setting, own, asked, intervals, strongest, utilities) for setting, own in _by_setting(sent)]
    facts = {
        "form": FORM,
        "quipukit": __version__,
        "file": _file(Path(file)),
        "queries": len(asked),
        "variants": len(sent),
        "log": {"name": _log_name(named), **_coverage(report.coverage)},
        "attackers": names,
        "encoder": encoder if isinstance(encoder, str) else type(encoder).__name__,
        "k": k,
        "collection": None if documents is None or not utilities else documents.name,
        "system": None if not utilities else system.name,
        "measures": list(measures) if utilities else [],
        "original": original,
        "settings": rows,
        "notes": [note for note in (report.remark(),) if note],
    }
    return Card(facts)


def _originals(
    inside: pd.DataFrame, given: "Queries | None", collection: Collection | None, table: pd.DataFrame
) -> pd.DataFrame:
    asked = queries_frame(given) if given is not None else inside
    if asked.empty and collection is not None:
        asked = collection.queries()
    if asked.empty:
        raise InputError(
            "the file does not hold the original queries; give them as queries=FILE, or name their collection as "
            "collection=NAME.",
            argument=("queries", "collection"),
        )
    sent = set(table["qid"])
    unknown = sorted(sent - set(asked["qid"]))
    if unknown:
        raise InputError(
            f"{len(unknown)} obfuscated queries have no original (first: {', '.join(unknown[:3])}); give the originals "
            "of all as queries=FILE.",
            argument="queries",
        )
    return asked[asked["qid"].isin(sent)].reset_index(drop=True)


def _log_name(log: "str | QueryLog | Iterable[str]") -> str:
    """Return what a card calls a log: of a path the last part, for the rest describes a machine."""
    if not isinstance(log, str):
        return "given"
    return log if log.startswith("irds:") else Path(log).name


def _own_log(collection: Collection | None) -> str:
    return "wordnet" if collection is None or collection.log_name is None else collection.log_name


def _utilities(
    table: pd.DataFrame,
    asked: pd.DataFrame,
    collection: Collection | None,
    system: SystemSpec,
    measures: Sequence[str],
    depth: int | None,
    stages: Stages,
) -> tuple[dict[tuple[Any, ...], dict[str, float]], dict[str, float]]:
    """Return the mean utilities of every setting, and those of the originals; nothing where there are no judgments."""
    if collection is None or not len(qrels := collection.qrels()):
        return {}, {}
    search = system.load_retriever(collection, progress=stages("indexing"))
    scorer = system.load_scorer(collection, progress=stages("indexing")) if system.reranks else None
    depth = depth or depth_for(table, collection)
    found: dict[tuple[Any, ...], dict[str, float]] = {}
    for sent in (table, obfuscate(asked, ORIGINAL, 1)):
        rankings = search_distinct(sent["query"].tolist(), search, depth, stages("searching"))
        if scorer is None:
            ranked = fused_ranked(fused_pool(sent, rankings))
        else:
            ranked = rerank(pool_rankings(sent, rankings), asked, collection, scorer, stages("re-ranking"))
        means = mean_scores(utility(ranked, qrels, measures, settings=sent, queries=asked["qid"]))
        for row in means.to_dict("records"):
            setting = tuple(row[name] for name in SETTING)
            found[setting] = {name: round(float(row[name]), 6) for name in means.columns if name not in SETTING}
    return found, found.get((ORIGINAL, "", 0.0), {})


def _by_setting(table: pd.DataFrame) -> "Iterable[tuple[tuple[Any, ...], pd.DataFrame]]":
    order = by_parameter(table[list(SETTING)].drop_duplicates())
    groups = {tuple(key): own for key, own in table.groupby(list(SETTING), sort=False, observed=True)}
    return [(setting, groups[setting]) for setting in order.itertuples(index=False, name=None)]


def _setting(
    setting: tuple[Any, ...],
    own: pd.DataFrame,
    asked: pd.DataFrame,
    intervals: pd.DataFrame,
    strongest: pd.DataFrame,
    utilities: dict[tuple[Any, ...], dict[str, float]],
) -> dict[str, Any]:
    mechanism, parameter, value = setting
    n = int(own.groupby("qid").size().max())
    budget = composed_budget(mechanism, parameter, value, n)
    here = _of(intervals, setting)
    risks: dict[str, dict[str, dict[str, Any]]] = {}
    for row in here.to_dict("records"):
        ends = {name: round(float(row[name]), 6) for name in ("risk", "low", "high")}
        risks.setdefault(str(row["attacker"]), {})[str(row["measure"])] = ends
    for row in _of(strongest, setting).to_dict("records"):
        if STRONGEST in risks:
            risks[STRONGEST][str(row["measure"])]["by"] = str(row["attacker"]) if row["risk"] > 0 else ""
    originals = dict(zip(asked["qid"], asked["query"], strict=True))
    same = sum(int(are_originals(texts, [originals[qid]]).sum()) for qid, texts in own.groupby("qid")["query"])
    return {
        "setting": setting_name(mechanism, parameter, value),
        "mechanism": mechanism,
        "parameter": parameter,
        "value": value,
        "n": n,
        "budget": None if math.isnan(budget) else budget,
        "kept_as_is": round(same / max(1, len(own)), 6),
        "risks": risks,
        "utility": utilities.get(setting, {}),
    }


def _of(table: pd.DataFrame, setting: tuple[Any, ...]) -> pd.DataFrame:
    return table[(table[list(SETTING)] == list(setting)).all(axis=1)]


def _coverage(facts: Coverage) -> dict[str, int]:
    return {name: int(value) for name, value in asdict(facts).items()}


def _file(path: Path) -> dict[str, Any]:
    """Return the name of a file, or of a folder of files, and a hash over what it holds."""
    if path.is_file():
        return {"name": path.name, "files": 1, "sha256": sha256(path)}
    files = sorted(file for file in path.rglob("*") if file_kind(file) in FORMATS)
    total = hashlib.sha256()
    for file in files:
        total.update(f"{file.relative_to(path).as_posix()}\0{sha256(file)}\n".encode())
    return {"name": path.resolve().name, "files": len(files), "sha256": total.hexdigest()}
