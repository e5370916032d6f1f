"""Names in texts that have changed since the digests were frozen."""


def legacy_text(text: str) -> str:
    """Return a text with the names of version 1: the tokenizer ``whitespace`` was called ``peer``."""
    return text.replace("tokenizer='whitespace'", "tokenizer='peer'")
