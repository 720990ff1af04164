"""Runs the samples of the documentation and the README.

The Python blocks of a page run in order, in one module; blocks with ``>>>`` must print what they
say; commands that try a server by hand must print what is shown. Code that a page needs but does
not show stands in a comment (``.. setup`` or ``<!-- setup``).
"""

from __future__ import annotations

import doctest
import importlib.util
import io
import re
import shlex
import subprocess
import sys
import textwrap
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [file for file in [ROOT / "README.md", *sorted(DOCS.rglob("*.rst"))] if "_build" not in file.parts]
#: Pages that configure Django, which a process can do only once: they run in one of their own.
ALONE = {"README.md", "mounting.rst"}


class Block(NamedTuple):
    """A sample: where its text begins, its language, the text, and the file that it shows, if any."""

    line: int
    language: str
    text: str
    file: str | None = None


# --- reading --------------------------------------------------------------------------------------

_DIRECTIVE = re.compile(r"(?P<indent> *)\.\. (?:code-block:: (?P<language>\S+)|setup) *")
_OPTION = re.compile(r" +:(?P<name>[\w-]+):(?: +(?P<value>.*))?")


def rst_blocks(lines: list[str]) -> Iterator[Block]:
    """The samples of a reStructuredText page."""
    for number, line in enumerate(lines):
        found = _DIRECTIVE.fullmatch(line)
        if found:
            yield _rst_block(lines, number + 1, len(found["indent"]), found["language"] or "python")


def _rst_block(lines: list[str], start: int, indent: int, language: str) -> Block:
    options = {}
    while option := _OPTION.fullmatch(lines[start]):
        options[option["name"]] = option["value"]
        start += 1
    end = start
    while end < len(lines) and (not lines[end].strip() or lines[end].startswith(" " * (indent + 1))):
        end += 1
    text = textwrap.dedent("\n".join(lines[start:end])).rstrip() + "\n"
    return Block(start, language, text, options.get("caption"))


_FENCE = re.compile(r"(?P<fence>```+)(?P<language>\w+)|<!-- setup")


def markdown_blocks(lines: list[str]) -> Iterator[Block]:
    """The samples of a Markdown page."""
    end, start, language = "", 0, ""
    for number, line in enumerate(lines):
        if end:
            if line == end:
                yield Block(start, language, "\n".join(lines[start:number]) + "\n")
                end = ""
        elif found := _FENCE.fullmatch(line):
            end, start, language = found["fence"] or "-->", number + 1, found["language"] or "python"


def blocks(page: Path) -> list[Block]:
    """The samples of a page, in order."""
    lines = page.read_text("utf-8").splitlines()
    return list(markdown_blocks(lines) if page.suffix == ".md" else rst_blocks(lines))


# --- Python ---------------------------------------------------------------------------------------


def run(page: Path) -> None:
    """Run the Python samples of a page, in order, in a module of their own."""
    module = types.ModuleType("sample")
    sys.modules[module.__name__] = module
    try:
        for block in blocks(page):
            if block.language == "python":
                # The empty lines in front make a traceback show the page's own line.
                code = compile("\n" * block.line + block.text, str(page), "exec", dont_inherit=True)
                exec(code, module.__dict__)
            elif block.language == "pycon":
                converse(page, block, module.__dict__)
    finally:
        del sys.modules[module.__name__]


def converse(page: Path, block: Block, scope: dict[str, Any]) -> None:
    """Run a block with ``>>>`` and compare what it prints."""
    test = doctest.DocTestParser().get_doctest(block.text, scope, page.name, str(page), block.line)
    report = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    failed = runner.run(test, out=report.write, clear_globs=False).failed
    scope.update(test.globs)
    assert not failed, report.getvalue()


WITH_PYTHON = [page for page in PAGES if any(block.language in {"python", "pycon"} for block in blocks(page))]


@pytest.mark.parametrize("page", WITH_PYTHON, ids=lambda page: page.name)
def test_the_samples_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if page.name in ALONE:
        code = "import sys, pathlib, tests.test_docs as t; t.run(pathlib.Path(sys.argv[1]))"
        execute([sys.executable, "-c", code, str(page)], tmp_path)
    else:
        run(page)


def execute(command: list[str], folder: Path) -> str:
    """Run a command that must succeed; what it printed."""
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "NOTES_DB": str(folder / "notes.sqlite3")}
    done = subprocess.run(command, check=False, cwd=folder, env=environment, capture_output=True, text=True, timeout=50)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# --- commands -------------------------------------------------------------------------------------


