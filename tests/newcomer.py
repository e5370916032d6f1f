"""What a newcomer does: every block of the README and the quickstart, in order, in an empty home.

    python -m tests.newcomer [PAGE ...]

Blocks of Python and of the shell are run; what follows a line that begins with `$` in a console block is compared
with what the command prints. A command of the shell has to end with 0, or with N where the page says `# exit code N`.
A block of Python goes on where the page's earlier ones stopped as far as imports go. Commands of indented blocks name
files and collections of the reader's own: the test of the site parses them.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = (ROOT / "README.md", ROOT / "docs" / "quickstart.md")
# Ends a block that hangs. The slowest needs minutes, and several times that on a machine that others use as well.
SECONDS = 3600.0


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


def run(kind: str, body: str, place: Path, seconds: float = SECONDS) -> list[str]:
    """Run a block and return what is wrong with it."""
    if kind == "console":
        return [fault for command, wanted in _with_output(body) for fault in _compare(command, wanted, place, seconds)]
    command = [sys.executable, "-c", body] if kind == "python" else ["sh", "-e", "-c", expecting(body)]
    done = _execute(command, place, seconds)
    return [] if done.returncode == 0 else [f"{body.splitlines()[0]} ...: {done.stderr.strip()[-500:]}"]


def expecting(body: str) -> str:
    """Return a block of the shell where each command that is followed by `# exit code N` has to end with N."""
    return re.sub(
        r"^(.*?) +# exit code (\d+).*$", r"ended=0; \1 || ended=$?; test $ended -eq \2", body, flags=re.MULTILINE
    )


def imports(body: str) -> str:
    """Return the lines of a block of Python that import something."""
    return "".join(re.findall(r"^(?:import|from) .*\n", body, re.MULTILINE))


def _with_output(body: str) -> Iterator[tuple[str, str]]:
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, _, wanted = part.partition("\n")
        yield command, wanted


def _compare(command: str, wanted: str, place: Path, seconds: float) -> Iterator[str]:
    done = _execute(["sh", "-e", "-c", command], place, seconds)
    lines = [[line.rstrip() for line in text.splitlines() if line.strip()] for text in (wanted, done.stdout)]
    if done.returncode or lines[0] != lines[1]:
        said = f"{done.stdout}{done.stderr[-500:]}"
        yield f"{command}\n--- the page says\n{wanted}\n--- it prints (exit code {done.returncode})\n{said}"


def _execute(command: list[str], place: Path, seconds: float) -> "subprocess.CompletedProcess[str]":
    own = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("QUIPUKIT", "XDG", "PYTEST"))}
    environment = {**kept, "HOME": str(place), "PATH": own, "COLUMNS": "120"}
    with subprocess.Popen(
        command,
        cwd=place,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            printed, said = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            # The shell's own children as well: they hold the pipes open.
            os.killpg(process.pid, signal.SIGKILL)
            printed, said = process.communicate()
            said += f"\nended after {seconds:g} seconds"
    return subprocess.CompletedProcess(command, process.returncode, printed, said)


def main(pages: list[Path]) -> int:
    """Run the blocks of the pages, and say which failed."""
    count, wrong = 0, []
    with tempfile.TemporaryDirectory() as folder:
        for page in pages:
            known = ""
            for kind, body in blocks(page):
                print(f"{page.name}: {kind}: {body.strip().splitlines()[0]}", flush=True)
                count += 1
                begin = time.perf_counter()
                whole = known + body if kind == "python" else body
                wrong += [f"{page.name}: {fault}" for fault in run(kind, whole, Path(folder))]
                print(f"    {time.perf_counter() - begin:.0f} s", flush=True)
                known += imports(body) if kind == "python" else ""
    print(*wrong, sep="\n\n")
    print(f"{count - len(wrong)} of {count} blocks are as they say")
    return 1 if wrong or not count else 0


if __name__ == "__main__":
    sys.exit(main([Path(page) for page in sys.argv[1:]] or list(PAGES)))
