"""What happens on the socket while a tool runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers.running import RawConnection, Running, serve, tool_call

MODERN, LEGACY = "2026-07-28", "2025-11-25"


@pytest.fixture(scope="module", params=["gevent", "gthread"])
def running(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder: Path = tmp_path_factory.mktemp(request.param)
    with serve(request.param, folder, stream_after=0.2, keepalive=0.2) as server:
        yield server


@pytest.mark.parametrize("revision", [MODERN, LEGACY])
def test_the_first_progress_is_on_the_socket_before_the_tool_returns(running: Running, revision: str) -> None:
    name = f"progress-{revision}"
    with RawConnection(running, *tool_call("progressing", revision, token="t", name=name)) as connection:
        connection.read_until(b'"message":"begun"')
        # The tool cannot have returned: nobody has released it yet.
        running.release(name)
        connection.read_until(b'"text":"went"')
    assert b"Content-Type: text/event-stream" in connection.received
    assert b"X-Accel-Buffering: no" in connection.received


@pytest.mark.parametrize("revision", [MODERN, LEGACY])
def test_a_silent_tool_is_kept_alive_by_comments(running: Running, revision: str) -> None:
    """S26-HTTP-11: comments on long streams."""
    name = f"silent-{revision}"
    with RawConnection(running, *tool_call("blocked", revision, name=name)) as connection:
        connection.read_until(b": keep-alive\n\n", times=3)
        running.release(name)
        connection.read_until(b'"text":"went"')


def test_a_quick_tool_is_answered_with_json(running: Running) -> None:
    """S26-HTTP-06: JSON where nothing comes before the result."""
    with RawConnection(running, *tool_call("echo", MODERN, text="hi")) as connection:
        connection.read_until(b'"text":"hi"')
    assert b"Content-Type: application/json" in connection.received


#: A greenlet can be stopped where it blocks; a thread only where it asks.
STOPPABLE = {"gevent": ("blocked", "polite"), "gthread": ("polite",)}


def test_closing_the_socket_cancels_a_modern_call(running: Running) -> None:
    """S26-HTTP-13: a closed stream is a cancelled request."""
    for tool in STOPPABLE[running.kind]:
        name = f"closed-{tool}"
        with RawConnection(running, *tool_call(tool, MODERN, name=name)) as connection:
            running.seen(f"{name}.started")
            connection.read_until(b": keep-alive")
        running.seen(f"{name}.stopped")


def test_closing_the_socket_does_not_cancel_a_session_era_call(running: Running) -> None:
    """T25-HTTP-10: a disconnect is no cancellation."""
    name = f"left-{running.kind}"
    with RawConnection(running, *tool_call("polite", LEGACY, name=name)) as connection:
        connection.read_until(b": keep-alive", times=2)
    with RawConnection(running, *tool_call("echo", MODERN, text="still here")) as other:
        other.read_until(b"still here")
    running.release(name)
    running.seen(f"{name}.finished")
    assert not (running.folder / f"{name}.stopped").exists()
