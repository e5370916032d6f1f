"""Run the tests in two parts: `python -m tests [options of pytest]`, which is what `make test` does.

Most tests share the cores, in as many processes as `-n` says (2 unless told otherwise). Those marked `serial` need the
machine for themselves (they watch the clock, kill processes, or start a cluster) and run afterwards, one by one. Both
parts always run; the last line counts the tests of both.

A file goes to one process as a whole, so that what its tests share is made once; those that take long go first.
"""

import argparse
import re
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

DEFAULT = "not slow and not published"
TOGETHER = ("--dist", "loadfile", "--no-loadscope-reorder")  # in the order of collection, which tests/conftest.py sets
OUTCOMES = ("failed", "passed", "skipped", "xfailed", "xpassed", "error")


class Tally:
    """A plugin that adds up the outcomes of several sessions."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.broken: list[str] = []

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for outcome in OUTCOMES:
            reports = terminalreporter.getreports(outcome)
            self.counts[outcome] += len(reports)
            if outcome in ("failed", "error"):
                self.broken += [f"{'ERROR' if outcome == 'error' else 'FAILED'} {report.nodeid}" for report in reports]

    def line(self, seconds: float) -> str:
        """Return the counts as pytest's own last line shows them."""
        shown = [f"{self.counts[outcome]} {outcome}" for outcome in OUTCOMES if self.counts[outcome]]
        text = f" {', '.join(shown) or 'no tests ran'} in {seconds:.2f}s "
        if seconds >= 60:
            minutes, rest = divmod(int(seconds), 60)
            text = f"{text}({minutes // 60}:{minutes % 60:02}:{rest:02}) "
        return text.center(120, "=")


class SerialFiles:
    """A plugin that leaves out files without a serial test: most of the second part's time would go into them."""

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        if collection_path.suffix != ".py" or collection_path.name in ("conftest.py", "__init__.py"):
            return None
        return None if re.search(r"mark\.serial\b", collection_path.read_text(encoding="utf-8")) else True


def combine(codes: list[int]) -> int:
    """Return the exit code of all parts: a failure of any; "no tests" (5) only if no part had one."""
    nothing = int(pytest.ExitCode.NO_TESTS_COLLECTED)
    if set(codes) == {nothing}:
        return nothing
    return max(0 if code == nothing else code for code in codes)


def main(arguments: list[str]) -> int:
    """Run both parts and return the exit code."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("-m", dest="marks", default=DEFAULT)
    parser.add_argument("-n", dest="workers", default="2")
    chosen, rest = parser.parse_known_args(arguments)
    tally, begin, codes = Tally(), time.perf_counter(), []
    for part, plugins in (
        (["-n", chosen.workers, *TOGETHER, "-m", f"({chosen.marks}) and not serial"], [tally]),
        (["-n", "0", "-m", f"({chosen.marks}) and serial"], [tally, SerialFiles()]),
    ):
        codes.append(int(pytest.main([*part, *rest], plugins=plugins)))
        if codes[-1] == pytest.ExitCode.INTERRUPTED:
            break
    print("\nboth parts together:", *tally.broken, tally.line(time.perf_counter() - begin), sep="\n")
    return combine(codes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
