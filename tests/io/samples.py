"""Files that the tests of this folder write, and the text that no message may quote."""

from pathlib import Path

SECRET = "my secret illness"


def written(folder: Path, name: str, content: str | bytes) -> Path:
    """Write a file as it is told, and return its path."""
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path
