"""Whether gevent has patched this process, and what to lock with then."""

from __future__ import annotations

from mcp_wsgi.workers import guard
from tests.workers.kit import PATCHED, script


def test_a_guard_needs_no_crew() -> None:
    lock = guard()
    with lock:
        assert not lock.acquire(blocking=False)
    assert lock.acquire(blocking=False)


if not PATCHED:

    def test_gevent_counts_only_if_it_has_patched() -> None:
        program = """
import gevent.monkey
from mcp_wsgi.workers import patched_by_gevent
print(patched_by_gevent())
gevent.monkey.patch_socket()
print(patched_by_gevent())
"""
        assert script(program).split() == ["False", "True"]
