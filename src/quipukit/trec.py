"""TREC files: runs (qid Q0 docno rank score tag) and judgements (qid 0 docno relevance)."""

import gzip
import math
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from quipukit.errors import FileError, FrameError
from quipukit.frames import QRELS
from quipukit.home import new_file

Pathish = str | os.PathLike[str]


def read_run(path: Pathish) -> pd.DataFrame:
    """Read a run: columns qid, docno, score, rank (from 0), tag.

    Documents are ordered by falling score; equal scores keep the order of the file's ranks, then go by docno.
    (trec_eval ignores the ranks and orders equal scores by falling docno, which shuffles a run whose scores were
    rounded.) A score that is no number stops with its line; an empty file is a run that found nothing.
    """
    path = Path(path)
    rows = []
    for number, fields in _lines(path, (6,), "qid Q0 docno rank score tag"):
        qid, _, docno, rank, score, tag = fields
        rows.append((qid, docno, _number(path, number, rank, "rank"), _number(path, number, score, "score"), tag))
    run = pd.DataFrame(rows, columns=["qid", "docno", "rank", "score", "tag"])
    twice = run.duplicated(["qid", "docno"])
    if twice.any():
        first = run[twice].iloc[0]
        raise FileError(f"{path}: document {first['docno']} comes twice for query {first['qid']}; keep one line.")
    order = {"qid": True, "score": False, "rank": True, "docno": True}
    run = run.sort_values(list(order), ascending=list(order.values()), kind="stable").reset_index(drop=True)
    run["rank"] = run.groupby("qid", sort=False).cumcount()
    return run[["qid", "docno", "score", "rank", "tag"]]


def write_run(run: pd.DataFrame, path: Pathish, tag: str = "quipukit") -> None:
    """Write a run, complete or not at all; ranks count from 0 in the table and from 1 in the file.

    Readers order by score alone and break ties their own way, so a score that does not fall below the one before is
    lowered by a hair: the order of the ranks survives.
    """
    path = Path(path)
    lines = []
    last_qid, last = None, math.inf
    ordered = run.sort_values(["qid", "rank"], kind="stable")
    for qid, docno, rank, score in ordered[["qid", "docno", "rank", "score"]].itertuples(index=False):
        if qid == last_qid and float(f"{score:.9g}") >= last:
            score = last - 1e-7 * max(1.0, abs(last))
        lines.append(f"{qid} Q0 {docno} {rank + 1} {score:.9g} {tag}\n")
        last_qid, last = qid, float(f"{score:.9g}")
    try:
        with new_file(path) as draft, draft.open("w", encoding="utf-8") as file:
            file.writelines(lines)
    except OSError as fault:
        raise FileError(f"{path} cannot be written ({fault.strerror}); name another place.") from None


def read_qrels(path: Pathish) -> pd.DataFrame:
    """Read judgements: columns qid, docno, relevance."""
    path = Path(path)
    rows = [
        (fields[0], fields[2], _whole(path, number, fields[3], "relevance"))
        for number, fields in _lines(path, (4,), "qid 0 docno relevance")
    ]
    try:
        return QRELS.check(pd.DataFrame(rows, columns=list(QRELS.columns)))
    except FrameError as fault:
        raise FileError(f"{path}: {fault}") from None


def write_qrels(qrels: pd.DataFrame, path: Pathish) -> None:
    """Write judgements, complete or not at all."""
    checked = QRELS.check(qrels)
    with new_file(Path(path)) as draft, draft.open("w", encoding="utf-8") as file:
        file.writelines(f"{row.qid} 0 {row.docno} {row.relevance}\n" for row in checked.itertuples())


def _lines(path: Path, widths: tuple[int, ...], shape: str) -> Iterator[tuple[int, list[str]]]:
    number = 0
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                fields = raw.decode("utf-8").split()
                if not fields:
                    continue
                if len(fields) not in widths:
                    raise FileError(f"{path}, line {number}: expected '{shape}' (found {len(fields)} fields).")
                yield number, fields
    except FileNotFoundError:
        raise FileError(f"{path}: there is no such file; check the path.") from None
    except UnicodeDecodeError:
        raise FileError(f"{path}, line {number}: not UTF-8; convert the file, for instance with iconv.") from None
    except (OSError, EOFError, zlib.error) as fault:
        raise FileError(f"{path} cannot be read ({fault}); check the file.") from None


def _whole(path: Path, line: int, text: str, what: str) -> int:
    number = _number(path, line, text, what)
    if number != int(number):
        raise FileError(f"{path}, line {line}: the {what} {text!r} is not a whole number; mend or delete the line.")
    return int(number)


def _number(path: Path, line: int, text: str, what: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise FileError(f"{path}, line {line}: the {what} {text!r} is not a number; mend or delete the line.")
    return number
