"""gunicorn workers that are to stop while streams are open and calls are running."""

from __future__ import annotations

import json
import signal
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.contrib.hooked import (
    LEGACY,
    MODERN,
    NO_KEEPALIVE,
    Streams,
    gone,
    hooked,
    interrupt,
    process,
    sessions_ended_once,
)
from tests.servers.raw_session import RawSession
from tests.servers.running import BOUND, Running, eventually, post, tool_call
from tests.servers.test_serve import serving


def rest(running: Running, name: str, seconds: float) -> str:
    """Have a call answered that takes a while."""
    status, body = post(running, *tool_call("rest", MODERN, name=name, seconds=seconds))
    assert status == 200, body
    text: str = json.loads(body)["result"]["content"][0]["text"]
    return text


def rest_in_session(session: RawSession, name: str, seconds: float) -> str:
    """The same in a session."""
    return session.text("rest", name=name, seconds=seconds)


def started(running: Running, count: int) -> None:
    eventually(lambda: len(list(running.folder.glob("*.started"))) == count, "not all calls have begun")


def test_sigterm_ends_a_hundred_streams_and_answers_every_call_without_delay(tmp_path: Path) -> None:
    with hooked("gevent", tmp_path) as running, ThreadPoolExecutor(10) as pool, Streams(running) as streams:
        sessions = [streams.get() for _ in range(50)]
        for number in range(50):
            streams.listen(f"listen-{number}")
        calls = [pool.submit(rest, running, f"modern-{number}", 2) for number in range(5)]
        calls += [pool.submit(rest_in_session, sessions[number], f"legacy-{number}", 2) for number in range(5)]
        started(running, 10)
        begin = time.monotonic()
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(BOUND) == 0
        took = time.monotonic() - begin
        assert [call.result() for call in calls] == ["rested"] * 10
        streams.end_well()
        sessions_ended_once(running, 50)
        # It takes 2.5 s on a quiet machine; gunicorn alone would wait for the streams for a minute.
        assert took < 10
        assert running.log() == ""


@pytest.mark.parametrize("kind", ["gevent", "gthread"])
@pytest.mark.parametrize("keepalive", ["2", "60"])
def test_sigterm_ends_a_worker_whatever_the_keepalive_of_its_connections(
    tmp_path: Path, kind: str, keepalive: str
) -> None:
    with (
        hooked(kind, tmp_path, "--keep-alive", keepalive, max_streams=4) as running,
        Streams(running) as streams,
    ):
        streams.get()
        streams.listen("one")
        running.process.send_signal(signal.SIGTERM)
        # The connections stay open on this side.
        streams.end_well()
        assert running.process.wait(BOUND) == 0
        sessions_ended_once(running, 1)


@contextmanager
def deaf_client(running: Running) -> Iterator[None]:
    """One that opens its session's stream and reads nothing of what it is sent."""
    session = RawSession(running.port, LEGACY)
    with socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.connect(("127.0.0.1", running.port))
        head = f"GET /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: {session.id}\r\n\r\n"
        deaf.sendall(head.encode())
        assert deaf.recv(15) == b"HTTP/1.1 200 OK"
        assert session.text("flood") == "flooded"
        yield


@pytest.mark.parametrize("kind", ["gevent", "gthread"])
def test_a_client_that_reads_nothing_does_not_hold_up_the_end(tmp_path: Path, kind: str) -> None:
    with hooked(kind, tmp_path, max_streams=4) as running:
        with deaf_client(running):
            running.process.send_signal(signal.SIGTERM)
            # Far below the 30 seconds after which gunicorn kills it.
            assert running.process.wait(15) == 0
        sessions_ended_once(running, 1)


@pytest.mark.parametrize("kind", ["gevent", "gthread"])
def test_a_client_that_reads_nothing_loses_its_place_to_others(tmp_path: Path, kind: str) -> None:
    def is_served() -> bool:
        with RawSession(running.port, LEGACY).get() as stream:
            return stream.status == 200

    with hooked(kind, tmp_path, graceful=4, max_streams=1, keepalive=0.2) as running, deaf_client(running):
        eventually(is_served, "the place is not given to others")


@pytest.mark.parametrize("kind", ["gevent", "gthread"])
def test_reload_replaces_the_worker_though_streams_are_open(tmp_path: Path, kind: str) -> None:
    with hooked(kind, tmp_path, max_streams=4) as running, Streams(running) as streams:
        old = process(running)
        for identity in ("one", "two"):
            streams.get()
            streams.listen(identity)
        running.process.send_signal(signal.SIGHUP)
        gone(old)
        streams.end_well()
        assert process(running) != old
        sessions_ended_once(running, 2)


@pytest.mark.parametrize("kind", ["gevent", "gthread"])
def test_max_requests_replaces_the_worker_though_streams_are_open(tmp_path: Path, kind: str) -> None:
    with hooked(kind, tmp_path, "--max-requests", "6", max_streams=4) as running, Streams(running) as streams:
        old = process(running)
        streams.get()  # three requests
        streams.listen("one")
        assert process(running) == old
        gone(old)
        streams.end_well()
        eventually(lambda: process(running) != old, "nobody took over")
        sessions_ended_once(running, 1)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT])
@pytest.mark.parametrize("kind", ["gevent", "gthread", "sync"])
def test_sessions_are_terminated_once_however_the_worker_ends(tmp_path: Path, kind: str, number: int) -> None:
    with hooked(kind, tmp_path, *NO_KEEPALIVE) as running:
        for _ in range(3):
            RawSession(running.port, LEGACY)
        interrupt(running, number)
        assert running.process.wait(BOUND) == 0
        sessions_ended_once(running, 3)


def test_a_call_whose_client_has_gone_is_let_through(tmp_path: Path) -> None:
    with hooked("gthread", tmp_path) as running:
        session = RawSession(running.port, LEGACY)
        with session.call("rest", name="left", seconds=3) as stream:
            assert stream.status == 200
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(BOUND) == 0
        assert (running.folder / "left.rested").exists()
        sessions_ended_once(running, 1)


@pytest.mark.parametrize("kind", ["gevent", "gthread"])
def test_the_command_ends_though_a_stream_is_open(tmp_path: Path, kind: str) -> None:
    with serving(tmp_path, "--worker-class", kind, "--option", "sessions=true") as served:
        running = Running(kind, urlsplit(served.url).port or 0, tmp_path, served.process)
        with Streams(running) as streams:
            streams.get()
            served.process.send_signal(signal.SIGTERM)
            streams.end_well()
            assert served.process.wait(BOUND) == 0
        assert served.err == ""


def error(message: Any) -> int:
    code: int = message["error"]["code"]
    return code


def test_calls_that_outlast_the_grace_are_cancelled_and_their_callers_told(tmp_path: Path) -> None:
    with hooked("gevent", tmp_path, graceful=3) as running:
        session = RawSession(running.port, LEGACY)
        body, headers = tool_call("endless", MODERN, name="modern")
        with session.call("endless", name="legacy") as stream, ThreadPoolExecutor(1) as pool:
            call = pool.submit(post, running, body, headers)
            started(running, 2)
            running.process.send_signal(signal.SIGTERM)
            last = [event.message for event in stream][-1]
            assert error(last) == -32603
            assert error(json.loads(call.result()[1])) == -32603
        assert running.process.wait(BOUND) == 0
        sessions_ended_once(running, 1)
