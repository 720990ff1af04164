"""A gunicorn that uses the hook, clients that wait for its end, and what its application has noted."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.servers.raw_session import RawSession, Stream
from tests.servers.running import SERVERS, Running, eventually, post, serve, tool_call

MODERN, LEGACY = "2026-07-28", "2025-11-25"
HOOK = "python:mcp_wsgi.contrib.gunicorn"
#: For ``interrupt``.
NO_KEEPALIVE = ("--keep-alive", "0")


@contextmanager
def hooked(
    kind: str, folder: Path, *arguments: str, graceful: float = 60, config: str = HOOK, **options: Any
) -> Iterator[Running]:
    """Run the site of this folder under gunicorn with the hook.

    Args:
        kind: A key of ``SERVERS``.
        folder: As of ``serve``.
        arguments: Further arguments of gunicorn.
        graceful: Its ``graceful_timeout``, which by far outlasts each test's patience unless it is set.
        config: Its configuration.
        options: Options of the applications.
    """
    *command, app = SERVERS[kind]
    command += ["-c", config, *arguments, "--graceful-timeout", str(graceful), app]
    with (
        patch.dict(SERVERS, {f"{kind} with the hook": command}),
        serve(f"{kind} with the hook", folder, app="tests.contrib.gunicorn_site:application", **options) as running,
    ):
        yield running


def listening(identity: str) -> tuple[bytes, dict[str, str]]:
    """The body and header fields of a ``subscriptions/listen``."""
    body, headers = tool_call("", MODERN)
    message = json.loads(body) | {"id": identity, "method": "subscriptions/listen"}
    message["params"] = {"_meta": message["params"]["_meta"], "notifications": {"toolsListChanged": True}}
    del headers["Mcp-Name"]
    headers["Mcp-Method"] = message["method"]
    return json.dumps(message).encode(), headers


class Streams(ExitStack):
    """Streams that are held open, each on a connection of its own."""

    def __init__(self, running: Running) -> None:
        super().__init__()
        self._running = running
        self._open: list[tuple[str | None, Stream]] = []

    def get(self, session: RawSession | None = None) -> RawSession:
        """Open a session's own stream; by default a new session's."""
        session = session or RawSession(self._running.port, LEGACY)
        self._add(None, session.get())
        return session

    def listen(self, identity: str) -> None:
        """Open a ``subscriptions/listen`` stream."""
        stream = self._add(identity, Stream(self._running.port, "POST", *listening(identity)))
        assert next(stream).message["method"] == "notifications/subscriptions/acknowledged"

    def _add(self, identity: str | None, stream: Stream) -> Stream:
        self.enter_context(stream)
        self._open.append((identity, stream))
        assert stream.status == 200, stream.body()
        return stream

    def end_well(self) -> None:
        """Read each to its end, which is a proper one: a listen stream's with its result, a GET stream's without."""
        for identity, stream in self._open:
            messages = [event.message for event in stream if event.message is not None]
            assert stream.whole
            assert [message["id"] for message in messages] == ([] if identity is None else [identity])
            assert all("result" in message for message in messages)


def process(running: Running) -> int:
    """The worker that answers."""
    status, body = post(running, *tool_call("process", MODERN))
    assert status == 200, body
    return int(json.loads(body)["result"]["content"][0]["text"])


def interrupt(running: Running, number: int) -> None:
    """Have the master end its workers at once.

    The main thread of a gthread worker is given the time to get out of its thread pool, where it takes a lock for each
    request and for each kept connection that its client closes; its handler of SIGQUIT would wait for that lock for
    ever, in the same thread.
    """
    if running.kind.startswith("gthread"):
        status, body = post(running, *tool_call("settle", MODERN))
        assert status == 200, body
    running.process.send_signal(number)


def gone(worker: int) -> None:
    """Wait until a process has ended."""

    def has_ended() -> bool:
        try:
            os.kill(worker, 0)
        except ProcessLookupError:
            return True
        return False

    eventually(has_ended, f"worker {worker} stays")


def sessions_ended_once(running: Running, count: int) -> None:
    """So many sessions have been terminated, each once and for the server's end."""
    ended = (running.folder / "ended").read_text().splitlines()
    assert len(ended) == len(set(ended)) == count
    assert all(line.endswith(" shutdown") for line in ended)
