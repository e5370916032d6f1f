"""The search side: retrievers, pooling, and re-ranking with the original query."""
