"""The local page and the HTTP service: try a setting, explore results, search privately, guess."""
