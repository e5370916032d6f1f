"""What other programs know: SearXNG's result format, and the description that makes this a browser's search engine."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, urlsplit
from xml.sax.saxutils import escape

ENGINE = "quipukit"


def result_page(query: str, hits: Sequence[Any]) -> dict[str, Any]:
    """Return an answer in SearXNG's JSON format.

    A document without an address, as those of the built-in collection, gets a URN: clients expect a text there.
    """
    return {
        "query": query,
        "number_of_results": len(hits),
        "results": [_result(place, hit) for place, hit in enumerate(hits, 1)],
        "answers": [],
        "corrections": [],
        "infoboxes": [],
        "suggestions": [],
        "unresponsive_engines": [],
    }


def _result(place: int, hit: Any) -> dict[str, Any]:
    address = address_of(hit)
    return {
        "url": address,
        "title": hit.title,
        "content": hit.snippet,
        "engine": ENGINE,
        "engines": [ENGINE],
        "parsed_url": _parsed(address),
        "template": "default.html",
        "positions": [place],
        "score": float(hit.score),
        "category": "general",
    }


def address_of(hit: Any) -> str:
    """Return where a document is: its address on the web, or a name.

    Anything but http and https is no address: an engine may answer with a link that runs a script.
    """
    web = hit.url.lower().startswith(("http://", "https://"))
    return hit.url if web else f"urn:quipukit:{quote(hit.docno, safe='')}"


def _parsed(address: str) -> list[str]:
    try:
        parts = urlsplit(address)
    except ValueError:  # an address with half a bracket
        return ["", "", address, "", "", ""]
    return [parts.scheme, parts.netloc, parts.path, "", parts.query, parts.fragment]


def description(root: str) -> str:
    """Return the OpenSearch description of this service; ``root`` is its own address."""
    base = escape(root.rstrip("/"), {'"': "&quot;"})
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/">\n'
        "  <ShortName>quipukit</ShortName>\n"
        "  <Description>Private search on this machine</Description>\n"
        "  <InputEncoding>UTF-8</InputEncoding>\n"
        f'  <Url type="text/html" method="get" template="{base}/search?q={{searchTerms}}"/>\n'
        f'  <Url type="application/json" method="get" template="{base}/search?q={{searchTerms}}&amp;format=json"/>\n'
        f'  <Url type="application/opensearchdescription+xml" rel="self" template="{base}/opensearch.xml"/>\n'
        "</OpenSearchDescription>\n"
    )
