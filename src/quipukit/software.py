"""The versions of what a result was computed with."""

import functools
import platform
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version

from quipukit import __version__

# What a number's last digits or a file's bytes may depend on.
PACKAGES = (
    "numpy",
    "scipy",
    "numba",
    "pandas",
    "pyarrow",
    "torch",
    "transformers",
    "tokenizers",
    "sentence-transformers",
    "ir-measures",
)


@functools.cache
def software_versions() -> Mapping[str, str]:
    """Return the versions of Python, quipukit and the libraries that results depend on; missing ones are left out.

    Builds of one version (``2.13.0+cpu``) count as equal.
    """
    versions = {"python": platform.python_version(), "quipukit": __version__}
    for package in PACKAGES:
        try:
            versions[package] = version(package).partition("+")[0]
        except PackageNotFoundError:
            continue
    return versions


def joint_versions(several: Iterable[Mapping[str, str]]) -> dict[str, str | list[str]]:
    """Return one entry per package: its version, or the sorted list of versions where they differ.

    >>> joint_versions([{"numpy": "2.1", "scipy": "1.14"}, {"numpy": "2.2"}])
    {'numpy': ['2.1', '2.2'], 'scipy': '1.14'}
    """
    seen: dict[str, set[str]] = {}
    for versions in several:
        for package, one in versions.items():
            seen.setdefault(package, set()).add(one)
    return {package: sorted(ones) if len(ones) > 1 else next(iter(ones)) for package, ones in sorted(seen.items())}
