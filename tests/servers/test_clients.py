"""Other people's clients, of both eras, against ``examples/everything.py`` under gunicorn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache

import pytest

from tests.servers.running import Running, serve
from tests.servers.visitors import CLIENTS as CLIENTS
from tests.servers.visitors import Seen, Visitor, node, python, python_1, returned

SERVERS = ("gevent", "gthread")
#: A program and the modes that it visits in, if it knows any.
PROGRAMS: dict[str, tuple[Visitor, tuple[str, ...]]] = {
    "python 2": (python("python_sdk.py"), ("legacy", "auto", "2026-07-28")),
    "python 1": (python_1("python_sdk_1.py"), ("",)),
    "typescript 2": (node("typescript_client.mjs"), ("legacy", "auto", "2026-07-28")),
    "typescript 1": (node("typescript_sdk.mjs"), ("",)),
}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Running]]:
    app = "examples.everything:application"
    with ExitStack() as stack:
        yield {name: stack.enter_context(serve(name, tmp_path_factory.mktemp(name), app=app)) for name in SERVERS}


#: What the program of that name saw of each server in each mode.
Visited = Callable[[str], dict[tuple[str, str], Seen]]


@pytest.fixture(scope="module")
def visited(running: dict[str, Running]) -> Visited:
    @cache
    def visit(program: str) -> dict[tuple[str, str], Seen]:
        make_visits, modes = PROGRAMS[program]
        visits = [(server, mode) for server in SERVERS for mode in modes]
        seen = make_visits([(running[server].url, *([mode] if mode else [])) for server, mode in visits])
        return dict(zip(visits, seen, strict=True))

    return visit


@pytest.mark.timeout(600)  # the first visit installs its client
@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize(("program", "mode"), [(name, mode) for name, (_, modes) in PROGRAMS.items() for mode in modes])
def test_a_client_lists_calls_reads_prompts_and_completes(
    visited: Visited, program: str, mode: str, server: str
) -> None:
    seen = returned(visited(program)[server, mode])
    assert {"test_simple_text", "test_error_handling", "json_schema_2020_12_tool"} <= set(seen["tools"])
    assert {"test://static-text", "test://static-binary"} <= set(seen["resources"])
    assert seen["templates"] == ["test://template/{id}/data"]
    assert "test_simple_prompt" in seen["prompts"]
    assert seen["text"]
    assert seen["failed"] is True
    assert seen["progress"] == [0, 50, 100]
    assert seen["resource"]
    assert "123" in seen["template"]
    assert "one" in seen["prompt"]
    assert "two" in seen["prompt"]
    assert isinstance(seen["completion"], list)
