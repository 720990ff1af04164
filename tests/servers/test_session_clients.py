"""Other people's clients in a session: what streams, what is pushed, and what they do when a connection is cut."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from tests.servers.proxy import Cut, Proxy
from tests.servers.raw_session import RawSession
from tests.servers.running import Running, serve
from tests.servers.visitors import Seen, Visitor, node, python, python_1, returned

#: Programs that visit, given an URL, the folder of the tools' files and a name for these.
VISITORS: dict[str, Visitor] = {
    "python-2": python("session_python.py"),
    "python-1": python_1("session_python_1.py"),
    "typescript-2": node("session_client.mjs"),
    "typescript-1": node("session_sdk.mjs"),
}
CHANGED, CLOCK = "notifications/tools/list_changed", "site://clock"
SITE = "tests.servers.session_site:application"
#: Where connections of a visit are cut.
CUTS: dict[str, list[Cut]] = {
    "whole": [],
    "cut": [
        Cut(rb"tools/list_changed[^\n]*\n\n"),
        Cut(rb'"progress":5,"total":20[^\n]*\n\n', extra=20),
    ],
    "unseen": [
        Cut(rb"tools/list_changed[^\n]*\n\n", unseen=True),
        Cut(rb'"progress":5,"total":20[^\n]*\n\n', unseen=True),
    ],
}
SERVERS: dict[str, dict[str, Any]] = {
    "gevent": {"max_streams": 4, "keepalive": 0.2},
    "gthread": {"max_streams": 4, "keepalive": 0.2},
}
#: Servers that end each connection early: one has one thread, the streams of the other may not live long.
IMPATIENT: dict[str, dict[str, Any]] = {"sync": {}, "gevent": {"stream_lifetime": 0.2}}

pytestmark = pytest.mark.timeout(600)  # the first visit installs its client


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[tuple[str, bool], Running]]:
    """Servers by name and by whether they are impatient."""
    with ExitStack() as stack:
        running = {
            (kind, impatient): stack.enter_context(
                serve(kind, tmp_path_factory.mktemp(kind), app=SITE, stream_retry=0.1, **options)
            )
            for impatient, kinds in ((False, SERVERS), (True, IMPATIENT))
            for kind, options in kinds.items()
        }
        yield running
        # A message that is wrong ends in the log of a server whose client has gone.
        for server in running.values():
            assert "Traceback" not in server.log(), server.log()


@dataclass(frozen=True)
class Visited:
    """What a client saw of the servers, by visit, and the proxies that were to cut its connections."""

    visitor: str
    seen: dict[tuple[str, str], Seen]
    proxies: dict[tuple[str, str], Proxy]


@pytest.fixture(scope="module", params=VISITORS)
def visited(request: pytest.FixtureRequest, servers: dict[tuple[str, bool], Running]) -> Iterator[Visited]:
    visits: dict[tuple[str, str], list[str]] = {}
    with ExitStack() as stack:
        proxies: dict[tuple[str, str], Proxy] = {}
        for kind in SERVERS:
            running = servers[kind, False]
            for how, cuts in CUTS.items():
                proxy = proxies[kind, how] = stack.enter_context(Proxy(running.port))
                for cut in cuts:
                    proxy.arm(cut)
                visits[kind, how] = [proxy.url, str(running.folder), f"{how}-{request.param}"]
        for kind in IMPATIENT:
            running = servers[kind, True]
            visits[kind, "poll"] = [running.url, str(running.folder), f"poll-{request.param}", "poll"]
        seen = VISITORS[request.param](list(visits.values()))
        yield Visited(request.param, dict(zip(visits, seen, strict=True)), proxies)


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


@pytest.mark.parametrize("server", SERVERS)
def test_a_client_works_in_a_session(visited: Visited, servers: dict[tuple[str, bool], Running], server: str) -> None:
    check(returned(visited.seen[server, "whole"]), servers[server, False], f"whole-{visited.visitor}")


@pytest.mark.parametrize("server", SERVERS)
def test_a_client_whose_connections_are_cut_misses_nothing(
    visited: Visited, servers: dict[tuple[str, bool], Running], server: str
) -> None:
    """The GET stream is cut behind its first message, a call inside its sixth progress."""
    check_cut(visited, servers, server, "cut")


@pytest.mark.parametrize("server", SERVERS)
def test_a_client_misses_nothing_that_a_dead_connection_took(
    visited: Visited, servers: dict[tuple[str, bool], Running], server: str
) -> None:
    """The server still thinks that it reaches the client where it was."""
    check_cut(visited, servers, server, "unseen")


def check_cut(visited: Visited, servers: dict[tuple[str, bool], Running], server: str, how: str) -> None:
    seen = returned(visited.seen[server, how])
    for _ in CUTS[how]:
        visited.proxies[server, how].wait()
    check(seen, servers[server, False], f"{how}-{visited.visitor}")


@pytest.mark.parametrize("server", IMPATIENT)
def test_a_client_polls_until_it_has_its_answer(visited: Visited, server: str) -> None:
    """Connections that end without an event leave the client where it was."""
    assert visited.seen[server, "poll"] == {"polled": "polled"}
