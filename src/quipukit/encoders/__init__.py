"""Encoders: texts to vectors, each distinct text once."""
