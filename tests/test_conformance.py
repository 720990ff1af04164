"""The runner of the conformance suite: its reading and judging, on small recorded data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.results import Baseline, Check, Outcome, judge, read_outcomes, stale, table
from tests.conformance.suite import HERE, parse_scenarios

REVISION = "2025-11-25"
BASELINE = """
- reason: no stored sessions
  revisions: ["2025-11-25"]
  entries: [life:gone, poll]
"""


def row(check: str, status: str, **more: Any) -> dict[str, Any]:
    return {"id": check, "name": "N", "description": "What it checks", "status": status, "timestamp": "T", **more}


def record(results: Path, scenario: str, *rows: dict[str, Any], time: str = "2026-11-30T14-00-22-957Z") -> None:
    folder = results / f"server-{scenario}-{time}"
    folder.mkdir()
    (folder / "checks.json").write_text(json.dumps(rows), "utf-8")


def outcome(scenario: str, *checks: tuple[str, str], revision: str = REVISION) -> Outcome:
    return Outcome(revision, scenario, tuple(Check(name, status) for name, status in checks))


def words(*outcomes: Outcome) -> list[str]:
    return [verdict.word for verdict in judge(outcomes, Baseline(BASELINE))]


def test_the_list_of_scenarios_is_read() -> None:
    text = "Server scenarios:\n  - ping [2025-06-18,2025-11-25]\n  - tasks [extension]\nBye - x [y] z\n"
    assert parse_scenarios(text) == {
        "ping": frozenset({"2025-06-18", "2025-11-25"}),
        "tasks": frozenset({"extension"}),
    }


def test_results_are_read_by_scenario(tmp_path: Path) -> None:
    record(tmp_path, "server-sse-polling", row("a", "SUCCESS"), row("b", "FAILURE", errorMessage="No\n  event"))
    record(tmp_path, "json-schema-2020-12", row("c", "SKIPPED", details={"message": "not run"}))
    first, second = read_outcomes(tmp_path, REVISION, ["json-schema-2020-12"], "")
    assert first == Outcome(REVISION, "json-schema-2020-12", (Check("c", "SKIPPED", "not run"),))
    assert second.scenario == "server-sse-polling"
    assert second.problems == (Check("b", "FAILURE", "No event"),)
    assert second.passed == 1


def test_the_newest_of_two_results_counts(tmp_path: Path) -> None:
    record(tmp_path, "ping", row("a", "FAILURE"), time="2026-11-30T14-00-22-957Z")
    record(tmp_path, "ping", row("a", "SUCCESS"), time="2026-11-30T14-00-23-001Z")
    assert [result.problems for result in read_outcomes(tmp_path, REVISION, ["ping"], "")] == [()]


def test_a_scenario_without_results_did_not_run(tmp_path: Path) -> None:
    log = "=== Running scenario: ping ===\nFailed to run scenario ping: Error: connect ECONNREFUSED\n    at x\n"
    ping, tools = read_outcomes(tmp_path, REVISION, ["tools-list", "ping"], log)
    assert ping.problems == (Check("did-not-run", "FAILURE", "Error: connect ECONNREFUSED"),)
    assert tools.problems == (Check("did-not-run", "FAILURE", "it left no result"),)


@pytest.mark.parametrize("status", ["FAILURE", "WARNING", "SKIPPED"])
def test_whatever_is_no_plain_pass_fails(status: str) -> None:
    assert words(outcome("ping", ("a", "SUCCESS"), ("b", status))) == ["FAIL"]


def test_information_is_no_problem_but_no_pass_either() -> None:
    assert words(outcome("ping", ("a", "SUCCESS"), ("b", "INFO"))) == ["pass"]
    assert words(outcome("ping", ("b", "INFO"))) == ["FAIL"]
    assert words(outcome("ping")) == ["FAIL"]


def test_the_baseline_excuses_what_it_names_and_no_more() -> None:
    assert words(outcome("life", ("gone", "SKIPPED"), ("a", "SUCCESS"))) == ["known"]
    assert words(outcome("life", ("gone", "SKIPPED"), ("a", "FAILURE"))) == ["FAIL"]
    assert words(outcome("life", ("gone", "FAILURE"), revision="2025-06-18")) == ["FAIL"]
    assert words(outcome("poll", ("a", "FAILURE"), ("b", "WARNING"))) == ["known"]
    (verdict,) = judge([outcome("poll", ("a", "FAILURE"))], Baseline(BASELINE))
    assert verdict.known == ((Check("a", "FAILURE"), "no stored sessions"),)


def test_an_entry_that_excuses_nothing_is_stale() -> None:
    baseline = Baseline(BASELINE)
    both = [outcome("life", ("gone", "FAILURE")), outcome("poll", ("a", "FAILURE"))]
    assert stale(both, baseline) == []
    passing = [outcome("life", ("gone", "SUCCESS"), ("a", "FAILURE")), outcome("poll", ("a", "SUCCESS"))]
    assert [str(entry) for entry in stale(passing, baseline)] == ["2025-11-25 life:gone", "2025-11-25 poll"]
    assert stale([outcome("ping", ("a", "SUCCESS"), revision="2025-06-18")], baseline) == []


@pytest.mark.parametrize(
    "text",
    [
        "reason: x",
        "- reason: x\n  entries: [a]",
        "- {reason: x, revisions: [2025-11-25], entries: [a]}",
        "- {reason: x, revisions: ['2025-11-25'], entries: [{a: b}]}",
        "- {reason: x, revisions: ['2025-11-25'], entries: [a, a]}",
    ],
)
def test_a_malformed_baseline_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"baseline|group|strings"):
        Baseline(text)


def test_the_table_has_a_row_for_each_scenario_and_a_column_for_each_revision() -> None:
    outcomes = [outcome("ping", ("a", "SUCCESS"), revision="2025-06-18"), outcome("poll", ("a", "FAILURE"))]
    assert list(table(judge(outcomes, Baseline(BASELINE)))) == [
        "scenario  2025-06-18  2025-11-25",
        "ping      pass 1      -",
        "poll      -           known 0",
    ]
    assert list(table([])) == ["scenario"]


def test_our_own_baseline_is_well_formed() -> None:
    for entry in Baseline((HERE / "baseline.yaml").read_text("utf-8")).entries:
        assert entry.revision in {"2025-06-18", "2025-11-25", "2026-07-28"}
        assert entry.reason


@pytest.mark.parametrize("folder", ["conformance", "servers/clients"])
def test_npm_packages_are_pinned_and_name_no_registry(folder: str) -> None:
    here = Path(__file__).parent / folder
    wanted = json.loads((here / "package.json").read_text("utf-8"))["dependencies"]
    locked = json.loads((here / "package-lock.json").read_text("utf-8"))["packages"]
    for name, version in wanted.items():
        assert locked[f"node_modules/{name}"]["version"] == version
    for name, package in locked.items():
        assert "resolved" not in package
        assert not name or package["integrity"]
