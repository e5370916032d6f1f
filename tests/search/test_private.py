"""A private search over the built-in collection: what leaves, what stays, what is found."""

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

import quipukit as qk
from quipukit.errors import EngineError, InputError, LimitError, SearchError
from quipukit.retrieval.base import Ranking
from quipukit.search.answers import Answer, Preview
from quipukit.search.budget import epsilon_of
from quipukit.search.drafts import shuffled
from quipukit.search.ledger import IN_MEMORY, Ledger
from quipukit.search.topics import Topics, query_hash
from quipukit.search.wording import guarantee_in_words
from tests.search.capturing import Capturing

QUERY = "how is gonorrhea treated and passed on"


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
    sticky = qk.PrivateSearch(engine, search.mechanism, gaps=(0.0, 0.0))
    first = sticky.search(QUERY)
    assert sorted(engine.asked) == sorted(first.preview.texts)
    again = sticky.search(QUERY)
    assert again.preview.local and not again.preview.texts and len(engine.asked) == 100
    assert again.hits == first.hits
    sticky.new_session()
    assert not sticky.preview(QUERY).local


def test_a_preview_sends_and_changes_nothing_and_shows_what_is_then_sent() -> None:
    engine = Capturing()
    search = qk.PrivateSearch(engine, "CMP@5", 5, gaps=(0.0, 0.0))
    shown = search.preview(QUERY)
    assert not engine.asked
    assert sorted(search.preview(QUERY).texts) == sorted(shown.texts)
    assert sorted(search.search(QUERY).preview.texts) == sorted(shown.texts) == sorted(engine.asked)


def test_the_same_query_sends_the_same_variants_unless_the_memo_is_off() -> None:
    with_memo, without = (
        qk.PrivateSearch(Capturing(), "CMP@2", 5, memo=memo, gaps=(0.0, 0.0)) for memo in (True, False)
    )
    for search, same in ((with_memo, True), (without, False)):
        texts = [sorted(search.search(QUERY).preview.texts) for _ in range(2)]
        assert (texts[0] == texts[1]) is same


def test_threads_that_ask_under_one_node_send_it_once(search: qk.PrivateSearch) -> None:
    engine = Capturing()
    sticky = qk.PrivateSearch(engine, search.mechanism, gaps=(0.0, 0.0))
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
        qk.PrivateSearch(Broken(), "Random", 2, gaps=(0.0, 0.0)).search(QUERY)
    assert "gonorrhea" not in str(fault.value)
    assert fault.value.__context__ is None


def test_texts_leave_in_a_random_order() -> None:
    texts = [str(number) for number in range(20)]
    orders = {shuffled(texts) for _ in range(3)}
    assert len(orders) == 3  # false alarms: 3 / 20!
    assert all(sorted(order) == sorted(texts) for order in orders)


def test_what_is_promised_is_said_in_plain_words() -> None:
    assert "epsilon 10" in guarantee_in_words(qk.MetricDP(10))
    assert guarantee_in_words(qk.NoGuarantee("of chance")) == "Nothing is promised (none: of chance)."


def test_the_budget_of_a_query_is_that_of_all_its_words_and_variants() -> None:
    assert epsilon_of(qk.mechanism("CMP@10"), 20, "how does a tumor grow") == 10 * 20 * 5
    assert epsilon_of(qk.mechanism("CMP(budget='total')@10"), 20, "how does a tumor grow") == 50
    assert epsilon_of(qk.mechanism("AEA@3"), 20, "how does a tumor grow") is None


def test_related_queries_share_a_topic_whose_name_tells_nothing(search: qk.PrivateSearch) -> None:
    topics = Topics(search.mechanism)
    node = topics.node_of(QUERY)
    assert topics.node_of(f" {QUERY.upper()}") == node and topics.hash_of(node) != topics.hash_of(node + 1)
    assert len(query_hash(QUERY)) == 32 and query_hash(QUERY) == query_hash(QUERY.upper()) != query_hash("cat food")


def test_what_leaves_is_counted_and_a_limit_is_told_before_it_is_crossed() -> None:
    ledger, engine = Ledger(IN_MEMORY), Capturing()
    search = qk.PrivateSearch(engine, "CMP@2", 5, ledger=ledger, gaps=(0.0, 0.0))
    search.search(QUERY)
    spent = 2 * 5 * len(QUERY.split())
    assert ledger.rows()[0].epsilon == spent
    ledger.set_limit("epsilon", 1.5 * spent)
    assert not search.preview(QUERY).over_limit  # the same variants spend nothing
    other = "how is gonorrhea treated and passed off"
    asked = len(engine.asked)
    if Topics(search.mechanism).node_of(other) == Topics(search.mechanism).node_of(QUERY):
        assert search.preview(other).over_limit
        with pytest.raises(LimitError, match="your limit"):
            search.search(other)
        assert len(engine.asked) == asked
        search.search(other, over_limit=True)
        assert len(engine.asked) > asked


def test_variants_are_the_same_in_a_later_process(tmp_path: Path) -> None:
    texts = []
    for _ in range(2):
        with Ledger(tmp_path / "ledger") as ledger:
            search = qk.PrivateSearch(Capturing(), "CMP@2", 5, ledger=ledger, gaps=(0.0, 0.0))
            texts.append(sorted(search.search(QUERY).preview.texts))
    assert texts[0] == texts[1]
    with Ledger(tmp_path / "ledger") as ledger:
        assert (ledger.rows()[0].releases, ledger.rows()[0].repetitions) == (1, 1)


def test_a_node_that_could_not_be_fetched_is_asked_for_again(search: qk.PrivateSearch) -> None:
    class Failing(Capturing):
        broken = True

        def search(self, queries: Sequence[str], depth: int, progress: object = None) -> list[Ranking]:
            if self.broken:
                raise EngineError("failing", "no answer", (0,), 0, 1)
            return super().search(queries, depth, progress)

    engine = Failing()
    sticky = qk.PrivateSearch(engine, search.mechanism, gaps=(0.0, 0.0))
    with pytest.raises(EngineError, match="no answer"):
        sticky.search(QUERY)
    engine.broken = False
    assert len(sticky.search(QUERY).preview.texts) == 100 and sticky.search(QUERY).preview.local
    assert sticky.ledger.rows()[0].repetitions == 1  # the engine may have seen it the first time


def test_a_second_topic_is_refused_where_none_is_allowed(search: qk.PrivateSearch) -> None:
    engine = Capturing()
    one = qk.PrivateSearch(engine, "StickyCover(members=5, further=False)@1000", gaps=(0.0, 0.0))
    one.search(QUERY)
    answer = one.search("can i lose my house in a divorce")
    assert not answer.hits and "further=False" in answer.preview.warnings[0] and len(engine.asked) == 5


def test_a_session_that_narrows_itself_down_is_warned_of(search: qk.PrivateSearch) -> None:
    sticky = qk.PrivateSearch(Capturing(), search.mechanism, gaps=(0.0, 0.0))
    warnings: list[str] = []
    for query in ("which honey oil is most addictive", "where does the word des come from", "best age for flurry"):
        warnings += sticky.search(query).preview.warnings
    warnings += sticky.search("can a child go dutch").preview.warnings
    assert any("remain likely" in warning for warning in warnings)


def test_starting_sends_nothing() -> None:
    engine = Capturing()
    search = qk.PrivateSearch(engine, "Random", 2)
    search.start()
    assert not engine.asked and search.ledger.rows() == []
