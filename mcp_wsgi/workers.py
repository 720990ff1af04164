"""What callbacks run in: greenlets, threads, or the caller's own thread.

The only module that knows gevent. Each kind of worker offers the same two things: a ``Crew`` starts
jobs, and a ``Job`` carries what its callback emits to whoever answers the request.

* **Greenlets** (gevent has patched the process): a job starts as a bare greenlet right on the
  request's greenlet, so that one which never blocks costs two switches. One that blocks goes on in
  the hub. It can be killed.
* **Threads** (an unpatched process): a job runs on a pooled daemon thread. Nothing can stop a
  thread, so cancelling sets a flag that the next ``ctx`` call sees.
* **Inline**: a job is a bare greenlet on the caller's thread that runs only while its output is
  being taken. There is no deadline and no keep-alive while it blocks.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from mcp_wsgi.errors import Cancelled, OptionError, Overloaded

__all__ = ["NOTHING", "Crew", "GreenletCrew", "InlineCrew", "Job", "ThreadCrew", "crew_for", "patched_by_gevent"]

#: What ``Job.take`` returns when its time is over.
NOTHING: Any = object()

#: How long an idle pooled thread waits for its next job, in seconds.
THREAD_IDLE = 30.0


class Job(Protocol):
    """One running callback and what it has emitted so far."""

    def put(self, item: Any) -> None:
        """Hand over ``item``; called by the callback, from any thread or greenlet of its own."""

    def take(self, timeout: float) -> Any:
        """The next item, the callback's return value last; ``NOTHING`` after ``timeout`` seconds."""

    def kill(self) -> None:
        """Raise ``Cancelled`` in the callback where the kind of worker can; else do nothing."""

    def abandon(self) -> None:
        """Nobody takes any more: let the callback run to its end where it needs help for that."""


class Crew:
    """Starts jobs, at most ``limit`` at once.

    Args:
        limit: Jobs that may run at the same time.
    """

    kind = "none"

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self.running = 0

    def start(self, callback: Callable[[Job], Any]) -> Job:
        """Run ``callback(job)`` in a copy of the caller's ``contextvars`` context.

        The callback must not raise; its return value is the last item of the job.

        Raises:
            Overloaded: ``limit`` jobs are running.
        """
        raise NotImplementedError

    def pause(self) -> None:
        """Let other requests of this process have a turn, if they wait for one."""

    def event(self) -> Any:
        """A new event (``set``, ``clear``, ``wait(timeout)``) that blocks only its own worker."""
        return threading.Event()

    def _enter(self) -> None:
        with self._lock:
            if self.running >= self._limit:
                raise Overloaded(f"Overloaded: {self._limit} calls are running")
            self.running += 1

    def _leave(self) -> None:
        with self._lock:
            self.running -= 1


# --- greenlets ------------------------------------------------------------------------------------


class GreenletCrew(Crew):
    """Jobs as bare greenlets in gevent's hub."""

    kind = "greenlets"

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        import gevent
        from gevent.event import Event
        from greenlet import getcurrent, greenlet

        self.greenlet: Any = greenlet
        self.current: Any = getcurrent
        self.hub: Any = gevent.get_hub
        self._event: Any = Event
        self.sleep: Any = gevent.sleep

    def start(self, callback: Callable[[Job], Any]) -> Job:
        self._enter()
        job = _GreenletJob(self, callback)
        job.begin()
        return job

    def pause(self) -> None:
        self.sleep(0)

    def event(self) -> Any:
        return self._event()


class _GreenletJob:
    """Runs at once on the request's greenlet; moves to the hub when it first blocks.

    Before the worker starts, a wake-up of the request's greenlet is put into the hub. It serves two
    ends: when the worker blocks, the request goes on by it; when the worker is through, waiting for
    it lets the other requests of the process have their turn (without that, a quick keep-alive
    client can hold gunicorn's gevent worker for itself).
    """

    __slots__ = ("_callback", "_crew", "_event", "_items", "_worker")

    def __init__(self, crew: GreenletCrew, callback: Callable[[Job], Any]) -> None:
        self._crew = crew
        self._callback: Any = callback
        self._items: deque[Any] = deque()
        self._event: Any = None

    def begin(self) -> None:
        crew = self._crew
        request = crew.current()
        hub = crew.hub()
        # A bare greenlet starts with an empty context, so the request's is carried over.
        worker = self._worker = crew.greenlet(copy_context().run, request)
        turn = hub.loop.run_callback(request.switch)
        try:
            worker.switch(self._run)
            if worker.dead:
                hub.switch()
            else:
                worker.parent = hub
        finally:
            turn.stop()

    def _run(self) -> None:
        try:
            last = self._callback(self)
        finally:
            self._callback = None
            self._crew._leave()
        self._items.append(last)
        if self._event is not None:
            self._event.set()

    def put(self, item: Any) -> None:
        self._items.append(item)
        if self._event is not None:
            self._event.set()
        if self._crew.current() is self._worker:
            # The request's greenlet writes it now, not when the callback next blocks.
            self._crew.sleep(0)

    def take(self, timeout: float) -> Any:
        if not self._items:
            if self._event is None:
                self._event = self._crew.event()
            self._event.clear()
            if not self._items and not self._event.wait(timeout):
                return NOTHING
        return self._items.popleft() if self._items else NOTHING

    def kill(self) -> None:
        worker = self._worker
        if not worker.dead:
            self._crew.hub().loop.run_callback(_throw, worker)

    def abandon(self) -> None:
        pass


