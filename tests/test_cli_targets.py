"""What ``TARGET`` names."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_wsgi import Handler, MCPServer
from mcp_wsgi.cli.targets import TargetError, file_of, load
from mcp_wsgi.wsgi.app import MCPApp

SERVER = """
from mcp_wsgi import Handler, MCPServer

mcp = MCPServer("first")
other = MCPServer("second")
application = other.wsgi_app()

class Shop(Handler):
    pass

class Holder:
    inner = other

    def close(self):
        pass

def plain(environ, start_response):
    return []

def one(environ):
    return []

number = 5
_hidden = MCPServer("hidden")
"""


@pytest.fixture(autouse=True)
def clean_imports(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """What a target leaves in this process goes away with the test."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


def write(text: str, name: str = "shop_server.py") -> str:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(text, "utf-8")
    return name


def name_of(target: str) -> Any:
    found: Any = load(target)
    return (found.handler if isinstance(found, MCPApp) else found).server_info.name


@pytest.mark.parametrize("place", ["shop_server.py", "shop_server", "./shop_server.py"])
@pytest.mark.parametrize(
    ("attribute", "name"),
    [
        ("", "first"),
        (":other", "second"),
        (":application", "second"),
        (":Holder.inner", "second"),
        (":Shop", "mcp-wsgi"),
    ],
)
def test_a_target_is_a_file_or_a_module_and_a_name_in_it(place: str, attribute: str, name: str) -> None:
    write(SERVER)
    assert name_of(place + attribute) == name


def test_a_class_is_instantiated() -> None:
    write(SERVER)
    assert isinstance(load("shop_server:Shop"), Handler)


def test_a_plain_function_may_be_an_application() -> None:
    write(SERVER)
    assert load("shop_server:plain").__name__ == "plain"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("from mcp_wsgi import MCPServer\nserver = MCPServer('s')\napp = MCPServer('a')", "s"),
        ("from mcp_wsgi import MCPServer\nmcp = None\napp = MCPServer('a')", "a"),
        ("from mcp_wsgi import MCPServer\nimport json as mcp\napplication = MCPServer('x').wsgi_app()", "x"),
    ],
)
def test_the_first_usual_name_that_fits_is_taken(text: str, name: str) -> None:
    write(text)
    assert name_of("shop_server.py") == name


def test_a_file_finds_its_neighbours() -> None:
    write("NAME = 'neighbour'", "deep/shop_names.py")
    write("from mcp_wsgi import MCPServer\nfrom shop_names import NAME\nmcp = MCPServer(NAME)", "deep/shop_server.py")
    assert name_of("deep/shop_server.py") == "neighbour"


def test_a_file_does_not_take_the_name_of_a_module_that_is_there() -> None:
    write("from mcp_wsgi import MCPServer\nmcp = MCPServer('odd')", "json.py")
    json = sys.modules["json"]
    assert name_of("json.py") == "odd"
    assert sys.modules["json"] is json


def test_types_of_a_file_can_be_resolved() -> None:
    """Annotations are looked up in the module that ``sys.modules`` has under its name."""
    text = "from __future__ import annotations\nfrom dataclasses import dataclass\nfrom mcp_wsgi import MCPServer\n"
    text += "mcp = MCPServer('typed')\n@dataclass\nclass Item:\n    n: int\n"
    write(text + "@mcp.tool\ndef f(item: Item) -> Item:\n    return item\n", "odd-name.py")
    assert name_of("odd-name.py") == "typed"


def complaint(target: str) -> str:
    with pytest.raises(TargetError) as caught:
        load(target)
    return str(caught.value)


def test_what_is_not_there_is_named() -> None:
    write(SERVER)
    here = Path.cwd()
    assert complaint("shop.py") == f"there is no file {here / 'shop.py'}"
    assert complaint("no/such") == f"there is no file {here / 'no/such'}"
    assert complaint("shop_serve:mcp") == f"there is no module shop_serve in {here} or on the Python path"
    assert complaint("shop_server.sub").startswith("there is no module shop_server.sub")
    assert complaint("shop-server") == "'shop-server' is neither a Python file nor the name of a module"
    assert complaint("") == "'' is neither a Python file nor the name of a module"


def test_a_missing_attribute_names_those_there_are() -> None:
    write(SERVER)
    found = "it has mcp (MCPServer), other (MCPServer), application (MCPApp), Shop (Handler class)"
    assert complaint("shop_server:mpc") == f"shop_server has no 'mpc'; {found}"
    assert complaint("shop_server.py:mpc") == f"shop_server.py has no 'mpc'; {found}"


