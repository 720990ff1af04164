"""Sessions over HTTP once more, where gevent has patched the process."""

from __future__ import annotations

from tests.patched import run_patched


def test_sessions_keep_their_promises_under_gevent() -> None:
    run_patched("tests/wsgi/test_sessions.py", "tests/wsgi/test_calls.py", "tests/wsgi/test_legacy.py")


def test_sessions_keep_the_rules_of_the_protocol_under_gevent() -> None:
    run_patched("tests/spec/test_sessions.py")
