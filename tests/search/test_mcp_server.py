"""The MCP server, asked by the protocol's own client: in a process of its own, and in this one."""

import asyncio
import json
import logging
import sys
from pathlib import Path
from typing import Any

import pytest

import quipukit as qk
from quipukit.search.mcp_server import make_server
from tests.search.capturing import Capturing
from tests.search.test_leaks import Everything, everything

pytest.importorskip("mcp")
from mcp import Client, StdioServerParameters

__all__ = ["everything"]
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

QUERY = "how is gonorrhea treated and passed on"


def structured(result: Any) -> dict[str, Any]:
    assert not result.is_error, result.content
    content = result.structured_content
    return dict(content.get("result", content) if content else json.loads(result.content[0].text))


def test_the_tools_answer_and_the_query_stays_out_of_the_log(everything: Everything) -> None:
    engine = Capturing()
    server = make_server(lambda: qk.PrivateSearch(engine, "CMP@5", 3, gaps=(0.0, 0.0)))

    async def ask() -> tuple[list[str], dict[str, Any], dict[str, Any], Any]:
        async with Client(server) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            would = structured(await client.call_tool("what_would_leave", {"query": QUERY}))
            assert not engine.asked
            found = structured(await client.call_tool("private_search", {"query": QUERY}))
            return tools, would, found, await client.call_tool("private_search", {"query": "  "})

    tools, would, found, empty = asyncio.run(ask())
    assert sorted(tools) == ["private_search", "what_would_leave"]
    assert sorted(would["saw"]) == sorted(found["saw"]) == sorted(engine.asked)
    assert found["hits"][0]["title"] == "A document" and found["failed"] == 0
    assert empty.is_error and "empty" in empty.content[0].text
    assert not [line for line in everything.lines if "gonorrhea" in line]
    assert logging.getLogger("mcp.server").getEffectiveLevel() > logging.CRITICAL


@pytest.mark.heavy
def test_a_process_of_its_own_speaks_nothing_but_the_protocol(tmp_path: Path) -> None:
    arguments = ["-m", "quipukit", "mcp", "-m", "Cover@50", "--ledger", str(tmp_path / "ledger")]
    errors = (tmp_path / "stderr").open("w+")
    import os

    async def ask() -> dict[str, Any]:
        from mcp import stdio_client

        process = StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ))
        async with Client(stdio_client(process, errlog=errors), read_timeout_seconds=120) as client:
            return structured(await client.call_tool("private_search", {"query": QUERY}))

    found = asyncio.run(ask())
    assert len(found["hits"]) == 10 and QUERY in found["saw"] and found["sends_original"]
    errors.seek(0)
    assert "gonorrhea" not in errors.read()
    errors.close()
    assert b"gonorrhea" not in (tmp_path / "ledger").read_bytes()
