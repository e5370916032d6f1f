"""quipukit: hide search queries, and measure what is still found and who can still guess them.

Public names are listed here and loaded when they are first used, so that ``import quipukit`` is instant.
"""

import importlib
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "AEA": "quipukit.mechanisms.aea",
    "Attacker": "quipukit.attackers.base",
    "CMP": "quipukit.mechanisms.cmp",
    "CusText": "quipukit.mechanisms.custext",
    "Dask": "quipukit.executors",
    "FEA": "quipukit.mechanisms.fea",
    "Guarantee": "quipukit.guarantees",
    "Identity": "quipukit.mechanisms.identity",
    "Local": "quipukit.executors",
    "LocalDP": "quipukit.guarantees",
    "Mahalanobis": "quipukit.mechanisms.mahalanobis",
    "Mechanism": "quipukit.mechanisms.base",
    "Memo": "quipukit.memo",
    "MetricDP": "quipukit.guarantees",
    "NoGuarantee": "quipukit.guarantees",
    "PrivateSearch": "quipukit.search.private",
    "ProgressView": "quipukit.experiment.progress_view",
    "QuIA": "quipukit.attackers.quia",
    "QuipukitError": "quipukit.errors",
    "Random": "quipukit.mechanisms.random",
    "Result": "quipukit.results",
    "SanText": "quipukit.mechanisms.santext",
    "SanTextPlus": "quipukit.mechanisms.santext",
    "Spec": "quipukit.specs",
    "TEM": "quipukit.mechanisms.tem",
    "Vectors": "quipukit.vectors.store",
    "VickreyCMP": "quipukit.mechanisms.vickrey",
    "VickreyMhl": "quipukit.mechanisms.vickrey",
    "WBB": "quipukit.mechanisms.wbb",
    "attack": "quipukit.attackers.attack",
    "attack_report": "quipukit.attackers.attack",
    "attacker": "quipukit.attackers.registry",
    "audit": "quipukit.auditing.run",
    "bootstrap_scores": "quipukit.measures.bootstrap",
    "card": "quipukit.report.card",
    "deniability": "quipukit.measures.deniability",
    "evaluate": "quipukit.experiment.run",
    "figure": "quipukit.report.figures",
    "figure_names": "quipukit.report.figures",
    "guess_run": "quipukit.measures.metrics",
    "identify": "quipukit.identification.identify",
    "key": "quipukit.text",
    "load_collection": "quipukit.collections.load",
    "load_encoder": "quipukit.encoders.load",
    "load_retriever": "quipukit.retrieval.load",
    "load_vectors": "quipukit.vectors.sources",
    "load_wordnet": "quipukit.wordnet.database",
    "mechanism": "quipukit.obfuscation",
    "metrics": "quipukit.measures.metrics",
    "need_leakage": "quipukit.measures.need",
    "notes": "quipukit.obfuscation",
    "obfuscate": "quipukit.obfuscation",
    "plant_sessions": "quipukit.attackers.planted",
    "points": "quipukit.measures.points",
    "pool": "quipukit.retrieval.pool",
    "quipu_score": "quipukit.measures.quipu",
    "quipu_table": "quipukit.measures.quipu",
    "read_log": "quipukit.attackers.log",
    "read_obfuscated": "quipukit.io.obfuscated",
    "read_qrels": "quipukit.io.trec",
    "read_queries": "quipukit.io.queries",
    "read_run": "quipukit.io.trec",
    "read_sessions": "quipukit.io.sessions",
    "rerank": "quipukit.retrieval.rerank",
    "retrieve": "quipukit.retrieval.pool",
    "risk": "quipukit.measures.risk",
    "risk_growth": "quipukit.measures.growth",
    "session_attack": "quipukit.attackers.sessions",
    "session_risk": "quipukit.measures.sessions",
    "similarity": "quipukit.measures.similarity",
    "spec": "quipukit.specs",
    "unknown_words": "quipukit.vectors.unknown",
    "utility": "quipukit.measures.utility",
    "write_obfuscated": "quipukit.io.obfuscated",
    "write_qrels": "quipukit.io.trec",
    "write_report": "quipukit.report.write",
    "write_run": "quipukit.io.trec",
}

__all__ = ["__version__", *_HOMES]  # noqa: PLE0604 (the table above is the one list)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'quipukit' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
