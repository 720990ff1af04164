"""``mcp-wsgi serve``, the real command on a real socket."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from mcp_wsgi.http_client import HTTPTransport
from mcp_wsgi.revisions import SUPPORTED
from mcp_wsgi.testing import Client
from tests.servers.raw_session import RawSession
from tests.servers.running import BOUND, ROOT, eventually

SERVER = """
import os
from pathlib import Path
from mcp_wsgi import MCPServer

mcp = MCPServer("notes")

@mcp.tool
def process() -> str:
    return str(os.getpid())

for number in range(4):
    mcp.add_tool(lambda: "", name=f"tool_{number}")

class Own(type(mcp)):
    def __init__(self):
        super().__init__("own")

def patched():
    from gevent.monkey import is_module_patched
    return is_module_patched("socket")

with open(Path(__file__).with_name("imports"), "a") as log:
    log.write(f"{os.getpid()} {patched()}\\n")

application = mcp.wsgi_app(path="/own")
print("imported")
"""


@dataclass(frozen=True)
class Served:
    """A command that runs."""

    process: subprocess.Popen[bytes]
    folder: Path

    @property
    def out(self) -> str:
        return (self.folder / "out").read_text()

    @property
    def err(self) -> str:
        return (self.folder / "err").read_text()

    @property
    def url(self) -> str:
        found = re.search(r"Serving .* at (http://\S+) ", self.out)
        assert found is not None, self.out
        return found[1]

    def client(self, **options: Any) -> Client:
        return Client(HTTPTransport(self.url, timeout=BOUND), **options)

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal to the command; its exit code."""
        self.process.send_signal(number)
        return self.process.wait(BOUND)


@contextmanager
def serving(folder: Path, *arguments: str, text: str = SERVER, target: str = "notes.py") -> Iterator[Served]:
    """Run ``mcp-wsgi serve`` until the block ends."""
    (folder / "notes.py").write_text(text)
    command = [sys.executable, "-m", "mcp_wsgi", "serve", target, "--port", "0", *arguments]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
        process = subprocess.Popen(command, cwd=folder, env=environ, stdout=out, stderr=err)
    served = Served(process, folder)
    try:
        eventually(lambda: "Serving" in served.out or process.poll() is not None, "it does not listen")
        yield served
    finally:
        if process.poll() is None:
            served.end()


@pytest.mark.parametrize(("workers", "number"), [("1", signal.SIGTERM), ("2", signal.SIGINT)])
def test_it_serves_every_revision_and_ends_cleanly(tmp_path: Path, workers: str, number: int) -> None:
    with serving(tmp_path, "--workers", workers) as served:
        for revision in SUPPORTED:
            with served.client(revision=revision) as client:
                assert client.call_tool("process").text != str(served.process.pid)
        assert served.end(number) == 0
        assert served.err == ""
    assert f"claude mcp add --transport http notes {served.url}" in served.out


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_cleanly_while_workers_are_only_starting(tmp_path: Path, number: int) -> None:
    with serving(tmp_path, "--workers", "4") as served:
        assert served.end(number) == 0
    assert served.err == ""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    options = ["--option", "page_size=1", "--allow-host", "kit.example", "--allow-origin", "https://app.example"]
    with serving(tmp_path_factory.mktemp("shared"), "--workers", "2", *options) as served:
        yield served


def test_a_cursor_of_one_worker_is_good_for_another(shared: Served) -> None:
    """S26-BASE-20: no request needs the process of the one before."""

    def both_have_answered() -> bool:
        assert len(shared.client().list_tools()) == 5
        seen.add(shared.client().call_tool("process").text)
        return len(seen) == 2

    seen: set[str] = set()
    eventually(both_have_answered, "one worker does all the work")


def test_the_target_is_imported_by_patched_children_only(shared: Served) -> None:
    def imports() -> list[list[str]]:
        return [line.split() for line in (shared.folder / "imports").read_text().splitlines()]

    eventually(lambda: len(imports()) == 3, "the check and each worker import it")
    assert str(shared.process.pid) not in [pid for pid, _ in imports()]
    assert [patched for _, patched in imports()] == ["True"] * 3


def test_a_foreign_host_is_refused_on_loopback(shared: Served) -> None:
    """S26-SEC-03."""
    client = shared.client()
    port = shared.url.split(":")[2].split("/")[0]
    hosts = ["evil.example", f"evil.example:{port}", "localhost", f"localhost:{port}", "127.0.0.1", "kit.example"]
    answers = [client.post(client.message("tools/list"), headers={"Host": host}).status for host in hosts]
    assert answers == [403, 403, 200, 200, 200, 200]


