"""The posterior of an attacker that does not know which mechanism was used: every mechanism counts by its evidence.

P(sent | q) is the mean over mechanisms, and over the values of each one's grid, of P(sent | q, mechanism, value). What
was sent decides which of them matter: after some dozen texts the likelihoods of wrong mechanisms are smaller by orders
of magnitude. To make a stand-in a probability takes a sum over all words; it is not computed where a bound shows that
the law cannot change a digit of the mean.
"""

from collections.abc import Sequence

import numpy as np

from quipukit.attackers.logsites import Floats, LogSites, Observed
from quipukit.attackers.noiselaws import NOTHING
from quipukit.attackers.posterior import over_positions, scores_of_posterior
from quipukit.attackers.tables import WordLaw

# What a word that a mechanism cannot have sent costs it, in nats: such a word is a slip of a tokenizer, or it is proof.
SLIP = 20.0


def posterior_over_laws(
    families: "Sequence[Sequence[WordLaw]]", texts: Sequence[str], log_prior: Floats
) -> tuple[Floats, list[float]]:
    """Return a score for every query, and ln P(sent) under each family: its evidence, on the scale of the others.

    A family is a mechanism at several values, which are equally likely, as the families are. The evidence of one that
    cannot matter is an upper bound.
    """
    seen: dict[int, tuple[LogSites, Observed]] = {}
    joint = np.full(len(log_prior), -np.inf)
    evidence = [-np.inf] * len(families)
    closest = (-np.inf, 0)
    # Stand-ins last: by then it is known what they must explain as well as others.
    for number in sorted(range(len(families)), key=lambda number: not all(law.normalized for law in families[number])):
        family = families[number]
        of_family = np.full(len(log_prior), -np.inf)
        for law in family:
            if id(law.sites) not in seen:
                seen[id(law.sites)] = (law.sites, Observed.of(law.sites, texts))
            sites, observed = seen[id(law.sites)]
            group = sites.of_length(observed.length)
            if not len(group.queries):
                continue
            prior, share = log_prior[group.queries], -np.log(len(family))
            others = np.logaddexp(joint[group.queries], of_family[group.queries]) - prior - share
            likelihood = _likelihood(law, observed, others - NOTHING) + share
            of_family[group.queries] = np.logaddexp(of_family[group.queries], prior + likelihood)
        evidence[number] = _log_sum(of_family)
        if family:
            closest = max(closest, (evidence[number], id(family[0].sites)))
        joint = np.logaddexp(joint, of_family)
    possible = np.flatnonzero(np.isfinite(joint))
    sites, observed = seen[closest[1]]
    off = np.maximum(np.abs(sites.lengths - observed.length), ~np.isfinite(joint))
    likelihood = joint[possible] - log_prior[possible]
    return scores_of_posterior(log_prior, possible, likelihood, np.zeros(len(possible)), off), evidence


def _likelihood(law: WordLaw, observed: Observed, floor: Floats) -> Floats:
    """Return ln P(sent | q) for the queries of the length that was sent; below the floor, an upper bound."""
    group = law.sites.of_length(observed.length)
    table = law.table(observed, group.columns)
    words = table.log_likelihood - SLIP * table.violations
    if law.normalized:
        return over_positions(words, group.local)
    inside = observed.rows < len(law.sites.vectors)
    sent = observed.rows[inside], observed.counts[:, inside]
    here = np.flatnonzero(law.sites.kinds[group.columns] == 0)
    bounds = words.copy()
    bounds[:, here] += law.most_normalization(*sent, group.columns[here])
    likelihood = over_positions(bounds, group.local)
    wanted = np.flatnonzero(likelihood >= floor)
    used = np.zeros(len(group.columns), bool)
    used[group.local[wanted]] = True
    exact = here[used[here]]
    words[:, exact] += law.normalization(*sent, group.columns[exact])
    likelihood[wanted] = over_positions(words, group.local[wanted])
    return likelihood


def _log_sum(values: Floats) -> float:
    top = float(values.max(initial=-np.inf))
    return top + float(np.log(np.exp(values - top).sum())) if np.isfinite(top) else top
