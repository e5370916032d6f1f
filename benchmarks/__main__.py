"""``python -m benchmarks [NAME ...] [--quick]``."""

import argparse
import importlib

from benchmarks.data import Skipped, machine
from benchmarks.table import Line, summary

NAMES = (
    "against_pypantera",
    "against_machine",
    "full_grid",
    "startup",
    "bm25",
    "encoding",
    "static_encoder",
    "attackers",
    "covers",
    "sessions",
    "ranks",
    "cliffs",
    "dense_memory",
    "experiment",
    "scale",
    "dry_run",
    "bit_flips",
    "selection",
    "small_samples",
    "audit",
    "serve",
    "long_log",
    "streaming",
    "full_size",
)
# Up to an hour by themselves: they run only where they are named.
ONLY_NAMED = ("long_log", "streaming", "full_size")


def main() -> None:
    """Run the chosen benchmarks one after the other."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure speed and memory.")
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"one of {', '.join(NAMES)}; all but the last three where none is given",
    )
    parser.add_argument("--quick", action="store_true", help="smaller sizes: to see that it runs, not for the figures")
    parser.add_argument("--scale", type=float, default=1.0, help="full_size: the share of 8.8 million passages [1]")
    arguments = parser.parse_args()
    for name in arguments.names:
        if name not in NAMES:
            parser.error(f"there is no benchmark {name!r}; choose from {', '.join(NAMES)}")
    print(machine())
    lines: list[Line] = []
    for name in arguments.names or (name for name in NAMES if name not in ONLY_NAMED):
        module = importlib.import_module(f"benchmarks.{name}")
        print(f"\n# {name}: {module.QUESTION}", flush=True)
        try:
            lines += module.run(arguments.quick, *([arguments.scale] if name == "full_size" else []))
        except Skipped as reason:
            print(f"skipped: {reason}")
    print(f"\n{summary(lines)}")
    if arguments.quick:
        print("Targets that depend on the size of the work are judged without --quick only.")


if __name__ == "__main__":
    main()
