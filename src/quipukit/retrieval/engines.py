"""What each kind of engine is asked, and how its answer is read; nothing here touches the network.

A query is words. No engine may take a quote, a minus or a colon in it for an instruction: where a parser without
operators exists it is used, and where none exists what it would take for an operator is removed.
"""

import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, TypeVar
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit

from quipukit.errors import InputError, ResourceError
from quipukit.registry import Registry
from quipukit.retrieval.base import Shown
from quipukit.retrieval.credentials import HOW, TOKEN
from quipukit.retrieval.hits import Hits, docno_of, score_of, shown_document, shown_fields

T = TypeVar("T")

_ROLES = ("title", "snippet", "url")  # of fields that are shown


class Incomplete(Exception):
    """An answer that is well formed and says of itself that it is not the whole one."""


@dataclass(frozen=True)
class Call:
    """One HTTP request."""

    method: str
    url: str
    params: Mapping[str, str] | None = None
    form: Mapping[str, str] | None = None
    json: Any = None


class Fetch(Protocol):
    """Sends a call, again if need be, until ``read`` accepts the answer."""

    def __call__(self, call: Call, read: Callable[[Any], T]) -> T: ...


@dataclass(frozen=True)
class Engine(ABC):
    """One kind of engine at one address: a value without any secret, to be stored and shown as its ``identity``."""

    address: str
    options: Mapping[str, str] = field(default_factory=dict)

    kind: ClassVar[str]
    label: ClassVar[str]
    known: ClassVar[frozenset[str]] = frozenset()  # the options that it takes
    needs_path: ClassVar[bool] = True  # of the address: without it the index is missing
    # Engines show no more than the first ten thousand documents, unless their owner has asked them to.
    window: ClassVar[int | None] = 10_000
    hints: ClassVar[Mapping[int, str]] = {}  # what to look at when it answers with a status

    @classmethod
    def path(cls, path: str) -> str:
        """Return the path of an address as this kind of engine needs it: without a slash at its end."""
        return path.rstrip("/")

    @property
    def identity(self) -> str:
        """The engine's spec, written in one way."""
        return f"{self.kind}+{self.address}" + (f"?{urlencode(sorted(self.options.items()))}" if self.options else "")

    @property
    def where(self) -> str:
        """Kind and host, for messages."""
        return f"{self.label} at {urlsplit(self.address).netloc}"

    def prepare(self, query: str) -> str:
        """Return the text to send, with the same meaning to this engine; empty if there is nothing to search."""
        # Half surrogates cannot be sent at all, and control characters upset some servers.
        text = "".join(" " if unicodedata.category(character) in ("Cc", "Cs") else character for character in query)
        return " ".join(text.split()) if any(map(_searchable, text)) else ""

    @abstractmethod
    def ask(self, fetch: Fetch, text: str, depth: int) -> Hits:
        """Return what the engine finds for a prepared text: documents with scores, and what it shows of them."""

    def _named(self, document: Mapping[str, Any]) -> Shown:
        """Return what is shown of a document: the fields that the options ``title``, ``snippet`` and ``url`` name."""
        names = (self.options.get(role) for role in _ROLES)
        return shown_fields(*(document.get(name) if name else None for name in names))

    @property
    def _fields(self) -> list[str]:
        """Return the fields to ask for, beside the id."""
        return list(dict.fromkeys(name for role in _ROLES if (name := self.options.get(role))))


class Anserini(Engine):
    """Anserini's REST server: BM25 over a bag of words; the path of the address is the index."""

    kind = "anserini"
    label = "Anserini"
    hints: ClassVar = {400: "can its index be opened? An absolute path needs two slashes after the host"}

    @classmethod
    def path(cls, path: str) -> str:
        """Return the path as it is: it may be that of a folder."""
        return path

    def ask(self, fetch: Fetch, text: str, depth: int) -> Hits:
        """See Engine."""
        parts = urlsplit(self.address)
        index = quote(unquote(parts.path[1:]), safe="")
        url = f"{parts.scheme}://{parts.netloc}/v1/{index}/search"
        return fetch(Call("GET", url, params={"query": text, "hits": str(depth)}), self._read)

    @staticmethod
    def _read(answer: Any) -> Hits:
        return [
            (docno_of(hit["docid"]), score_of(hit["score"]), shown_document(hit.get("doc")))
            for hit in answer["candidates"]
        ]


