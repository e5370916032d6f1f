"""Wheel, source distribution and the oldest allowed versions: installed outside the tree, and tried."""

import re
import subprocess
import sys
import tomllib

import pytest

from tests.packaging.install import ROOT, downloaded, oldest


def test_the_oldest_versions_are_those_of_the_project_file():
    assert "numpy==2.0" in oldest() and all("==" in one for one in oldest())


def test_downloads_are_added_up_without_metadata():
    printed = "  Downloading a-1.whl (1.5 MB)\nDownloading b-2.whl.metadata (9.0 MB)\n  Downloading c.tar.gz (500 kB)\n"
    assert downloaded(printed) == pytest.approx(2.0)


def test_the_image_is_made_of_what_the_project_has():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    image = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    [python] = set(re.findall(r"^FROM python:(\S+)-slim", image, re.MULTILINE))
    assert f"Programming Language :: Python :: {python}" in project["classifiers"]
    assert re.findall(r"\$wheel\[(\w+)\]", image) == ["encoders"] and "encoders" in project["optional-dependencies"]
    for source in re.findall(r"^COPY (?!--from)(\S+)", image, re.MULTILINE):
        assert (ROOT / source).exists(), source
    assert 'ENTRYPOINT ["quipukit"]' in image and "quipukit" in project["scripts"]
    before_pip = image[: image.index("pip install --no-cache-dir --constraint")].split("FROM")[-1]
    assert "ARG PIP_EXTRA_INDEX_URL" in before_pip, "without it nobody can ask for a torch without GPU libraries"


def test_an_image_without_torch_fetches_the_vectors_before_it_uses_them():
    page = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    for image in re.findall(r"```dockerfile\n(.*?)```", page, re.DOTALL):
        assert "encoders" in image or image.index("vectors install default") < image.index("quipukit obfuscate")


@pytest.mark.slow
@pytest.mark.serial
@pytest.mark.parametrize("kind", ["slim", "oldest", "sdist"])
def test_an_installation_outside_the_tree_works(kind):
    done = subprocess.run(
        [sys.executable, "-m", "tests.packaging.install", kind], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)
    assert re.search(r"works without torch, .* s of processor time\), \d+ MB downloaded", done.stdout)
