"""SearXNG's format, and what browsers need to add a search engine."""

from typing import Any
from xml.etree import ElementTree

import pytest

from quipukit.search.answers import Hit
from quipukit.web.searx import address_of, description, result_page
from tests.web.fakes import ROOT, SECRET, client


class SearxClient:
    """Asks and reads as LangChain's SearxSearchWrapper does: the host itself is asked, with these parameters."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def results(self, query: str, count: int) -> list[dict[str, Any]]:
        params = {"language": "en", "format": "json", "q": query, "engines": "", "categories": ""}
        answer = self.client.get("/", params=params)
        assert answer.status_code == 200 and answer.headers["content-type"] == "application/json"
        body = answer.json()
        assert body["answers"] == []
        return [
            {
                "snippet": result.get("content", ""),
                "title": result["title"],
                "link": result["url"],
                "engines": result["engines"],
                "category": result["category"],
            }
            for result in body["results"][:count]
        ]


def test_a_client_of_searxng_needs_no_change() -> None:
    first, second = SearxClient(client(token=False)).results(SECRET, 5)
    assert first["title"] == "A page" and first["link"] == "https://example.org/a?b=1&c=2"
    assert second["link"] == "urn:quipukit:d2" and second["engines"] == ["quipukit"]


@pytest.mark.parametrize("path", ["/", "/search"])
def test_all_fields_of_the_format(path: str) -> None:
    body = client(token=False).get(path, params={"q": "x y", "format": "json"}).json()
    assert set(body) == {
        *("query", "number_of_results", "results", "answers", "corrections", "infoboxes", "suggestions"),
        "unresponsive_engines",
    }
    assert body["query"] == "x y" and body["number_of_results"] == len(body["results"]) == 2
    result = body["results"][0]
    assert result["parsed_url"] == ["https", "example.org", "/a", "", "b=1&c=2", ""]
    assert result["positions"] == [1] and result["score"] == 2.0
    assert client(token=False).get(path, params={"q": "x", "format": "rss"}).status_code == 422


@pytest.mark.parametrize(
    "url", ["", "javascript:alert(1)", "data:text/html,x", " https://x", "file:///etc/passwd", "https"]
)
def test_only_addresses_of_the_web_are_links(url: str) -> None:
    assert address_of(Hit("a b/c", url, "", "", 0.0)) == "urn:quipukit:a%20b%2Fc"


def test_an_odd_address_is_no_crash() -> None:
    page = result_page("x", [Hit("d", "http://[half", "", "", 0.0)])
    assert page["results"][0]["url"] == "http://[half"


def test_browsers_can_add_it() -> None:
    answer = client(token=False).get("/opensearch.xml")
    assert answer.headers["content-type"].startswith("application/opensearchdescription+xml")
    root = ElementTree.fromstring(answer.text)
    space = "{http://a9.com/-/spec/opensearch/1.1/}"
    templates = {url.get("type"): url.get("template") for url in root.findall(f"{space}Url")}
    assert templates["text/html"] == f"{ROOT}/search?q={{searchTerms}}"
    assert 'href="/opensearch.xml"' in client().get("/").text
    ElementTree.fromstring(description('http://x"><y>/'))
