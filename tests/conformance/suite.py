"""The official suite: a pinned npm package."""

from __future__ import annotations

import re
from pathlib import Path

from tests.conformance.results import Outcome, read_outcomes
from tests.node import Packages

__all__ = ["Suite", "parse_scenarios"]

HERE = Path(__file__).parent
RUN_SECONDS = 600
SCENARIO_MILLISECONDS = 30_000


class Suite:
    """The suite, installed when it is made.

    Args:
        cache: A folder to keep it in.
    """

    def __init__(self, cache: Path) -> None:
        self._packages = Packages(HERE, cache)
        self._packages.install()
        self._program = str(self._packages.home / "node_modules/@modelcontextprotocol/conformance/dist/index.js")
        self._scenarios = parse_scenarios(self._packages.node([self._program, "list", "--server"], RUN_SECONDS))

    def run(self, url: str, revision: str, results: Path) -> list[Outcome]:
        """Run all scenarios of a revision.

        Args:
            url: The endpoint under test; something listens there.
            revision: Such as ``2025-11-25``.
            results: A new folder, for what the suite writes.
        """
        results.mkdir()
        arguments = [self._program, "server", "--url", url, "--suite", "all", "--spec-version", revision]
        arguments += ["--timeout", str(SCENARIO_MILLISECONDS), "--output-dir", str(results)]
        # The exit status says only that something failed; the results say what.
        log = self._packages.run_node(arguments, RUN_SECONDS).stdout
        (results / "log.txt").write_text(log, "utf-8")
        expected = [name for name, revisions in self._scenarios.items() if revision in revisions]
        return read_outcomes(results, revision, expected, log)


def parse_scenarios(text: str) -> dict[str, frozenset[str]]:
    """Read the suite's list: a line such as ``- ping [2025-06-18,2025-11-25]`` for each scenario."""
    rows = re.findall(r"^\s*- (\S+) \[(.*)\]$", text, re.MULTILINE)
    return {name: frozenset(revisions.split(",")) for name, revisions in rows}
