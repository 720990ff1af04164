"""What the tests of content share: some of each kind, and what a client reads of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import strategies as st

from mcp_wsgi.checks import ContentError
from mcp_wsgi.content import Audio, EmbeddedResource, Image, ResourceContents, ResourceLink, Text
from mcp_wsgi.returns import (
    prompt_result,
    prompt_result_wire,
    resource_contents,
    resource_contents_wire,
    tool_result,
    tool_result_wire,
)
from mcp_wsgi.revisions import REVISIONS, Revision
from tests.wire import check_message

__all__ = [
    "ALL",
    "ANNOTATIONS",
    "EVERYTHING",
    "META",
    "NEWEST",
    "OLDEST",
    "PDF",
    "PNG",
    "WAV",
    "Picture",
    "called",
    "json_values",
    "lazily",
    "prompted",
    "read",
    "refused",
    "same",
    "sent",
]

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)
WAV = b"RIFF\x24\x00\x00\x00WAVEfmt "
PDF = b"%PDF-1.7\n"
NEWEST = REVISIONS["2026-07-28"]
OLDEST = REVISIONS["2025-03-26"]
ALL = pytest.mark.parametrize("revision", REVISIONS.values(), ids=REVISIONS)
ANNOTATIONS = {"audience": ["user"], "priority": 0.5, "lastModified": "2025-01-12T15:00:58Z"}
META = {"com.example/k": [1, {"a": None}]}


class Picture(msgspec.Struct):
    """Stands for ``descriptions.Icon``, which lies below this layer."""

    def wire(self, revision: Revision) -> dict[str, Any]:
        return {"src": "https://example.com/i.png"}


EVERYTHING = (
    Text("héllo", annotations=ANNOTATIONS, meta=META),
    Image(PNG, annotations=ANNOTATIONS, meta=META),
    Audio(WAV, annotations=ANNOTATIONS, meta=META),
    ResourceLink("note://1", "one", "One", "First", "text/plain", 3, [Picture()], annotations=ANNOTATIONS, meta=META),
    EmbeddedResource(ResourceContents("note://1", "hi", None, "text/plain", META), annotations=ANNOTATIONS, meta=META),
    EmbeddedResource(ResourceContents("note://2", blob=b"\x00\xff")),
)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


def same(value: Any) -> Any:
    """Stands for ``schema.to_json``: the values here are JSON already."""
    return value


def sent(wire: Mapping[str, Any], method: str, revision: Revision) -> Any:
    """What a client reads, held against the official types of its revision."""
    result = msgspec.json.decode(msgspec.json.encode(wire))
    envelope: dict[str, Any] = {"resultType": "complete"} if revision.result_type else {}
    if method == "resources/read" and revision.cache_hints:
        envelope |= {"ttlMs": 0, "cacheScope": "private"}
    message = {"jsonrpc": "2.0", "id": 1, "result": {**result, **envelope}}
    check_message(message, revision.name, request_method=method)
    return result


def called(value: Any, revision: Revision = NEWEST, **options: Any) -> Any:
    return sent(tool_result_wire(tool_result(value, to_json=same, **options), revision), "tools/call", revision)


def prompted(value: Any, revision: Revision = NEWEST, **options: Any) -> Any:
    return sent(prompt_result_wire(prompt_result(value, **options), revision), "prompts/get", revision)


def read(value: Any, revision: Revision = NEWEST, **options: Any) -> Any:
    contents = resource_contents(value, uri="x://y", to_json=same, **options)
    return sent(resource_contents_wire(contents, revision), "resources/read", revision)["contents"]


def refused(build: Callable[[], object], *words: str) -> None:
    with pytest.raises(ContentError) as caught:
        build()
    for word in words:
        assert word in str(caught.value)


def lazily(build: Any, *parts: Any, **named: Any) -> Callable[[], object]:
    """A call with parts whose types a checker would refuse."""
    return lambda: build(*parts, **named)
