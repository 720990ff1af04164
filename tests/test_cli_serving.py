"""The parts of ``mcp-wsgi serve`` that need no server; the whole is in ``servers/test_serve.py``."""

from __future__ import annotations

import errno
import logging
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from gunicorn.config import Config  # type: ignore[import-untyped]

from mcp_wsgi.cli import serving
from mcp_wsgi.cli.serving import AddressError, Facts, Settings, build, facts, listen
from mcp_wsgi.cli.targets import TargetError
from mcp_wsgi.contrib.gunicorn import post_worker_init
from mcp_wsgi.errors import ConfigurationError, OptionError
from mcp_wsgi.options import OPTIONS
from mcp_wsgi.testing import Client
from mcp_wsgi.wsgi.app import _MAX_STREAMS, MCPApp

SERVER = """
from mcp_wsgi import MCPServer

mcp = MCPServer("my shop")
application = mcp.wsgi_app(path="/own", auth=lambda request: None)
keyed = mcp.wsgi_app(secret_key="a key that all workers have")

def plain(environ, start_response):
    start_response("204 No Content", [])
    return []
"""


@pytest.fixture(autouse=True)
def target(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "shop_server.py"
    file.write_text(SERVER, "utf-8")
    before = set(sys.modules)
    yield file
    for name in set(sys.modules) - before:
        if name.startswith("shop_"):
            del sys.modules[name]


# --- the target -----------------------------------------------------------------------------------


def test_a_server_gets_the_options() -> None:
    settings = Settings(target="shop_server.py", path="/x", origins=("https://a.example",), options={"page_size": 7})
    app = build(settings, implied={"hosts": ("localhost",)})
    assert isinstance(app, MCPApp)
    assert (app.options.path, app.options.page_size) == ("/x", 7)
    assert app.options.origins == {"https://a.example"}
    assert app.options.hosts == {"localhost"}


def test_a_wrong_option_is_refused() -> None:
    with pytest.raises(OptionError, match="pages"):
        build(Settings(target="shop_server.py", options={"pages": 7}), implied={})


def test_an_application_keeps_its_own_options() -> None:
    app = build(Settings(target="shop_server:application"), implied={"hosts": ("localhost",)})
    assert isinstance(app, MCPApp)
    assert (app.options.path, app.options.hosts) == ("/own", frozenset())


@pytest.mark.parametrize(
    "setting",
    [{"origins": ("*",)}, {"hosts": ("a",)}, {"options": {"page_size": 1}}, {"path": "/x"}, {"options": {"path": "/"}}],
)
def test_an_application_takes_no_options(setting: dict[str, Any]) -> None:
    name = next(iter(setting.get("options", setting)))
    words = f"has its own options: {name} cannot be set here; set .* wsgi_app\\({name}=...\\), or name the MCPServer"
    with pytest.raises(TargetError, match=words):
        build(Settings(target="shop_server:application", **setting), implied={})


@pytest.mark.parametrize(
    ("named", "workers", "served"),
    [
        ("shop_server:application", 2, False),
        ("shop_server:application", 1, True),
        ("shop_server:keyed", 2, True),
        ("shop_server:mcp", 2, True),
        ("shop_server:plain", 2, True),
    ],
)
def test_workers_that_could_not_read_each_others_seals_are_refused(named: str, workers: int, served: bool) -> None:
    settings = Settings(target=named, workers=workers)
    if served:
        assert callable(build(settings, implied={}))
    else:
        with pytest.raises(TargetError, match=r"has no secret_key: each of 2 workers .* wsgi_app\(secret_key=...\)"):
            build(settings, implied={})


def test_a_path_that_is_no_path_is_refused_for_any_application() -> None:
    for name in ("mcp", "application", "plain"):
        with pytest.raises(OptionError, match="option path: takes a path"):
            build(Settings(target=f"shop_server:{name}", path="x"), implied={})


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (Settings(target="shop_server"), Facts("my shop", "/mcp", False)),
        (Settings(target="shop_server", path="/"), Facts("my shop", "/", False)),
        (Settings(target="shop_server:application"), Facts("my shop", "/own", True)),
        (Settings(target="shop_server:application", path="/own/"), Facts("my shop", "/own", True)),
        (Settings(target="shop_server:plain"), Facts("mcp", "/mcp", None)),
        (Settings(target="shop_server:plain", path="/x"), Facts("mcp", "/x", None)),
        (Settings(target="shop_server:plain", path="/"), Facts("mcp", "/", None)),
        (Settings(target="shop_server:plain", options={"path": "/x"}), Facts("mcp", "/x", None)),
    ],
)
def test_a_target_is_known_by_its_facts(settings: Settings, expected: Facts) -> None:
    assert facts(settings) == expected


# --- the address ----------------------------------------------------------------------------------


def test_a_free_port_is_found_and_listened_at() -> None:
    with listen("127.0.0.1", 0) as listener:
        socket.create_connection(listener.getsockname(), 5).close()
        assert serving._is_loopback(listener)
        assert serving._url(listener, "127.0.0.1", "/mcp") == f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"


def test_a_name_with_both_kinds_of_address_means_the_older() -> None:
    with listen("localhost", 0) as listener:
        assert listener.family == socket.AF_INET


