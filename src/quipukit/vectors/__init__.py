"""Word vectors: the store, where they come from, and exact nearest neighbors."""
