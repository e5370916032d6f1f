"""Private search: what a person or a program uses. Only what a mechanism outputs leaves; the rest happens here."""
