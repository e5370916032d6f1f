"""Obfuscate and Pool: the two ends of a pipeline of one's own, ``Obfuscate(...) >> retriever >> Pool(topics) >> ...``.

**Warning.** `PrivateRetriever` guards what is inside it; a pipeline does not. ``>>`` hands every column on, so that
what stands between `Obfuscate` and `Pool` must not be given the originals in another way: no rewriter in front that
keeps ``query_0``, no transformer that reads topics by qid. Ids pass through it as ``qid#variant``: they say which texts
belong together, and whoever has the topics file knows what each id asked.
"""

from typing import Any

import pandas as pd
import pyterrier as pt

from quipukit.errors import FrameError
from quipukit.frames import Queries, queries_frame
from quipukit.mechanisms.base import Mechanism
from quipukit.obfuscation import obfuscate
from quipukit.pyterrier.frames import list_ranks, query_frame, refuse_originals, refused, result_frame, source
from quipukit.retrieval.fusion import fuse
from quipukit.specs import Spec

_JOINT = "#"


class Obfuscate(pt.Transformer):  # type: ignore[misc]
    """Put variants of every query in its place: ids become ``qid#variant``, and no other column is kept.

    There is no ``query_0``: what was asked is on the user's side, and `Pool` brings it back from there.

    >>> frame = pd.DataFrame({"qid": ["q"], "query": ["a cat"], "narrative": ["mine"]})
    >>> Obfuscate("Identity", n=2, send_originals=True)(frame).values.tolist()
    [['q#0', 'a cat'], ['q#1', 'a cat']]
    """

    def __init__(
        self,
        mechanism: "str | Spec | Mechanism",
        n: int | None = None,
        *,
        seed: int | None = None,
        send_originals: bool = False,
    ) -> None:
        self.mechanism, self.n = source(mechanism, n, send_originals)
        self.seed, self.send_originals = seed, send_originals

    def __repr__(self) -> str:
        return f"Obfuscate({self.mechanism.spec!r}, n={self.n})"

    def transform_inputs(self) -> list[list[str]]:
        """Return which columns the input needs."""
        return [["qid", "query"]]

    def transform_outputs(self, input_columns: list[str]) -> list[str]:
        """Return the columns of the output: qid and query alone."""
        pt.validate.columns(input_columns, includes=["qid", "query"], excludes=refused(input_columns), context=self)
        return ["qid", "query"]

    def schematic(self, *, input_columns: list[str] | None = None) -> dict[str, Any]:
        """Return how PyTerrier draws it."""
        guarantee = str(self.mechanism.guarantee.composed(self.n))
        settings = {"mechanism": repr(self.mechanism.spec), "n": self.n, "guarantee": guarantee}
        return {"label": f"Obfuscate {self.mechanism.spec!r}", "settings": settings, "help_url": ""}

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Return the variants of every query."""
        queries = query_frame(inp, "Obfuscate")
        if queries.empty:
            return queries
        if queries["qid"].str.contains(_JOINT, regex=False).any():
            raise FrameError(f"Obfuscate: an id holds {_JOINT!r}, which divides ids from variants; rename the ids.")
        table = obfuscate(queries, self.mechanism, self.n, seed=self.seed)
        if not self.send_originals:
            refuse_originals(table, queries, self.mechanism)
        ids = [f"{qid}{_JOINT}{variant}" for qid, variant in zip(table["qid"], table["variant"], strict=True)]
        return pd.DataFrame({"qid": ids, "query": table["query"].to_numpy()})


class Pool(pt.Transformer):  # type: ignore[misc]
    """Put the lists of the variants together: each document once per query, by reciprocal-rank fusion.

    ``topics`` are the originals (a frame, or texts by id), which come back as the column ``query``, for a re-ranker on
    the user's side that follows.
    """

    def __init__(self, topics: "Queries") -> None:
        table = queries_frame(topics)
        self._topics = dict(zip(table["qid"], table["query"], strict=True))

    def __repr__(self) -> str:
        return f"Pool({len(self._topics)} topics)"  # and none of their texts: notebooks show it unasked

    def schematic(self, *, input_columns: list[str] | None = None) -> dict[str, Any]:
        """Return how PyTerrier draws it: without the topics."""
        return {"label": "Pool", "settings": {"topics": len(self._topics)}, "help_url": ""}

    def transform_inputs(self) -> list[list[str]]:
        """Return which columns the input needs."""
        return [["qid", "docno", "rank"], ["qid", "docno", "score"]]

    def transform_outputs(self, input_columns: list[str]) -> list[str]:
        """Return the columns of the output."""
        pt.validate.columns(input_columns, includes=["qid", "docno"], context=self)
        return ["qid", "query", "docno", "score", "rank"]

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Return the fused lists, with the originals."""
        found = result_frame(inp, "Pool")
        parts = [str(qid).rpartition(_JOINT) for qid in found["qid"]]
        if not all(joint and variant.isdigit() for _, joint, variant in parts):
            raise FrameError(
                "Pool: ids must be as Obfuscate writes them (qid#variant); put Obfuscate before retrieval."
            )
        unknown = sorted({qid for qid, _, _ in parts} - set(self._topics))
        if unknown:
            raise FrameError(f"Pool: {len(unknown)} queries are not among its topics (first: {unknown[0]}); give all.")
        if not parts:
            return pd.DataFrame(columns=["qid", "query", "docno", "score", "rank"])
        run = pd.DataFrame(
            {
                "qid": [qid for qid, _, _ in parts],
                "variant": [int(variant) for _, _, variant in parts],
                "docno": found["docno"].astype(str).to_numpy(),
                "rank": list_ranks(found, "Pool"),
            }
        )
        fused = fuse(run)[["qid", "docno", "score", "rank"]]
        fused.insert(1, "query", [self._topics[qid] for qid in fused["qid"]])
        return fused
