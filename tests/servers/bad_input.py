"""Bad input as one table: what comes, by which rule it is answered, and how.

``python -m tests.servers.bad_input`` prints it; ``test_bad_input.py`` sends every row to real servers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["MAX_BODY", "OPTIONS", "ROWS", "Row", "good_request"]

MODERN, LEGACY, OLDEST = "2026-07-28", "2025-11-25", "2025-03-26"
MAX_BODY = 64 * 1024

#: The options of the application that the rows are sent to.
OPTIONS: dict[str, Any] = {
    "max_body": MAX_BODY,
    "max_batch": 5,
    "hosts": ["localhost", "127.0.0.1"],
    "request_timeout": 0.5,
    "stream_after": 5,
}

_PREFIX = "io.modelcontextprotocol/"
META = {_PREFIX + "protocolVersion": MODERN, _PREFIX + "clientCapabilities": {}}


_BAD_IDS: tuple[Any, ...] = (None, True, 1.5, [], {})
_BAD_PARAMS: tuple[Any, ...] = ([], "text", 1, None)


@dataclass(frozen=True)
class Row:
    """One bad input.

    Attributes:
        name: What comes.
        why: The rule's ID, or the reason.
        body: The bytes of the body.
        headers: Header fields beyond the usual ones; ``None`` leaves a usual one out.
        status: HTTP status of the answer.
        code: JSON-RPC code in its body; ``None``: no error.
        extra: Raw header lines added as they are, for what a mapping cannot say.
        chunked: Whether the body goes out in chunks instead of with a length.
        length: What ``Content-Length`` claims; ``None``: the truth.
        by_server: Whether the WSGI server itself refuses it, with a body of its own.
        text: What the body must hold.
        not_on: Servers that cannot receive such a request at all, with the reason.
    """

    name: str
    why: str
    body: bytes
    status: int
    code: int | None = None
    headers: Mapping[str, str | None] = field(default_factory=dict)
    extra: bytes = b""
    chunked: bool = False
    length: str | None = None
    by_server: bool = False
    text: str = ""
    http_method: str = "POST"
    not_on: Mapping[str, str] = field(default_factory=dict)


def message(method: Any = "tools/call", params: Any = None, *, identity: Any = 7, **more: Any) -> dict[str, Any]:
    """A modern request message, right but for what is given."""
    if params is None:
        params = {"name": "echo", "arguments": {"text": "hi"}, "_meta": META}
    return {"jsonrpc": "2.0", "id": identity, "method": method, "params": params, **more}


def good_request() -> Row:
    """A request that is right in every way."""
    return Row("good", "the next request is served", _json(message()), 200, None, _modern())


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def _modern(name: str | None = "echo", method: str = "tools/call", **more: str | None) -> dict[str, str | None]:
    fields: dict[str, str | None] = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method, "Mcp-Name": name}
    return {**fields, **{key.replace("_", "-"): value for key, value in more.items()}}


def _legacy(version: str | None = LEGACY) -> dict[str, str | None]:
    return {"MCP-Protocol-Version": version}


def _call(name: str, **arguments: Any) -> bytes:
    return _json(message(params={"name": name, "arguments": arguments, "_meta": META}))


def _without(key: str) -> dict[str, Any]:
    return {name: value for name, value in message().items() if name != key}


_INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": OLDEST, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
}
_PING = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
_NO_CHUNKS = {"wsgiref": "the server does not read chunks"}

_NOT_MESSAGES = [
    Row("empty body", "S26-BASE-08", b"", 400, -32700),
    Row("not JSON", "S26-BASE-08", b"{nope", 400, -32700),
    Row("JSON with a tail", "S26-BASE-08", _json(message()) + b"}", 400, -32700),
    Row("not UTF-8", "S26-BASE-01", b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', 400, -32700),
    Row("UTF-16", "S26-BASE-01", json.dumps(message()).encode("utf-16"), 400, -32700),
    Row("byte order mark", "RFC 8259, 8.1", b"\xef\xbb\xbf" + _json(message()), 400, -32700),
    Row("NaN", "RFC 8259, 6", b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":NaN}}', 400, -32700),
    Row("nested brackets", "max_depth", b"[" * 30000 + b"]" * 30000, 400, -32700),
    Row("nested objects", "max_depth", b'{"a":' * 100 + b"1" + b"}" * 100, 400, -32700),
    Row("number too large", "no float holds it", b'{"jsonrpc":"2.0","id":1e999,"method":"ping"}', 400, -32700),
    Row("lone surrogate", "S26-BASE-01", b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}', 400, -32700),
    Row("a string", "S26-BASE-08", b'"hello"', 400, -32600),
    Row("no jsonrpc", "S26-BASE-01", _json(_without("jsonrpc")), 400, -32600),
    Row("jsonrpc 1.0", "S26-BASE-01", _json(message(jsonrpc="1.0")), 400, -32600),
    *(Row(f"id {json.dumps(bad)}", "S26-BASE-02", _json(message(identity=bad)), 400, -32600) for bad in _BAD_IDS),
    *(
        Row(f"params {json.dumps(bad)}", "S26-BASE-08", _json({**message(), "params": bad}), 400, -32600)
        for bad in _BAD_PARAMS
    ),
    Row("method 5", "S26-BASE-08", _json(message(5)), 400, -32600),
    Row("method and nothing else is null", "S26-BASE-08", _json(message(None)), 400, -32600),
    Row("result and error", "T25-BASE-03", b'{"jsonrpc":"2.0","id":1,"result":{},"error":{}}', 400, -32600),
]
#: Whatever is no message is answered the same with the headers of either era.
_BOTH_ERAS = [
    Row(f"{row.name}, {era}", row.why, row.body, row.status, row.code, headers)
    for row in _NOT_MESSAGES
    for era, headers in (("modern", _modern()), ("legacy", _legacy()))
]

_DUPLICATE = b'{"jsonrpc":"2.0","id":1,"method":"nope","method":"ping"}'

_MESSAGES = [
    Row("duplicate keys", "RFC 8259, 4: the last counts", _DUPLICATE, 200, None, _legacy(), text='"result":{}'),
    Row(
        "notification of an unknown method",
        "S26-HTTP-05",
        b'{"jsonrpc":"2.0","method":"notifications/unknown"}',
        202,
        None,
        _modern(None, "notifications/unknown"),
    ),
    Row(
        "the same in the session era",
        "T25-HTTP-05",
        b'{"jsonrpc":"2.0","method":"notifications/unknown"}',
        202,
        None,
        _legacy(),
    ),
    Row(
        "cancel without Mcp-Method",
        "Q-12: what the TypeScript client sends",
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}',
        202,
        None,
        {"MCP-Protocol-Version": MODERN},
    ),
    Row("response, modern", "S26-HTTP-04", b'{"jsonrpc":"2.0","id":1,"result":{}}', 400, -32600, _modern()),
    Row(
        "response nobody waits for",
        "T25-HTTP-05: nothing to match it with, nothing to hurt",
        b'{"jsonrpc":"2.0","id":1,"result":{}}',
        202,
        None,
        _legacy(),
    ),
    Row("batch, modern", "S26-HTTP-04", _json([message()]), 400, -32600, _modern()),
    Row("batch in 2025-11-25", "T25-BASE-07", _json([_PING]), 400, -32600, _legacy()),
    Row("batch in 2025-06-18", "T25-BASE-07", _json([_PING]), 400, -32600, _legacy("2025-06-18")),
    Row("empty batch", "JSON-RPC 2.0, 6", b"[]", 400, -32600, _legacy(OLDEST)),
    Row("batch too long", "max_batch", _json([_PING] * 6), 400, -32600, _legacy(OLDEST)),
    Row("batch with initialize", "T25-BASE-08", _json([_INITIALIZE, _PING]), 200, -32600, _legacy(OLDEST)),
    Row("nested batch", "JSON-RPC 2.0, 6", _json([[_PING], _PING]), 200, -32600, _legacy(OLDEST)),
    Row("method not found", "S26-HTTP-16", _json(message("nope")), 404, -32601, _modern(None, "nope")),
    Row("method not found, legacy", "DUAL-08", _json(message("nope", {})), 200, -32601, _legacy()),
    Row("ping, modern", "DUAL-03", _json(message("ping")), 404, -32601, _modern(None, "ping")),
    Row("unknown tool", "S26-TOOL-10", _call("nope"), 200, -32602, _modern("nope")),
    Row("wrong arguments", "S26-TOOL-11", _call("echo", text=1), 200, None, _modern(), text='"isError":true'),
    Row("unknown arguments", "S26-TOOL-11", _call("echo", txt="x"), 200, None, _modern(), text='"isError":true'),
]

_BAD_CHUNKS = {
    "a size that is no number": b"zz\r\n{}\r\n0\r\n\r\n",
    "a negative size": b"-5\r\n{}\r\n0\r\n\r\n",
    "a size too small": b"1\r\n{}\r\n0\r\n\r\n",
}

_LENGTHS = [
    Row("no length", "RFC 9110, 8.6", b"", 400, -32700, _modern(), length="", extra=b""),
    Row("length that lies: too short", "S26-BASE-08", _json(message()), 400, -32700, _modern(), length="20"),
    Row("negative length", "RFC 9110, 8.6", b"", 400, None, _modern(), length="-1", by_server=True),
    Row("length that is no number", "RFC 9110, 8.6", b"", 400, None, _modern(), length="ten", by_server=True),
    Row("too large", "max_body", b" " * (MAX_BODY + 1), 413, -32600, _modern()),
    Row(
        "claims to be too large",
        "max_body",
        b"",
        413,
        -32600,
        _modern(),
        length=str(MAX_BODY + 1),
        not_on={"waitress": "the server waits for the whole body first"},
    ),
    Row(
        "too large in chunks",
        "max_body counts what comes",
        b" " * (MAX_BODY + 1),
        413,
        -32600,
        _modern(),
        chunked=True,
        not_on=_NO_CHUNKS,
    ),
    *(
        Row(
            f"chunks: {fault}",
            "S26-BASE-08",
            body,
            400,
            -32700,
            _modern(Transfer_Encoding="chunked"),
            length="",
            not_on={**_NO_CHUNKS, "waitress": "the server refuses them itself"},
        )
        for fault, body in _BAD_CHUNKS.items()
    ),
    Row("chunks", "RFC 9112, 7.1", _json(message()), 200, None, _modern(), chunked=True, not_on=_NO_CHUNKS),
]

_CALL = _json(message())
_FIELDS = [
    Row("no Content-Type", "Q-06", _CALL, 415, -32600, _modern(Content_Type=None)),
    Row("Content-Type text/plain", "Q-06", _CALL, 415, -32600, _modern(Content_Type="text/plain")),
    Row("JSON in Latin-1", "S26-BASE-01", _CALL, 415, -32600, _modern(Content_Type="application/json; charset=latin1")),
    Row("JSON in UTF-8", "S26-BASE-01", _CALL, 200, None, _modern(Content_Type="application/json; charset=utf-8")),
    *(
        Row(f"Accept {value}", "Q-06", _CALL, 200, None, _modern(Accept=value), text='"text":"hi"')
        for value in (None, "*/*", "application/*", "application/json", "text/event-stream", "text/*;q=0.1")
    ),
    Row("Accept text/html", "Q-06", _CALL, 406, -32600, _modern(Accept="text/html")),
    Row("foreign Origin", "S26-HTTP-02", _CALL, 403, -32600, _modern(Origin="https://evil.example.com")),
    Row("Origin null", "S26-HTTP-02", _CALL, 403, -32600, _modern(Origin="null")),
    Row(
        "Origin twice",
        "W-01",
        _CALL,
        403,
        -32600,
        _modern(Origin="http://127.0.0.1"),
        extra=b"Origin: http://127.0.0.1\r\n",
    ),
    Row("own Origin once", "S26-HTTP-02", _CALL, 200, None, _modern(Origin="http://127.0.0.1")),
    Row("foreign Host", "S26-SEC-03", _CALL, 403, -32600, _modern(Host="evil.example.com")),
    *(
        Row(f"Host {host}", "S26-SEC-03", _CALL, 403, -32600, _modern(Host=host))
        for host in ("localhost:80:90", "[127.0.0.1", "localhost/")
    ),
    Row("no version header", "S26-HTTP-14", _CALL, 400, -32020, _modern(MCP_Protocol_Version=None)),
    Row("another version header", "S26-HTTP-14", _CALL, 400, -32020, _modern(MCP_Protocol_Version="2025-11-25")),
    Row("version twice", "W-01", _CALL, 400, -32020, _modern(), extra=b"MCP-Protocol-Version: 2026-07-28\r\n"),
    Row("Mcp-Method twice", "W-01", _CALL, 400, -32020, _modern(), extra=b"Mcp-Method: tools/call\r\n"),
    Row("Mcp-Name twice", "W-01", _CALL, 400, -32020, _modern(), extra=b"Mcp-Name: echo\r\n"),
    Row("no Mcp-Method", "S26-HTTP-18", _CALL, 400, -32020, _modern(Mcp_Method=None)),
    Row("another Mcp-Method", "S26-HTTP-18", _CALL, 400, -32020, _modern(Mcp_Method="tools/list")),
    Row("Mcp-Method in capitals", "S26-HTTP-20", _CALL, 400, -32020, _modern(Mcp_Method="TOOLS/CALL")),
    Row("no Mcp-Name", "S26-HTTP-19", _CALL, 400, -32020, _modern(None)),
    Row("another Mcp-Name", "S26-HTTP-19", _CALL, 400, -32020, _modern("add")),
    Row("Mcp-Name in broken Base64", "S26-HTTP-23", _CALL, 400, -32020, _modern("=?base64?ZWNobw?=")),
    Row("Mcp-Name in Base64", "S26-HTTP-22", _CALL, 200, None, _modern("=?base64?ZWNobw==?=")),
    Row("Mcp-Name with a high byte", "S26-HTTP-24", _CALL, 400, -32020, _modern("ech\xf6")),
    Row("white space round a value", "S26-HTTP-21", _CALL, 200, None, _modern("  echo  ")),
    Row("Mcp-Param that no schema names", "S26-HTTP-31", _CALL, 200, None, _modern(Mcp_Param_Colour="red")),
    Row(
        "no Mcp-Param for an argument",
        "S26-HTTP-26",
        _call("in_region", region="eu"),
        400,
        -32020,
        _modern("in_region"),
    ),
    Row(
        "another Mcp-Param",
        "S26-HTTP-26",
        _call("in_region", region="eu"),
        400,
        -32020,
        _modern("in_region", Mcp_Param_Region="us"),
    ),
    Row(
        "Mcp-Param without its argument",
        "S26-HTTP-27",
        _call("in_region"),
        400,
        -32020,
        _modern("in_region", Mcp_Param_Region="eu"),
    ),
    Row(
        "Mcp-Param beyond all numbers",
        "S26-HTTP-29",
        _call("numbered", number=1),
        400,
        -32020,
        _modern("numbered", Mcp_Param_Number="1e999999999999999999999"),
    ),
    Row("unknown version, legacy", "T25-HTTP-18", _json(_PING), 400, -32022, _legacy("1999-01-01")),
    Row(
        "version twice, legacy",
        "W-01",
        _json(_PING),
        400,
        -32022,
        _legacy(),
        extra=f"MCP-Protocol-Version: {LEGACY}\r\n".encode(),
    ),
    Row("malformed version, legacy", "T25-HTTP-18", _json(_PING), 400, -32022, _legacy("latest, please")),
    Row("modern header, no _meta", "S26-BASE-14", _json(_PING), 400, -32602, _modern(None, "ping")),
    Row(
        "a version nobody knows",
        "S26-VER-01",
        _json(message(params={"_meta": {**META, _PREFIX + "protocolVersion": "v999"}}, method="tools/list")),
        400,
        -32022,
        _modern(None, "tools/list", MCP_Protocol_Version="v999"),
    ),
    Row(
        "listen without a filter",
        "S26-SUB-06, Q-05",
        _json(message("subscriptions/listen", {"notifications": 5, "_meta": META})),
        200,
        -32602,
        _modern(None, "subscriptions/listen"),
        not_on={"wsgiref": "its one thread can hold no stream, so it has no such method"},
    ),
    Row("GET", "T25-HTTP-11", b"", 405, -32600, _legacy(), http_method="GET"),
    Row("GET, modern", "DUAL-09", b"", 405, -32600, {"MCP-Protocol-Version": MODERN}, http_method="GET"),
    Row("DELETE", "T25-SESS-05", b"", 405, -32600, _legacy(), http_method="DELETE"),
    Row("PUT", "S26-HTTP-37", _CALL, 405, -32600, _modern(), http_method="PUT"),
]

_HANDLERS = [
    Row("a tool that raises", "S26-TOOL-11", _call("raising"), 200, None, _modern("raising"), text='"isError":true'),
    Row("a tool that returns junk", "S26-TOOL-11", _call("junk"), 200, None, _modern("junk"), text='"isError":true'),
    *(
        Row(
            f"a tool that returns {kind}",
            "S26-TOOL-11",
            _call("unencodable", kind=kind),
            200,
            None,
            _modern("unencodable"),
            text='"isError":true',
        )
        for kind in ("bytes in a dict", "a key that is no string", "a circle", "NaN", "a lone surrogate")
    ),
    Row("a tool with an error without words", "S26-BASE-06", _call("wordless"), 200, -32603, _modern("wordless")),
    Row("an auth that times out", "a worker survives", _CALL, 500, -32603, _modern(X_Auth="late")),
    Row("a tool that exits", "S26-TOOL-11", _call("exiting"), 200, None, _modern("exiting"), text='"isError":true'),
    Row("a tool that never returns", "request_timeout", _call("endless"), 200, -32603, _modern("endless")),
    Row(
        "a resource that raises",
        "S26-RES-04",
        _json(message("resources/read", {"uri": "bad://raising", "_meta": META})),
        200,
        -32603,
        _modern("bad://raising", "resources/read"),
    ),
]

ROWS: tuple[Row, ...] = (*_BOTH_ERAS, *_MESSAGES, *_LENGTHS, *_FIELDS, *_HANDLERS)


def main() -> None:
    """Print the table."""
    for row in ROWS:
        answer = f"{row.status} {row.code or ''}".strip() + (", by the server" if row.by_server else "")
        print(f"{row.name:<48} {row.why:<52} {answer}")


if __name__ == "__main__":
    main()
