"""What the tests share that run in a process that gevent has patched."""

from __future__ import annotations

import time

import gevent
from greenlet import getcurrent

__all__ = ["HUB", "Interrupted", "interrupt_next", "rest", "turns"]

HUB = gevent.get_hub()


def turns(number: int = 5) -> None:
    """Let everybody who is ready go on, a few times over."""
    for _ in range(number):
        gevent.sleep(0)


class Interrupted(Exception):
    """Thrown at a request from outside, as a time-out is."""


def interrupt_next() -> None:
    """Throw at this greenlet before anything else that the hub has to do."""
    HUB.loop.run_callback(getcurrent().throw, Interrupted)


def rest() -> bool:
    """Whether nothing stale wakes this greenlet up."""
    before = time.monotonic()
    gevent.sleep(0.03)
    return time.monotonic() - before > 0.02
