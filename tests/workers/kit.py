"""What the tests of workers share."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

from mcp_wsgi.workers import Crew, Job, patched_by_gevent
from tests.patched import ROOT

__all__ = ["KINDS", "PATCHED", "WAIT", "everything", "run", "script"]

PATCHED = patched_by_gevent()
KINDS = ["greenlets", "threads", "inline"] if PATCHED else ["threads", "inline"]
WAIT = 20.0  # seconds; reached only by a test that fails


def run(crew: Crew, callback: Callable[[Job], Any]) -> Any:
    return crew.start(callback).take(WAIT)


def everything(job: Job) -> Iterator[Any]:
    """What a job gives, to its ``None``."""
    return iter(lambda: job.take(WAIT), None)


def script(text: str) -> str:
    """Run a program; its output."""
    done = subprocess.run(
        [sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, check=False, timeout=50
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout
