"""Real servers in processes of their own, and a raw client that sees every byte."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
#: Seconds after which a wait has failed.
BOUND = 20.0

_GUNICORN = [sys.executable, "-m", "gunicorn", "--log-level", "warning", "--graceful-timeout", "2"]

#: How each server is started; ``{port}`` and ``{app}`` are filled in.
SERVERS: dict[str, list[str]] = {
    "gevent": [*_GUNICORN, "-k", "gevent", "-b", "127.0.0.1:{port}", "{app}"],
    "gevent-2": [*_GUNICORN, "-k", "gevent", "-w", "2", "-b", "127.0.0.1:{port}", "{app}"],
    "gthread": [*_GUNICORN, "-k", "gthread", "--threads", "8", "-b", "127.0.0.1:{port}", "{app}"],
    "sync": [*_GUNICORN, "-k", "sync", "-b", "127.0.0.1:{port}", "{app}"],
    "waitress": [sys.executable, "-m", "waitress", "--listen=127.0.0.1:{port}", "{app}"],
    "wsgiref": [sys.executable, "-m", "tests.servers.reference", "{port}", "{app}"],
}


@dataclass(frozen=True)
class Running:
    """A server that answers."""

    kind: str
    port: int
    folder: Path
    process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def release(self, name: str) -> None:
        """Let a tool that waits for ``name`` go on."""
        (self.folder / f"{name}.go").touch()

    def seen(self, name: str) -> None:
        """Wait for a file that a tool leaves behind."""
        eventually((self.folder / name).exists, f"{name} did not appear")

    def log(self) -> str:
        """What the server has written so far."""
        return (self.folder / "log").read_text()


def eventually(condition: Callable[[], bool], what: str) -> None:
    """Wait until ``condition`` holds, for at most ``BOUND`` seconds."""
    end = time.monotonic() + BOUND
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(what)
        time.sleep(0.01)


@contextmanager
def held_port() -> Iterator[int]:
    """A port that nobody listens on, and that the system gives to nobody else until the block ends.

    A server may listen on it, as servers let an address be reused. Tests run side by side, and a port that is only
    looked up may be another server's a moment later.
    """
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


@contextmanager
def serve(kind: str, folder: Path, *, app: str = "tests.servers.site:application", **options: Any) -> Iterator[Running]:
    """Run ``app`` under a server until the block ends.

    Args:
        kind: A key of ``SERVERS``.
        folder: Where tools leave their files, and the server its log.
        app: ``module:attribute``.
        options: Options of the application under test.
    """
    environ = {
        **os.environ,
        "SITE_FOLDER": str(folder),
        "SITE_OPTIONS": json.dumps(options),
        "PYTHONPATH": str(ROOT),
        "PYTHONUNBUFFERED": "1",
    }
    with held_port() as port, (folder / "log").open("wb") as log:
        command = [part.format(port=port, app=app) for part in SERVERS[kind]]
        process = subprocess.Popen(command, cwd=ROOT, env=environ, stdout=log, stderr=log)
        running = Running(kind, port, folder, process)
        try:
            eventually(lambda: _listens(running), f"{kind} does not listen")
            yield running
        finally:
            # Politely asked, greenlets would be waited for whose streams are open.
            process.send_signal(signal.SIGQUIT if "gevent" in kind else signal.SIGTERM)
            try:
                process.wait(BOUND)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                raise


def _listens(running: Running) -> bool:
    if running.process.poll() is not None:
        raise AssertionError(f"{running.kind} has ended:\n{running.log()}")
    try:
        socket.create_connection(("127.0.0.1", running.port), 1).close()
    except OSError:
        return False
    return True


# --- messages -------------------------------------------------------------------------------------

_PREFIX = "io.modelcontextprotocol/"


def tool_call(
    name: str, revision: str, /, *, token: str | None = None, **arguments: Any
) -> tuple[bytes, dict[str, str]]:
    """The body and header fields of a ``tools/call``."""
    modern = revision == "2026-07-28"
    meta: dict[str, Any] = {} if token is None else {"progressToken": token}
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": revision,
    }
    if modern:
        meta |= {_PREFIX + "protocolVersion": revision, _PREFIX + "clientCapabilities": {}}
        headers |= {"Mcp-Method": "tools/call", "Mcp-Name": name}
    params = {"name": name, "arguments": arguments, "_meta": meta}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return json.dumps(message).encode(), headers


def post(running: Running, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
    """Send one POST on a connection of its own; returns status and body."""
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=BOUND)
    try:
        connection.request("POST", "/mcp", body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


class RawConnection(closing["RawConnection"]):
    """A socket with one POST under way."""

    def __init__(self, running: Running, body: bytes, headers: dict[str, str]) -> None:
        super().__init__(self)
        self.received = b""
        self._socket = socket.create_connection(("127.0.0.1", running.port), BOUND)
        fields = {"Host": f"127.0.0.1:{running.port}", "Content-Length": str(len(body)), **headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        self._socket.sendall(f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + body)

    def read_until(self, wanted: bytes, *, times: int = 1) -> None:
        """Receive until ``wanted`` has come so many times."""
        while self.received.count(wanted) < times:
            chunk = self._socket.recv(65536)
            assert chunk, f"the connection ended without {wanted!r}: {self.received!r}"
            self.received += chunk

    def close(self) -> None:
        """Go away without a word."""
        self._socket.close()
