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

import os
import queue
import sys
import threading
from collections import defaultdict, deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import copy_context
from functools import partial
from threading import get_ident
from time import monotonic
from typing import Any, Protocol
from weakref import getweakrefcount, ref

from mcp_wsgi.errors import Cancelled, OptionError, Overloaded

__all__ = [
    "NOTHING",
    "Budget",
    "Crew",
    "GreenletCrew",
    "InlineCrew",
    "Job",
    "Signal",
    "ThreadCrew",
    "crew_for",
    "guard",
    "patched_by_gevent",
]

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


class Budget:
    """Streams that may be open at once; safe from any thread or greenlet, and from a finalizer.

    Args:
        limit: How many.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        # Each step of a deque is one step, so no lock is needed that a finalizer could find held.
        self._taken: deque[None] = deque()

    @property
    def taken(self) -> int:
        """How many are open."""
        return len(self._taken)

    def take(self) -> bool:
        """Count one more; ``False`` if there are as many as may be."""
        self._taken.append(None)
        if len(self._taken) <= self.limit:
            return True
        self._taken.pop()
        return False

    def give(self) -> None:
        """Count one out that ``take`` has counted."""
        self._taken.pop()


class _Failure:
    """The last item of a callback that raised."""

    __slots__ = ("error",)

    def __init__(self, error: BaseException) -> None:
        self.error = error


def _last(callback: Any, job: Job) -> Any:
    # Whatever ends a callback is for its taker to hear. Let out here it would end a pooled thread,
    # or, as a SystemExit in gevent's hub, the process.
    try:
        return callback(job)
    except BaseException as error:  # noqa: BLE001
        return _Failure(error)


def _given(item: Any) -> Any:
    if type(item) is not _Failure:
        return item
    try:
        raise item.error
    finally:
        del item


# --- greenlets ------------------------------------------------------------------------------------


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
        last = self._scope.run(_last, callback, self)
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
        return _given(self._items.popleft()) if self._items else NOTHING

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


# --- threads --------------------------------------------------------------------------------------


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
        return self._scope.run(_last, callback, self)

    def put(self, item: Any) -> None:
        self._items.put(item)

    def pause(self) -> None:
        pass

    def take(self, timeout: float) -> Any:
        try:
            return _given(self._items.get(timeout=timeout))
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


# --- inline ---------------------------------------------------------------------------------------


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
        last = _last(callback, self)
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
        return _given(self._items.popleft()) if self._items else NOTHING

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


# --- choice ---------------------------------------------------------------------------------------

_CREWS: dict[str, type[Crew]] = {crew.kind: crew for crew in (GreenletCrew, ThreadCrew, InlineCrew)}


def guard() -> Any:
    """A new lock for a few steps that neither block nor switch: one of the operating system's.

    Where gevent has patched the process it costs a third of what ``threading.Lock`` costs there, and
    serves the threads of gevent's pool, too.
    """
    if not patched_by_gevent():
        return threading.Lock()
    from gevent.monkey import get_original

    return get_original("_thread", "allocate_lock")()


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
