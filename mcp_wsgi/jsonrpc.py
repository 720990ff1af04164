"""JSON-RPC 2.0: bytes to frozen messages and back.

Reading is strict: UTF-8, RFC 8259, no NaN or Infinity, ids that are strings or integers. What is
JSON but no message becomes an ``Invalid`` value rather than an exception, so that a batch can
answer each of its items and an error can carry the id that could be read.

Duplicate member names are not refused; the last one counts (RFC 8259, 4, leaves it open).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import accumulate
from typing import Any

import msgspec

from mcp_wsgi.decoding import decode_json
from mcp_wsgi.errors import InvalidRequest, MCPError, ParseError

__all__ = [
    "Batch",
    "Id",
    "Invalid",
    "Message",
    "Notification",
    "Request",
    "Response",
    "decode",
    "dumps",
    "encode",
    "encode_error",
    "encode_notification",
    "encode_request",
    "encode_result",
    "parse",
]

Id = str | int


class Request(msgspec.Struct, frozen=True, gc=False):
    """A call that is owed an answer."""

    id: Id
    method: str
    params: dict[str, Any]


class Notification(msgspec.Struct, frozen=True, gc=False):
    """A message that is owed none."""

    method: str
    params: dict[str, Any]


class Response(msgspec.Struct, frozen=True, gc=False):
    """The answer to a request that was sent to the other side; one of the two is not ``None``."""

    id: Id | None
    result: dict[str, Any] | None
    error: dict[str, Any] | None


class Invalid(msgspec.Struct, frozen=True):
    """JSON that is no message: why, and the id if one could be read."""

    error: MCPError
    id: Id | None


Message = Request | Notification | Response | Invalid


class Batch(msgspec.Struct, frozen=True):
    """Several messages in one body; only 2025-03-26 has them."""

    items: tuple[Message, ...]


_write = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
encode = msgspec.json.Encoder().encode


def decode(text: bytes | str) -> Any:
    """Read JSON strictly.

    Raises:
        ParseError: Not UTF-8, not JSON, numbers out of range, or nested beyond what Python can follow.
    """
    try:
        return decode_json(text)
    except RecursionError:
        raise ParseError("Parse error: nested too deeply") from None
    except (msgspec.MsgspecError, UnicodeError) as problem:
        # The decoder's own words name positions only, never content.
        raise ParseError(f"Parse error: {problem}") from None


def parse(body: bytes, *, max_depth: int = 64, max_batch: int = 100) -> Message | Batch:
    """Read one body or line.

    Args:
        body: The bytes as received.
        max_depth: Levels of nesting that are accepted.
        max_batch: Messages in one batch that are accepted.

    Raises:
        ParseError: It is not JSON, or nested too deeply. (RFC 8259, 9, allows such a limit.)

    Source: basic/index, "Messages"; JSON-RPC 2.0.
    """
    # Every level opens a bracket, so few brackets need no closer look.
    if body.count(b"[") + body.count(b"{") > max_depth and _depth(body) > max_depth:
        raise ParseError(f"Parse error: nested deeper than {max_depth} levels")
    value = decode(body)
    return _batch(value, max_batch) if type(value) is list else _message(value)


def _depth(body: bytes) -> int:
    """The levels of nesting in JSON, or at least those in front of its first fault.

    It is found without decoding, which recurses and takes memory.
    """
    # A quote that is not escaped begins or ends a string, so every other piece is outside of one.
    pieces = body.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
    steps = b"".join(pieces[::2]).translate(_STEPS, _NO_BRACKETS)
    return max(accumulate(memoryview(steps).cast("b")), default=0)


_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
#: A bracket that opens becomes the signed byte 1, one that closes -1.
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")


def _batch(items: list[Any], limit: int) -> Batch | Invalid:
    if not items:
        return _invalid("the batch is empty", None)
    if len(items) > limit:
        # Before its items are looked at: each that is no message would become an error of its own.
        return _invalid(f"a batch has at most {limit} messages", None)
    return Batch(tuple(map(_message, items)))


def _message(value: Any) -> Message:
    if type(value) is not dict:
        return _invalid("a message is a JSON object", None)
    given = value.get("id")
    identity: Id | None = given if type(given) is str or type(given) is int else None
    if value.get("jsonrpc") != "2.0":
        return _invalid('"jsonrpc" must be "2.0"', identity)
    if "method" not in value:
        return _response(value, identity)
    if identity is None and "id" in value:
        return _invalid('"id" must be a string or an integer', None)
    method, params = value["method"], value.get("params", _NO_PARAMS)
    if type(method) is not str:
        return _invalid('"method" must be a string', identity)
    if params is _NO_PARAMS:
        params = {}
    elif type(params) is not dict:
        return _invalid('"params" must be an object', identity)
    return Notification(method, params) if identity is None else Request(identity, method, params)


_NO_PARAMS: Any = object()


def _response(value: dict[str, Any], identity: Id | None) -> Message:
    # An error may stand without an id, or with the null that JSON-RPC 2.0 wants, if none was readable.
    if identity is None and value.get("id") is not None:
        return _invalid('"id" must be a string or an integer', None)
    if "result" not in value and "error" not in value:
        return _invalid('a message has a "method", a "result" or an "error"', identity)
    result, error = value.get("result"), value.get("error")
    # From here on the id is that of a request of ours: sent back, it could be taken for the client's own.
    if "result" in value and "error" in value:
        return _invalid('a response has a "result" or an "error", not both', None)
    if "result" in value and (type(result) is not dict or identity is None):
        return _invalid('a result is an object and has an "id"', None)
    if "error" in value and not _is_error(error):
        return _invalid('an error is an object with an integer "code" and a string "message"', None)
    return Response(identity, result, error)


def _is_error(error: Any) -> bool:
    return type(error) is dict and type(error.get("code")) is int and type(error.get("message")) is str


def _invalid(why: str, identity: Id | None) -> Invalid:
    return Invalid(InvalidRequest(f"Invalid request: {why}"), identity)


def dumps(value: Any) -> str:
    """Write JSON built-ins strictly: no NaN or Infinity, no cycles, nothing that UTF-8 lacks.

    Raises:
        ValueError: One of those.
        TypeError: Something that JSON has no form for.
    """
    text = _write(value)
    text.encode()  # a lone surrogate fails here, where its owner can be told
    return text


def encode_result(identity: Id, result: bytes) -> bytes:
    """The response message around an encoded result object."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (encode(identity), result)


