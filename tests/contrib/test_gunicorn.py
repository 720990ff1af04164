"""The hook itself: how it is asked for, what it finds, what it leaves alone; ``servers/test_shutdown.py`` goes on."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from gunicorn.config import Config  # type: ignore[import-untyped]

import mcp_wsgi.contrib.gunicorn
from tests.contrib.hooked import (
    LEGACY,
    MODERN,
    NO_KEEPALIVE,
    Streams,
    gone,
    hooked,
    interrupt,
    listening,
    process,
    sessions_ended_once,
)
from tests.servers.raw_session import RawSession
from tests.servers.running import BOUND, ROOT, Running, tool_call


def test_as_a_configuration_it_sets_the_hook_alone() -> None:
    assert set(vars(mcp_wsgi.contrib.gunicorn)) & set(Config().settings) == {"post_worker_init"}


def test_importing_it_loads_neither_gunicorn_nor_gevent() -> None:
    code = "import mcp_wsgi.contrib.gunicorn, sys; print({'gunicorn', 'gevent'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout == "set()\n"


def end(running: Running, number: int = signal.SIGTERM) -> None:
    interrupt(running, number)
    assert running.process.wait(BOUND) == 0


def configured(folder: Path, text: str) -> str:
    """A configuration file of one's own that imports the hook."""
    file = folder / "gunicorn.conf.py"
    file.write_text("from mcp_wsgi.contrib.gunicorn import post_worker_init\n" + text)
    return str(file)


OWN_HOOKS = """
from pathlib import Path

def worker_exit(server, worker):
    Path(__file__).with_name("exited").touch()

def worker_int(worker):
    Path(__file__).with_name("interrupted").touch()
"""


def test_other_hooks_of_a_configuration_are_called_as_before(tmp_path: Path) -> None:
    with hooked("gthread", tmp_path, *NO_KEEPALIVE, config=configured(tmp_path, OWN_HOOKS)) as running:
        RawSession(running.port, LEGACY)
        end(running, signal.SIGINT)
        sessions_ended_once(running, 1)
    assert (tmp_path / "exited").exists()
    assert (tmp_path / "interrupted").exists()


PATHS = ("/mcp", "/other/mcp")


@contextmanager
def posted(running: Running, path: str, body: bytes, headers: dict[str, str]) -> Iterator[http.client.HTTPResponse]:
    """What a POST to that path is answered with."""
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=BOUND)
    try:
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        assert answer.status == 200
        yield answer
    finally:
        connection.close()


def initialize(running: Running, path: str) -> None:
    params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).encode()
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    with posted(running, path, body, headers):
        pass


def rest(running: Running, path: str, name: str) -> bytes:
    """Have a call answered that takes two seconds."""
    with posted(running, path, *tool_call("rest", MODERN, name=name, seconds=2)) as answer:
        return answer.read()


@pytest.mark.parametrize("kind", ["gevent", "gthread", "sync"])
def test_each_application_is_found_wherever_it_is_mounted(tmp_path: Path, kind: str) -> None:
    with hooked(kind, tmp_path) as running:
        for path in PATHS:
            initialize(running, path)
        end(running)
        sessions_ended_once(running, 2)


def test_no_application_waits_for_the_calls_of_another(tmp_path: Path) -> None:
    with hooked("gevent", tmp_path) as running, ThreadPoolExecutor(2) as pool, ExitStack() as stack:
        streams = [stack.enter_context(posted(running, path, *listening(path))) for path in PATHS]
        calls = [pool.submit(rest, running, path, f"call-{number}") for number, path in enumerate(PATHS)]
        for number in range(2):
            running.seen(f"call-{number}.started")
        running.process.send_signal(signal.SIGTERM)
        for stream in streams:
            assert b'"result"' in stream.read()
        assert not list(tmp_path.glob("*.rested"))
        assert all(b"rested" in call.result() for call in calls)


FROZEN = """
import gc

preload_app = True

def when_ready(server):
    gc.freeze()
"""


def test_an_application_that_the_master_has_loaded_and_frozen_is_found(tmp_path: Path) -> None:
    with hooked("gthread", tmp_path, config=configured(tmp_path, FROZEN)) as running:
        RawSession(running.port, LEGACY)
        end(running)
        sessions_ended_once(running, 1)


BROKEN = """
from mcp_wsgi import MCPApp, MCPServer

class Broken(MCPApp):
    def close(self, grace=5.0):
        raise RuntimeError("it is stuck")

broken = Broken(MCPServer("broken"))
"""


def test_an_application_that_cannot_be_closed_is_logged_and_hinders_no_other(tmp_path: Path) -> None:
    with hooked("gevent", tmp_path, config=configured(tmp_path, BROKEN)) as running, Streams(running) as streams:
        streams.get()
        end(running)
        streams.end_well()
        sessions_ended_once(running, 1)
    assert "closing an application failed" in running.log()
    assert "it is stuck" in running.log()


@pytest.mark.parametrize("kind", ["gevent", "gthread"])
def test_at_an_interrupt_nobody_waits_for_a_session_that_takes_long_to_end(tmp_path: Path, kind: str) -> None:
    (tmp_path / "hang").touch()
    with hooked(kind, tmp_path, *NO_KEEPALIVE) as running:
        RawSession(running.port, LEGACY)
        end(running, signal.SIGINT)
        sessions_ended_once(running, 1)


@pytest.mark.parametrize("kind", ["gevent", "gthread"])
def test_a_worker_that_has_lost_its_master_terminates_its_sessions(tmp_path: Path, kind: str) -> None:
    with hooked(kind, tmp_path) as running:
        worker = process(running)
        RawSession(running.port, LEGACY)
        running.process.kill()
        running.process.wait()
        gone(worker)
        sessions_ended_once(running, 1)
