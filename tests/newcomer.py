"""What a newcomer does: every block of the README and the quickstart, in order, in an empty home.

    python -m tests.newcomer [PAGE ...]

Blocks of Python and of the shell are run; what follows a line that begins with `$` in a console block is compared with
what the command prints. Commands of indented blocks name files and collections of the reader's own: the test of the
site parses them.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = (ROOT / "README.md", ROOT / "docs" / "quickstart.md")
SECONDS = 900


def blocks(page: Path) -> Iterator[tuple[str, str]]:
    """Yield the kind and the text of every block that runs: fenced ones, and indented ones with a `$`."""
    text = page.read_text(encoding="utf-8")
    for fenced in re.finditer(
        r"^```(python|sh|console)\n(.*?)^```|^((?:    [^\n]*\n|\n)+)", text, re.MULTILINE | re.DOTALL
    ):
        kind, body, indented = fenced.groups()
        if kind:
            yield kind, body
        elif indented.lstrip().startswith("$ "):
            yield "console", re.sub(r"^    ", "", indented, flags=re.MULTILINE)


def run(kind: str, body: str, place: Path) -> list[str]:
    """Run a block and return what is wrong with it."""
    if kind == "console":
        return [fault for command, wanted in _with_output(body) for fault in _compare(command, wanted, place)]
    command = [sys.executable, "-c", body] if kind == "python" else ["sh", "-e", "-c", body]
    done = _execute(command, place)
    return [] if done.returncode == 0 else [f"{body.splitlines()[0]} ...: {done.stderr.strip()[-500:]}"]


def _with_output(body: str) -> Iterator[tuple[str, str]]:
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, _, wanted = part.partition("\n")
        yield command, wanted


def _compare(command: str, wanted: str, place: Path) -> Iterator[str]:
    done = _execute(["sh", "-e", "-c", command], place)
    lines = [[line.rstrip() for line in text.splitlines() if line.strip()] for text in (wanted, done.stdout)]
    if done.returncode or lines[0] != lines[1]:
        said = f"{done.stdout}{done.stderr[-500:]}"
        yield f"{command}\n--- the page says\n{wanted}\n--- it prints (exit code {done.returncode})\n{said}"


def _execute(command: list[str], place: Path) -> "subprocess.CompletedProcess[str]":
    own = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("QUIPUKIT", "XDG", "PYTEST"))}
    environment = {**kept, "HOME": str(place), "PATH": own, "COLUMNS": "120"}
    return subprocess.run(
        command, cwd=place, env=environment, capture_output=True, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL
    )


def main(pages: list[Path]) -> int:
    """Run the blocks of the pages, and say which failed."""
    count, wrong = 0, []
    with tempfile.TemporaryDirectory() as folder:
        for page in pages:
            for kind, body in blocks(page):
                print(f"{page.name}: {kind}: {body.strip().splitlines()[0]}", flush=True)
                count += 1
                wrong += [f"{page.name}: {fault}" for fault in run(kind, body, Path(folder))]
    print(*wrong, sep="\n\n")
    print(f"{count - len(wrong)} of {count} blocks are as they say")
    return 1 if wrong or not count else 0


if __name__ == "__main__":
    sys.exit(main([Path(page) for page in sys.argv[1:]] or list(PAGES)))
