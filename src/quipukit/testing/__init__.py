"""Checks for authors of plugins: each kind proves itself with one call in its own tests. One file per kind."""

from quipukit.testing.mechanisms import check_mechanism

__all__ = ["check_mechanism"]
