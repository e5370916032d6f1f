"""Audits: does a mechanism keep what it claims? Exact where its law is known, by sampling where it is not."""
