"""From queries to risk and utility in a minute: hide, search, attack, measure.

python examples/quickstart.py
"""

import quipukit as qk

collection = qk.load_collection("wordnet")
queries = collection.queries().iloc[:8]
qrels = collection.qrels()
qrels = qrels[qrels["qid"].isin(queries["qid"])]  # a query that is judged and not asked would count 0

# Two settings of one mechanism, five variants per query. With a seed the result is the same every time.
obfuscated = qk.obfuscate(queries, ["CMP@5", "CMP@50"], n=5, seed=7)

# What the user finds: every variant is searched, the answers are pooled and re-ranked with the original query.
run = qk.retrieve(obfuscated, collection, retriever="bm25", depth=20)
ranked = qk.rerank(qk.pool(run), queries, collection, reranker="bm25")
utility = qk.utility(ranked, qrels, ["nDCG@10"])

# What an honest-but-curious search system guesses from its query log; here a part of the built-in one.
log = qk.read_log("wordnet").texts[:500]
risk = qk.risk(qk.attack(obfuscated, queries, log))

for name, scores in (("utility", utility), ("risk", risk)):
    means = scores.groupby(["mechanism", "value", "measure"])["score"].mean()
    print(f"{name}\n{means.round(3).to_string()}\n")