def encode_error(identity: Id | None, error: MCPError, *, code: int | None = None) -> bytes:
    """The error message; ``id`` is left out when none could be read.

    Args:
        identity: The request's id.
        error: What to tell.
        code: Overrides the error's own code; default: not.

    Source: basic/index, "Error Responses".
    """
    body: dict[str, Any] = {"code": error.code if code is None else code, "message": str(error)}
    if error.data is not None:
        body["data"] = error.data
    message: dict[str, Any] = {"jsonrpc": "2.0"}
    if identity is not None:
        message["id"] = identity
    message["error"] = body
    try:
        return _write(message).encode()
    except (TypeError, ValueError, RecursionError):
        # Application data that has no JSON form must not turn an answer into none.
        body.pop("data", None)
        body["message"] = body["message"].encode("utf-8", "replace").decode()
        return encode(message)


def encode_request(identity: Id, method: str, params: Mapping[str, Any]) -> bytes:
    """A request of the server's own; ``params`` are JSON built-ins.

    Raises:
        ValueError: NaN, Infinity, a cycle, or a lone surrogate.
        TypeError: Something that JSON has no form for.
    """
    return _write({"jsonrpc": "2.0", "id": identity, "method": method, "params": params}).encode()


def encode_notification(method: str, params: Mapping[str, Any]) -> bytes:
    """A notification message; ``params`` are JSON built-ins.

    Raises:
        ValueError: NaN, Infinity, a cycle, or a lone surrogate.
        TypeError: Something that JSON has no form for.
    """
    return _write({"jsonrpc": "2.0", "method": method, "params": params}).encode()
