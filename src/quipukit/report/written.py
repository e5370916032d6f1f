"""Which files of a folder a report wrote: a list for ``sha256sum -c SHA256SUMS``, which the next report clears."""

import re
from pathlib import Path

from quipukit.storage import atomic_write, make_folder, sha256

LIST = "SHA256SUMS"

# Only files that a report writes: whatever else a list may name is not ours to remove.
_LINE = re.compile(r"([0-9a-f]{64})  ((?:figures/|tables/)?[\w-]+\.(?:html|csv|tex|pdf|svg|png))")


def replace_report(folder: Path, draft: Path) -> None:
    """Put a finished report in the place of the one that the folder holds."""
    # The page last, so that one is there only when everything it speaks of is.
    files = sorted((file for file in draft.rglob("*") if file.is_file()), key=lambda file: file.suffix == ".html")
    _clear(folder)
    # The list goes first: whoever is killed between the files leaves nothing that the next report does not know.
    with atomic_write(folder / LIST) as path:
        lines = [f"{sha256(file)}  {file.relative_to(draft).as_posix()}\n" for file in files]
        path.write_text("".join(sorted(lines)), encoding="utf-8", newline="\n")
    for file in files:
        target = folder / file.relative_to(draft)
        make_folder(target.parent)
        file.replace(target)


def _clear(folder: Path) -> None:
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
