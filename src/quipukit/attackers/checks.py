"""What an attacker gives to the harness, checked: a number that is none would tie with the whole log."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from quipukit.attackers.base import Attacker, Floats, Sent
from quipukit.attackers.ties import extremes
from quipukit.errors import InputError


def check_log_vectors(attacker: Attacker) -> None:
    """Refuse vectors of the log that are not finite."""
    vectors = attacker.log_vectors
    # Encodings were checked when they were made.
    if isinstance(vectors, np.ndarray) and not np.isfinite(vectors).all():
        raise InputError(
            f"the attacker {attacker.spec!r} has log_vectors that are not finite; check how it makes them."
        )


def checked_vectors(attacker: Attacker, sent: Sequence[Sent]) -> Floats | None:
    """Return an attacker's vectors for what was sent; one that is not finite would tie with the whole log."""
    vectors = attacker.sent_vectors(sent)
    if vectors is not None and (len(vectors) != len(sent) or not np.isfinite(vectors).all()):
        raise InputError(
            f"the attacker {attacker.spec!r} gave no finite vector for each of {len(sent):,}; sent_vectors() must "
            "return one row for each."
        )
    return vectors


def checked_scores(attacker: Attacker, scored: Any, rows: int) -> tuple[Floats, tuple[float, float]]:
    """Return scores in the order of the attackers' log, one for every row, and the lowest and the highest."""
    try:
        scores = np.asarray(scored, np.float64)
    except (TypeError, ValueError):  # no numbers at all
        scores = np.empty(0)
    limits = extremes(scores) if scores.shape == (rows,) else (np.nan, np.nan)
    if not np.isfinite(limits).all():
        raise InputError(
            f"the attacker {attacker.spec!r} gave no finite score for each of the {rows:,} rows of the log; scores() "
            "must return one number per row."
        )
    return scores, limits
