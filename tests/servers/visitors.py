"""Runs the programs in ``clients``, each with the packages that it needs.

Starting one costs most of the time that it takes; so each makes several visits, one after the other.
"""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.node import Packages, installing
from tests.servers.running import ROOT

__all__ = ["CLIENTS", "Seen", "Visitor", "node", "python", "python_1", "returned"]

CLIENTS = Path(__file__).with_name("clients")
CACHE = ROOT / ".cache" / "clients"
SECONDS = 300

#: What came of a visit; ``raised``: the traceback of one that failed.
Seen = dict[str, Any]
#: Makes visits, given the arguments of each; returns what came of each.
Visitor = Callable[[Sequence[Sequence[Any]]], list[Seen]]


def python(program: str) -> Visitor:
    """A program with the official Python SDK of the test extra."""
    return lambda visits: _seen(_output([sys.executable, str(CLIENTS / program), json.dumps(visits)]))


def python_1(program: str) -> Visitor:
    """One with the official Python SDK before 2.0, which needs an environment of its own."""

    def make(visits: Sequence[Sequence[Any]]) -> list[Seen]:
        home = CACHE / "python-sdk-1"
        with installing(home) as missing:
            if missing:
                venv.create(home, with_pip=True, clear=True)
                _output([str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", "mcp==1.30.0"])
        return _seen(_output([str(home / "bin" / "python"), str(CLIENTS / program), json.dumps(visits)]))

    return make


def node(program: str) -> Visitor:
    """One with the TypeScript packages; it finds them beside itself."""

    def make(visits: Sequence[Sequence[Any]]) -> list[Seen]:
        packages = Packages(CLIENTS, CACHE)
        packages.install(CLIENTS.glob("*.mjs"))
        return _seen(packages.node([program, json.dumps(visits)], SECONDS))

    return make


def returned(seen: Seen) -> Seen:
    """What a visit returned that must not have failed."""
    assert "raised" not in seen, seen["raised"]
    return seen


def _seen(printed: str) -> list[Seen]:
    seen: list[Seen] = json.loads(printed.splitlines()[-1])
    return seen


def _output(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout
