"""Every public function on fixed input; each case returns the tables that it gives."""

import dataclasses
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import quipukit as qk
from tests.frozen import adapters, experiments, inputs
from tests.frozen.experiments import Tables

# Options away from their defaults, beside the mechanisms of the experiments.
_WITH_OPTIONS = (
    *("CMP(oov='uniform')@6", "CMP(tokenizer='whitespace')@6", "Mahalanobis(lam=0.3)@6", "VickreyCMP(t=0.2)@6"),
    *("CusText(k=5, mapping='topk')@6", "CusText(keep_stopwords=True)@6", "SanText+(p=0.6)@3", "TEM(beta=0.1)@3"),
    *("WBB(k=1, n=8)@6", "WBB(measure='euclidean')@6", "AEA(senses=2)@3", "AEA(include_original=True)@3"),
    *("FEA(mode='window')@12", "FEA(select='pmi')@12"),
)
SPECS = (*experiments.LOW, *experiments.HIGH, *_WITH_OPTIONS, "Identity", "Random")
SPELLINGS = (
    *("cmp@10", "CMP-Vickrey@12.5", "mhl@5", "santextplus@1", "AED@3", "fsh@12", "original", "CusText( k = 20 )@10"),
    *("WBB(measure='angle', k=3)", "TEM"),
)
_WORDS = ("train", "bridge", "apple", "fever", "vorbin", "grelkin")


@dataclasses.dataclass(frozen=True)
class Fixed:
    """What the functions are called with: the folder of the collection, and results of experiments there."""

    folder: Path
    result_of: Callable[[str], qk.Result]  # by the name of the experiment, run when it is asked for

    @property
    def result(self) -> qk.Result:
        return self.result_of("two seeds, two systems")

    @property
    def small_result(self) -> qk.Result:
        return self.result_of("own queries and judgements")

    @property
    def vectors(self) -> qk.Vectors:
        return qk.load_vectors(self.folder / "vectors.txt")

    @property
    def queries(self) -> pd.DataFrame:
        return qk.read_queries(self.folder / "topics.tsv")

    @property
    def collection(self) -> Any:
        return qk.load_collection(self.folder)

    @property
    def log(self) -> Any:
        return qk.read_log(self.folder / "log.txt")

    def obfuscated(self, specs: Sequence[str] = ("CMP@5", "TEM@2", "AEA@3", "Identity"), **options: Any) -> Any:
        return qk.obfuscate(self.queries, specs, 3, **{"vectors": self.vectors, "seed": 7, **options})

    def run(self) -> pd.DataFrame:
        return qk.retrieve(self.obfuscated(), self.collection, "bm25", 4)


def _texts(**columns: Iterable[Any]) -> pd.DataFrame:
    return pd.DataFrame({name: list(cells) for name, cells in columns.items()}, dtype=object)


def _bytes(path: Path) -> pd.DataFrame:
    return _texts(bytes=[path.read_bytes()])


# --- obfuscation ----------------------------------------------------------------------------------------------------


def _obfuscate(fixed: Fixed) -> Tables:
    tables = {}
    # FEA draws nothing: one run of it says it all, and it takes longer than all others.
    drawn = [one for one in SPECS if not one.startswith("FEA")]
    for noise, seed in (("independent", 7), ("common", 7), ("independent", 11), ("common", 11)):
        found = qk.obfuscate(inputs.ODD_QUERIES, drawn, 4, vectors=fixed.vectors, seed=seed, noise=noise)
        tables[f"{noise} noise, seed {seed}"] = found
        tables[f"notes, {noise} noise, seed {seed}"] = qk.notes(found)
    documents = list(inputs.documents().items())
    tables["FEA"] = qk.obfuscate(inputs.QUERIES, [one for one in SPECS if one.startswith("FEA")], 4, seed=7)
    tables["own collection"] = qk.obfuscate(inputs.QUERIES, "FEA@12", 4, collection=documents, seed=7)
    return tables


def _mechanisms(fixed: Fixed) -> Tables:
    rows, law = [], []
    for one in SPECS:
        found = qk.mechanism(one, vectors=fixed.vectors)
        rows.append(
            {
                "spec": repr(found.spec),
                "family": found.spec.family,
                "value": found.value,
                "strategy": found.strategy,
                "hides_more": found.hides_more,
                "grid": str(found.grid),
                "guarantee": str(found.guarantee),
                "guarantee_repr": repr(found.guarantee),
                "of_50": str(found.guarantee.composed(50)),
                "private": found.guarantee.private,
                "one_generator": " | ".join(
                    found.obfuscate("the night train and an apple", 2, np.random.default_rng(3))
                ),
            }
        )
        for word, other in (("train", "bridge"), ("apple", "apple"), ("fever", "cough")):
            try:
                law.append((one, word, other, found.log_prob(other, word)))
            except qk.QuipukitError:
                law.append((one, word, other, None))
    return {
        "mechanisms": pd.DataFrame(rows),
        "log_prob": pd.DataFrame(law, columns=["spec", "word", "other", "log_prob"], dtype=object),
    }


def _deniability(fixed: Fixed) -> Tables:
    specs = ("CMP@5", "VickreyCMP@5", "CusText@5", "SanText@2", "SanText+@2", "TEM@2", "WBB@5", "Random", "Identity")
    tables = {one: qk.deniability(qk.mechanism(one, vectors=fixed.vectors), _WORDS, runs=40, seed=3) for one in specs}
    tables["a sample"] = qk.deniability(qk.mechanism("TEM@2", vectors=fixed.vectors), sample=12, seed=3)
    return tables


def _texts_and_specs(fixed: Fixed) -> Tables:
    odd = [*inputs.ODD_QUERIES.values(), "ＦＵＬＬ width", "Straße", "ﬁne\u00a0print"]
    specs = [qk.spec(text) for text in SPELLINGS]
    unknown = qk.unknown_words(inputs.ODD_QUERIES, fixed.vectors)
    return {
        "key": _texts(key=map(qk.key, odd)),
        "spec": _texts(repr=map(repr, specs), family=[one.family for one in specs], name=[one.name for one in specs]),
        "spec at a value": _texts(repr=[repr(one @ 3) for one in specs if one.value is None]),
        "unknown words": unknown.words,
        "unknown words by query": unknown.per_query,
        "unknown words, peer": qk.unknown_words(inputs.ODD_QUERIES, fixed.vectors, tokenizer="whitespace").words,
    }


# --- search ---------------------------------------------------------------------------------------------------------


def _search(fixed: Fixed) -> Tables:
    obfuscated, collection = fixed.obfuscated(), fixed.collection
    runs = {
        "bm25": qk.retrieve(obfuscated, collection, "bm25", 4),
        "dense": qk.retrieve(obfuscated, collection, "dense:frozen-search", 4),
        "default depth": qk.retrieve(obfuscated, collection),
    }
    pools = {name: qk.pool(run) for name, run in runs.items()}
    ranked = {
        "bm25": qk.rerank(pools["bm25"], fixed.queries, collection, "frozen-user"),
        "dense": qk.rerank(pools["dense"], fixed.queries, collection, "bm25"),
    }
    measures = ("nDCG@10", "SetR", "AP", "P@3", "RR")
    utilities = {name: qk.utility(run, inputs.qrels(), measures) for name, run in ranked.items()}
    some = qk.utility(ranked["bm25"], inputs.qrels(), settings=obfuscated, queries=["r1", "o2", "p7"])
    texts = list(inputs.QUERIES.values())
    answers = qk.load_retriever("bm25", collection).search(texts, 5)
    found = [
        (text, *pair)
        for text, one in zip(texts, answers, strict=True)
        for pair in zip(one.docnos, one.scores, strict=True)
    ]
    return {
        **{f"retrieve {name}": run for name, run in runs.items()},
        **{f"pool {name}": pool for name, pool in pools.items()},
        **{f"rerank {name}": run for name, run in ranked.items()},
        **{f"utility {name}": scores for name, scores in utilities.items()},
        "utility of some": some,
        "load_retriever": pd.DataFrame(found, columns=["query", "docno", "score"]),
    }


# --- attack and measures --------------------------------------------------------------------------------------------


QUIA = ("QuIA",)  # the only attacker there was when they were frozen


def _attack(fixed: Fixed) -> Tables:
    obfuscated, encoder = fixed.obfuscated(), inputs.WordEncoder()
    without = obfuscated[obfuscated["qid"] != "v5"]
    settings = pd.DataFrame({"mechanism": ["Silent"], "parameter": ["epsilon"], "value": [1.0]})
    # Where the first two words change places, the sum of their vectors does not: entries level with the original.
    swapped = [" ".join([second, first, *rest]) for first, second, *rest in map(str.split, inputs.QUERIES.values())]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # for one query nothing was sent
        ranks = {
            "ties": qk.attack(obfuscated, fixed.queries, [*inputs.log_queries(), *swapped], encoder, attackers=QUIA),
            "completed": qk.attack(obfuscated, fixed.queries, fixed.log, encoder, attackers=QUIA),
            "not completed": qk.attack(
                obfuscated, fixed.queries, inputs.log_queries(), encoder, inject=False, attackers=QUIA
            ),
            "nothing sent": qk.attack(without, fixed.queries, fixed.log, encoder, settings=settings, attackers=QUIA),
        }
    return {
        **{f"attack, {name}": frame for name, frame in ranks.items()},
        **{f"risk, {name}": qk.risk(frame) for name, frame in ranks.items()},
        "risk, k=3, optimistic": qk.risk(ranks["ties"], 3, "optimistic"),
        "risk, k=3, pessimistic": qk.risk(ranks["ties"], 3, "pessimistic"),
        "risk by hand": pd.concat([qk.risk(_ranks_by_hand(), k) for k in (1, 3, 10)], ignore_index=True),
        "similarity": qk.similarity(obfuscated, fixed.queries, encoder),
        "similarity of words": qk.similarity(obfuscated, fixed.queries, None),
    }


