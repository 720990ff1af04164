"""Requirements, group 17: JSON Schema."""

from __future__ import annotations

import http.server
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from mcp_wsgi import MCPServer, Tool
from mcp_wsgi.errors import RegistrationError
from mcp_wsgi.testing import ToolReply
from tests.spec.kit import Connect, everything

DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def call(connect: Connect, schema: dict[str, Any], arguments: dict[str, Any]) -> ToolReply:
    """Call a tool with that input schema."""
    mcp = MCPServer("schema")
    mcp.add_tool(lambda arguments: "ran", name="work", input_schema=schema)
    return connect(mcp).call_tool("work", arguments)


def refuses(**schema: Any) -> None:
    with pytest.raises(RegistrationError):
        Tool(name="x", input_schema={"type": "object", **schema})
    with pytest.raises(RegistrationError):
        Tool(name="x", output_schema={"type": "object", **schema})


# Keywords of 2020-12 that earlier drafts lack, with what they admit and what not.
NEW_KEYWORDS = [
    ({"properties": {"a": {"prefixItems": [{"type": "string"}], "items": {"type": "integer"}}}}, ["x", 1], ["x", "y"]),
    ({"properties": {"a": {"type": "object", "dependentRequired": {"b": ["c"]}}}}, {"b": 1, "c": 2}, {"b": 1}),
    ({"properties": {"a": {"type": "array", "contains": {"const": 1}, "minContains": 2}}}, [1, 1], [1]),
    (
        {"properties": {"a": {"type": "object", "properties": {"b": {}}, "unevaluatedProperties": False}}},
        {"b": 1},
        {"c": 1},
    ),
]


@pytest.mark.parametrize("dialect", [None, DRAFT_2020])
@pytest.mark.parametrize(("schema", "right", "wrong"), NEW_KEYWORDS)
def test_a_schema_without_a_dialect_is_of_2020_12(
    connect: Connect, dialect: str | None, schema: dict[str, Any], right: Any, wrong: Any
) -> None:
    """S26-JSON-01, S26-JSON-02: and is validated as such."""
    whole = {"type": "object", **schema, **({} if dialect is None else {"$schema": dialect})}
    assert not call(connect, whole, {"a": right}).is_error
    assert call(connect, whole, {"a": wrong}).is_error


def test_a_declared_dialect_is_the_one_that_validates(connect: Connect) -> None:
    """S26-JSON-02: in draft-07 an array of ``items`` stands for a tuple, and ``prefixItems`` for nothing."""
    pair = {"type": "array", "items": [{"type": "string"}, {"type": "integer"}]}
    schema = {
        "$schema": DRAFT_7,
        "type": "object",
        "properties": {"a": pair, "b": {"prefixItems": [{"type": "string"}]}},
    }
    assert not call(connect, schema, {"a": ["x", 1], "b": [1]}).is_error
    assert call(connect, schema, {"a": ["x", "y"]}).is_error


@pytest.mark.parametrize("dialect", ["https://example.com/my-dialect", "draft-99", "", 5, None])
def test_an_unsupported_dialect_is_refused_where_it_is_written(dialect: object) -> None:
    """S26-JSON-02: a fitting error, not a crash of a call."""
    refuses(**{"$schema": dialect})


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"type": "whole"}}},
        {"properties": []},
        {"required": "a"},
        {"properties": {"a": {"minimum": "1"}}},
        {"properties": {"a": {"pattern": "("}}},
        {"properties": {"a": 5}},
        {"$schema": DRAFT_2020, "properties": {"a": {"type": "array", "items": [{"type": "string"}]}}},
    ],
)
def test_a_schema_that_is_none_is_refused_where_it_is_written(schema: dict[str, Any]) -> None:
    """S26-JSON-03: of its own dialect."""
    refuses(**schema)


def test_every_schema_that_is_listed_is_valid(connect: Connect, revision: str) -> None:
    """S26-JSON-03, T25-JSON-01: those made from signatures, too."""
    for tool in connect(everything(), revision).list_tools():
        jsonschema.Draft202012Validator.check_schema(tool["inputSchema"])
        jsonschema.Draft202012Validator.check_schema(tool.get("outputSchema", {}))


class Watch:
    """A web server that counts who comes."""

    def __init__(self) -> None:
        self.visits = 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.visits += 1
                self.send_error(404)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        self.server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/schema.json"


@pytest.fixture
def watch() -> Iterator[Watch]:
    watching = Watch()
    thread = threading.Thread(target=watching.server.serve_forever, args=(0.01,))
    thread.start()
    yield watching
    watching.server.shutdown()
    thread.join()
    watching.server.server_close()


@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef"])
def test_a_reference_into_the_network_is_refused_and_never_fetched(watch: Watch, keyword: str) -> None:
    """S26-JSON-04, S26-JSON-05: rather than passing everything, or asking a stranger."""
    refuses(properties={"a": {keyword: watch.url}})
    refuses(**{"$id": watch.url, "properties": {"a": {"$ref": "other.json"}}})
    with socket.create_connection(("127.0.0.1", watch.server.server_port)):
        pass  # it listens; nobody came
    assert watch.visits == 0


@pytest.mark.parametrize("ref", ["#/$defs/nope", "#nope", "other.json", "urn:example:other", "file:///etc/passwd"])
def test_a_reference_to_nothing_is_refused(ref: str) -> None:
    """S26-JSON-05: unresolved is refused where it is written."""
    refuses(properties={"a": {"$ref": ref}})


def test_a_schema_may_be_recursive(connect: Connect) -> None:
    """S26-JSON-05: a local reference is not external, also if it leads back."""
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}, "additionalProperties": False}
    schema = {"type": "object", "$defs": {"node": node}, "properties": {"a": {"$ref": "#/$defs/node"}}}
    assert not call(connect, schema, {"a": {"next": {"next": {}}}}).is_error
    assert call(connect, schema, {"a": {"next": {"other": 1}}}).is_error


def _nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def test_a_schema_has_bounds() -> None:
    """S26-JSON-06: neither endlessly deep nor endlessly wide."""
    refuses(properties={"a": _nested(1000)})
    refuses(anyOf=[{"properties": {f"p{number}": {"type": "string"}}} for number in range(100_000)])
    Tool(name="x", input_schema=_nested(20))


def test_a_deep_argument_takes_no_time_and_no_process_with_it(connect: Connect) -> None:
    """S26-JSON-06: what comes in is as bounded as what it is held against."""
    node = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#/$defs/node"}}]}
    schema = {"type": "object", "$defs": {"node": node}, "properties": {"a": {"$ref": "#/$defs/node"}}}
    deep: Any = 5
    for _ in range(50):
        deep = [deep]
    start = time.monotonic()
    assert call(connect, schema, {"a": deep}).is_error
    assert time.monotonic() - start < 5
