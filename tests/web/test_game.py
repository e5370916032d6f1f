"""The game."""

import pytest

from quipukit.errors import InputError
from quipukit.web.game import CHOICES, LEVELS, Game
from quipukit.web.settings import Mechanisms
from tests.web.fakes import client, service, small_log


@pytest.fixture(scope="module")
def game() -> Game:
    return Game(Mechanisms(), small_log())


@pytest.mark.parametrize("number", [0, 1, 3])
def test_a_round_can_be_won_and_lost(game: Game, number: int) -> None:
    for right in (True, False):
        dealt = game.deal(number)
        assert len(dealt.texts) == LEVELS[number].n and len(set(dealt.choices)) == CHOICES
        place = dealt.choices.index(dealt.query)
        verdict = game.answer(dealt.identity, place if right else (place + 1) % CHOICES)
        assert verdict.right is right and verdict.query == dealt.query and len(verdict.concluded.attackers) == 3
        assert all(one.rank is not None for one in verdict.concluded.attackers)


def test_levels_offer_enough_to_choose_from() -> None:
    assert all(not level.queries or len(set(level.queries)) >= CHOICES for level in LEVELS)


def test_a_round_ends_once_and_its_answer_stays_here(game: Game) -> None:
    dealt = game.deal(0)
    with pytest.raises(InputError, match="choose one of the 6"):
        game.answer(dealt.identity, 6)
    with pytest.raises(InputError, match="this round is over"):
        game.answer(dealt.identity, 0)
    with pytest.raises(InputError, match="the game has 5 rounds"):
        game.deal(5)
    body = client(service()).post("/api/game/deal", json={"round": 0}).json()
    assert set(body) == {"id", "round", "rounds", "title", "setting", "texts", "choices"}


def test_few_rounds_are_remembered() -> None:
    game = Game(Mechanisms(), small_log(), kept=2)
    first, *_, last = (game.deal(0) for _ in range(3))
    with pytest.raises(InputError, match="this round is over"):
        game.answer(first.identity, 0)
    assert game.answer(last.identity, 0).query == last.query
