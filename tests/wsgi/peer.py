"""A client of the session era by hand: what it sends is as raw as a test wants it, and what it reads has event ids."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from queue import Queue
from typing import TYPE_CHECKING, Any

from mcp_wsgi import Context, InitParams, MCPServer, ToolError
from mcp_wsgi.errors import MCPError
from mcp_wsgi.http_client import Event, EventParser, WSGIApplication
from mcp_wsgi.wsgi.app import MCPApp
from tests.wsgi.raw import Got, environ_of, raw

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "NEWEST",
    "OLDEST",
    "SECOND",
    "SOON",
    "Later",
    "Opened",
    "Peer",
    "Stage",
    "call",
    "initialize",
    "note",
    "ping",
    "unjudged",
]

OLDEST, SECOND, NEWEST = "2025-03-26", "2025-06-18", "2025-11-25"

#: Seconds: a bound for what happens at once.
SOON = 20.0
_KEEPALIVES = 20

# As it is before the tests put their judge in front of it.
_ANSWER = MCPApp.__call__


def unjudged(app: MCPApp) -> WSGIApplication:
    """The application without its judge, for what the judge has no rule for."""
    return partial(_ANSWER, app)


# --- messages -------------------------------------------------------------------------------------


def ping(identity: Any = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identity, "method": "ping"}


def note(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": f"notifications/{method}", "params": params}


def call(tool: str, identity: Any = 1, token: Any = None, **arguments: Any) -> dict[str, Any]:
    meta = {} if token is None else {"_meta": {"progressToken": token}}
    params = {"name": tool, "arguments": arguments, **meta}
    return {"jsonrpc": "2.0", "id": identity, "method": "tools/call", "params": params}


def initialize(revision: str = NEWEST, **params: Any) -> dict[str, Any]:
    info = {"name": "peer", "version": "1"}
    asked = {"protocolVersion": revision, "capabilities": {}, "clientInfo": info, **params}
    return {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": asked}


# --- answers --------------------------------------------------------------------------------------


class Opened:
    """An answer of which a test reads as much as it wants."""

    def __init__(self, app: WSGIApplication, environ: dict[str, Any]) -> None:
        started: list[tuple[str, list[tuple[str, str]]]] = []

        def start_response(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
            started.append((status, headers))
            return lambda data: None

        self._body = app(environ, start_response)
        self._chunks = iter(self._body)
        self._parser = EventParser()
        self._events: list[Event] = []
        ((status, headers),) = started
        self.status, self.headers = int(status[:3]), dict(headers)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        for _ in range(_KEEPALIVES):
            if self._events:
                return self._events.pop(0)
            chunk = next(self._chunks, None)
            if chunk is None:
                self.close()  # as servers do
                raise StopIteration
            self._events = self._parser.feed(chunk)
        raise AssertionError("only keep-alive comments came")

    def message(self) -> Any:
        """The next message; marks are passed over."""
        return next(json.loads(event.data) for event in self if event.data)

    def messages(self) -> list[Any]:
        """All messages to the end."""
        return [json.loads(event.data) for event in self if event.data]

    def close(self) -> None:
        close = getattr(self._body, "close", None)
        if close is not None:
            close()


class Later:
    """What a function returns in a thread of its own."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self._results: list[Any] = []
        self._thread = threading.Thread(target=lambda: self._results.append(function()), daemon=True)
        self._thread.start()

    def result(self) -> Any:
        self._thread.join(SOON)
        assert self._results, "nothing came back"
        return self._results[0]


# --- the client -----------------------------------------------------------------------------------


class Peer:
    """One client and its session.

    Args:
        app: The application.
        revision: The revision to ask for.
        ready: Whether it says that it is ready when the session is there.
        entries: Entries of the ``environ`` of each of its requests.
    """

    def __init__(self, app: Any, revision: str = NEWEST, *, ready: bool = True, **entries: Any) -> None:
        self.app = app
        self.entries = entries
        self.session: str | None = None
        self.opening = self.post(initialize(revision))
        self.session = self.opening.headers.get("Mcp-Session-Id")
        if ready and self.session is not None:
            self.post(note("initialized"))

    def _entries(self, method: str, entries: dict[str, Any]) -> dict[str, Any]:
        own = {"REQUEST_METHOD": method, "HTTP_ACCEPT": "application/json, text/event-stream"}
        return {**own, "HTTP_MCP_SESSION_ID": self.session, **self.entries, **entries}

    def post(self, message: Any, **entries: Any) -> Got:
        return raw(self.app, message, **self._entries("POST", entries))

    def http(self, method: str, **entries: Any) -> Got:
        """Any request without a body; of a stream only the head is looked at, since it may have no end."""
        if method != "GET":
            return raw(self.app, b"", **self._entries(method, entries))
        with Opened(self.app, environ_of(b"", **self._entries(method, entries))) as opened:
            streams = opened.headers["Content-Type"] == "text/event-stream"
            return Got(opened.status, opened.headers, b"" if streams else b"".join(opened._chunks))

    def call(self, tool: str, identity: Any = 1, **arguments: Any) -> Any:
        """The text that a tool answers with, or the error."""
        answer = json.loads(self.post(call(tool, identity, **arguments)).body)
        return answer["result"]["content"][0]["text"] if "result" in answer else answer["error"]["code"]

    def later(self, message: Any, **entries: Any) -> Later:
        """Post in the background."""
        return Later(lambda: self.post(message, **entries))

    def cancel(self, identity: Any) -> Got:
        return self.post(note("cancelled", requestId=identity))

    def streamed(self, message: Any, **entries: Any) -> Opened:
        """Post, and read the answer as it comes."""
        return Opened(self.app, environ_of(message, **self._entries("POST", entries)))

    def get(self, after: str | None = None, **entries: Any) -> Opened:
        """Open the session's own stream, or go on after an event."""
        return Opened(self.app, environ_of(b"", HTTP_LAST_EVENT_ID=after, **self._entries("GET", entries)))

    def delete(self, **entries: Any) -> Got:
        return self.http("DELETE", **entries)


