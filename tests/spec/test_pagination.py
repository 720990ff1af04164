"""Requirements, group 7: pagination."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_wsgi import Handler, MCPServer, Resource, Tool
from mcp_wsgi.handler import ListKind
from mcp_wsgi.testing import Client, ProtocolError
from tests.spec.kit import Connect, refused, send

KINDS: dict[ListKind, str] = {
    "tools": "tools/list",
    "resources": "resources/list",
    "resource_templates": "resources/templates/list",
    "prompts": "prompts/list",
}


def many(count: int) -> MCPServer:
    """A server with as many of each kind."""
    mcp = MCPServer("many")
    for number in range(count):
        mcp.add_tool(lambda: "x", name=f"n{number:02}")
        mcp.add_resource(Resource(uri=f"note://{number:02}", name=f"n{number:02}"), "x")
        mcp.resource(f"note{number:02}://{{x}}", name=f"n{number:02}")(lambda x: x)
        mcp.prompt(name=f"n{number:02}")(lambda: "x")
    return mcp


def pages(client: Client, kind: ListKind) -> list[list[str]]:
    found, cursor = [], None
    while True:
        page = client.page(kind, cursor)
        found.append(page.names)
        cursor = page.next_cursor
        if cursor is None:
            return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("count", "sizes"), [(0, []), (1, [1]), (3, [3]), (4, [3, 1]), (6, [3, 3]), (7, [3, 3, 1])])
def test_a_list_comes_in_pages_each_item_once(
    connect: Connect, revision: str, kind: ListKind, count: int, sizes: list[int]
) -> None:
    """S26-PAGE-03, T25-PAGE-01, T25-RES-04: all four lists; the last page has no nextCursor, never a null."""
    mcp = many(count)
    if count == 0:
        mcp = many(1)
        mcp.remove_tool("n00")
        mcp.remove_prompt("n00")
        mcp.remove_resource("note://00" if kind == "resources" else "note00://{x}")
        if kind in ("tools", "prompts"):
            assert refused(send(connect(mcp, revision), KINDS[kind]))[1] == -32601
            return
        sizes = [0]
    client = connect(mcp, revision, page_size=3)
    found = pages(client, kind)
    assert [len(page) for page in found] == sizes
    assert [name for page in found for name in page] == [f"n{number:02}" for number in range(count)]
    last = client.request(KINDS[kind], _cursor(client, kind)).raw
    assert "nextCursor" not in last


def _cursor(client: Client, kind: ListKind) -> dict[str, str]:
    cursor = None
    while (following := client.page(kind, cursor).next_cursor) is not None:
        cursor = following
    return {} if cursor is None else {"cursor": cursor}


def first_cursor(client: Client, kind: ListKind = "tools") -> str:
    cursor = client.page(kind).next_cursor
    assert cursor is not None
    return cursor


BAD: list[Any] = ["", "x", "3", "W10", "e30=", "a" * 100_000, "é", "\x00", 5, 0, True, [], {}]


@pytest.mark.parametrize("kind", KINDS)
def test_a_cursor_that_was_not_issued_is_refused(connect: Connect, revision: str, kind: ListKind) -> None:
    """S26-PAGE-01, S26-PAGE-02, T25-PAGE-01: -32602; the empty string is a cursor too, and none of ours."""
    client = connect(many(5), revision, page_size=2)
    for cursor in BAD:
        assert refused(send(client, KINDS[kind], {"cursor": cursor})) == (200, -32602)
    right = first_cursor(client, kind)
    for forged in (right[:-1], right + "A", right[0].swapcase() + right[1:], right.swapcase()):
        assert refused(send(client, KINDS[kind], {"cursor": forged})) == (200, -32602)


def test_a_cursor_is_of_one_list(connect: Connect, revision: str) -> None:
    """S26-PAGE-02: another list does not take it, even if it is as long."""
    client = connect(many(5), revision, page_size=2)
    cursors = {kind: first_cursor(client, kind) for kind in KINDS}
    for owner, cursor in cursors.items():
        for kind, method in KINDS.items():
            reply = send(client, method, {"cursor": cursor})
            assert ("result" in reply.json) is (kind == owner)


def test_a_cursor_of_another_server_is_refused(connect: Connect) -> None:
    """S26-PAGE-02: without a common key, as after a restart."""
    one, two = connect(many(5), page_size=2), connect(many(5), page_size=2)
    assert refused(send(two, "tools/list", {"cursor": first_cursor(one)})) == (200, -32602)


def test_a_cursor_is_stable_while_the_list_is_and_stale_when_it_changes(connect: Connect, revision: str) -> None:
    """S26-PAGE-02: the same page each time; -32602 once there is no such page any more."""
    mcp = many(5)
    client = connect(mcp, revision, page_size=2)
    cursor = first_cursor(client)
    assert [client.page("tools", cursor).names for _ in range(3)] == [["n02", "n03"]] * 3
    assert first_cursor(client) == cursor
    mcp.remove_tool("n00")
    with pytest.raises(ProtocolError) as caught:
        client.page("tools", cursor)
    assert caught.value.code == -32602
    assert client.list_tools().names == ["n01", "n02", "n03", "n04"]


def test_a_null_cursor_is_none(connect: Connect, revision: str) -> None:
    """S26-PAGE-03: some clients write what they have not got as null."""
    client = connect(many(3), revision, page_size=2)
    assert len(send(client, "tools/list", {"cursor": None}).json["result"]["tools"]) == 2


class Handmade(Handler):
    """Makes its list anew each time."""

    def tools(self, ctx: Any) -> Any:
        return (Tool(name=f"n{number}") for number in range(5))


def test_a_list_that_is_made_anew_is_paged_too(connect: Connect, revision: str) -> None:
    """S26-PAGE-02, S26-PAGE-03: paging is no concern of the handler's."""
    client = connect(Handmade(), revision, page_size=2)
    assert pages(client, "tools") == [["n0", "n1"], ["n2", "n3"], ["n4"]]
