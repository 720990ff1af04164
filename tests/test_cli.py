"""``mcp-wsgi list``, ``call``, ``read`` and ``prompt``, on files and on URLs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest

from mcp_wsgi import __version__
from mcp_wsgi.cli import main
from mcp_wsgi.cli.targets import load
from mcp_wsgi.revisions import LEGACY, SUPPORTED
from tests.servers.running import held_port

SERVER = '''
from mcp_wsgi import Context, Handler, MCPServer, ToolError

mcp = MCPServer("notes")

@mcp.tool
def add(a: int, b: int = 2) -> int:
    """Add two numbers."""
    return a + b

@mcp.tool
def shout(text: str) -> str:
    return text.upper()

@mcp.tool
def fail(why: str) -> str:
    raise ToolError(why)

@mcp.tool
def work(ctx: Context) -> str:
    ctx.report_progress(1, 2, "half")
    ctx.info("going on")
    ctx.debug("too much")
    return "done"

@mcp.tool
def header(ctx: Context) -> str:
    return ctx.headers.get("X-Who", "nobody")

@mcp.resource("notes://one", mime_type="text/plain")
def one() -> str:
    """The first note."""
    return "first"

@mcp.resource("notes://raw")
def raw() -> bytes:
    return bytes([0, 255])

@mcp.resource("notes://by/{id}")
def by(id: int) -> str:
    return f"note {id}"

@mcp.prompt
def ask(topic: str, tone: str = "plain") -> str:
    """Ask."""
    return f"{topic} {tone}"

class Prompts(Handler):
    def prompts(self, ctx):
        return ()

application = mcp.wsgi_app(path="/own")
'''


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("target") / "notes_target.py"
    path.write_text(SERVER, "utf-8")
    return str(path)


@pytest.fixture(autouse=True)
def clean_imports(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    for name in [name for name in sys.modules if "notes_target" in name]:
        del sys.modules[name]


class Quiet(WSGIRequestHandler):
    def log_request(self, *args: object) -> None:
        pass


@contextmanager
def serving(app: Any) -> Iterator[str]:
    """Serve an application on a socket; the URL of its root."""
    with make_server("127.0.0.1", 0, app, handler_class=Quiet) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def url(file: str) -> Iterator[str]:
    """The same server on a socket."""
    with serving(load(f"{file}:application")) as base:
        yield f"{base}/own"


@pytest.fixture(params=["file", "url"])
def target(request: pytest.FixtureRequest) -> str:
    found: str = request.getfixturevalue(request.param)
    return found


Capture = pytest.CaptureFixture[str]

# --- list -----------------------------------------------------------------------------------------


def test_list_shows_everything(target: str, capsys: Capture) -> None:
    assert main(["list", target]) == 0
    out = capsys.readouterr().out
    assert "Tools\n  add(a: integer, b: integer = 2)" in out
    assert "\n      Add two numbers.\n" in out
    assert "\n\nResources\n  notes://one  (one, text/plain)\n      The first note.\n" in out
    assert "\n\nResource templates\n  notes://by/{id}  (by)\n\nPrompts\n  ask(topic, tone?)\n      Ask.\n" in out


@pytest.mark.parametrize("revision", SUPPORTED)
def test_list_speaks_the_revision_asked_for(target: str, revision: str, capsys: Capture) -> None:
    assert main(["list", target, "--json", "--revision", revision]) == 0
    lists = json.loads(capsys.readouterr().out)
    assert set(lists) == {"tools", "resources", "resourceTemplates", "prompts"}
    assert ("title" in lists["tools"][0]) is False
    assert [tool["name"] for tool in lists["tools"]][:2] == ["add", "shout"]


def test_what_is_not_offered_is_left_out(file: str, capsys: Capture) -> None:
    assert main(["list", f"{file}:Prompts", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"prompts": []}


def test_a_server_without_anything_is_told_so(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "empty_notes_target.py").write_text("from mcp_wsgi import Handler\nclass Bare(Handler): pass\n")
    assert main(["list", f"{tmp_path / 'empty_notes_target.py'}:Bare"]) == 0
    assert capsys.readouterr().out == "It offers nothing.\n"


# --- call -----------------------------------------------------------------------------------------


def test_call_shows_the_result(target: str, capsys: Capture) -> None:
    assert main(["call", target, "add", "a=40"]) == 0
    assert capsys.readouterr() == ("42\n", "")
    assert main(["call", target, "shout", "text=42"]) == 0
    assert capsys.readouterr().out == "42\n"


@pytest.mark.parametrize("revision", SUPPORTED)
def test_call_shows_progress_and_logs_beside_the_result(target: str, revision: str, capsys: Capture) -> None:
    assert main(["call", target, "work", "--revision", revision]) == 0
    assert capsys.readouterr() == ("done\n", "progress 1/2: half\n[info] going on\n")


def test_call_asks_for_the_log_level_it_is_told(target: str, capsys: Capture) -> None:
    assert main(["call", target, "work", "--log-level", "debug"]) == 0
    assert "[debug] too much" in capsys.readouterr().err


def test_call_takes_arguments_as_json_and_as_pairs(target: str, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "arguments.json").write_text('{"a": 1, "b": 5}')
    assert main(["call", target, "add", "b=3", "--json", f"@{tmp_path / 'arguments.json'}"]) == 0
    assert capsys.readouterr().out == "4\n"


def test_a_tool_that_fails_is_exit_code_1(target: str, capsys: Capture) -> None:
    assert main(["call", target, "fail", "why=broken"]) == 1
    assert capsys.readouterr().out == "broken\n"


def test_wrong_arguments_are_exit_code_1(target: str, capsys: Capture) -> None:
    assert main(["call", target, "add", "a=many"]) == 1
    assert "a" in capsys.readouterr().out


def test_an_unknown_tool_is_exit_code_1(target: str, capsys: Capture) -> None:
    assert main(["call", target, "multiply", "a=1"]) == 1
    assert capsys.readouterr() == ("", "mcp-wsgi: Unknown tool: multiply (code -32602, HTTP 200)\n")


def test_raw_shows_the_whole_result(target: str, capsys: Capture) -> None:
    assert main(["call", target, "shout", "text=a", "--raw"]) == 0
    assert json.loads(capsys.readouterr().out)["content"] == [{"type": "text", "text": "A"}]


def test_headers_go_with_the_request(target: str, capsys: Capture) -> None:
    assert main(["call", target, "header", "--header", "X-Who: me"]) == 0
    assert capsys.readouterr().out == "me\n"


def test_the_path_of_an_application_can_be_told(file: str, capsys: Capture) -> None:
    assert main(["call", f"{file}:application", "add", "a=1", "--path", "/own"]) == 0
    for revision in ([], ["--revision", SUPPORTED[0]]):
        assert main(["list", f"{file}:application", "--path", "/other", *revision]) == 1
        assert "HTTP 404" in capsys.readouterr().err


# --- read, prompt ---------------------------------------------------------------------------------


def test_read_writes_text_and_bytes_as_they_are(target: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["read", target, "notes://by/7"]) == 0
    assert capfdbinary.readouterr().out == b"note 7\n"
    assert main(["read", target, "notes://raw"]) == 0
    assert capfdbinary.readouterr().out == b"\x00\xff"
    assert main(["read", target, "notes://raw", "--raw"]) == 0
    assert json.loads(capfdbinary.readouterr().out)["contents"][0]["blob"] == "AP8="


def test_an_unknown_resource_shows_the_data_of_the_error(target: str, capsys: Capture) -> None:
    assert main(["read", target, "notes://none"]) == 1
    assert "Resource not found" in (err := capsys.readouterr().err)
    assert "{'uri': 'notes://none'}" in err


def test_prompt_shows_who_says_what(target: str, capsys: Capture) -> None:
    assert main(["prompt", target, "ask", "topic=5"]) == 0
    assert capsys.readouterr().out == "user: 5 plain\n"
    assert main(["prompt", target, "ask", "topic=5", "--raw"]) == 0
    assert json.loads(capsys.readouterr().out)["messages"][0]["content"]["text"] == "5 plain"


# --- which revision -------------------------------------------------------------------------------


OLD_SERVER = """
from mcp_wsgi import MCPServer

