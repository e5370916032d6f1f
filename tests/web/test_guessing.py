"""What attackers guess."""

from quipukit.attackers.log import QueryLog
from quipukit.covers.describe import Description
from quipukit.covers.make import make_partition
from quipukit.covers.pool import QueryPool
from quipukit.mechanisms.cover import Cover
from quipukit.vectors.sources import load_vectors
from quipukit.web.guessing import ATTACKERS, INFORMED, Guessers
from tests.web.fakes import LOG, SECRET, small_guessers


def test_the_query_is_found_in_what_keeps_its_words_and_the_log_stays_public() -> None:
    own = small_guessers()
    found = own.guess(SECRET, [SECRET, "zebra in utrecht"])
    assert [one.attacker for one in found] == list(ATTACKERS)
    assert all(one.rank == 1 and one.found and one.texts[0] == SECRET for one in found)
    assert sorted(own.log.texts) == sorted(LOG)  # what was asked is not kept


def test_nothing_sent_is_nothing_guessed() -> None:
    assert all(one.rank is None and not one.found for one in small_guessers().guess("how to cook rice", []))


def test_another_query_is_guessed_first_and_not_marked() -> None:
    found = small_guessers().guess("how to sell rice", ["how to fix a car", "how to fix a car"], top=3)
    assert any(one.texts[0] == "how to fix a car" and not one.hits[0] for one in found)
    for one in found:
        marked = [text for text, hit in zip(one.texts, one.hits, strict=True) if hit]
        assert marked == [text for text in one.texts if text == "how to sell rice"] and one.rank > 1


def test_who_attacks_a_cover_knows_its_groups() -> None:
    pool = QueryPool.of(["cat food", "dog food", "income tax", "tax return"])
    cover = Cover(k=2, cover=make_partition(pool, 2, Description("static:default")))
    own = Guessers(load_vectors(), QueryLog.of(pool.texts))
    informed, *_ = own.guess("income tax", ["tax return", "income tax"], cover, top=2)
    assert (
        informed.attacker == INFORMED and set(informed.texts) == {"income tax", "tax return"} and informed.rank == 1.5
    )
