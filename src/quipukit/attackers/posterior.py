"""From likelihoods of words to a score for every query of a log."""

import numpy as np

from quipukit.attackers.logsites import Floats, Rows


def over_positions(table: Floats, local: Rows) -> Floats:
    """Return for every query the sum over its positions of what a table holds for its words."""
    total = np.zeros(len(local))
    if table.any():  # of many laws nothing is a violation
        for position, row in enumerate(table):
            total += row[local[:, position]]
    return total


def log_mean_exp(rows: Floats) -> Floats:
    """Return the logarithm of the mean of exponentials, column by column."""
    if len(rows) == 1:
        return rows[0]
    top = rows.max(axis=0)
    mean: Floats = top + np.log(np.exp(rows - top).mean(axis=0))
    return mean


def scores_of_posterior(log_prior: Floats, queries: Rows, likelihood: Floats, violations: Floats, off: Rows) -> Floats:
    """Return a finite score for every query: by violations first, then by posterior; other lengths come last."""
    span = float(np.ptp(log_prior)) if len(log_prior) else 0.0
    scores = log_prior - (1 + span) * off
    if len(queries):
        posterior = log_prior[queries] + likelihood
        step = 1 + float(np.ptp(posterior))
        ranked = posterior - step * (violations - violations.min())
        scores += float(ranked.min()) - float(log_prior.max())
        scores[queries] = ranked
    return scores
