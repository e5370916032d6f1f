"""A stolen cache without the secret tells nothing about the queries: no key does, no vector, and no order of them.

The thief has every file below QUIPUKIT_HOME, the public models, the public collection, and a dictionary of 1,000
queries that holds all 100 originals. The same attack on a cache of the old kind confirms all of them.
"""

import hashlib
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import quipukit as qk
from quipukit import secret
from quipukit.attackers.log import QueryLog
from quipukit.encoders.store import PrivateStore
from quipukit.retrieval.bm25 import BM25
from tests.experiment import tiny

DEPTH = 8
_SYLLABLES = ("ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu")
_WORDS = [f"{one}{two}n" for one in _SYLLABLES for two in _SYLLABLES]


def phrases(count: int, length: int, seed: int) -> list[str]:
    """Return distinct texts of made-up words."""
    rng = np.random.default_rng(seed)
    made = (" ".join(rng.choice(_WORDS, length, replace=False)) for _ in range(2 * count))
    return list(dict.fromkeys(made))[:count]


DOCUMENTS = {f"d{number:05d}": text for number, text in enumerate(phrases(1_500, 7, 1))}
LOG = phrases(200, 3, 2)
DICTIONARY = [text for text in phrases(1_100, 4, 3) if text not in set(LOG)][:1_000]
ORIGINALS = DICTIONARY[:100]
OTHERS = DICTIONARY[500:600]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection that has more documents than all queries together find."""
    folder = tmp_path_factory.mktemp("stolen") / "library"
    folder.mkdir()
    tiny.write_lines(folder / "docs.tsv", (f"{docno}\t{text}" for docno, text in DOCUMENTS.items()))
    tiny.write_lines(folder / "log.txt", LOG)
    rows = np.random.default_rng(4).normal(size=(len(_WORDS), 8)).round(3)
    tiny.write_lines(
        folder / "vectors.txt", (f"{w} {' '.join(map(str, r))}" for w, r in zip(_WORDS, rows, strict=True))
    )
    return folder


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty cache, and encoders that need no model."""
    tiny.no_model(monkeypatch, tmp_path / "home")
    return tmp_path / "home"


def use(library: Path, originals: list[str], out: Path | None, systems: Any = None) -> None:
    """Do everything that encodes or searches: an experiment, and the functions by themselves."""
    queries = pd.DataFrame({"qid": [f"q{number}" for number in range(len(originals))], "query": originals})
    qrels = pd.DataFrame({"qid": queries["qid"], "docno": "d00001", "relevance": 1})
    result = qk.evaluate(
        library,
        ["CMP@50"],  # which sends nearly every query as it is
        n=1,
        queries=queries,
        qrels=qrels,
        log=library / "log.txt",
        vectors=library / "vectors.txt",
        encoder="attacker",
        attackers=["QuIA"],  # the only one that keeps vectors
        systems=systems or (("bm25", "user"), ("dense:searcher", "user")),
        depth=DEPTH,
        growth=False,
        out=out,
    )
    sent = result.obfuscated.drop(columns="seed").head(80)
    collection = qk.load_collection(library)
    asked = queries[queries["qid"].isin(sent["qid"])]
    qk.attack(sent, asked, str(library / "log.txt"), encoder="attacker", attackers=["QuIA"])
    qk.similarity(sent, queries, "meaning")
    run = qk.retrieve(sent, collection, "dense:searcher", depth=DEPTH)
    qk.rerank(qk.pool(run), queries, collection, "user")


# --- the thief ----------------------------------------------------------------------------------------------------


