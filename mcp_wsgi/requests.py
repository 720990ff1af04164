"""What a client sends: JSON-RPC messages, and the header fields that go with them, as pure functions."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from mcp_wsgi.handler import ListKind, PromptRef, ResourceRef
from mcp_wsgi.headerparams import argument_at
from mcp_wsgi.results import Message
from mcp_wsgi.revisions import (
    DEFAULT_LEGACY,
    META_CLIENT_CAPABILITIES,
    META_CLIENT_INFO,
    META_LOG_LEVEL,
    META_PROTOCOL_VERSION,
    Revision,
)

__all__ = [
    "LISTS",
    "HeaderParameter",
    "client_meta",
    "encode_body",
    "header_fields",
    "header_parameters",
    "header_text",
    "merge_fields",
    "notification",
    "reference",
    "request",
]

#: The name in an ``x-mcp-header`` annotation, and the way to its argument.
HeaderParameter: TypeAlias = tuple[str, tuple[str, ...]]

#: What lists each kind: the method, and the field of its result.
LISTS: Mapping[ListKind, tuple[str, str]] = {
    "tools": ("tools/list", "tools"),
    "resources": ("resources/list", "resources"),
    "resource_templates": ("resources/templates/list", "resourceTemplates"),
    "prompts": ("prompts/list", "prompts"),
}

# Source: basic/transports/streamable-http, "Standard Request Headers".
_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


# --- messages -------------------------------------------------------------------------------------


def request(identity: int, method: str, params: Mapping[str, Any], meta: Mapping[str, Any]) -> Message:
    """A request.

    Args:
        identity: Its id.
        method: Its method.
        params: Its parameters but for ``_meta``; left out if there are none of either.
        meta: Its ``_meta``; left out if empty.
    """
    message: Message = {"jsonrpc": "2.0", "id": identity, "method": method}
    given = {**params, "_meta": dict(meta)} if meta else dict(params)
    return {**message, "params": given} if given else message


def notification(method: str, params: Mapping[str, Any] | None = None) -> Message:
    """A notification."""
    message: Message = {"jsonrpc": "2.0", "method": method}
    return {**message, "params": dict(params)} if params else message


def client_meta(
    revision: Revision, client_info: Mapping[str, Any], capabilities: Mapping[str, Any], log_level: str | None
) -> dict[str, Any]:
    """What a client says of itself in the ``_meta`` of each modern request."""
    meta: dict[str, Any] = {
        META_PROTOCOL_VERSION: revision.name,
        META_CLIENT_INFO: client_info,
        META_CLIENT_CAPABILITIES: capabilities,
    }
    return meta if log_level is None else {**meta, META_LOG_LEVEL: log_level}


def reference(ref: str | PromptRef | ResourceRef) -> dict[str, str]:
    """What a completion is asked for; text is a prompt's name, or with ``://`` a resource's URI or template."""
    if isinstance(ref, str):
        ref = ResourceRef(ref) if "://" in ref else PromptRef(ref)
    if isinstance(ref, PromptRef):
        return {"type": "ref/prompt", "name": ref.name}
    return {"type": "ref/resource", "uri": ref.uri}


def encode_body(value: Any) -> bytes:
    """Write a message, or anything else, as JSON.

    Raises:
        TypeError: It holds a value of a kind that JSON has no form for.
        ValueError: It holds NaN or an infinity.
    """
    # Dates, enums, dataclasses and the like become what a server would read them from.
    return json.dumps(msgspec.to_builtins(value), allow_nan=False).encode()


# --- header fields --------------------------------------------------------------------------------


def header_fields(
    revision: Revision,
    message: Mapping[str, Any],
    *,
    has_body: bool,
    session_id: str | None,
    parameters: Mapping[str, Sequence[HeaderParameter]],
) -> dict[str, str]:
    """The header fields of a request, those that repeat parts of its message included.

    Args:
        revision: The revision spoken.
        message: The message in its body; empty if there is none.
        has_body: Whether there is a body.
        session_id: The session that it belongs to; ``None`` without.
        parameters: The header parameters of each tool that is known to have some.

    Source: basic/transports/streamable-http, "Standard Request Headers" and "Protocol Version Header".
    """
    fields = {"Accept": "application/json, text/event-stream"}
    if has_body:
        fields["Content-Type"] = "application/json"
    if session_id is not None:
        fields["Mcp-Session-Id"] = session_id
    # The oldest revision has no such header; a request without it is read as that revision.
    if revision is not DEFAULT_LEGACY and message.get("method") != "initialize":
        fields["MCP-Protocol-Version"] = revision.name
    if revision.modern:
        fields.update(_modern_fields(revision, message, parameters))
    return fields


def _modern_fields(
    revision: Revision, message: Mapping[str, Any], parameters: Mapping[str, Sequence[HeaderParameter]]
) -> dict[str, str]:
    method, params = message.get("method"), message.get("params")
    fields = {"MCP-Protocol-Version": revision.name}
    if isinstance(method, str):
        fields["Mcp-Method"] = header_text(method)
        params = params if isinstance(params, Mapping) else {}
        name = params.get(_NAMED_BY.get(method, ""))
        if isinstance(name, str):
            fields["Mcp-Name"] = header_text(name)
        if method == "tools/call":
            fields.update(_parameter_fields(parameters.get(str(name), ()), params.get("arguments")))
    return fields


def _parameter_fields(parameters: Sequence[HeaderParameter], arguments: Any) -> Iterator[tuple[str, str]]:
    for header, path in parameters:
        value = argument_at(arguments, path)
        if value is not None:
            yield f"Mcp-Param-{header}", header_text(value)


def header_text(value: Any) -> str:
    """Write a name or an argument as a header value.

    Args:
        value: A string, a boolean, or a whole number.

    Source: basic/transports/streamable-http, "Value Encoding".
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = str(value)
    if _PLAIN.fullmatch(text) and not _SENTINEL.fullmatch(text):
        return text
    return f"=?base64?{base64.b64encode(text.encode('utf-8', 'surrogatepass')).decode()}?="


# Visible ASCII, with spaces and tabs only inside: white space around a value is not part of it.
_PLAIN = re.compile(r"(?:[!-~](?:[ -~\t]*[!-~])?)?")
_SENTINEL = re.compile(r"=\?base64\?.*\?=")


def header_parameters(schema: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[HeaderParameter]:
    """The ``x-mcp-header`` names in an input schema, each with the way to its argument.

    Source: basic/transports/streamable-http, "Schema Extension".
    """
    properties = schema.get("properties")
    for name, inner in properties.items() if isinstance(properties, Mapping) else ():
        if isinstance(inner, Mapping):
            if isinstance(inner.get("x-mcp-header"), str):
                yield inner["x-mcp-header"], (*path, name)
            yield from header_parameters(inner, (*path, name))


def merge_fields(*layers: Mapping[str, str | None]) -> list[tuple[str, str]]:
    """Put layers of header fields together; ``None`` leaves one out.

    Later layers replace the fields of earlier ones, whatever the case of their names.
    """
    fields: dict[str, tuple[str, str | None]] = {}
    for layer in layers:
        fields.update({name.lower(): (name, value) for name, value in layer.items()})
    return [(name, value) for name, value in fields.values() if value is not None]
