"""TREC files: runs (qid Q0 docno rank score tag) and judgments (qid 0 docno relevance)."""

import math
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pandas as pd

from quipukit.errors import FileError, FrameError, InputError
from quipukit.frames import QRELS, qrels_frame
from quipukit.io.reading import numbered_lines
from quipukit.storage import atomic_write

Pathish = str | os.PathLike[str]

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_LARGEST = 2**31
# A byte order mark at the start of a file is taken for what it is.
_UNFIT = re.compile("[\\s\0-\x1f\x7f-\x9f\ufeff\ud800-\udfff]")


def read_run(path: Pathish) -> pd.DataFrame:
    """Read a run: columns qid, docno, score, rank (from 0), tag.

    Documents are ordered by falling score; equal scores keep the order of the file's ranks, then go by docno.
    (trec_eval ignores the ranks and orders equal scores by falling docno, which shuffles a run whose scores were
    rounded.) A score that is no number stops with its line; an empty file is a run that found nothing.
    """
    path = Path(path)
    rows, numbers = [], []
    for number, fields in _lines(path, 6, "qid Q0 docno rank score tag"):
        numbers.append(number)
        qid, _, docno, rank, score, tag = fields
        rows.append((qid, docno, _number(path, number, rank, "rank"), _number(path, number, score, "score"), tag))
    run = pd.DataFrame(rows, columns=["qid", "docno", "rank", "score", "tag"])
    twice = run.duplicated(["qid", "docno"])
    if twice.any():
        line = numbers[int(twice.to_numpy().argmax())]
        raise FileError(f"{path}, line {line}: the document comes a second time for the same query; keep one line.")
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
    for what, column in (("query id", "qid"), ("docno", "docno")):
        check_ids(run[column].drop_duplicates(), what)
    check_ids([tag], "tag")
    lines = []
    last_qid, last = None, math.inf
    ordered = run.sort_values(["qid", "rank"], kind="stable")
    for qid, docno, rank, score in ordered[["qid", "docno", "rank", "score"]].itertuples(index=False):
        if qid == last_qid and float(f"{score:.9g}") >= last:
            score = last - 1e-7 * max(1.0, abs(last))
        lines.append(f"{qid} Q0 {docno} {rank + 1} {score:.9g} {tag}\n")
        last_qid, last = qid, float(f"{score:.9g}")
    try:
        with atomic_write(path) as draft, draft.open("w", encoding="utf-8") as file:
            file.writelines(lines)
    except OSError as fault:
        raise FileError(f"{path} cannot be written ({fault.strerror}); name another place.") from None


def read_qrels(path: Pathish) -> pd.DataFrame:
    """Read judgments: columns qid, docno, relevance. Of a pair that is judged several times the highest counts."""
    path = Path(path)
    rows = [
        (fields[0], fields[2], _whole(path, number, fields[3], "relevance"))
        for number, fields in _lines(path, 4, "qid 0 docno relevance")
    ]
    try:
        return qrels_frame(pd.DataFrame(rows, columns=list(QRELS.columns)), str(path))
    except FrameError as fault:
        raise FileError(f"{path}: {fault}") from None


def write_qrels(qrels: pd.DataFrame, path: Pathish) -> None:
    """Write judgments, complete or not at all."""
    checked = QRELS.check(qrels)
    check_ids(checked["qid"].drop_duplicates(), "query id")
    check_ids(checked["docno"].drop_duplicates(), "docno")
    with atomic_write(Path(path)) as draft, draft.open("w", encoding="utf-8") as file:
        file.writelines(f"{row.qid} 0 {row.docno} {row.relevance}\n" for row in checked.itertuples())


def check_ids(ids: Iterable[str], what: str) -> None:
    """Refuse ids that a TREC file cannot hold: its fields end at white space."""
    for number, text in enumerate(ids, 1):
        if not text or _UNFIT.search(text):
            raise InputError(
                f"the {what} number {number} is empty, or holds white space or a control character, which a TREC file "
                "cannot; replace it, for instance with '_'."
            )


def _lines(path: Path, width: int, shape: str) -> Iterator[tuple[int, list[str]]]:
    for number, line in numbered_lines(path):
        fields = line.split()
        if fields and len(fields) != width:
            raise FileError(f"{path}, line {number}: expected '{shape}' (found {len(fields)} fields).")
        if fields:
            yield number, fields


def _whole(path: Path, line: int, text: str, what: str) -> int:
    number = _number(path, line, text, what)
    if number != int(number) or abs(number) > _LARGEST:
        raise FileError(f"{path}, line {line}: the {what} is not a whole number; fix or delete the line.")
    return int(number)


def _number(path: Path, line: int, text: str, what: str) -> float:
    # Not float() alone: it also takes 1_000, and the digits of other scripts. The text is not shown: in a file that is
    # something else it may be a word of a query.
    number = float(text) if _NUMBER.fullmatch(text) else math.inf
    if math.isinf(number):
        raise FileError(f"{path}, line {line}: the {what} is not a number; fix or delete the line.")
    return number
