"""Jobs on the thread of whoever answers the request.

A job is a bare greenlet on the caller's thread that runs only while its output is being taken. There
is no deadline and no keep-alive while it blocks.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import copy_context
from functools import partial
from threading import get_ident
from typing import Any

from mcp_wsgi.errors import Cancelled
from mcp_wsgi.workers.base import NOTHING, Callback, Crew, Job, capture, unwrap

__all__ = ["InlineCrew"]


class InlineCrew(Crew):
    """Jobs on the thread that takes their output, for as long as it takes it."""

    kind = "inline"
    concurrent = False

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        from greenlet import getcurrent, greenlet

        self.greenlet: Any = greenlet
        self.current: Any = getcurrent

    def start(self, callback: Callback) -> Job:
        """Run ``callback(job)``; see ``Crew``."""
        self._enter()
        job = _InlineJob(self, callback)
        job.resume()
        return job


class _InlineJob:
    """Runs until it puts something, then rests until that has been taken.

    Under gevent the worker can also block in the hub while its host waits; what is then thrown at
    the host (a timeout, a kill) leaves the worker to the hub.
    """

    __slots__ = ("_crew", "_host", "_items", "_resting", "_thread", "_to_end", "_worker")

    def __init__(self, crew: InlineCrew, callback: Callback) -> None:
        self._crew = crew
        self._items: deque[Any] = deque()
        self._host: Any = None
        self._thread = get_ident()
        self._resting = True
        self._to_end = False
        self._worker = crew.greenlet(partial(copy_context().run, self._run, callback))

    def _run(self, callback: Callback) -> None:
        last = capture(callback, self)
        self._crew.ended()
        self._items.append(last)
        del last  # no cycle through the traceback of a failure

    def put(self, item: Any) -> None:
        self._items.append(item)
        self.pause()

    def pause(self) -> None:
        if not self._to_end and self._host is not None and self._crew.current() is self._worker:
            self._resting = True
            self._host.switch()

    def take(self, timeout: float) -> Any:
        if not self._items and self._resting:
            self.resume()
        return unwrap(self._items.popleft()) if self._items else NOTHING

    def event(self) -> Any:
        return threading.Event()

    def lock(self) -> AbstractContextManager[Any]:
        return threading.Lock()

    def resume(self, error: type[BaseException] | None = None) -> None:
        worker = self._worker
        host = self._host = worker.parent = self._crew.current()
        self._resting = False
        try:
            if error is None:
                worker.switch()
            else:
                worker.throw(error)
        finally:
            self._host = None
            if not (worker.dead or self._resting):
                worker.parent = host.parent or _hub()

    def kill(self, announce: Callable[[], object]) -> None:
        announce()
        # While somebody waits for the worker it is not ours to switch to, and never another thread's.
        if self._host is None and not self._worker.dead and get_ident() == self._thread:
            self._to_end = True
            self.resume(Cancelled)

    def abandon(self) -> None:
        self._to_end = True
        if self._resting and not self._worker.dead:
            self.resume()


def _hub() -> Any:
    from gevent import get_hub

    return get_hub()
