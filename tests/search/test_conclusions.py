"""What an engine could conclude: guesses of attackers from a log."""

import quipukit as qk
from quipukit.search.conclusions import QUICK, conclusions

LOG = qk.read_log(["how does a tumor grow", "income tax return", "cat food for kittens", "flights to rome", "dog food"])


def test_who_sends_the_query_with_little_noise_is_found_out() -> None:
    texts = ["how does a tumors grow", "how did a tumor grows"]
    found = conclusions(texts, LOG)
    assert [name for name, _ in found] == list(QUICK)
    assert all(guesses[0] == "how does a tumor grow" and len(guesses) == 5 for _, guesses in found)


def test_nothing_sent_tells_nothing() -> None:
    assert conclusions([], LOG) == []


def test_attackers_and_the_number_of_guesses_can_be_chosen() -> None:
    ((name, guesses),) = conclusions(["dogs food"], LOG, attackers=["Words"], guesses=1)
    assert (name, guesses) == ("Words", ["dog food"])


def test_who_knows_the_cover_guesses_within_the_group() -> None:
    from quipukit.covers.describe import Description
    from quipukit.covers.make import make_partition
    from quipukit.covers.pool import QueryPool
    from quipukit.mechanisms.cover import Cover

    pool = QueryPool.of(["cat food", "dog food", "income tax", "tax return"])
    cover = Cover(k=2, cover=make_partition(pool, 2, Description("static:default")))
    log = qk.read_log([*pool.texts, "flights to rome"])
    (bayes, guesses), *_ = conclusions(cover.obfuscate("income tax"), log, cover)
    assert bayes == "Bayes" and set(guesses[:2]) == {"income tax", "tax return"}
