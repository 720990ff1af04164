"""What is particular to threads."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from itertools import count

import pytest

from mcp_wsgi.errors import Overloaded
from mcp_wsgi.workers import Job
from mcp_wsgi.workers.threads import ThreadCrew
from tests.workers.kit import WAIT, run, script


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
