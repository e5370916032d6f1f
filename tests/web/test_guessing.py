"""What attackers guess."""

from quipukit.web.guessing import ATTACKERS
from tests.web.fakes import LOG, SECRET, small_guessers


def test_the_query_is_found_in_what_keeps_its_words_and_the_log_stays_public() -> None:
    own = small_guessers()
    found = own.guess(SECRET, [SECRET, "zebra in utrecht"])
    assert [one.attacker for one in found] == list(ATTACKERS)
    assert all(one.rank == 1 and one.found and one.texts[0] == SECRET for one in found)
    assert sorted(own.log.texts) == sorted(LOG)  # what was asked is not kept


def test_nothing_sent_is_nothing_guessed() -> None:
    assert all(one.rank is None and not one.found for one in small_guessers().guess("how to cook rice", []))


def test_another_query_is_not_marked() -> None:
    found = small_guessers().guess("how to sell rice", ["fix a car"], top=3)
    assert all(len(one.texts) == 3 and not one.found and one.rank > 3 for one in found)
