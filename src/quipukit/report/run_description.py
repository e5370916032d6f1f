"""What was run, and its limitations, in sentences made from the manifest."""

from collections.abc import Mapping, Sequence
from typing import Any

from quipukit.frames import SETTING
from quipukit.measures.resampling import FEW
from quipukit.report.table_model import share
from quipukit.report.wording import join
from quipukit.results import Result
from quipukit.retrieval.consent import sent_in_words
from quipukit.retrieval.fusion import NO_RERANKER

SMALL_COLLECTION = 1_000_000
FEW_QUERIES = 50


def run_description(result: Result, queries: tuple[int, int] | None = None) -> list[tuple[str, str]]:
    """Return the manifest as pairs of a term and a sentence; ``queries`` are the numbers of queries sent and judged."""
    manifest = result.manifest
    asked, judged, log = (_part(manifest, name) for name in ("queries", "judgements", "log"))
    collection, vectors, encoder = (_part(manifest, name) for name in ("collection", "vectors", "encoder"))
    size = f"{collection['documents']:,} documents" if collection.get("documents") else ""
    pairs = [
        ("Collection", _sentence(result.name, size, _fingerprint(collection))),
        # Without their fingerprint: a plain hash lets a reader test a guess, and reports are passed on.
        ("Queries", _sentence(f"{asked.get('count', len(result.queries)):,} queries", _judged(queries))),
        ("Judgments", _judgments(judged) if result.judged else "none, so there is risk only"),
        *(("Search system", _system(system)) for system in manifest.get("systems", ()) if result.judged),
        *(("Sent over the network", sent_in_words(sent)) for sent in manifest.get("sent") or ()),
        ("Obfuscation", _obfuscation(result)),
        ("Noise", _noise(result)),
        (
            "Word vectors",
            _sentence(vectors.get("name", ""), _counted(vectors, "words", "words"), _fingerprint(vectors)),
        ),
        *(("Public queries to hide among", _cover(name, one)) for name, one in _part(manifest, "covers").items()),
        ("Words outside the vocabulary", _unknown(_part(manifest, "unknown_words"), len(result.queries))),
        ("Attack", _attack(result.attackers, log, encoder)),
        ("Left out", "; ".join(_reason(refused) for refused in manifest.get("skipped") or ())),
        ("Notes", _notes(result)),
        ("Software", ", ".join(_versions(manifest))),
        ("Mixed versions", _mixed_versions(manifest)),
        ("Digest", f"{result.digest[:16]}, equal for equal results"),
    ]
    return [(term, text) for term, text in pairs if text]


def limits(results: Sequence[Result]) -> list[str]:
    """Return what a reader must know before relying on the numbers."""
    lines = [
        "Risk is a lower bound: it was measured with "
        f"{join(list(dict.fromkeys(name for result in results for name in result.attackers)))} and one log each; "
        "another attacker may guess more.",
        "Formal epsilon is not actual privacy. N variants of a query multiply epsilon by N, the number of words is "
        "released, and epsilons of mechanisms with different metrics are not comparable.",
    ]
    if any(result.judged for result in results):
        lines.append(
            "QuIPU scores are comparable only between mechanisms whose settings span comparable parts of the "
            "diagonal: a leaky setting can raise a score, and a curve that spans little of the diagonal scores close "
            "to 0 wherever it lies and is not ranked. Read QuIPU together with the hypervolume."
        )
    for result in results:
        judged, log = _part(result.manifest, "judgements"), _part(result.manifest, "log")
        count = len(result.queries)
        own = f"{result.name}: "
        if result.judged and judged.get("derived"):
            lines.append(f"{own}the judgments are derived, not made by people, so absolute utilities mean little.")
        documents = _part(result.manifest, "collection").get("documents") or 0
        if result.judged and 0 < documents < SMALL_COLLECTION:
            lines.append(
                f"{own}{documents:,} documents are a small collection. Many variants pool much of it, so even "
                f"random words find something; compare with Random, not with 0.{_most_pooled(result)}"
            )
        if log.get("size"):
            lines.append(
                f"{own}the attacker's log has {log['size']:,} queries; a larger one holds more queries that "
                "could be mistaken for the original."
            )
        lines += [f"{own}{line}" for line in cautions(result)]
        if FEW <= count < FEW_QUERIES:
            lines.append(f"{own}{count} queries are few; look at the intervals before the order.")
        if len(result.seeds) == 1:
            lines.append(
                f"{own}one noise seed; `quipukit evaluate --seeds 3` shows how much the noise alone changes a score."
            )
    return lines


def cautions(result: Result) -> list[str]:
    """Return the warnings that accompany the numbers wherever they are shown, including the terminal."""
    count = len(result.queries)
    few = (
        f"{count} {'query is' if count == 1 else 'queries are'} very few: where differences are skewed, a difference "
        "called significant at 5 % may be due to chance more often than that, and the interval of a score may miss "
        "(docs/reliability.md)."
    )
    return [*filter(None, [result.log_ceiling]), *([few] if count < FEW else [])]


