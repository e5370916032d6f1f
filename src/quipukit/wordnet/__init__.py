"""WordNet: its database read from its own files."""
