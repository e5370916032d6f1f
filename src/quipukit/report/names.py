"""The names of a report's results and of its files: collections, and what distinguishes two runs of one."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from quipukit.results import Result

# The parts of a manifest that distinguish two runs of one collection, in the order in which they are named.
_FACTS = ("n", "depth", "noise", "seeds", "log", "log size", "encoder", "vectors", "queries", "obfuscated")


def run_names(results: Sequence[Result], runs: Sequence[str] | None = None) -> list[str]:
    """Return a name for every result, no two alike.

    The name is that of the collection. Where several results share it, the run's folder is added if ``runs`` is given,
    else what differs between the manifests, else the start of the digest, which the report shows too.
    """
    names = [result.name for result in results]
    counts = Counter(names)
    for name in (name for name, count in counts.items() if count > 1):
        mine = [number for number, own in enumerate(names) if own == name]
        labels = _tails([runs[number] for number in mine]) if runs else _differences([results[n] for n in mine])
        if len(set(labels)) < len(mine):
            labels = [results[number].digest[:8] for number in mine]
        if len(set(labels)) < len(mine):  # the same result twice: only its position differs
            labels = [f"{place}" for place in range(1, len(mine) + 1)]
        for number, words in zip(mine, labels, strict=True):
            names[number] = f"{name} ({words})"
    return names


def _tails(paths: Sequence[str]) -> list[str]:
    """Return the shortest path endings that differ.

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
        content = manifest.get(part)
        return content.get(name) if isinstance(content, Mapping) else None

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


def slug(text: str) -> str:
    """Return a name that is safe in any file system.

    >>> slug("irds:vaswani, bm25 + minilm")
    'irds-vaswani-bm25-minilm'
    """
    kept = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in text.lower())
    return "-".join(part for part in kept.split("-") if part) or "result"


def slugs(texts: Iterable[str]) -> dict[str, str]:
    """Return a safe name for every text, no two alike."""
    names: dict[str, str] = {}
    for text in texts:
        base = name = slug(text)
        count = 2
        while name in names.values():
            name, count = f"{base}-{count}", count + 1
        names[text] = name
    return names
