"""Attack obfuscated queries that were made elsewhere, from a file in the published layout.

    python examples/published_files.py [FILE_OR_FOLDER]

Without a file, a small one is written first. The layout: id, text (the original), obfuscatedText, mechanism, epsilon.
"""

import sys
import tempfile
from pathlib import Path

import quipukit as qk

ROWS = [
    ("id", "text", "obfuscatedText", "mechanism", "epsilon"),
    ("1", "how does a tumor grow", "how does cancer spread", "CMP", "20"),
    ("1", "how does a tumor grow", "the tumor growth rate", "CMP", "20"),
    ("2", "symptoms of depression", "signs of the recession", "CMP", "20"),
    ("2", "symptoms of depression", "causes of anxiety", "CMP", "20"),
    ("1", "how does a tumor grow", "walnut yellow sixteen", "CMP", "1"),
    ("2", "symptoms of depression", "harbor upon nine", "CMP", "1"),
]
LOG = ["how do tumors grow", "weather tomorrow", "signs of depression", "cheap flights", "harbor hotels", "walnut cake"]


def main(source: Path) -> None:
    """Print what an attacker with a query log recovers, and how near the texts stay to the originals."""
    obfuscated, queries = qk.read_obfuscated(source)
    # The log is completed with the originals: what is measured is whether they can be distinguished from the rest.
    risk = qk.risk(qk.attack(obfuscated, queries, LOG), k=2)
    print(risk.groupby(["mechanism", "value", "measure"])["score"].mean().unstack().round(3).to_string(), "\n")
    print(qk.similarity(obfuscated, queries).round(3).to_string(index=False))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "obfuscated.csv"
            path.write_text("\n".join(",".join(row) for row in ROWS) + "\n", encoding="utf-8")
            main(path)
