"""Would PISA or tantivy do instead of our own BM25: the same lists, and sooner?

Generated passages, divided into our terms beforehand, are indexed by each and searched for the same queries to depth
100, with one thread. Seconds are those of the processor, of searches the best of three rounds; looking up docnos is
not counted. Lists are compared with ours as they stand, and as sets: scores that are rounded otherwise and ties in
another order move documents without being wrong by much.
"""

import contextlib
import importlib.metadata
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.coordinator import best
from benchmarks.data import CACHE, Skipped
from benchmarks.generated import FREQUENT, KNOWN, Passages, word
from benchmarks.table import Line, show

QUESTION = "do PISA and tantivy return the same lists as our BM25, and are they faster?"
DEPTH, VARIANTS, ROUNDS = 100, 50, 3
K1, B = 0.9, 0.4
TANTIVY = "tantivy==0.27.0"

Lists = list[list[str]]
# What searches an index, and what turns its answers into lists of docnos, which is not timed.
Engine = tuple[Callable[[Sequence[str]], Any], Callable[[Any], Lists]]


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
                with _silent():
                    search, lists = engine(documents, folder)
                    search(queries[:1])  # PISA compresses its index when it is first searched
                built = time.process_time() - start
            except Skipped as reason:
                print(f"{name} skipped: {reason}")
                continue
            each = best(lambda search=search: search(queries), ROUNDS) / len(queries)
            found = lists(search(queries))
        ours = ours or found
        same = np.mean([mine == theirs for mine, theirs in zip(ours, found, strict=True)])
        alike = np.mean([set(mine) == set(theirs) for mine, theirs in zip(ours, found, strict=True)])
        lines += [
            Line(f"{name}: index {len(documents):,} passages, until the first answer (s)", (), built),
            Line(f"{name}: search one of {len(queries):,} queries (ms)", (), 1e3 * each),
            Line(f"{name}: the same {DEPTH} documents in the same order (%)", (), 100 * float(same)),
            Line(f"{name}: the same {DEPTH} documents in any order (%)", (), 100 * float(alike)),
        ]
    print(f"pyterrier-pisa {_version('pyterrier-pisa')}, {TANTIVY.replace('==', ' ')}")
    show(("what, of the processor", "value"), lines)
    return lines


def _version(package: str) -> str:
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version(package)
    return "not installed"


def _asked(passages: Passages) -> list[str]:
    """Return variants of the topics: half of their words are drawn anew."""
    rng = np.random.default_rng(3)
    return [
        " ".join(own if rng.random() < 0.5 else word(int(rng.integers(FREQUENT, KNOWN))) for own in topic.split())
        for topic in passages.queries()["query"]
        for _ in range(VARIANTS)
    ]


def _ours(documents: list[tuple[str, str]], folder: str) -> Engine:
    from quipukit.collections.files import Folder
    from quipukit.retrieval.bm25 import BM25

    text = "".join(f"{docno}\t{terms}\n" for docno, terms in documents)
    (Path(folder) / "docs.tsv").write_text(text, encoding="utf-8")
    os.environ["QUIPUKIT_HOME"] = f"{folder}/home"  # where no index is kept from before
    index = BM25.of(Folder(folder), k1=K1, b=B, stemmed=False)
    return lambda queries: index.search(list(queries), DEPTH), lambda found: [list(one.docnos) for one in found]


def _pisa(documents: list[tuple[str, str]], folder: str) -> Engine:
    try:
        import pandas as pd
        import pyterrier_pisa
    except ImportError:
        raise Skipped("pyterrier-pisa is not installed; `make test` installs it where it has a wheel") from None
    index = pyterrier_pisa.PisaIndex(f"{folder}/pisa", text_field="text", stemmer="none", stops="none", threads=1)
    index.index({"docno": docno, "text": terms} for docno, terms in documents)
    searched = index.bm25(k1=K1, b=B, num_results=DEPTH, threads=1)

    def search(queries: Sequence[str]) -> tuple[int, Any]:
        qids = [str(number) for number in range(len(queries))]
        return len(queries), searched(pd.DataFrame({"qid": qids, "query": list(queries)}))

    def lists(answers: tuple[int, Any]) -> Lists:
        count, found = answers
        by_query = found.sort_values(["qid", "rank"]).groupby("qid")["docno"].agg(list)
        return [by_query.get(str(number), []) for number in range(count)]

    return search, lists


def _tantivy(documents: list[tuple[str, str]], folder: str) -> Engine:
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

    def search(queries: Sequence[str]) -> Any:
        return [searcher.search(index.parse_query(query, ["text"]), DEPTH).hits for query in queries]

    return search, lambda found: [[searcher.doc(address)["docno"][0] for _, address in hits] for hits in found]


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Send what compiled code prints to the other stream: PISA tells much about its work."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def _installed() -> Any:
    """Return tantivy, put into a folder of the benchmarks' own: the package does not need it."""
    folder = CACHE / "benchmarks" / TANTIVY
    if not (folder / "tantivy").is_dir():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), TANTIVY]
        if subprocess.run(command, check=False).returncode:
            raise Skipped(f"{TANTIVY} could not be installed; pip's message is above")
    sys.path.insert(0, str(folder))
    import tantivy  # type: ignore[import-not-found]

    return tantivy
