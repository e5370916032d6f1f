"""The posterior of an attacker that does not know which mechanism was used: every mechanism counts by its evidence.

P(sent | q) is the mean over mechanisms, and over the values of each one's grid, of P(sent | q, mechanism, value). What
was sent decides which of them matter: after some dozen texts the likelihoods of wrong mechanisms are smaller by orders
of magnitude.
"""

from collections.abc import Sequence

import numpy as np

from quipukit.attackers.logsites import Floats, LogSites, Observed
from quipukit.attackers.posterior import over_positions, scores_of_posterior
from quipukit.attackers.tables import WordLaw

# What a word that a mechanism cannot have sent costs it, in nats: such a word is a slip of a tokenizer, or it is proof.
SLIP = 20.0


def posterior_over_laws(
    families: "Sequence[Sequence[WordLaw]]", texts: Sequence[str], log_prior: Floats
) -> tuple[Floats, list[float]]:
    """Return a score for every query, and ln P(sent) under each family: its evidence, on the scale of the others.

    A family is a mechanism at several values, which are equally likely, as the families are.
    """
    seen: dict[int, tuple[LogSites, Observed]] = {}
    joint = np.full(len(log_prior), -np.inf)
    evidence: list[float] = []
    closest = (-np.inf, 0)
    for family in families:
        of_family = np.full(len(log_prior), -np.inf)
        for law in family:
            if id(law.sites) not in seen:
                seen[id(law.sites)] = (law.sites, Observed.of(law.sites, texts))
            sites, observed = seen[id(law.sites)]
            group = sites.of_length(observed.length)
            if not len(group.queries):
                continue
            likelihood = _likelihood(law, observed) - np.log(len(family))
            of_family[group.queries] = np.logaddexp(of_family[group.queries], log_prior[group.queries] + likelihood)
        evidence.append(_log_sum(of_family))
        if family:
            closest = max(closest, (evidence[-1], id(family[0].sites)))
        joint = np.logaddexp(joint, of_family)
    possible = np.flatnonzero(np.isfinite(joint))
    sites, observed = seen[closest[1]]
    off = np.maximum(np.abs(sites.lengths - observed.length), ~np.isfinite(joint))
    likelihood = joint[possible] - log_prior[possible]
    return scores_of_posterior(log_prior, possible, likelihood, np.zeros(len(possible)), off), evidence


def _likelihood(law: WordLaw, observed: Observed) -> Floats:
    """Return ln P(sent | q) for the queries of the length that was sent."""
    group = law.sites.of_length(observed.length)
    table = law.table(observed, group.columns)
    words = table.log_likelihood - SLIP * table.violations
    inside = observed.rows < len(law.sites.vectors)
    here = np.flatnonzero(law.sites.kinds[group.columns] == 0)
    words[:, here] += law.normalization(observed.rows[inside], observed.counts[:, inside], group.columns[here])
    return over_positions(words, group.local)


def _log_sum(values: Floats) -> float:
    top = float(values.max(initial=-np.inf))
    return top + float(np.log(np.exp(values - top).sum())) if np.isfinite(top) else top
