"""The query never leaves, for any mechanism: not in a request, a log line, a file, an error, the process's title.

An engine that captures all that it is asked, a handler on the root logger at every level, the standard streams and all
files of a home of its own are searched for the query, for its key, and for the text in the forms by which
`are_originals` compares. The group of a cover may hold it: that is what hides it, and it is counted.
"""

import logging
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

import quipukit as qk
from quipukit.errors import InputError, QuipukitError
from quipukit.mechanisms.cover import Cover
from quipukit.registry import built_in_names, mechanism_class
from quipukit.retrieval.base import Ranking
from quipukit.retrieval.consent import are_originals
from quipukit.search.ledger import Ledger
from quipukit.text import key
from tests.mechanisms.test_dpmlm import folder, made
from tests.retrieval.fake_engine import Reply, searxng, sent, serving
from tests.search.capturing import Capturing

__all__ = ["folder"]

IN_POOL = "how is gonorrhea treated and passed on"
OUTSIDE = "whether gonorrhea medicine harms my unborn zebra"

# A setting of each that hides something; None for those that send the query by design, which are refused.
SETTINGS = {
    "CMP": "CMP@5",
    "Mahalanobis": "Mahalanobis@5",
    "VickreyCMP": "VickreyCMP@5",
    "VickreyMhl": "VickreyMhl@5",
    "CusText": "CusText@1",
    "SanText": "SanText@1",
    "SanText+": "SanText+@1",
    "TEM": "TEM@1",
    "Diffractor": "Diffractor@0.1",
    "RANTEXT": "RANTEXT@1",
    "NoisyRANTEXT": "NoisyRANTEXT@1",
    "DPMLM": "DPMLM@3",
    "ContextualCMP": "ContextualCMP@50",
    "ContextualMhl": "ContextualMhl@50",
    "WBB": "WBB@5",
    "AEA": "AEA@3",
    "FEA": "FEA@3",
    "Cover": "Cover@50",
    "QueryExp": "QueryExp@5",
    "Decoys": None,
    "StickyCover": "StickyCover(members=20)@200",
    "Identity": None,
    "Random": "Random",
}


# With the whole vocabulary these take minutes until they are ready.
SLOW_TO_PREPARE = ("Diffractor", "RANTEXT", "NoisyRANTEXT")


def few_words() -> qk.Vectors:
    """Return vectors of the words of both queries and of 500 others."""
    words = [*dict.fromkeys(f"{IN_POOL} {OUTSIDE}".split()), *(f"word{number}" for number in range(500))]
    return qk.Vectors(words, np.random.default_rng(5).normal(size=(len(words), 20)).astype(np.float32))


class Everything(logging.Handler):
    """Notes all that is logged, with its arguments and exceptions."""

    def __init__(self) -> None:
        super().__init__(logging.NOTSET)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{self.format(record)} {record.args} {record.exc_info}")


@pytest.fixture
def everything() -> Iterator[Everything]:
    handler, root = Everything(), logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.NOTSET)
    yield handler
    root.removeHandler(handler)
    root.setLevel(level)


def forms(query: str) -> list[str]:
    """Return how a query may be written: as it is, folded, escaped, as part of a URL."""
    words = query.split()
    return [query, key(query), "+".join(words), "%20".join(words), "\\u0020".join(words), repr(words)]


def assert_absent(query: str, text: str) -> None:
    for form in forms(query):
        assert form not in text


def files_below(folder: Path) -> str:
    return "".join(path.read_bytes().decode("latin-1") + path.name for path in folder.rglob("*") if path.is_file())


def process_title() -> str:
    with open("/proc/self/cmdline", "rb") as command, open("/proc/self/comm", "rb") as name:
        return (command.read() + name.read()).decode("latin-1")


def test_every_mechanism_is_tested() -> None:
    assert sorted(SETTINGS) == sorted(built_in_names())
    assert {name for name, setting in SETTINGS.items() if setting is None} == {
        name
        for name in built_in_names()
        if mechanism_class(name).sends_original and not issubclass(mechanism_class(name), Cover)
    }


