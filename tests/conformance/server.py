"""The server under test: gunicorn with gevent workers, as a user would run it."""

from __future__ import annotations

import http.client
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

__all__ = ["serving"]

ROOT = Path(__file__).parents[2]
START_SECONDS = 30
STOP_SECONDS = 15


@contextmanager
def serving(application: str, *options: str) -> Iterator[str]:
    """Serve a WSGI application on a free loopback port while the block runs.

    Args:
        application: ``module:attribute``, importable from the project's root.
        options: Of gunicorn; a later one wins. Default: one gevent worker.

    Returns:
        The URL of its MCP endpoint, ``http://127.0.0.1:<port>/mcp``.

    Raises:
        RuntimeError: The server did not start; the text has what it said.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener, tempfile.TemporaryFile() as log:
        port = listener.getsockname()[1]
        # The open socket is handed over: no other program can take the port in between.
        command = [sys.executable, "-m", "gunicorn", "--worker-class", "gevent", *options]
        command += ["--bind", f"fd://{listener.fileno()}", application]
        process = subprocess.Popen(
            command, cwd=ROOT, pass_fds=[listener.fileno()], stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
        listener.close()
        try:
            if not _answers(port, process):
                log.seek(0)
                raise RuntimeError(f"gunicorn did not serve {application}:\n{log.read().decode(errors='replace')}")
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            _stop(process)


def _answers(port: int, process: subprocess.Popen[bytes]) -> bool:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=START_SECONDS)) as connection:
                connection.request("GET", "/")
                connection.getresponse()
                return True
        except (OSError, http.client.HTTPException):
            continue
    return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
