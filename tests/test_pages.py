"""Lists in pages: their cursors, and what is kept of them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi import Context, Handler, MCPServer, Tool
from mcp_wsgi.call import Call
from mcp_wsgi.errors import InvalidCursor, InvalidParams
from mcp_wsgi.methods import METHODS
from mcp_wsgi.revisions import REVISIONS
from tests.dispatching import NEW, dispatcher, run


def counted(count: int) -> Handler:
    class Counted(Handler):
        def tools(self, ctx: Context) -> list[Tool]:
            return [Tool(name=f"n{number}") for number in range(count)]

    return Counted()


@given(st.integers(0, 12), st.integers(1, 13))
def test_pages_put_together_are_the_list(count: int, size: int) -> None:
    served = dispatcher(counted(count), page_size=size)
    names: list[str] = []
    sizes: list[int] = []
    params: dict[str, Any] = {}
    while True:
        page = run(served, "tools/list", params)
        names += [tool["name"] for tool in page["tools"]]
        sizes.append(len(page["tools"]))
        if "nextCursor" not in page:
            break
        params = {"cursor": page["nextCursor"]}
    assert names == [f"n{number}" for number in range(count)]
    assert all(length == size for length in sizes[:-1])
    assert sizes[-1] > 0 or count == 0


@given(st.text() | st.integers() | st.booleans() | st.lists(st.integers()))
def test_no_other_cursor_is_taken(cursor: Any) -> None:
    with pytest.raises(InvalidParams):
        run(dispatcher(counted(5), page_size=2), "tools/list", {"cursor": cursor})


def test_a_cursor_of_one_revision_is_none_of_another_that_lists_differently() -> None:
    mcp = MCPServer("two")
    for number in range(3):
        mcp.add_tool(lambda: "x", name=f"n{number}", title=f"T{number}")
    served = dispatcher(mcp, page_size=1)
    cursor = run(served, "tools/list", {}, NEW)["nextCursor"]
    with pytest.raises(InvalidCursor):
        run(served, "tools/list", {"cursor": cursor}, REVISIONS["2025-03-26"])


def test_a_list_is_kept_for_each_revision_until_it_changes() -> None:
    mcp = MCPServer("kept")
    mcp.add_tool(lambda: "x", name="a", title="A")
    served = dispatcher(mcp)
    for _ in range(2):
        assert "title" in run(served, "tools/list", {}, NEW)["tools"][0]
        assert "title" not in run(served, "tools/list", {}, REVISIONS["2025-03-26"])["tools"][0]
    call = Call("tools/list", {}, 1, NEW)
    assert served.ready(METHODS["tools/list"], call) is not None
    mcp.add_tool(lambda: "x", name="b")
    assert served.ready(METHODS["tools/list"], call) is None
    assert len(run(served, "tools/list", {}, NEW)["tools"]) == 2


def test_what_was_listed_may_be_changed_by_its_owner() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}}

    class Mutable(Handler):
        def __init__(self) -> None:
            self.listed = [Tool(name="a", input_schema=schema)]

        def tools(self, ctx: Context) -> list[Tool]:
            return self.listed

    handler = Mutable()
    served = dispatcher(handler)
    first = run(served, "tools/list")
    handler.listed.append(Tool(name="b"))
    assert [tool["name"] for tool in run(served, "tools/list")["tools"]] == ["a", "b"]
    assert [tool["name"] for tool in first["tools"]] == ["a"]
