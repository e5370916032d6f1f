"""experiment.json: what an experiment was begun with, so that a later run never takes other inputs for these."""

import contextlib
import dataclasses
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quipukit.errors import FileError, InputError
from quipukit.experiment.folder import remove_partials, write_errors
from quipukit.experiment.options import EXTENDABLE, Options
from quipukit.experiment.plan import Plan, fingerprint
from quipukit.frames import OBFUSCATED
from quipukit.results import FORM
from quipukit.storage import atomic_write

FILE = "experiment.json"

_PATHS = ("collection", "queries", "qrels", "obfuscated", "log", "vectors", "encoder", "sessions")
# Beside a lock, a killed run may leave its own half-written file.
_OURS = (".lock", ".experiment-????????.json", "grid.json", ".grid-????????.json")


@dataclass(frozen=True)
class Begun:
    """The options of an experiment, which inputs were objects, where it was begun, and fingerprints of its inputs.

    The directory is written as seen from the folder: a project that is moved as a whole can be resumed, and no place
    on a machine is written down. A folder of an earlier version has neither directory nor fingerprints.
    """

    content: Mapping[str, Any]  # the options as JSON: only a run that resumes needs them as values
    objects: Sequence[str] = ()
    directory: str = ""
    fingerprints: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: Path, plan: Plan, objects: Sequence[str]) -> "Begun":
        """Return what an experiment begins with, here and now."""
        prints = dict(plan.fingerprints)
        prints["systems"] = fingerprint([system.fingerprint for system in plan.options.systems])
        if plan.vectors is not None:
            prints["vectors"] = plan.vectors.fingerprint
        if plan.given is not None:
            # Not `n` and `noise`, which a table may lack: the queries are the same with them and without.
            prints["obfuscated"] = fingerprint(plan.given[list(OBFUSCATED.columns)].to_dict("list"))
        given = sorted({*objects, *(["systems"] if not all(one.portable for one in plan.options.systems) else [])})
        directory = os.path.relpath(Path.cwd().resolve(), folder.resolve())
        return cls(plan.options.to_json(), given, directory, prints)

    @classmethod
    def load(cls, folder: Path) -> "Begun | None":
        """Read what the experiment of a folder was begun with; None where there is none."""
        path = folder / FILE
        if not path.is_file():
            return None
        try:
            content = dict(json.loads(path.read_text(encoding="utf-8")))
            if content.pop("check", None) not in (None, fingerprint(content)):  # None: of an earlier version
                raise ValueError("the checksum does not match")
            options = dict(content["options"])
            options["n"] = options["n"] if isinstance(options["n"], list) else [options["n"]]
            missing = {one.name for one in dataclasses.fields(Options)} - set(options)
            options |= {name: _plain(getattr(Options(), name)) for name in missing}  # added by a later version
            return cls(
                options,
                list(content["given"]),
                str(content.get("directory", "")),
                _fingerprints(content),
            )
        except (ValueError, KeyError, TypeError):
            raise FileError(f"{path} is damaged or of another version; name a new folder.") from None

    def save(self, folder: Path) -> None:
        """Write down what is run in a folder, and remove what a killed run left half-written."""
        content = {
            "form": FORM,
            "options": self.content,
            "given": self.objects,
            "directory": self.directory,
            "fingerprints": self.fingerprints,
        }
        content["check"] = fingerprint(content)
        with write_errors(folder), atomic_write(folder / FILE) as draft:
            draft.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        remove_partials(folder)

    @property
    def options(self) -> Options:
        """Return the options as values."""
        return Options.from_json(self.content)

    # --- what may be run in its folder ---

    def check_options(self, folder: Path, options: Options) -> None:
        """Refuse options of another experiment."""
        now = _plain(options.to_json())
        differing = [name for name in now if name not in EXTENDABLE and _plain(self.content[name]) != now[name]]
        if differing:
            values = "; ".join(
                f"{name}: {_shown(self.content[name])} there, {_shown(now[name])} here" for name in differing
            )
            raise InputError(
                f"{folder} holds another experiment ({values}); name another folder, or resume that one.",
                argument=tuple(differing),
            )

    def check_inputs(self, folder: Path, now: "Begun", options: Options, resumed: bool) -> None:
        """Refuse inputs that are not those the folder was begun with.

        The same command in the same directory may find them changed: what depends on them is then done again. In
        another directory relative paths lead elsewhere, and a folder is resumed as it was begun.
        """
        changed = [name for name, value in self.fingerprints.items() if now.fingerprints.get(name, value) != value]
        if changed and resumed:
            raise InputError(
                f"{folder} was begun with other inputs, or they were changed since ({', '.join(changed)}); restore "
                "them, or run the command again that began it: it measures them as they are now."
            )
        if changed and self.directory not in ("", now.directory) and any(_relative_paths(options)):
            raise InputError(
                f"{folder} was begun in another directory, and what lies here under the same names is something else "
                f"({', '.join(changed)}); run the command in that directory, or name another folder."
            )


def refuse_foreign_files(folder: Path) -> None:
    """Refuse a folder that holds something else than an experiment."""
    foreign = [path.name for path in folder.iterdir() if not any(path.match(name) for name in _OURS)]
    if foreign:
        raise InputError(f"{folder} holds other files ({foreign[0]} ...); name a new folder.")


@contextlib.contextmanager
def working_directory(folder: Path, begun: Begun) -> Iterator[None]:
    """Work in the directory in which an experiment was begun, if it is still there: relative paths lead from there."""
    place = folder.resolve() / begun.directory
    if not begun.directory or not place.is_dir():
        yield
        return
    with contextlib.chdir(place):
        yield


def _fingerprints(content: Mapping[str, Any]) -> dict[str, str]:
    """Return the fingerprints of the inputs; in an earlier version that of the systems was computed in another way."""
    earlier = {name: value for name, value in content.get("prints", {}).items() if name != "systems"}
    return dict(content.get("fingerprints", earlier))


def _relative_paths(options: Options) -> Iterator[str]:
    for role in _PATHS:
        name = getattr(options, role)
        if name is not None and not os.path.isabs(name) and Path(name).exists():
            yield role


def _plain(value: Any) -> Any:
    """Return what JSON makes of a value."""
    return json.loads(json.dumps(value, default=repr))


def _shown(value: Any) -> str:
    return "none" if value is None else str(value)
