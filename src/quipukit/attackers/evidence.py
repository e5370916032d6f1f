"""The posterior of an attacker that does not know which mechanism was used: every mechanism counts by its evidence.

P(sent | q) is the mean over mechanisms, and over the values of each one's grid, of P(sent | q, mechanism, value). What
was sent decides which of them matter: after some dozen texts the likelihoods of wrong mechanisms are smaller by orders
of magnitude.

The stand-in for a mechanism that adds noise tells queries apart, and not how likely a text is: summed over all words,
it would give nearly all weight to those at the center of the vocabulary, where hardly any noisy point ends. Its
evidence is therefore put together: how often the simulated mechanism sends each of the words, whatever was asked, and
how much likelier what was sent is for some queries than for others. With little noise that is too much, so it is held
to the most that any law can give: what words drawn as often as they were sent would have. There the mechanism is not
known for sure, but all that are likely find the same queries.
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
    evidence = []
    closest = (-np.inf, 0)
    for family in families:
        of_family = np.full(len(log_prior), -np.inf)
        for law in family:
            if id(law.sites) not in seen:
                seen[id(law.sites)] = (law.sites, Observed.of(law.sites, texts))
            sites, observed = seen[id(law.sites)]
            queries = sites.of_length(observed.length).queries
            if len(queries):
                likelihood = _likelihood(law, observed, log_prior[queries]) - np.log(len(family))
                of_family[queries] = np.logaddexp(of_family[queries], log_prior[queries] + likelihood)
        evidence.append(_log_sum(of_family))
        if family:
            closest = max(closest, (evidence[-1], id(family[0].sites)))
        joint = np.logaddexp(joint, of_family)
    possible = np.flatnonzero(np.isfinite(joint))
    sites, observed = seen[closest[1]]
    off = np.maximum(np.abs(sites.lengths - observed.length), ~np.isfinite(joint))
    likelihood = joint[possible] - log_prior[possible]
    return scores_of_posterior(log_prior, possible, likelihood, np.zeros(len(possible)), off), evidence


def _likelihood(law: WordLaw, observed: Observed, log_prior: Floats) -> Floats:
    """Return ln P(sent | q) for the queries of the length that was sent, whose prior is given."""
    group = law.sites.of_length(observed.length)
    table = law.table(observed, group.columns)
    slips = SLIP * over_positions(table.violations, group.local)
    likelihood = over_positions(table.log_likelihood, group.local) - slips
    inside = observed.rows < len(law.sites.vectors)
    marginal = law.log_marginal(observed.rows[inside])
    if marginal is None:
        return likelihood
    alone = float((observed.counts[:, inside] @ marginal).sum()) - float(slips.min())
    number = observed.counts[:, inside].sum(axis=1, keepdims=True)
    ratios = over_positions(table.log_likelihood - number * law.surplus(group.columns), group.local)
    gain = _log_sum(log_prior + ratios) - _log_sum(log_prior)
    evidence = min(alone + gain, _most(observed.counts[:, inside], number))
    return likelihood - _log_sum(log_prior + likelihood) + _log_sum(log_prior) + evidence


def _most(counts: Floats, number: Floats) -> float:
    """Return ln P of what was sent under the law that suits it best: each word as likely as it was often."""
    shares = np.divide(counts, number, out=np.ones_like(counts), where=counts > 0)
    return float((counts * np.log(shares)).sum())


def _log_sum(values: Floats) -> float:
    top = float(values.max(initial=-np.inf))
    return top + float(np.log(np.exp(values - top).sum())) if np.isfinite(top) else top