@pytest.mark.parametrize("name", [name for name, setting in SETTINGS.items() if setting])
def test_the_query_is_nowhere(
    name: str,
    tmp_path: Path,
    everything: Everything,
    capfd: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    setting: object = SETTINGS[name]
    if name == "DPMLM":  # whose model is made for its own tests
        setting = made(request.getfixturevalue("folder"))
    elif name in SLOW_TO_PREPARE:
        setting = qk.mechanism(SETTINGS[name] or name, vectors=few_words())
    engine = Capturing()
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        search = qk.PrivateSearch(engine, setting, 5, ledger=ledger, gaps=(0.0, 0.0))
        covers, counted = isinstance(search.mechanism, Cover), 0
        for query in (IN_POOL, OUTSIDE, IN_POOL.upper()):
            before = len(engine.asked)
            preview = search.preview(query)
            assert len(engine.asked) == before
            answer = search.search(query)
            new = engine.asked[before:]
            assert sorted(new) == sorted(answer.preview.texts)
            among = int(are_originals(new, [query]).sum())
            if not covers:
                assert not among and not answer.preview.sends_original
            else:
                counted += bool(among)
                assert among <= 1 and answer.preview.sends_original == bool(among)
            assert preview.local == answer.preview.local
        if covers:
            assert sum(row.originals for row in ledger.rows()) == counted
    streams = capfd.readouterr()
    stored = files_below(tmp_path)
    for query in (IN_POOL, OUTSIDE):
        assert_absent(query, "\n".join(everything.lines) + streams.out + streams.err + stored)
        assert_absent(query, process_title() + str(vars(search.ledger)))
    assert everything.lines  # or the handler would prove nothing


@pytest.mark.parametrize("name", [name for name, setting in SETTINGS.items() if not setting])
def test_what_sends_the_query_by_design_is_refused_over_the_network(name: str) -> None:
    default = mechanism_class(name).parameter
    with pytest.raises(InputError, match="as it is"):
        qk.PrivateSearch(Capturing(), f"{name}@5" if default else name)


def test_a_setting_that_draws_the_query_itself_sends_nothing() -> None:
    engine = Capturing()
    search = qk.PrivateSearch(engine, "CMP@1000000", 3)
    query = "how does a tumor grow"
    preview, answer = search.preview(query), search.search(query)
    assert not engine.asked and not answer.hits and not preview.texts
    assert "drew your query itself" in answer.preview.warnings[0]
    assert search.ledger.rows() == []


def test_the_wrong_twin_is_noticed(tmp_path: Path, everything: Everything) -> None:
    """What looks for the query finds it where somebody does log or write it."""
    logging.getLogger("careless").debug("searching for %s", IN_POOL)
    (tmp_path / "cache").write_text(f"{IN_POOL}\n")
    for text in ("\n".join(everything.lines), files_below(tmp_path)):
        with pytest.raises(AssertionError):
            assert_absent(IN_POOL, text)


def test_nothing_is_logged_where_a_real_request_leaves(
    everything: Everything, capfd: pytest.CaptureFixture[str]
) -> None:
    with serving(lambda _: Reply(searxng(1))) as server:
        search = qk.PrivateSearch(f"searxng+http://{server.host}", "CMP@5", 3, gaps=(0.0, 0.0), depth=1)
        texts = search.search(IN_POOL).preview.texts
        assert {sent(asked) for asked in server.asked} == set(texts)
        wire = "".join(f"{asked.path}{asked.params}{asked.headers}{asked.raw!r}" for asked in server.asked)
    streams = capfd.readouterr()
    assert_absent(IN_POOL, wire + "\n".join(everything.lines) + streams.out + streams.err)
    for text in texts:  # what leaves is not logged, either
        assert text not in "\n".join(everything.lines)


FAULTS = [KeyError, UnicodeEncodeError, RecursionError, MemoryError, OSError]


@pytest.mark.parametrize("kind", FAULTS)
def test_faults_do_not_quote_the_query(kind: type[Exception], everything: Everything) -> None:
    class Broken(Capturing):
        def search(self, queries: Sequence[str], depth: int, progress: object = None) -> list[Ranking]:
            if kind is UnicodeEncodeError:
                raise UnicodeEncodeError("utf-8", f"{IN_POOL}\ud800", 0, 1, IN_POOL)
            raise kind(IN_POOL, queries)

    with pytest.raises(QuipukitError) as fault:
        qk.PrivateSearch(Broken(), "Random", 2, gaps=(0.0, 0.0)).search(IN_POOL)
    seen: BaseException | None = fault.value
    while seen is not None:
        assert_absent(IN_POOL, f"{seen} {seen!r} {seen.args}")
        seen = seen.__cause__ or seen.__context__
    assert_absent(IN_POOL, "\n".join(everything.lines))


def test_the_environment_of_the_process_is_left_alone() -> None:
    before = dict(os.environ)
    qk.PrivateSearch(Capturing(), "Random", 2, gaps=(0.0, 0.0)).search(IN_POOL)
    assert dict(os.environ) == before
