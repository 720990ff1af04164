"""Other people's clients in a session: what streams, what is pushed, and what they do when a connection is cut."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from tests.servers.proxy import Cut, Proxy
from tests.servers.raw_session import RawSession
from tests.servers.running import Running, serve
from tests.servers.visitors import node, python, python_1

#: Prints what a client saw, given a URL, the folder of the tools' files and a name for these.
VISITORS: dict[str, Callable[..., str]] = {
    "python-2": partial(python, "session_python.py"),
    "python-1": partial(python_1, "session_python_1.py"),
    "typescript-2": partial(node, "session_client.mjs"),
    "typescript-1": partial(node, "session_sdk.mjs"),
}
CHANGED, CLOCK = "notifications/tools/list_changed", "site://clock"

pytestmark = pytest.mark.timeout(600)  # the first visit installs its client


@pytest.fixture(scope="module", params=["gevent", "gthread"])
def running(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp(request.param)
    options = {"max_streams": 4, "keepalive": 0.2, "stream_retry": 0.1}
    with serve(request.param, folder, app="tests.servers.session_site:application", **options) as server:
        yield server
        # A message that is wrong ends in the log of a server whose client has gone.
        assert "Traceback" not in server.log(), server.log()


def visit(visitor: str, running: Running, name: str, *cuts: Cut) -> dict[str, Any]:
    """What the client saw."""
    with Proxy(running.port) as proxy:
        for cut in cuts:
            proxy.arm(cut)
        printed = VISITORS[visitor](proxy.url, str(running.folder), name)
        for _ in cuts:
            proxy.wait()
    seen: dict[str, Any] = json.loads(printed.splitlines()[-1])
    return seen


def check(seen: dict[str, Any], running: Running, name: str) -> None:
    # The tool went on only as each log message and progress was there.
    assert seen["staged"] == "staged"
    assert seen["progress"] == [0, 50, 100]
    assert seen["staging"] == ["at 0", "at 50", "at 100"]
    assert seen["usual"] == ["at info", "at error"]
    assert seen["severe"] == ["at error"]
    assert f"{name}-1" in seen["tools"]
    # One update while it was subscribed, none for the change after that.
    assert seen["heard"] == [CHANGED, CLOCK, CHANGED]
    assert seen["cancelled"] == "cancelled"
    assert (running.folder / f"{name}.ended").exists()
    assert seen["resumed"] == list(range(1, 21))
    assert seen["counting"] == "counted"
    # The visit ended with DELETE.
    assert RawSession(running.port, "2025-11-25").status(seen["session"]) == 404


@pytest.mark.parametrize("visitor", VISITORS)
def test_a_client_works_in_a_session(running: Running, visitor: str) -> None:
    name = f"whole-{visitor}"
    seen = visit(visitor, running, name)
    check(seen, running, name)


@pytest.mark.parametrize("visitor", VISITORS)
def test_a_client_whose_connections_are_cut_misses_nothing(running: Running, visitor: str) -> None:
    """The GET stream is cut behind its first message, a call inside its sixth progress."""
    name = f"cut-{visitor}"
    cuts = [
        Cut(rb"tools/list_changed[^\n]*\n\n"),
        Cut(rb'"progress":5,"total":20[^\n]*\n\n', extra=20),
    ]
    seen = visit(visitor, running, name, *cuts)
    check(seen, running, name)


@pytest.mark.parametrize("visitor", VISITORS)
def test_a_client_misses_nothing_that_a_dead_connection_took(running: Running, visitor: str) -> None:
    """The server still thinks that it reaches the client where it was."""
    name = f"unseen-{visitor}"
    cuts = [
        Cut(rb"tools/list_changed[^\n]*\n\n", unseen=True),
        Cut(rb'"progress":5,"total":20[^\n]*\n\n', unseen=True),
    ]
    seen = visit(visitor, running, name, *cuts)
    check(seen, running, name)


@pytest.fixture(scope="module", params=["sync", "gevent"])
def impatient(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server that ends each connection early: it has one thread, or its streams may not live long."""
    folder = tmp_path_factory.mktemp(request.param)
    options = {} if request.param == "sync" else {"stream_lifetime": 0.2}
    app = "tests.servers.session_site:application"
    with serve(request.param, folder, app=app, stream_retry=0.1, **options) as server:
        yield server
        assert "Traceback" not in server.log(), server.log()


@pytest.mark.parametrize("visitor", VISITORS)
def test_a_client_polls_until_it_has_its_answer(impatient: Running, visitor: str) -> None:
    """Connections that end without an event leave the client where it was."""
    printed = VISITORS[visitor](impatient.url, str(impatient.folder), f"poll-{visitor}", "poll")
    assert json.loads(printed.splitlines()[-1]) == {"polled": "polled"}
