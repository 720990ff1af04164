"""``mcp-wsgi serve``: gunicorn in this process, with what it takes to serve one target.

The target is imported by each worker, after the fork and after gevent has patched it, never by the
master: a master that has imported an application hands its open files and connections to all
workers, and one that gevent has patched too late hands them locks of the wrong kind. So that a
target which cannot be loaded is reported once and before anything listens, it is first loaded in a
child process of its own, which reports and ends. The price is one more import.
"""

from __future__ import annotations

import ipaddress
import json
import os
import re
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import msgspec

from mcp_wsgi.cli.targets import TargetError, file_of, load
from mcp_wsgi.contrib.gunicorn import post_worker_init
from mcp_wsgi.errors import ConfigurationError, OptionError
from mcp_wsgi.handler import Handler
from mcp_wsgi.http_client import WSGIApplication
from mcp_wsgi.options import Options
from mcp_wsgi.sealing import generate_key
from mcp_wsgi.wsgi.app import MCPApp

__all__ = ["WORKER_CLASSES", "AddressError", "Facts", "Settings", "build", "check", "facts", "listen", "serve"]

Say = Callable[[str], object]

WORKER_CLASSES = ("gevent", "gthread", "sync")

_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")
_BACKLOG = 2048
# How long gunicorn lets a worker be silent, and requests go on after SIGTERM; in seconds. The first
# is longer than a call may take under a sync worker. The second is for calls alone, since the hook
# ends the streams; of an application that is none of ours it is the time that its streams get.
_WORKER_TIMEOUT = 120
_GRACE = 10
# Of a gevent worker. One beyond would wait without a word, whereas the application says when there is too much: it
# holds 4096 streams and 1000 calls unless it is told otherwise.
_CONNECTIONS = 10_000
# Not only an option of the command: those can be read by every user of the machine.
_KEY_VARIABLE = "MCP_WSGI_SECRET_KEY"


class AddressError(ConfigurationError):
    """The address cannot be listened at; the text says why and what to do."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What to serve, and how.

    Attributes:
        target: What ``targets.load`` takes.
        host: Name or address to listen at.
        port: TCP port; 0 for any free one.
        path: URL path of the endpoint; ``None`` for what an ``MCPApp`` says, else for ``/mcp``.
        workers: Number of processes.
        worker_class: One of ``WORKER_CLASSES``.
        threads: Threads of a ``gthread`` worker.
        origins: Browser origins that may call.
        hosts: Values of ``Host`` that are served, beside the loopback names on a loopback address.
        reload: Whether to restart the workers when a source file changes.
        log_level: ``debug``, ``info``, ``warning``, ``error`` or ``critical``.
        options: Further options of ``MCPApp``.
    """

    target: str
    host: str = "127.0.0.1"
    port: int = 8000
    path: str | None = None
    workers: int = 1
    worker_class: str = "gevent"
    threads: int = 16
    origins: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    reload: bool = False
    log_level: str = "warning"
    options: Mapping[str, Any] = {}

    @property
    def app_options(self) -> dict[str, Any]:
        """The options that were asked for; an application brings its own, and takes none of them.

        The path of one that is no ``MCPApp`` is the exception: nobody but the caller can know it.
        """
        named = {"path": self.path, "origins": self.origins, "hosts": self.hosts}
        return {**{name: value for name, value in named.items() if value}, **self.options}


class Facts(msgspec.Struct, frozen=True):
    """What a child process has found out about a target.

    Attributes:
        name: What the server calls itself; ``mcp`` for an application that does not say.
        path: URL path of the endpoint.
        guarded: Whether callers are asked who they are; ``None`` if the target does not say.
    """

    name: str
    path: str
    guarded: bool | None


# --- loading --------------------------------------------------------------------------------------


def build(settings: Settings, *, implied: Mapping[str, Any]) -> Handler | WSGIApplication | MCPApp:
    """Load the target as a WSGI application.

    Args:
        settings: What to serve.
        implied: Options that come from how it is served; an application does without them.

    Raises:
        TargetError: It cannot be loaded, or takes no options.
        OptionError: An option is wrong.
    """
    target = load(settings.target)
    if isinstance(target, Handler):
        return MCPApp(target, **{**settings.app_options, **implied})
    _check_application(target, settings)
    return target


