"""Made-up results with the shape of real ones: for tests of what is made from a result."""

import copy
import functools

import numpy as np
import pandas as pd

from quipukit.measures.risk import risk
from quipukit.results import FORM, TABLES, Result

EPSILONS = (1.0, 5.0, 10.0, 12.5, 15.0, 17.5, 20.0, 25.0, 30.0, 50.0)
GRIDS: dict[str, tuple[str, str, tuple[float, ...]]] = {
    "CMP": ("embedding perturbation", "epsilon", EPSILONS),
    "VickreyMhl": ("embedding perturbation", "epsilon", EPSILONS),
    "CusText": ("sampling", "epsilon", EPSILONS),
    "TEM": ("sampling", "epsilon", EPSILONS),
    "AEA": ("heuristic", "level", (3.0, 4.0, 5.0)),
    "FEA": ("heuristic", "window", (12.0, 14.0, 16.0)),
    "Identity": ("reference", "", (0.0,)),
    "Random": ("reference", "", (0.0,)),
}
# Where half of the words survive, by mechanism: curves that differ.
_MIDDLE = {"CMP": 14.0, "VickreyMhl": 17.0, "CusText": 3.0, "TEM": 2.0}


def make_result(
    queries: int = 12,
    name: str = "example",
    seeds: tuple[int, ...] = (7,),
    systems: tuple[str, ...] = ("bm25 + minilm",),
    judged: bool = True,
    shift: float = 0.0,
    mechanisms: tuple[str, ...] = tuple(GRIDS),
) -> Result:
    """Return a result with plausible, made-up numbers; ``shift`` lowers every utility."""
    result = _made(queries, name, seeds, systems, judged, shift, mechanisms)
    # Its own copy for every caller; pandas copies the numbers only where one of them is changed.
    tables = {key: getattr(result, key).copy(deep=False) for key in TABLES}
    return Result(manifest=copy.deepcopy(dict(result.manifest)), **tables)


@functools.cache
def _made(
    queries: int,
    name: str,
    seeds: tuple[int, ...],
    systems: tuple[str, ...],
    judged: bool,
    shift: float,
    mechanisms: tuple[str, ...],
) -> Result:
    rng = np.random.default_rng(len(name) + queries)
    qids = [f"q{number:02d}" for number in range(1, queries + 1)]
    hardness = rng.uniform(0.6, 1.2, queries)
    frames: dict[str, list[dict[str, object]]] = {name: [] for name in TABLES}
    frames["queries"] = [{"qid": qid, "query": f"how to treat illness {qid}"} for qid in qids]
    for mechanism in mechanisms:
        strategy, parameter, values = GRIDS[mechanism]
        for value in values:
            setting = {"mechanism": mechanism, "parameter": parameter, "value": value}
            kept = _kept(mechanism, value)
            frames["settings"].append(_setting_row(setting, strategy, kept))
            for seed in seeds:
                noise = np.random.default_rng([seed, int(value * 10), len(mechanism)])
                for number, qid in enumerate(qids):
                    own = {"seed": seed, **setting, "qid": qid}
                    rank = int(1 + noise.exponential(0.2 + 3000 * (1 - kept) ** 6) * hardness[number])
                    frames["ranks"].append(
                        {**own, "attacker": "QuIA", "log_rank": float(rank), "better": rank - 1, "tied": 0}
                    )
                    for place, system in enumerate(systems) if judged else ():
                        found = np.clip(0.65 * kept**0.5 * hardness[number] - shift - 0.03 * place, 0, 1)
                        for measure, factor in (("nDCG@10", 1.0), ("SetR", 0.8)):
                            score = float(np.clip(found * factor + noise.normal(0, 0.03), 0, 1))
                            common = {"system": system, "attacker": "", "side": "utility"}
                            frames["scores"].append({**own, **common, "measure": measure, "score": score})
                            # What the original finds among as many documents: a little more in larger pools.
                            top = float(np.clip((0.66 + 0.05 * (1 - kept)) * factor * hardness[number] - shift, 0, 1))
                            ceiling = {**common, "side": "ceiling", "measure": measure, "score": top}
                            frames["scores"].append({**own, **ceiling})
                        frames["need"] += _need({**own, "system": system}, kept, number)
                    if number < 3:
                        for variant in range(3):
                            text = f"{mechanism.lower()} words {variant} of {qid}"
                            frames["obfuscated"].append({**own, "variant": variant, "query": text})
                    if number == 0 and mechanism == "AEA":
                        frames["notes"].append({**own, "flag": "fewer", "count": 12})
                    if number < 3 and seed == seeds[0]:
                        frames["guesses"] += _guesses(own, rank)
    tables = {
        key: TABLES[key].check(pd.DataFrame(rows, columns=list(TABLES[key].columns)))
        for key, rows in frames.items()
        if key != "scores"
    }
    risks = [
        risk(rows.drop(columns="seed")).assign(seed=seed, system="")
        for seed, rows in tables["ranks"].groupby("seed", sort=False)
    ]
    columns = list(TABLES["scores"].columns)
    scores = pd.concat([pd.DataFrame(frames["scores"], columns=columns), *risks]) if judged else pd.concat(risks)
    tables["scores"] = TABLES["scores"].check(scores)
    return Result(manifest=_manifest(name, seeds, systems, queries), **tables)


