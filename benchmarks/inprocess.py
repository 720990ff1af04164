"""Microseconds per call without an HTTP server: the adapter's own cost.

    python -m benchmarks.inprocess [--rounds 4] [--seconds 0.5] [--max-ratio R] [--max-session-us U]

Each row runs in a process of its own, pinned to one core; rows take turns within a round, and a
ratio is to the bare application of the same round. A call in a stored session is also compared with
one that stands alone, and with one while many sessions are open.
"""

from __future__ import annotations

import argparse
import importlib
import io
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from benchmarks import messages


class Row(NamedTuple):
    """What is measured: which application, the kind of its workers, how many sessions it keeps (0: no session)."""

    module: str
    workers: str
    era: str
    sessions: int = 0


ROWS = {
    "bare": Row("benchmarks.bare", "", "legacy"),
    "greenlets legacy": Row("benchmarks.app", "greenlets", "legacy"),
    "in a session": Row("benchmarks.app", "greenlets", "legacy", 1),
    "in one of 10000": Row("benchmarks.app", "greenlets", "legacy", 10_000),
    "greenlets modern": Row("benchmarks.app", "greenlets", "modern"),
    "threads legacy": Row("benchmarks.app", "threads", "legacy"),
    "threads modern": Row("benchmarks.app", "threads", "modern"),
    "inline modern": Row("benchmarks.app", "inline", "modern"),
}
GUARDED = ("greenlets legacy", "greenlets modern")


def measure(row: str, seconds: float) -> float:
    """Run one row in this process and return microseconds per call."""
    module, workers, era, sessions = ROWS[row]
    if workers == "greenlets":
        from gevent import monkey

        monkey.patch_all()
    os.environ["BENCH_WORKERS"] = workers
    if sessions:
        os.environ["BENCH_SESSIONS"] = "1"
    application = importlib.import_module(module).application
    opened = [open_session(application) for _ in range(sessions)]
    # One in the midst of them, that is neither the oldest nor the newest.
    call = caller(application, era, *messages.ECHO, session=opened[sessions // 2] if opened else "")
    for _ in range(500):
        call()
    count, start = 0, time.perf_counter()
    while (now := time.perf_counter()) - start < seconds:
        for _ in range(50):
            call()
        count += 50
    return (now - start) / count * 1e6


def open_session(application: Any) -> str:
    """Begin a session, and call once in it; returns its id."""
    about = {"name": "bench", "version": "0"}
    params = {"protocolVersion": messages.ERAS["legacy"], "capabilities": {}, "clientInfo": about}
    _, fields, _ = send(application, *request("legacy", "initialize", params))
    session = dict(fields)["Mcp-Session-Id"]
    caller(application, "legacy", *messages.ECHO, session=session)
    return session


def caller(
    application: Any, era: str, method: str, params: dict[str, Any], session: str = ""
) -> Callable[[], tuple[str, list[tuple[str, str]], bytes]]:
    """A function that sends one request, which has been answered rightly once, and returns the answer."""
    environ, body = request(era, method, params, session)
    status, _, answer = send(application, environ, body)
    if not status.startswith("200") or b'"error"' in answer[:60]:
        sys.exit(f"wrong answer: {status} {answer[:200]!r}")
    return lambda: send(application, environ, body)


def request(era: str, method: str, params: dict[str, Any], session: str = "") -> tuple[dict[str, Any], bytes]:
    """The environ of a request, without its body, and the body."""
    body = messages.body(era, method, params)
    environ: dict[str, Any] = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": "/mcp",
        "SCRIPT_NAME": "",
        "QUERY_STRING": "",
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "HTTP_HOST": "127.0.0.1",
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.url_scheme": "http",
        "wsgi.version": (1, 0),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    fields = messages.headers(era, method, params)
    if session:
        fields["Mcp-Session-Id"] = session
    for name, value in fields.items():
        key = name.upper().replace("-", "_")
        environ[key if key == "CONTENT_TYPE" else "HTTP_" + key] = value
    return environ, body


def send(application: Any, environ: dict[str, Any], body: bytes) -> tuple[str, list[tuple[str, str]], bytes]:
    """Send a request; returns status, header fields and body of the answer."""
    head: list[Any] = []
    chunks = application(
        {**environ, "wsgi.input": io.BytesIO(body)}, lambda status, fields, exc_info=None: head.extend((status, fields))
    )
    answer = b"".join(chunks)
    close = getattr(chunks, "close", None)
    if close is not None:
        close()
    return head[0], head[1], answer


def run(row: str, seconds: float) -> float:
    """Measure one row in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.inprocess", "--row", row, "--seconds", str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{row}: {done.stderr}")
    return float(done.stdout)


def main() -> int:
    """Print a table; with ``--max-ratio``, fail if a guarded row costs more."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=0.5, help="time for each row in a round")
    parser.add_argument("--max-ratio", type=float, help="fail if a greenlet row exceeds this multiple of the bare app")
    parser.add_argument("--max-session-us", type=float, help="fail if a session adds more microseconds to a call")
    parser.add_argument("--row", choices=list(ROWS), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.row:
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        print(measure(arguments.row, arguments.seconds))
        return 0
    rounds = [{row: run(row, arguments.seconds) for row in ROWS} for _ in range(arguments.rounds)]
    worst = 0.0
    print(f"{'us per tools/call echo':<24}{'median':>8}{'min':>8}{'max':>8}{'ratio':>8}")
    for row in ROWS:
        times = [each[row] for each in rounds]
        ratio = statistics.median(each[row] / each["bare"] for each in rounds)
        worst = max(worst, ratio) if row in GUARDED else worst
        print(f"{row:<24}{statistics.median(times):>8.1f}{min(times):>8.1f}{max(times):>8.1f}{ratio:>8.2f}")
    added = statistics.median(each["in a session"] - each["greenlets legacy"] for each in rounds)
    grown = statistics.median(each["in one of 10000"] / each["in a session"] for each in rounds) - 1
    print(f"a session adds {added:.1f} us to a call, and 9999 other sessions add {grown:.1%}")
    if arguments.max_session_us is not None and added > arguments.max_session_us:
        print(f"too slow: a session may add {arguments.max_session_us} us")
        return 1
    if arguments.max_ratio is not None and worst > arguments.max_ratio:
        print(f"too slow: {worst:.2f} times the bare application, at most {arguments.max_ratio} is accepted")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
