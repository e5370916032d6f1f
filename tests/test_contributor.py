"""A package of somebody else adds one thing of every kind, and an experiment and its report use them all.

The package is really installed (a folder with entry points on the path of a new process) and nothing in src knows it.
"""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.experiment import tiny
from tests.retrieval.fake_engine import Asked, Reply, serving

pytestmark = pytest.mark.heavy

PACKAGE = {
    "mechanism.py": '''
        from dataclasses import dataclass

        from quipukit.guarantees import NoGuarantee
        from quipukit.mechanisms.base import QueryMechanism, Variants


        @dataclass(frozen=True, kw_only=True)
        class FewWords(QueryMechanism):
            """Sends a few words of the query, never all of them."""

            name, summary, strategy, parameter = "FewWords", "sends a few words of the query", "heuristic", "count"
            grid = (1.0, 2.0)
            guarantee = NoGuarantee("the words are sent as they are")
            count: float = 1.0

            def variants(self, query, n, rngs):
                words = query.split()
                size = max(0, min(int(self.count), len(words) - 1))
                drawn = [rngs(number).permutation(len(words))[:size] for number in range(n)]
                return Variants([" ".join(words[place] for place in places) for places in drawn])
        ''',
    "attacker.py": '''
        import numpy as np

        from quipukit.attackers.base import Attacker


        class Overlap(Attacker):
            """Counts the words that a query of the log shares with what was sent."""

            name, summary = "Overlap", "counts common words"

            def prepare(self, log, progress=None):
                self.words = [set(text.lower().split()) for text in log.texts]

            def scores(self, sent):
                seen = set(" ".join(sent.texts).lower().split())
                return np.array([len(words & seen) / (1 + len(words)) for words in self.words])
        ''',
    "encoder.py": '''
        import numpy as np

        from quipukit.encoders.base import Encoder


        class Letters(Encoder):
            """Counts letters."""

            name, fingerprint, dimension = "letters", "letters-1", 26

            def pieces(self, texts, kind):
                rows = [[text.lower().count(chr(97 + place)) for place in range(26)] for text in texts]
                yield np.arange(len(texts)), np.array(rows, np.float32)
        ''',
    "measure.py": '''
        def found_relevant(ranking, relevance):
            """Return the share of the relevant documents that were found."""
            relevant = {docno for docno, grade in relevance.items() if grade > 0}
            return len(relevant & set(ranking)) / len(relevant)
        ''',
    "engine.py": '''
        from quipukit.retrieval.engines import Call, Engine


        class Village(Engine):
            """A search engine that answers with pairs of a document and a score."""

            kind, label = "village", "Village Search"

            def ask(self, fetch, text, depth):
                call = Call("GET", f"{self.address}/find", params={"words": text, "top": str(depth)})
                return fetch(call, lambda answer: [(docno, float(score)) for docno, score in answer["pairs"]])
        ''',
    "section.py": '''
        from quipukit.report.sections import Section


        class Greeting(Section):
            """Says how many systems were measured."""

            id, title, order = "greeting", "From a contributor", 15
            template = "<p>Measured with {{ count }} systems.</p>"

            def values(self, report):
                return {"count": len(report.views)}
        ''',
}
ENTRY_POINTS = """
[quipukit.mechanisms]
FewWords = contributed.mechanism:FewWords

[quipukit.attackers]
Overlap = contributed.attacker:Overlap

[quipukit.encoders]
letters = contributed.encoder:Letters

[quipukit.measures]
FoundRelevant = contributed.measure:found_relevant

[quipukit.engines]
village = contributed.engine:Village

[quipukit.sections]
greeting = contributed.section:Greeting
"""
EXPERIMENT = """
import json, sys
import quipukit as qk
from quipukit.cli import main
from quipukit.experiment.stages import text_similarity

text_similarity.SIMILARITY = "letters"  # the model that is used otherwise takes long to load
village, engine, out, page = sys.argv[1:]
result = qk.evaluate(
    village,
    ["FewWords", "CMP@2"],
    n=3,
    log=f"{village}/log.txt",
    vectors=f"{village}/vectors.txt",
    attackers=["Overlap"],
    encoder="letters",
    retriever=["bm25", engine],
    reranker="bm25",
    measures=["FoundRelevant@4", "nDCG@10"],
    depth=4,
    out=out,
    progress=False,
)
try:
    main(["report", out, "-o", page, "--figures", "none"])
except SystemExit as end:
    assert not end.code, end.code
scores = result.scores
print(json.dumps({
    "settings": sorted(set(zip(result.settings["mechanism"], result.settings["value"]))),
    "attackers": sorted(set(result.ranks["attacker"])),
    "systems": sorted(set(scores.loc[scores["side"] == "utility", "system"])),
    "measures": sorted(set(scores.loc[scores["side"] == "utility", "measure"])),
    "scores": scores.loc[scores["measure"] == "FoundRelevant@4", "score"].tolist(),
}))
"""


def install(folder: Path) -> None:
    """Leave a package in a folder as pip leaves it."""
    (folder / "contributed").mkdir(parents=True)
    (folder / "contributed" / "__init__.py").write_text("")
    for name, code in PACKAGE.items():
        (folder / "contributed" / name).write_text(textwrap.dedent(code))
    info = folder / "contributed-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: contributed\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)


def answer(asked: Asked) -> Reply:
    """Find documents by the words that they share with what was asked."""
    words = set(asked.params["words"].split())
    ranked = sorted(
        ((len(words & set(text.split())), docno) for docno, text in tiny.documents().items()), key=lambda one: -one[0]
    )
    return Reply({"pairs": [[docno, score] for score, docno in ranked if score][: int(asked.params["top"])]})


def test_one_thing_of_every_kind_without_touching_the_source(tmp_path):
    install(tmp_path / "site")
    village = tiny.write_collection(tmp_path / "village")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, (str(tmp_path / "site"), os.environ.get("PYTHONPATH", "")))),
    }
    with serving(answer) as server:
        address = f"village+http://{server.host}/village"
        arguments = [str(village), address, str(tmp_path / "run"), str(tmp_path / "page")]
        done = subprocess.run(
            [sys.executable, "-c", EXPERIMENT, *arguments], env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        sent = {asked.params["words"] for asked in server.asked}
    seen = json.loads(done.stdout.splitlines()[-1])
    assert {("FewWords", 1.0), ("FewWords", 2.0), ("CMP", 2.0)} <= set(map(tuple, seen["settings"]))
    assert seen["attackers"] == ["Overlap"]
    assert seen["measures"] == ["FoundRelevant@4", "nDCG@10"]
    assert any(system.startswith("village+http") for system in seen["systems"]) and len(seen["systems"]) == 2
    assert min(seen["scores"]) == 0 < max(seen["scores"]) <= 1
    assert sent and not sent & set(tiny.TOPICS.values()), "the engine was asked, and received no original"
    [page] = (tmp_path / "page").glob("*.html")
    shown = page.read_text(encoding="utf-8")
    assert "From a contributor" in shown and "Measured with 2 systems." in shown
    for name in ("FewWords", "Overlap", "FoundRelevant@4"):
        assert name in shown, name
