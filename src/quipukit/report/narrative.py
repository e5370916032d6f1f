"""The report in sentences: what was found, what was run, and what it cannot tell."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from quipukit.errors import InputError
from quipukit.measures.bootstrap import Score
from quipukit.measures.quipu import BACKWARDS, NARROW, ORIGINAL, SHORT, SINGLE
from quipukit.measures.resampling import FEW
from quipukit.report.table_model import interval, number, percent, share
from quipukit.report.views import SCORES, Block, ranked_by
from quipukit.results import Result
from quipukit.retrieval.consent import sent_in_words
from quipukit.specs import format_value

BUDGET = 0.1
ATTACKERS = {
    "lazy": "takes the first guess (P@1)",
    "active": "reads the first ten guesses (R@10)",
    "motivated": "reads on until the query comes (RR)",
}
RISKS = {"lazy": "P@1", "active": "R@10", "motivated": "RR"}


@dataclass(frozen=True)
class Leader:
    """The mechanism that one of the two scores puts first, and whether that may be chance; "none" where none can be."""

    by: str
    best: str
    score: str
    interval: str
    rivals: str
    caution: str


@dataclass(frozen=True)
class Finding:
    """What a block says about one attacker: by QuIPU, by hypervolume, and within a budget of risk."""

    attacker: str
    what: str
    leaders: tuple[Leader, ...]
    within: str


def findings(block: Block) -> list[Finding]:
    """Return the best mechanism against every attacker, and what is still found at a risk of 10 % at most."""
    return [
        Finding(who, ATTACKERS.get(who, ""), tuple(_leader(block, who, score) for score in SCORES), _within(block, who))
        for who in block.attackers
    ]


def lead(block: Block) -> str:
    """Return the sentence that says between which ends all mechanisms move."""
    if not block.judged:
        return (
            f"{block.name} has no relevance judgments, so nothing is said about what is still found: this is risk "
            "alone. Add judgments (qrels) and evaluate again for utility, the plane and the QuIPU score."
        )
    ends = {
        name: float(block.curve(name, block.attackers[0])["utility"].iloc[0])
        for name in (ORIGINAL, "Random")
        if name in block.references
    }
    parts = []
    if ORIGINAL in ends:
        depth = next(
            (each.get("depth") for each in block.result.manifest["systems"] if each["name"] == block.system), 0
        )
        among = f" among the first {depth} documents, as in the paper" if depth else ""
        parts.append(f"With the original queries a user finds {block.measure} {number(ends[ORIGINAL])}{among}")
        found = block.ceilings["ceiling"]
        if len(found):
            low, high = number(found.min()), number(found.max())
            range_ = low if low == high else f"{low} to {high}"
            parts.append(f"among as many documents as the settings pool, {range_}")
    elif block.result.manifest.get("sent"):
        parts.append("what the original queries find was not measured, for they were not sent over the wire")
    if "Random" in ends:
        parts.append(f"random words find {number(ends['Random'])} by chance")
    sentence = "; ".join(parts)
    return f"{_capital(sentence)}." if sentence else ""


def safest(block: Block) -> list[tuple[str, str]]:
    """Return, for a block without utility, the least risk against every attacker and which setting has it."""
    found = []
    for who in block.attackers:
        rows = block.points[(block.points["attacker"] == who) & block.points["mechanism"].isin(block.mechanisms)]
        if len(rows):
            row = rows.loc[rows["risk"].idxmin()]
            name = setting_name(row["mechanism"], row["parameter"], row["value"])
            # Its own interval would not survive the choice of the least among many.
            if not block.result.in_log:
                found.append((who, f"none: {block.result.log_ceiling}"))
                continue
            bound = f"at most {number(row['risk_bound'])} on new queries"
            chosen = f"the choice among {len(rows)} settings allowed for"
            found.append((who, f"{name}: {number(row['risk'])}, {bound}, {chosen}"))
    return found


def risk_name(attacker: str) -> str:
    """Return the measure that an attacker's risk is.

    >>> risk_name("lazy"), risk_name("Bayes motivated"), risk_name("active@20")
    ('P@1', 'RR', 'R@20')
    """
    how = attacker.rsplit(maxsplit=1)[-1]
    return RISKS.get(how, how.replace("active@", "R@"))


def scores_in_words(row: Mapping[str, Any]) -> list[str]:
    """Return QuIPU and hypervolume of a row of `Block.scores`, each with its interval."""
    return [
        f"QuIPU {number(row['quipu'])} {interval(row['low'], row['high'])}",
        f"HV {number(row['hypervolume'])} {interval(row['hypervolume_low'], row['hypervolume_high'])}",
    ]


def setting_name(mechanism: str, parameter: str, value: float) -> str:
    """Return the setting as a spec: CMP@10."""
    return f"{mechanism}@{format_value(value)}" if parameter else mechanism


def _leader(block: Block, who: str, score: Score) -> Leader:
    by, prefix = {"quipu": "QuIPU", "hypervolume": "hypervolume"}[score], SCORES[score]
    if not block.result.in_log:
        return Leader(by, "none", "", "", "", _capital(block.result.log_ceiling))
    scores = block.scores[block.scores["attacker"] == who]
    ranked = ranked_by(score, scores)
    unranked = _unranked(scores[~scores["rankable"]]) if score == "quipu" else ""
    if ranked.empty:
        caution = unranked or "No mechanism finds anything at a risk below 1."
        return Leader(by, "none", "", "", "", caution if len(scores) else "Only references were run; add a mechanism.")
    if not ranked[f"{prefix}best"].any():
        top = ranked.loc[ranked[score].idxmax()]
        caution = f"The largest is {top['mechanism']}'s, {number(top[score])}. {_unranked(scores[~scores['rankable']])}"
        return Leader(by, "none", "", "", "", caution)
    row = ranked[ranked[f"{prefix}best"]].iloc[0]
    level = list(ranked.loc[~ranked[f"{prefix}best"] & ~ranked[f"{prefix}worse"], "mechanism"])
    rivals = ""
    if level:
        rivals = f"Chance may explain its lead over {join(level)}."
    elif len(ranked) > 1:
        every = "every other mechanism" if len(ranked) == len(scores) else "every other mechanism that is ranked"
        rivals = f"Significantly better than {every}."
    negative = "Even the best gives away more than it finds." if score == "quipu" and row["quipu"] <= 0 else ""
    bounds = interval(row[f"{prefix}low"], row[f"{prefix}high"])
    caution = " ".join(filter(None, [negative, unranked]))
    return Leader(by, str(row["mechanism"]), number(row[score]), bounds, rivals, caution)


def _unranked(scores: pd.DataFrame) -> str:
    """Return the sentence on the mechanisms that are not ranked, empty where there are none."""
    if scores.empty:
        return ""
    names = [
        f"{row.mechanism} ({share(row.length) if row.unranked == SHORT else row.unranked})"
        for row in scores.itertuples(index=False)
    ]
    why = {
        SHORT: f"A curve that spans less than {percent(NARROW)} of the diagonal has a QuIPU close to 0 whatever the "
        "mechanism does.",
        BACKWARDS: "A curve that runs backwards has a QuIPU with the sign of its opposite; if larger values hide more, "
        "declare hides_more.",
    }
    why[SINGLE] = why[SHORT]
    return " ".join([f"Not ranked: {join(names)}.", *dict.fromkeys(why[one] for one in scores["unranked"])])


def _within(block: Block, who: str) -> str:
    """Return what `recommend` says to a budget of 10 %, or why it says nothing."""
    if not block.mechanisms:
        return ""
    try:
        advice = block.result.recommend(max_risk=BUDGET, **block.who(who), measure=block.measure, system=block.system)
    except InputError as refusal:
        return f"Nothing is recommended: {refusal}"
    return advice.sentence


# --- what was run -------------------------------------------------------------------------------------------------


def run_in_words(result: Result, queries: tuple[int, int] | None = None) -> list[tuple[str, str]]:
    """Return the manifest as pairs of a term and a sentence; ``queries`` are how many were sent, how many judged."""
    manifest = result.manifest
    asked, judged, log = (_part(manifest, name) for name in ("queries", "judgements", "log"))
    collection, vectors, encoder = (_part(manifest, name) for name in ("collection", "vectors", "encoder"))
    size = f"{collection['documents']:,} documents" if collection.get("documents") else ""
    pairs = [
        ("Collection", _sentence(result.name, size, _print_of(collection))),
        # Without their fingerprint: a plain hash lets a reader test a guess, and a report may travel.
        ("Queries", _sentence(f"{asked.get('count', len(result.queries)):,} queries", _judged(queries))),
        ("Judgments", _judgments(judged) if result.judged else "none, so there is risk alone"),
        *(("Search system", _system(system)) for system in manifest.get("systems", ()) if result.judged),
        *(("Sent over the wire", sent_in_words(sent)) for sent in manifest.get("sent") or ()),
        ("Obfuscation", _obfuscation(result)),
        ("Noise", _noise(result)),
        ("Word vectors", _sentence(vectors.get("name", ""), _counted(vectors, "words", "words"), _print_of(vectors))),
        ("Words outside the vocabulary", _unknown(_part(manifest, "unknown_words"), len(result.queries))),
        ("Attack", _attack(log, encoder)),
        ("Left out", "; ".join(_reason(refused) for refused in manifest.get("skipped") or ())),
        ("Notes", _notes(result)),
        ("Software", ", ".join(_versions(manifest))),
        ("Digest", f"{result.digest[:16]}, equal for equal results"),
    ]
    return [(term, text) for term, text in pairs if text]


def limits(results: Sequence[Result]) -> list[str]:
    """Return what a reader must know before believing the numbers."""
    found = [
        "The attack is a lower bound. QuIA is one attacker with one encoder and one log; another may guess more.",
        "Formal epsilon is not actual privacy. N variants of a query multiply epsilon by N, the number of words is "
        "released, and epsilons of mechanisms with different metrics do not compare.",
    ]
    if any(result.judged for result in results):
        found.append(
            "QuIPU scores compare only between mechanisms whose settings span comparable parts of the diagonal: a "
            "leaky setting can raise a score, and a curve that spans little of it scores close to 0 wherever it lies "
            "and is not ranked. Read the hypervolume beside it."
        )
    for result in results:
        judged, log = _part(result.manifest, "judgements"), _part(result.manifest, "log")
        count = len(result.queries)
        own = f"{result.name}: "
        if result.judged and judged.get("derived"):
            found.append(f"{own}the judgments are derived, not made by people; absolute utilities mean little.")
        documents = _part(result.manifest, "collection").get("documents") or 0
        if result.judged and 0 < documents < 1_000_000:
            found.append(
                f"{own}{documents:,} documents are a small collection. Many variants pool much of it, so that even "
                f"random words find something; compare with Random, not with 0.{_most_pooled(result)}"
            )
        if log.get("size"):
            found.append(
                f"{own}the attacker's log has {log['size']:,} queries; a larger one holds more that the "
                "original can be taken for."
            )
        found += [f"{own}{line}" for line in cautions(result)]
        if FEW <= count < 50:
            found.append(f"{own}{count} queries are few; look at the intervals before you look at the order.")
        if len(result.seeds) == 1:
            found.append(
                f"{own}one noise seed; `quipukit evaluate --seeds 3` shows how far the noise alone moves a score."
            )
    return found


def cautions(result: Result) -> list[str]:
    """Return what must stand beside the numbers wherever they are shown, the terminal included."""
    count = len(result.queries)
    few = (
        f"{count} {'query is' if count == 1 else 'queries are'} very few: a difference called significant at 5 % may "
        "be chance more often than that where differences are skewed, and an interval of a score may miss "
        "(docs/reliability.md)."
    )
    return [*filter(None, [result.log_ceiling]), *([few] if count < FEW else [])]


def _most_pooled(result: Result) -> str:
    """Say how much of the collection is pooled at most."""
    shares = result.settings["pooled_share"].dropna()
    return f" The largest pools hold {share(float(shares.max()))} of it." if len(shares) else ""


def join(names: Sequence[str]) -> str:
    """Write a list as people say it.

    >>> join(["CMP", "TEM", "AEA"])
    'CMP, TEM and AEA'
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def _capital(sentence: str) -> str:
    return f"{sentence[:1].upper()}{sentence[1:]}"


