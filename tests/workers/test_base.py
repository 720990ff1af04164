"""What every kind of worker promises."""

from __future__ import annotations

import gc
import queue
import threading
import weakref
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from functools import partial
from typing import Any

import pytest

from mcp_wsgi.errors import Cancelled, Overloaded
from mcp_wsgi.workers import NOTHING, Crew, Job, crew_for
from tests.workers.kit import KINDS, WAIT, everything, run

var: ContextVar[str] = ContextVar("var", default="outside")


@pytest.fixture(params=KINDS)
def crew(request: pytest.FixtureRequest) -> Crew:
    return crew_for(request.param, 1000)


def test_the_return_value_is_taken(crew: Crew) -> None:
    assert run(crew, lambda job: ("answer", 42)) == ("answer", 42)
    assert crew.running == 0


def test_what_is_put_comes_first_and_in_order(crew: Crew) -> None:
    def callback(job: Job) -> None:
        for number in range(2000):
            job.put(number)

    assert list(everything(crew.start(callback))) == list(range(2000))


def test_an_item_can_be_anything(crew: Crew) -> None:
    def callback(job: Job) -> str:
        job.put(None)
        job.put(0)
        return "last"

    job = crew.start(callback)
    assert [job.take(WAIT) for _ in range(3)] == [None, 0, "last"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, Cancelled, GeneratorExit, MemoryError])
@pytest.mark.parametrize("first", [True, False], ids=["at once", "after an item"])
def test_what_a_callback_raises_its_taker_gets(crew: Crew, error: type[BaseException], first: bool) -> None:
    """Nothing else suffers: the crew counts it out and runs the next job."""

    def callback(job: Job) -> None:
        if not first:
            job.put("item")
        raise error("why")

    job = crew.start(callback)
    assert first or job.take(WAIT) == "item"
    with pytest.raises(error, match="why"):
        job.take(WAIT)
    assert crew.running == 0
    assert run(crew, lambda job: "next") == "next"


def test_a_callback_runs_in_a_copy_of_the_caller_s_context(crew: Crew) -> None:
    def callback(job: Job) -> str:
        seen = var.get()
        var.set("changed by the callback")
        job.put(seen)
        return var.get()

    token = var.set("request")
    try:
        job = crew.start(callback)
        assert job.take(WAIT) == "request"
        assert var.get() == "request"
        assert job.take(WAIT) == "changed by the callback"
        assert var.get() == "request"
    finally:
        var.reset(token)
    assert run(crew, lambda job: var.get()) == "outside"


@pytest.mark.parametrize("kind", KINDS)
def test_no_more_than_the_limit_run_at_once(kind: str) -> None:
    crew = crew_for(kind, 2)
    gate = threading.Event()

    def callback(job: Job) -> str:
        job.put("begun")
        gate.wait(WAIT)
        return "done"

    jobs = [crew.start(callback) for _ in range(2)]
    assert [job.take(WAIT) for job in jobs] == ["begun", "begun"]
    with pytest.raises(Overloaded, match="2 calls are running"):
        crew.start(callback)
    gate.set()
    assert [job.take(WAIT) for job in jobs] == ["done", "done"]
    assert crew.running == 0
    assert run(crew, lambda job: "room again") == "room again"


def test_threads_of_the_callback_may_put(crew: Crew) -> None:
    def callback(job: Job) -> None:
        threads = [threading.Thread(target=put_many, args=(job, range(100))) for _ in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT)

    assert sorted(everything(crew.start(callback))) == sorted([*range(100)] * 5)


def put_many(job: Job, items: Iterable[Any]) -> None:
    for item in items:
        job.put(item)


def test_jobs_do_not_get_in_each_other_s_way(crew: Crew) -> None:
    expected = [[(number, item) for item in range(10)] for number in range(50)]
    jobs = [crew.start(partial(put_many, items=items)) for items in expected]
    assert [list(everything(job)) for job in jobs] == expected


def test_jobs_nest(crew: Crew) -> None:
    """A tool may call another application in its own process."""

    def inner(job: Job) -> str:
        job.put("inner item")
        return "inner end"

    def outer(job: Job) -> list[str]:
        nested = crew.start(inner)
        job.put("outer item")
        return [nested.take(WAIT), nested.take(WAIT)]

    job = crew.start(outer)
    assert [job.take(WAIT), job.take(WAIT)] == ["outer item", ["inner item", "inner end"]]


def test_nothing_of_a_job_outlives_it(crew: Crew) -> None:
    """An idle thread of the pool, for one, holds nothing of its last job."""

    class Held:
        pass

    gone = threading.Event()

    def start() -> weakref.ref[Held]:
        held = Held()
        assert run(crew, lambda job: held) is held
        return weakref.ref(held, lambda _: gone.set())

    gc.disable()
    try:
        reference = start()
        assert gone.wait(WAIT)
        assert reference() is None
    finally:
        gc.enable()


# Kind -> whether ``kill`` raises in a callback that waits for its item to be taken.
KILLS = {"greenlets": True, "threads": False, "inline": True}


def test_kill_ends_the_callback_where_the_kind_of_worker_can(crew: Crew) -> None:
    go_on, ended = threading.Event(), queue.Queue[str]()

    def callback(job: Job) -> str:
        try:
            job.put("begun")
            go_on.wait(WAIT)
        except Cancelled:
            ended.put("killed")
            raise
        finally:
            job.put("clean-up")  # nobody takes it, and nothing breaks by it
        ended.put("came to its end")
        return "done"

    job = crew.start(callback)
    assert job.take(WAIT) == "begun"
    job.kill(int)
    if not KILLS[crew.kind]:
        go_on.set()
    assert ended.get(timeout=WAIT) == ("killed" if KILLS[crew.kind] else "came to its end")


def test_kill_after_the_end_does_nothing(crew: Crew) -> None:
    job = crew.start(lambda job: "done")
    assert job.take(WAIT) == "done"
    job.kill(int)
    job.abandon()
    crew.pause()
    assert crew.running == 0


def test_an_abandoned_callback_comes_to_its_end(crew: Crew) -> None:
    ended = queue.Queue[int]()

    def callback(job: Job) -> None:
        for number in range(3):
            job.put(number)
        ended.put(crew.running)

    job = crew.start(callback)
    job.take(WAIT)
    job.abandon()
    job.abandon()
    assert ended.get(timeout=WAIT) == 1


def test_an_event_wakes_who_waits(crew: Crew) -> None:
    def callback(job: Job) -> list[bool]:
        event = job.event()
        seen = [event.wait(0.001)]
        event.set()
        seen.append(event.wait(WAIT))
        event.clear()
        return [*seen, event.wait(0.001)]

    assert run(crew, callback) == [False, True, False]


def test_a_lock_holds_others_off(crew: Crew) -> None:
    def callback(job: Job) -> list[str]:
        lock, steps, inside = job.lock(), list[str](), threading.Event()

        def other() -> None:
            inside.wait(WAIT)
            with lock:
                steps.append("other")

        thread = threading.Thread(target=other)
        thread.start()
        with lock:
            inside.set()
            threading.Event().wait(0.01)
            steps.append("first")
        thread.join(WAIT)
        return steps

    assert run(crew, callback) == ["first", "other"]


def test_a_guard_holds_others_off(crew: Crew) -> None:
    guard = crew.guard()
    with guard:
        assert not guard.acquire(blocking=False)
    assert guard.acquire(blocking=False)


def test_who_waits_outside_of_a_job_is_woken_from_any_thread(crew: Crew) -> None:
    event = crew.event()
    assert not event.wait(0.001)
    thread = threading.Thread(target=event.set)
    thread.start()
    while not event.wait(WAIT):
        pass
    thread.join(WAIT)
    event.clear()
    assert not event.wait(0)


def test_pause_needs_nobody_else(crew: Crew) -> None:
    crew.pause()


def test_a_pause_puts_nothing_and_lets_the_callback_go_on(crew: Crew) -> None:
    def callback(job: Job) -> str:
        for number in range(100):
            job.pause()
            job.put(number)
            job.pause()
        return "done"

    job = crew.start(callback)
    found: list[Any] = []
    while not found or found[-1] != "done":
        if (item := job.take(WAIT)) is not NOTHING:
            found.append(item)
    assert found == [*range(100), "done"]


def test_a_pause_means_nothing_in_other_threads_of_the_callback(crew: Crew) -> None:
    def callback(job: Job) -> str:
        threads = [threading.Thread(target=job.pause) for _ in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT)
        return "done"

    assert run(crew, callback) == "done"


@pytest.mark.parametrize("leave", [lambda job: job.kill(int), lambda job: job.abandon()], ids=["killed", "abandoned"])
def test_a_callback_that_is_left_comes_to_its_end_through_its_pauses(
    crew: Crew, leave: Callable[[Job], object]
) -> None:
    ended = queue.Queue[str]()

    def callback(job: Job) -> None:
        for _ in range(3):
            try:
                job.pause()
            except Cancelled:
                ended.put("told")
        ended.put("end")

    job = crew.start(callback)
    leave(job)
    while (step := ended.get(timeout=WAIT)) != "end":
        assert step == "told"


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "inline"])
def test_taking_ends_at_its_time(kind: str) -> None:
    gate = threading.Event()
    job = crew_for(kind, 1).start(lambda job: gate.wait(WAIT))
    assert job.take(0) is NOTHING
    assert job.take(0.001) is NOTHING
    gate.set()
    assert job.take(WAIT) is True