def test_a_browser_page_may_be_allowed(shared: Served) -> None:
    """S26-HTTP-02."""
    client = shared.client()
    origins = ["https://app.example", "https://evil.example"]
    replies = [client.post(client.message("tools/list"), headers={"Origin": origin}) for origin in origins]
    assert [reply.status for reply in replies] == [200, 403]


def test_a_busy_port_ends_it_with_exit_code_1(shared: Served, tmp_path: Path) -> None:
    port = shared.url.split(":")[2].split("/")[0]
    with serving(tmp_path, "--port", port) as second:
        assert second.process.wait(BOUND) == 1
        assert second.out == ""
        assert second.err.startswith(f"mcp-wsgi: port {port} on 127.0.0.1 is in use; choose another with --port")
        assert len(second.err.splitlines()) == 1


@pytest.mark.parametrize("kind", [["gthread", "--threads", "2"], ["sync"]])
def test_other_workers_are_not_patched(tmp_path: Path, kind: list[str]) -> None:
    with serving(tmp_path, "--worker-class", *kind) as served:
        assert served.client().call_tool("process").text
        assert "True" not in (tmp_path / "imports").read_text()
        assert served.end() == 0


def test_an_open_address_is_warned_about(tmp_path: Path) -> None:
    """S26-HTTP-03."""
    with serving(tmp_path, "--host", "0.0.0.0") as served:
        assert served.url.startswith("http://127.0.0.1:")
        assert served.err.startswith("mcp-wsgi: warning: 0.0.0.0 is open to other machines, and nobody is asked who")
        client = served.client()
        assert client.post(client.message("tools/list"), headers={"Host": "any.example"}).status == 200


@pytest.mark.parametrize(
    ("target", "path"), [("notes:application", "/own"), ("notes.py:Own", "/mcp"), ("notes.py", "/else/where")]
)
def test_applications_classes_and_other_paths_are_served(tmp_path: Path, target: str, path: str) -> None:
    arguments = ["--path", path] if path == "/else/where" else []
    with serving(tmp_path, *arguments, target=target) as served:
        assert served.url.endswith(path)
        assert served.client().discover().raw["supportedVersions"] == list(SUPPORTED)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import no_such_module", "No module named 'no_such_module'"),
        ("x = 1", "notes.py has no server named mcp, server, application, app"),
        ("import os\nos._exit(7)", "notes.py ends the process when it is imported (exit code 7)"),
        ("import sys\nsys.exit('bye')", "ends the process when it is imported (exit code bye)"),
        ("from mcp_wsgi import MCPServer\nmcp = MCPServer('x')\nmcp.server_info = None", "notes.py cannot be served"),
    ],
)
def test_a_target_that_cannot_be_loaded_ends_it_with_exit_code_2(tmp_path: Path, text: str, words: str) -> None:
    with serving(tmp_path, "--workers", "2", text=text) as served:
        assert served.process.wait(BOUND) == 2
    assert served.out == ""
    assert served.err.count(words) == 1
    assert served.err.startswith("mcp-wsgi: ")


def test_a_key_of_the_environment_outlives_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_WSGI_SECRET_KEY", "the key of the environment")
    with serving(tmp_path) as served:
        session = RawSession(urlsplit(served.url).port or 0, "2025-11-25")
    with serving(tmp_path, "--port", str(session.port)):
        assert session.status(session.id) == 200
        assert session.status("x" + session.id) == 404


def test_a_change_of_the_file_is_noticed_with_reload(tmp_path: Path) -> None:
    with serving(tmp_path, "--reload") as served:
        client = served.client()

        def status() -> int:
            return client.post(client.message("tools/call", {"name": "process"})).status

        def answers(expected: int) -> bool:
            try:
                return status() == expected
            except OSError:
                return False  # the worker is just being replaced

        assert answers(200)
        (tmp_path / "notes.py").write_text("import no_such_module")
        eventually(lambda: answers(503), "the broken file is not noticed")
        assert "no_such_module" in client.http("GET").text
        # Of another length: Python looks at that and at the seconds of the change.
        (tmp_path / "notes.py").write_text(SERVER.replace("process", "another_name"))
        eventually(lambda: answers(200), "the mended file is not noticed")
        eventually(lambda: "another_name" in client.list_tools(), "the old server answers")
        assert served.end() == 0
