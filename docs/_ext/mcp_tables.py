"""Tables made from the package's own data, so that they cannot say anything else than the code does.

``mcp-options``   every option
``mcp-types``     what a type hint becomes in a tool's schema
``mcp-methods``   what each protocol revision has, and what of it is served
``mcp-revisions`` what differs between the revisions
``mcp-errors``    the code and HTTP status of each error
``mcp-layers``    the modules, in the order in which they may import each other
"""

from __future__ import annotations

import ast
import datetime
import decimal
import enum
import json
import re
import typing
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata

from mcp_wsgi import errors
from mcp_wsgi.methods import METHODS
from mcp_wsgi.options import OPTIONS, Option
from mcp_wsgi.revisions import REVISIONS, SUPPORTED, Revision
from mcp_wsgi.schema import Arguments

ROOT = Path(__file__).parents[2]

#: The cells of a line; in a text, double backquotes mark code.
Row = Sequence["str | nodes.Node"]

YES, NOT_YET, ABSENT = "yes", "not yet", "-"
_MODERN = frozenset(name for name, revision in REVISIONS.items() if revision.modern)

#: What the specification has beyond ``METHODS``: method -> the revisions that have it.
NOT_SERVED: Mapping[str, frozenset[str]] = {
    "elicitation/create": frozenset(REVISIONS) - {"2025-03-26"},
    "sampling/createMessage": frozenset(REVISIONS),
    "roots/list": frozenset(REVISIONS),
    "tasks/get": frozenset({"2025-11-25"}),
    "tasks/result": frozenset({"2025-11-25"}),
    "tasks/list": frozenset({"2025-11-25"}),
    "tasks/cancel": frozenset({"2025-11-25"}),
}

_WORDS = {True: YES, False: ABSENT}

#: What differs between the revisions, each row read from the ``Revision``.
DIFFERENCES: Mapping[str, Callable[[Revision], str]] = {
    "Era": lambda r: r.era,
    "Opening": lambda r: "server/discover (optional)" if "server/discover" in _methods(r) else "initialize",
    "Several messages in one body": lambda r: _WORDS[r.batches],
    "Structured results": lambda r: {"none": ABSENT, "object": "objects", "any": "any JSON value"}[r.structured],
    "Output schemas": lambda r: _has(r, "Tool", "outputSchema"),
    "Images, audio, embedded resources": lambda r: _WORDS[{"image", "audio", "resource"} <= r.content_types],
    "Resource links": lambda r: "yes" if "resource_link" in r.content_types else "sent as text",
    "Titles": lambda r: _has(r, "Tool", "title"),
    "Icons": lambda r: _has(r, "Tool", "icons"),
    "_meta of tools, resources, prompts": lambda r: _has(r, "Tool", "_meta"),
    "lastModified of resources": lambda r: _has(r, "Annotations", "lastModified"),
    "Forms: default values": lambda r: _first(
        r, {"TitledSingleSelectEnumSchema": "all", "BooleanSchema": "of booleans"}
    ),
    "Forms: titles of choices": lambda r: _first(
        r, {"TitledSingleSelectEnumSchema": "oneOf", "LegacyTitledEnumSchema": "enumNames"}
    ),
    "Forms: choices of several values": lambda r: _WORDS["UntitledMultiSelectEnumSchema" in r.fields],
    "Arguments already resolved, in completion": lambda r: _WORDS[r.completion_context],
    "Log level": lambda r: "of each request" if r.modern else "option log_level",
    "Code of an unknown resource": lambda r: str(r.not_found_code),
    "Cache hints on lists and reads": lambda r: _WORDS[r.cache_hints],
    "Server's name in every result": lambda r: _WORDS[r.server_info_in_meta],
    "Notices of changes": lambda r: "subscriptions/listen" if r.listens else ABSENT,
    "A closed connection cancels the call": lambda r: _WORDS[r.modern],
}


def _methods(revision: Revision) -> set[str]:
    return {name for name, method in METHODS.items() if revision.name in method.revisions}


def _first(revision: Revision, words: Mapping[str, str]) -> str:
    """The word for the first of several wire types that a revision has."""
    return next((word for kind, word in words.items() if kind in revision.fields), ABSENT)


def _has(revision: Revision, kind: str, field: str) -> str:
    return _WORDS[field in revision.fields[kind]]


class Size(enum.Enum):
    SMALL = "s"
    LARGE = "l"


@dataclass
class Item:
    name: str
    count: int = 1


#: The type hints shown, as they are written.
TYPES = (
    "str",
    "int",
    "float",
    "bool",
    "None",
    "Any",
    'Literal["s", "l"]',
    "Size  # an Enum",
    "datetime",
    "date",
    "time",
    "timedelta",
    "Decimal",
    "UUID",
    "bytes",
    "list[int]",
    "tuple[int, str]",
    "tuple[int, ...]",
    "set[str]",
    "dict[str, int]",
    "str | None",
    "int | list[int]",
    "Item  # a dataclass",
)
_SCOPE = {
    **vars(typing),
    **{t.__name__: t for t in (datetime.datetime, datetime.date, datetime.time, datetime.timedelta)},
    **{t.__name__: t for t in (decimal.Decimal, uuid.UUID, Size, Item)},
}


# --- rows -----------------------------------------------------------------------------------------


def option_rows() -> list[Row]:
    """Name, default, unit and meaning of every option."""
    return [(_code(name), shown_default(option), option.unit, option.about) for name, option in OPTIONS.items()]


