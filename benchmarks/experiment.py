"""What does the paper's DL'19 experiment cost, from queries to report?

43 queries, ten mechanisms at 86 settings and the two references, 50 variants, within the pool of 31,249 passages,
against a log of 181,963 queries. Every part runs in a fresh process:

- cold: nothing is kept from before but the installed package and compiled kernels;
- warm: documents and log are encoded, everything else is done again;
- report: the finished result is made into a report again;
- one more mechanism: a mechanism is added to a finished run.

The encoder is the limit. Its rate is set against the machine: the products of its six layers (12 d^2 multiplications
and additions a token and layer, d = 384, and attention) at the rate of a float32 product of 4096 x 4096 matrices on
both threads, measured in the same run before and after.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.data import CACHE, ROOT, Skipped, memory
from benchmarks.table import Line, Target, show

QUESTION = "what does the paper's DL'19 experiment cost, from queries to report?"
COLD, WARM, REPORT = Target(40, at_most=True), Target(15, at_most=True), Target(1, at_most=True)
GIGABYTES = Target(4.0, at_most=True)
DATA = ROOT.parent / "shared" / "data"
ENCODED = CACHE / "quipukit-reproduce" / "encodings"

_DIMENSION, _LAYERS = 384, 6
_HOME = "QUIPUKIT_BENCHMARK_HOME"


def run(quick: bool) -> list[Line]:
    """Run the parts one after the other."""
    if not DATA.is_dir():
        raise Skipped("needs the public data in ../shared/data, beside the checkout")
    CACHE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as place:
        lines = _parts(Path(place), quick)
        if not quick and not ENCODED.exists():  # sessions are planted in the same log
            ENCODED.parent.mkdir(parents=True, exist_ok=True)
            (Path(place) / "home" / "encodings").rename(ENCODED)
        return lines


def _parts(place: Path, quick: bool) -> list[Line]:
    home, out = place / "home", place / "run"
    before = _machine()
    cold = _job(home, "run", out, quick)
    after = _machine()
    _drop_query_vectors(home, place / "kept", quick)
    shutil.rmtree(out)
    warm = _job(home, "run", out, quick)
    report = _job(home, "report", out, quick)
    more = _job(home, "more", out, quick)
    for name, told in (("cold", cold), ("warm", warm), ("one more mechanism", more)):
        _stages(name, told)
    encoded = {timing["stage"]: timing for timing in cold["timings"] if timing["stage"].startswith("encoding")}
    lines = [
        Line("cold: queries to report (min)", (), cold["wall"] / 60, None if quick else COLD),
        Line("warm: documents and log encoded (min)", (), warm["wall"] / 60, None if quick else WARM),
        Line("report only (min)", (), report["wall"] / 60, REPORT),
        Line("one more mechanism, ten settings (min)", (), more["wall"] / 60),
        Line("peak memory, cold (GB)", (), cold["peak"] / 1e9, GIGABYTES),
        Line("peak memory, warm (GB)", (), warm["peak"] / 1e9, GIGABYTES),
    ]
    for stage, timing in encoded.items():
        rate = timing["amount"] / timing["seconds"]
        share = rate * cold["flops"][stage] / max(before, after)
        lines += [
            Line(f"{stage} (texts/s)", (), rate),
            Line(f"{stage}: share of the machine's product (%)", (), 100 * share),
        ]
    show(("what", "value"), lines)
    return lines


def _stages(name: str, told: dict[str, Any]) -> None:
    total = sum(timing["seconds"] for timing in told["timings"])
    print(f"\n{name}: {told['wall']:,.0f} s")
    for timing in sorted(told["timings"], key=lambda timing: -timing["seconds"]):
        share, amount = 100 * timing["seconds"] / total, f"{timing['amount']:,.0f} {timing['unit']}"
        print(f"  {share:5.1f} %  {timing['seconds']:7.1f} s  {timing['stage']}, {amount}")


def _machine() -> float:
    """Return the best rate of a large float32 product, in operations a second."""
    import numpy as np

    side = 4096
    a = np.random.default_rng(7).random((side, side), np.float32)
    best = 0.0
    for _ in range(4):
        start = time.perf_counter()
        _ = a @ a
        best = max(best, 2 * side**3 / (time.perf_counter() - start))
    return best


def _drop_query_vectors(home: Path, kept: Path, quick: bool) -> None:
    """Leave the store with the vectors of the documents and of the log alone, as a second experiment finds it."""
    _job(home, "keep", kept, quick)
    shutil.rmtree(home / "encodings")
    (kept / "encodings").rename(home / "encodings")


def _job(home: Path, what: str, out: Path, quick: bool) -> dict[str, Any]:
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.experiment", what, str(out), *(["--quick"] if quick else [])],
        cwd=ROOT,
        env={**os.environ, _HOME: str(home)},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        raise Skipped("the job's process failed; its message is above")
    return {**json.loads(done.stdout.splitlines()[-1]), "wall": time.perf_counter() - start}


# --- inside the fresh process -------------------------------------------------------------------------------------


def job(what: str, out: Path, quick: bool) -> dict[str, Any]:
    """Do one part, and tell what it took."""
    from quipukit.report.write import write_report
    from quipukit.results import Result

    if what == "keep":
        _keep(out, quick)
        return {}
    if what == "report":
        write_report([Result.load(out)], out / "report")
        return memory()
    from quipukit.attackers.log import read_log
    from quipukit.experiment.run import TIMINGS
    from quipukit.experiment.run import run as evaluate

    options = _options(quick, ("SanText+",) if what == "more" else ())
    result = evaluate(options, out)
    write_report([result], out / "report")
    timings = json.loads((out / TIMINGS).read_text(encoding="utf-8"))[-1]
    return {"timings": timings, "flops": _flops(result, read_log(options.log).texts), **memory()}


def _options(quick: bool, more: tuple[str, ...] = ()) -> Any:
    from quipukit.experiment.grid import PAPER, expand
    from quipukit.experiment.options import Options

    mechanisms = ("CMP", "TEM", "AEA") if quick else PAPER
    return Options(
        # The paper's experiment: its attacker, at the N that it names.
        attackers=("QuIA",),
        growth=False,
        collection=str(DATA / "msmarco_pool"),
        queries=str(DATA / "dl19" / "topics.tsv"),
        qrels=str(DATA / "dl19" / "qrels.txt"),
        log=str(DATA / "querylog" / "queries.tsv.gz"),
        specs=tuple(expand([*mechanisms, *more])),
        n=(5 if quick else 50,),
        topics=5 if quick else None,
        log_sample=2000 if quick else None,
    )


def _keep(place: Path, quick: bool) -> None:
    """Put documents and log into a store of its own; what the old store has is copied, not encoded again."""
    from quipukit.encoders.store import EncodingStore
    from quipukit.experiment.inputs import resolve

    plan = resolve(_options(quick))
    new = EncodingStore(_copier(place.parent / "run"), place / "encodings")
    new.ensure(plan.log.public, "query")
    new.ensure([text for _, text in plan.collection.documents()], "document")


def _copier(run: Path) -> Any:
    """Return MiniLM as an encoder that takes its vectors from the store, and those of documents from a run."""
    import numpy as np

    from quipukit.encoders.base import Encoder
    from quipukit.encoders.load import load_encoder
    from quipukit.encoders.store import EncodingStore, PrivateStore
    from quipukit.experiment.artifacts import FOLDER

    class Copier(Encoder):
        source = load_encoder("minilm")
        name, dimension, fingerprint = source.name, source.dimension, source.fingerprint

        def variant(self, kind: Any) -> str:
            return self.source.variant(kind)

        def pieces(self, texts: Any, kind: Any) -> Any:
            store = PrivateStore(EncodingStore(self.source), run / FOLDER / "vectors")
            yield np.arange(len(texts)), store.get(texts, kind)

    return Copier()


def _flops(result: Any, log: list[str]) -> dict[str, float]:
    """Return how many operations the network needs for one text of each kind, in the mean."""
    import random

    import tokenizers

    from quipukit.vectors.default_pack import model_folder

    tokenizer = tokenizers.Tokenizer.from_file(str(model_folder() / "tokenizer.json"))
    tokenizer.no_padding()
    sent = list(dict.fromkeys(result.obfuscated["query"]))
    per_token = 2 * 12 * _DIMENSION**2 * _LAYERS
    found = {}
    for stage, texts in (("encoding obfuscated queries", sent), ("encoding the log", log)):
        lengths = [len(tokenizer.encode(text).ids) for text in random.Random(7).sample(texts, min(2000, len(texts)))]
        pairs = 4 * _LAYERS * _DIMENSION
        found[stage] = sum(length * per_token + pairs * length**2 for length in lengths) / len(lengths)
    return found


if __name__ == "__main__":
    # After the imports, which name the home of all other benchmarks.
    os.environ["QUIPUKIT_HOME"] = os.environ.get(_HOME, os.environ["QUIPUKIT_HOME"])
    print(json.dumps(job(sys.argv[1], Path(sys.argv[2]), "--quick" in sys.argv)))
