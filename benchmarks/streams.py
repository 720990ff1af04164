"""Streams and sessions under gunicorn's gevent worker, beside a bare application in the same rounds.

    python -m benchmarks.streams [--streams 2000] [--listeners 1000] [--sessions 1000] [--rounds 3]

The server is pinned to one core; this client, which holds all streams, and the load (wrk) to another.
Servers take turns within a round.

* KiB/session: memory of a session after ``initialize``, ``notifications/initialized`` and one call.
* KiB/stream: memory of an idle stream (on top of that of its session, if it has one); ``loaded``: after the calls.
* post: calls a second while the streams are open, and the ratio to those of the same server just before.
* cast: from sending the request that makes the server tell all listeners to the last of them having it.
* cpu: the same by the server's processor time, which other work on the machine disturbs less.
* left: when all streams and sessions have been ended, blocks of memory and greenlets that were not in use before,
  and resident memory that the system has not got back. A process keeps the latter for the next time, so
  ``again`` has by how much it is larger when as much is open a second time.
"""

from __future__ import annotations

import argparse
import http.client
import json
import math
import os
import resource
import selectors
import shutil
import socket
import statistics
import struct
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from benchmarks import messages
from benchmarks.control import STATE, TELL
from benchmarks.overhttp import Case, gunicorn, load, pin

CONNECTIONS = 16
#: Streams that are opened before their first bytes are waited for: fewer than a server's backlog.
BATCH = 50
#: Broadcasts of which the median counts.
CASTS = 7
#: Seconds after which something is wrong.
LIMIT = 60.0


class Row(NamedTuple):
    """A server and the kind of its streams: ``get`` or ``listen``."""

    target: str
    stream: str
    era: str


ROWS = {
    "bare": Row("benchmarks.barestream:application", "get", "legacy"),
    "get": Row("benchmarks.streamapp:application", "get", "legacy"),
    "listen": Row("benchmarks.streamapp:application", "listen", "modern"),
}


class State(NamedTuple):
    """What the server says of itself: resident KiB, blocks of memory in use, greenlets, seconds of processor time."""

    resident: float
    blocks: float
    greenlets: float
    asked: float
    answered: float


class Figures(NamedTuple):
    """What one row gave in one round: memory in KiB, shares of 1, milliseconds."""

    start: float
    session: float
    stream: float
    loaded: float
    rate: float
    ratio: float
    cpu_ratio: float
    cast: float
    cpu_cast: float
    left: float
    greenlets: float
    kept: float
    again: float


