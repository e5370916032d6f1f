"""PrivateRetriever: obfuscate, ask the pipeline inside, pool and re-rank, as one transformer.

    queries -> variants -> [ inner ] -> pool -> re-rank with the original -> results

What stands in brackets is not trusted. It receives distinct texts under numbers of their own: no id of the user's, no
``query_0``, no other column, and nothing that says which texts belong together.
"""

from collections.abc import Iterable
from typing import Any

import pandas as pd
import pyterrier as pt

from quipukit.collections.base import Collection
from quipukit.collections.load import load_collection
from quipukit.errors import FrameError, InputError
from quipukit.io.ir_metadata import Metadata, Stage
from quipukit.mechanisms.base import Mechanism
from quipukit.memo import Memo
from quipukit.obfuscation import obfuscate
from quipukit.pyterrier.drawing import drawn
from quipukit.pyterrier.frames import (
    RESULTS,
    is_query_column,
    list_ranks,
    query_frame,
    refuse_originals,
    refused,
    result_frame,
    source,
)
from quipukit.retrieval.base import Scorer, scored
from quipukit.retrieval.fusion import fuse
from quipukit.retrieval.load import load_scorer
from quipukit.specs import Spec

_WHO = "PrivateRetriever"


class PrivateRetriever(pt.Transformer):  # type: ignore[misc]
    """A retriever that sends variants of a query in its place, and ranks what they find with the query itself.

    Args:
        inner: What is asked: any transformer from queries to results. It is not trusted.
        mechanism: A spec ("CMP@10"), a bound mechanism, or a `quipukit.Memo`, which sends the same variants again for
            a query that is asked again; without it every call spends the budget once more.
        n: Variants per query; 20 unless it is given, or the memo's.
        reranker: What ranks the pool on the user's side, with the original query: a transformer (it receives qid,
            query, docno and what else ``inner`` returned of a document, such as its text), a `Scorer`, or the name of
            one ("bm25", "minilm") with ``collection``. None ranks by reciprocal-rank fusion, without the original.
        collection: Where a named re-ranker reads the documents: as in `quipukit.load_collection`.
        seed: For experiments alone; without one the noise is seeded from OS entropy.
        send_originals: Allow mechanisms that send the original by design, and variants that turn out to be it. A word
            mechanism with little noise often draws the words that it was given.

    >>> bm25 = pt.Transformer.from_df(pd.DataFrame(columns=["qid", "docno", "score"]))
    >>> PrivateRetriever(bm25, "Random", n=3)
    PrivateRetriever(Random, n=3, reranker=fusion)
    """

    def __init__(
        self,
        inner: pt.Transformer,
        mechanism: "str | Spec | Mechanism | Memo",
        n: int | None = None,
        reranker: "pt.Transformer | Scorer | str | None" = None,
        *,
        collection: "str | Collection | None" = None,
        seed: int | None = None,
        send_originals: bool = False,
    ) -> None:
        if not isinstance(inner, pt.Transformer):
            raise InputError(f"inner must be a PyTerrier transformer (found {type(inner).__name__}).")
        self.mechanism, self.n = source(mechanism, n, send_originals)
        self._memo = mechanism if isinstance(mechanism, Memo) else None
        if self._memo is not None and seed is not None:
            raise InputError("a memo keeps what was drawn; leave the seed out.", argument="seed")
        self.inner, self.reranker, self.seed, self.send_originals = inner, reranker, seed, send_originals
        self.collection = None if collection is None else load_collection(collection)
        self._scorer: Scorer | None = None
        if isinstance(reranker, str):
            if self.collection is None:
                raise InputError(
                    f"the re-ranker {reranker!r} reads documents: name where, as in collection='wordnet', or give a "
                    "transformer as the re-ranker.",
                    argument="collection",
                )
            self._scorer = load_scorer(reranker, self.collection)
        elif isinstance(reranker, Scorer):
            self._scorer = reranker
        elif reranker is not None and not isinstance(reranker, pt.Transformer):
            raise InputError(
                f"reranker must be a transformer, a Scorer or a name (found {type(reranker).__name__}).",
                argument="reranker",
            )

    def __repr__(self) -> str:
        return f"{_WHO}({self.mechanism.spec!r}, n={self.n}, reranker={self._reranker_name})"

    @property
    def _reranker_name(self) -> str:
        if isinstance(self.reranker, str):
            return self.reranker
        if self._scorer is not None:
            return self._scorer.name
        return "fusion" if self.reranker is None else type(self.reranker).__name__

    # --- what PyTerrier asks of a transformer ---

    def transform_inputs(self) -> list[list[str]]:
        """Return which columns the input needs."""
        return [["qid", "query"]]

    def transform_outputs(self, input_columns: list[str]) -> list[str]:
        """Return the columns of the results: those of the queries, what ``inner`` knows of a document, score, rank."""
        pt.validate.columns(input_columns, includes=["qid", "query"], excludes=refused(input_columns), context=self)
        known = pt.inspect.transformer_outputs(self.inner, ["qid", "query"])
        return [*_query_columns(input_columns), *self._document_columns(known, input_columns), "score", "rank"]

    def subtransformers(self) -> dict[str, pt.Transformer]:
        """Return the transformers inside: the one that is asked, and the one that re-ranks, if it is one."""
        inside = {"inner": self.inner, "reranker": self.reranker}
        return {name: one for name, one in inside.items() if isinstance(one, pt.Transformer)}

    def schematic(self, *, input_columns: list[str] | None = None) -> dict[str, Any]:
        """Return how PyTerrier draws it: a box with what it holds, and what it was set to."""
        settings = {
            "mechanism": repr(self.mechanism.spec),
            "n": self.n,
            "guarantee": str(self.mechanism.guarantee.composed(self.n)),
            "reranker": self._reranker_name,
            "original reaches inner": "if a variant is it" if self.send_originals else "never",
        }
        inside = self.subtransformers()
        return {
            "label": f"{_WHO} {self.mechanism.spec!r}",
            "settings": settings,
            "help_url": "",  # or PyTerrier looks for one over the network
            "inner_pipelines": [drawn(one) for one in inside.values()],
            "inner_pipelines_labels": list(inside),
            "inner_pipelines_mode": "unlinked",
        }

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Return results for a frame of queries (qid, query), in the order of the queries."""
        queries = query_frame(inp, _WHO)
        variants = self._variants(queries)
        # Distinct texts, each asked once; in the order of the alphabet, which says nothing about who belongs to whom.
        texts = sorted(set(variants["query"]))
        numbers = [str(number) for number in range(len(texts))]
        found = result_frame(
            self.inner(pd.DataFrame({"qid": numbers, "query": texts}, dtype=object)), f"{_WHO}: what inner returned"
        )
        described = self._document_columns(list(found.columns), list(inp.columns))
        pooled = self._pooled(queries, variants, dict(zip(texts, numbers, strict=True)), found, described[1:])
        asked = inp[_query_columns(inp.columns)].assign(_place=range(len(inp)))
        merged = asked.merge(self._ranked(pooled), on="qid", how="inner", validate="one_to_many")
        merged = merged.sort_values(["_place", "score", "docno"], ascending=[True, False, True], kind="stable")
        merged["rank"] = merged.groupby("qid", sort=False).cumcount()
        return merged.reset_index(drop=True)[[*_query_columns(inp.columns), *described, "score", "rank"]]

    # --- its steps ---

    def _variants(self, queries: pd.DataFrame) -> pd.DataFrame:
        """Return what is to be sent (qid, query), or refuse it."""
        if queries.empty:
            return queries
        if self._memo is not None:
            rows = [
                (qid, text) for qid, query in queries.itertuples(index=False) for text in self._memo.obfuscate(query)
            ]
            table = pd.DataFrame(rows, columns=["qid", "query"])
        else:
            table = obfuscate(queries, self.mechanism, self.n, seed=self.seed)[["qid", "query"]]
        if not self.send_originals:
            refuse_originals(table, queries, self.mechanism)
        return table

    def _pooled(
        self,
        queries: pd.DataFrame,
        variants: pd.DataFrame,
        numbers: dict[str, str],
        found: pd.DataFrame,
        described: list[str],
    ) -> pd.DataFrame:
        """Return each document once per query, with what inner says of it and the fused score of its ranks."""
        sent = found["qid"].astype(str).to_numpy()
        if not set(sent) <= set(numbers.values()):
            raise FrameError(f"{_WHO}: inner returned results for ids that it was not asked for; it must keep 'qid'.")
        lists = found[described].assign(variant=sent, docno=found["docno"].astype(str), rank=list_ranks(found, _WHO))
        asked_as = [numbers[text] for text in variants["query"]]
        asked = pd.DataFrame({"qid": variants["qid"].to_numpy(), "variant": asked_as}, dtype=object)
        run = asked.merge(lists, on="variant")
        pool = fuse(run[["qid", "variant", "docno", "rank"]])[["qid", "docno", "score", "rank"]]
        about = lists[["docno", *described]].drop_duplicates("docno")
        # The original comes back here, on the user's side.
        return queries.merge(pool, on="qid").merge(about, on="docno", how="left")

    def _ranked(self, pooled: pd.DataFrame) -> pd.DataFrame:
        """Return the pool (qid, docno, what is known of a document, score) with the scores of the re-ranker."""
        if pooled.empty or self.reranker is None:
            return pooled.drop(columns=["query", "rank"])
        bare = pooled.drop(columns=["query", "score", "rank"])
        if self._scorer is not None:
            groups = [(str(query), own) for (_, query), own in pooled.groupby(["qid", "query"], sort=False)]
            scores = scored(self._scorer, [(query, own["docno"].tolist()) for query, own in groups])
            places = [place for _, own in groups for place in own.index]
            column = pd.Series([float(one) for own in scores for one in own], index=places)
            return bare.assign(score=column.reindex(bare.index).to_numpy())
        transformer: Any = self.reranker
        answer = result_frame(transformer(pooled), f"{_WHO}: what the re-ranker returned")
        if "score" not in answer.columns:
            raise FrameError(f"{_WHO}: the re-ranker returned no column 'score'; it must rank documents.")
        return bare.merge(answer[["qid", "docno", "score"]], on=["qid", "docno"])

    @staticmethod
    def _document_columns(known: list[str], input_columns: list[str]) -> list[str]:
        """Return docno, and which other columns of inner's results describe a document: none that holds a query."""
        others = [name for name in known if name not in ("qid", *RESULTS, *input_columns) and not is_query_column(name)]
        return ["docno", *others]

    # --- its description ---

    def ir_metadata(self, tag: str, *, dataset: str = "") -> Metadata:
        """Return what the ir_metadata schema asks about a run of this retriever; ``.write(path)`` puts it beside it."""
        stages = [
            Stage("obfuscation", repr(self.mechanism.spec), {"variants": self.n, "seeded": self.seed is not None}),
            Stage("inner", _class_names(self.inner), reranks=""),
            Stage("pool", "union of the lists of all variants"),
            Stage("reranker", self._reranker_name, reranks="pool"),
        ]
        return Metadata(tag, stages, collection=dataset, toolkits=("pyterrier", "quipukit"))


def _class_names(transformer: Any) -> str:
    """Return what a pipeline consists of: a transformer's own words may hold an address, or a path of this machine."""
    inside = (
        pt.inspect.subtransformers(transformer).get("transformers") if isinstance(transformer, pt.Transformer) else None
    )
    return " >> ".join(map(_class_names, inside)) if inside else type(transformer).__name__


def _query_columns(columns: Iterable[str]) -> list[str]:
    """Return the columns of a frame of queries that results keep."""
    return [name for name in columns if name not in RESULTS]
