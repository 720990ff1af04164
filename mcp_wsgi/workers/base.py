"""What a worker is: a crew starts jobs, and a job carries what its callback emits."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from mcp_wsgi.errors import Overloaded

__all__ = ["NOTHING", "Callback", "Crew", "Job", "Signal", "capture", "unwrap"]

#: What ``Job.take`` returns when its time is over.
NOTHING: Any = object()

Callback = Callable[["Job"], Any]


class Signal(Protocol):
    """What somebody waits for: ``threading.Event``, or its like among greenlets."""

    def set(self) -> None:
        """Wake who waits; called from any thread or greenlet."""

    def clear(self) -> None:
        """Let the next ``wait`` wait."""

    def wait(self, timeout: float, /) -> object:
        """Wait for ``set``, at most ``timeout`` seconds; may return early."""


class Job(Protocol):
    """One running callback and what it has emitted so far."""

    def put(self, item: Any) -> None:
        """Hand over ``item``; called by the callback, from any thread or greenlet of its own."""

    def pause(self) -> None:
        """Let who takes the output have a turn, as ``put`` does; called by the callback."""

    def take(self, timeout: float) -> Any:
        """The next item, the callback's return value last; ``NOTHING`` after ``timeout`` seconds.

        A callback that raised instead of returning raises here.
        """

    def event(self) -> Any:
        """A new event (``set``, ``clear``, ``wait(timeout)``) that blocks only who waits.

        ``wait`` may return early; look again at what was waited for.
        """

    def lock(self) -> AbstractContextManager[Any]:
        """A new lock that blocks only who waits for it, and may be held by who blocks."""

    def kill(self, announce: Callable[[], object]) -> None:
        """Raise ``Cancelled`` in the callback, where the kind of worker can, right after ``announce()``.

        As one step: a callback that reads what was announced and stops by itself is not raised at
        again, in the midst of its clean-up. May be called from any thread or greenlet, once.
        """

    def abandon(self) -> None:
        """Nobody takes any more: let the callback run to its end where it needs help for that."""


class Crew:
    """Starts jobs, at most ``limit`` at once.

    Args:
        limit: Jobs that may run at the same time.

    Attributes:
        kind: The name of this kind of worker in option ``workers``.
        concurrent: Whether a callback goes on while nobody takes its output.
        running: Jobs that run now.
    """

    kind = "none"
    concurrent = True

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._count = self.guard()
        self.running = 0

    def start(self, callback: Callback) -> Job:
        """Run ``callback(job)`` in a copy of the caller's ``contextvars`` context.

        Its return value, or what it raises, is the last item of the job.

        Raises:
            Overloaded: ``limit`` jobs are running.
        """
        raise NotImplementedError

    def pause(self) -> None:
        """Let other requests of this process have a turn, if they wait for one."""

    def guard(self) -> Any:
        """A new lock for a few steps that neither block nor switch; cheaper than ``Job.lock``."""
        return threading.Lock()

    def _enter(self) -> None:
        with self._count:
            if self.running >= self._limit:
                raise Overloaded(f"Overloaded: {self._limit} calls are running")
            self.running += 1

    def event(self) -> Any:
        """A new event, as ``Job.event`` makes one, for who waits outside of a job."""
        return threading.Event()

    def ended(self) -> None:
        """Count a job out."""
        with self._count:
            self.running -= 1


class _Failure:
    """The last item of a callback that raised."""

    __slots__ = ("error",)

    def __init__(self, error: BaseException) -> None:
        self.error = error


def capture(callback: Any, job: Job) -> Any:
    """Run ``callback(job)``; the last item of the job, for its taker to ``unwrap``."""
    # Whatever ends a callback is for its taker to hear. Let out here it would end a pooled thread,
    # or, as a SystemExit in gevent's hub, the process.
    try:
        return callback(job)
    except BaseException as error:  # noqa: BLE001
        return _Failure(error)


def unwrap(item: Any) -> Any:
    """The item, for who takes it; raises what a callback has raised."""
    if type(item) is not _Failure:
        return item
    try:
        raise item.error
    finally:
        del item
