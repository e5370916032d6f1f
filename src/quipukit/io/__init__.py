"""Strict readers and writers: queries, obfuscated queries, query logs, TREC runs and qrels."""
