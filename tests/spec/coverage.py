"""Which rules of the protocol the tests prove, group by group.

``python -m tests.spec.coverage`` prints it, and fails if a rule that applies has no test, or a test
names a rule that does not exist. What proves a rule is a test whose docstring begins with its ID:
``S26-HTTP-18, W-01: ...``.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tests.spec.rules import NOW, REASONS, RULES, Rule

__all__ = ["main", "named_by", "proofs", "report"]

TESTS = Path(__file__).parents[1]
#: These test the judges of the tests, not the server.
NO_PROOF = frozenset({"test_recorder.py", "test_wire.py", "test_coverage.py"})

_ID = r"(?:S26|T25|T24|X26)-[A-Z]+-\d\d|DUAL-\d\d|[QW]-\d\d"
_NAMES = re.compile(rf"(?:{_ID})(?:,\s+(?:{_ID}))*(?=:|\Z)")


def named_by(docstring: str | None) -> tuple[str, ...]:
    """The IDs at the beginning of a docstring."""
    match = _NAMES.match(docstring or "")
    return tuple(re.split(r",\s+", match[0])) if match else ()


def proofs(source: str) -> Iterator[tuple[str, str]]:
    """Each ID in the docstring of a test function, with the function's name."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            for identity in named_by(ast.get_docstring(node)):
                yield identity, node.name


def proven(folder: Path = TESTS) -> dict[str, list[str]]:
    """ID -> the tests that name it, as ``file::function``."""
    found: dict[str, list[str]] = {}
    for file in sorted(folder.rglob("test_*.py")):
        if file.name not in NO_PROOF:
            for identity, name in proofs(file.read_text("utf-8")):
                found.setdefault(identity, []).append(f"{file.relative_to(folder)}::{name}")
    return found


def faults(rules: Mapping[str, Sequence[Rule]], tests: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """What is wrong: rules without a test, rules twice, tests of no rule, a status that is none."""
    known: set[str] = set()
    for rule in (rule for group in rules.values() for rule in group):
        if rule.id in known:
            yield f"{rule.id} is listed twice"
        known.add(rule.id)
        if rule.status == NOW and rule.id not in tests:
            yield f"{rule.id} applies and has no test: {rule.text}"
        elif rule.status != NOW and rule.status not in REASONS:
            yield f"{rule.id} has the status {rule.status}, which has no reason"
    for identity in sorted(tests.keys() - known):
        yield f"{identity} is no rule, but {', '.join(tests[identity])} names it"


def report(
    rules: Mapping[str, Sequence[Rule]], tests: Mapping[str, Sequence[str]], *, names: bool = False
) -> Iterator[str]:
    """The lines to print.

    Args:
        rules: Group -> its rules.
        tests: ID -> the tests that name it.
        names: Whether each test is named, too.
    """
    for group, members in rules.items():
        now = [rule for rule in members if rule.status == NOW]
        done = [rule for rule in now if rule.id in tests]
        yield f"\n{group}: {len(done)} of {len(now)} that apply are proven, {len(members) - len(now)} do not apply yet"
        for rule in members:
            count = len(tests.get(rule.id, ()))
            word = f"{count} test{'s' * (count != 1)}" if rule.status == NOW or count else ""
            reason = "" if rule.status == NOW else REASONS.get(rule.status, "?")
            yield f"  {rule.id:<12} {rule.level:<6} {rule.text}  [{'; '.join(filter(None, (word, reason)))}]"
            if names:
                yield from (f"      {test}" for test in tests.get(rule.id, ()))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report; 1 if something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", action="store_true", help="name the tests of each rule")
    parser.add_argument("--quiet", action="store_true", help="print only what is wrong")
    chosen = parser.parse_args(arguments)
    tests = proven()
    wrong = list(faults(RULES, tests))
    if not chosen.quiet:
        print("\n".join(report(RULES, tests, names=chosen.names)).lstrip())
    if wrong:
        print("\n".join(["", "Wrong:", *(f"  {fault}" for fault in wrong)]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
