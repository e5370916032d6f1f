"""Run the tests in two parts: `python -m tests [options of pytest]`, which is what `make test` does.

Most tests share the cores, in as many processes as `-n` says (2 unless told otherwise). Those marked `serial` need the
machine for themselves (they watch the clock, kill processes, or start a browser, an engine or a cluster) and run
afterwards, one by one. Both parts always run; the last line counts the tests of both.
"""

import argparse
import sys
import time
from collections import Counter

import pytest

DEFAULT = "not slow and not published"
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
    for part in (
        ["-n", chosen.workers, "-m", f"({chosen.marks}) and not serial"],
        ["-n", "0", "-m", f"({chosen.marks}) and serial"],
    ):
        codes.append(int(pytest.main([*part, *rest], plugins=[tally])))
        if codes[-1] == pytest.ExitCode.INTERRUPTED:
            break
    print("\nboth parts together:", *tally.broken, tally.line(time.perf_counter() - begin), sep="\n")
    return combine(codes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
