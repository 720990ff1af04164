"""What every kind of worker promises where gevent has patched the process; run by ``test_greenlets.py``."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import gevent
import pytest
from gevent.event import Event

from mcp_wsgi.workers import Crew, Job
from mcp_wsgi.workers.greenlets import GreenletCrew
from mcp_wsgi.workers.inline import InlineCrew
from mcp_wsgi.workers.threads import ThreadCrew
from tests.workers.hub import Interrupted, interrupt_next, rest
from tests.workers.kit import WAIT


@pytest.mark.parametrize(("kind", "blocks"), [(GreenletCrew, True), (GreenletCrew, False), (InlineCrew, True)])
def test_what_interrupts_a_start_leaves_the_job_to_the_hub(kind: type[Crew], blocks: bool) -> None:
    """The request's greenlet goes on with other work, and the job's end does not disturb it."""
    crew, gate, ended = kind(10), Event(), []

    def callback(job: Job) -> None:
        if blocks:
            gate.wait()
            job.put("nobody takes this")
        ended.append(True)

    def request() -> bool:
        interrupt_next()
        with pytest.raises(Interrupted):
            crew.start(callback).take(WAIT)
        gate.set()
        return rest()

    assert gevent.spawn(request).get()
    assert (ended, crew.running) == ([True], 0)


@pytest.mark.parametrize("kind", [GreenletCrew, InlineCrew, ThreadCrew])
def test_what_interrupts_taking_leaves_the_job_to_the_hub(kind: type[Crew]) -> None:
    crew, gate = kind(10), Event()

    def callback(job: Job) -> None:
        job.put("first")
        gate.wait()
        job.put("second")

    def request() -> list[Any]:
        job = crew.start(callback)
        found = [job.take(WAIT)]
        interrupt_next()
        with pytest.raises(Interrupted):
            job.take(WAIT)
        gate.set()
        return [*found, rest(), job.take(WAIT), job.take(WAIT)]

    assert gevent.spawn(request).get() == ["first", True, "second", None]
    assert crew.running == 0


def blocking(job: Job) -> str:
    gevent.sleep(0)
    job.put("item")
    return "done"


def failing(job: Job) -> None:
    raise ValueError("why")


@pytest.mark.parametrize("kind", [GreenletCrew, InlineCrew])
@pytest.mark.parametrize("callback", [lambda job: None, blocking, failing])
def test_a_job_leaves_nothing_behind_not_even_garbage(kind: type[Crew], callback: Callable[[Job], Any]) -> None:
    crew = kind(10)

    def requests(number: int) -> None:
        for _ in range(number):
            job = crew.start(callback)
            try:
                while job.take(WAIT) == "item":
                    pass
            except ValueError:
                pass

    requests(100)
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        requests(2000)
        assert len(gc.get_objects()) - before < 200
    finally:
        gc.enable()
