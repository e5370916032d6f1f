"""Measures: what was found, and what can be guessed."""