def _check_application(app: WSGIApplication, settings: Settings) -> None:
    """Refuse the options that an application would ignore, and workers that could not read each other's seals."""
    given = dict(settings.app_options)
    path = Options.build({"path": given.pop("path", "/mcp")}).path
    if isinstance(app, MCPApp) and path != app.options.path and "path" in settings.app_options:
        given["path"] = path
    if given:
        raise TargetError(
            f"{settings.target} is a WSGI application and has its own options: {', '.join(given)} cannot be set here; "
            f"set them where it is made, as in wsgi_app({next(iter(given))}=...), or name the MCPServer instead"
        )
    if isinstance(app, MCPApp) and settings.workers > 1 and not app.options.secret_key:
        raise TargetError(
            f"{settings.target} has no secret_key: each of {settings.workers} workers would make a key of its own and "
            "refuse what clients bring back from another (cursors, answers to questions). Set one where it is made, as "
            "in wsgi_app(secret_key=...), name the MCPServer instead, or serve it with --workers 1"
        )


def facts(settings: Settings) -> Facts:
    """Load the target here and look at it; raises like ``build``."""
    app = build(settings, implied={})
    if isinstance(app, MCPApp):
        return Facts(app.handler.server_info.name, app.options.path or "/", app.options.auth is not None)
    return Facts("mcp", settings.app_options.get("path", "/mcp"), None)


def check(settings: Settings) -> Facts:
    """Load the target in a process of its own and look at it.

    Raises:
        TargetError: It cannot be loaded; the text is that of ``build``'s errors.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    receiver, sender = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(receiver)
        _report(settings, sender)
    os.close(sender)
    with os.fdopen(receiver, "rb") as pipe:
        said = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if not said:
        raise TargetError(f"{settings.target} ends the process when it is imported (exit code {status})")
    report = json.loads(said)
    if "problem" in report:
        raise TargetError(report["problem"])
    return Facts(**report)


def _report(settings: Settings, sender: int) -> NoReturn:
    # What the target prints at import comes again from the workers; once is enough.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    status = 1
    try:
        if settings.worker_class == "gevent":
            from gevent import monkey

            monkey.patch_all()
        try:
            report = msgspec.structs.asdict(facts(settings))
        except ConfigurationError as problem:
            report = {"problem": str(problem)}
        except Exception:  # noqa: BLE001 - nobody above this frame could report it
            report = {"problem": f"{settings.target} cannot be served:\n{traceback.format_exc().rstrip()}"}
        with os.fdopen(sender, "wb") as pipe:
            pipe.write(json.dumps(report).encode())
        status = 0
    finally:
        # Not sys.exit: threads and exit hooks of the target must not hold this process up.
        os._exit(status)


# --- listening ------------------------------------------------------------------------------------


def listen(host: str, port: int) -> socket.socket:
    """Listen at an address; IPv4 is preferred for a name that has both.

    Raises:
        AddressError: The port is busy, or the address is not to be had.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise AddressError(f"there is no address for host {host}: {error.strerror}") from error
    family, kind, protocol, _, address = min(found, key=lambda entry: entry[0] != socket.AF_INET)
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise AddressError(_trouble(error, host, port)) from error
    return listener


def _trouble(error: OSError, host: str, port: int) -> str:
    import errno

    texts = {
        errno.EADDRINUSE: f"port {port} on {host} is in use; choose another with --port, or any free one with --port 0",
        errno.EACCES: f"port {port} is not allowed for this user; choose one above 1023 with --port",
        errno.EADDRNOTAVAIL: f"{host} is no address of this machine; --host 127.0.0.1 always is",
    }
    return texts.get(error.errno or 0, f"cannot listen at {host}, port {port}: {error.strerror}")


def _is_loopback(listener: socket.socket) -> bool:
    return ipaddress.ip_address(listener.getsockname()[0].partition("%")[0]).is_loopback


def _url(listener: socket.socket, host: str, path: str) -> str:
    """The URL to use on this machine."""
    address, port = listener.getsockname()[:2]
    if ipaddress.ip_address(address.partition("%")[0]).is_unspecified:
        host = "::1" if ":" in address else "127.0.0.1"
    return f"http://{_bracketed(host)}:{port}{path}"


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


# --- serving --------------------------------------------------------------------------------------


def serve(settings: Settings, *, say: Say, warn: Say) -> None:
    """Serve until a signal ends it; then ``SystemExit`` is raised, with code 0 if all went well.

    Args:
        settings: What to serve, and how.
        say: Called once it listens, with what the user should know.
        warn: Called with what the user should worry about.

    Raises:
        TargetError: The target cannot be loaded.
        AddressError: The address cannot be listened at.
        ConfigurationError: There is no gunicorn for this system.
    """
    if not hasattr(os, "fork"):
        raise ConfigurationError("gunicorn needs a POSIX system; serve the application with waitress, for instance")
    known = check(settings)
    listener = listen(settings.host, settings.port)
    implied: dict[str, Any] = {"secret_key": _key(settings)}
    if _is_loopback(listener):
        # A hostile page can give its own name the address 127.0.0.1, but not change the Host it sends.
        implied["hosts"] = (*_LOOPBACK_NAMES, _bracketed(settings.host), *settings.app_options.get("hosts", ()))
    elif not known.guarded:
        warn(_exposure(settings.host, known))
    words = _words(settings, known, _url(listener, settings.host, known.path))
    _let_signals_end_new_workers()
    _gunicorn(settings, implied, listener, lambda: say(words)).run()


