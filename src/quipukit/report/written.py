"""Which files of a folder a report wrote: a list for ``sha256sum -c SHA256SUMS``, which the next report clears."""

import re
from collections.abc import Iterable
from pathlib import Path

from quipukit.home import new_file, sha256

LIST = "SHA256SUMS"

# Only files that a report writes: whatever else a list may name is not ours to remove.
_LINE = re.compile(r"([0-9a-f]{64})  ((?:figures/|tables/)?[\w-]+\.(?:html|csv|tex|pdf|svg|png))")


def record(folder: Path, files: Iterable[Path]) -> None:
    """Write down which files a report consists of."""
    lines = sorted(f"{sha256(file)}  {file.relative_to(folder).as_posix()}\n" for file in files)
    with new_file(folder / LIST) as draft:
        draft.write_text("".join(lines), encoding="utf-8", newline="\n")


def clear(folder: Path) -> None:
    """Remove what an earlier report wrote here, except what somebody has changed since."""
    path = folder / LIST
    if not path.is_file():
        return
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        found = _LINE.fullmatch(line)
        if found is None:
            continue
        file = folder / found[2]
        if file.is_file() and not file.is_symlink() and sha256(file) == found[1]:
            file.unlink()
    path.unlink()
