"""A private search over the built-in collection: what leaves, what stays, what is found."""

import threading
from collections.abc import Sequence

import numpy as np
import pytest

import quipukit as qk
from quipukit.errors import InputError, SearchError
from quipukit.retrieval.base import Ranking, Retriever
from quipukit.search.answers import Answer, Preview
from quipukit.search.drafts import shuffled
from quipukit.search.system import shown_of
from quipukit.search.wording import guarantee_in_words

QUERY = "how is gonorrhea treated and passed on"


class Capturing(Retriever):
    """An engine that notes what it is asked, and finds a document for every text."""

    name = "capturing"
    remote = True

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._lock = threading.Lock()

    def search(self, queries: Sequence[str], depth: int, progress: object = None) -> list[Ranking]:
        with self._lock:
            self.asked += queries
        return [Ranking([f"d{len(query)}"], np.ones(1)) for query in queries]


@pytest.fixture(scope="module")
def search() -> qk.PrivateSearch:
    return qk.PrivateSearch()


def test_the_default_finds_and_says_what_left(search: qk.PrivateSearch) -> None:
    search.new_session()
    answer = search.search(QUERY)
    assert isinstance(answer, Answer) and isinstance(answer.preview, Preview)
    assert len(answer.hits) == 10 and all(hit.docno and hit.title and hit.snippet for hit in answer.hits)
    assert len(answer.preview.texts) == 100 and not answer.preview.local and not answer.failed
    assert "StickyCover" in search.reason and answer.preview.guarantee and answer.preview.composed


def test_a_follow_up_under_a_released_node_sends_nothing(search: qk.PrivateSearch) -> None:
    search.new_session()
    engine = Capturing()
    sticky = qk.PrivateSearch(engine, search.mechanism)
    first = sticky.search(QUERY)
    assert sorted(engine.asked) == sorted(first.preview.texts)
    again = sticky.search(QUERY)
    assert again.preview.local and not again.preview.texts and len(engine.asked) == 100
    assert again.hits == first.hits
    sticky.new_session()
    assert not sticky.preview(QUERY).local


def test_a_preview_sends_and_changes_nothing_and_shows_what_is_then_sent() -> None:
    engine = Capturing()
    search = qk.PrivateSearch(engine, "CMP@5", 5)
    shown = search.preview(QUERY)
    assert not engine.asked
    assert sorted(search.preview(QUERY).texts) == sorted(shown.texts)
    assert sorted(search.search(QUERY).preview.texts) == sorted(shown.texts) == sorted(engine.asked)


def test_the_same_query_sends_the_same_variants_unless_the_memo_is_off() -> None:
    with_memo, without = (qk.PrivateSearch(Capturing(), "CMP@2", 5, memo=memo) for memo in (True, False))
    for search, same in ((with_memo, True), (without, False)):
        texts = [sorted(search.search(QUERY).preview.texts) for _ in range(2)]
        assert (texts[0] == texts[1]) is same


def test_threads_that_ask_under_one_node_send_it_once(search: qk.PrivateSearch) -> None:
    engine = Capturing()
    sticky = qk.PrivateSearch(engine, search.mechanism)
    threads = [threading.Thread(target=sticky.search, args=(QUERY,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(engine.asked) == 100


@pytest.mark.parametrize("query", ["", " \t", None, 3])
def test_what_is_no_query_is_refused(query: str, search: qk.PrivateSearch) -> None:
    with pytest.raises(InputError, match="query"):
        search.search(query)


def test_a_fault_of_the_engine_does_not_quote_the_query() -> None:
    class Broken(Capturing):
        def search(self, queries: Sequence[str], depth: int, progress: object = None) -> list[Ranking]:
            raise KeyError(f"{QUERY} {queries}")

    with pytest.raises(SearchError, match="KeyError") as fault:
        qk.PrivateSearch(Broken(), "Random", 2).search(QUERY)
    assert "gonorrhea" not in str(fault.value)
    assert fault.value.__context__ is None


def test_texts_leave_in_a_random_order() -> None:
    texts = [str(number) for number in range(20)]
    orders = {shuffled(texts) for _ in range(3)}
    assert len(orders) == 3  # false alarms: 3 / 20!
    assert all(sorted(order) == sorted(texts) for order in orders)


def test_a_long_text_is_shown_by_its_beginning() -> None:
    shown = shown_of("word " * 200)
    assert shown.title.endswith("word…") and len(shown.title) <= 80 < len(shown.snippet) <= 300


def test_what_is_promised_is_said_in_plain_words() -> None:
    assert "epsilon 10" in guarantee_in_words(qk.MetricDP(10))
    assert guarantee_in_words(qk.NoGuarantee("of chance")) == "Nothing is promised (none: of chance)."
