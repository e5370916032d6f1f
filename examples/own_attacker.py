"""An attacker of your own: count rare words that were sent, check it, and let it attack beside QuIA.

python examples/own_attacker.py
"""

import numpy as np

import quipukit as qk
from quipukit.testing import check_attacker


class RareWords(qk.Attacker):
    """Scores a query of the log by the words that were sent, rare ones first."""

    name, summary = "RareWords", "weighs common words by how rare they are in the log"

    def prepare(self, log, progress=None):
        self.queries = [set(text.lower().split()) for text in log.texts]
        words, counts = np.unique([word for query in self.queries for word in query], return_counts=True)
        self.weights = dict(zip(words.tolist(), np.log(1 + len(log) / counts), strict=True))

    def scores(self, sent):
        # The texts that the search system received for one query; one score per query of the log comes back.
        seen = {word for text in sent.texts for word in text.lower().split()}
        return np.array([sum(self.weights[word] for word in sorted(query & seen)) for query in self.queries], float)


# No peeking, no dice, no use of a row's place in the log; and nothing is found where there is nothing to find.
check_attacker(RareWords())

collection = qk.load_collection("wordnet")
queries = collection.queries().head(5)
obfuscated = qk.obfuscate(queries, ["CMP@5", "CMP@20", "Random"], n=5, seed=7)
log = collection.query_log()[:1000]  # the log is completed with the originals

ranks = qk.attack(obfuscated, queries, log, attackers=["QuIA", RareWords()])
risks = qk.risk(ranks).groupby(["attacker", "mechanism", "value", "measure"], sort=False)["score"].mean()
print(risks.unstack("measure").round(2).to_string())
