"""What is particular to inline jobs; under gevent there is more of it, in ``gevent_inline.py``."""

from __future__ import annotations

import threading
from typing import Any

from mcp_wsgi.errors import Cancelled
from mcp_wsgi.workers import NOTHING, Job
from mcp_wsgi.workers.inline import InlineCrew
from tests.workers.kit import PATCHED, WAIT, run


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


if not PATCHED:

    def test_an_inline_job_shares_the_state_of_its_taker_s_thread() -> None:
        """Under gevent each greenlet counts as a thread."""
        local = threading.local()
        local.transaction = "open"
        assert run(InlineCrew(1), lambda job: local.transaction) == "open"
