"""Random requests against the whole WSGI entry: ``python -m tests.fuzzing [--requests N] [--seed S]``.

Requests are right ones with something changed: bytes of the body, parts of the message, header
fields, the method, the path. Each answer must be well-formed HTTP with JSON-RPC in it where a body
is due, come within a second, and leave no error of ours in the log; now and then a right request
must be served. The run ends with the growth of the process since its first tenth.
"""

from __future__ import annotations

import argparse
import io
import json
import logging
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Annotated, Any
from wsgiref.validate import validator

from mcp_wsgi import Context, MCPServer

__all__ = ["Fuzzer", "application"]

MODERN = "2026-07-28"
VERSIONS = (MODERN, "2025-11-25", "2025-06-18", "2025-03-26")
PREFIX = "io.modelcontextprotocol/"
#: Seconds that no answer may take, unless told otherwise.
SLOWEST = 1.0
#: Every so many requests one goes through the standard library's validator, and a right one is sent.
CHECKED_EVERY = 50


class Colour(Enum):
    """An enumerated argument."""

    RED = "red"
    BLUE = "blue"


def application(**options: Any) -> Any:
    """An application with a bit of everything, none of which fails on its own."""
    mcp = MCPServer("fuzz", version="1.0")

    @mcp.tool
    def echo(text: str) -> str:
        return text

    @mcp.tool
    def shapes(
        number: int,
        ratio: float = 0.5,
        colour: Colour = Colour.RED,
        tags: list[str] | None = None,
        table: dict[str, int] | None = None,
    ) -> dict[str, Any]:
        return {"number": number, "ratio": ratio, "colour": colour.value, "tags": tags, "table": table}

    @mcp.tool
    def region(where: Annotated[str | None, {"x-mcp-header": "Region"}] = None) -> str:
        return where or "nowhere"

    @mcp.tool
    def steps(count: int, ctx: Context) -> str:
        for step in ctx.track(range(min(count, 3))):
            ctx.info({"step": step})
        return "done"

    @mcp.resource("fuzz://fixed")
    def fixed() -> str:
        return "fixed"

    @mcp.resource("fuzz://item/{key}{?limit}")
    def item(key: str, limit: int = 1) -> dict[str, Any]:
        return {"key": key, "limit": limit}

    @mcp.prompt
    def ask(topic: str, tone: Colour = Colour.BLUE) -> str:
        return f"{topic} {tone.value}"

    @ask.complete("topic")
    def topics(value: str) -> list[str]:
        return [value + "s"]

    return mcp.wsgi_app(**{"workers": "inline", "page_size": 2, "origins": ["https://app.example.com"], **options})