def _ranks_by_hand() -> pd.DataFrame:
    """Return ranks with ties, at the edges of the first places, and of queries that were not found."""
    places = ((0, 0), (0, 1), (0, 4), (2, 0), (2, 3), (9, 0), (9, 2), (10, 1), (70_000, 500), (-1, 0))
    rows = [
        ("CMP", "epsilon", 5.0, "QuIA", f"q{number}", better + 1 + tied / 2 if better >= 0 else np.inf, better, tied)
        for number, (better, tied) in enumerate(places)
    ]
    columns = ["mechanism", "parameter", "value", "attacker", "qid", "log_rank", "better", "tied"]
    return pd.DataFrame(rows, columns=columns)


def _scores(fixed: Fixed) -> Tables:
    risks, utilities = fixed.result.risks(), fixed.result.utilities()
    points = qk.points(risks, utilities, "village", fixed.result.strategies)
    tables = {
        "points": points,
        "bootstrap_scores": qk.bootstrap_scores(risks, utilities, replicates=50, seed=3),
        "bootstrap_scores by risk": qk.bootstrap_scores(risks, utilities, replicates=50, order="risk", level=0.9),
        "quipu_table": qk.quipu_table(points),
        "quipu_table by diagonal": qk.quipu_table(points, "diagonal", "original", u0=0.8),
    }
    return {name: adapters.legacy_points(frame) for name, frame in tables.items()} | {"quipu_score": _quipu_scores()}


def _quipu_scores() -> pd.DataFrame:
    curves: Mapping[str, list[tuple[float, float]]] = {
        "rising": [(0.0, 0.1), (0.1, 0.5), (0.4, 0.6), (1.0, 0.7)],
        "turning": [(0.3, 0.2), (0.1, 0.4), (0.5, 0.3), (0.6, 0.9)],
        "single": [(0.2, 0.3)],
        "narrow": [(0.5, 0.5), (0.51, 0.52)],
    }
    numbers = ("value", "positive", "negative", "monotone", "single", "backward", "hypervolume", "anchored", "points")
    rows = []
    for name, curve in curves.items():
        for order, anchor, u0 in (("parameter", None, None), ("risk", "corners", None), ("diagonal", "original", 0.9)):
            score = qk.quipu_score(curve, order, anchor, u0)
            best = {f"best_{budget}": score.best_utility(budget) for budget in (0.01, 0.05, 0.1)}
            rows.append({"curve": name, **{key: getattr(score, key) for key in numbers}, **best})
            rows[-1] |= {"span_low": score.span[0], "span_high": score.span[1], "length": score.length}
            rows[-1] |= {"rankable": score.rankable, "unranked": score.unranked}
    return pd.DataFrame(rows, dtype=object)


# --- files ----------------------------------------------------------------------------------------------------------


def _files(fixed: Fixed, place: Path) -> Tables:
    """Return the bytes that are written, and what is read back from them."""
    obfuscated = fixed.obfuscated()
    tables: Tables = {}
    for suffix in ("csv", "tsv", "jsonl", "parquet"):
        path = place / f"obfuscated.{suffix}"
        qk.write_obfuscated(obfuscated, path)
        if suffix != "parquet":  # which holds the versions of its libraries
            tables[f"write_obfuscated {suffix}"] = _bytes(path)
        tables[f"read_obfuscated {suffix}"] = qk.read_obfuscated(path)[0]
    published = experiments.published_file(fixed.folder)
    tables["read_obfuscated published"], tables["read_obfuscated originals"] = qk.read_obfuscated(published)
    ranked = qk.rerank(qk.pool(fixed.run()), fixed.queries, fixed.collection, "bm25")
    one = ranked[ranked["mechanism"] == "CMP"]
    qk.write_run(one, place / "run.trec", tag="frozen")
    qk.write_qrels(inputs.qrels(), place / "qrels.trec")
    queries = place / "queries.csv"
    fixed.queries.to_csv(queries, index=False)
    counted = place / "log.tsv"
    counted.write_text("query\tcount\nCats\t3\ncats \t2\ndogs\t1\n", encoding="utf-8")
    logs = {"text": fixed.log, "counted": qk.read_log(counted), "texts": qk.read_log(inputs.log_queries())}
    return {
        **tables,
        "write_run": _texts(line=_rounded_lines(place / "run.trec")),
        "read_run": qk.read_run(place / "run.trec"),
        "write_qrels": _bytes(place / "qrels.trec"),
        "read_qrels": qk.read_qrels(place / "qrels.trec"),
        "read_queries": qk.read_queries(queries),
        "read_queries tsv": fixed.queries,
        **{f"read_log {name}": pd.DataFrame({"text": log.texts, "count": log.counts}) for name, log in logs.items()},
    }


