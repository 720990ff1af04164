"""Requests a second under gunicorn's gevent worker, beside a bare application in the same rounds.

    python -m benchmarks.overhttp [--rounds 4] [--seconds 3] [--connections 16] [--only echo ...]

The server is pinned to one core and the load (wrk, https://github.com/wg/wrk) to another. Servers
take turns within a round, and a ratio is to the bare application of the same round.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from benchmarks import messages

HERE = Path(__file__).parent
CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


class Case(NamedTuple):
    """What is measured: which server, which request, how many tools; ``base`` is the row that a ratio is to."""

    server: str
    era: str
    request: tuple[str, dict[str, Any]]
    tools: int
    base: str


# A ratio is to a bare row of the same era: the modern request is longer to read for every server.
CASES: dict[str, dict[str, Case]] = {
    "echo": {
        "bare legacy": Case("bare", "legacy", messages.ECHO, 10, "bare legacy"),
        "legacy": Case("app", "legacy", messages.ECHO, 10, "bare legacy"),
        "bare modern": Case("bare", "modern", messages.ECHO, 10, "bare modern"),
        "modern": Case("app", "modern", messages.ECHO, 10, "bare modern"),
    },
    "list": {
        "bare legacy": Case("bare", "legacy", messages.LIST, 200, "bare legacy"),
        "legacy": Case("app", "legacy", messages.LIST, 200, "bare legacy"),
        "bare modern": Case("bare", "modern", messages.LIST, 200, "bare modern"),
        "modern": Case("app", "modern", messages.LIST, 200, "bare modern"),
    },
    "tools": {
        "10 tools": Case("app", "modern", messages.ECHO, 10, "10 tools"),
        "100 tools": Case("app", "modern", messages.ECHO, 100, "10 tools"),
        "1000 tools": Case("app", "modern", messages.ECHO, 1000, "10 tools"),
    },
}


class Load(NamedTuple):
    """Requests a second, and latencies in milliseconds."""

    rate: float
    p50: float
    p99: float


class Server(NamedTuple):
    """A server under load: where it is, how long its first answer took, and its memory in MiB."""

    port: int
    start: float
    resident: float


@contextmanager
def serving(case: Case, listing: Path) -> Iterator[Server]:
    """Run a server for a case until the block ends."""
    environ = {"BENCH_TOOLS": str(case.tools), "BENCH_LIST": str(listing)}
    start = time.perf_counter()
    with gunicorn(f"benchmarks.{case.server}:application", environ) as (port, process):
        post(port, case, wait=20)
        yield Server(port, time.perf_counter() - start, _resident(process))


@contextmanager
def gunicorn(target: str, environ: dict[str, str], *arguments: str) -> Iterator[tuple[int, int]]:
    """Start gunicorn with one gevent worker on the server's core; gives its port and the parent's process id."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "gunicorn", "-k", "gevent", "-b", f"127.0.0.1:{port}", "--log-level", "error"]
    command += [*arguments, target]
    process = subprocess.Popen(command, env={**os.environ, **environ}, cwd=HERE.parent, preexec_fn=lambda: pin(0))
    try:
        yield port, process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()


def post(port: int, case: Case, *, wait: float = 0) -> bytes:
    """Send one request and return the body, trying again for ``wait`` seconds."""
    fields = messages.headers(case.era, *case.request)
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/mcp", messages.body(case.era, *case.request), fields, method="POST"
    )
    end = time.monotonic() + wait
    while True:
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError:
            raise
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.005)


def load(
    port: int, case: Case, connections: int, seconds: float, extra: Mapping[str, str] = MappingProxyType({})
) -> Load:
    """Load a server with wrk; ``extra`` are header fields to send as well."""
    head, tail = messages.body(case.era, *case.request, 987654321).decode().split("987654321")
    fields = [text for pair in {**messages.headers(case.era, *case.request), **extra}.items() for text in pair]
    command = ["wrk", "-t", "1", "-c", str(connections), "-d", f"{seconds:g}s", "--timeout", "10s"]
    command += ["-s", str(HERE / "load.lua"), f"http://127.0.0.1:{port}/mcp", "--", head, tail, *fields]
    done = subprocess.run(command, capture_output=True, text=True, check=True, preexec_fn=lambda: pin(-1))
    result = next(line for line in done.stdout.splitlines() if line.startswith("RESULT")).split()[1:]
    requests, duration, statuses, failures, _, p50, p99 = map(float, result)
    if statuses or failures:
        sys.exit(f"{case}: {statuses:.0f} answers with an error status, {failures:.0f} connections failed")
    return Load(requests / duration * 1e6, p50 / 1000, p99 / 1000)


def pin(index: int) -> None:
    """Keep this process on one core: 0 is the server's, -1 the client's."""
    if CORES:
        os.sched_setaffinity(0, {CORES[index]})


def _resident(parent: int) -> float:
    """Resident MiB of the worker process, gunicorn's only child."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    status = Path(f"/proc/{children[0]}/status").read_text()
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS"))


def listing_of(case: Case, folder: Path) -> Path:
    """Keep the result object that our server lists, for the bare server to send."""
    with serving(case._replace(server="app"), folder / "none") as server:
        body = post(server.port, case._replace(server="app"))
    path = folder / f"list-{case.tools}.json"
    path.write_bytes(body.split(b'"result":', 1)[1][:-1])
    return path


def measure(name: str, rounds: int, seconds: float, connections: int) -> None:
    """Run one group of cases and print its table."""
    cases = CASES[name]
    with tempfile.TemporaryDirectory() as folder:
        placeholder = Path(folder) / "none"
        placeholder.write_bytes(b'{"tools":[]}')
        listing = listing_of(cases["bare legacy"], Path(folder)) if name == "list" else placeholder
        rows: dict[str, list[tuple[Server, Load]]] = {row: [] for row in cases}
        for _ in range(rounds):
            for row, case in cases.items():
                with serving(case, listing) as server:
                    load(server.port, case, connections, 1)
                    rows[row].append((server, load(server.port, case, connections, seconds)))
    report(name, rows)


def report(name: str, rows: dict[str, list[tuple[Server, Load]]]) -> None:
    """Print medians, and ratios to the bare application of the same round."""
    print(
        f"\n{name:<12}{'rps':>8}{'ratio':>7}{'min':>6}{'max':>6}{'p50 ms':>8}{'p99 ms':>8}{'start s':>9}{'RSS MiB':>9}"
    )
    for row, runs in rows.items():
        base = rows[CASES[name][row].base]
        ratios = [ours.rate / bare.rate for (_, ours), (_, bare) in zip(runs, base, strict=True)]
        middle = [statistics.median(values) for values in zip(*(load for _, load in runs), strict=True)]
        start = statistics.median(server.start for server, _ in runs)
        resident = statistics.median(server.resident for server, _ in runs)
        print(
            f"{row:<12}{middle[0]:>8.0f}{statistics.median(ratios):>7.2f}{min(ratios):>6.2f}{max(ratios):>6.2f}"
            f"{middle[1]:>8.1f}{middle[2]:>8.1f}{start:>9.2f}{resident:>9.1f}"
        )


def main() -> int:
    """Measure the groups asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--only", nargs="+", choices=list(CASES), default=list(CASES))
    arguments = parser.parse_args()
    if shutil.which("wrk") is None:
        parser.error("wrk is not installed (Debian: apt-get install wrk)")
    for name in arguments.only:
        measure(name, arguments.rounds, arguments.seconds, arguments.connections)
    return 0


if __name__ == "__main__":
    sys.exit(main())
