"""Which engine and setting a search uses."""

import pytest

from quipukit.errors import InputError
from quipukit.search.private import PrivateSearch
from quipukit.web.searching import Searches, Wish, private_searches
from quipukit.web.settings import Mechanisms
from tests.web.fakes import FakeSearch

MECHANISMS = Mechanisms()
SOLR = "solr+http://127.0.0.1:8983/solr/news"


def searches(any_engine: bool = True, engines: tuple[str, ...] = ()) -> Searches:
    return Searches(MECHANISMS, engines, any_engine=any_engine, opener=FakeSearch)


def test_engines() -> None:
    assert searches().wish(None, None, None, None) == Wish("wordnet")
    assert searches(engines=(SOLR,)).wish(None, None, None, None) == Wish(SOLR)
    assert searches(engines=(SOLR,)).wish("wordnet", None, None, None) == Wish("wordnet")
    assert searches().wish(SOLR, "cmp", 5, 3) == Wish(SOLR, "CMP@5", 3)


def test_others_cannot_name_an_engine() -> None:
    """Or they would reach whatever this machine reaches."""
    closed = searches(any_engine=False, engines=(SOLR,))
    assert closed.wish(SOLR, None, None, None).engine == SOLR
    with pytest.raises(InputError, match="started with"):
        closed.wish("solr+http://10.0.0.1/solr/secret", None, None, None)


@pytest.mark.parametrize("engine", ["/etc/passwd", "irds:vaswani", "file+http://x", "http://x", "../runs"])
def test_an_engine_is_an_address(engine: str) -> None:
    with pytest.raises(InputError, match=r"KIND\+URL"):
        searches().wish(engine, None, None, None)


def test_a_session_goes_on_and_few_are_kept() -> None:
    own = searches()
    first = own.open(Wish("wordnet"))
    assert own.open(Wish("wordnet")) is first
    for n in range(1, 9):
        own.open(Wish("wordnet", "CMP@5", n))
    assert own.open(Wish("wordnet")) is not first
    with pytest.raises(InputError, match="N, the number"):
        own.wish(None, None, None, 0)


def test_a_new_session_keeps_what_was_loaded() -> None:
    own = searches()
    first = own.open(Wish("wordnet"))
    own.forget()
    assert own.open(Wish("wordnet")) is first and isinstance(first, FakeSearch) and first.asked == ["new session"]


@pytest.mark.heavy
def test_the_real_search_fits() -> None:
    search = private_searches("none")("wordnet", "CMP@10", 2)
    assert isinstance(search, PrivateSearch) and len(search.preview("how does a tumor grow").texts) == 2