def _rounded_lines(path: Path) -> list[str]:
    """Return the lines of a run with the scores to nine digits: the last ones may differ between machines."""
    return [
        re.sub(r"(?<= )-?\d+\.\d+(?:e-?\d+)?(?= )", lambda number: f"{float(number[0]):.9g}", line)
        for line in path.read_text(encoding="utf-8").splitlines()
    ]


def _resources(fixed: Fixed) -> Tables:
    vectors, collection, wordnet = fixed.vectors, fixed.collection, qk.load_wordnet()
    builtin = qk.load_collection("wordnet")
    encoder = qk.load_encoder("frozen-user")
    meanings = [(word, one.id, one.lemmas[0]) for word in ("train", "fever", "apples") for one in wordnet.synsets(word)]
    return {
        "load_vectors": pd.DataFrame(
            {"word": list(vectors.words), "row": [vectors.row(word) for word in vectors.words]}
        ),
        "load_collection": pd.DataFrame(collection.documents(), columns=["docno", "text"]),
        "load_collection queries": collection.queries(),
        "load_collection qrels": collection.qrels(),
        "load_collection wordnet": builtin.queries().assign(documents=len(builtin)),
        "load_wordnet": pd.DataFrame(meanings, columns=["word", "id", "lemma"]).assign(version=wordnet.version),
        "load_encoder": pd.DataFrame({"name": [encoder.name], "first": [float(encoder.encode(["train"])[0, 0])]}),
    }


def _report(result: qk.Result, place: Path) -> Tables:
    """Return the tables of a report: its CSV files, and the rows of numbers in its LaTeX files.

    Words around the numbers (captions, notes, headings) may be put in other words.
    """
    qk.write_report(result, place, formats=())
    tables = {}
    for path in sorted((place / "tables").glob("*.csv")):
        frame = adapters.legacy_points(pd.read_csv(path, keep_default_na=False, na_values={"value": []}))
        tables[path.name] = frame.drop(columns="note", errors="ignore").map(_as_number)
    for path in sorted((place / "tables").glob("*.tex")):
        body = path.read_text(encoding="utf-8").partition("\\midrule")[2]
        tables[path.name] = _texts(row=[line for line in body.splitlines() if "&" in line])
    return tables


def _as_number(cell: Any) -> Any:
    """Return a cell of a CSV file as a number where it is one: a column of numbers with gaps is read as texts."""
    try:
        return float(cell)
    except ValueError:
        return cell


# --- all of them ----------------------------------------------------------------------------------------------------

FUNCTIONS: Mapping[str, Callable[[Fixed, Path], Tables]] = {
    "obfuscate, notes": lambda fixed, place: _obfuscate(fixed),
    "mechanism": lambda fixed, place: _mechanisms(fixed),
    "deniability": lambda fixed, place: _deniability(fixed),
    "key, spec, unknown_words": lambda fixed, place: _texts_and_specs(fixed),
    "retrieve, pool, rerank, utility": lambda fixed, place: _search(fixed),
    "attack, risk, similarity": lambda fixed, place: _attack(fixed),
    "files": _files,
    "load_*": lambda fixed, place: _resources(fixed),
}

# These take the result of an experiment.
RESULT_FUNCTIONS: Mapping[str, Callable[[Fixed, Path], Tables]] = {
    "points, bootstrap_scores, quipu_score, quipu_table": lambda fixed, place: _scores(fixed),
    "write_report": lambda fixed, place: _report(fixed.small_result, place),
}

LONG_FUNCTIONS: Mapping[str, Callable[[Fixed, Path], Tables]] = {
    "write_report, two seeds, two systems": lambda fixed, place: _report(fixed.result, place),
}
