"""What does one word, one text, one query and one row of a log cost, and what would large experiments take?

Every unit is measured in a process of its own with one thread, as the processor time of the best of several rounds:
what a core needs when nobody disturbs it. The times of large experiments are computed from these, not measured.
"""

import hashlib
import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import coordinator
from benchmarks.coordinator import DIMENSION, best
from benchmarks.data import CACHE, ROOT, Skipped, glove, topics
from benchmarks.table import Line, number, show

QUESTION = "what does a unit of work cost, and what would DL'19, DL'20 and Robust'04 with a log of 10 million take?"

FAMILIES = (
    ("CMP", "VickreyCMP", "Mahalanobis", "VickreyMhl"),
    ("CusText",),
    ("SanText", "TEM"),
    ("WBB",),
    ("AEA",),
    ("FEA",),
)
VARIANTS = 50
CORES = (1, 16, 256)
LOG = 10_000_000
NEW_DOCUMENTS = 0.12  # share of the answers that no other variant found: an assumption
PASSAGES = ROOT.parent / "shared" / "data" / "msmarco_pool" / "docs.tsv.gz"


@dataclass(frozen=True)
class Job:
    """A collection as far as the cost depends on it."""

    name: str
    queries: int
    words: float  # per query
    documents: int
    length: float  # words per document
    document: str  # which unit an encoded document is


# The words are those of the topics of DL'19; of DL'20, which has the same source, about as many; of Robust'04, titles.
JOBS = (
    Job("DL'19", 43, 5.4, 8_841_823, 56, "passage"),
    Job("DL'20", 54, 5.9, 8_841_823, 56, "passage"),
    Job("Robust'04", 250, 2.7, 528_155, 470, "long document"),
)


def run(quick: bool) -> list[Line]:
    """Measure the units one after the other, and print them and what follows from them."""
    glove()  # installed here, where a missing file can be told
    costs: dict[str, float] = {}
    for part in PARTS:
        costs |= _alone(part, quick)
    lines = [Line(f"{what} (microseconds)", (), 1e6 * cost) for what, cost in costs.items() if what.startswith("per ")]
    lines += [Line(what, (), value) for what, value in costs.items() if not what.startswith("per ")]
    show(("one core", "value"), lines)
    print()
    print("\n".join(markdown(costs)))
    return lines


