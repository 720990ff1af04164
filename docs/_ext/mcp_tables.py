"""Tables made from the package's own data, so that they cannot say anything else than the code does.

``.. mcp-options::`` lists every option; ``.. mcp-methods::`` and ``.. mcp-revisions::`` show what
each protocol revision has, and what of it is served.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata

from mcp_wsgi.methods import METHODS
from mcp_wsgi.options import OPTIONS, Option
from mcp_wsgi.revisions import REVISIONS, SUPPORTED, Revision

Row = Sequence["str | nodes.Node"]

YES, NOT_YET, ABSENT = "yes", "not yet", "–"
_MODERN = frozenset(name for name, revision in REVISIONS.items() if revision.modern)
_LEGACY = frozenset(REVISIONS) - _MODERN

#: What the specification has beyond ``METHODS``: method -> the revisions that have it.
NOT_SERVED: Mapping[str, frozenset[str]] = {
    "resources/subscribe": _LEGACY,
    "resources/unsubscribe": _LEGACY,
    "subscriptions/listen": _MODERN,
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
    "Arguments already resolved, in completion": lambda r: _WORDS[r.completion_context],
    "Log level": lambda r: "of each request" if r.modern else "option log_level",
    "Code of an unknown resource": lambda r: str(r.not_found_code),
    "Cache hints on lists and reads": lambda r: _WORDS[r.cache_hints],
    "Server's name in every result": lambda r: _WORDS[r.server_info_in_meta],
    "A closed connection cancels the call": lambda r: _WORDS[r.modern],
}


def _methods(revision: Revision) -> set[str]:
    return {name for name, method in METHODS.items() if revision.name in method.revisions}


def _has(revision: Revision, kind: str, field: str) -> str:
    return _WORDS[field in revision.fields[kind]]


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
    return nodes.row("", *(nodes.entry("", nodes.paragraph("", "", _inline(cell))) for cell in cells))


def _inline(cell: str | nodes.Node) -> nodes.Node:
    return nodes.Text(cell) if isinstance(cell, str) else cell


class OptionsTable(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        return [table(("Option", "Default", "Takes", "What it does"), option_rows(), (15, 10, 15, 60))]


class MethodsTable(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        return [table(("Method", *SUPPORTED), method_rows(), (40, *(15 for _ in SUPPORTED)))]


class RevisionsTable(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        return [table(("", *SUPPORTED), difference_rows(), (40, *(15 for _ in SUPPORTED)))]


def setup(app: Sphinx) -> ExtensionMetadata:
    directives: dict[str, Any] = {
        "mcp-options": OptionsTable,
        "mcp-methods": MethodsTable,
        "mcp-revisions": RevisionsTable,
    }
    for name, directive in directives.items():
        app.add_directive(name, directive)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
