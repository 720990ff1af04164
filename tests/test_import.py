"""What ``import mcp_wsgi`` costs."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BUDGET = 0.120  # seconds, where importing YARDSTICK takes REFERENCE; a machine that is slow, or busy, has more
YARDSTICK = "import asyncio, unittest.mock, http.client, email.message"
REFERENCE = 0.060
STARTS = 9
TRIES = 3


def start(code: str) -> str:
    """Run ``code`` in a fresh interpreter, which nobody measures but us; what it printed."""
    measuring = ("COV", "PYTHON", "PYTEST")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(measuring)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, env=environ, check=True, capture_output=True, text=True)
    return done.stdout


def seconds(code: str) -> float:
    """The processor time of a fresh start: importing hardly waits, and other programs are not our cost."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start(code)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.parametrize("module", ["asyncio", "gevent", "jsonschema", "pydantic", "redis", "werkzeug"])
def test_importing_the_package_loads_no(module: str) -> None:
    assert start(f"import mcp_wsgi, sys; print({module!r} in sys.modules)") == "False\n"


def test_every_public_name_is_there_without_the_heavy_modules() -> None:
    code = "from mcp_wsgi import *; import sys; print(MCPApp, {'gevent', 'jsonschema', 'werkzeug'} & {*sys.modules})"
    assert start(code).endswith("MCPApp'> set()\n")


def test_importing_the_package_keeps_its_budget() -> None:
    """The least of fresh starts, against a bare interpreter: whatever else runs can only add to it."""
    shares: list[float] = []
    while not shares or (shares[-1] > 1 and len(shares) < TRIES):
        # Interleaved, so that a slow moment meets both.
        starts = [[seconds(code) for code in ("pass", YARDSTICK, "import mcp_wsgi")] for _ in range(STARTS)]
        bare, yardstick, loaded = (min(column) for column in zip(*starts, strict=True))
        shares.append((loaded - bare) / (BUDGET * max(1, (yardstick - bare) / REFERENCE)))
    assert min(shares) <= 1, f"import mcp_wsgi took {[round(share * 100) for share in shares]} % of its budget"
