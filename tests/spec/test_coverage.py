"""Every rule that applies is named by a test."""

from __future__ import annotations

import pytest

from tests.spec import coverage
from tests.spec.rules import NOW, REASONS, RULES, Rule

KINDS = ("later: ", "client only: ", "documented elsewhere: ")


def rule(identity: str, status: str = NOW) -> Rule:
    return Rule(identity, "MUST", status, "say hello")


def test_every_rule_that_applies_is_proven(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = coverage.main(["--quiet"])
    assert wrong == 0, capsys.readouterr().out


def test_the_report_has_every_rule_with_its_tests_or_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    coverage.main(["--names"])
    lines = capsys.readouterr().out.splitlines()
    assert len([line for line in lines if line.startswith("  ") and line[2] != " "]) == sum(map(len, RULES.values()))
    now = sum(rule.status == NOW for rule in RULES["1 Base"])
    assert f"1 Base: {now} of {now} that apply are proven, {len(RULES['1 Base']) - now} do not apply yet" in lines
    assert any("spec/test_http.py::" in line for line in lines)


def test_every_reason_says_of_which_kind_it_is() -> None:
    used = {rule.status for members in RULES.values() for rule in members} - {NOW}
    assert used == REASONS.keys()
    assert all(reason.startswith(KINDS) for reason in REASONS.values())


@pytest.mark.parametrize(
    ("docstring", "names"),
    [
        ("S26-BASE-01: messages", ("S26-BASE-01",)),
        ("S26-BASE-01, DUAL-02,\n    W-01: messages", ("S26-BASE-01", "DUAL-02", "W-01")),
        ("S26-BASE-01", ("S26-BASE-01",)),
        ("About S26-BASE-01: messages", ()),
        ("S26-BASE-01 is about messages", ()),
        ("S26-BASE-1: messages", ()),
        ("", ()),
        (None, ()),
    ],
)
def test_rules_are_named_at_the_beginning_of_a_docstring(docstring: str | None, names: tuple[str, ...]) -> None:
    assert coverage.named_by(docstring) == names


def test_only_test_functions_prove() -> None:
    source = '''
def test_a():
    """S26-BASE-01: a."""
class TestB:
    def test_b(self):
        """S26-BASE-02: b."""
def helper():
    """S26-BASE-03: no test."""
'''
    assert sorted(coverage.proofs(source)) == [("S26-BASE-01", "test_a"), ("S26-BASE-02", "test_b")]


def test_what_is_wrong_is_found() -> None:
    rules = {"1": (rule("S26-A-01"), rule("S26-A-02"), rule("S26-A-02", "stdio"), rule("S26-A-03", "whim"))}
    assert list(coverage.faults(rules, {"S26-A-02": ["t"], "S26-B-01": ["test_x.py::t"]})) == [
        "S26-A-01 applies and has no test: say hello",
        "S26-A-02 is listed twice",
        "S26-A-03 has the status whim, which has no reason",
        "S26-B-01 is no rule, but test_x.py::t names it",
    ]


def test_the_command_fails_if_something_is_wrong(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(coverage, "proven", dict)
    assert coverage.main(["--quiet"]) == 1
    assert "S26-BASE-01 applies and has no test" in capsys.readouterr().out
