"""What this machine has left: memory that a process may still take, and room on a disk."""

import os
import shutil
from pathlib import Path

_GROUP = Path("/sys/fs/cgroup")


def free_memory(group: Path = _GROUP, system: Path = Path("/proc/meminfo")) -> float | None:
    """Return how many bytes can be had: those of the machine, or of a container that has fewer; None where unknown."""
    known = [one for one in (_of_machine(system), _of_container(group)) if one is not None]
    return min(known, default=None)


def free_disk(folder: Path) -> float:
    """Return how many bytes are free where a folder is, or will be."""
    place = folder.absolute()
    while not place.exists():
        place = place.parent
    return float(shutil.disk_usage(place).free)


def same_disk(one: Path, other: Path) -> bool:
    """Return whether two folders share their room."""

    def device(folder: Path) -> int:
        place = folder.absolute()
        while not place.exists():
            place = place.parent
        return os.stat(place).st_dev

    return device(one) == device(other)


def _of_machine(system: Path) -> float | None:
    try:
        lines = system.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    values = {name: rest.split() for name, _, rest in (line.partition(":") for line in lines)}
    return 1024.0 * int(values["MemAvailable"][0]) if "MemAvailable" in values else None


def _of_container(group: Path) -> float | None:
    try:
        most = (group / "memory.max").read_text(encoding="ascii").strip()
        used = int((group / "memory.current").read_text(encoding="ascii"))
        reclaimable = dict(line.split() for line in (group / "memory.stat").read_text(encoding="ascii").splitlines())
    except (OSError, ValueError):
        return None
    return None if most == "max" else float(int(most) - used + int(reclaimable.get("inactive_file", 0)))