def by_key(home: Path) -> set[str]:
    """Return the texts of the dictionary whose hash stands anywhere, in any of the usual ways to hash a text."""
    stolen: set[bytes] = set()
    for path in home.rglob("*"):
        content = path.read_bytes() if path.is_file() else b""
        for digits in re.findall(rb"[0-9a-f]{32,}", content + b" " + str(path.relative_to(home)).encode()):
            stolen.add(bytes.fromhex(digits[:32].decode()))
        if path.name.startswith("index."):
            records = np.frombuffer(content[: len(content) // 24 * 24], np.uint8).reshape(-1, 24)
            stolen |= {record[:16].tobytes() for record in records}
    return {text for text in [*DICTIONARY, *LOG] if stolen & _hashes(text)}


def _hashes(text: str) -> set[bytes]:
    plain = text.encode()
    framed = [b"5:query" + plain, b"8:document" + plain]
    made = [hashlib.blake2b(content, digest_size=16).digest() for content in (plain, *framed)]
    return {*made, *(hashlib.new(name, plain).digest()[:16] for name in ("md5", "sha1", "sha256", "blake2b"))}


def by_vector(home: Path) -> set[str]:
    """Return the texts of the dictionary whose vector is in the cache, or nearly."""
    texts, found = [*DICTIONARY, *LOG], set()
    guesses = _encoded(texts)
    guesses /= np.linalg.norm(guesses, axis=1, keepdims=True)
    for rows in _rows(home).values():
        stolen = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        found |= {texts[place] for place in np.flatnonzero((guesses @ stolen.T).max(axis=1) > 0.9999)}
    return found


def by_documents(home: Path, library: Path) -> set[str]:
    """Return the texts of the dictionary all of whose documents are in the cache, where not all documents are."""
    vectors = {row.tobytes(): docno for docno, row in zip(DOCUMENTS, _encoded(DOCUMENTS.values()), strict=True)}
    answers = BM25.of(qk.load_collection(library)).search(DICTIONARY, DEPTH)
    found = set()
    for rows in _rows(home).values():
        there = {vectors[row.tobytes()] for row in rows if row.tobytes() in vectors}
        if len(there) < len(DOCUMENTS):
            found |= {text for text, answer in zip(DICTIONARY, answers, strict=True) if there.issuperset(answer.docnos)}
    return found


def _encoded(texts: Any) -> Any:
    """Return vectors; all models of these tests have the same."""
    return tiny.Words("any").encode(list(texts))


def _rows(home: Path) -> dict[str, Any]:
    return {
        path.parent.name: np.fromfile(path, np.float32).reshape(-1, tiny.Words.dimension)
        for path in home.rglob("rows.float32")
    }


# --- the tests ----------------------------------------------------------------------------------------------------


def test_no_original_is_confirmed(library: Path, home: Path, tmp_path: Path) -> None:
    use(library, ORIGINALS, tmp_path / "run")
    assert by_key(home) == set()
    assert by_vector(home) == set(LOG)  # the attack works; the log is public, and all of it is there
    assert by_documents(home, library) == set()
    stored = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert not any(text.encode() in stored for text in ORIGINALS[:50])
    assert not list(home.rglob("*.key"))


def test_the_same_attack_confirms_all_of_them_in_a_cache_of_the_old_kind(
    library: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = PrivateStore.__init__

    def not_private(self: PrivateStore, shared: Any, folder: Path | None = None) -> None:
        begin(self, shared)
        self._file = shared._file

    monkeypatch.setattr(PrivateStore, "__init__", not_private)
    monkeypatch.setattr(secret, "installation_secret", lambda: b"")
    monkeypatch.setattr(QueryLog, "public", property(lambda self: self.texts))
    use(library, ORIGINALS, None, systems=(("bm25", "user"),))
    for confirmed in (by_key(home), by_vector(home), by_documents(home, library)):
        assert confirmed >= set(ORIGINALS)
    # Of the 900 others few are taken for originals: those that were sent, those of which all documents were found.
    assert len(by_vector(home) - {*ORIGINALS, *LOG}) < 6
    assert len(by_documents(home, library)) < 500  # what the guesses of all attackers found is there, too


@pytest.mark.slow
def test_the_cache_is_the_same_whatever_was_asked(
    library: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Order and number of the rows would tell as well: which were added last, and how many."""
    other = tmp_path / "other home"
    use(library, ORIGINALS[:40], tmp_path / "run")
    tiny.no_model(monkeypatch, other)
    use(library, OTHERS[:28], None)
    names = [sorted(str(path.relative_to(place)) for path in place.rglob("*")) for place in (home, other)]
    # Locks have the hash of the place that they are for, which is below each home.
    assert len(names[0]) == len(names[1])
    assert [name for name in names[0] if "locks/" not in name] == [name for name in names[1] if "locks/" not in name]
    one, two = _rows(home), _rows(other)
    assert set(one) == set(two) == {"attacker-1", "searcher-1"}
    assert all(np.array_equal(one[name], two[name]) for name in one)


def test_a_run_that_goes_on_encodes_nothing_twice(
    library: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[str] = []
    pieces = tiny.Words.pieces

    def noted(self: tiny.Words, texts: Any, kind: Any) -> Any:
        encoded.extend(texts)
        return pieces(self, texts, kind)

    monkeypatch.setattr(tiny.Words, "pieces", noted)
    systems = (("dense:searcher", "user"),)
    choices = {"queries": ORIGINALS[:20], "log": library / "log.txt", "vectors": library / "vectors.txt", "n": 1}
    choices |= {"attackers": ["QuIA"], "growth": False}
    qrels = pd.DataFrame({"qid": [str(number) for number in range(1, 21)], "docno": "d00001", "relevance": 1})

    def again() -> None:
        qk.evaluate(library, ["CMP@50"], encoder="attacker", systems=systems, qrels=qrels, out=tmp_path, **choices)

    again()
    for path in (tmp_path / "artifacts").glob("*/*.parquet"):
        path.unlink()
    first = len(encoded)
    encoded.clear()
    again()
    # What is left are the originals, and of each cell the guesses, which a re-ranker and an attacker hold in memory.
    guessed = set(encoded) - set(ORIGINALS[:20])
    assert guessed <= set(LOG) and len(guessed) <= 3 * 20 and first > len(DOCUMENTS)