def test_a_busy_port_is_named_with_the_way_out() -> None:
    with listen("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(AddressError, match=f"port {port} on 127.0.0.1 is in use; choose another with --port"):
            listen("127.0.0.1", port)


@pytest.mark.parametrize(
    ("host", "words"),
    [("no-such-host.invalid", "there is no address for host no-such-host.invalid"), ("192.0.2.1", "is no address of")],
)
def test_a_host_that_cannot_be_had_is_named(host: str, words: str) -> None:
    with pytest.raises(AddressError, match=words):
        listen(host, 0)


@pytest.mark.parametrize(
    ("number", "words"),
    [(errno.EACCES, "port 80 is not allowed"), (errno.EPERM, "cannot listen at h, port 80: Not permitted")],
)
def test_other_troubles_are_told(number: int, words: str) -> None:
    assert serving._trouble(OSError(number, "Not permitted"), "h", 80).startswith(words)


@pytest.mark.parametrize(
    ("host", "shown", "loopback"),
    [("0.0.0.0", "127.0.0.1", False), ("::", "[::1]", False), ("::1", "[::1]", True), ("127.0.0.2", "127.0.0.2", True)],
)
def test_the_url_works_on_this_machine(host: str, shown: str, loopback: bool) -> None:
    with listen(host, 0) as listener:
        assert serving._url(listener, host, "/x") == f"http://{shown}:{listener.getsockname()[1]}/x"
        assert serving._is_loopback(listener) is loopback


# --- words ----------------------------------------------------------------------------------------


def test_the_user_is_told_where_and_how_to_use_it() -> None:
    words = serving._words(Settings(target="x", workers=2), Facts("my shop!", "/mcp", None), "http://h/mcp")
    assert words.splitlines()[0] == "Serving my shop! at http://h/mcp (2 workers, gevent; Ctrl-C ends it)"
    assert words.splitlines()[-1].strip() == "claude mcp add --transport http my-shop http://h/mcp"
    assert "(1 worker, sync;" in serving._words(
        Settings(target="x", worker_class="sync"), Facts("\u00e9", "/", None), ""
    )
    assert " http mcp " in serving._words(Settings(target="x"), Facts("\u00e9", "/", None), "")


def test_an_open_server_is_warned_about() -> None:
    assert serving._exposure("0.0.0.0", Facts("s", "/", False)).startswith("0.0.0.0 is open to other machines")
    assert "unless the application does" in serving._exposure("0.0.0.0", Facts("s", "/", None))


def test_a_system_without_fork_is_told_of_another_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "fork")
    with pytest.raises(ConfigurationError, match="waitress"):
        serving.serve(Settings(target="shop_server"), say=print, warn=print)


# --- gunicorn -------------------------------------------------------------------------------------


def test_gunicorn_is_told_what_was_asked_for(target: Path) -> None:
    settings = Settings(target="shop_server.py", workers=3, worker_class="gthread", threads=5, reload=True)
    with listen("127.0.0.1", 0) as listener:
        application = serving._gunicorn(settings, {}, listener, lambda: None)
        assert application.cfg.address == [listener.fileno()]
    config = application.cfg
    assert (config.workers, config.threads, config.reload, config.loglevel) == (3, 5, True, "warning")
    assert config.post_worker_init is post_worker_init
    assert config.reload_extra_files == [str(target)]
    assert isinstance(application.load(), MCPApp)


def test_only_gthread_workers_have_threads() -> None:
    with listen("127.0.0.1", 0) as listener:
        config = serving._configuration(Settings(target="shop_server"), listener, lambda: None)
    assert (config["threads"], config["reload_extra_files"]) == (1, [])


def test_a_gevent_worker_has_room_for_all_that_the_application_holds() -> None:
    with listen("127.0.0.1", 0) as listener:
        config = serving._configuration(Settings(target="shop_server"), listener, lambda: None)
    assert config["worker_connections"] > _MAX_STREAMS["greenlets"] + OPTIONS["max_calls"].default
    assert set(config) <= set(Config().settings)


def test_a_key_of_the_environment_that_is_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_WSGI_SECRET_KEY", "short")
    with pytest.raises(ConfigurationError, match=r"^MCP_WSGI_SECRET_KEY: option secret_key: "):
        serving._key(Settings(target="shop_server"))


def test_a_key_that_is_an_option_goes_before_that_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_WSGI_SECRET_KEY", "the key of the environment")
    assert serving._key(Settings(target="shop_server", options={"secret_key": "another key"})) == "another key"


def test_a_worker_that_cannot_load_its_target_gives_up(target: Path) -> None:
    from gunicorn.errors import AppImportError  # type: ignore[import-untyped]

    target.write_text("x = 1")
    with pytest.raises(AppImportError, match="no server"):
        serving._load_in_worker(Settings(target="shop_server.py"), {})


def test_with_reload_a_broken_target_is_answered_for(target: Path, caplog: pytest.LogCaptureFixture) -> None:
    target.write_text("x = 1")
    with caplog.at_level(logging.WARNING, "mcp_wsgi"):
        app = serving._load_in_worker(Settings(target="shop_server.py", reload=True), {})
    reply = Client(app).http("GET")
    assert (reply.status, "no server" in reply.text) == (503, True)
    assert "no server" in caplog.text
