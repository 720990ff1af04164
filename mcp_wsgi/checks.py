"""What may stand in the parts that content is made of: text, URIs, media types, annotations, ``_meta``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from mcp_wsgi.jsonrpc import dumps

__all__ = [
    "ContentError",
    "check_annotations",
    "check_meta",
    "check_mime_type",
    "check_texts",
    "check_uri_text",
    "kind_of",
    "text_of",
]


class ContentError(Exception):
    """A handler built or returned something that is no content; the text says what is allowed."""


_LABEL = r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_META_KEY = re.compile(rf"(?:((?:{_LABEL}\.)*{_LABEL})/)?([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)")
_RESERVED_LABELS = frozenset({"modelcontextprotocol", "mcp"})
# Source: W3C Trace Context, "traceparent Header Field Values".
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_ISO_8601 = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?")
# A scheme and the characters of RFC 3986; which of them may stand where is ``uris.check_uri``'s.
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]*")
_MIME_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+(?:[ \t]*;.*)?")

# Field -> what its value must satisfy, and how that is said.
_ANNOTATIONS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "audience": (
        lambda value: isinstance(value, (list, tuple)) and all(role in ("user", "assistant") for role in value),
        "a list of 'user' and 'assistant'",
    ),
    "priority": (
        lambda value: isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1,
        "a number from 0 to 1",
    ),
    "lastModified": (
        lambda value: isinstance(value, str) and _ISO_8601.fullmatch(value) is not None,
        "an ISO 8601 date or time, such as '2025-01-12T15:00:58Z'",
    ),
}


def check_annotations(
    annotations: Mapping[str, Any], *, owner: str = "content", error: type[Exception] = ContentError
) -> dict[str, Any]:
    """Refuse annotations that no revision knows.

    Returns:
        A copy that shares nothing with them.

    Args:
        annotations: ``audience``, ``priority`` and ``lastModified``, as on the wire.
        owner: Who has them, for the error's text.
        error: What to raise.

    Raises:
        ContentError: Or ``error``: an unknown field or a wrong value.

    Source: server/resources, "Annotations".
    """
    if not isinstance(annotations, Mapping):
        raise error(f"annotations of {owner}: take a dict, not {kind_of(annotations)}")
    for name, value in annotations.items():
        if name not in _ANNOTATIONS:
            raise error(f"annotations of {owner}: unknown field {name!r}; there are {', '.join(_ANNOTATIONS)}")
        fits, wanted = _ANNOTATIONS[name]
        if not fits(value):
            raise error(f"annotations of {owner}: {name!r} takes {wanted}")
    return {name: value if isinstance(value, (str, int, float)) else [*value] for name, value in annotations.items()}


def check_meta(
    meta: Mapping[str, Any], *, owner: str = "content", error: type[Exception] = ContentError
) -> dict[str, Any]:
    """Refuse a ``_meta`` object that has no right to its keys, or is no JSON.

    Prefixes that any revision reserves for MCP are refused in all, since one value serves them all.

    Args:
        meta: The ``_meta`` object.
        owner: Who has it, for the error's text.
        error: What to raise.

    Returns:
        A copy as JSON builtins, that shares nothing with it.

    Raises:
        ContentError: Or ``error``: a malformed or reserved key, or a value that is no JSON.

    Source: basic/index, "_meta"; 2025-06-18 basic/index, "_meta".
    """
    if not isinstance(meta, Mapping):
        raise error(f"meta of {owner}: takes a dict, not {kind_of(meta)}")
    for key, value in meta.items():
        problem = _meta_key_problem(key) or _trace_problem(key, value)
        if problem:
            raise error(f"meta of {owner}: key {key!r} {problem}")
    try:
        copy: dict[str, Any] = msgspec.json.decode(dumps(dict(meta)))
    except (TypeError, ValueError, RecursionError):
        raise error(f"meta of {owner}: takes JSON: text, finite numbers, booleans, None, lists, dicts") from None
    return copy


def _meta_key_problem(key: Any) -> str | None:
    match = _META_KEY.fullmatch(key) if isinstance(key, str) else None
    if match is None:
        return "is malformed; write 'com.example/name' or 'name', of letters, digits and inner '-', '_', '.'"
    labels = match[1].split(".") if match[1] else []
    # The session era reserves such a label anywhere but at the end, the modern era in second place.
    if not _RESERVED_LABELS.isdisjoint([*labels[:-1], *labels[1:2]]):
        return "has a prefix reserved for MCP; use a domain of your own"
    return None


def _trace_problem(key: str, value: Any) -> str | None:
    if key == "traceparent" and not (isinstance(value, str) and _TRACEPARENT.fullmatch(value)):
        return "takes a W3C Trace Context value"
    if key in ("tracestate", "baggage") and not isinstance(value, str):
        return "takes text in its W3C format"
    return None


def text_of(value: Any, owner: str) -> str:
    """The value as plain text that UTF-8 can write.

    Raises:
        ContentError: It is none.
    """
    if not isinstance(value, str):
        raise ContentError(f"{owner} takes text, not {kind_of(value)}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ContentError(f"{owner}: the text holds a lone surrogate, which UTF-8 cannot write") from None
    # A plain str: the value of a str Enum, not its name.
    return str.__str__(value)


def check_texts(owner: str, *, error: type[Exception], **texts: Any) -> None:
    """Raise ``error`` unless each value is text that UTF-8 can write, or ``None``."""
    for name, value in texts.items():
        if value is not None:
            try:
                text_of(value, f"{owner}: {name}")
            except ContentError as problem:
                raise error(str(problem)) from None


def check_uri_text(value: Any, owner: str) -> None:
    """Raise ``ContentError`` unless the value is a URI with a scheme (RFC 3986)."""
    if not isinstance(value, str) or not _URI.fullmatch(value):
        raise ContentError(f"{owner}: 'uri' takes a URI with a scheme (RFC 3986), other characters percent-encoded")


def check_mime_type(value: Any, owner: str) -> None:
    """Raise ``ContentError`` unless the value is a media type (RFC 9110, 8.3.1) or ``None``."""
    if value is not None and not (isinstance(value, str) and _MIME_TYPE.fullmatch(value)):
        raise ContentError(f"{owner}: 'mime_type' takes text such as 'image/png'")


def kind_of(value: Any) -> str:
    """How an error message names a value: by its type alone."""
    return f"a value of type {type(value).__qualname__}"
