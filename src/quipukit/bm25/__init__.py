"""BM25: an exact inverted index in memory, and its compiled loops."""