class Client:
    """Requests over one connection that is kept."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT)
        self.port = port

    def request(
        self, verb: str, path: str, body: bytes = b"", fields: dict[str, str] | None = None
    ) -> tuple[str, bytes]:
        """Send one request; returns the session that the answer names, and its body."""
        for last in (False, True):
            try:
                self._connection.request(verb, path, body, fields or {})
                answer = self._connection.getresponse()
                break
            except (ConnectionError, http.client.HTTPException):
                # The server closes what is quiet for two seconds, also at this very moment.
                self._connection.close()
                if last:
                    raise
        text = answer.read()
        if answer.status >= 300 or b'"error"' in text[:60]:
            sys.exit(f"{verb} {path}: {answer.status} {text[:300]!r}")
        return answer.getheader("Mcp-Session-Id", ""), text

    def rpc(self, method: str, params: dict[str, Any], session: str = "") -> str:
        """Send one message of the session era; returns the session that was opened."""
        fields = messages.headers("legacy", method, params)
        if session:
            fields["Mcp-Session-Id"] = session
        if method.startswith("notifications/"):
            body = json.dumps({"jsonrpc": "2.0", "method": method}).encode()
        else:
            body = messages.body("legacy", method, params)
        return self.request("POST", "/mcp", body, fields)[0]

    def open_session(self) -> str:
        """Begin a session, and call once in it."""
        about = {"name": "bench", "version": "0"}
        params = {"protocolVersion": messages.ERAS["legacy"], "capabilities": {}, "clientInfo": about}
        session = self.rpc("initialize", params)
        self.rpc("notifications/initialized", {}, session)
        self.rpc(*messages.ECHO, session)
        return session

    def state(self) -> State:
        """How the server is."""
        return State(**json.loads(self.request("GET", STATE)[1]))

    def settled(self) -> State:
        """How it is when the connections of the last load are gone."""
        before = self.state()
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            time.sleep(0.5)
            now = self.state()
            if now.greenlets == before.greenlets:
                return now
            before = now
        sys.exit("the server's greenlets never came to rest")

    def tell(self, kind: str) -> int:
        """Let the server tell all who listen; returns how many it says it reached."""
        return int(self.request("POST", TELL + kind)[1])


class Streams:
    """Streams that are held open, and what has come on each that was not looked for yet."""

    def __init__(self, port: int, kind: str) -> None:
        self._port = port
        self._kind = kind
        self._selector = selectors.DefaultSelector()
        self._seen: dict[socket.socket, bytearray] = {}

    def open(self, count: int, sessions: list[str]) -> None:
        """Open streams, each in a session of its own if it needs one, and wait until all have begun."""
        for number in range(count):
            made = socket.create_connection(("127.0.0.1", self._port), timeout=LIMIT)
            made.sendall(self._request(sessions[number] if self._kind == "get" else "", number))
            self._seen[made] = bytearray()
            self._selector.register(made, selectors.EVENT_READ)
            # A mark, a comment or the acknowledgement: each server says something first.
            if number % BATCH == BATCH - 1:
                self.wait_for(b"\n\n")
        self.wait_for(b"\n\n")

    def _request(self, session: str, number: int) -> bytes:
        if self._kind == "get":
            verb, body = "GET", b""
            fields = {"Accept": "text/event-stream", "MCP-Protocol-Version": messages.ERAS["legacy"]}
            fields["Mcp-Session-Id"] = session
        else:
            params = {"notifications": {"toolsListChanged": True}}
            verb, body = "POST", messages.body("modern", "subscriptions/listen", params, number)
            fields = {**messages.headers("modern", "subscriptions/listen", params), "Content-Length": str(len(body))}
        lines = [f"{verb} /mcp HTTP/1.1", "Host: 127.0.0.1", *(f"{name}: {text}" for name, text in fields.items())]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + body

    def wait_for(self, text: bytes) -> float:
        """Read until each stream has had ``text`` since ``forget``; returns when the last of them had it."""
        missing = {each for each, seen in self._seen.items() if text not in seen}
        end = time.perf_counter() + LIMIT
        while missing:
            if time.perf_counter() > end:
                sys.exit(f"{len(missing)} of {len(self._seen)} streams had no {text!r}")
            self._read(1, text, missing)
        return time.perf_counter()

    def _read(self, timeout: float, text: bytes, missing: set[socket.socket]) -> None:
        for key, _ in self._selector.select(timeout):
            each: socket.socket = key.fileobj  # type: ignore[assignment]
            data = each.recv(65536)
            seen = self._seen[each]
            seen += data
            if not data or seen.startswith((b"HTTP/1.1 4", b"HTTP/1.1 5")):
                sys.exit(f"a stream ended: {bytes(seen[-300:])!r}")
            if text in seen:
                missing.discard(each)

    def forget(self) -> None:
        """Drop what has come so far."""
        for seen in self._seen.values():
            seen.clear()

    def close(self) -> None:
        """Break all connections off, as a client that has died does."""
        for each in self._seen:
            # With a reset: the server's next write fails, not the one after.
            each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            each.close()
        self._seen.clear()
        self._selector.close()


@contextmanager
def server(row: Row) -> Iterator[Client]:
    """Run a server until the block ends."""
    # The streams that are open at the end would keep it from ending for half a minute.
    arguments = ("--worker-connections", "10000", "--graceful-timeout", "1")
    with gunicorn(row.target, {}, *arguments) as (port, _):
        end = time.monotonic() + LIMIT
        client = Client(port)
        while True:
            try:
                client.state()
                break
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.01)
        yield client


def measure(row: Row, streams: int, listeners: int, sessions: int, seconds: float) -> Figures:
    """Measure one row: a server for the memory and the calls, and one for the broadcasts."""
    with server(row) as client:
        figures = hold(client, row, streams, sessions, seconds)
    with server(row) as client:
        cast, cpu = tell(client, row, listeners)
    return figures._replace(cast=cast, cpu_cast=cpu)


def hold(client: Client, row: Row, streams: int, sessions: int, seconds: float) -> Figures:
    """Open sessions and streams, load the server, end all, and open as much again; no broadcast is measured."""
    case = Case(row.target, row.era, messages.ECHO, 1, "")
    own = client.open_session()
    extra = {"Mcp-Session-Id": own} if row.era == "legacy" else {}
    warm_up(client, row, own)
    load(client.port, case, CONNECTIONS, 2, extra)
    start = client.settled()
    opened = sessions_for(client, row, max(sessions, streams))
    with_sessions = client.settled()
    without, idle = loaded(client, case, seconds, extra)
    before = client.settled()
    with opened_streams(client.port, row.stream) as held:
        held.open(streams, opened)
        during = client.settled()
        rate, busy = loaded(client, case, seconds, extra)
        after = client.settled()
    end(client, row, opened, start.greenlets)
    left = client.settled()
    opened = sessions_for(client, row, len(opened))
    with opened_streams(client.port, row.stream) as held:
        held.open(streams, opened)
        again = client.settled()
    return Figures(
        start=start.resident,
        session=(with_sessions.resident - start.resident) / len(opened) if opened else math.nan,
        stream=(during.resident - before.resident) / streams,
        loaded=(after.resident - before.resident) / streams,
        rate=rate,
        ratio=rate / without,
        cpu_ratio=idle / busy,
        cast=math.nan,
        cpu_cast=math.nan,
        left=left.blocks / start.blocks - 1,
        greenlets=left.greenlets - start.greenlets,
        kept=left.resident / start.resident - 1,
        again=again.resident / after.resident - 1,
    )


def loaded(client: Client, case: Case, seconds: float, extra: dict[str, str]) -> tuple[float, float]:
    """Load the server; returns calls a second, and the processor time of one."""
    before = client.state()
    rate = load(client.port, case, CONNECTIONS, seconds, extra).rate
    return rate, (client.state().asked - before.answered) / (rate * seconds)


def sessions_for(client: Client, row: Row, count: int) -> list[str]:
    """The sessions that a row measures."""
    return [client.open_session() for _ in range(count)] if row.stream == "get" else []


@contextmanager
def opened_streams(port: int, kind: str) -> Iterator[Streams]:
    """Streams that are closed when the block ends."""
    streams = Streams(port, kind)
    try:
        yield streams
    finally:
        streams.close()


def warm_up(client: Client, row: Row, session: str) -> None:
    """Open one stream and end it, so that what is loaded when it is first needed is there."""
    with opened_streams(client.port, row.stream) as streams:
        streams.open(1, [session])
        client.tell(row.stream)
        streams.wait_for(b"list_changed")
    client.tell(row.stream)


def end(client: Client, row: Row, sessions: list[str], greenlets: float) -> None:
    """Let the server find out that the streams are gone, and end the sessions."""
    # A write tells it. So would the next keep-alive comment.
    deadline = time.monotonic() + LIMIT
    while client.tell(row.stream) and client.state().greenlets > greenlets and time.monotonic() < deadline:
        time.sleep(0.5)
    for session in sessions:
        client.request("DELETE", "/mcp", b"", {"Mcp-Session-Id": session})


def tell(client: Client, row: Row, listeners: int) -> tuple[float, float]:
    """Milliseconds until the last of so many listeners has heard a broadcast, and those of processor time."""
    opened = sessions_for(client, row, listeners)
    with opened_streams(client.port, row.stream) as streams:
        streams.open(listeners, opened)
        times = []
        before = client.state()
        for _ in range(CASTS):
            time.sleep(0.3)
            streams.forget()
            with socket.create_connection(("127.0.0.1", client.port), timeout=LIMIT) as trigger:
                start = time.perf_counter()
                trigger.sendall(f"POST {TELL}{row.stream} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
                times.append((streams.wait_for(b"list_changed") - start) * 1000)
                trigger.recv(4096)
        after = client.state()
    return statistics.median(times), (after.asked - before.answered) / CASTS * 1000


def report(rows: dict[str, list[Figures]]) -> None:
    """Print the medians, and of those that vary most the smallest and the largest."""
    print(
        f"{'':<9}{'start':>6}{'KiB/':>9}{'KiB/':>8}{'':>7}{'post':>6}{'post':>6}{'':>11}{'cpu':>6}"
        f"{'cast':>5}{'':>9}{'cpu':>5}{'left:':>9}{'green-':>7}{'resid.':>7}{'again':>7}"
    )
    print(
        f"{'':<9}{'MiB':>6}{'session':>9}{'stream':>8}{'loaded':>7}{'rps':>6}{'ratio':>6}{'min-max':>11}{'ratio':>6}"
        f"{'ms':>5}{'min-max':>9}{'ms':>5}{'blocks %':>9}{'lets':>7}{'%':>7}{'%':>7}"
    )
    for name, runs in rows.items():
        middle = Figures(*(statistics.median(values) for values in zip(*runs, strict=True)))
        ratios, casts = [each.ratio for each in runs], [each.cast for each in runs]
        session = "-" if math.isnan(middle.session) else f"{middle.session:.2f}"
        print(
            f"{name:<9}{middle.start / 1024:>6.1f}{session:>9}{middle.stream:>8.1f}{middle.loaded:>7.1f}"
            f"{middle.rate:>6.0f}{middle.ratio:>6.2f}{f'{min(ratios):.2f}-{max(ratios):.2f}':>11}"
            f"{middle.cpu_ratio:>6.2f}{middle.cast:>5.0f}{f'{min(casts):.0f}-{max(casts):.0f}':>9}"
            f"{middle.cpu_cast:>5.0f}{middle.left * 100:>9.1f}{middle.greenlets:>7.0f}"
            f"{middle.kept * 100:>7.0f}{middle.again * 100:>7.1f}"
        )


def main() -> int:
    """Measure the rows asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--streams", type=int, default=2000, help="idle streams (2000)")
    parser.add_argument("--listeners", type=int, default=1000, help="streams that a broadcast goes to (1000)")
    parser.add_argument("--sessions", type=int, default=1000, help="sessions, where no stream needs more (1000)")
    parser.add_argument("--seconds", type=float, default=3, help="time of each load")
    parser.add_argument("--only", nargs="+", choices=list(ROWS), default=list(ROWS))
    arguments = parser.parse_args()
    if shutil.which("wrk") is None:
        parser.error("wrk is not installed (Debian: apt-get install wrk)")
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    pin(-1)
    rows: dict[str, list[Figures]] = {name: [] for name in arguments.only}
    for _ in range(arguments.rounds):
        for name, runs in rows.items():
            numbers = (arguments.streams, arguments.listeners, arguments.sessions, arguments.seconds)
            runs.append(measure(ROWS[name], *numbers))
    report(rows)
    print(f"load of the machine at the end: {os.getloadavg()[0]:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
