"""Jobs as greenlets, where gevent has patched the process.

A job starts as a bare greenlet right on the request's greenlet, so that one which never blocks costs
two switches. One that blocks goes on in the hub. It can be killed.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import copy_context
from functools import partial
from time import monotonic
from typing import Any
from weakref import getweakrefcount, ref

from mcp_wsgi.errors import Cancelled
from mcp_wsgi.workers.base import NOTHING, Callback, Crew, Job, capture, unwrap

__all__ = ["GreenletCrew"]


class GreenletCrew(Crew):
    """Jobs as bare greenlets in gevent's hub."""

    kind = "greenlets"

    def __init__(self, limit: int) -> None:
        from gevent import get_hub, sleep
        from gevent.event import Event
        from gevent.lock import BoundedSemaphore
        from gevent.monkey import get_original
        from greenlet import getcurrent, greenlet

        self.greenlet: Any = greenlet
        self.current: Any = getcurrent
        self.hub: Any = get_hub
        self.sleep: Any = sleep
        self.new_event: Any = Event
        self.thread: Any = get_original("_thread", "get_ident")
        self.thread_sleep: Any = get_original("time", "sleep")
        self.new_lock: Any = BoundedSemaphore
        self._new_guard: Any = get_original("_thread", "allocate_lock")
        # A greenlet can run only in the thread that made it, and ends with it.
        self._of_thread: Any = get_original("_thread", "_local")()
        super().__init__(limit)

    def start(self, callback: Callback) -> Job:
        """Run ``callback(job)``; see ``Crew``."""
        hub = self.hub()
        if not hub:
            self.sleep(0)  # a greenlet that ends before its hub has ever run cannot go on there
        self._enter()
        job = _GreenletJob(self, hub, callback)
        job.begin()
        return job

    def worker(self, hub: Any) -> Any:
        """A greenlet whose ``switch`` takes a list with one job.

        A new one costs more than all else that a quick call does: its stack of frames is mapped anew.
        """
        try:
            seat = self._of_thread.seat
        except AttributeError:
            seat = self._of_thread.seat = _Seat()
        worker, seat.worker = seat.worker, None
        return worker or self.greenlet(partial(_serve_jobs, self.current, ref(seat)), hub)

    def pause(self) -> None:
        """Give the hub, and through it everybody who is ready, one turn."""
        self.sleep(0)

    def event(self) -> Any:
        """A new event that only the caller's greenlet, or another of its thread, waits for."""
        return _GreenletEvent(self, self.hub(), self.thread())

    def guard(self) -> Any:
        """A lock of the operating system's: greenlets take turns only where they block."""
        return self._new_guard()


class _Seat:
    """Where a thread's greenlet rests between two jobs that do not block, which are one at a time."""

    __slots__ = ("__weakref__", "worker")

    def __init__(self) -> None:
        self.worker: Any = None


def _serve_jobs(current: Callable[[], Any], seat: ref[_Seat], box: list[_GreenletJob]) -> None:
    """Run the job in the box and those that follow, resting in the seat between two.

    No call may find what another has left: a greenlet that has blocked, or to which a local, a
    thread's dummy, a timer or anything else still refers, ends with its job.
    """
    me = current()
    hub = me.parent
    while _serve_alone(me, box.pop()):
        if (resting := seat()) is None:
            return
        resting.worker = me
        # What a resting greenlet holds no collector sees: so neither itself nor its seat, and of the
        # job that its first caller's frame keeps an empty box.
        del me, resting
        box = hub.switch()
        me = current()


def _serve_alone(me: Any, job: _GreenletJob) -> bool:
    """Run a job in the greenlet ``me``; tell whether nothing has got hold of it meanwhile."""
    held = sys.getrefcount(me)
    return job.run() and sys.getrefcount(me) == held and not getweakrefcount(me)


