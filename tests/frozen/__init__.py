"""Digests of what the public functions and small experiments give: a change of results does not go unnoticed."""
