"""What the tests of exchanges share: crews of every kind, callbacks, answers, and what may go wrong."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterable

import pytest

from mcp_wsgi.errors import Cancelled
from mcp_wsgi.exchange import Answer, Exchange
from mcp_wsgi.workers import Crew, crew_for, patched_by_gevent

__all__ = [
    "CONCURRENT",
    "DONE",
    "KINDS",
    "LATE",
    "PATCHED",
    "STOPPED",
    "WAIT",
    "Clock",
    "Held",
    "Interrupted",
    "emitting",
    "emitting_in_threads",
    "emitting_step_by_step",
    "in_threads",
    "is_let_go",
    "new_crew",
]

PATCHED = patched_by_gevent()
KINDS = ["greenlets", "threads", "inline"] if PATCHED else ["threads", "inline"]
CONCURRENT = [kind for kind in KINDS if kind != "inline"]
WAIT = 20.0  # seconds; reached only by a test that fails

DONE = Answer(b"done")
LATE = Answer(b"late")
STOPPED = Answer(b"stopped")


class Clock:
    """Seconds that pass only when somebody says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def new_crew(request: pytest.FixtureRequest) -> Crew:
    """A crew of the kind that is a fixture's parameter."""
    return crew_for(request.param, 100)


class Interrupted(BaseException):
    """Thrown at the request from outside: a worker's time-out, a signal, a greenlet's kill."""


# --- callbacks ------------------------------------------------------------------------------------


def emitting(exchange: Exchange, messages: Iterable[bytes] = (b"1", b"2")) -> Answer:
    """A callback that ends as endpoints let it end."""
    try:
        for message in messages:
            exchange.emit(message)
    except Cancelled:
        return STOPPED
    return DONE


def emitting_step_by_step(exchange: Exchange, gates: Iterable[threading.Event]) -> Answer:
    """A callback that counts the gates, each before it waits there for who has read the number."""
    for number, gate in enumerate(gates):
        exchange.emit(b"%d" % number)
        gate.wait(WAIT)
    return DONE


def emitting_in_threads(exchange: Exchange, messages: Iterable[bytes]) -> Answer:
    """A callback that emits the same messages in eight threads."""
    in_threads(8, emitting, exchange, messages)
    return DONE


def in_threads(count: int, work: Callable[..., object], *arguments: object) -> None:
    """Run the same work in several threads at once, and wait for them."""
    threads = [threading.Thread(target=work, args=arguments) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)


# --- what is left behind --------------------------------------------------------------------------


class Held:
    """Something that a call holds."""


def is_let_go(serve: Callable[[Held], object]) -> bool:
    """Whether nothing holds an object any more when a call that did is over, without the garbage collector's help."""
    gone = threading.Event()

    def served() -> weakref.ref[Held]:
        held = Held()
        serve(held)
        return weakref.ref(held, lambda _: gone.set())

    gc.disable()
    try:
        reference = served()
        return gone.wait(WAIT) and reference() is None
    finally:
        gc.enable()