@pytest.mark.parametrize(
    ("attribute", "what"),
    [
        ("number", "of type int"),
        ("one", "the function one(environ)"),
        ("Holder", "the class Holder"),
        ("Holder.close", "the function close(self)"),
    ],
)
def test_an_object_of_another_kind_is_named(attribute: str, what: str) -> None:
    write(SERVER)
    assert complaint(f"shop_server:{attribute}").startswith(f"shop_server:{attribute} is {what}")


def test_a_decorated_function_of_a_server_is_no_application() -> None:
    write("from mcp_wsgi import MCPServer\nmcp = MCPServer('s')\n@mcp.resource('a://b/{x}')\ndef f(x: str): pass")
    assert "not an MCPServer, a Handler or a WSGI application; it has mcp (MCPServer)" in complaint("shop_server:f")


def test_a_file_without_a_server_says_what_is_looked_for() -> None:
    write("x = 1")
    assert complaint("shop_server.py") == (
        "shop_server.py has no server named mcp, server, application, app; name yours as shop_server.py:NAME; "
        "it has no server at all"
    )
    write("from mcp_wsgi import MCPServer\nmine = MCPServer('m')", "other_server.py")
    assert complaint("other_server.py").endswith("it has mine (MCPServer)")


def test_a_failing_import_shows_the_lines_to_look_at() -> None:
    write("import json\n\ndef read():\n    return json.loads('{')\n\nread()\n")
    lines = complaint("shop_server.py").splitlines()
    file = Path.cwd() / "shop_server.py"
    assert lines[0] == "importing shop_server.py failed:"
    assert [line for line in lines if line.lstrip().startswith("File")] == [
        f'  File "{file}", line 6, in <module>',
        f'  File "{file}", line 4, in read',
    ]
    assert lines[-1].startswith("json.decoder.JSONDecodeError: ")


def test_a_wrong_registration_shows_its_line_and_the_way_out() -> None:
    write("from mcp_wsgi import MCPServer\nmcp = MCPServer('s')\nmcp.add_tool(print, name='a b')\n")
    text = complaint("shop_server")
    assert "line 3, in <module>" in text
    assert "RegistrationError: " in text
    assert "mcp_wsgi/" not in text


def test_a_syntax_error_shows_where() -> None:
    write("def f(:\n")
    text = complaint("shop_server.py")
    assert "line 1" in text
    assert "SyntaxError" in text
    assert "importlib" not in text


def test_a_missing_import_of_the_target_is_its_own_failure() -> None:
    write("import shop_missing")
    assert "ModuleNotFoundError: No module named 'shop_missing'" in complaint("shop_server")


def test_an_error_without_a_frame_of_ones_own_shows_what_there_is(tmp_path: Path) -> None:
    write("x = 1", "site-packages/shop_server.py")
    write("raise LookupError('far')", "site-packages/shop_broken.py")
    text = complaint("site-packages/shop_broken.py")
    assert "shop_broken.py" in text
    assert text.endswith("LookupError: far")


def test_a_module_that_failed_is_not_left_behind() -> None:
    write("raise LookupError")
    complaint("shop_server.py")
    assert "shop_server" not in sys.modules


def test_a_target_that_ends_the_process_is_told_so() -> None:
    write("import sys\nsys.exit(3)")
    assert "ends the process when it is imported (exit code 3)" in complaint("shop_server.py")


def test_a_class_that_cannot_be_made_is_told_so() -> None:
    text = "from mcp_wsgi import Handler\nclass Shop(Handler):\n    def __init__(self):\n        raise ValueError('no')"
    write(text)
    assert complaint("shop_server:Shop").startswith("shop_server:Shop cannot be instantiated:")


def test_a_directory_or_another_file_is_no_target() -> None:
    Path("folder.py").mkdir()
    assert complaint("folder.py").startswith("there is no file")
    write("x", "notes/readme.txt")
    assert complaint("notes/readme.txt").endswith("is no Python file")


def test_a_callable_that_cannot_be_looked_at_may_be_an_application() -> None:
    write("fits = getattr")
    assert load("shop_server:fits") is getattr


def test_the_file_of_a_target_is_known() -> None:
    assert file_of("a/b.py:mcp") == Path.cwd() / "a" / "b.py"
    assert file_of("a.b:mcp") is None


def test_a_server_is_one_of_ours() -> None:
    write(SERVER)
    assert isinstance(load("shop_server"), MCPServer)