@dataclass
class Fuzzer:
    """Sends random requests to an application and checks what comes back.

    Attributes:
        app: The application.
        seed: Makes a run repeatable.
        patience: Seconds that no answer may take.
        statuses: How often each status came.
        slowest: Seconds of the slowest answer.
    """

    app: Callable[..., Iterable[bytes]]
    seed: int
    patience: float = SLOWEST
    statuses: Counter[int] = field(default_factory=Counter)
    slowest: float = 0.0

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.validated = validator(self.app)
        self.errors: list[str] = []
        self.sent = 0

    def run(self, requests: int) -> None:
        """Send so many requests."""
        watcher = _Watcher(self.errors)
        logger = logging.getLogger("mcp_wsgi")
        logger.addHandler(watcher)
        try:
            for _ in range(requests):
                self.once()
        finally:
            logger.removeHandler(watcher)

    def once(self) -> None:
        """Send one request and check its answer."""
        self.sent += 1
        checked = self.sent % CHECKED_EVERY == 0
        environ = self.environ()
        app = self.validated if checked and _is_valid(environ) else self.app
        status, headers, body = self.send(app, environ)
        where = f"request {self.sent} of seed {self.seed}"
        assert not self.errors, f"{where}: {self.errors}"
        self.statuses[status] += 1
        check_answer(status, headers, body, where, headless=environ["REQUEST_METHOD"] == "HEAD")
        if checked:
            status, _, body = self.send(self.app, make_environ(*right_request()))
            served = status == 200 and b'"text":"right"' in body
            assert served, f"after {where}: {status} {body!r}"

    def send(self, app: Callable[..., Any], environ: dict[str, Any]) -> tuple[int, list[tuple[str, str]], bytes]:
        """Call the application as a server does."""
        seen: list[Any] = []

        def start_response(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
            seen.append((status, headers))
            return seen.append

        start = time.perf_counter()
        chunks = app(environ, start_response)
        try:
            # Some clients go away after the first piece.
            body = next(iter(chunks), b"") if self.random.random() < 0.05 else b"".join(chunks)
        finally:
            if hasattr(chunks, "close"):
                chunks.close()
        took = time.perf_counter() - start
        self.slowest = max(self.slowest, took)
        assert took < self.patience, f"request {self.sent} of seed {self.seed} took {took:.2f} s"
        status, headers = seen[0]
        return int(status.split()[0]), headers, body

    # --- making requests --------------------------------------------------------------------------

    def environ(self) -> dict[str, Any]:
        """A request with some of its parts changed."""
        pick = self.random
        version = pick.choice(VERSIONS)
        message = self.message(version)
        headers = self.headers(version, message)
        for _ in range(pick.choice((0, 0, 1, 1, 2))):
            message = self.mutate(message)
        body = json.dumps(message, ensure_ascii=pick.random() < 0.5).encode("utf-8", "surrogatepass")
        if pick.random() < 0.2:
            body = self.damage(body)
        environ = make_environ(body, headers)
        if pick.random() < 0.05:
            environ["REQUEST_METHOD"] = pick.choice(("GET", "DELETE", "PUT", "HEAD", "OPTIONS", "BREW"))
        if pick.random() < 0.05:
            environ["PATH_INFO"] = pick.choice(("", "/", "/mcp/", "/other", "/mcp/../mcp", "\xff"))
        if pick.random() < 0.05:
            environ["CONTENT_LENGTH"] = pick.choice(("", "0", "-1", "1", "99999999999", "ten", str(len(body) + 5)))
        return environ

    def message(self, version: str) -> Any:
        """A right message of some kind."""
        pick = self.random
        method, params = pick.choice(REQUESTS)
        params = json.loads(json.dumps(params))
        if version == MODERN:
            params["_meta"] = {PREFIX + "protocolVersion": version, PREFIX + "clientCapabilities": {}}
            if pick.random() < 0.3:
                params["_meta"][PREFIX + "logLevel"] = "debug"
        if pick.random() < 0.3:
            params.setdefault("_meta", {})["progressToken"] = pick.choice((1, "token", 0, ""))
        message = {"jsonrpc": "2.0", "id": pick.choice((0, 1, "one", -5, 2**60)), "method": method, "params": params}
        if pick.random() < 0.1:
            del message["id"]
        if version == "2025-03-26" and pick.random() < 0.3:
            # Ids and progress tokens are unique among the requests of a right batch.
            params.pop("_meta", None)
            return [{**message, "id": f"{number}"} for number in range(pick.randint(0, 3))]
        return message

    def headers(self, version: str, message: Any) -> dict[str, str]:
        """The header fields that go with a message, some of them changed."""
        pick = self.random
        headers = {
            "CONTENT_TYPE": "application/json",
            "HTTP_ACCEPT": "application/json, text/event-stream",
            "HTTP_MCP_PROTOCOL_VERSION": version,
        }
        if version == MODERN and isinstance(message, dict):
            headers["HTTP_MCP_METHOD"] = message["method"]
            name = message["params"].get("name", message["params"].get("uri"))
            if name is not None:
                headers["HTTP_MCP_NAME"] = name
        if pick.random() < 0.3:
            headers[pick.choice(FIELDS)] = pick.choice(VALUES)
        if pick.random() < 0.1:
            headers.pop(pick.choice(list(headers)))
        return headers

    def mutate(self, value: Any) -> Any:
        """Change something somewhere in a JSON value."""
        pick = self.random
        if isinstance(value, dict) and value and pick.random() < 0.8:
            changed = dict(value)
            key = pick.choice(list(changed))
            roll = pick.random()
            if roll < 0.15:
                del changed[key]
            elif roll < 0.3:
                changed[pick.choice(WORDS)] = changed[key]
            else:
                changed[key] = self.mutate(changed[key])
            return changed
        if isinstance(value, list) and value and pick.random() < 0.8:
            changed_list = list(value)
            at = pick.randrange(len(changed_list))
            changed_list[at] = self.mutate(changed_list[at])
            return changed_list
        return pick.choice(JUNK)

    def damage(self, body: bytes) -> bytes:
        """Change bytes."""
        pick = self.random
        data = bytearray(body)
        for _ in range(pick.randint(1, 4)):
            at = pick.randrange(len(data) + 1)
            roll = pick.random()
            if roll < 0.3:
                data[at:at] = pick.choice(SCRAPS)
            elif roll < 0.6:
                del data[at : at + pick.randint(1, 8)]
            elif data:
                data[at % len(data)] = pick.randrange(256)
        return bytes(data)


REQUESTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("tools/call", {"name": "echo", "arguments": {"text": "hi"}}),
    ("tools/call", {"name": "shapes", "arguments": {"number": 1, "tags": ["a"], "table": {"b": 2}}}),
    ("tools/call", {"name": "region", "arguments": {}}),
    ("tools/call", {"name": "steps", "arguments": {"count": 2}}),
    ("tools/list", {}),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("resources/read", {"uri": "fuzz://fixed"}),
    ("resources/read", {"uri": "fuzz://item/a%20b?limit=3"}),
    ("prompts/list", {}),
    ("prompts/get", {"name": "ask", "arguments": {"topic": "rain"}}),
    (
        "completion/complete",
        {"ref": {"type": "ref/prompt", "name": "ask"}, "argument": {"name": "topic", "value": "ra"}},
    ),
    ("server/discover", {}),
    ("ping", {}),
    ("logging/setLevel", {"level": "debug"}),
    (
        "initialize",
        {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "fuzz", "version": "1"}},
    ),
    ("notifications/initialized", {}),
    ("notifications/cancelled", {"requestId": 1}),
)
WORDS = ("cursor", "uri", "name", "arguments", "_meta", "id", "method", "text", "\x00", "é", "")
JUNK: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1.5,
    1e308,
    2**70,
    "",
    "x",
    "\x00",
    "é🙂",
    "\ud800",
    "x" * 5000,
    "[1]",
    '"1"',
    [],
    {},
    [[]],
    {"": ""},
    [1] * 100,
    "../../etc/passwd",
    "fuzz://item/%2e%2e%2f",
    "=?base64?eA==?=",
)
FIELDS = (
    "CONTENT_TYPE",
    "HTTP_ACCEPT",
    "HTTP_HOST",
    "HTTP_ORIGIN",
    "HTTP_MCP_METHOD",
    "HTTP_MCP_NAME",
    "HTTP_MCP_PROTOCOL_VERSION",
    "HTTP_MCP_SESSION_ID",
    "HTTP_MCP_PARAM_REGION",
    "HTTP_LAST_EVENT_ID",
    "HTTP_ACCESS_CONTROL_REQUEST_HEADERS",
)
VALUES = (
    "",
    " ",
    "x",
    "*/*",
    "application/json",
    "text/event-stream",
    "text/html",
    "application/json;q=0",
    "text/plain",
    "https://app.example.com",
    "http://evil.example.com",
    "null",
    "evil.example.com",
    "[::1]:8000",
    "[",
    "2026-07-28",
    "2025-06-18",
    "v999",
    "=?base64?!!?=",
    "=?base64?ZWNobw==?=",
    "\xff\xfe",
    "a,b",
    "Mcp-Param-Region, x\ty",
    "a" * 9000,
)
SCRAPS = (b"\x00", b"\xff", b"{", b"}", b"[", b'"', b"\\", b"\\u0000", b",", b"1e999", b"[" * 200, b"\xef\xbb\xbf")


