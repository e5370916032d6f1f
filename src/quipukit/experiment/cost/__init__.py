"""What an experiment costs, before it runs: `estimate`; one file each for amounts, lengths, rates, time and space."""

from quipukit.experiment.cost.estimate import Estimate, estimate, in_words
from quipukit.experiment.cost.rates import TWO_CORES, Rates
from quipukit.experiment.cost.steps import Step

__all__ = ["TWO_CORES", "Estimate", "Rates", "Step", "estimate", "in_words"]
