"""What the suite found, held against what is known not to be served yet. Pure: files in, verdicts out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

__all__ = ["Baseline", "Check", "Outcome", "Verdict", "judge", "read_outcomes", "stale", "table"]

#: Every status that is not a plain pass: a SHOULD not met, or a check that could not be made, counts too.
PROBLEMS = frozenset({"FAILURE", "WARNING", "SKIPPED"})


@dataclass(frozen=True)
class Check:
    """One check of a scenario; ``status`` is SUCCESS, FAILURE, WARNING, SKIPPED or INFO."""

    id: str
    status: str
    message: str = ""


@dataclass(frozen=True)
class Outcome:
    """What one scenario found in one revision."""

    revision: str
    scenario: str
    checks: tuple[Check, ...]

    @property
    def passed(self) -> int:
        """How many checks passed."""
        return sum(check.status == "SUCCESS" for check in self.checks)

    @property
    def problems(self) -> tuple[Check, ...]:
        """What is no plain pass; a scenario that passed no check at all has one problem at least."""
        found = tuple(check for check in self.checks if check.status in PROBLEMS)
        return found or (() if self.passed else (Check("nothing-checked", "FAILURE", "no check passed"),))


# --- reading --------------------------------------------------------------------------------------


def read_outcomes(results: Path, revision: str, expected: Iterable[str], log: str) -> list[Outcome]:
    """Read a folder that the suite wrote.

    Args:
        results: It has a ``server-<scenario>-<time>/checks.json`` for each scenario that ran.
        revision: The revision it ran at.
        expected: The scenarios that should have run; one that did not has a failed check ``did-not-run``.
        log: What the suite printed, where the reason stands.
    """
    found: dict[str, tuple[Check, ...]] = {}
    for file in sorted(results.glob("server-*/checks.json")):
        scenario = re.sub(r"^server-|-\d{4}-\d\d-\d\dT[\d-]+Z$", "", file.parent.name)
        found[scenario] = tuple(_check(row) for row in json.loads(file.read_text("utf-8")))
    for scenario in expected:
        if scenario not in found:
            found[scenario] = (Check("did-not-run", "FAILURE", _reason(scenario, log)),)
    return [Outcome(revision, scenario, checks) for scenario, checks in sorted(found.items())]


def _check(row: Mapping[str, Any]) -> Check:
    message = row.get("errorMessage") or (row.get("details") or {}).get("message") or row.get("description") or ""
    return Check(row["id"], row["status"], " ".join(str(message).split()))


def _reason(scenario: str, log: str) -> str:
    found = re.search(rf"Failed to run scenario {re.escape(scenario)}: *(.*)", log)
    return found[1] if found else "it left no result"


# --- the baseline ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Entry:
    """One thing that is not served yet: a whole scenario, or one check of it."""

    revision: str
    scenario: str
    check: str | None
    reason: str

    def excuses(self, outcome: Outcome, check: Check) -> bool:
        here = (self.revision, self.scenario) == (outcome.revision, outcome.scenario)
        return here and self.check in (None, check.id)

    def __str__(self) -> str:
        return f"{self.revision} {self.scenario}" + (f":{self.check}" if self.check else "")


class Baseline:
    """What is not served yet, with a reason each.

    The file is a list of ``reason``, ``revisions`` and ``entries``; an entry is ``scenario`` or
    ``scenario:check``.

    Raises:
        ValueError: The text has another form, or says something twice.
    """

    def __init__(self, text: str) -> None:
        self.entries = tuple(_entries(yaml.safe_load(text) or []))
        names = [str(entry) for entry in self.entries]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise ValueError(f"twice in the baseline: {', '.join(sorted(twice))}")

    def reason(self, outcome: Outcome, check: Check) -> str | None:
        """Why a check is known to fail; ``None`` if it should pass."""
        return next((entry.reason for entry in self.entries if entry.excuses(outcome, check)), None)


def _entries(groups: object) -> Iterator[Entry]:
    if not isinstance(groups, list):
        raise ValueError("the baseline is a list")
    for group in groups:
        if not isinstance(group, dict) or group.keys() != {"reason", "revisions", "entries"}:
            raise ValueError(f"a group has a reason, revisions and entries: {group}")
        for revision in group["revisions"]:
            for name in group["entries"]:
                # Unquoted, YAML reads a revision as a date and "scenario: check" as a mapping.
                if not isinstance(revision, str) or not isinstance(name, str):
                    raise ValueError(f"revisions and entries are strings: {revision!r}, {name!r}")
                scenario, _, check = name.partition(":")
                yield Entry(revision, scenario, check or None, group["reason"])


# --- the verdict ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    """An outcome in the light of the baseline."""

    outcome: Outcome
    known: tuple[tuple[Check, str], ...]
    unexpected: tuple[Check, ...]

    @property
    def word(self) -> str:
        if self.unexpected:
            return "FAIL"
        return "known" if self.known else "pass"


def judge(outcomes: Iterable[Outcome], baseline: Baseline) -> list[Verdict]:
    """Tell the problems that are known from those that are not."""
    verdicts = []
    for outcome in outcomes:
        reasons = [(check, baseline.reason(outcome, check)) for check in outcome.problems]
        known = tuple((check, reason) for check, reason in reasons if reason is not None)
        unexpected = tuple(check for check, reason in reasons if reason is None)
        verdicts.append(Verdict(outcome, known, unexpected))
    return verdicts


def stale(outcomes: Sequence[Outcome], baseline: Baseline) -> list[Entry]:
    """The entries that excuse nothing: what they name passes now, or is not there."""
    ran = {outcome.revision for outcome in outcomes}
    problems = [(outcome, check) for outcome in outcomes for check in outcome.problems]
    return [
        entry
        for entry in baseline.entries
        if entry.revision in ran and not any(entry.excuses(outcome, check) for outcome, check in problems)
    ]


def table(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """All scenarios by revision: the verdict, with the number of checks passed."""
    revisions = sorted({verdict.outcome.revision for verdict in verdicts})
    cells = {(v.outcome.scenario, v.outcome.revision): f"{v.word} {v.outcome.passed}" for v in verdicts}
    scenarios = sorted({scenario for scenario, _ in cells})
    width = max(map(len, ["scenario", *scenarios]))
    yield "  ".join(["scenario".ljust(width), *(revision.ljust(10) for revision in revisions)]).rstrip()
    for scenario in scenarios:
        row = (cells.get((scenario, revision), "-").ljust(10) for revision in revisions)
        yield "  ".join([scenario.ljust(width), *row]).rstrip()
