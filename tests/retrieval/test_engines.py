"""Addresses of engines, and what each makes of a query: words, never instructions; nothing touches the network."""

import pytest

from quipukit.errors import InputError
from quipukit.retrieval.engines import ENGINES, read_spec

ADDRESSES = {
    "anserini": "anserini+http://host:8081/index",
    "opensearch": "opensearch+https://host/news?field=title",
    "elasticsearch": "elasticsearch+http://host/news",
    "solr": "solr+http://host/solr/core",
    "searxng": "searxng+http://host",
}


def test_every_kind_has_an_address_here():
    assert set(ADDRESSES) == set(ENGINES.built_in)


@pytest.mark.parametrize("address", ADDRESSES.values())
def test_an_address_is_written_in_one_way(address):
    engine = read_spec(address)
    assert read_spec(engine.identity) == engine and engine.identity == address
    assert engine.where.endswith(address.split("//")[1].split("/")[0])


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("opensearch+http://bob:hunter2@host/news", "no user or password"),
        (
            "opensearch+http://host/news?apikey=hunter2",
            "takes the options docno, field, snippet, title, url and no other",
        ),
        ("anserini+http://host/index?key=hunter2", "takes no options"),
        ("opensearch+http://host/", "lacks the index"),
        ("opensearch+ftp://host/hunter2", "written as KIND"),
        ("lucene+http://host/hunter2", "written as KIND"),
        ("solr+http:///solr/hunter2", "written as KIND"),
    ],
)
def test_a_wrong_address_says_the_fix_and_quotes_nothing(address, words):
    with pytest.raises(InputError, match=words) as fault:
        read_spec(address)
    assert "hunter2" not in str(fault.value)


@pytest.mark.parametrize("kind", ADDRESSES)
def test_what_holds_no_word_is_not_sent(kind):
    engine = read_spec(ADDRESSES[kind])
    for nothing in ("", "  ", "\x00\ud800", "?!"):
        assert engine.prepare(nothing) == ""
    assert engine.prepare("  sea\x00 food\n") == "sea food"


@pytest.mark.parametrize(
    ("query", "prepared"),
    [
        ('"cat food" -dog', "cat food dog"),
        ("site:example.org tumor", "site example.org tumor"),
        ("!images cats OR dogs", "images cats or dogs"),
        (":de <3 cats", "de 3 cats"),
        ("C++ (language)", "C++ language"),
    ],
)
def test_searxng_gets_no_operators(query, prepared):
    assert read_spec(ADDRESSES["searxng"]).prepare(query) == prepared


def test_solr_gets_no_local_parameters():
    assert read_spec(ADDRESSES["solr"]).prepare("{!xmlparser} cats") == "!xmlparser} cats"
