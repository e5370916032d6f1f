"""Small experiments: all mechanisms, both kinds of noise, several seeds and systems, and inputs of every kind."""

import dataclasses
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

import quipukit as qk
from tests.frozen import adapters, inputs

Tables = dict[str, pd.DataFrame]

# Every mechanism at two values; the references are added by the experiment itself.
LOW = (
    *("CMP@5", "Mahalanobis@5", "VickreyCMP@5", "VickreyMhl@5", "CusText@5", "SanText@2", "SanText+@2", "TEM@2"),
    *("WBB@5", "AEA@3", "FEA@12"),
)
HIGH = (
    *("CMP@10", "Mahalanobis@10", "VickreyCMP@10", "VickreyMhl@10", "CusText@10", "SanText@5", "SanText+@5", "TEM@4"),
    *("WBB@10", "AEA@4", "FEA@14"),
)
# One of each kind of mechanism.
SOME = ("CMP@10", "VickreyMhl@10", "CusText@10", "SanText+@5", "WBB@10", "AEA@4")
FEW = ("CMP@5", "CMP@10")
ONE_SYSTEM = (("bm25", "frozen-user"),)
TWO_SYSTEMS = (*ONE_SYSTEM, ("dense:frozen-search", "bm25"))

_CHOICE = (
    *("mechanism", "parameter", "value", "strategy", "guarantee", "private", "n", "variants", "budget", "nothing"),
    *("risk", "risk_high", "utility", "utility_low", "kept", "certified"),
)
_ROLES = ("best", "runner_up", "candidate", "least_risky", "within_risk", "within_utility")
_NUMBERS = (
    *("max_risk", "level", "queries", "covered", "judged", "coverage", "original", "lead", "candidate_needs"),
    *("least_needs", "any_needs"),
)


def arguments(folder: Path, **changes: Any) -> dict[str, Any]:
    """Return the arguments of `qk.evaluate` for the collection in a folder."""
    usual = {
        "collection": folder,
        "specs": FEW,
        "n": 3,
        "log": folder / "log.txt",
        "vectors": folder / "vectors.txt",
        "encoder": inputs.WordEncoder(),
        "systems": ONE_SYSTEM,
        "depth": 4,
        "seed": 7,
        "noise": "common",
    }
    return {**usual, **changes}


def _elsewhere() -> pd.DataFrame:
    """Return queries that somebody else obfuscated: of one query nothing is sent at the first of two settings."""
    rows = [
        (
            qid,
            variant,
            " ".join(sorted(text.split(), reverse=bool(variant))[: 2 + variant]),
            "Foreign",
            "epsilon",
            value,
        )
        for value in (2.0, 20.0)
        for qid, text in list(inputs.QUERIES.items())[: 6 + int(value > 2)]
        for variant in range(2 + int(value > 2))
    ]
    return pd.DataFrame(rows, columns=["qid", "variant", "query", "mechanism", "parameter", "value"])


def published_file(folder: Path) -> Path:
    """Write obfuscated queries in the layout of published files, originals beside them."""
    path = folder.parent / "published.csv"
    if not path.exists():
        rows = [
            (qid, text, f"{text.split()[-1].strip('?')} {word}", "CMP", epsilon)
            for epsilon, word in ((5.0, "basket"), (10.0, "stone"))
            for qid, text in inputs.QUERIES.items()
        ]
        frame = pd.DataFrame(rows, columns=["id", "text", "obfuscatedText", "mechanism", "epsilon"])
        frame.to_csv(path, index=False)
    return path


def _unjudged(folder: Path) -> Path:
    place = folder.parent / "unjudged"
    return place if place.exists() else inputs.write_collection(place, judged=False)


Changes = Callable[[Path], dict[str, Any]]

# Each makes the changes to the arguments from the folder of the collection.
EXPERIMENTS: Mapping[str, Changes] = {
    "all mechanisms, common noise": lambda folder: {"specs": LOW},
    "independent noise, seed 11": lambda folder: {"specs": SOME, "noise": "independent", "seed": 11},
    "two seeds, two systems": lambda folder: {"seeds": 2, "systems": TWO_SYSTEMS},
    "obfuscated elsewhere": lambda folder: {"specs": None, "obfuscated": _elsewhere()},
    "no judgements": lambda folder: {"collection": _unjudged(folder), "specs": ("TEM@2", "AEA@3")},
    "log not completed": lambda folder: {"inject": False, "k": 5},
    "own queries and judgements": lambda folder: {
        "collection": _unjudged(folder),
        "specs": ("TEM@2", "VickreyMhl(t=0.5)@8"),
        "queries": {qid: f"{text} today" for qid, text in inputs.QUERIES.items()},
        "qrels": inputs.qrels(),
        "log": inputs.log_queries(),
        "topics": 5,
        "measures": ("AP", "RR", "SetP"),
        "depth": None,
        "examples": 2,
        "n": 2,
    },
}

