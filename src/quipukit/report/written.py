"""SHA256SUMS: the list of files that a report wrote, by which the next report replaces it."""

import re
from pathlib import Path

from quipukit.storage import atomic_write, make_folder, sha256

LIST = "SHA256SUMS"

# Only files that a report writes: anything else that a list names is not ours to remove.
_LINE = re.compile(r"([0-9a-f]{64})  ((?:figures/|tables/)?[\w-]+\.(?:html|csv|tex|pdf|svg|png))")


def replace_report(folder: Path, draft: Path) -> None:
    """Replace the report in the folder with a finished one."""
    # The page comes last, so that it exists only together with everything it refers to.
    files = sorted((file for file in draft.rglob("*") if file.is_file()), key=lambda file: file.suffix == ".html")
    _clear(folder)
    # The list comes first: if the process is killed between files, the next report still knows all of them.
    with atomic_write(folder / LIST) as path:
        lines = [f"{sha256(file)}  {file.relative_to(draft).as_posix()}\n" for file in files]
        path.write_text("".join(sorted(lines)), encoding="utf-8", newline="\n")
    for file in files:
        target = folder / file.relative_to(draft)
        make_folder(target.parent)
        file.replace(target)


def _clear(folder: Path) -> None:
    """Remove the files of an earlier report, except those changed since."""
    path = folder / LIST
    if not path.is_file():
        return
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        entry = _LINE.fullmatch(line)
        if entry is None:
            continue
        file = folder / entry[2]
        if file.is_file() and not file.is_symlink() and sha256(file) == entry[1]:
            file.unlink()
    path.unlink()
