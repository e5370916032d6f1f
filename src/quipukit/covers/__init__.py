"""Covers: public queries in fixed groups, so that a query can hide among others that are sent with it."""
