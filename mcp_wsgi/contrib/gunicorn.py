"""Lets a gunicorn worker end its streams when it is to stop, so that it stops without delay.

gunicorn waits until each connection of a worker is through, for ``graceful_timeout`` at most, and a
stream never is. With the hook here a worker that has been told to stop (SIGTERM, HUP,
``max_requests``, a changed source file) calls ``MCPApp.close`` of each application in its process:
streams end in good order, calls under way are answered, sessions are terminated.

As gunicorn's configuration:

.. code-block:: console

   $ gunicorn -k gevent -c python:mcp_wsgi.contrib.gunicorn shop:application

In a ``gunicorn.conf.py`` of your own:

.. code-block:: python

   from mcp_wsgi.contrib.gunicorn import post_worker_init
"""

# gunicorn takes each global name below that is one of its settings for that setting.

from __future__ import annotations

import gc
import logging
import threading
import time
from typing import Any

from mcp_wsgi.wsgi.app import MCPApp

__all__ = ["post_worker_init"]

log = logging.getLogger("mcp_wsgi")

#: Seconds between two looks whether the worker is to stop.
_PAUSE = 0.1
#: Seconds of ``graceful_timeout`` that are kept for what comes after the calls, and half of it at most:
#: the last answers are written, and gunicorn looks only once a second whether all are gone.
_RESERVE = 2.0
#: Seconds that a connection may wait for one more request, once the worker is to stop.
_LINGER = 1
#: Seconds that a worker which ends at once waits for sessions to be terminated.
_MOMENT = 1.0


def post_worker_init(worker: Any) -> None:
    """Make the worker close each ``MCPApp`` of its process when it is to stop; a server hook of gunicorn.

    Calls have nearly ``graceful_timeout`` seconds to get through; see ``MCPApp.close``. At SIGINT and
    SIGQUIT, where gunicorn ends at once, they are cancelled at once.

    Args:
        worker: gunicorn's worker, of class gevent, gthread or sync.
    """
    ending = _Ending(worker)
    cfg = worker.cfg
    told, aborted, exited = cfg.worker_int, cfg.worker_abort, cfg.worker_exit

    def worker_int(worker: Any) -> None:
        ending.hurry()
        told(worker)

    def worker_abort(worker: Any) -> None:
        ending.hurry()
        aborted(worker)

    def worker_exit(server: Any, worker: Any) -> None:
        ending.finish()
        exited(server, worker)

    # This process has its configuration for itself. Whoever has hooks of these names keeps them.
    cfg.set("worker_int", worker_int)
    cfg.set("worker_abort", worker_abort)
    cfg.set("worker_exit", worker_exit)
    ending.start()


class _Ending:
    """Watches one worker, and closes the applications when it is to stop."""

    def __init__(self, worker: Any) -> None:
        self._worker = worker
        timeout = worker.cfg.graceful_timeout
        self._grace = max(timeout / 2, timeout - _RESERVE)
        self._exiting = False
        self._hurried = False
        # As the server's threads are: a greenlet where gevent has patched the process.
        self._watcher = threading.Thread(target=self._watch, name="mcp_wsgi shutdown", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._watcher.start()

    def _watch(self) -> None:
        # Signals, max_requests and the reloader have nothing in common but this flag, and of the
        # signal handlers most run where nothing may block.
        while self._worker.alive and not self._exiting:
            time.sleep(_PAUSE)
        self._close_connections_early()
        for closer in _start_closing(self._grace):
            closer.join()

    def _close_connections_early(self) -> None:
        # A stream that has ended leaves its connection waiting for another request, and a worker that
        # is to stop waiting for the connection.
        cfg = self._worker.cfg
        cfg.set("keepalive", min(cfg.keepalive, _LINGER))

    def hurry(self) -> None:
        """The worker ends without waiting for its requests; called from signal handlers, too."""
        self._hurried = True

    def finish(self) -> None:
        """The worker's loop has ended: see that all is closed before the process ends."""
        self._exiting = True
        if not self._hurried:
            # All requests have been answered by now. What may still run is a call whose client has
            # gone, and that has the same grace.
            self._watcher.join(self._grace + _RESERVE)
            return
        end = time.monotonic() + _MOMENT
        for closer in (*_start_closing(0), self._watcher):
            closer.join(max(end - time.monotonic(), 0))


def _start_closing(grace: float) -> list[threading.Thread]:
    # Side by side, for each waits for its calls.
    closers = [threading.Thread(target=_close, args=(app, grace), daemon=True) for app in _apps()]
    for closer in closers:
        closer.start()
    return closers


def _close(app: MCPApp, grace: float) -> None:
    try:
        app.close(grace)
    except Exception:
        log.exception("closing an application failed")


def _apps() -> list[MCPApp]:
    """Each application of this process.

    gunicorn knows only the outermost application, and what is mounted in Flask, in Django's URLs or
    behind a middleware cannot be found from there; nor do applications keep a list of themselves,
    which would let none of them go. The collector knows them all. Its list is long, but this happens
    once, when the process is about to end.
    """
    # With preload_app, some freeze what the master has loaded, and then the collector hides it.
    gc.unfreeze()
    # Not isinstance: that asks proxies what they stand for, and so runs code of others.
    return [found for found in gc.get_objects() if issubclass(type(found), MCPApp)]
