"""``python -m benchmarks [NAME ...] [--quick]``."""

import argparse
import importlib
import os
import time

from benchmarks.data import Skipped, commit, machine
from benchmarks.table import Line, summary

NAMES = (
    "against_pypantera",
    "against_machine",
    "full_grid",
    "startup",
    "bm25",
    "engines",
    "encoding",
    "encoder_profile",
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
    "demo",
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
    parser.add_argument("--until", default="experiment", metavar="PART", help="full_size: end with this part")
    arguments = parser.parse_args()
    for name in arguments.names:
        if name not in NAMES:
            parser.error(f"there is no benchmark {name!r}; choose from {', '.join(NAMES)}")
    print(f"{machine()}; commit {commit()}")
    lines: list[Line] = []
    for name in arguments.names or (name for name in NAMES if name not in ONLY_NAMED):
        module = importlib.import_module(f"benchmarks.{name}")
        print(f"\n# {name}: {module.QUESTION}", flush=True)
        start = time.perf_counter()
        try:
            lines += module.run(arguments.quick, *([arguments.scale, arguments.until] if name == "full_size" else []))
        except Skipped as reason:
            print(f"skipped: {reason}")
        load = ", ".join(f"{value:.2f}" for value in os.getloadavg())
        print(f"{name} took {time.perf_counter() - start:,.0f} s; load averages at its end {load}", flush=True)
    print(f"\n{summary(lines)}")
    if arguments.quick:
        print("Targets that depend on the size of the work are judged without --quick only.")


if __name__ == "__main__":
    main()
