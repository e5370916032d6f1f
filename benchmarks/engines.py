"""Would PISA or tantivy do instead of our own BM25: the same lists, and sooner?

Generated passages, divided into our terms beforehand, are indexed by each and searched for the same queries to depth
100, with one thread. Seconds are those of the processor. Lists are compared with ours as they stand, and as sets:
scores that are rounded otherwise and ties in another order move documents without being wrong by much.
"""

import importlib.metadata
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import CACHE, Skipped
from benchmarks.generated import FREQUENT, KNOWN, Passages, word
from benchmarks.table import Line, show

QUESTION = "do PISA and tantivy return the same lists as our BM25, and are they faster?"
DEPTH, VARIANTS = 100, 50
K1, B = 0.9, 0.4
TANTIVY = "tantivy==0.27.0"

Lists = list[list[str]]
Search = Callable[[Sequence[str]], Lists]


def run(quick: bool) -> list[Line]:
    """Index and search with each engine that is to be had."""
    from quipukit.lexical import stems, text_words

    os.environ["QUIPUKIT_THREADS"] = "1"
    CACHE.mkdir(exist_ok=True)
    passages = Passages(5_000 if quick else 100_000)
    documents = [(docno, " ".join(stems(text_words(text)))) for docno, text in passages.documents()]
    queries = [text for text in dict.fromkeys(" ".join(stems(text_words(text))) for text in _asked(passages)) if text]
    lines: list[Line] = []
    ours: Lists = []
    for name, engine in (("quipukit", _ours), ("PISA", _pisa), ("tantivy", _tantivy)):
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            try:
                start = time.process_time()
                search = engine(documents, folder)
                search(queries[:1])  # PISA compresses its index when it is first searched
                built = time.process_time() - start
            except Skipped as reason:
                print(f"{name} skipped: {reason}")
                continue
            start = time.process_time()
            found = search(queries)
            each = (time.process_time() - start) / len(queries)
        ours = ours or found
        same = np.mean([mine == theirs for mine, theirs in zip(ours, found, strict=True)])
        alike = np.mean([set(mine) == set(theirs) for mine, theirs in zip(ours, found, strict=True)])
        lines += [
            Line(f"{name}: index {len(documents):,} passages, until the first answer (s)", (), built),
            Line(f"{name}: search one of {len(queries):,} queries (ms)", (), 1e3 * each),
            Line(f"{name}: the same {DEPTH} documents in the same order (%)", (), 100 * float(same)),
            Line(f"{name}: the same {DEPTH} documents in any order (%)", (), 100 * float(alike)),
        ]
    show(("what, of the processor", "value"), lines)
    return lines


def _asked(passages: Passages) -> list[str]:
    """Return variants of the topics: half of their words are drawn anew."""
    rng = np.random.default_rng(3)
    return [
        " ".join(own if rng.random() < 0.5 else word(int(rng.integers(FREQUENT, KNOWN))) for own in topic.split())
        for topic in passages.queries()["query"]
        for _ in range(VARIANTS)
    ]


def _ours(documents: list[tuple[str, str]], folder: str) -> Search:
    from quipukit.collections.files import Folder
    from quipukit.retrieval.bm25 import BM25

    text = "".join(f"{docno}\t{terms}\n" for docno, terms in documents)
    (Path(folder) / "docs.tsv").write_text(text, encoding="utf-8")
    index = BM25.of(Folder(folder), k1=K1, b=B, stemmed=False)
    return lambda queries: [list(ranking.docnos) for ranking in index.search(list(queries), DEPTH)]


def _pisa(documents: list[tuple[str, str]], folder: str) -> Search:
    try:
        import pandas as pd
        import pyterrier_pisa
    except ImportError:
        raise Skipped("pyterrier-pisa is not installed; `make test` installs it where it has a wheel") from None
    print(f"PISA by pyterrier-pisa {importlib.metadata.version('pyterrier-pisa')}")
    index = pyterrier_pisa.PisaIndex(f"{folder}/pisa", text_field="text", stemmer="none", stops="none", threads=1)
    index.index({"docno": docno, "text": terms} for docno, terms in documents)
    searched = index.bm25(k1=K1, b=B, num_results=DEPTH, threads=1)

    def search(queries: Sequence[str]) -> Lists:
        qids = [str(number) for number in range(len(queries))]
        found = searched(pd.DataFrame({"qid": qids, "query": list(queries)})).sort_values(["qid", "rank"])
        lists = found.groupby("qid")["docno"].agg(list)
        return [lists.get(qid, []) for qid in qids]

    return search


def _tantivy(documents: list[tuple[str, str]], folder: str) -> Search:
    tantivy = _installed()
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("docno", stored=True, tokenizer_name="raw")
    builder.add_text_field("text", stored=False, tokenizer_name="whitespace")
    index = tantivy.Index(builder.build(), path=folder)
    writer = index.writer(num_threads=1)
    for docno, terms in documents:
        writer.add_document(tantivy.Document(docno=docno, text=terms))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()

    def search(queries: Sequence[str]) -> Lists:
        lists = []
        for query in queries:
            hits = searcher.search(index.parse_query(query, ["text"]), DEPTH).hits
            lists.append([searcher.doc(address)["docno"][0] for _, address in hits])
        return lists

    return search


def _installed() -> Any:
    """Return tantivy, put into a folder of the benchmarks' own: the package does not need it."""
    folder = CACHE / "benchmarks" / TANTIVY
    if not (folder / "tantivy").is_dir():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), TANTIVY]
        if subprocess.run(command, check=False).returncode:
            raise Skipped(f"{TANTIVY} could not be installed; pip's message is above")
    sys.path.insert(0, str(folder))
    import tantivy  # type: ignore[import-not-found]

    print(TANTIVY)
    return tantivy
