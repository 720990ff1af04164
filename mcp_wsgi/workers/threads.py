"""Jobs on threads, in a process that gevent has not patched.

A job runs on a pooled daemon thread. Nothing can stop a thread, so cancelling sets a flag that the
next ``ctx`` call sees.
"""

from __future__ import annotations

import os
import queue
import threading
from collections import defaultdict, deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import copy_context
from typing import Any

from mcp_wsgi.errors import Overloaded
from mcp_wsgi.workers.base import NOTHING, Callback, Crew, Job, capture, unwrap

__all__ = ["ThreadCrew"]


class ThreadCrew(Crew):
    """Jobs on pooled daemon threads.

    Attributes:
        idle_time: Seconds after which a thread without work ends.
    """

    kind = "threads"
    idle_time = 30.0

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        # By process: a fork leaves the threads behind, and those of the parent would take no job.
        self._idle: defaultdict[int, deque[_PooledThread]] = defaultdict(deque)

    def start(self, callback: Callback) -> Job:
        """Run ``callback(job)``; see ``Crew``."""
        self._enter()
        job = _ThreadJob(callback)
        idle = self._idle[os.getpid()]
        try:
            # The thread that was used last has the warmest caches, and the others can grow old.
            thread = idle.pop()
        except IndexError:
            self._hire(idle, job)
        else:
            thread.hand(job)
        return job

    def _hire(self, idle: deque[_PooledThread], job: _ThreadJob) -> None:
        try:
            _PooledThread(self, idle, job).start()
        except RuntimeError:
            self.ended()
            raise Overloaded("Overloaded: no thread can be started") from None


class _PooledThread(threading.Thread):
    def __init__(self, crew: ThreadCrew, idle: deque[_PooledThread], job: _ThreadJob) -> None:
        super().__init__(name="mcp_wsgi", daemon=True)
        self._crew = crew
        self._idle = idle
        # Looked up now: gevent may have replaced it since this module was imported.
        self._jobs: queue.SimpleQueue[_ThreadJob] = queue.SimpleQueue()
        self.hand(job)

    def hand(self, job: _ThreadJob) -> None:
        self._jobs.put(job)

    def run(self) -> None:
        while (job := self._next()) is not None:
            last = job.run()
            self._crew.ended()
            # Back in the pool before the answer goes out: the next request finds a thread.
            self._idle.append(self)
            job.put(last)
            del job, last  # nothing of a request outlives it here

    def _next(self) -> _ThreadJob | None:
        try:
            return self._jobs.get(timeout=self._crew.idle_time)
        except queue.Empty:
            pass
        try:
            self._idle.remove(self)
        except ValueError:
            # Taken from the pool this very moment: a job is on its way.
            return self._jobs.get()
        return None


class _ThreadJob:
    __slots__ = ("_callback", "_items", "_scope")

    def __init__(self, callback: Callback) -> None:
        self._scope = copy_context()
        self._callback: Callback | None = callback
        self._items: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def run(self) -> Any:
        callback, self._callback = self._callback, None  # which may well hold this job
        return self._scope.run(capture, callback, self)

    def put(self, item: Any) -> None:
        self._items.put(item)

    def pause(self) -> None:
        pass

    def take(self, timeout: float) -> Any:
        try:
            return unwrap(self._items.get(timeout=timeout))
        except queue.Empty:
            return NOTHING

    def event(self) -> Any:
        return threading.Event()

    def lock(self) -> AbstractContextManager[Any]:
        return threading.Lock()

    def kill(self, announce: Callable[[], object]) -> None:
        announce()

    def abandon(self) -> None:
        pass
