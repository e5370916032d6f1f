"""Private search as tools of the Model Context Protocol, for agents: over stdin and stdout, and nothing else there."""

import logging
import threading
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from quipukit import __version__
from quipukit.errors import QuipukitError, ResourceError
from quipukit.search.answers import Preview

if TYPE_CHECKING:
    from mcp.server import MCPServer

    from quipukit.search.private import PrivateSearch

_MUTE = logging.CRITICAL + 1
_INSTRUCTIONS = (
    "Searches without telling the search engine what is searched for: only what a privacy mechanism outputs leaves "
    "this machine. Use private_search for queries that the user would rather keep to themselves. The queries of one "
    "connection are one session: those on a topic that was searched before are answered without sending anything."
)


def make_server(open_search: "Callable[[], PrivateSearch]") -> "MCPServer":
    """Return a server with the tools ``private_search`` and ``what_would_leave``; the search is opened when needed."""
    try:
        from mcp.server import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
    except ImportError:
        raise ResourceError("the MCP server needs the package mcp; run `pip install 'quipukit[mcp]'`.") from None

    # Its log quotes frames, and so queries, at some levels.
    logging.getLogger("mcp").setLevel(_MUTE)
    server: MCPServer = MCPServer("quipukit", version=__version__, instructions=_INSTRUCTIONS, log_level="CRITICAL")
    lock = threading.Lock()
    opened: list[PrivateSearch] = []

    def search() -> "PrivateSearch":
        with lock:
            if not opened:
                opened.append(open_search())
            return opened[0]

    def private_search(query: str) -> dict[str, Any]:
        """Search privately: returns documents, the best first, and what the search engine saw.

        The query itself stays on this machine. ``saw`` holds all texts that the engine received.
        """
        fault = ""
        try:
            answer = search().search(query)
            return {
                "hits": [asdict(hit) for hit in answer.hits],
                **_described(answer.preview),
                "failed": answer.failed,
                "seconds": round(answer.seconds, 3),
            }
        except QuipukitError as error:
            fault = str(error)
        raise ToolError(fault)

    def what_would_leave(query: str) -> dict[str, Any]:
        """Return what a private search for a query would send to the search engine; nothing is sent."""
        fault = ""
        try:
            return _described(search().preview(query))
        except QuipukitError as error:
            fault = str(error)
        raise ToolError(fault)

    server.tool()(private_search)
    server.tool()(what_would_leave)
    return server


def _described(preview: Preview) -> dict[str, Any]:
    return {
        "saw": list(preview.texts),
        "local": preview.local,
        "sends_original": preview.sends_original,
        "guarantee": preview.guarantee,
        "composed": preview.composed,
        "warnings": list(preview.warnings),
    }
