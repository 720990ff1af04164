"""What tools, prompts and resources return: read from any value, and written as each revision has it.

Data that is no content (dicts, dataclasses, numbers ...) becomes JSON through callables that the
caller passes in, since schemas are another file's concern.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
from msgspec import UNSET, Raw
from msgspec.structs import force_setattr, replace

from mcp_wsgi.checks import ContentError, check_meta, kind_of, text_of
from mcp_wsgi.content import BYTES, ONE_BLOCK, Block, Content, Message, ResourceContents, Text, blocks
from mcp_wsgi.decoding import decode_json
from mcp_wsgi.sniffing import OCTETS, sniffed

if TYPE_CHECKING:
    from mcp_wsgi.revisions import Revision

__all__ = [
    "PromptResult",
    "ToolResult",
    "prompt_result",
    "prompt_result_wire",
    "resource_contents",
    "resource_contents_wire",
    "tool_result",
    "tool_result_wire",
]

ToJson: TypeAlias = Callable[[Any], Any]

_ALLOWED = "text, bytes, content blocks, or a list of these"


# --- results of tools -----------------------------------------------------------------------------


class ToolResult(Content, frozen=True):
    """All that a tool can answer.

    Args:
        content: What the model reads: text, bytes, a block, or a list of these; default: nothing,
            or the JSON text of ``structured`` if that is given.
        structured: Data for programs; default: none. Once ``tool_result`` has checked it, it is
            held as encoded JSON (``msgspec.Raw``), so that it is encoded once.
        is_error: Whether the tool failed; the model is shown ``content`` and may try again.
        meta: The ``_meta`` object, which the model does not see; default: none.

    Raises:
        ContentError: One of them is wrong.

    Source: server/tools, "Tool Result".
    """

    content: tuple[Block, ...] = ()
    structured: Any = UNSET
    is_error: bool = False
    meta: Mapping[str, Any] | None = None

    if TYPE_CHECKING:
        # What the constructor takes is wider than what the attribute gives.
        def __init__(
            self,
            content: str | bytes | Block | Sequence[str | bytes | Block] | None = (),
            structured: Any = UNSET,
            is_error: bool = False,
            meta: Mapping[str, Any] | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        content: Any = self.content
        if content != ():
            found = () if content == [] else blocks(content)
            if found is None:
                raise ContentError(f"content of ToolResult takes {_ALLOWED}, not {kind_of(content)}; see 'structured'")
            force_setattr(self, "content", found)
        if self.meta is not None:
            force_setattr(self, "meta", check_meta(self.meta, owner="ToolResult"))


def tool_result(value: Any, *, to_json: ToJson, structured: ToJson | None = None) -> ToolResult:
    """Read what a tool returned.

    Args:
        value: Text, bytes, content blocks, a list of these, ``None``, data, or a ``ToolResult``.
        to_json: Turns data into JSON builtins.
        structured: The same, checked against the tool's output schema; all that such a tool returns
            is data, text too. Default: the tool has no output schema.

    Returns:
        A result whose ``structured`` is encoded.

    Raises:
        ContentError: The value is of a wrong kind.
        Exception: What ``to_json`` and ``structured`` raise.

    Source: server/tools, "Structured Content" and "Output Schema".
    """
    if isinstance(value, ToolResult):
        return _checked(value, to_json, structured)
    if structured is not None:
        items = value if type(value) in (list, tuple) else (value,)
        if any(isinstance(item, Content) for item in items):
            raise ContentError(
                "a tool with an output schema returned content; it takes data, or ToolResult(content, structured=...)"
            )
        return ToolResult(structured=_encode(structured(value)))
    if isinstance(value, ONE_BLOCK):
        return ToolResult(value)
    content = blocks(value)
    if content is not None:
        return ToolResult(content)
    _refuse_value(value, f"a tool takes {_ALLOWED}, data, or a ToolResult")
    return ToolResult(structured=_encode(to_json(value)))


def _checked(result: ToolResult, to_json: ToJson, structured: ToJson | None) -> ToolResult:
    # What failed need not fit the output schema. Source: server/tools, "Error Handling".
    bound = structured is not None and not result.is_error
    if result.structured is UNSET:
        if bound:
            raise ContentError("a tool with an output schema returned a ToolResult without 'structured'")
        return result
    convert = structured if structured is not None and bound else to_json
    return replace(result, structured=_encode(convert(result.structured)))


def _encode(value: Any) -> Raw:
    try:
        return Raw(msgspec.json.encode(value))
    except (TypeError, ValueError, RecursionError):
        raise ContentError("structured data cannot be written as JSON") from None


def _refuse_value(value: Any, allowed: str) -> None:
    if isinstance(value, Content):
        raise ContentError(f"returned {kind_of(value)}; {allowed}")


def tool_result_wire(result: ToolResult, revision: Revision) -> dict[str, Any]:
    """Write a result as ``revision`` has it, without ``resultType``.

    ``structuredContent`` is a ``msgspec.Raw``; encode the whole with ``msgspec.json``.

    Args:
        result: As ``tool_result`` gives it.
        revision: The revision of the call.

    Source: schema, ``CallToolResult``.
    """
    content = [block.wire(revision) for block in result.content]
    wire: dict[str, Any] = {"content": content}
    if result.structured is not UNSET:
        data = result.structured
        is_object = bytes(memoryview(data)[:1]) == b"{"
        if revision.structured == "any" or (revision.structured == "object" and is_object):
            wire["structuredContent"] = data
        # Content beside an object is the author's own rendering of it. Lists and plain values need
        # their text in any case (SEP-2106): a client of the session era sees nothing else of them.
        if not content or not (is_object or _has_copy(result.content, data)):
            content.append({"type": "text", "text": str(data, "utf-8")})
    if result.is_error:
        wire["isError"] = True
    if result.meta:
        wire["_meta"] = dict(result.meta)
    return wire


def _has_copy(content: tuple[Block, ...], data: Raw) -> bool:
    return any(isinstance(block, Text) and _same_json(block.text, data) for block in content)


def _same_json(text: str, data: Raw) -> bool:
    try:
        return bytes(data) == msgspec.json.encode(decode_json(text))
    except (msgspec.DecodeError, RecursionError):
        return False


# --- results of prompts ---------------------------------------------------------------------------


_ONE_MESSAGE: TypeAlias = Message | str | bytes | Block


class PromptResult(Content, frozen=True):
    """All that a prompt can answer.

    Args:
        messages: One or a list of: ``Message``; text, bytes or a content block, said by the user.
        description: What the prompt is for; default: none.
        meta: The ``_meta`` object; default: none.

    Raises:
        ContentError: One of them is wrong.

    Source: schema, ``GetPromptResult``.
    """

    messages: tuple[Message, ...]
    description: str | None = None
    meta: Mapping[str, Any] | None = None

    if TYPE_CHECKING:

        def __init__(
            self,
            messages: _ONE_MESSAGE | Sequence[_ONE_MESSAGE],
            description: str | None = None,
            meta: Mapping[str, Any] | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        given: Any = self.messages
        items = given if isinstance(given, (list, tuple)) else (given,)
        messages = tuple(item if isinstance(item, Message) else Message("user", item) for item in items)
        force_setattr(self, "messages", messages)
        if self.description is not None:
            force_setattr(self, "description", text_of(self.description, "PromptResult: 'description'"))
        if self.meta is not None:
            force_setattr(self, "meta", check_meta(self.meta, owner="PromptResult"))


def prompt_result(value: Any, *, description: str | None = None) -> PromptResult:
    """Read what a prompt returned.

    Args:
        value: A ``PromptResult``, or what its ``messages`` takes.
        description: Used if the result has none of its own; default: none.

    Raises:
        ContentError: The value is of a wrong kind.
    """
    result = value if isinstance(value, PromptResult) else PromptResult(value)
    if result.description is None and description is not None:
        return replace(result, description=description)
    return result


def prompt_result_wire(result: PromptResult, revision: Revision) -> dict[str, Any]:
    """Write a prompt's result as ``revision`` has it, without ``resultType``.

    Source: schema, ``GetPromptResult``.
    """
    wire: dict[str, Any] = {"messages": [message.wire(revision) for message in result.messages]}
    if result.description is not None:
        wire["description"] = result.description
    if result.meta:
        wire["_meta"] = dict(result.meta)
    return wire


# --- results of reads -----------------------------------------------------------------------------


def resource_contents(
    value: Any, *, uri: str, to_json: ToJson, mime_type: str | None = None
) -> tuple[ResourceContents, ...]:
    """Read what stands behind a resource.

    Args:
        value: Text, bytes, ``ResourceContents`` or a list of them; anything else is data, sent as JSON.
        uri: The URI that was read.
        to_json: Turns data into JSON builtins.
        mime_type: What the resource is declared as; default: ``text/plain``, ``application/json``,
            or what bytes begin like.

    Raises:
        ContentError: The value is of a wrong kind, ``None``, or an empty list of a resource that
            is not declared as JSON.
        Exception: What ``to_json`` raises.

    Source: server/resources, "Resource Contents" and "Error Handling" (no empty ``contents``).
    """
    if isinstance(value, ResourceContents):
        return (value,)
    if isinstance(value, str):
        return (ResourceContents(uri, text=value, mime_type=mime_type or "text/plain"),)
    if isinstance(value, BYTES):
        data = bytes(value)
        return (ResourceContents(uri, blob=data, mime_type=mime_type or sniffed(data) or OCTETS),)
    items = value if type(value) in (list, tuple) else (value,)
    if items and all(isinstance(item, ResourceContents) for item in items):
        return tuple(items)
    if value is None or (not items and not _is_json_type(mime_type)):
        raise ContentError(
            "a resource has no contents; raise ResourceNotFound if there is none,"
            " or declare mime_type='application/json' if an empty list is its data"
        )
    for item in items:
        _refuse_value(item, "a resource takes text, bytes, data, ResourceContents, or a list of ResourceContents")
    text = str(_encode(to_json(value)), "utf-8")
    return (ResourceContents(uri, text=text, mime_type=mime_type or "application/json"),)


def _is_json_type(mime_type: str | None) -> bool:
    essence = (mime_type or "").partition(";")[0].strip().lower()
    return essence == "application/json" or essence.endswith("+json")


def resource_contents_wire(contents: Sequence[ResourceContents], revision: Revision) -> dict[str, Any]:
    """Write what was read as ``revision`` has it, without ``resultType`` and cache hints.

    Source: schema, ``ReadResourceResult``.
    """
    return {"contents": [part.wire(revision) for part in contents]}
