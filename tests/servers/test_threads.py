"""A server of eight threads whose clients ask for more streams than it can hold."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.contrib.hooked import LEGACY, Streams, hooked, process, sessions_ended_once
from tests.servers.raw_session import RawSession, Stream
from tests.servers.running import BOUND, Running, eventually, serve
from tests.servers.visitors import python, returned

THREADS = 8


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    with hooked("gthread", tmp_path) as server:
        yield server


def ask_for_stream(session: RawSession) -> Stream:
    """Whatever the session's GET is answered with."""
    headers = {"Accept": "text/event-stream", "MCP-Protocol-Version": LEGACY, "Mcp-Session-Id": session.id}
    return Stream(session.port, "GET", None, headers)


def ask_for_streams(stack: ExitStack, running: Running) -> tuple[list[RawSession], list[Stream]]:
    """As many sessions as there are threads, and the answer that each has got to its GET."""
    sessions = [RawSession(running.port, LEGACY) for _ in range(THREADS)]
    return sessions, [stack.enter_context(ask_for_stream(session)) for session in sessions]


def test_surplus_streams_are_refused_and_posts_still_answered(running: Running) -> None:
    with ExitStack() as stack:
        sessions, streams = ask_for_streams(stack, running)
        held = [stream for stream in streams if stream.status == 200]
        refused = [stream for stream in streams if stream.status != 200]
        assert held
        assert refused
        for stream in refused:
            assert stream.status == 503
            assert int(stream.headers["Retry-After"]) > 0
            assert stream.headers["Content-Type"] == "application/json"
            assert "too many streams" in stream.body()["error"]["message"]
        # Each of them, so that one that waits for a thread would be seen.
        for session in sessions:
            assert int(session.text("process")) == process(running)


def test_the_room_that_a_stream_leaves_is_there_for_another(tmp_path: Path) -> None:
    def is_there_room() -> bool:
        with ask_for_stream(session) as stream:
            return stream.status == 200

    # A client that has gone is noticed when it is next written to.
    with hooked("gthread", tmp_path, keepalive=0.1) as running:
        with RawSession(running.port, LEGACY).get():
            session = RawSession(running.port, LEGACY)
            assert not is_there_room()
        eventually(is_there_room, "the stream that was left keeps its place")


def test_sigterm_ends_it_though_streams_are_open(running: Running) -> None:
    with Streams(running) as streams:
        streams.get()
        running.process.send_signal(signal.SIGTERM)
        streams.end_well()
        assert running.process.wait(BOUND) == 0
        sessions_ended_once(running, 1)


def test_the_official_client_works_while_no_stream_is_to_be_had(tmp_path: Path) -> None:
    with serve("gthread", tmp_path, app="examples.everything:application") as running, ExitStack() as stack:
        ask_for_streams(stack, running)
        (seen,) = python("python_sdk.py")([(running.url, "legacy")])
        seen = returned(seen)
        assert seen["text"]
        assert seen["progress"] == [0, 50, 100]
