"""How long does it take to attack sessions?

1,000 sessions of five queries are planted in the public log of 181,963, and attacked after 1, 2, 3 and 5 queries seen.
Planting, obfuscation and the encodings of the log are not counted; learning the log and the mechanism's law is. The
encodings are those of `reproduce` (MiniLM; made on first use, which takes long), so each part runs in a process with
that cache.
"""

import json
import os
import subprocess
import sys
import time

from benchmarks.data import CACHE, ROOT, Skipped, memory
from benchmarks.table import Line, Target, show

QUESTION = "what does it cost to attack 1,000 sessions of five in a log of 181,963?"
LOG = ROOT.parent / "shared" / "data" / "querylog" / "queries.tsv.gz"
SESSIONS, SEED = 1000, 7
# Texts per query. Those of mechanisms of words are fewer than the usual 50 where it takes long to make them: 5,000
# queries are obfuscated. The attack looks at them once, and its cost hardly depends on their number for CMP.
VARIANTS = {"Cover@50": 1, "CMP@5": 10, "TEM@5": 10, "CusText@5": 50}
SECONDS = Target(60, at_most=True)


def run(quick: bool) -> list[Line]:
    """Attack sessions of each mechanism, each in a fresh process."""
    if not LOG.is_file():
        raise Skipped("needs the public data in ../shared/data, beside the checkout")
    lines = []
    for spec in VARIANTS:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.sessions", spec, str(50 if quick else SESSIONS)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        if done.returncode:
            raise Skipped("the part's process failed; its message is above")
        told = json.loads(done.stdout.splitlines()[-1])
        lines += [
            Line(f"sessions, {spec} (s)", (), told["clock"], None if quick else SECONDS),
            Line(f"sessions, {spec}: of the processor, all threads (s)", (), told["processor"]),
            Line(f"sessions, {spec}: peak memory (GB)", (), told["peak"]),
            Line(f"sessions, {spec}: R@10 after five queries", (), told["risk"]),
        ]
    show(("what", "value"), lines)
    return lines


def measure(spec: str, count: int) -> None:
    """Plant, obfuscate and attack sessions, and print what the attack took."""
    import numpy as np

    import quipukit as qk
    from quipukit.covers.load import load_partition
    from quipukit.mechanisms.cover import Cover

    log = qk.read_log(LOG)
    drawn = np.random.default_rng(SEED).choice(len(log), count, replace=False)
    planted = qk.plant_sessions([log.texts[row] for row in drawn], log.texts, "minilm", 5, SEED)
    of_log = {"cover": load_partition(LOG)} if spec.startswith("Cover") else {}
    mechanism = Cover(k=50, **of_log) if of_log else qk.mechanism(spec)
    sent = qk.obfuscate(planted.queries, mechanism, VARIANTS[spec], seed=SEED)
    clock, processor = time.perf_counter(), time.process_time()
    ranks = qk.session_attack(sent, planted.queries, planted.sessions, log, mechanisms=[mechanism])
    told = {"clock": time.perf_counter() - clock, "processor": time.process_time() - processor}
    risks = qk.session_risk(ranks).set_index(["measure", "length"])["risk"]
    print(json.dumps({**told, "peak": memory()["peak"] / 1e9, "risk": float(risks["R@10", 5])}))


if __name__ == "__main__":
    os.environ["QUIPUKIT_HOME"] = str(CACHE / "quipukit-reproduce")
    measure(sys.argv[1], int(sys.argv[2]))
