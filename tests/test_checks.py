"""What every value may say of itself: its annotations and its ``_meta``."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_wsgi.checks import check_annotations, check_meta
from mcp_wsgi.content import Text
from mcp_wsgi.errors import RegistrationError
from mcp_wsgi.returns import ToolResult
from tests.contents import refused

# --- annotations ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "annotations",
    [
        {},
        {"audience": []},
        {"audience": ("user", "assistant")},
        {"priority": 0},
        {"priority": 1.0},
        {"lastModified": "2025-01-12"},
        {"lastModified": "2025-01-12T15:00:58.123+02:00"},
    ],
)
def test_right_annotations_pass(annotations: dict[str, Any]) -> None:
    """S26-RES-08"""
    check_annotations(annotations)


@pytest.mark.parametrize(
    ("annotations", "word"),
    [
        ("user", "type str"),
        ({"audience": "user"}, "list of 'user'"),
        ({"audience": ["system"]}, "list of 'user'"),
        ({"audience": [[]]}, "list of 'user'"),
        ({"priority": True}, "0 to 1"),
        ({"priority": 1.01}, "0 to 1"),
        ({"priority": float("nan")}, "0 to 1"),
        ({"lastModified": "yesterday"}, "ISO 8601"),
        ({"lastModified": 3}, "ISO 8601"),
        ({"colour": "red"}, "unknown field 'colour'"),
    ],
)
def test_wrong_annotations_are_refused(annotations: Any, word: str) -> None:
    """S26-RES-08"""
    refused(lambda: check_annotations(annotations, owner="note"), word, "note")
    with pytest.raises(RegistrationError):
        check_annotations(annotations, error=RegistrationError)
    refused(lambda: Text("x", annotations=annotations), "Text")


# --- meta -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "key",
    ["a", "a.b", "a-b_c.d9", "com.example/k", "x/k", "com.ex-ample/a_b", "com.example.mcp/k", "ui/resourceUri", "9"],
)
def test_own_meta_keys_pass(key: str) -> None:
    """S26-BASE-22, S26-BASE-23"""
    check_meta({key: 1})


@pytest.mark.parametrize(
    "key", ["", "/", "a/", "_a", "a_", "a b", "é", "9x.com/k", "x-.com/k", "-x/k", "a//b", "a/b/c", ".a/k", "a\n", 3]
)
def test_malformed_meta_keys_are_refused(key: Any) -> None:
    """S26-BASE-22"""
    refused(lambda: check_meta({key: 1}, owner="note"), "malformed", "note")


@pytest.mark.parametrize(
    "key",
    ["io.modelcontextprotocol/k", "dev.mcp/k", "org.modelcontextprotocol.api/k", "com.mcp.tools/k", "mcp.dev/k"],
)
def test_reserved_meta_keys_are_refused(key: str) -> None:
    """S26-BASE-23, T25-BASE-09"""
    refused(lambda: check_meta({key: 1}), "reserved for MCP")
    with pytest.raises(RegistrationError):
        check_meta({key: 1}, error=RegistrationError)


TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.parametrize(
    ("meta", "fits"),
    [
        ({"traceparent": TRACE, "tracestate": "a=b", "baggage": "c=d"}, True),
        ({"traceparent": TRACE.upper()}, False),
        ({"traceparent": 1}, False),
        ({"tracestate": {}}, False),
        ({"baggage": None}, False),
    ],
)
def test_trace_context_has_its_own_formats(meta: dict[str, Any], fits: bool) -> None:
    """S26-BASE-25"""
    if fits:
        check_meta(meta)
    else:
        refused(lambda: check_meta(meta), "W3C")


@pytest.mark.parametrize("value", [float("nan"), b"x", {1, 2}, object(), "\ud800"])
def test_meta_is_json(value: Any) -> None:
    refused(lambda: check_meta({"k": {"deep": [value]}}), "JSON")
    refused(lambda: ToolResult("x", meta={"k": value}), "ToolResult")


def test_meta_is_a_dict() -> None:
    refused(lambda: check_meta([("k", 1)]), "type list")  # type: ignore[arg-type]
