"""What is particular to inline jobs where gevent has patched the process; run by ``test_greenlets.py``."""

from __future__ import annotations

import gevent
import pytest

from mcp_wsgi.workers import NOTHING, Job
from mcp_wsgi.workers.inline import InlineCrew
from tests.workers.hub import HUB, Interrupted, interrupt_next
from tests.workers.kit import WAIT, run


def test_an_inline_job_that_blocks_lets_other_greenlets_run() -> None:
    crew, steps = InlineCrew(10), []

    def callback(job: Job) -> str:
        for _ in range(3):
            gevent.sleep(0.002)
            job.put("item")
        return "done"

    def others() -> None:
        for _ in range(3):
            steps.append("other")
            gevent.sleep(0.001)

    other = gevent.spawn(others)
    job = crew.start(callback)
    while job.take(WAIT) == "item":
        steps.append("item")
    other.join()
    assert sorted(steps) == ["item"] * 3 + ["other"] * 3


def test_an_inline_job_is_not_killed_behind_the_back_of_its_taker() -> None:
    """Another request may cancel it; the callback hears of that at its next ``ctx`` call."""
    crew, jobs = InlineCrew(10), []

    def callback(job: Job) -> str:
        jobs.append(job)
        gevent.sleep(0.02)
        return "done"

    def canceller() -> None:
        jobs[0].kill(int)
        jobs[0].abandon()

    gevent.spawn_later(0.005, canceller)
    assert run(crew, callback) == "done"


def test_an_inline_job_killed_from_another_thread_is_only_told() -> None:
    told: list[str] = []

    def callback(job: Job) -> str:
        job.put("item")
        return "end"

    job = InlineCrew(10).start(callback)
    HUB.threadpool.apply(job.kill, (lambda: told.append("announced"),))
    assert [job.take(WAIT), job.take(WAIT)] == ["item", "end"]
    assert told == ["announced"]


def test_an_inline_job_left_to_the_hub_can_be_killed() -> None:
    crew, jobs, ended = InlineCrew(10), [], []

    def callback(job: Job) -> None:
        jobs.append(job)
        try:
            gevent.sleep(WAIT)
        finally:
            ended.append(True)

    interrupt_next()
    with pytest.raises(Interrupted):
        crew.start(callback)
    (job,) = jobs
    assert job.take(0) is NOTHING
    job.abandon()
    job.kill(int)
    assert (ended, crew.running) == ([True], 0)
