"""What the results of a report are called: by their collection, and where two share one by what tells them apart."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from quipukit.results import Result

# What of a manifest tells two runs of one collection apart, in the order in which it is told.
_FACTS = ("n", "depth", "noise", "seeds", "log", "log size", "encoder", "vectors", "queries", "obfuscated")


def run_names(results: Sequence[Result], runs: Sequence[str] | None = None) -> list[str]:
    """Return a name for every result, no two alike.

    A collection's name will do where it is the only one. Else the folder of the run follows, where ``runs`` tells it,
    or what differs between the manifests, or the first letters of the digest, which the report shows too.
    """
    names = [result.name for result in results]
    counts = Counter(names)
    for name in (name for name, count in counts.items() if count > 1):
        mine = [number for number, own in enumerate(names) if own == name]
        told = _tails([runs[number] for number in mine]) if runs else _differences([results[n] for n in mine])
        if len(set(told)) < len(mine):
            told = [results[number].digest[:8] for number in mine]
        if len(set(told)) < len(mine):  # one result twice: nothing tells them apart but their places
            told = [f"{turn}" for turn in range(1, len(mine) + 1)]
        for number, words in zip(mine, told, strict=True):
            names[number] = f"{name} ({words})"
    return names


def _tails(paths: Sequence[str]) -> list[str]:
    """Return the shortest ends of paths that differ.

    >>> _tails(["runs/a", "runs/b"]), _tails(["x/run", "y/run"])
    (['a', 'b'], ['x/run', 'y/run'])
    """
    parts = [PurePath(path).parts for path in paths]
    for length in range(1, max(map(len, parts), default=1) + 1):
        tails = ["/".join(part[-length:]) for part in parts]
        if len(set(tails)) == len(tails):
            return tails
    return list(paths)


def _differences(results: Sequence[Result]) -> list[str]:
    facts = [_facts(result.manifest) for result in results]
    differing = [fact for fact in _FACTS if len({str(each[fact]) for each in facts}) > 1]
    return [", ".join(f"{fact} {_words(each[fact])}" for fact in differing) for each in facts]


def _facts(manifest: Mapping[str, Any]) -> dict[str, Any]:
    def of(part: str, name: str) -> Any:
        found = manifest.get(part)
        return found.get(name) if isinstance(found, Mapping) else None

    systems = manifest.get("systems") or [{}]
    return {
        "n": manifest.get("n"),
        "depth": systems[0].get("depth"),
        "noise": manifest.get("noise"),
        "seeds": manifest.get("seeds"),
        "log": of("log", "name"),
        "log size": of("log", "size"),
        "encoder": of("encoder", "name"),
        "vectors": of("vectors", "name"),
        "queries": of("queries", "count"),
        "obfuscated": manifest.get("obfuscated") or "here",
    }


def _words(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