# --- the server -----------------------------------------------------------------------------------


class Stage:
    """An application that keeps sessions, whose tools wait for the test.

    Args:
        init: What the server is made with.
        channels: What the server is made with.
        options: Those of the application.

    Attributes:
        began: The names of the calls that have begun, in order.
        gates: Name -> what such a call waits for.
        ended: Reason and last state of each session that has ended, as ``terminate`` saw them.
        seen: What each call saw: its name, and whether it had been cancelled when it stopped to wait.
    """

    def __init__(
        self,
        *,
        init: Callable[[InitParams], dict[str, Any]] | None = None,
        channels: Callable[[Context], Iterable[str]] | None = None,
        **options: Any,
    ) -> None:
        self.began: Queue[str] = Queue()
        self.gates: dict[str, threading.Event] = defaultdict(threading.Event)
        self.ended: Queue[tuple[str, dict[str, Any]]] = Queue()
        self.seen: Queue[tuple[str, bool]] = Queue()
        self.server = MCPServer("stage", init=init, channels=channels, terminate=self._terminate)
        self._add_tools()
        self.app = self.server.wsgi_app(**{"sessions": True, **options})

    def _terminate(self, reason: str, ctx: Context) -> None:
        self.ended.put((reason, dict(ctx.state)))

    def _add_tools(self) -> None:
        @self.server.tool
        def put(key: str, value: Any, ctx: Context, then: str = "reply") -> str:
            """Change the state, and end as told."""
            ctx.state[key] = value
            return _ended(then)

        @self.server.tool
        def see(ctx: Context) -> str:
            """Show the state."""
            return json.dumps(ctx.state)

        @self.server.tool
        def work(name: str, ctx: Context, then: str = "reply") -> str:
            """Put the name into the state, wait, and end as told."""
            ctx.state.setdefault("done", []).append(name)
            self._wait(name, ctx)
            return _ended(then)

        @self.server.tool
        def talk(name: str, ctx: Context) -> str:
            """Log, wait, log again, and answer."""
            ctx.info(f"{name} begins")
            self._wait(name, ctx)
            ctx.info(f"{name} ends")
            return name

        @self.server.resource("note://fixed")
        def fixed() -> str:
            return "milk"

    def _wait(self, name: str, ctx: Context) -> None:
        self.began.put(name)
        try:
            assert self.gates[name].wait(SOON)
        finally:  # a greenlet is killed where a thread waits on
            self.seen.put((name, ctx.cancelled))

    def begun(self) -> str:
        """The next call that begins."""
        return self.began.get(timeout=SOON)

    def open(self, *names: str) -> None:
        """Let calls go on."""
        for name in names:
            self.gates[name].set()

    def end(self) -> tuple[str, dict[str, Any]]:
        """The next session that ends."""
        return self.ended.get(timeout=SOON)

    def peer(self, revision: str = NEWEST, **entries: Any) -> Peer:
        """Another client, whose answers the judge looks at."""
        return Peer(self.app, revision, **entries)

    def queued(self, count: int) -> None:
        """Wait until that many calls wait for their turn, in the only session that has had a call."""
        keeper: Any = self.app._keeper
        (live,) = keeper.store.lives()
        pause = threading.Event()
        for _ in range(int(SOON / 0.01)):
            if live.turns.pending == count:
                return
            pause.wait(0.01)
        raise AssertionError(f"{live.turns.pending} calls wait, not {count}")

    @property
    def sessions(self) -> int:
        """How many there are."""
        keeper: Any = self.app._keeper
        return len(keeper.store)


class Quits(BaseException):
    """What no application should raise."""


def _ended(then: str) -> str:
    if then == "fail":
        raise ToolError("no stock")
    if then == "refuse":
        raise MCPError("no", code=7)
    if then == "crash":
        raise RuntimeError("secret")
    if then == "quit":
        raise Quits
    return "done"