def shown_default(option: Option) -> str:
    """A default as a reader would write it."""
    value = option.default
    if value is None or value == ():
        return "none"
    if option.unit == "bytes":
        return f"{value // 1024**2} MiB" if value % 1024**2 == 0 else f"{value // 1024} KiB"
    if isinstance(value, float):
        return f"{value:g}"
    return f'"{value}"' if isinstance(value, str) else str(value)


def method_rows() -> list[Row]:
    """Every method of the specification: served, not yet served, or not there, in each revision.

    Raises:
        ExtensionError: A method is served by now; it must leave ``NOT_SERVED``.
    """
    stale = NOT_SERVED.keys() & METHODS.keys()
    if stale:
        raise ExtensionError(f"served by now, so no longer in NOT_SERVED: {', '.join(sorted(stale))}")
    served = [(name, method.revisions, YES) for name, method in METHODS.items()]
    missing = [(name, revisions, NOT_YET) for name, revisions in NOT_SERVED.items()]
    return [
        (_code(name), *(word if revision in revisions else ABSENT for revision in SUPPORTED))
        for name, revisions, word in served + missing
    ]


def difference_rows() -> list[Row]:
    """What is in each revision, by ``DIFFERENCES``."""
    return [(name, *map(read, REVISIONS.values())) for name, read in DIFFERENCES.items()]


def type_rows() -> list[Row]:
    """Each of ``TYPES``, and the schema that it becomes."""
    return [(_code(text), _code(json.dumps(schema_of(text), ensure_ascii=False))) for text in TYPES]


def schema_of(hint: str) -> Any:
    """The schema of a parameter with a type hint."""

    def function(value: Any) -> None:
        """Take a value."""

    function.__annotations__ = {"value": eval(hint, dict(_SCOPE))}  # noqa: S307 - our own texts
    return Arguments.from_function(function, owner="a function").schema["properties"]["value"]


def error_rows() -> list[Row]:
    """Name, JSON-RPC code, HTTP status and meaning of every protocol error."""
    found = [getattr(errors, name) for name in errors.__all__]
    return [
        (_code(error.__name__), str(error.code), str(error.http_status), summary(error.__doc__))
        for error in found
        if issubclass(error, errors.MCPError) and not issubclass(error, errors.ConfigurationError)
    ]


def layer_rows() -> list[Row]:
    """The modules from the top to the bottom, each with the first sentence of its docstring."""
    tree = ast.parse((ROOT / "tests" / "test_layers.py").read_text("utf-8"))
    layers = next(
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "LAYERS"
    )
    files = [(name, source_of(name)) for name in layers]
    return [
        (_code(name), summary(ast.get_docstring(ast.parse(file.read_text("utf-8")))))
        for name, file in files
        if file is not None
    ]


def source_of(module: str) -> Path | None:
    """The file of a module; ``None`` if there is none yet."""
    path = ROOT / "mcp_wsgi" / module.replace(".", "/")
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


def summary(docstring: str | None) -> str:
    """The first paragraph of a docstring, without its source."""
    paragraph = (docstring or "").partition("\n\n")[0]
    return " ".join(paragraph.partition(" Source: ")[0].split())


def _code(text: str) -> nodes.Node:
    return nodes.literal(text, text)


# --- directives -----------------------------------------------------------------------------------


def table(head: Sequence[str], rows: Iterable[Row], widths: Sequence[int]) -> nodes.table:
    """A table with one line of headings."""
    group = nodes.tgroup(cols=len(head))
    group.extend(nodes.colspec(colwidth=width) for width in widths)
    group += nodes.thead("", _row(head))
    group += nodes.tbody("", *map(_row, rows))
    return nodes.table("", group)


def _row(cells: Row) -> nodes.row:
    return nodes.row("", *(nodes.entry("", nodes.paragraph("", "", *_inline(cell))) for cell in cells))


def _inline(cell: str | nodes.Node) -> list[nodes.Node]:
    if not isinstance(cell, str):
        return [cell]
    parts = re.split(r"``(.+?)``", cell)
    return [_code(part) if number % 2 else nodes.Text(part) for number, part in enumerate(parts)]


class _Table(SphinxDirective):
    head: Sequence[str]
    rows: Callable[[], list[Row]]
    widths: Sequence[int]

    def run(self) -> list[nodes.Node]:
        return [table(self.head, type(self).rows(), self.widths)]


class OptionsTable(_Table):
    head = ("Option", "Default", "Takes", "What it does")
    rows = option_rows
    widths = (15, 10, 15, 60)


class TypesTable(_Table):
    head = ("Type hint", "JSON Schema")
    rows = type_rows
    widths = (30, 70)


class MethodsTable(_Table):
    head = ("Method", *SUPPORTED)
    rows = method_rows
    widths = (40, *(15 for _ in SUPPORTED))


class RevisionsTable(_Table):
    head = ("", *SUPPORTED)
    rows = difference_rows
    widths = (40, *(15 for _ in SUPPORTED))


class ErrorsTable(_Table):
    head = ("Error", "Code", "HTTP", "When")
    rows = error_rows
    widths = (30, 10, 10, 50)


class LayersTable(_Table):
    head = ("Module", "What it is for")
    rows = layer_rows
    widths = (25, 75)


def setup(app: Sphinx) -> ExtensionMetadata:
    app.add_directive("mcp-options", OptionsTable)
    app.add_directive("mcp-types", TypesTable)
    app.add_directive("mcp-methods", MethodsTable)
    app.add_directive("mcp-revisions", RevisionsTable)
    app.add_directive("mcp-errors", ErrorsTable)
    app.add_directive("mcp-layers", LayersTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