def make_environ(body: bytes, headers: dict[str, str]) -> dict[str, Any]:
    """The environ of a POST to the endpoint."""
    return {
        "REQUEST_METHOD": "POST",
        "SCRIPT_NAME": "",
        "PATH_INFO": "/mcp",
        "QUERY_STRING": "",
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "HTTP_HOST": "127.0.0.1",
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
        **headers,
    }


def right_request() -> tuple[bytes, dict[str, str]]:
    """A request that must be served whatever came before."""
    meta = {PREFIX + "protocolVersion": MODERN, PREFIX + "clientCapabilities": {}}
    params = {"name": "echo", "arguments": {"text": "right"}, "_meta": meta}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    return body, {
        "CONTENT_TYPE": "application/json",
        "HTTP_MCP_PROTOCOL_VERSION": MODERN,
        "HTTP_MCP_METHOD": "tools/call",
        "HTTP_MCP_NAME": "echo",
        "HTTP_ACCEPT": "application/json",
    }


STATUSES = frozenset({200, 202, 204, 400, 403, 404, 405, 406, 411, 413, 415})


def check_answer(
    status: int, headers: list[tuple[str, str]], body: bytes, where: str, *, headless: bool = False
) -> None:
    """Well-formed HTTP, and JSON-RPC where a body is due."""
    assert status in STATUSES, f"{where}: status {status}"
    fields = {name.lower(): value for name, value in headers}
    assert all(value.isprintable() for value in fields.values()), f"{where}: {headers}"
    if not body:
        assert headless or status in (202, 204), f"{where}: {status} without a body"
        return
    kind = fields["content-type"]
    if kind == "application/json":
        assert int(fields["content-length"]) == len(body), f"{where}: Content-Length"
        lines = [body]
    else:
        assert kind == "text/event-stream", f"{where}: {kind}"
        lines = [line[6:] for line in body.split(b"\n") if line.startswith(b"data: ")]
    for line in lines:
        value = json.loads(line)
        for message in value if isinstance(value, list) else [value]:
            assert message["jsonrpc"] == "2.0", f"{where}: {message}"
            assert message.get("error", {}).get("code") != -32603, f"{where}: {message}"