class OpenSearch(Engine):
    """OpenSearch's ``_search`` with a ``match`` query, which has no syntax; the path of the address is the index.

    ``field`` names the fields to search, separated by commas (default: all); ``docno`` the field that holds the
    document's id (default: ``_id``); ``title``, ``snippet`` and ``url`` the fields that are shown (default: none).
    """

    kind = "opensearch"
    label = "OpenSearch"
    known = frozenset({"field", "docno", *_ROLES})
    hints: ClassVar = {
        400: "check the names of index and fields; and a depth above 10,000 needs a larger index.max_result_window",
        404: "check the name of the index",
    }

    def ask(self, fetch: Fetch, text: str, depth: int) -> Hits:
        """See Engine."""
        fields = [name for name in self.options.get("field", "").split(",") if name]
        if len(fields) == 1:
            query: dict[str, Any] = {"match": {fields[0]: {"query": text}}}
        else:
            query = {"multi_match": {"query": text, "lenient": True} | ({"fields": fields} if fields else {})}
        source = ([self.options["docno"]] if "docno" in self.options else []) + self._fields
        body = {"query": query, "size": depth, "track_total_hits": False, "_source": source or False}
        # Half an answer would pass for a whole one: a failed shard has to be an error.
        call = Call("POST", f"{self.address}/_search", params={"allow_partial_search_results": "false"}, json=body)
        return fetch(call, self._read)

    def _read(self, answer: Any) -> Hits:
        if answer["timed_out"] or answer["_shards"]["failed"]:
            raise Incomplete("some of its shards did not answer")
        docno = self.options.get("docno")
        return [
            (
                docno_of(hit["_source"][docno] if docno else hit["_id"]),
                score_of(hit["_score"]),
                self._named(hit.get("_source") or {}),
            )
            for hit in answer["hits"]["hits"]
        ]


class Elasticsearch(OpenSearch):
    """Elasticsearch: in all that is used here the same as OpenSearch."""

    kind = "elasticsearch"
    label = "Elasticsearch"


class Solr(Engine):
    """Solr's ``select``, through its ``simple`` parser with every operator off; the path is ``/solr/core``.

    ``field`` names the fields to search, separated by commas (default: the handler's ``df``); ``docno`` the field
    that holds the document's id (default: ``id``); ``title``, ``snippet`` and ``url`` the fields that are shown
    (default: none).
    """

    kind = "solr"
    label = "Solr"
    known = frozenset({"field", "docno", *_ROLES})
    hints: ClassVar = {
        400: "check the field names, and name a field if the handler has no default one",
        404: "check the name of the core",
        500: "name a field if the handler has no default one",
    }

    def prepare(self, query: str) -> str:
        """See Engine."""
        # Old releases take what follows {! at the very beginning for parameters, with any parser.
        return super().prepare(query).lstrip("{ ")

    def ask(self, fetch: Fetch, text: str, depth: int) -> Hits:
        """See Engine."""
        form = {
            "q": text,
            "defType": "simple",
            "q.operators": "",
            "q.op": "OR",
            "expandMacros": "false",  # ${...} would be replaced otherwise
            "shards.tolerant": "false",
            "sort": "score desc",
            "fl": ",".join(dict.fromkeys([self._id, *self._fields, "score"])),
            "start": "0",
            "rows": str(depth),
        }
        if "field" in self.options:
            form["qf"] = self.options["field"].replace(",", " ")
        return fetch(Call("POST", f"{self.address}/select", params={"wt": "json"}, form=form), self._read)

    @property
    def _id(self) -> str:
        return self.options.get("docno", "id")

    def _read(self, answer: Any) -> Hits:
        if answer["responseHeader"].get("partialResults"):
            raise Incomplete("it ran out of time and sent a part of the results")
        return [
            (docno_of(hit[self._id]), score_of(hit["score"]), self._named(hit)) for hit in answer["response"]["docs"]
        ]


