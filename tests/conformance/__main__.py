"""Run the official conformance suite: ``python -m tests.conformance [--url URL] [--revision R ...]``.

Exit status: 0 if every check passed or is in ``baseline.yaml``, 1 if not or if an entry there is stale.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from http.client import HTTPException
from pathlib import Path

from tests.conformance.results import Baseline, judge, stale, table
from tests.conformance.suite import Suite
from tests.servers.running import post, serve

APPLICATION = "examples.everything:application"
CACHE = Path(__file__).parents[2] / ".cache" / "conformance"
#: What the suite writes, and the server's log; kept until the next run.
RESULTS = CACHE / "results"
REVISIONS = ("2025-06-18", "2025-11-25", "2026-07-28")


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    baseline = Baseline(Path(__file__).with_name("baseline.yaml").read_text("utf-8"))
    suite = Suite(CACHE)
    shutil.rmtree(RESULTS, ignore_errors=True)
    RESULTS.mkdir(parents=True)
    outcomes = []
    with ExitStack() as stack:
        url = options.url or _serve(stack)
        for revision in options.revision or REVISIONS:
            outcomes += suite.run(url, revision, RESULTS / revision)
    verdicts = judge(outcomes, baseline)
    outdated = stale(outcomes, baseline)
    print(*table(verdicts), "", sep="\n")
    for verdict in verdicts:
        name = f"{verdict.outcome.revision} {verdict.outcome.scenario}"
        for check, reason in verdict.known:
            print(f"known  {name}:{check.id}: {reason}")
        for check in verdict.unexpected:
            print(f"FAIL   {name}:{check.id}: {check.status}: {check.message}")
    for entry in outdated:
        print(f"STALE  {entry}: passes now; take it out of baseline.yaml")
    counts = {word: sum(verdict.word == word for verdict in verdicts) for word in ("pass", "known", "FAIL")}
    checks = sum(verdict.outcome.passed for verdict in verdicts)
    print(
        f"\nscenarios: {counts['pass']} passed, {counts['known']} known, {counts['FAIL']} failed; "
        f"{checks} checks passed; {len(outdated)} stale entries; details in {RESULTS}"
    )
    return 1 if counts["FAIL"] or outdated else 0


def _serve(stack: ExitStack) -> str:
    running = stack.enter_context(serve("gevent", RESULTS, app=APPLICATION))
    try:
        # gunicorn listens before its worker has loaded the application.
        post(running, b"", {})
    except (OSError, HTTPException):
        raise SystemExit(f"{APPLICATION} is not served:\n{running.log()}") from None
    return running.url


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description="Run the conformance suite.")
    parser.add_argument("--url", help=f"a running server's endpoint; default: start {APPLICATION}")
    parser.add_argument("--revision", action="append", choices=REVISIONS, help="may be repeated; default: all")
    return parser


if __name__ == "__main__":
    sys.exit(main())
