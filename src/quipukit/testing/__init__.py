"""Checks for authors of plugins: each kind proves itself with one call in its own tests. One file per kind."""

from quipukit.testing.attackers import check_attacker
from quipukit.testing.collections import check_collection
from quipukit.testing.encoders import check_encoder
from quipukit.testing.mechanisms import check_mechanism
from quipukit.testing.retrievers import check_retriever

__all__ = ["check_attacker", "check_collection", "check_encoder", "check_mechanism", "check_retriever"]