def _is_valid(environ: dict[str, Any]) -> bool:
    """Whether the standard library's validator takes the environ at all."""
    path, length = environ["PATH_INFO"], environ["CONTENT_LENGTH"]
    known = environ["REQUEST_METHOD"] in ("GET", "HEAD", "POST", "OPTIONS", "PUT", "DELETE")
    return known and path.startswith("/") and (not length or length.isdigit())


class _Watcher(logging.Handler):
    """Collects what the package itself calls an error."""

    def __init__(self, errors: list[str]) -> None:
        super().__init__(logging.ERROR)
        self._errors = errors

    def emit(self, record: logging.LogRecord) -> None:
        self._errors.append(self.format(record))


def resident() -> float:
    """Resident memory of this process in MiB."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS"))


def main() -> int:
    """Run, and print what was seen."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--workers", choices=("inline", "threads"), default="inline")
    arguments = parser.parse_args()
    logging.getLogger("mcp_wsgi").propagate = False
    fuzzer = Fuzzer(application(workers=arguments.workers), arguments.seed)
    first = arguments.requests // 10
    start = time.perf_counter()
    fuzzer.run(first)
    settled = resident()
    fuzzer.run(arguments.requests - first)
    print(f"seed {arguments.seed}: {fuzzer.sent} requests in {time.perf_counter() - start:.0f} s")
    print(f"slowest answer {fuzzer.slowest * 1000:.0f} ms; statuses {dict(sorted(fuzzer.statuses.items()))}")
    print(f"resident memory {settled:.1f} MiB after {first} requests, {resident() - settled:+.1f} MiB since")
    return 0


if __name__ == "__main__":
    sys.exit(main())