def _key(settings: Settings) -> Any:
    """One key for all workers: any of them reads a cursor or a requestState that another one wrote."""
    if key := settings.options.get("secret_key"):
        return key
    try:
        return Options.build({"secret_key": os.environ.get(_KEY_VARIABLE) or generate_key()}).secret_key
    except OptionError as error:
        raise ConfigurationError(f"{_KEY_VARIABLE}: {error}") from error


def _exposure(host: str, known: Facts) -> str:
    unless = " unless the application does" if known.guarded is None else ""
    return f"{host} is open to other machines, and nobody is asked who they are{unless}; see the auth option"


def _words(settings: Settings, known: Facts, url: str) -> str:
    workers = "1 worker" if settings.workers == 1 else f"{settings.workers} workers"
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", known.name).strip("-") or "mcp"
    return (
        f"Serving {known.name} at {url} ({workers}, {settings.worker_class}; Ctrl-C ends it)\n"
        f"Add it to a client, for instance:\n"
        f"    claude mcp add --transport http {name} {url}"
    )


def _gunicorn(
    settings: Settings, implied: Mapping[str, Any], listener: socket.socket, when_ready: Callable[[], object]
) -> Any:
    from gunicorn.app.base import BaseApplication  # type: ignore[import-untyped]

    class Application(BaseApplication):  # type: ignore[misc]
        def load_config(self) -> None:
            for name, value in _configuration(settings, listener, when_ready).items():
                if name in self.cfg.settings:
                    self.cfg.set(name, value)

        def load(self) -> Any:
            # Ctrl-C reaches every process of a terminal; the master alone tells its workers to end.
            signal.signal(signal.SIGINT, lambda *_: None)
            return _load_in_worker(settings, implied)

    return Application()


def _configuration(settings: Settings, listener: socket.socket, when_ready: Callable[[], object]) -> dict[str, Any]:
    watched = file_of(settings.target)
    return {
        "bind": f"fd://{listener.fileno()}",
        "workers": settings.workers,
        "worker_class": settings.worker_class,
        "threads": settings.threads if settings.worker_class == "gthread" else 1,
        "worker_connections": _CONNECTIONS,
        "timeout": _WORKER_TIMEOUT,
        "graceful_timeout": _GRACE,
        "loglevel": settings.log_level,
        "reload": settings.reload,
        # A target that failed to load is in no list of loaded modules.
        "reload_extra_files": [str(watched)] if watched else [],
        # Two servers of one user would quarrel over its one default place.
        "control_socket_disable": True,
        "when_ready": lambda server: when_ready(),
        "post_worker_init": post_worker_init,
    }


def _let_signals_end_new_workers() -> None:
    """Make a worker end at a signal from its first moment on.

    Until gunicorn gives it handlers of its own it has those of the master, which only take note: after
    a Ctrl-C right at the start, the master would wait in vain and then kill it.
    """
    master = os.getpid()
    numbers = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)

    def hold() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, numbers)

    def release() -> None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)

    def begin() -> None:
        if os.getppid() == master:
            for number in numbers:
                signal.signal(number, lambda *_: os._exit(0))
        release()

    os.register_at_fork(before=hold, after_in_parent=release, after_in_child=begin)


def _load_in_worker(settings: Settings, implied: Mapping[str, Any]) -> Any:
    import logging

    from gunicorn.errors import AppImportError  # type: ignore[import-untyped]

    try:
        app = build(settings, implied=implied)
    except ConfigurationError as problem:
        if not settings.reload:
            raise AppImportError(str(problem)) from problem
        logging.getLogger("mcp_wsgi").warning("answering 503 until it is mended: %s", problem)
        return _unavailable(str(problem))
    # After the target, which may have set up logging by itself: then this does nothing.
    logging.basicConfig(level=settings.log_level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    return app


def _unavailable(problem: str) -> WSGIApplication:
    """Stands in for a target that is broken at the moment, until its file changes again."""

    def application(environ: Any, start_response: Any) -> list[bytes]:
        start_response("503 Service Unavailable", [("Content-Type", "text/plain; charset=utf-8")])
        return [problem.encode()]

    return application
