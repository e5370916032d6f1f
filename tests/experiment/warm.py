"""What a child process of these tests would import and hash by itself: the server that forks them does it once."""

import importlib

from quipukit.source_hash import source_hash
from quipukit.wordnet.database import load_wordnet
from tests.experiment.killing import STAGES

for late in (
    *("ir_measures", "pytrec_eval", "pyarrow.parquet", "scipy.special", "Stemmer", "threadpoolctl"),
    *("quipukit.mechanisms.aea", "quipukit.mechanisms.cmp", "quipukit.mechanisms.random", "quipukit.mechanisms.tem"),
    *("quipukit.collections.files", "quipukit.retrieval.bm25", "quipukit.retrieval.dense"),
):
    importlib.import_module(late)
load_wordnet().synsets("frost", "n")
for stage in STAGES:
    source_hash(f"quipukit.experiment.stages.{stage}")