def commands(text: str) -> Iterator[tuple[list[str], str]]:
    """Each command of a console block, and what it is said to print."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, output = part.replace("\\\n", " ").partition("\n")
        yield shlex.split(command), output


def runnable(command: list[str]) -> list[str] | None:
    """How to run a command here; ``None`` for what serves until it is ended, or installs something."""
    if command[0] == "mcp-wsgi" and command[1] in {"call", "list", "prompt", "read"}:
        return [sys.executable, "-m", "mcp_wsgi", *command[1:]]
    if command[0] == "gunicorn":
        return [sys.executable, "-m", "gunicorn", "--check-config", *command[1:]]
    return None


CONSOLE = [
    pytest.param(block, id=f"{page.stem}-{block.line}")
    for page in PAGES
    for block in blocks(page)
    if block.language == "console" and any(runnable(command) for command, _ in commands(block.text))
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the files that the pages show, and the examples."""
    for page in PAGES:
        for block in blocks(page):
            if block.file is not None:
                (tmp_path / block.file).write_text(block.text, "utf-8")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path


@pytest.mark.parametrize("block", CONSOLE)
def test_commands_print_what_is_shown(block: Block, folder: Path) -> None:
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    for command, output in commands(block.text):
        if there := runnable(command):
            printed = execute(there, folder)
            assert not output or doctest.OutputChecker().check_output(output, printed, flags), printed


# --- the rest -------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_shows_of_other_files_is_there(page: Path) -> None:
    for name in re.findall(r"^ *\.\. (?:literal)?include:: (\S+)", page.read_text("utf-8"), re.MULTILINE):
        assert (page.parent / name).is_file()


def test_every_page_is_reachable() -> None:
    """A page that is in no table of contents is read by nobody."""
    listed = {"index"}
    for page in DOCS.rglob("*.rst"):
        for entry in re.findall(r"^   ([a-z/]+)$", page.read_text("utf-8"), re.MULTILINE):
            listed.add((page.parent / entry).relative_to(DOCS).as_posix())
    assert {page.relative_to(DOCS).with_suffix("").as_posix() for page in DOCS.rglob("*.rst")} <= listed


def test_every_module_is_in_the_reference() -> None:
    """The command is described by its own page."""
    shown = {name for page in PAGES for name in re.findall(r"automodule:: mcp_wsgi\.(\S+)", page.read_text("utf-8"))}
    files = {file.relative_to(ROOT / "mcp_wsgi").with_suffix("") for file in (ROOT / "mcp_wsgi").rglob("*.py")}
    modules = {".".join(file.parts) for file in files if not file.name.startswith("__") and file.parts[0] != "cli"}
    assert shown == modules


def test_the_table_of_methods_refuses_to_call_something_missing_that_is_served(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tables = extension("mcp_tables")
    assert tables.method_rows()
    monkeypatch.setattr(tables, "NOT_SERVED", {"tools/list": frozenset()})
    with pytest.raises(Exception, match="tools/list"):
        tables.method_rows()


def extension(name: str) -> Any:
    """One of the documentation's own Sphinx extensions."""
    spec = importlib.util.spec_from_file_location(name, DOCS / "_ext" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[name]
    return module


# --- the reader itself ----------------------------------------------------------------------------


def test_samples_are_found_with_their_place_and_without_their_options() -> None:
    page = """Text

.. code-block:: python
   :caption: a.py

   x = 1

   y = 2

.. setup

   z = 3

* Item

  .. code-block:: console

     $ ls
     a.py
"""
    assert list(rst_blocks(page.splitlines())) == [
        Block(4, "python", "\nx = 1\n\ny = 2\n", "a.py"),
        Block(10, "python", "\nz = 3\n"),
        Block(16, "console", "\n$ ls\na.py\n"),
    ]
    page = "```python\nx = 1\n```\n<!-- setup\ny = 2\n-->\n"
    assert list(markdown_blocks(page.splitlines())) == [Block(1, "python", "x = 1\n"), Block(4, "python", "y = 2\n")]


def test_a_wrong_sample_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.rst"
    page.write_text(".. code-block:: pycon\n\n   >>> 1 + 1\n   3\n")
    with pytest.raises(AssertionError, match="Expected"):
        run(page)
    page.write_text(".. code-block:: python\n\n   1 / 0\n")
    with pytest.raises(ZeroDivisionError) as caught:
        run(page)
    assert caught.traceback[-1].lineno == 2


def test_commands_are_told_from_their_output() -> None:
    assert list(commands("$ a 'b c'\nx\ny\n$ d \\\n  e\n")) == [(["a", "b c"], "x\ny\n"), (["d", "e"], "")]