def _throw(worker: Any) -> None:
    if not worker.dead:
        worker.throw(Cancelled)


# --- threads --------------------------------------------------------------------------------------


class ThreadCrew(Crew):
    """Jobs on pooled daemon threads; an idle thread ends after ``THREAD_IDLE`` seconds."""

    kind = "threads"

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self._idle: deque[_PooledThread] = deque()

    def start(self, callback: Callable[[Job], Any]) -> Job:
        self._enter()
        job = _ThreadJob(copy_context().run, callback)
        try:
            # The thread that was used last has the warmest caches, and the others can grow old.
            thread = self._idle.pop()
        except IndexError:
            thread = _PooledThread(self)
            try:
                thread.start()
            except RuntimeError:
                self._leave()
                raise Overloaded("Overloaded: no thread can be started") from None
        thread.hand(job)
        return job


class _PooledThread(threading.Thread):
    def __init__(self, crew: ThreadCrew) -> None:
        super().__init__(name="mcp_wsgi", daemon=True)
        self._crew = crew
        self._jobs: SimpleQueue[_ThreadJob] = SimpleQueue()

    def hand(self, job: _ThreadJob) -> None:
        self._jobs.put(job)

    def run(self) -> None:
        crew = self._crew
        while True:
            try:
                job = self._jobs.get(timeout=THREAD_IDLE)
            except Empty:
                try:
                    crew._idle.remove(self)
                except ValueError:
                    # Taken from the pool this very moment: a job is on its way.
                    job = self._jobs.get()
                else:
                    return
            last = job.run()
            crew._leave()
            # Back in the pool before the answer goes out: the next request finds a thread.
            crew._idle.append(self)
            job.put(last)
            del job, last


class _ThreadJob:
    __slots__ = ("_callback", "_items", "_scope")

    def __init__(self, scope: Callable[..., Any], callback: Callable[[Job], Any]) -> None:
        self._scope = scope
        self._callback = callback
        self._items: SimpleQueue[Any] = SimpleQueue()

    def run(self) -> Any:
        return self._scope(self._callback, self)

    def put(self, item: Any) -> None:
        self._items.put(item)

    def take(self, timeout: float) -> Any:
        try:
            return self._items.get(timeout=timeout)
        except Empty:
            return NOTHING

    def kill(self) -> None:
        pass

    def abandon(self) -> None:
        pass


# --- inline ---------------------------------------------------------------------------------------


class InlineCrew(Crew):
    """Jobs on the thread that takes their output, for as long as it takes it."""

    kind = "inline"

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        from greenlet import getcurrent, greenlet

        self.greenlet: Any = greenlet
        self.current: Any = getcurrent

    def start(self, callback: Callable[[Job], Any]) -> Job:
        self._enter()
        return _InlineJob(self, callback)


class _InlineJob:
    __slots__ = ("_crew", "_items", "_taker", "_worker")

    def __init__(self, crew: InlineCrew, callback: Callable[[Job], Any]) -> None:
        self._crew = crew
        self._items: deque[Any] = deque()
        self._taker: Any = None
        scope = copy_context().run

        def run() -> None:
            try:
                last = scope(callback, self)
            finally:
                crew._leave()
            self._items.append(last)

        self._worker = crew.greenlet(run)

    def put(self, item: Any) -> None:
        self._items.append(item)
        if self._crew.current() is self._worker:
            self._taker.switch()

    def take(self, timeout: float) -> Any:
        if not self._items and not self._worker.dead:
            self._resume()
        return self._items.popleft() if self._items else NOTHING

    def _resume(self, error: type[BaseException] | None = None) -> None:
        self._taker = self._worker.parent = self._crew.current()
        if error is None:
            self._worker.switch()
        else:
            self._worker.throw(error)

    def kill(self) -> None:
        if not self._worker.dead:
            self._resume(Cancelled)
        self.abandon()

    def abandon(self) -> None:
        while not self._worker.dead:
            self._resume()


# --- choice ---------------------------------------------------------------------------------------

_CREWS: dict[str, type[Crew]] = {"greenlets": GreenletCrew, "threads": ThreadCrew, "inline": InlineCrew}


def patched_by_gevent() -> bool:
    """Whether gevent has replaced this process's blocking calls."""
    monkey: Any = sys.modules.get("gevent.monkey")
    return monkey is not None and bool(monkey.is_module_patched("threading") or monkey.is_module_patched("socket"))


def crew_for(choice: str, limit: int) -> Crew:
    """The crew for option ``workers``.

    Args:
        choice: ``auto``, ``greenlets``, ``threads`` or ``inline``.
        limit: Jobs that may run at the same time.

    Raises:
        OptionError: Greenlets were asked for in a process that gevent has not patched, where a
            blocking callback would block every request.
    """
    patched = patched_by_gevent()
    if choice == "auto":
        choice = "greenlets" if patched else "threads"
    if choice == "greenlets" and not patched:
        raise OptionError('option workers: "greenlets" needs a process patched by gevent (gunicorn -k gevent)')
    return _CREWS[choice](limit)
