"""Other people's clients, of both eras, against ``examples/everything.py`` under gunicorn."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.servers.running import Running, serve
from tests.servers.visitors import CLIENTS as CLIENTS
from tests.servers.visitors import node, python, python_1

Visit = Callable[[str], str]


@pytest.fixture(scope="module", params=["gevent", "gthread"])
def running(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp(request.param)
    with serve(request.param, folder, app="examples.everything:application") as server:
        yield server


VISITORS: dict[str, Visit] = {
    "python 2 legacy": lambda url: python("python_sdk.py", url, "legacy"),
    "python 2 auto": lambda url: python("python_sdk.py", url, "auto"),
    "python 2 modern": lambda url: python("python_sdk.py", url, "2026-07-28"),
    "python 1": lambda url: python_1("python_sdk_1.py", url),
    "typescript 2 legacy": lambda url: node("typescript_client.mjs", url, "legacy"),
    "typescript 2 auto": lambda url: node("typescript_client.mjs", url, "auto"),
    "typescript 2 modern": lambda url: node("typescript_client.mjs", url, "2026-07-28"),
    "typescript 1": lambda url: node("typescript_sdk.mjs", url),
}


@pytest.mark.timeout(600)  # the first visit installs its client
@pytest.mark.parametrize("visitor", VISITORS)
def test_a_client_lists_calls_reads_prompts_and_completes(running: Running, visitor: str) -> None:
    seen: dict[str, Any] = json.loads(VISITORS[visitor](running.url).splitlines()[-1])
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
