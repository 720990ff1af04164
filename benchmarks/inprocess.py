"""Microseconds per call without an HTTP server: the adapter's own cost.

    python -m benchmarks.inprocess [--rounds 4] [--seconds 0.5] [--max-ratio R]

Each row runs in a process of its own, pinned to one core; rows take turns within a round, and a
ratio is to the bare application of the same round.
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
from typing import Any

from benchmarks import messages

# name -> module, workers, era, whether gevent patches the process
ROWS: dict[str, tuple[str, str, str, bool]] = {
    "bare": ("benchmarks.bare", "", "legacy", False),
    "greenlets legacy": ("benchmarks.app", "greenlets", "legacy", True),
    "greenlets modern": ("benchmarks.app", "greenlets", "modern", True),
    "threads legacy": ("benchmarks.app", "threads", "legacy", False),
    "threads modern": ("benchmarks.app", "threads", "modern", False),
    "inline modern": ("benchmarks.app", "inline", "modern", False),
}
GUARDED = ("greenlets legacy", "greenlets modern")


def measure(row: str, seconds: float) -> float:
    """Run one row in this process and return microseconds per call."""
    module, workers, era, patched = ROWS[row]
    if patched:
        from gevent import monkey

        monkey.patch_all()
    os.environ["BENCH_WORKERS"] = workers
    call = caller(importlib.import_module(module).application, era, *messages.ECHO)
    for _ in range(500):
        call()
    count, start = 0, time.perf_counter()
    while (now := time.perf_counter()) - start < seconds:
        for _ in range(50):
            call()
        count += 50
    return (now - start) / count * 1e6


def caller(application: Any, era: str, method: str, params: dict[str, Any]) -> Callable[[], bytes]:
    """A function that sends one request and returns the body of the answer."""
    body = messages.body(era, method, params)
    base: dict[str, Any] = {
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
    for name, value in messages.headers(era, method, params).items():
        key = name.upper().replace("-", "_")
        base[key if key == "CONTENT_TYPE" else "HTTP_" + key] = value
    seen: list[str] = []

    def call() -> bytes:
        environ = base.copy()
        environ["wsgi.input"] = io.BytesIO(body)
        chunks = application(environ, lambda status, fields, exc_info=None: seen.append(status))
        answer = b"".join(chunks)
        close = getattr(chunks, "close", None)
        if close is not None:
            close()
        return answer

    answer = call()
    if not seen[0].startswith("200") or b'"error"' in answer[:60]:
        sys.exit(f"wrong answer: {seen[0]} {answer[:200]!r}")
    return call


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
    if arguments.max_ratio is not None and worst > arguments.max_ratio:
        print(f"too slow: {worst:.2f} times the bare application, at most {arguments.max_ratio} is accepted")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
