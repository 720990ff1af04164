"""Runs the programs in ``clients``, each with the packages that it needs."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

from tests.node import Packages, installing
from tests.servers.running import ROOT

__all__ = ["CLIENTS", "node", "python", "python_1"]

CLIENTS = Path(__file__).with_name("clients")
CACHE = ROOT / ".cache" / "clients"
SECONDS = 120


def python(program: str, *arguments: str) -> str:
    """Run a program with the official Python SDK of the test extra; returns what it prints."""
    return _output([sys.executable, str(CLIENTS / program), *arguments])


def python_1(program: str, *arguments: str) -> str:
    """Run one with the official Python SDK before 2.0, which needs an environment of its own."""
    home = CACHE / "python-sdk-1"
    with installing(home) as missing:
        if missing:
            venv.create(home, with_pip=True, clear=True)
            _output([str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", "mcp==1.30.0"])
    return _output([str(home / "bin" / "python"), str(CLIENTS / program), *arguments])


def node(program: str, *arguments: str) -> str:
    """Run one with the TypeScript packages; it finds them beside itself."""
    packages = Packages(CLIENTS, CACHE)
    packages.install(CLIENTS.glob("*.mjs"))
    return packages.node([program, *arguments], SECONDS)


def _output(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout
