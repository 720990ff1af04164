"""One contract for all crews, and what is particular to threads and to inline jobs.

What is particular to greenlets is in ``gevent_workers.py``; it and this file run once more in a
process that gevent has patched.
"""

from __future__ import annotations

import gc
import queue
import subprocess
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from functools import partial
from itertools import count
from typing import Any

import pytest

from mcp_wsgi.errors import Cancelled, OptionError, Overloaded
from mcp_wsgi.workers import NOTHING, Budget, Crew, InlineCrew, Job, ThreadCrew, crew_for, guard, patched_by_gevent
from tests.patched import ROOT, run_patched

PATCHED = patched_by_gevent()
KINDS = ["greenlets", "threads", "inline"] if PATCHED else ["threads", "inline"]
WAIT = 20.0  # seconds; reached only by a test that fails

var: ContextVar[str] = ContextVar("var", default="outside")


@pytest.fixture(params=KINDS)
def crew(request: pytest.FixtureRequest) -> Crew:
    return crew_for(request.param, 1000)


def run(crew: Crew, callback: Callable[[Job], Any]) -> Any:
    return crew.start(callback).take(WAIT)


def everything(job: Job) -> Iterator[Any]:
    """What a job gives, to its ``None``."""
    return iter(lambda: job.take(WAIT), None)


# --- the contract ---------------------------------------------------------------------------------


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


def test_a_guard_needs_no_crew() -> None:
    lock = guard()
    with lock:
        assert not lock.acquire(blocking=False)
    assert lock.acquire(blocking=False)


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


# --- threads --------------------------------------------------------------------------------------


def test_a_thread_serves_one_job_after_the_other() -> None:
    crew = ThreadCrew(10)
    served_by = {run(crew, lambda job: threading.current_thread()) for _ in range(20)}
    assert len(served_by) == 1
    assert all(thread.daemon for thread in served_by)


def test_a_callback_that_raises_does_not_cost_its_thread() -> None:
    crew = ThreadCrew(10)
    before = run(crew, lambda job: threading.current_thread())
    for error in (SystemExit, KeyboardInterrupt, RuntimeError):
        with pytest.raises(error):
            run(crew, raiser(error))
    assert run(crew, lambda job: threading.current_thread()) is before


def raiser(error: type[BaseException]) -> Callable[[Job], None]:
    def callback(job: Job) -> None:
        raise error

    return callback


def test_an_idle_thread_ends() -> None:
    class Hasty(ThreadCrew):
        idle_time = 0.01

    crew = Hasty(10)
    thread = run(crew, lambda job: threading.current_thread())
    thread.join(WAIT)
    assert not thread.is_alive()
    assert run(crew, lambda job: threading.current_thread()) is not thread


def test_jobs_are_not_lost_to_threads_about_to_end() -> None:
    class Hasty(ThreadCrew):
        idle_time = 0.0

    crew = Hasty(10)
    for number in range(500):
        assert run(crew, lambda job, number=number: number) == number  # type: ignore[misc]


@pytest.mark.timeout(120)
def test_many_threads_take_many_jobs_and_none_is_lost_or_mixed_up() -> None:
    """200 requests at a time, 20 000 in all."""
    crew = ThreadCrew(200)
    numbers, wrong = count(), queue.SimpleQueue[object]()

    def request() -> None:
        while (number := next(numbers)) < 20_000:
            job = crew.start(lambda job, number=number: (job.put(number), -number)[1])  # type: ignore[misc]
            found = job.take(WAIT), job.take(WAIT)
            if found != (number, -number):
                wrong.put((number, found))

    requests = [threading.Thread(target=request) for _ in range(200)]
    for thread in requests:
        thread.start()
    for thread in requests:
        thread.join()
    assert wrong.empty()
    assert crew.running == 0


def test_a_thread_that_cannot_start_is_overload(monkeypatch: pytest.MonkeyPatch) -> None:
    """S26-BASE-08: told to the client, and nothing is left counted."""

    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    crew = ThreadCrew(1)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        with pytest.raises(Overloaded, match="no thread can be started"):
            crew.start(lambda job: None)
    assert run(crew, lambda job: "later") == "later"


def script(text: str) -> str:
    """Run a program; its output."""
    done = subprocess.run(
        [sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, check=False, timeout=50
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_running_jobs_do_not_hold_up_the_end_of_the_process() -> None:
    program = """
import threading
from mcp_wsgi.workers import ThreadCrew
crew = ThreadCrew(10)
crew.start(lambda job: (job.put("begun"), threading.Event().wait())).take(20)
crew.start(lambda job: "idle from now on").take(20)
print("end")
"""
    assert script(program) == "end\n"


def test_a_forked_process_starts_threads_of_its_own() -> None:
    """A server may answer a request before it forks its workers, and threads do not come along."""
    program = """
import os, warnings
from mcp_wsgi.workers import ThreadCrew
warnings.simplefilter("ignore")
crew = ThreadCrew(10)
print(crew.start(lambda job: "parent").take(20), flush=True)
if os.fork() == 0:
    print(crew.start(lambda job: "child").take(20), flush=True)
    os._exit(0)
os.wait()
print(crew.start(lambda job: "parent").take(20), flush=True)
"""
    assert script(program).split() == ["parent", "child", "parent"]


# --- inline ---------------------------------------------------------------------------------------


def test_an_inline_job_runs_on_its_taker_s_thread_and_only_while_it_is_taken() -> None:
    steps: list[Any] = []

    def callback(job: Job) -> str:
        for number in range(3):
            steps.append(number)
            job.put(number)
        return "end"

    job = InlineCrew(1).start(callback)
    assert steps == [0]
    while (item := job.take(0)) != "end":
        steps.append(f"took {item}")
    assert steps == [0, "took 0", 1, "took 1", 2, "took 2"]
    assert job.take(0) is NOTHING


def test_inline_jobs_nest() -> None:
    """A tool may call another application in its own thread, and what both emit stays apart."""
    inner_crew, outer_crew = InlineCrew(1), InlineCrew(1)

    def inner(job: Job) -> str:
        job.put("inner 1")
        outer_job[0].put("from within")  # no turn for the outer taker: the inner job is what runs
        job.put("inner 2")
        return "inner end"

    def outer(job: Job) -> list[Any]:
        outer_job.append(job)
        nested = inner_crew.start(inner)
        job.put("outer")
        return [nested.take(0) for _ in range(3)]

    outer_job: list[Job] = []
    job = outer_crew.start(outer)
    assert [job.take(0), job.take(0)] == ["outer", "from within"]
    assert job.take(0) == ["inner 1", "inner 2", "inner end"]


def test_killing_an_inline_job_runs_its_clean_up_whatever_that_emits() -> None:
    steps = []

    def callback(job: Job) -> None:
        try:
            job.put("begun")
        finally:
            for number in range(3):
                job.put(number)
                steps.append(number)

    crew = InlineCrew(1)
    job = crew.start(callback)
    job.kill(int)
    assert (steps, crew.running) == ([0, 1, 2], 0)


def test_a_killed_inline_job_that_goes_on_all_the_same_is_let_run() -> None:
    def callback(job: Job) -> None:
        for _ in range(3):
            try:
                job.put("item")
            except Cancelled:
                steps.append("ignored")
        steps.append("end")

    steps: list[str] = []
    crew = InlineCrew(1)
    crew.start(callback).kill(int)
    assert (steps, crew.running) == (["ignored", "end"], 0)


def test_an_inline_callback_cannot_kill_or_abandon_the_ground_it_stands_on() -> None:
    def callback(job: Job) -> str:
        job.kill(int)
        job.abandon()
        job.put("nobody rests now")
        return "end"

    job = InlineCrew(1).start(callback)
    assert [job.take(0), job.take(0)] == ["nobody rests now", "end"]


def test_an_inline_callback_that_pauses_gives_its_taker_a_turn() -> None:
    steps: list[str] = []

    def callback(job: Job) -> str:
        for number in range(2):
            steps.append(f"step {number}")
            job.pause()
        return "end"

    job = InlineCrew(1).start(callback)
    assert steps == ["step 0"]
    assert job.take(WAIT) is NOTHING
    assert steps == ["step 0", "step 1"]
    assert job.take(WAIT) == "end"


def test_an_inline_job_killed_from_another_thread_is_only_told() -> None:
    """It can run nowhere but on its own thread, where it is let go on and hears of it."""
    steps: list[str] = []

    def callback(job: Job) -> str:
        steps.append("begun")
        job.put("item")
        steps.append("goes on")
        return "end"

    job = InlineCrew(1).start(callback)
    other = threading.Thread(target=job.kill, args=(lambda: steps.append("announced"),))
    other.start()
    other.join(WAIT)
    assert steps == ["begun", "announced"]
    assert [job.take(0), job.take(0)] == ["item", "end"]
    assert steps == ["begun", "announced", "goes on"]


# --- budgets --------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_a_budget_gives_as_many_as_there_are(limit: int) -> None:
    budget = Budget(limit)
    assert [budget.take() for _ in range(limit + 2)] == [True] * limit + [False] * 2
    assert (budget.taken, budget.limit) == (limit, limit)
    for _ in range(limit):
        budget.give()
    assert budget.taken == 0
    assert [budget.take() for _ in range(limit + 1)] == [True] * limit + [False]


def test_a_budget_is_never_overdrawn_and_nothing_of_it_is_lost() -> None:
    budget, held, wrong = Budget(5), deque[None](), list[int]()

    def use() -> None:
        for _ in range(2000):
            if budget.take():
                held.append(None)
                if len(held) > 5:
                    wrong.append(len(held))
                held.pop()
                budget.give()

    threads = [threading.Thread(target=use) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    assert (wrong, budget.taken) == ([], 0)
    assert [budget.take() for _ in range(6)] == [True] * 5 + [False]


def test_a_budget_can_be_given_back_to_by_a_finalizer() -> None:
    """Which may interrupt whoever takes at any point, so nothing may wait for a lock there."""

    class Stream:
        def __init__(self) -> None:
            self.itself = self  # only the collector finds it

        def __del__(self) -> None:
            budget.give()

    budget = Budget(50)
    taken = 0
    for _ in range(400):
        if budget.take():
            taken += 1
            Stream()
        else:
            gc.collect()
    gc.collect()
    assert taken > 50
    assert budget.taken == 0


# --- choice ---------------------------------------------------------------------------------------


def test_auto_takes_greenlets_where_gevent_has_patched_the_process() -> None:
    assert crew_for("auto", 1).kind == ("greenlets" if PATCHED else "threads")


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_can_be_chosen(kind: str) -> None:
    assert crew_for(kind, 1).kind == kind


if not PATCHED:

    def test_greenlets_need_a_patched_process() -> None:
        with pytest.raises(OptionError, match=r"greenlets.*gunicorn -k gevent"):
            crew_for("greenlets", 1)

    def test_gevent_counts_only_if_it_has_patched() -> None:
        program = """
import gevent.monkey
from mcp_wsgi.workers import patched_by_gevent
print(patched_by_gevent())
gevent.monkey.patch_socket()
print(patched_by_gevent())
"""
        assert script(program).split() == ["False", "True"]

    def test_an_inline_job_shares_the_state_of_its_taker_s_thread() -> None:
        """Under gevent each greenlet counts as a thread."""
        local = threading.local()
        local.transaction = "open"
        assert run(InlineCrew(1), lambda job: local.transaction) == "open"

    @pytest.mark.timeout(180)
    def test_the_same_under_gevent() -> None:
        run_patched("tests/test_workers.py", "tests/gevent_workers.py")
