"""Collections: documents, queries and judgments, from one small interface."""
