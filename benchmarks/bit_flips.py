"""Is a damaged file of a run ever taken for a good one?

A small experiment is run. Then one bit of one of its files is flipped, the file is read as the next run would read
it, and the bit is flipped back; again and again. A flip is noticed where the file is refused, or counts as missing and
is computed again; it is harmless where what was read is equal all the same (white space of a JSON file). Anything else
is damage that goes unnoticed. Some of the flips are followed by a whole run, whose result must be the undamaged one.

Half of the flips are spread over all bytes, half over all files: small files would hardly be hit otherwise.
"""

import contextlib
import json
import random
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import CACHE
from benchmarks.table import Line, Target, show
from quipukit.encoders.base import Encoder

QUESTION = "is a damaged file of a run ever taken for a good one?"
UNNOTICED = Target(0, at_most=True)

_NO_RESULT = {".lock", "timings.json"}  # no result depends on them


def run(quick: bool) -> list[Line]:
    """Flip bits, and count what becomes of it."""
    flips, reruns = (100, 4) if quick else (1500, 40)
    CACHE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as place:
        campaign = _Campaign(Path(place) / "run")
        generator = random.Random(2026)
        counts: Counter[str] = Counter()
        kinds: Counter[str] = Counter()
        for number in range(flips):
            path = campaign.choose(generator, by_size=number % 2 == 0)
            verdict = campaign.flip(path, generator, rerun=number % (flips // reruns) == 0)
            counts[verdict] += 1
            kinds[f"{verdict}: {campaign.kind(path)}"] += 1
    for kind, count in sorted(kinds.items()):
        print(f"  {count:5d}  {kind}")
    lines = [
        Line("flips of one bit", (), flips),
        Line("noticed", (), counts["noticed"]),
        Line("harmless", (), counts["harmless"]),
        Line("unnoticed", (), counts["unnoticed"], UNNOTICED),
    ]
    show(("what", "value"), lines)
    return lines


class _Campaign:
    """A finished run, and what reading each of its files gave."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.digest = _experiment(folder).digest
        self.files = sorted(
            path for path in folder.rglob("*") if path.is_file() and path.name not in _NO_RESULT and path.stat().st_size
        )
        self.whole = {path: self.read(path) for path in self.files}
        if None in self.whole.values():
            raise RuntimeError("a file of an undamaged run cannot be read")

    def kind(self, path: Path) -> str:
        """Return what kind of file it is."""
        parts = path.relative_to(self.folder).parts
        if parts[0] != "artifacts":
            return parts[0]
        return f"artifacts/{parts[1]}" + ("" if parts[1] == "vectors" else f" ({path.suffix})")

    def choose(self, generator: random.Random, by_size: bool) -> Path:
        """Return a file, drawn by its size or with equal chances."""
        weights = [path.stat().st_size for path in self.files] if by_size else None
        return generator.choices(self.files, weights)[0]

    def flip(self, path: Path, generator: random.Random, rerun: bool) -> str:
        """Flip a bit, read, and put everything back."""
        content = path.read_bytes()
        position = generator.randrange(8 * len(content))
        damaged = bytearray(content)
        damaged[position // 8] ^= 1 << position % 8
        saved = {one: one.read_bytes() for one in _beside(path)}
        path.write_bytes(damaged)
        try:
            read = self.read(path)
            verdict = "noticed" if read is None else "harmless" if read == self.whole[path] else "unnoticed"
            if rerun:
                path.write_bytes(damaged)
                for one, before in saved.items():
                    one.write_bytes(before)
                if self._run_again() is False:
                    verdict = "unnoticed"
            return verdict
        finally:
            path.write_bytes(content)
            for one, before in saved.items():
                one.write_bytes(before)

    def _run_again(self) -> bool | None:
        """Run in the damaged folder: whether the result is right, or None where the run refused to."""
        from quipukit.errors import QuipukitError

        with contextlib.suppress(QuipukitError):
            return bool(_experiment(self.folder).digest == self.digest)
        return None

    def read(self, path: Path) -> Any:
        """Return what the next run reads from a file; None where it refuses it or computes it again."""
        from quipukit.errors import QuipukitError
        from quipukit.experiment.artifacts import Artifacts
        from quipukit.experiment.begun import Begun
        from quipukit.results import Result

        parts = path.relative_to(self.folder).parts
        try:
            if parts[0] == "experiment.json":
                begun = Begun.load(self.folder)
                return begun and json.dumps([begun.content, begun.objects, begun.directory, begun.fingerprints])
            if parts[0] != "artifacts":
                return Result.load(self.folder).digest
            if parts[1] == "vectors":
                return _vectors(self.folder, parts[2])
            artifacts = Artifacts(self.folder)
            if not artifacts.has(parts[1], path.stem):
                return None
            return artifacts.load(parts[1], path.stem).to_json(), artifacts.software()
        except QuipukitError:
            return None


def _beside(path: Path) -> list[Path]:
    """Return the other file of an artifact, which is moved away together with a damaged one."""
    return [one for one in (path.with_suffix(".json"), path.with_suffix(".parquet")) if one != path and one.is_file()]


def _vectors(folder: Path, fingerprint: str) -> Any:
    """Return the vectors of an encoder that a run keeps; None where a row is missing or fails its checksum."""
    from quipukit.encoders.load import load_encoder
    from quipukit.encoders.store import EncodingStore, PrivateStore

    # The attacker's encoder, and the one by which sentence similarity is defined.
    encoder = next(one for one in (_Letters(), load_encoder("minilm")) if one.fingerprint == fingerprint)
    store = PrivateStore(EncodingStore(encoder), folder / "artifacts" / "vectors")
    kept = store.lookup(store.keys(_TEXTS, "query"))
    return None if kept is None else np.asarray(kept).tobytes()


_TEXTS: list[str] = []


def _experiment(folder: Path) -> Any:
    import quipukit as qk

    result = qk.evaluate(
        *("wordnet", ["CMP@5", "AEA@3"], 3),
        attackers=["QuIA"],
        topics=3,
        log_sample=300,
        depth=10,
        encoder=_Letters(),
        reranker="bm25",
        out=folder,
        progress=False,
    )
    _TEXTS[:] = sorted(set(result.obfuscated["query"]))
    return result


class _Letters(Encoder):
    """Counts of letters: an attacker without a model."""

    name, dimension, fingerprint = "letters", 26, "letters-1"

    def pieces(self, texts: Sequence[str], kind: str) -> Iterator[Any]:
        """See Encoder."""
        counts = [[text.lower().count(chr(97 + letter)) for letter in range(26)] for text in texts]
        yield np.arange(len(texts)), np.array(counts, np.float32)
