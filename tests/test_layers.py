"""Holds the order of the layers: imports only ever point up the list.

The order is read from the source, never from running it, so an import inside a function counts too.
Imports for type checkers alone do not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "mcp_wsgi"

# Each module may import those above it. A package stands in one place, with its own order inside.
LAYERS = [
    "excerpts",
    "errors",
    "revisions",
    "levels",
    "decoding",
    "jsonrpc",
    "checks",
    "sniffing",
    "content",
    "returns",
    "patterns",
    "multiples",
    "problems",
    "effort",
    "encoding",
    "jsonschemas",
    "headerparams",
    "shapes",
    "constraints",
    "docstrings",
    "members",
    "typehints",
    "signatures",
    "quickcheck",
    "schema",
    "uris",
    "sealing",
    "sessions",
    "vault",
    "elicitation",
    "inputs",
    "rounds",
    "call",
    "sink",
    "progress",
    "direct",
    "conversation",
    "context",
    "logs",
    "descriptions",
    "handler",
    "functions",
    "completers",
    "registry",
    "entries",
    "server",
    "failures",
    "envelope",
    "pages",
    "methods",
    "asking",
    "dispatcher",
    "options",
    "workers.base",
    "workers.budget",
    "workers.patching",
    "workers.greenlets",
    "workers.threads",
    "workers.inline",
    "workers",
    "questions",
    "exchange",
    "subscriptions",
    "turns",
    "eventlog",
    "recording",
    "stores",
    "stores.memory",
    "stores.signed",
    "live",
    "keeper",
    "wsgi.http",
    "wsgi.headers",
    "wsgi.sse",
    "wsgi.replies",
    "wsgi.guards",
    "wsgi.calls",
    "wsgi.sessions",
    "wsgi.modern",
    "wsgi.legacy",
    "wsgi.app",
    "stdio",
    "http_client",
    "results",
    "requests",
    "testing",
    # The command serves with it.
    "contrib.gunicorn",
    "cli.targets",
    "cli.arguments",
    "cli.rendering",
    "cli.serving",
    "cli.trying",
    "cli",
    "contrib",
]
#: The modules above this one take values and return values.
FIRST_IMPURE = "workers.base"
IMPURE = {"asyncio", "gevent", "greenlet", "multiprocessing", "select", "socket", "threading", "time", "werkzeug"}
#: Who imports gevent: two kinds of worker are greenlets, locks depend on whether it has patched the process, and the
#: command patches its process.
GREENLET_USERS = {"workers.patching", "workers.greenlets", "workers.inline", "cli.serving"}
GREENLETS = {"gevent", "greenlet"}

# Importer -> what it may import from below, and why.
EXCEPTIONS = {
    # ``MCPServer.wsgi_app()`` saves every user one import; the class knows nothing else of WSGI.
    "server": {"wsgi.app"},
    # The command prints the version, which has to be written in ``__init__.py``.
    "cli": {""},
}
# Core module -> the impure modules it may import, and why.
IMPURE_EXCEPTIONS = {
    # Tools may come and go while others are called: one lock, and no thread of its own.
    "registry": {"threading"},
    "server": {"threading"},
    # Whether an exception is meant for the process depends on the thread that it comes in.
    "failures": {"threading"},
}
#: Who may look into ``environ``: the edge reads one, the client of the testing kit makes one.
ENVIRON_READERS = {"wsgi.app", "http_client", "contrib"}


def modules() -> dict[str, ast.Module]:
    """The syntax tree of each module, by its name below the package; the package itself is ''."""
    trees = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        parts = file.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        trees[name] = ast.parse(file.read_text("utf-8"), str(file))
    return trees


MODULES = modules()


def runtime_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those of ``if TYPE_CHECKING:`` blocks."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}:
            for other in node.orelse:
                yield other
                yield from runtime_nodes(other)
        else:
            yield node
            yield from runtime_nodes(node)


def imports(tree: ast.AST) -> Iterator[str]:
    """The dotted names that a module imports when it runs."""
    for node in runtime_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def own(name: str) -> str | None:
    """The module of ours that a dotted name stands for; ``None`` if it is another's."""
    top, _, rest = name.partition(".")
    if top != "mcp_wsgi":
        return None
    while rest and rest not in MODULES:
        rest = rest.rpartition(".")[0]
    return rest


def place(module: str) -> int | None:
    """Where a module stands in the list; one of a package that is not spelt out, where the package does."""
    while module not in LAYERS:
        module, dot, _ = module.rpartition(".")
        if not dot:
            return None
    return LAYERS.index(module)


# The package's own ``__init__`` gathers names from everywhere and is imported by nobody.
NAMED = [name for name, tree in MODULES.items() if name not in {"", "__main__", "wsgi"}]
PLACES = {name: position for name in NAMED if (position := place(name)) is not None}
CORE = [name for name, position in PLACES.items() if position < LAYERS.index(FIRST_IMPURE)]


def test_every_module_has_its_place() -> None:
    assert set(NAMED) == set(PLACES)


@pytest.mark.parametrize("module", PLACES)
def test_imports_point_up(module: str) -> None:
    allowed = EXCEPTIONS.get(module, set())
    for name in imports(MODULES[module]):
        target = own(name)
        if target is None or target in allowed:
            continue
        assert target in PLACES, f"{module} imports {name}: name the module that has it"
        inside = module.split(".")[0] == target.split(".")[0] == "contrib"
        assert not inside, f"{module} imports {name}: the mounts know nothing of each other"
        assert PLACES[target] < PLACES[module], f"{module} imports {name}, which stands below it"


@pytest.mark.parametrize("module", EXCEPTIONS)
def test_every_exception_is_used(module: str) -> None:
    assert EXCEPTIONS[module] <= {own(name) for name in imports(MODULES[module])}


@pytest.mark.parametrize("module", CORE)
def test_the_core_is_free_of_sockets_threads_and_clocks(module: str) -> None:
    allowed = IMPURE_EXCEPTIONS.get(module, set())
    found = {name.split(".")[0] for name in imports(MODULES[module])} & IMPURE
    assert found <= allowed, f"{module} imports {found - allowed}"


@pytest.mark.parametrize("module", MODULES)
def test_nothing_imports_asyncio_and_few_import_greenlets(module: str) -> None:
    found = {name.split(".")[0] for name in imports(MODULES[module])}
    assert "asyncio" not in found
    assert bool(found & GREENLETS) == (module in GREENLET_USERS)


@pytest.mark.parametrize("module", [m for m in MODULES if not {m, m.split(".")[0]} & ENVIRON_READERS])
def test_environ_is_read_in_one_place(module: str) -> None:
    """Others may pass it on (``ctx.environ``), but not look inside."""
    for node in ast.walk(MODULES[module]):
        if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
            looked_into = ast.unparse(node.value)
            assert looked_into == "os.environ" or looked_into.split(".")[-1] != "environ", f"line {node.lineno}"


def test_every_line_of_the_list_is_a_place_once() -> None:
    assert len(set(LAYERS)) == len(LAYERS)
    assert place("contrib.django.middleware") == LAYERS.index("contrib")
    assert place("somewhere") is None


def test_the_reader_of_imports_sees_what_runs() -> None:
    source = """
if TYPE_CHECKING:
    import asyncio
else:
    import threading
def f():
    from mcp_wsgi.wsgi.app import MCPApp
"""
    assert list(imports(ast.parse(source))) == ["threading", "mcp_wsgi.wsgi.app.MCPApp"]
    assert own("mcp_wsgi.errors.MCPError") == "errors"
    assert own("mcp_wsgi.MCPServer") == ""
    assert own("mcp_wsgi_other") is None
