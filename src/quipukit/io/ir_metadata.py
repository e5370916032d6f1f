"""What a run was made with, by the ir_metadata schema: a YAML file beside a TREC run, which tools for runs can read.

The schema follows PRIMAD: platform, research goal, implementation, method, actor, data. What a program cannot know
(who ran it, and why) is left to be filled in, as comments. Neither a query nor a command line is written.

Reference: Breuer, Keller, Schaer. ir_metadata: An Extensible Metadata Schema for IR Experiments. SIGIR 2022.
"""

import json
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from quipukit.io.tables import Pathish
from quipukit.storage import atomic_write, make_folder

FOLDER = "ir-metadata"
_SCHEMA, _RUN_VERSION = 0.1, 1.0
_LIBRARIES = (
    "quipukit",
    "numpy",
    "scipy",
    "pandas",
    "numba",
    "torch",
    "sentence-transformers",
    "ir-measures",
    "ir-datasets",
)
_TO_FILL_IN = {
    "research goal": "venue, publication, evaluation: see https://www.ir-metadata.org",
    "actor": "name, orcid, team, mail",
}


@dataclass(frozen=True)
class Stage:
    """One stage of a ranking pipeline: its name, what it is, its parameters, and whose output it re-ranks."""

    name: str
    method: str
    params: Mapping[str, Any] = field(default_factory=dict)
    reranks: str = ""

    def as_mapping(self) -> dict[str, Any]:
        """Return the stage as the schema writes it."""
        mapping = {"name": self.name, "method": self.method, **self.params}
        return {**mapping, "reranks": self.reranks} if self.reranks else mapping


@dataclass(frozen=True)
class Metadata:
    """The metadata of one run; ``tag`` is the last column of its TREC file."""

    tag: str
    stages: Sequence[Stage]
    collection: str = ""
    toolkits: Sequence[str] = ("quipukit",)
    command: str = ""

    def as_mapping(self) -> dict[str, Any]:
        """Return everything as the schema names it."""
        source: dict[str, Any] = {"lang": ["Python"]}
        implementation = {"executable": {"cmd": self.command}, "source": source} if self.command else {"source": source}
        return {
            "schema-version": _SCHEMA,
            "run-version": _RUN_VERSION,
            "tag": self.tag,
            "platform": _platform(self.toolkits),
            "research goal": {},
            "implementation": implementation,
            "method": {
                "automatic": True,
                "score ties": "alphabetical order",
                "retrieval": [stage.as_mapping() for stage in self.stages],
            },
            "actor": {"role": "experimenter"},
            "data": {"test collection": _collection(self.collection)},
        }

    def to_yaml(self) -> str:
        """Return the file's text."""
        lines = [line for name, value in self.as_mapping().items() for line in _block(name, value)]
        return "\n".join(["# ir_metadata.start", *lines, "# ir_metadata.end", ""])

    def write(self, path: Pathish) -> None:
        """Write the file, complete or not at all."""
        make_folder(Path(path).parent)
        with atomic_write(Path(path)) as draft:
            draft.write_text(self.to_yaml(), encoding="utf-8")


def sidecar_of(run: Path) -> Path:
    """Return where the metadata of a run stands: in a folder beside it, by its name.

    >>> sidecar_of(Path("runs/CMP@10.trec")).as_posix()
    'runs/ir-metadata/CMP@10.yml'
    """
    return run.parent / FOLDER / (run.name.removesuffix(run.suffix) + ".yml")


def _platform(toolkits: Sequence[str]) -> dict[str, Any]:
    cpu: dict[str, Any] = {"architecture": platform.machine(), "number of cores": os.cpu_count() or 1}
    hardware: dict[str, Any] = {"cpu": cpu}
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        hardware["ram"] = f"{round(os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 1e9)} GB"
    return {
        "hardware": hardware,
        "operating system": {"kernel": f"{platform.system()} {platform.release()}", "distribution": _distribution()},
        "software": {
            "libraries": {"python": [f"python=={platform.python_version()}", *_versions(_LIBRARIES)]},
            "retrieval toolkit": list(_versions(toolkits)),
        },
    }


def _distribution() -> str:
    try:
        return str(platform.freedesktop_os_release().get("PRETTY_NAME", platform.system()))
    except OSError:  # not a Linux that says so
        return platform.platform(terse=True)


def _versions(names: Sequence[str]) -> Iterator[str]:
    for name in names:
        try:
            yield f"{name}=={version(name)}"
        except PackageNotFoundError:
            continue


def _collection(name: str) -> dict[str, str]:
    plain = {"name": name or "unknown"}
    if name.startswith("irds:"):
        return {**plain, "ir_datasets": f"https://ir-datasets.com/{name.removeprefix('irds:').split('/')[0]}"}
    return plain


# --- YAML -------------------------------------------------------------------------------------------------------------


def _block(name: str, value: Any, indent: str = "") -> Iterator[str]:
    """Iterate over the lines of a mapping's entry. Scalars are written as JSON, which YAML contains."""
    if name in _TO_FILL_IN:
        yield f"{indent}# {name}: please add {_TO_FILL_IN[name]}"
    if isinstance(value, dict):
        if value:
            yield f"{indent}{name}:"
            for inner, own in value.items():
                yield from _block(inner, own, indent + "  ")
    elif isinstance(value, list):
        yield f"{indent}{name}:"
        for own in value:
            if isinstance(own, dict):
                lines = [line for inner, one in own.items() for line in _block(inner, one, indent + "  ")]
                yield f"{indent}- {lines[0].lstrip()}"
                yield from lines[1:]
            else:
                yield f"{indent}- {_scalar(own)}"
    else:
        yield f"{indent}{name}: {_scalar(value)}"


def _scalar(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True)
