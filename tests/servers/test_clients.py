"""Other people's clients, of both eras, against ``examples/everything.py`` under gunicorn."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.node import Packages
from tests.servers.running import ROOT, Running, serve

CLIENTS = Path(__file__).with_name("clients")
CACHE = ROOT / ".cache" / "clients"
SECONDS = 120

Visit = Callable[[str], str]


@pytest.fixture(scope="module", params=["gevent", "gthread"])
def running(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp(request.param)
    with serve(request.param, folder, app="examples.everything:application") as server:
        yield server


def python_sdk(mode: str) -> Visit:
    """The official Python SDK of the test extra."""
    return lambda url: _output([sys.executable, str(CLIENTS / "python_sdk.py"), url, mode])


def python_sdk_1(url: str) -> str:
    """The official Python SDK before 2.0, which needs an environment of its own."""
    home = CACHE / "python-sdk-1"
    if not (home / "installed").exists():
        venv.create(home, with_pip=True, clear=True)
        _output([str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", "mcp==1.30.0"])
        (home / "installed").touch()
    return _output([str(home / "bin" / "python"), str(CLIENTS / "python_sdk_1.py"), url])


def typescript(program: str, *mode: str) -> Visit:
    """A TypeScript client; it finds its packages beside itself."""

    def visit(url: str) -> str:
        packages = Packages(CLIENTS, CACHE)
        packages.install()
        for script in CLIENTS.glob("*.mjs"):
            shutil.copy(script, packages.home)
        return packages.node([program, url, *mode], SECONDS)

    return visit


def _output(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout


VISITORS: dict[str, Visit] = {
    "python 2 legacy": python_sdk("legacy"),
    "python 2 auto": python_sdk("auto"),
    "python 2 modern": python_sdk("2026-07-28"),
    "python 1": python_sdk_1,
    "typescript 2 legacy": typescript("typescript_client.mjs", "legacy"),
    "typescript 2 auto": typescript("typescript_client.mjs", "auto"),
    "typescript 2 modern": typescript("typescript_client.mjs", "2026-07-28"),
    "typescript 1": typescript("typescript_sdk.mjs"),
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
