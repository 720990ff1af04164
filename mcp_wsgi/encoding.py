"""Any structured value as JSON builtins: dict, list, str, int, float, bool and None, nothing else.

What leaves here can be encoded by any JSON encoder and read by any client: numbers are finite, text
is valid Unicode, names of properties are text. The result shares no container with the value, so an
application may go on changing what it returned.
"""

from __future__ import annotations

import ipaddress
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from math import isfinite
from typing import Any

import msgspec

from mcp_wsgi.content import Content
from mcp_wsgi.excerpts import shorten
from mcp_wsgi.problems import Steps, render_path

__all__ = ["OutputError", "to_json"]


class OutputError(Exception):
    """What a callback returned cannot be sent, or is not what it promised; the text is for developers."""


class _Unfit(Exception):
    """No JSON can say this; ``steps`` grows on the way out."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        self.steps: Steps = ()


def to_json(value: Any, *, promised_bytes: bool = False) -> Any:
    """Turn a value into JSON builtins.

    Args:
        value: JSON builtins; dataclass, NamedTuple, attrs, msgspec or pydantic instances; enum
            members (their values), date, time, datetime, timedelta (ISO 8601), ``Decimal``, ``UUID``,
            paths and IP addresses (text), sets, and containers of all these. Bytes only where a type
            says so, as a field of a dataclass does (base64): a client cannot tell them from text.
            Integers as names are written as text, as all JSON writers do it.
        promised_bytes: Whether the schema that the value goes with says that there are bytes.

    Raises:
        OutputError: JSON cannot say it: NaN, infinity, a name that is neither text nor an integer,
            two names that are the same text, half a surrogate pair, bytes that nobody announced, a
            value that contains itself, or another type.

    Source: RFC 8259; RFC 4648, section 4.
    """
    try:
        return _clean(_convert(value) if promised_bytes else value)
    except _Unfit as error:
        path = render_path(error.steps)
        raise OutputError(f"{path}: {error.reason}" if path else error.reason) from None
    except RecursionError:
        raise OutputError("the value contains itself, or is nested too deeply") from None


_SAFE = frozenset({bool, type(None)})
_JUST_TEXT, _JUST_WHOLE = frozenset({str}), frozenset({int})
_BYTES = frozenset({bytes, bytearray, memoryview})
# Python writes and reads no integer of more digits, nor does msgspec.
_HUGE = 10**4300


def _clean(value: Any) -> Any:
    kind = type(value)
    if kind is str:
        return value if value.isascii() else _unicode(value)
    if kind in _SAFE:
        return value
    if kind is int:
        if not -_HUGE < value < _HUGE:
            raise _Unfit("the number has thousands of digits, which no client reads")
        return value
    if kind is dict:
        return _object(value)
    if kind is list or kind is tuple:
        return _array(value)
    if kind is float:
        if not isfinite(value):
            raise _Unfit(f"{value} is no JSON number; return None, or a finite number")
        return value
    if kind in _BYTES:
        raise _Unfit("bytes have no JSON form; annotate them to have them sent as base64, or return them alone")
    return _clean(_convert(value))


def _unicode(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _Unfit("the text holds half a surrogate pair, which UTF-8 cannot say") from None
    return text


def _object(value: dict[Any, Any]) -> dict[str, Any]:
    if set(map(type, value)) != _JUST_TEXT and value:
        value = _with_text_keys(value)
    found = {}
    for name, item in value.items():
        kind = type(item)
        if not name.isascii():
            _unicode(name)
        if (kind is str and item.isascii()) or (kind is int and -_HUGE < item < _HUGE) or kind in _SAFE:
            found[name] = item
            continue
        try:
            found[name] = _OF.get(kind, _clean)(item)
        except _Unfit as error:
            error.steps = (name, *error.steps)
            raise
    return found


def _array(value: Sequence[Any]) -> list[Any]:
    kinds = set(map(type, value))
    if kinds == _JUST_TEXT and all(map(str.isascii, value)):
        return list(value)
    if kinds == _JUST_WHOLE and min(value) > -_HUGE and max(value) < _HUGE:
        return list(value)
    found = []
    for number, item in enumerate(value):
        try:
            found.append(_OF.get(type(item), _clean)(item))
        except _Unfit as error:
            error.steps = (number, *error.steps)
            raise
    return found


# What is nested takes one call for each level: a server may have used much of the stack before.
_OF: Mapping[type, Callable[[Any], Any]] = {dict: _object, list: _array, tuple: _array}


def _with_text_keys(value: dict[Any, Any]) -> dict[str, Any]:
    """The same with integers, enum members, UUIDs and dates as names turned into text."""
    found: dict[str, Any] = {}
    for key, item in value.items():
        name = key if type(key) in (str, int) else next(iter(_convert({key: None})))
        if type(name) is int:
            name = str(_clean(name))
        if type(name) is not str:
            raise _Unfit(f"{shorten(repr(name))} is no text, as the names in a JSON object must be")
        if name in found:
            raise _Unfit(f"two names are both {shorten(repr(name))} as text")
        found[name] = item
    return found


def _convert(value: Any) -> Any:
    if isinstance(value, Content):
        raise _Unfit(f"{type(value).__name__} is content, and cannot be a part of structured data")
    try:
        # Before msgspec sees it: a pydantic dataclass is a dataclass too, with rules of its own.
        if hasattr(type(value), "__pydantic_serializer__"):
            return _encode(value)
        return msgspec.to_builtins(value, enc_hook=_encode)
    except (TypeError, ValueError) as error:
        raise _Unfit(shorten(str(error))) from error


def _encode(value: Any) -> Any:
    """Turn what msgspec does not know into something it knows.

    Raises:
        TypeError: There is nothing to turn it into.
    """
    for base in (str, int, float):
        if isinstance(value, base):
            return base(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (Sequence, AbstractSet)):
        return list(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (ipaddress.IPv4Address, ipaddress.IPv6Address)):
        return str(value)
    if type(value).__module__.partition(".")[0] == "pydantic" or hasattr(type(value), "__pydantic_serializer__"):
        return sys.modules["pydantic_core"].to_jsonable_python(value, by_alias=True)
    name = type(value).__name__
    raise TypeError(f"{name} is no type that JSON knows: return text, content blocks or structured data")
