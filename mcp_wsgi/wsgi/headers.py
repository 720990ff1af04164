"""Rules of single header fields: what a client accepts, sends, and repeats from the body. Pure."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec

from mcp_wsgi.errors import HeaderMismatch
from mcp_wsgi.schema import Arguments, argument_at, header_value_matches

__all__ = [
    "Accepted",
    "accepted",
    "check_name",
    "check_parameters",
    "decode_sentinel",
    "field",
    "is_json",
]

JSON = "application/json"
SSE = "text/event-stream"


class Accepted(msgspec.Struct, frozen=True):
    """Which of the two answer types a client takes."""

    json: bool
    sse: bool


# Clients send few different values, each with every request.
@lru_cache(maxsize=256)
def accepted(value: str | None) -> Accepted:
    """Read an ``Accept`` field; absent or empty accepts everything.

    Source: RFC 9110, 12.5.1.
    """
    if not value or not value.strip():
        return Accepted(json=True, sse=True)
    ranges = [_media_range(item) for item in value.split(",")]
    return Accepted(json=_takes(ranges, JSON), sse=_takes(ranges, SSE))


def _media_range(item: str) -> tuple[str, bool]:
    kind, *parameters = (part.strip().lower() for part in item.split(";"))
    refused = any(re.fullmatch(r"q\s*=\s*0(\.0*)?", parameter) for parameter in parameters)
    return kind, not refused


def _takes(ranges: list[tuple[str, bool]], kind: str) -> bool:
    family = kind.partition("/")[0] + "/*"
    for pattern in (kind, family, "*/*"):  # the most specific range decides
        verdicts = [wanted for given, wanted in ranges if given == pattern]
        if verdicts:
            return any(verdicts)
    return False


@lru_cache(maxsize=256)
def is_json(value: str) -> bool:
    """Whether a ``Content-Type`` says JSON in an encoding that JSON has."""
    kind, *parameters = (part.strip().lower() for part in value.split(";"))
    if kind != JSON or _is_joined(value):
        return False
    charsets = [part.partition("=")[2].strip().strip('"') for part in parameters if part.startswith("charset")]
    return all(charset in ("utf-8", "utf8") for charset in charsets)


def _is_joined(value: str) -> bool:
    """Whether it is two values, which servers join with a comma, and one of them may be anything."""
    outside_of_quotes = value.split('"')[::2]
    return value.count('"') % 2 == 1 or any("," in part for part in outside_of_quotes)


_PLAIN = re.compile(r"[\t\x20-\x7e]*")


def field(headers: Mapping[str, str], name: str) -> str | None:
    """A recognised field's value without the white space around it.

    Raises:
        HeaderMismatch: It holds anything but visible ASCII, space and tab.

    Source: basic/transports/streamable-http, "Value Encoding"; RFC 9110, 5.5.
    """
    value = headers.get(name)
    if value is None:
        return None
    if not (value.isascii() and value.isprintable()) and not _PLAIN.fullmatch(value):
        raise HeaderMismatch(f"Header mismatch: {name} holds characters that a header may not have")
    return value.strip(" \t")


_PREFIX, _SUFFIX = "=?base64?", "?="


def decode_sentinel(name: str, value: str) -> str:
    """Undo the Base64 wrapping of values that are no plain header text.

    A value without both markers, or with markers in another case, is literal.

    Raises:
        HeaderMismatch: What stands between the markers is no Base64 of UTF-8.

    Source: SEP-2243, "Base64 Decoding".
    """
    if not (value.startswith(_PREFIX) and value.endswith(_SUFFIX) and len(value) >= len(_PREFIX) + len(_SUFFIX)):
        return value
    encoded = value[len(_PREFIX) : -len(_SUFFIX)]
    try:
        # Python 3.10 overlooks padding in excess.
        if len(encoded) % 4 == 0:
            return base64.b64decode(encoded.encode(), validate=True).decode()
    except ValueError:
        pass
    raise HeaderMismatch(f"Header mismatch: {name} is no Base64 of UTF-8")


def check_name(headers: Mapping[str, str], expected: Any) -> None:
    """Compare ``Mcp-Name`` with the name or URI in the body.

    Raises:
        HeaderMismatch: It is missing or differs.

    Source: basic/transports/streamable-http, "Standard Request Headers".
    """
    value = field(headers, "Mcp-Name")
    if value is None:
        raise HeaderMismatch("Header mismatch: Mcp-Name is missing")
    # A body without a string there has another fault, which its own check will name.
    if isinstance(expected, str) and decode_sentinel("Mcp-Name", value) != expected:
        raise HeaderMismatch("Header mismatch: Mcp-Name differs from the body")


def check_parameters(headers: Mapping[str, str], declared: Arguments, arguments: dict[str, Any]) -> None:
    """Compare each ``Mcp-Param-*`` field that a tool declares with its argument.

    Raises:
        HeaderMismatch: One is missing, superfluous or differs.

    Source: basic/transports/streamable-http, "Server Behavior for Custom Headers".
    """
    for parameter in declared.headers:
        value = field(headers, parameter.header)
        argument = argument_at(arguments, parameter.path)
        if argument is None:
            if value is not None:
                raise HeaderMismatch(f"Header mismatch: {parameter.header} has no argument to go with")
        elif value is None:
            raise HeaderMismatch(f"Header mismatch: {parameter.header} is missing")
        elif not header_value_matches(parameter, argument, decode_sentinel(parameter.header, value)):
            raise HeaderMismatch(f"Header mismatch: {parameter.header} differs from the argument")
