"""A vocabulary of a few words, where the risk that a mechanism leaves can be added up over all that it may send."""

import numpy as np

import quipukit as qk
from quipukit.attackers.base import KnownLog, KnownSetting, Sent
from quipukit.vectors.store import Vectors

WORDS = ["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "ibis", "jay"]
COUNTS = np.array([40, 1, 7, 3, 25, 2, 11, 5, 1, 16])


def vectors(seed=8, scale=1.0):
    return Vectors(WORDS, np.random.default_rng(seed).normal(size=(len(WORDS), 2)) * scale, name="toy")


def setting(mechanism):
    return KnownSetting(mechanism.spec.family, mechanism.parameter, mechanism.value, mechanism)


def log(counts=COUNTS):
    return KnownLog(list(WORDS), np.array(counts))


def probability(mechanism):
    """Return P(y | x) as a matrix, input x output, by the mechanism's own formula."""
    return np.exp([[mechanism.log_prob(output, word) for output in WORDS] for word in WORDS])


def scores(attacker, mechanism, texts):
    return attacker.scores(Sent(tuple(texts), setting(mechanism)))


def first_guess(attacker, mechanism, prior, believed=None):
    """Return the exact P@1 for one word and one text, with the weight of all outputs; ties count as by the harness."""
    law, total = probability(mechanism), 0.0
    for number, output in enumerate(WORDS):
        found = scores(attacker, believed or mechanism, [output])
        best = np.isclose(found, found.max(), rtol=1e-12, atol=0)
        total += (prior * law[:, number])[best].sum() / best.sum()
    return total


def vulnerability(mechanism, prior):
    """Return the Bayes vulnerability: the most that any attacker can reach on average."""
    return (prior[:, None] * probability(mechanism)).max(axis=0).sum()


def sample(mechanism, prior, count, seed=0):
    """Return queries drawn from the prior, and what was sent for each: one word, one text."""
    rng = np.random.default_rng(seed)
    words = [WORDS[row] for row in rng.choice(len(WORDS), count, p=prior)]
    asked = {str(number): word for number, word in enumerate(words)}
    return words, qk.obfuscate(asked, mechanism, n=1, seed=seed)
