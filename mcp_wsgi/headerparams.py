"""``x-mcp-header``: arguments that clients repeat in an HTTP header, for routers that read no body.

Source: basic/transports/streamable-http, "Custom Headers".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Literal

import msgspec

from mcp_wsgi.jsonschemas import SchemaError, subschemas
from mcp_wsgi.problems import quote, render_path

__all__ = ["HEADER_KEYWORD", "HeaderParam", "argument_at", "header_params", "header_value_matches"]

#: The keyword that marks a property.
HEADER_KEYWORD = "x-mcp-header"

# RFC 9110, section 5.6.2.
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_TYPES = ("string", "integer", "boolean")
# What an integer may be, so that every implementation writes and reads it alike.
_LARGEST = 2**53 - 1
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


class HeaderParam(msgspec.Struct, frozen=True):
    """An argument that comes in a header too.

    Attributes:
        header: The header's name, such as ``Mcp-Param-Region``.
        name: Its last part, as the schema has it.
        path: The names of the properties that lead to the argument.
        type: The argument's JSON type.
    """

    header: str
    name: str
    path: tuple[str, ...]
    type: Literal["string", "integer", "boolean"]


def header_params(schema: Mapping[str, Any]) -> tuple[HeaderParam, ...]:
    """All header parameters of an input schema.

    Raises:
        SchemaError: One breaks a rule; clients would drop the whole tool.
    """
    found: dict[str, HeaderParam] = {}
    for path, part in _places(schema):
        if HEADER_KEYWORD not in part:
            continue
        name = part[HEADER_KEYWORD]
        if not path:
            raise SchemaError(
                f"has {HEADER_KEYWORD} {quote(name)} where not only properties lead: clients find it nowhere else"
            )
        where = f"has {HEADER_KEYWORD} {quote(name)} at {render_path(path)}"
        if not isinstance(name, str) or not _TOKEN.fullmatch(name):
            raise SchemaError(f"{where}, which is no header name (RFC 9110, 5.6.2)")
        if "_" in name:
            # CGI's names of fields, which are WSGI's, have "_" for "-", so nobody could tell one from the other.
            raise SchemaError(
                f"{where}: WSGI servers drop fields with an underscore; write {quote(name.replace('_', '-'))}"
            )
        if part.get("type") not in _TYPES:
            raise SchemaError(f"{where}, which is not of one type out of {', '.join(_TYPES)}")
        twin = found.setdefault(name.lower(), HeaderParam(f"Mcp-Param-{name}", name, path, part["type"]))
        if twin.path != path:
            raise SchemaError(f"{where}, as {render_path(twin.path)} has already")
    return tuple(found.values())


def _places(schema: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...] | None, Mapping[str, Any]]]:
    """Every schema inside a schema, with the properties that lead to it, or None if others keywords do."""
    ahead: list[tuple[tuple[str, ...] | None, Any]] = [((), schema)]
    while ahead:
        path, part = ahead.pop(0)
        if isinstance(part, Mapping):
            yield path, part
            for keyword, name, inner in subschemas(part):
                straight = path is not None and keyword == "properties"
                ahead.append(((*path, str(name)) if straight and path is not None else None, inner))


def argument_at(arguments: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    """The argument that properties lead to, or ``None`` if there is none."""
    value: Any = arguments
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def header_value_matches(param: HeaderParam, argument: Any, text: str) -> bool:
    """Whether a header says the same as the argument.

    Args:
        param: The parameter.
        argument: Its value in the body; ``None`` if there is none, which no header matches.
        text: The header's value, decoded.

    Source: basic/transports/streamable-http, "Server Validation".
    """
    if isinstance(argument, str):
        return text == argument
    if isinstance(argument, bool):
        return text == ("true" if argument else "false")
    if not isinstance(argument, (int, float)) or abs(argument) > _LARGEST or not _NUMBER.fullmatch(text):
        return False
    try:
        return Decimal(text) == argument
    except InvalidOperation:  # an exponent of so many digits is that of no integer here
        return False
