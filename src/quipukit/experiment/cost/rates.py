"""How quick the parts of an experiment are, on two cores of an ordinary server.

They follow from the figures of docs/scale.md and docs/performance.md and from single runs on a crowded machine, and
were not fitted on a quiet one. `python -m benchmarks dry_run` compares estimates with what runs take.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Rates:
    """Seconds of the clock for one unit of work, with two cores; a machine with more needs less for most of them."""

    start: float = 5.0  # a process that loads vectors, collection, log and compiled kernels
    transformer_start: float = 6.0  # to import torch and load a model
    word: float = 33e-6  # to draw one obfuscated word
    setting: float = 0.15  # to prepare a setting, and save what it draws
    index_word: float = 1.6e-6  # of a document, to be indexed
    search: float = 30e-6  # one text, in a collection of few documents
    search_document: float = 0.3e-9  # more, for each document of the collection
    transformer_text: float = 0.6e-3  # to encode a text with MiniLM,
    transformer_token: float = 0.2e-3  # and more for each of its tokens
    static_text: float = 25e-6  # the same with word vectors
    static_token: float = 3e-6
    pair: float = 9e-9  # a query of the log compared with a centroid,
    pair_words: float = 17e-9  # or word by word
    pair_law: float = 0.3e-6  # or by the law of a mechanism,
    law: float = 10e-9  # which is prepared first, for each pair of words of 384 dimensions
    learned: float = 8e-6  # a query of the log, by an attacker that reads its words
    cell: float = 0.25  # a setting pooled, re-ranked and measured,
    attacked: float = 0.05  # attacked and measured
    guessed: float = 0.1  # or whose guesses are searched
    report: float = 6.5  # assembled, and a page of figures drawn,
    report_attacker: float = 1.5  # more for each attacker,
    report_setting: float = 0.1  # and for each setting
    sessions: float = 10.0  # times as long as one centroid takes
    # What the probes of `calibrate` take on the machine that the rates are for.
    product: float = 0.0186
    python: float = 0.0168


TWO_CORES = Rates()