def _need(own: dict[str, object], kept: float, number: int) -> list[dict[str, object]]:
    """Return what both guessers find; the original of the last of twelve queries finds nothing."""
    reference = 0.0 if number == 11 else 0.6
    return [
        {
            **{**own, "guesser": guesser, "attacker": attacker, "reference": reference, "score": share * reference},
            "leakage": share if reference else np.nan,
            "similarity": 0.1 + 0.9 * kept if attacker else np.nan,
        }
        for guesser, attacker, share in (("Consensus", "", kept**0.5), ("Guess", "QuIA", kept))
    ]


def _kept(mechanism: str, value: float) -> float:
    if mechanism in _MIDDLE:
        return float(1 / (1 + np.exp(-(value - _MIDDLE[mechanism]) / 3)))
    return {"Identity": 1.0, "Random": 0.02, "AEA": 0.7 - 0.05 * value, "FEA": 0.15}[mechanism]


def _setting_row(setting: dict[str, object], strategy: str, kept: float) -> dict[str, object]:
    private = setting["parameter"] == "epsilon"
    return {
        **setting,
        "strategy": strategy,
        "guarantee": f"{setting['value']:g}-metric DP (euclidean) per word" if private else "none: a heuristic",
        "private": int(private),
        "budget": float(setting["value"]) * 50 if private else np.nan,  # type: ignore[arg-type]
        "n": 50,
        "variants": 50.0 if private else 38.5,
        "distinct": 1 - 0.5 * kept,
        "nothing": 0,
        "hides_more": "larger" if setting["mechanism"] == "AEA" else "smaller",
        "pooled": 23.0 + 900 * (1 - kept),
        "pooled_share": (23.0 + 900 * (1 - kept)) / 117659,
        "oov": 0.02 if private else np.nan,
        "oov_policy": "uniform" if private else "",
        "kept_words": kept,
        "verbatim": kept**4,
        "any_verbatim": kept**2,
        "n_x": kept if private else np.nan,
        "jaccard": kept * 0.9,
        "sentence_similarity": 0.1 + 0.9 * kept,
    }


def _guesses(own: dict[str, object], rank: int) -> list[dict[str, object]]:
    return [
        {
            **own,
            "attacker": "QuIA",
            "guess": guess,
            "query": f"how to treat illness {own['qid']}" if guess == rank else f"a guess, number {guess}",
            "similarity": 0.9 - 0.05 * guess,
            "hit": int(guess == rank),
        }
        for guess in range(1, 6)
    ]


def _manifest(name: str, seeds: tuple[int, ...], systems: tuple[str, ...], queries: int) -> dict[str, object]:
    return {
        "form": FORM,
        "version": "0.1.0",
        "collection": {"name": name, "documents": 117659, "fingerprint": "0" * 64},
        "queries": {"count": queries, "fingerprint": "1" * 64},
        "judgements": {"count": 830, "derived": True},
        "systems": [
            {"name": system, "retriever": system.split(" + ")[0], "reranker": system.split(" + ")[-1], "depth": 23}
            for system in systems
        ],
        "log": {"name": "wordnet", "size": 15000, "in_log": queries, "injected": 0, "fingerprint": "2" * 64},
        "encoder": {"name": "minilm", "fingerprint": "3" * 64},
        "vectors": {"name": "minilm-words", "words": 49422, "fingerprint": "4" * 64},
        "n": 50,
        "noise": "common",
        "seeds": list(seeds),
        "measures": ["nDCG@10", "SetR"],
        "specs": [],
        "skipped": [],
        "software": {"numpy": "2.0", "torch": "2.13.0"},
    }
