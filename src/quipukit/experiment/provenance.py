"""Which inputs an experiment was begun with, so that going on never takes others of the same name for them."""

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quipukit.errors import InputError
from quipukit.experiment.inputs import Inputs, Options, fingerprint

_PATHS = ("collection", "queries", "qrels", "obfuscated", "log", "vectors", "encoder")


@dataclass(frozen=True)
class Provenance:
    """The directory in which an experiment was begun, as seen from its folder, and fingerprints of its inputs.

    Seen from the folder: a project that is moved as a whole goes on, and no place on a machine is written down. A
    folder of an earlier version has neither.
    """

    directory: str = ""
    prints: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: Path, inputs: Inputs, models: Any) -> "Provenance":
        """Return where we are, and what was read."""
        prints = {**inputs.prints, "systems": fingerprint(models)}
        if inputs.vectors is not None:
            prints["vectors"] = inputs.vectors.fingerprint
        if inputs.given is not None:
            prints["obfuscated"] = fingerprint(inputs.given.to_dict("list"))
        return cls(os.path.relpath(Path.cwd().resolve(), folder.resolve()), prints)

    def differing(self, other: "Provenance") -> list[str]:
        """Return the names of the inputs that are not the same."""
        return [name for name, print in self.prints.items() if other.prints.get(name, print) != print]

    def refuse(self, folder: Path, now: "Provenance", options: Options, resumed: bool) -> None:
        """Refuse inputs that are not those the folder was begun with.

        The same command in the same directory may find them changed: what depends on them is then done again. In
        another directory relative paths lead elsewhere, and a folder is resumed as it was begun.
        """
        differing = ", ".join(self.differing(now))
        if differing and resumed:
            raise InputError(
                f"{folder} was begun with other inputs, or they were changed since ({differing}); restore them, or run "
                "the command again that began it: it measures them as they are now."
            )
        if differing and self.directory not in ("", now.directory) and any(_relative(options)):
            raise InputError(
                f"{folder} was begun in another directory, and what lies here under the same names is something else "
                f"({differing}); run the command in that directory, or name another folder."
            )


def _relative(options: Options) -> Iterator[str]:
    for role in _PATHS:
        name = getattr(options, role)
        if name is not None and not os.path.isabs(name) and Path(name).exists():
            yield role


@contextlib.contextmanager
def directory_of(folder: Path, begun: Provenance) -> Iterator[None]:
    """Work in the directory in which an experiment was begun, if it is still there: relative paths lead from there."""
    place = folder.resolve() / begun.directory
    if not begun.directory or not place.is_dir():
        yield
        return
    with contextlib.chdir(place):
        yield