class _GreenletJob:
    """Runs at once, before the request's greenlet goes on, and in the hub from where it first blocks.

    Before the worker starts, a wake-up of the request's greenlet is put into the hub: whether the
    worker blocks or is through, the hub goes on with it, when the other requests of the process that
    wait have had their turn (without that, a quick keep-alive client can hold gunicorn's gevent
    worker for itself).
    """

    __slots__ = ("_callback", "_crew", "_event", "_hub", "_items", "_moved", "_scope", "_thread", "_worker", "done")

    def __init__(self, crew: GreenletCrew, hub: Any, callback: Callback) -> None:
        self._crew = crew
        self._hub = hub
        self._thread = crew.thread()
        # A greenlet starts with an empty context, so the request's is carried over.
        self._scope = copy_context()
        self._callback: Callback | None = callback
        self._items: deque[Any] = deque()
        self._event: Any = None
        self._moved = False
        self.done = False

    def begin(self) -> None:
        hub = self._hub
        worker = self._worker = self._crew.worker(hub)
        turn = hub.loop.run_callback(self._crew.current().switch)
        try:
            worker.switch([self])
        finally:
            # Also where a timeout or a kill ends the wait: from now on nothing may switch to the
            # request's greenlet behind its back.
            turn.stop()
            self._moved = True

    def run(self) -> bool:
        """Run the callback; tell whether it did so without ever blocking."""
        callback, self._callback = self._callback, None  # which may well hold this job
        last = self._scope.run(capture, callback, self)
        self.done = True
        self._crew.ended()
        self._items.append(last)
        del last  # no cycle through the traceback of a failure
        self._wake()
        return not self._moved

    def _wake(self) -> None:
        if self._event is not None:
            self._event.set()

    def put(self, item: Any) -> None:
        self._items.append(item)
        crew = self._crew
        if crew.current() is self._worker:
            self._wake()
            # The request's greenlet writes it now, not when the callback next blocks.
            crew.sleep(0)
        elif crew.thread() == self._thread:
            self._wake()
        else:
            self._hub.loop.run_callback_threadsafe(self._wake)

    def pause(self) -> None:
        if self._crew.current() is self._worker:
            self._crew.sleep(0)

    def take(self, timeout: float) -> Any:
        if not self._items:
            self._wait(timeout)
        return unwrap(self._items.popleft()) if self._items else NOTHING

    def _wait(self, timeout: float) -> None:
        if self._event is None:
            self._event = self._crew.new_event()
        deadline = monotonic() + timeout
        # A wake-up from another thread may come late, when its item has been taken already.
        while not self._items and timeout > 0:
            self._event.clear()
            self._event.wait(timeout)
            timeout = deadline - monotonic()

    def event(self) -> Any:
        return _GreenletEvent(self._crew, self._hub, self._thread)

    def lock(self) -> AbstractContextManager[Any]:
        return _GreenletLock(self._crew, self._thread)

    def kill(self, announce: Callable[[], object]) -> None:
        worker = self._worker
        if self.done or self._crew.current() is worker:
            announce()
        else:
            self._hub.loop.run_callback_threadsafe(_cancel, self, worker, announce)

    def abandon(self) -> None:
        pass


def _cancel(job: _GreenletJob, worker: Any, announce: Callable[[], object]) -> None:
    announce()
    if not job.done:
        worker.throw(Cancelled)


class _GreenletEvent:
    """gevent's event, which only the greenlets of one thread can wait for, made good for all threads."""

    __slots__ = ("_crew", "_event", "_hub", "_thread")

    def __init__(self, crew: GreenletCrew, hub: Any, thread: int) -> None:
        self._crew = crew
        self._event = crew.new_event()
        self._hub = hub
        self._thread = thread

    def set(self) -> None:
        if self._crew.thread() == self._thread:
            self._event.set()
        else:
            self._hub.loop.run_callback_threadsafe(self._event.set)

    def clear(self) -> None:
        self._event.clear()

    def wait(self, timeout: float) -> bool:
        if self._crew.thread() == self._thread:
            return bool(self._event.wait(timeout))
        # A thread of gevent's pool: rare, so looking again now and then is good enough.
        self._crew.thread_sleep(min(timeout, 0.02))
        return bool(self._event.is_set())


class _GreenletLock:
    """gevent's lock, which only the greenlets of one thread can wait for, made good for all threads.

    (It tries to serve several threads, and can leave one of them waiting for ever.)
    """

    __slots__ = ("_crew", "_lock", "_thread", "_turn")

    def __init__(self, crew: GreenletCrew, thread: int) -> None:
        self._crew = crew
        self._lock = crew.guard()
        self._turn = crew.new_lock()
        self._thread = thread

    def __enter__(self) -> None:
        crew = self._crew
        if crew.thread() != self._thread:
            self._lock.acquire()
            return
        self._turn.acquire()
        try:
            while not self._lock.acquire(blocking=False):
                crew.sleep(0.005)  # a thread of gevent's pool has it
        except BaseException:
            self._turn.release()
            raise

    def __exit__(self, *exc_info: object) -> None:
        self._lock.release()
        if self._crew.thread() == self._thread:
            self._turn.release()