own = MCPServer("old")
own.add_tool(lambda: "hi", name="hello")
app = own.wsgi_app()

def application(environ, start_response):
    if "HTTP_MCP_METHOD" in environ:
        start_response("400 Bad Request", [])
        return []
    return app(environ, start_response)
"""


def test_an_older_server_is_spoken_to_as_it_can(capsys: Capture, tmp_path: Path) -> None:
    """One of the session era refuses ``server/discover`` in whatever way."""
    file = tmp_path / "old_notes_target.py"
    file.write_text(OLD_SERVER)
    assert main(["call", f"{file}:application", "hello"]) == 0
    assert capsys.readouterr().out == "hi\n"
    assert main(["call", f"{file}:application", "hello", "--revision", LEGACY[0].name]) == 0
    assert main(["call", f"{file}:application", "hello", "--revision", SUPPORTED[0]]) == 1


def test_a_network_failure_says_nothing_about_the_revision(capsys: Capture) -> None:
    with held_port() as port:
        assert main(["list", f"http://127.0.0.1:{port}/mcp"]) == 1
    assert "refused" in capsys.readouterr().err


@pytest.mark.parametrize("status", ["301 Moved Permanently", "302 Found", "307 Temporary Redirect"])
def test_a_redirect_is_named_and_not_followed(status: str, capsys: Capture) -> None:
    def app(environ: Any, start_response: Any) -> list[bytes]:
        start_response(status, [("Location", "https://h.example/mcp"), ("Content-Type", "text/html")])
        return [b"<h1>over there</h1>"]

    with serving(app) as base:
        assert main(["list", f"{base}/mcp"]) == 1
    words = f"mcp-wsgi: HTTP {status}: it redirects to https://h.example/mcp, and redirects are not followed; ask there"
    assert capsys.readouterr().err.startswith(words)


# --- what can go wrong ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["list", "no_such_file.py"], "there is no file"),
        (["list", "http://:1/"], "not an http or https URL"),
        (["call", "FILE", "add", "a"], "'a' is no pair"),
        (["call", "FILE", "add", "--json", "[]"], "--json takes a JSON object"),
        (["list", "FILE", "--header", "x"], "is no header"),
        (["serve", "FILE", "--threads", "3"], "--threads goes with --worker-class gthread"),
        (["serve", "FILE", "--option", "x"], "'x' is no pair"),
    ],
)
def test_a_wrong_command_line_is_exit_code_2(file: str, arguments: list[str], words: str, capsys: Capture) -> None:
    assert main([file if argument == "FILE" else argument for argument in arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("mcp-wsgi: ")
    assert words in err


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["dance"],
        ["list"],
        ["list", "x", "--revision", "2024-11-05"],
        ["serve", "x", "--port", "65536"],
        ["serve", "x", "--port", "http"],
        ["serve", "x", "--workers", "0"],
        ["serve", "x", "--worker-class", "eventlet"],
    ],
)
def test_what_the_parser_refuses_is_exit_code_2(arguments: list[str], capsys: Capture) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage: mcp-wsgi" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "value", "takes"),
    [
        ("--port", "http", "a number from 0 to 65535"),
        ("--port", "65536", "a number from 0 to 65535"),
        ("--port", "-1", "a number from 0 to 65535"),
        ("--workers", "many", "a whole number from 1 on"),
        ("--threads", "0", "a whole number from 1 on"),
    ],
)
def test_a_wrong_number_is_refused_with_what_is_taken(option: str, value: str, takes: str, capsys: Capture) -> None:
    with pytest.raises(SystemExit):
        main(["serve", "x", f"{option}={value}"])
    assert f"error: argument {option}: takes {takes}, not '{value}'\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["call", "FILE", "add\udcff"], "argument NAME:"),
        (["prompt", "FILE", "ask\udcff"], "argument NAME:"),
        (["read", "FILE", "notes://\udcff"], "argument URI:"),
    ],
)
def test_a_name_that_is_no_text_is_refused(file: str, arguments: list[str], named: str, capsys: Capture) -> None:
    with pytest.raises(SystemExit):
        main([file if argument == "FILE" else argument for argument in arguments])
    assert f"{named} must be UTF-8\n" in capsys.readouterr().err


def test_bytes_that_are_no_text_name_their_argument(file: str) -> None:
    done = run("call", file, "shout", b"text=\xff\xfe")
    assert (done.returncode, done.stderr) == (2, "mcp-wsgi: text must be UTF-8\n")


@pytest.mark.parametrize("command", ["serve", "list", "call", "read", "prompt"])
def test_every_command_explains_itself(command: str, capsys: Capture) -> None:
    with pytest.raises(SystemExit) as caught:
        main([command, "--help"])
    assert caught.value.code == 0
    assert "Exit codes" in capsys.readouterr().out


def run(*arguments: str | bytes, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mcp_wsgi", *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True, **options)


def test_the_package_can_be_run() -> None:
    assert run("--version").stdout == f"mcp-wsgi {__version__}\n"
    assert run("list", "no_such_file.py").returncode == 2


def test_a_reader_that_goes_away_is_no_trouble(file: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as pipe:
        command = [sys.executable, "-m", "mcp_wsgi", "list", file]
        done = subprocess.run(command, check=False, stdout=pipe, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (1, b"")


def test_an_interrupt_is_exit_code_130(tmp_path: Path) -> None:
    file = tmp_path / "interrupted.py"
    # A test run in the background of a shell ignores interrupts, and its children inherit that.
    lines = "signal.signal(signal.SIGINT, signal.default_int_handler)", "os.kill(os.getpid(), signal.SIGINT)"
    file.write_text("\n".join(["import os, signal", *lines]))
    done = run("list", str(file))
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