def _most_pooled(result: Result) -> str:
    """Return a sentence on the largest share of the collection that is pooled."""
    shares = result.settings["pooled_share"].dropna()
    return f" The largest pools hold {share(float(shares.max()))} of it." if len(shares) else ""


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
    if isinstance(depth, Mapping):  # of a sweep over N
        depth = join([f"{each} (N = {n})" for n, each in depth.items()])
    first = f"{retriever or system.get('name', '')} retrieves" + (f" {depth} documents" if depth else "")
    second = f"; {reranker} re-ranks the pool with the original query on the user's side" if reranker else ""
    if reranker == NO_RERANKER:
        second = "; nothing is re-ranked: the lists are fused by rank"
    return f"{first} for each variant{second}"


def _obfuscation(result: Result) -> str:
    count = len(result.settings[list(SETTING)].drop_duplicates())
    names = len(result.mechanisms)
    counts = f"{names} mechanism{'s' * (names != 1)}, {count} setting{'s' * (count != 1)}"
    source = result.manifest.get("obfuscated")
    return (
        f"{counts}, obfuscated elsewhere: {source}"
        if source
        else f"{counts}, N = {join([str(n) for n in result.ns])} variants per query"
    )


def _noise(result: Result) -> str:
    seeds = result.seeds
    kind = {
        "common": "shared by the settings of a mechanism, which makes their differences less noisy",
        "independent": "drawn independently for every setting",
    }.get(str(result.manifest.get("noise", "")), "not known, and taken for shared wherever guarantees add up")
    named = f"seed{'s' * (len(seeds) != 1)} {join([str(seed) for seed in seeds])}"
    return _sentence(kind, named)


def _attack(attackers: Sequence[str], log: Mapping[str, Any], encoder: Mapping[str, Any]) -> str:
    # What QuIA does is known; any other attacker is known by its name.
    names = ["QuIA (the centroid of a query's variants ranks the log)" if one == "QuIA" else one for one in attackers]
    parts = [join(names)]
    if list(attackers) == ["QuIA"]:
        parts.append("that is the attacker of the QuIPU paper alone, and stronger ones find more")
    if log.get("size"):
        parts.append(f"log {log.get('name', '')} of {log['size']:,} queries")
    if "in_log" in log or "injected" in log:
        parts.append(f"{log.get('in_log', 0):,} of the originals were in it, {log.get('injected', 0):,} were added")
    if encoder.get("name"):
        parts.append(f"encoder {encoder['name']}")
    return "; ".join(parts)


def _cover(name: str, cover: Mapping[str, Any]) -> str:
    """Describe a pool and its partition; without hashes where the pool holds the queries: a guess could be tested."""
    size, partition = _counted(cover, "queries", "queries"), _part(cover, "partition")
    groups = f"groups of {join([str(k) for k in cover['k']])}" if cover.get("k") else ""
    if cover.get("completed"):
        hashes = ["completed with the queries of this run, so that all are in the pool"]
    else:
        hashes = [f"SHA-256 {str(cover.get('sha256', ''))[:12]}", f"partition {str(partition.get('fingerprint'))[:12]}"]
    return _sentence(name, size, groups, *hashes, f"for {join(list(cover.get('settings', ())))}")


def _unknown(words: Mapping[str, Any], queries: int) -> str:
    if not words.get("unknown"):
        return ""
    most = join([f"{qid} ({unknown} of {total})" for qid, unknown, total in words["most"]])
    return (
        f"{share(words['unknown'] / words['words'])} of the queries' words ({words['unknown']:,} of "
        f"{words['words']:,}), in {share(words['queries'] / queries)} of the queries; per query "
        f"{share(words['mean_share'])} on average, most in {most}. Nothing of their meaning is sent; "
        "`quipukit vocabulary` lists them"
    )


def _notes(result: Result) -> str:
    if result.notes.empty:
        return ""
    counts = result.notes.groupby("flag", sort=True)["count"].sum()
    return ", ".join(f"{str(flag).replace('_', ' ')}: {int(count):,}" for flag, count in counts.items())


def _versions(manifest: Mapping[str, Any]) -> list[str]:
    own = {"quipukit": manifest.get("version"), **_part(manifest, "software")}
    return [f"{name} {_one_or_several(version)}" for name, version in own.items() if version]


def _one_or_several(version: str | Sequence[str]) -> str:
    return version if isinstance(version, str) else " and ".join(version)


def _mixed_versions(manifest: Mapping[str, Any]) -> str:
    """Say which libraries changed between the parts of a run; empty where none did."""
    mixed = manifest.get("mixed_software") or ()
    return f"parts of this run were computed with different versions of {join(list(mixed))}" if mixed else ""


def _counted(part: Mapping[str, Any], key: str, what: str) -> str:
    return f"{part[key]:,} {what}" if isinstance(part.get(key), int) else ""


def _fingerprint(part: Mapping[str, Any]) -> str:
    return f"fingerprint {str(part['fingerprint'])[:12]}" if part.get("fingerprint") else ""


def _sentence(*parts: Any) -> str:
    return ", ".join(str(part) for part in parts if part)