class SearXNG(Engine):
    """SearXNG's JSON answers: a document is a URL, and the score of the one at rank r is 1/r.

    It has no parameter for the depth: pages are fetched until there are enough results, or no new ones. Its own
    scores start over on every page, so only the order is kept.
    """

    kind = "searxng"
    label = "SearXNG"
    needs_path = False
    known = frozenset({"categories", "engines", "language", "safesearch", "time_range"})
    hints: ClassVar = {403: "'json' has to be among search.formats in its settings.yml"}

    # There is no way to escape !bang, :language, <timeout, nor what the engines behind it understand: "phrase",
    # -without, site:, OR. All that is left of them is the word.
    _JOINED = re.compile(r"(?<=[^\W\d]):")
    _SYNTAX = re.compile(r'["“”„«»()\[\]{}|&^*~\\]')
    _OPERATORS = frozenset({"AND", "OR", "NOT", "NEAR"})

    def prepare(self, query: str) -> str:
        """See Engine."""
        words = self._SYNTAX.sub(" ", self._JOINED.sub(" ", super().prepare(query))).split()
        bare = [word.lower() if word in self._OPERATORS else word.lstrip("!?:<>+-@") for word in words]
        return " ".join(word for word in bare if any(map(_searchable, word)))

    def ask(self, fetch: Fetch, text: str, depth: int) -> Hits:
        """See Engine."""
        distinct: dict[str, Shown] = {}
        page, more = 1, True
        while more and len(distinct) < depth:
            form = {**self.options, "q": text, "pageno": str(page)}
            call = Call("POST", f"{self.address}/search", params={"format": "json"}, form=form)
            results = fetch(call, self._read_first if page == 1 else self._read)
            more = not distinct.keys() >= results.keys()
            distinct |= {url: shown for url, shown in results.items() if url not in distinct}
            page += 1
        return [(url, 1 / rank, shown) for rank, (url, shown) in enumerate(distinct.items(), 1)]

    @staticmethod
    def _read(answer: Any) -> dict[str, Shown]:
        results: dict[str, Shown] = {}
        for hit in answer["results"]:
            url = docno_of(hit["url"])
            results.setdefault(url, shown_fields(hit.get("title"), hit.get("content"), url))
        return results

    @classmethod
    def _read_first(cls, answer: Any) -> dict[str, Shown]:
        results = cls._read(answer)
        if not results and answer.get("unresponsive_engines"):
            raise Incomplete("none of the engines behind it answered")
        return results


ENGINES = Registry(
    "engine",
    "quipukit.engines",
    {kind.kind: f"{__name__}:{kind.__name__}" for kind in (Anserini, OpenSearch, Elasticsearch, Solr, SearXNG)},
)


def read_spec(spec: str) -> Engine:
    """Read the spec ``KIND+http[s]://host[:port]/path[?options]`` of an engine.

    What comes back can be stored and printed: a spec that holds a login is refused, without being quoted. Logins come
    from elsewhere, see `quipukit.retrieval.credentials`.

    >>> engine = read_spec("opensearch+https://host:9200/news?field=title,body")
    >>> engine.identity, engine.where
    ('opensearch+https://host:9200/news?field=title%2Cbody', 'OpenSearch at host:9200')
    """
    if "@" in spec.partition("?")[0]:
        # Before anything is parsed: a password may hold a slash, and the rest of it would pass for a path.
        raise InputError(
            f"the address of an engine must hold no user or password, for addresses are stored and shown; {HOW}. "
            "Write %40 for an @ in the name of an index."
        )
    parts = _split(spec)
    name, _, scheme = parts.scheme.partition("+")
    kind = _kind(name)
    if kind is None or scheme not in ("http", "https") or not parts.hostname or parts.fragment:
        known = ", ".join(ENGINES.names)
        raise InputError(
            f"an engine is written as KIND+http://HOST/PATH or KIND+https://..., where KIND is of {known}."
        )
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    if options.keys() - kind.known:
        # Not quoted: an unknown option may hold an API key.
        takes = f"the options {', '.join(sorted(kind.known))} and no other" if kind.known else "no options"
        raise InputError(f"{kind.label} takes {takes}; remove the rest. A key goes into {TOKEN}, not into the address.")
    if kind.needs_path and not parts.path.strip("/"):
        raise InputError(f"the address of {kind.label} lacks the index; add it: {name}+{scheme}://HOST/INDEX.")
    return kind(f"{scheme}://{parts.netloc}{kind.path(parts.path)}", options)


def _kind(name: str) -> type[Engine] | None:
    registered = ENGINES.find(name)
    if registered is None:
        return None
    kind = ENGINES.load(registered)
    if not (isinstance(kind, type) and issubclass(kind, Engine) and kind.kind == registered):
        raise ResourceError(
            f"the plugin of engine {registered!r} gives no engine; it must be a class that inherits "
            f"quipukit.retrieval.engines.Engine and sets kind = {registered!r}."
        )
    return kind


def _split(spec: str) -> SplitResult:
    try:
        parts = urlsplit(spec)
        _ = parts.port
    except ValueError:
        parts = None
    if parts is None:  # the spec may hold a password: neither it nor the cause is shown
        raise InputError("the engine's address cannot be read; check its host and port.")
    return parts


def _searchable(character: str) -> bool:
    # Emoji (So) are words to a web engine; all other punctuation and symbols mean nothing alone.
    category = unicodedata.category(character)
    return category[0] in "LNM" or category == "So"