def _reason(refused: Any) -> str:
    return str(refused.get("reason", "")) if isinstance(refused, Mapping) else str(refused)


def _part(manifest: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = manifest.get(name)
    return part if isinstance(part, Mapping) else {}


def _judged(queries: tuple[int, int] | None) -> str:
    if queries is None or queries[0] == queries[1] or not queries[1]:
        return ""
    return f"risk over all of them, utility over the {queries[1]:,} with relevant documents"


def _judgments(judged: Mapping[str, Any]) -> str:
    kind = "derived, not made by people" if judged.get("derived") else ""
    return _sentence(_counted(judged, "count", "judgments"), kind)


def _system(system: Mapping[str, Any]) -> str:
    retriever, reranker, depth = (system.get(name) for name in ("retriever", "reranker", "depth"))
    found = f"{retriever or system.get('name', '')} retrieves" + (f" {depth} documents" if depth else "")
    again = f"; {reranker} re-ranks the pool with the original query on the user's side" if reranker else ""
    return f"{found} for each variant{again}"


def _obfuscation(result: Result) -> str:
    count = len(result.settings)
    names = len(result.mechanisms)
    told = f"{names} mechanism{'s' * (names != 1)}, {count} setting{'s' * (count != 1)}"
    source = result.manifest.get("obfuscated")
    return (
        f"{told}, obfuscated elsewhere: {source}" if source else f"{told}, N = {result.manifest['n']} variants a query"
    )


def _noise(result: Result) -> str:
    seeds = result.seeds
    kind = {
        "common": "common to the settings of a family, which makes their differences less noisy",
        "independent": "independent for every setting",
    }.get(str(result.manifest.get("noise", "")), "")
    named = f"seed{'s' * (len(seeds) != 1)} {join([str(seed) for seed in seeds])}"
    return _sentence(kind, named)


def _attack(log: Mapping[str, Any], encoder: Mapping[str, Any]) -> str:
    parts = ["QuIA: the centroid of a query's variants ranks the log"]
    if log.get("size"):
        parts.append(f"log {log.get('name', '')} of {log['size']:,} queries")
    if "in_log" in log or "injected" in log:
        parts.append(f"{log.get('in_log', 0):,} of the originals were in it, {log.get('injected', 0):,} were added")
    if encoder.get("name"):
        parts.append(f"encoder {encoder['name']}")
    return "; ".join(parts)


def _unknown(found: Mapping[str, Any], queries: int) -> str:
    if not found.get("unknown"):
        return ""
    most = join([f"{qid} ({unknown} of {words})" for qid, unknown, words in found["most"]])
    return (
        f"{share(found['unknown'] / found['words'])} of the queries' words ({found['unknown']:,} of "
        f"{found['words']:,}), in {share(found['queries'] / queries)} of the queries; per query "
        f"{share(found['mean_share'])} in the mean, most in {most}. Nothing of their meaning is sent; "
        "`quipukit vocabulary` lists them"
    )


def _notes(result: Result) -> str:
    if result.notes.empty:
        return ""
    counts = result.notes.groupby("flag", sort=True)["count"].sum()
    return ", ".join(f"{str(flag).replace('_', ' ')}: {int(count):,}" for flag, count in counts.items())


def _versions(manifest: Mapping[str, Any]) -> list[str]:
    own = {"quipukit": manifest.get("version"), **_part(manifest, "software")}
    return [f"{name} {version}" for name, version in own.items() if version]


def _counted(part: Mapping[str, Any], key: str, what: str) -> str:
    return f"{part[key]:,} {what}" if isinstance(part.get(key), int) else ""


def _print_of(part: Mapping[str, Any]) -> str:
    return f"fingerprint {str(part['fingerprint'])[:12]}" if part.get("fingerprint") else ""


def _sentence(*parts: Any) -> str:
    return ", ".join(str(part) for part in parts if part)