# The same with curves of two settings for every mechanism, and what is like one of the others.
LONG_EXPERIMENTS: Mapping[str, Changes] = {
    "curves, common noise, two systems": lambda folder: {"specs": (*LOW, *HIGH), "systems": TWO_SYSTEMS},
    "curves, independent noise, two seeds": lambda folder: {
        "specs": (*LOW, *HIGH),
        "noise": "independent",
        "seed": 11,
        "seeds": 2,
    },
    "a published file": lambda folder: {"specs": None, "obfuscated": published_file(folder)},
}

# The built-in collection with the default vectors and WordNet's heuristics; the folder is not used.
DEFAULT_PACK = "wordnet collection, default vectors"


def default_pack_arguments() -> dict[str, Any]:
    """Return the arguments of an experiment with the built-in collection and vectors."""
    return {
        "collection": "wordnet",
        "specs": ("CMP@10", "CMP@20", "Mahalanobis@15", "VickreyCMP@15", "CusText@10", "TEM@10", "AEA@3", "FEA@12"),
        "n": 4,
        "log": inputs.log_queries(),
        "encoder": inputs.WordEncoder(),
        "systems": (("bm25", "bm25"),),
        "topics": 8,
        "seed": 7,
        "noise": "common",
    }


def evaluated(arguments: Mapping[str, Any]) -> qk.Result:
    """Run an experiment; what it warns of (queries without judgements, say) is tested elsewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        # The only attacker, and the only tables, that there were when they were frozen.
        return qk.evaluate(**{"attackers": ("QuIA",), "growth": False, **arguments})


def tables_of(result: qk.Result) -> Tables:
    """Return every table of a result, and what is computed from them."""
    names = ("queries", "settings", "obfuscated", "ranks", "scores", "guesses", "notes")
    tables = {name: getattr(result, name) for name in names}
    tables["facts"] = _facts(result)
    if result.judged:
        tables |= _judged_tables(result)
    return tables


def _judged_tables(result: qk.Result) -> Tables:
    found: dict[str, list[pd.DataFrame]] = {"points": [], "quipu": []}
    for system in result.systems:
        for seed in (None, *result.seeds) if len(result.seeds) > 1 else (None,):
            points = adapters.legacy_points(result.points(system, seed))
            found["points"].append(points.assign(system=system, seed="all" if seed is None else str(seed)))
        found["quipu"].append(adapters.legacy_points(result.quipu(system, replicates=50)).assign(system=system))
    tables = {name: pd.concat(parts, ignore_index=True) for name, parts in found.items()}
    # What the active attacker is called tells how far it reads, where that is not ten.
    active = next(name for name in tables["points"]["attacker"] if name.startswith("active"))
    asked = {
        "active": adapters.recommended(result, active),
        "lazy": adapters.recommended(result, "lazy", max_risk=0.6 * result.log_coverage),
        "motivated": adapters.recommended(
            result, "motivated", max_risk=0.99 * result.log_coverage, min_utility=0.1, include_references=True
        ),
    }
    tables |= {f"recommend {name}": _choices(found) for name, found in asked.items()}
    tables["recommend numbers"] = pd.DataFrame([_plain(found, _NUMBERS) for found in asked.values()])
    tables["recommend settings"] = pd.concat([found.settings for found in asked.values()], ignore_index=True)
    return tables


def _facts(result: qk.Result) -> pd.DataFrame:
    """Return in one row what a result says about itself."""
    listed = ("systems", "seeds", "mechanisms", "measures")
    facts = {name: " | ".join(map(str, getattr(result, name))) for name in listed}
    mapped = {name: str(sorted(getattr(result, name).items())) for name in ("strategies", "hides_more")}
    known = {"in_log": " ".join(sorted(result.in_log)), "log_coverage": result.log_coverage}
    return pd.DataFrame([{"name": result.name, "judged": result.judged, **facts, **mapped, **known}])


def _choices(recommendation: Any) -> pd.DataFrame:
    """Return the settings that a recommendation names, by their role; its words may be put in other words."""
    rows = []
    for role in _ROLES:
        choice = getattr(recommendation, role)
        rows.append({"role": role, **(dict.fromkeys(_CHOICE) if choice is None else _plain(choice, _CHOICE))})
    gain = recommendation.gain
    frame = pd.DataFrame(rows, dtype=object)
    return frame.assign(gain=None if gain is None else gain[0], gain_p=None if gain is None else gain[1])


def _plain(thing: Any, names: tuple[str, ...]) -> dict[str, Any]:
    assert dataclasses.is_dataclass(thing)
    return {name: getattr(thing, name) for name in names}
