"""Collections: documents, queries and judgements, from one small interface."""
