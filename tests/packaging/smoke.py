"""What must work in an installation without torch, from outside the tree: `python smoke.py`, with quipukit installed.

Obfuscation, BM25, attackers without an encoder, static encoders; and a clear word where torch would be needed.
"""

import importlib.util
import sys
from pathlib import Path

import quipukit as qk
from quipukit.errors import ResourceError

SLIM = importlib.util.find_spec("torch") is None
QUERIES = ["how does a tumor grow", "can i lose my house in a divorce"]


def main() -> None:
    """Run each part on little data."""
    inside = Path(qk.__file__).resolve()
    assert "site-packages" in inside.parts, f"this is the tree, not an installation: {inside}"
    sent = qk.obfuscate(QUERIES, ["CMP@10", "TEM@2", "CusText@5", "AEA@3"], n=2, seed=7)
    assert set(sent["mechanism"]) == {"CMP", "TEM", "CusText", "AEA"}
    collection = qk.load_collection("wordnet")
    # A query of the pool; others are placed by MiniLM.
    assert len(qk.obfuscate(collection.query_log()[:1], ["Cover@50"], seed=7)) >= 50
    queries = collection.queries().head(3)
    hidden = qk.obfuscate(queries, ["CMP@10"], n=2, seed=7)
    run = qk.retrieve(hidden, collection, "bm25", depth=5)
    ranked = qk.rerank(qk.pool(run), queries, collection, reranker="static")
    assert len(ranked) and set(ranked["qid"]) <= set(queries["qid"])
    log = qk.read_log(collection.query_log()[:500])
    ranks = qk.attack(hidden, queries, log, attackers=["Words", "Positional", "Lexical"])
    assert set(ranks["attacker"]) == {"Words", "Positional", "Lexical"}
    ranks = qk.attack(hidden, queries, log, attackers=["QuIA"], encoder="static")
    assert len(ranks) == 3
    if SLIM:
        said = ""
        try:
            qk.attack(hidden, queries, log, attackers=["QuIA"])
        except ResourceError as fault:
            said = str(fault)
        assert "quipukit[encoders]" in said, "MiniLM without torch says what to install"
    print(f"quipukit {qk.__version__} works {'without' if SLIM else 'with'} torch, Python {sys.version.split()[0]}")


if __name__ == "__main__":
    main()