def _alone(part: str, quick: bool) -> dict[str, float]:
    """Measure one part in a fresh process with one thread."""
    single = dict.fromkeys(("QUIPUKIT_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.scale", part, *(["--quick"] if quick else [])],
        cwd=ROOT,
        env={**os.environ, **single, "TOKENIZERS_PARALLELISM": "false"},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        raise Skipped(f"measuring {part} failed; its message is above")
    print(f"measured: {part}", flush=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


# --- the units --------------------------------------------------------------------------------------------------------


def obfuscation(quick: bool) -> dict[str, float]:
    """Measure every family over its whole grid in common noise, as an experiment runs it."""
    from quipukit.experiment.grid import expand
    from quipukit.obfuscation import mechanism, obfuscate
    from quipukit.text import tokenize

    vectors = glove()
    queries = topics(vectors, 2 if quick else 6)
    words = sum(len(tokenize(query)) for query in queries.values()) * VARIANTS
    found: dict[str, float] = {}
    total, settings, texts = 0.0, 0, []
    for family in FAMILIES:
        members = [mechanism(one, vectors=vectors) for one in expand(family) if one.name not in ("Identity", "Random")]

        def sweep(members: Sequence[Any] = members) -> Any:
            return obfuscate(queries, members, VARIANTS, seed=7, noise="common")

        table = sweep()  # compiles, divides the vocabulary, builds the index
        texts.append(table)
        seconds = best(sweep, 1 if quick else 3)
        found[f"per obfuscated word: {', '.join(family)}"] = seconds / (words * len(members))
        total, settings = total + seconds, settings + len(members)
    found["per obfuscated word, all settings"] = total / (words * settings)
    found["settings"] = settings
    sent = [text for table in texts for text in table["query"]]
    found["distinct texts among the variants (share)"] = len(set(sent)) / len(sent)
    keep = CACHE / "scale-texts.json"
    keep.parent.mkdir(parents=True, exist_ok=True)
    keep.write_text(json.dumps(sorted(set(sent), key=_shuffled)), encoding="utf-8")
    return found


def encoding(quick: bool) -> dict[str, float]:
    """Measure MiniLM on chunks as workers get them: of like length."""
    from quipukit.encoders.load import load_encoder

    encoder = load_encoder("minilm")
    rounds, share = (1, 16) if quick else (3, 1)
    units = {
        "query of a log": _alike(_log(200_000), 2048 // share, 4),
        "obfuscated query": _alike(_obfuscated(200_000), 2048 // share, 2),
        "passage": _alike(_passages(10_000), 1024 // share, 2),
        # Eight passages fill MiniLM's 256 tokens; a number first keeps the texts apart.
        "long document": [[f"{place} {' '.join(_passages(8))}" for place in range(64 // share)]],
    }
    encoder.encode(["loaded"])
    return {
        f"per encoded {unit}": best(lambda chunks=chunks: [encoder.encode(chunk) for chunk in chunks], rounds)
        / sum(map(len, chunks))
        for unit, chunks in units.items()
    }


def _alike(texts: list[str], size: int, count: int) -> list[list[str]]:
    """Return chunks of texts of like length, spread over the short and the long ones."""
    ordered = sorted(texts, key=len)
    starts = [max(0, (2 * place + 1) * len(ordered) // (2 * count) - size // 2) for place in range(count)]
    return [ordered[start : start + size] for start in starts]


def retrieval(quick: bool) -> dict[str, float]:
    """Measure BM25 on the built-in collection, and on a quarter of it to see how the cost grows."""
    from quipukit.collections.files import Folder
    from quipukit.collections.load import load_collection
    from quipukit.retrieval.bm25 import BM25

    queries = _obfuscated(500 if quick else 4000)
    whole = load_collection("wordnet")
    found = {}
    with tempfile.TemporaryDirectory() as place:
        quarter = list(whole.documents())[::4]
        (Path(place) / "docs.tsv").write_text(
            "".join(f"{docno}\t{text}\n" for docno, text in quarter), encoding="utf-8"
        )
        for name, collection in (("", whole), (", a quarter of the collection", Folder(place))):
            index = BM25.of(collection)
            index.search(queries[:100], 100)
            found[f"per retrieved query{name}"] = best(lambda index=index: index.search(queries, 100), 3) / len(queries)
    found["documents searched"] = len(whole)
    found["words per document"] = sum(len(text.split()) for _, text in whole.documents()) / len(whole)
    return found


def ranking(quick: bool) -> dict[str, float]:
    """Measure what a worker does with a row of the log and a centroid; and with an answer, and a pooled document."""
    import numpy as np
    import pandas as pd

    from quipukit.attackers.ranks import count_better
    from quipukit.experiment.artifacts import encoded
    from quipukit.measures.utility import utility
    from quipukit.retrieval.base import Ranking
    from quipukit.retrieval.fusion import fused_pool
    from quipukit.retrieval.rerank import ranked_by

    rows, centroids, rounds = (10_000, 100, 1) if quick else (40_000, 500, 3)
    rng = np.random.default_rng(1)
    matrix = rng.standard_normal((rows, DIMENSION), np.float32)
    targets = rng.integers(0, rows, centroids)
    own = matrix[targets].astype(np.float64)
    points = own + rng.standard_normal(own.shape) * 0.05

    def rank() -> None:
        count_better(points, targets, lambda start, stop: matrix[start:stop], rows, own)

    rank()
    docnos = [f"{number:07}" for number in range(2000)]
    sent = pd.DataFrame({"qid": [str(number // VARIANTS) for number in range(20 * VARIANTS)]})
    sent = sent.assign(mechanism="CMP", parameter="epsilon", value=5.0, query=[f"{n}" for n in range(len(sent))])
    answers = {
        text: Ranking([docnos[place] for place in rng.choice(2000, 100, False)], np.empty(0)) for text in sent["query"]
    }
    pool = fused_pool(sent, answers)
    qrels = pd.DataFrame({"qid": sent["qid"].unique(), "docno": docnos[0], "relevance": 1})
    bare = pool.drop(columns="fused")
    scores = rng.random(len(bare))
    return {
        "per row of the log and centroid, ranked": best(rank, rounds) / (rows * centroids),
        "per answer, pooled and fused": best(lambda: encoded(fused_pool(sent, answers)), rounds) / (100 * len(sent)),
        "per pooled document, re-ranked and measured": best(
            lambda: utility(ranked_by(bare, scores), qrels, ("nDCG@10", "SetR")), rounds
        )
        / len(pool),
    }


def _log(count: int) -> list[str]:
    from quipukit.collections.wordnet_glosses import WordNetGlosses

    whole = WordNetGlosses().query_log()
    return [whole[place * len(whole) // count] for place in range(count)]


def _obfuscated(count: int) -> list[str]:
    texts: list[str] = json.loads((CACHE / "scale-texts.json").read_text(encoding="utf-8"))
    return texts[:count]


def _passages(count: int) -> list[str]:
    """Return passages of MS MARCO where they are at hand, else glosses joined to the same length."""
    from quipukit.collections.files import Folder
    from quipukit.collections.load import load_collection

    if PASSAGES.is_file():
        return [text for _, text in itertools.islice(Folder(docs=PASSAGES).documents(), count)]
    words = " ".join(text for _, text in itertools.islice(load_collection("wordnet").documents(), 10 * count)).split()
    return [" ".join(words[60 * place : 60 * place + 60]) for place in range(count)]


def _shuffled(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


# --- what follows from them -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bill:
    """The seconds of one core that a job costs: those that workers share, and those of the coordinator's clock."""

    workers: dict[str, float]
    coordinator: dict[str, float]
    bytes: float

    @property
    def serial(self) -> float:
        """Return what no further worker makes shorter."""
        return sum(self.coordinator.values())

    def seconds(self, cores: int) -> float:
        """Return how long the job takes with so many cores of workers, the coordinator's own not counted."""
        return sum(self.workers.values()) / cores + self.serial


def bill(job: Job, costs: dict[str, float]) -> Bill:
    """Return what a job costs: 86 settings and the two references, 50 variants, depth 100, a log of ten million."""
    settings = costs["settings"] + 2
    sent = job.queries * settings * VARIANTS
    texts = sent * costs["distinct texts among the variants (share)"]
    pooled = sent * 100 * costs["pooled documents per answer"]
    pairs = NEW_DOCUMENTS * 100 * texts  # of a query and a document
    documents = min(job.documents, pairs)
    encoded = texts + LOG + documents
    handed = costs["per text handed out, its vector written by a worker"]
    parts = 2 * 3 * CORES[-1]  # in which the log is ranked, and looked through for guesses
    return Bill(
        workers={
            "obfuscate": sent * job.words * costs["per obfuscated word, all settings"],
            "encode obfuscated queries": texts * costs["per encoded obfuscated query"],
            "encode the log": LOG * costs["per encoded query of a log"],
            "encode documents": documents * costs[f"per encoded {job.document}"],
            # Settings that different workers search for share no answer.
            "search": sent * _search(job, costs),
            "pool and fuse": sent * 100 * costs["per answer, pooled and fused"],
            "re-rank and measure": pooled * costs["per pooled document, re-ranked and measured"],
            "rank the log": job.queries * settings * LOG * costs["per row of the log and centroid, ranked"],
        },
        coordinator={
            "read the log, put it into order with two threads": LOG
            * costs["per row of the log, read and put into order by two threads"],
            "look up and hand out the log": LOG * handed,
            "hand out variants and documents": (texts + documents) * handed,
            "hand out the ranking of the log": LOG * costs["per row of the log that a worker reads and ranks"]
            + parts * costs["per task"],
            "collect and save pools": pooled * costs["per pooled document, found by workers, its pool saved"],
            "score documents": pairs
            * (
                costs["per document scored by its vector"]
                + costs["per query and document, scored by BM25 and remembered"]
            ),
            "hand out pools to be measured": pooled
            * costs["per pooled document, its score known, and measured by workers"],
            "attack": sent * costs["per obfuscated query, attacked by QuIA"],
            "hand out texts to be compared": sent * costs["per obfuscated query, compared by workers"],
            "begin these stages": costs["seconds of these stages, per experiment"],
            "hand out pools for the consensus": pooled * costs["per pooled document, in the consensus"],
            "search for the guesses": job.queries * settings * costs["per query and setting, its guess searched for"],
        },
        bytes=encoded * DIMENSION * 4,
    )


def _search(job: Job, costs: dict[str, float]) -> float:
    """Return what a query costs on a collection: a part that stays, and one that grows with its words."""
    whole, quarter = costs["per retrieved query"], costs["per retrieved query, a quarter of the collection"]
    growing = max(0.0, (whole - quarter) / 0.75)
    words = job.documents * job.length / (costs["documents searched"] * costs["words per document"])
    return whole - growing + growing * words


def markdown(costs: dict[str, float]) -> list[str]:
    """Return the tables of docs/scale.md."""
    from quipukit.experiment.cost import in_words

    lines = ["| unit | microseconds of one core |", "|---|---|"]
    lines += [f"| {what} | {number(1e6 * cost)} |" for what, cost in costs.items() if what.startswith("per ")]
    lines += ["", "| | " + " | ".join(job.name for job in JOBS) + " |", "|---|" + "---|" * len(JOBS)]
    bills = [bill(job, costs) for job in JOBS]
    for group, title in (("workers", "workers"), ("coordinator", "coordinator")):
        for part in getattr(bills[0], group):
            lines.append(f"| {part} ({title}) | " + " | ".join(in_words(getattr(b, group)[part]) for b in bills) + " |")
    lines.append("| **coordinator, all** | " + " | ".join(in_words(b.serial) for b in bills) + " |")
    lines.append("| vectors in the shared folder | " + " | ".join(f"{b.bytes / 1e9:.0f} GB" for b in bills) + " |")
    for cores in CORES:
        lines.append(
            f"| **{cores} core{'s' * (cores > 1)}** | " + " | ".join(in_words(b.seconds(cores)) for b in bills) + " |"
        )
    return lines


PARTS: dict[str, Callable[[bool], dict[str, float]]] = {
    "obfuscation": obfuscation,
    "encoding": encoding,
    "retrieval": retrieval,
    "ranking": ranking,
    "log": coordinator.log,
    "sharing": coordinator.sharing,
    "stages": coordinator.stages,
    "scoring": coordinator.scoring,
}

if __name__ == "__main__":
    print(json.dumps(PARTS[sys.argv[1]]("--quick" in sys.argv)))
