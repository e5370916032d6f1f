"""What a worker must have in common with the coordinator, so that it computes the same."""

import functools
import hashlib
import importlib
import inspect
import operator
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from quipukit.software import software_versions


@dataclass(frozen=True)
class ClassSource:
    """A class that a plugin or a program brings along, and the hash of its file."""

    module: str
    qualname: str
    name: str
    source: str

    @classmethod
    def of(cls, plugin: type) -> "ClassSource":
        """Describe a class."""
        name = vars(plugin).get("name")
        shown = name if isinstance(name, str) else plugin.__qualname__
        return cls(plugin.__module__, plugin.__qualname__, shown, _file_hash(plugin))

    def difference(self) -> str:
        """Return how this process differs; an empty text where it does not."""
        try:
            here = operator.attrgetter(self.qualname)(importlib.import_module(self.module))
        except (ImportError, AttributeError):
            return f"it does not have {self.name} (module {self.module})"
        return "" if _file_hash(here) == self.source else f"its code of {self.name} is not the one here"


@dataclass(frozen=True)
class WorkerRequirements:
    """Versions of libraries, the source of this package, and the classes of others that a task uses."""

    software: tuple[tuple[str, str], ...]
    source: str
    classes: tuple[ClassSource, ...] = ()

    @classmethod
    def of_this_process(cls, classes: Iterable[type] = ()) -> "WorkerRequirements":
        """Require what this process has."""
        described = sorted(map(ClassSource.of, classes), key=lambda one: (one.module, one.qualname))
        return cls(software(), package_hash(), tuple(described))

    def differences(self) -> tuple[str, ...]:
        """Return how this process differs."""
        here = dict(software())
        wanted = dict(self.software)
        differing = [
            f"{name} {here.get(name, 'missing')} there, {wanted.get(name, 'missing')} here"
            for name in wanted | here
            if here.get(name) != wanted.get(name)
        ]
        if differing:
            return tuple(differing)  # source of another version differs, of course
        if package_hash() != self.source:
            return ("its code of quipukit is not the one here",)
        return tuple(filter(None, (one.difference() for one in self.classes)))


def software() -> tuple[tuple[str, str], ...]:
    """Return the versions that a result may depend on; of Python, the first two numbers."""
    versions = {**software_versions()}
    versions["python"] = ".".join(versions["python"].split(".")[:2])
    return tuple(versions.items())


@functools.cache
def package_hash() -> str:
    """Return a hash over all files of this package that can change a result: its code and its lists of words.

    Over their bytes, not over their syntax: parsing all of them would delay every worker by seconds.
    """
    folder = Path(__file__).parents[2]
    total = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.suffix in (".py", ".txt")):
        total.update(f"{file.relative_to(folder).as_posix()}\n".encode() + file.read_bytes())
    return total.hexdigest()


@functools.cache
def _file_hash(plugin: type) -> str:
    try:
        return hashlib.sha256(Path(inspect.getfile(plugin)).read_bytes()).hexdigest()
    except (TypeError, OSError):  # made without a file: there is nothing to compare
        return ""
