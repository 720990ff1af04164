"""Requirements, group 7: cache hints."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_wsgi import Handler, MCPServer, Resource, Tool
from mcp_wsgi.errors import OptionError
from tests.spec.kit import CALLS, Connect, everything, send

CACHEABLE = (
    "server/discover",
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
)


@pytest.mark.parametrize("method", [*CALLS, "server/discover"])
def test_six_methods_say_how_long_their_result_keeps(connect: Connect, method: str) -> None:
    """S26-CACHE-01: ``ttlMs`` and ``cacheScope`` on those, and on no others."""
    result = send(connect(), method).json["result"]
    assert ({"ttlMs", "cacheScope"} <= result.keys()) is (method in CACHEABLE)
    assert bool({"ttlMs", "cacheScope"} & result.keys()) is (method in CACHEABLE)


@pytest.mark.parametrize(("seconds", "milliseconds"), [(0, 0), (1.5, 1500), (0.0004, 0), (86400, 86_400_000)])
def test_the_time_is_a_whole_number_of_milliseconds(connect: Connect, seconds: float, milliseconds: int) -> None:
    """S26-CACHE-02: never a fraction, never negative; the scope is one of two."""
    for method in CACHEABLE:
        result = send(connect(cache_ttl=seconds, cache_scope="public"), method).json["result"]
        assert (type(result["ttlMs"]), result["ttlMs"], result["cacheScope"]) == (int, milliseconds, "public")


@pytest.mark.parametrize(
    "options", [{"cache_ttl": -1}, {"cache_ttl": float("nan")}, {"cache_scope": "shared"}, {"cache_scope": None}]
)
def test_other_hints_are_refused_where_they_are_written(options: dict[str, Any]) -> None:
    """S26-CACHE-02: by the option's name."""
    with pytest.raises(OptionError, match="cache_"):
        everything().wsgi_app(**options)


@pytest.mark.parametrize("scope", ["public", "private"])
def test_all_pages_of_a_list_have_one_scope(connect: Connect, scope: str) -> None:
    """S26-CACHE-03: the first and the last."""
    client = connect(page_size=1, cache_scope=scope)
    seen, cursor = set(), None
    for _ in client.list_tools():
        result = client.request("tools/list", {} if cursor is None else {"cursor": cursor}).raw
        seen.add(result["cacheScope"])
        cursor = result.get("nextCursor")
    assert (seen, cursor) == ({scope}, None)


def test_results_are_private_unless_somebody_says_otherwise(connect: Connect) -> None:
    """S26-CACHE-04: nothing of one user reaches another through a shared cache."""
    for method in CACHEABLE:
        assert send(connect(), method).json["result"]["cacheScope"] == "private"


class Mine(Handler):
    """Each caller has tools and notes of their own."""

    def resources(self, ctx: Any) -> list[Resource]:
        return [Resource(uri="note://mine", name=str(ctx.principal.id))]

    def read_resource(self, uri: str, ctx: Any) -> str:
        return str(ctx.principal.id)

    def tools(self, ctx: Any) -> list[Tool]:
        return [Tool(name=f"of_{ctx.principal.id}"), Tool(name="of_all")]

    def handle_tool(self, name: str, arguments: dict[str, Any], ctx: Any) -> str:
        return name


class Picky(MCPServer):
    """Serves one person only."""

    def allows(self, item: Any, ctx: Any) -> bool:
        return bool(ctx.principal.id == "anna")


class Person:
    def __init__(self, identity: str) -> None:
        self.id = identity


def picky() -> MCPServer:
    mcp = Picky("picky")
    mcp.add_tool(lambda: "x", name="x")
    mcp.resource("note://x", name="x")(lambda: "x")
    mcp.prompt(name="x")(lambda: "x")
    return mcp


@pytest.mark.parametrize("server", [Mine(), picky()], ids=["handler", "server"])
def test_what_may_differ_between_callers_is_never_public(connect: Connect, server: Handler) -> None:
    """S26-CACHE-04: lists and reads of one user stay with that user, whatever the option says."""
    client = connect(server, principal=Person("anna"), cache_scope="public", cache_ttl=60)
    for method, params in [("tools/list", {}), ("resources/list", {}), ("resources/read", {"uri": "note://x"})]:
        result = send(client, method, params).json["result"]
        assert (result["ttlMs"], result["cacheScope"]) == (60_000, "private")


def test_what_one_caller_was_shown_is_not_kept_for_another(connect: Connect) -> None:
    """S26-CACHE-04, S26-CACHE-05, S26-TOOL-02: each list and call asks again who is calling, whatever the hints say."""
    callers = {name: Person(name) for name in ("anna", "bert")}
    options: dict[str, Any] = {"cache_scope": "public", "cache_ttl": 60}
    shared = Mine()
    anna, bert = (connect(shared, principal=callers[name], **options) for name in callers)
    for _ in range(2):
        assert anna.list_tools().names == ["of_anna", "of_all"]
        assert bert.list_tools().names == ["of_bert", "of_all"]
    assert anna.call_tool("of_anna").text == "of_anna"
    for stranger, name in ((anna, "of_bert"), (bert, "of_anna")):
        reply = send(stranger, "tools/call", {"name": name})
        assert reply.json["error"]["code"] == -32602


def test_a_server_that_picks_by_caller_picks_at_each_call(connect: Connect) -> None:
    """S26-CACHE-05: what is hidden from a list cannot be called either."""
    mcp = picky()
    anna, bert = (connect(mcp, principal=Person(name), cache_scope="public") for name in ("anna", "bert"))
    for method, params in [
        ("tools/call", {"name": "x"}),
        ("resources/read", {"uri": "note://x"}),
        ("prompts/get", {"name": "x"}),
    ]:
        assert "result" in send(anna, method, params).json
        assert send(bert, method, params).json["error"]["code"] == -32602
    assert (anna.list_tools().names, bert.list_tools().names) == (["x"], [])
