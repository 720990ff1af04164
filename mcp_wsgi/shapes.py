"""Shapes: a JSON Schema and the converter that agrees with it, made together so that they cannot drift.

Every function here makes or combines shapes. A converter takes a JSON value (what a JSON decoder
gives) and returns the Python value, or raises ``Mismatch`` with *all* that is wrong. It accepts what
the schema accepts, except where a schema cannot say all: text with a ``format`` or an encoding, the
checks of an application's own classes, numbers beyond the range of a float.
"""

from __future__ import annotations

import base64
import copy
import datetime
import functools
import ipaddress
import re
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from math import isfinite
from typing import Any, TypeAlias, Union

import msgspec

from mcp_wsgi.decoding import decode_json
from mcp_wsgi.effort import effort
from mcp_wsgi.patterns import finder
from mcp_wsgi.problems import MAX_FAULTS, Fault, Mismatch, closest, mismatch

__all__ = [
    "ANYTHING",
    "DECIMAL_SENT",
    "MAX_DECODED_DEPTH",
    "NUMBER",
    "SCALARS",
    "TEXT",
    "Field",
    "Schema",
    "Shape",
    "array",
    "choice",
    "collect",
    "fixed_array",
    "mapping",
    "parse_json",
    "record",
    "subclass",
    "understood",
    "union",
]

#: Levels of objects and arrays in a value that was sent as JSON in a text.
MAX_DECODED_DEPTH = 64

Schema: TypeAlias = "dict[str, Any]"
Convert: TypeAlias = Callable[[Any], Any]

TEXT: frozenset[type] = frozenset({str})
NUMBER: frozenset[type] = frozenset({int, float})
_EVERYTHING: frozenset[type] = frozenset({str, int, float, bool, type(None), list, dict})

_NO_TAGS: Mapping[str, Sequence[Any]] = {}


class Shape:
    """What a type hint means in JSON.

    Attributes:
        schema: JSON Schema; types that have a name are ``$ref``s into ``$defs``.
        convert: JSON value -> Python value; raises ``Mismatch``.
        natives: The JSON types (as Python types) that it takes as they are.
        parse: Text, as prompts and URIs give it -> the JSON value that is meant; never raises.
        exact: A type that ``msgspec.convert`` takes to the very values that ``convert`` returns, and
            refuses whatever ``convert`` refuses; ``None`` if there is none. It may refuse more.
        ordered: Whether bounds apply to the converted value, not to the JSON value.
        options: Of a shape that takes nothing but listed JSON values, these.
        tags: Of a shape that takes objects, its properties that must have a listed value -> these.
    """

    __slots__ = ("convert", "exact", "natives", "options", "ordered", "parse", "schema", "tags")

    def __init__(
        self,
        schema: Schema,
        convert: Convert,
        natives: frozenset[type],
        *,
        parse: Callable[[str], Any] | None = None,
        exact: Any = None,
        ordered: bool = False,
        options: Sequence[Any] = (),
        tags: Mapping[str, Sequence[Any]] = _NO_TAGS,
    ) -> None:
        self.schema = schema
        self.convert = convert
        self.natives = natives
        self.parse = parse or (_as_is if str in natives else parse_json)
        self.exact = exact
        self.ordered = ordered
        self.options = options
        self.tags = tags

    def read(self, text: str) -> Any:
        """Text -> Python value; raises ``Mismatch``."""
        return self.convert(self.parse(text))

    def noted(self, remarks: Mapping[str, Any]) -> Shape:
        """The same shape with other remarks (``description``, ``default`` ...) in its schema."""
        same = copy.copy(self)
        same.schema = {**self.schema, **remarks}
        return same


def _as_is(value: Any) -> Any:
    return value


def parse_json(text: str) -> Any:
    """What a text says in JSON; the text itself if it is none, or deeper than ``MAX_DECODED_DEPTH``."""
    try:
        value = decode_json(text)
    except (ValueError, RecursionError):
        return text
    return text if _deeper(value, MAX_DECODED_DEPTH) else value


def _deeper(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [inner for part in level if isinstance(part, (dict, list)) for inner in _inside(part)]
        if not level:
            return False
    return True


def _inside(part: Any) -> Iterable[Any]:
    return part.values() if isinstance(part, dict) else part


def _count(value: Any) -> None:
    work = effort()
    if work is not None:
        work.spend(1 + len(value))


def collect(faults: list[Fault], step: str | int, error: Mismatch) -> bool:
    """Add what is wrong with a part; whether that is enough to stop."""
    faults.extend(fault.below(step) for fault in error.faults)
    return len(faults) >= MAX_FAULTS


# --- scalars --------------------------------------------------------------------------------------


def _text(value: Any) -> str:
    if type(value) is str:
        return value
    raise mismatch("type", ("string",), value)


def _integer(value: Any) -> int:
    if type(value) is int:
        return value
    # JSON Schema calls any number without a fraction an integer, however it is written.
    if type(value) is float and value.is_integer():
        return int(value)
    raise mismatch("type", ("integer",), value)


def _number(value: Any) -> float:
    if type(value) is float:
        return value
    if type(value) is not int:
        raise mismatch("type", ("number",), value)
    try:
        return float(value)
    except OverflowError:
        raise mismatch("value", "the number is too large", value) from None


def _boolean(value: Any) -> bool:
    if type(value) is bool:
        return value
    raise mismatch("type", ("boolean",), value)


def _null(value: Any) -> None:
    if value is not None:
        raise mismatch("type", ("null",), value)


_WHOLE = re.compile(r"[+-]?[0-9]+")
_REAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
# More digits than int() reads by default.
_MANY_DIGITS = 4300
_SWITCH: Mapping[str, bool] = {"true": True, "1": True, "false": False, "0": False}


def _parse_number(text: str) -> Any:
    if _WHOLE.fullmatch(text) and len(text) <= _MANY_DIGITS:
        return int(text)
    if _REAL.fullmatch(text) and isfinite(float(text)):
        return float(text)
    return text


def _parse_boolean(text: str) -> Any:
    return _SWITCH.get(text.lower(), text)


def _parse_null(text: str) -> Any:
    return None if text in ("", "null") else text


_DECIMAL = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_is_decimal = finder(_DECIMAL)


def _decimal(value: Any) -> Decimal:
    if type(value) is int:
        return Decimal(value)
    if type(value) is float:
        return Decimal(repr(value))
    if type(value) is not str:
        raise mismatch("type", ("number", "string"), value)
    if not _is_decimal(value):
        raise mismatch("format", "decimal", value)
    try:
        return Decimal(value)
    except InvalidOperation:  # an exponent beyond all bounds
        raise mismatch("format", "decimal", value) from None


def _parsed(kind: type, parse: Callable[[str], Any], form: str, *, exact: bool = False, ordered: bool = False) -> Shape:
    def convert(value: Any) -> Any:
        try:
            return parse(_text(value))
        except ValueError:  # also what msgspec raises
            raise mismatch("format", form, value) from None

    schema = {"type": "string"}
    if form == "base64":
        schema["contentEncoding"] = form
    else:
        schema["format"] = form
    return Shape(schema, convert, TEXT, exact=kind if exact else None, ordered=ordered)


def _by_msgspec(kind: type, form: str, *, ordered: bool = True) -> Shape:
    return _parsed(kind, lambda text: msgspec.convert(text, kind), form, exact=True, ordered=ordered)


def _scalar(name: str, kind: type, convert: Convert, parse: Callable[[str], Any]) -> Shape:
    return Shape({"type": name}, convert, frozenset({kind}), parse=parse, exact=kind)


def _base64(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


ANYTHING = Shape({}, _as_is, _EVERYTHING, exact=Any)

#: The shapes of the types that have no parts.
SCALARS: Mapping[Any, Shape] = {
    Any: ANYTHING,
    object: ANYTHING,
    str: _scalar("string", str, _text, _as_is),
    int: _scalar("integer", int, _integer, _parse_number),
    float: _scalar("number", float, _number, _parse_number),
    bool: _scalar("boolean", bool, _boolean, _parse_boolean),
    type(None): _scalar("null", type(None), _null, _parse_null),
    Decimal: Shape({"type": ["number", "string"], "pattern": _DECIMAL}, _decimal, TEXT | NUMBER, ordered=True),
    bytes: _parsed(bytes, _base64, "base64"),
    datetime.date: _by_msgspec(datetime.date, "date"),
    datetime.datetime: _by_msgspec(datetime.datetime, "date-time"),
    datetime.time: _by_msgspec(datetime.time, "time"),
    datetime.timedelta: _by_msgspec(datetime.timedelta, "duration"),
    uuid.UUID: _by_msgspec(uuid.UUID, "uuid", ordered=False),
    ipaddress.IPv4Address: _parsed(ipaddress.IPv4Address, ipaddress.IPv4Address, "ipv4"),
    ipaddress.IPv6Address: _parsed(ipaddress.IPv6Address, ipaddress.IPv6Address, "ipv6"),
}
#: How a ``Decimal`` is sent.
DECIMAL_SENT: Schema = {"type": "string", "pattern": _DECIMAL}


def subclass(base: Shape, make: Callable[[Any], Any]) -> Shape:
    """A type that is made from the value of another, such as a path from text."""

    def convert(value: Any) -> Any:
        return _build(make, base.convert(value), value)

    return Shape(base.schema, convert, base.natives, parse=base.parse)


def _build(make: Callable[[Any], Any], value: Any, given: Any) -> Any:
    try:
        return make(value)
    except (TypeError, ValueError) as error:
        raise mismatch("value", str(error) or type(error).__name__, given) from error


_NAMES = {str: "string", bool: "boolean", int: "integer", type(None): "null", float: "number"}


def choice(options: Sequence[tuple[Any, Any]], exact: Any = None) -> Shape:
    """One of several JSON scalars.

    Args:
        options: Pairs of what the client sends and what the function gets.
        exact: See ``Shape``; kept only where msgspec has the same idea of equality.
    """
    sent = [value for value, _ in options]
    kinds: set[type] = {type(value) for value in sent}
    table = {_identity(value): result for value, result in options}

    def convert(value: Any) -> Any:
        if type(value) in _NAMES:
            found = table.get(_identity(value), table)
            if found is not table:
                return found
        raise mismatch("enum", sent, value)

    def parse(text: str) -> Any:
        for value in sent:
            if text == (value if type(value) is str else msgspec.json.encode(value).decode()):
                return value
        return _parse_boolean(text) if bool in kinds else text

    schema: Schema = {"enum": sent}
    if len(kinds) == 1:
        schema = {"type": _NAMES[next(iter(kinds))], **schema}
    natives = kinds | NUMBER if kinds & NUMBER else kinds
    known = exact if kinds in ({str}, {int}) else None
    return Shape(schema, convert, frozenset(natives), parse=parse, exact=known, options=sent)


# --- containers -----------------------------------------------------------------------------------


def array(
    item: Shape, make: Callable[[list[Any]], Any] | None = None, exact: Callable[[Any], Any] | None = None
) -> Shape:
    """Any number of items of one shape.

    Args:
        item: The shape of each.
        make: What the list is turned into; default: it stays a list.
        exact: The msgspec type for that, given the items' own.
    """

    def convert(value: Any) -> Any:
        if type(value) is not list:
            raise mismatch("type", ("array",), value)
        _count(value)
        one = item.convert
        found: list[Any] = []
        faults: list[Fault] = []
        for number, part in enumerate(value):
            try:
                found.append(one(part))
            except Mismatch as error:
                if collect(faults, number, error):
                    break
        if faults:
            raise Mismatch(faults)
        return _build(make, found, value) if make is not None else found

    known = exact(item.exact) if exact is not None and item.exact is not None else None
    return Shape({"type": "array", "items": item.schema}, convert, frozenset({list}), exact=known)


def fixed_array(
    items: Sequence[Shape], make: Callable[[list[Any]], Any], *, required: int | None = None, exact: Any = None
) -> Shape:
    """A list with a shape for each place.

    Args:
        items: The shapes, in order.
        make: What the list of converted items is turned into.
        required: How many must be there; default: all.
        exact: See ``Shape``.
    """
    least, most = len(items) if required is None else required, len(items)

    def convert(value: Any) -> Any:
        if type(value) is not list:
            raise mismatch("type", ("array",), value)
        faults: list[Fault] = []
        if len(value) < least:
            faults.append(Fault((), "minItems", least, value))
        if len(value) > most:
            faults.append(Fault((), "maxItems", most, value))
        found: list[Any] = []
        for number, (item, part) in enumerate(zip(items, value, strict=False)):
            try:
                found.append(item.convert(part))
            except Mismatch as error:
                collect(faults, number, error)
        if faults:
            raise Mismatch(faults)
        return _build(make, found, value)

    schema: Schema = {"type": "array", "minItems": least, "maxItems": most}
    if items:
        schema["prefixItems"] = [item.schema for item in items]
    return Shape(schema, convert, frozenset({list}), exact=exact)


def mapping(key: Shape, item: Shape, make: Callable[[dict[Any, Any]], Any] | None = None) -> Shape:
    """An object with any names and values of one shape; names are text, read by the shape ``key``.

    Raises:
        ValueError: Keys of that shape cannot be told from text.
    """
    plain, whole = key is SCALARS[str], key is SCALARS[int]
    if not whole and key.natives != TEXT:
        raise ValueError("the names in a JSON object are text")
    read = _whole_name if whole else key.convert

    def convert(value: Any) -> Any:
        if type(value) is not dict:
            raise mismatch("type", ("object",), value)
        _count(value)
        one = item.convert
        found: dict[Any, Any] = {}
        faults: list[Fault] = []
        for name, part in value.items():
            try:
                found[read(name)] = one(part)
            except Mismatch as error:
                if collect(faults, name, error):
                    break
        if faults:
            raise Mismatch(faults)
        return _build(make, found, value) if make is not None else found

    schema: Schema = {"type": "object"}
    if item.schema:
        schema["additionalProperties"] = item.schema
    if not plain:
        schema["propertyNames"] = {"pattern": _WHOLE_NAME} if whole else key.schema
    known: Any = dict
    exact = known[str, item.exact] if plain and make is None and item.exact is not None else None
    return Shape(schema, convert, frozenset({dict}), exact=exact)


_WHOLE_NAME = "^-?[0-9]+$"
_is_whole_name = finder(_WHOLE_NAME)


def _whole_name(name: str) -> int:
    if not _is_whole_name(name) or len(name) > _MANY_DIGITS:
        raise mismatch("pattern", _WHOLE_NAME, name)
    return int(name)


class Field(msgspec.Struct, frozen=True):
    """A property of a record.

    Attributes:
        name: Its name in JSON.
        target: The keyword that it is passed as.
        shape: What it holds.
        required: Whether it must be there.
        notes: Annotations that go into its schema (``description``, ``default``).
    """

    name: str
    target: str
    shape: Shape
    required: bool = True
    notes: Mapping[str, Any] = {}

    @property
    def schema(self) -> Schema:
        """The property's schema with its notes."""
        return {**self.shape.schema, **self.notes}


def record(fields: Sequence[Field], make: Callable[..., Any] | None, *, closed: bool, lax: bool = False) -> Shape:
    """An object with known properties.

    Args:
        fields: The properties.
        make: Called with their converted values by keyword; default: these as a dict.
        closed: Whether other properties are refused; if not, they are ignored.
        lax: Whether the values are texts, to be read (``Shape.read``).
    """
    by_name = {field.name: (field.target, field.shape) for field in fields}
    required = [field.name for field in fields if field.required]
    names = [field.name for field in fields]

    def convert(value: Any) -> Any:
        if type(value) is not dict:
            raise mismatch("type", ("object",), value)
        _count(value)
        found: dict[str, Any] = {}
        faults = [Fault((name,), "required", None, None) for name in required if name not in value]
        for name, part in value.items():
            if name in by_name:
                target, shape = by_name[name]
                try:
                    found[target] = shape.read(_text(part)) if lax else shape.convert(part)
                except Mismatch as error:
                    collect(faults, name, error)
            elif closed:
                faults.append(Fault((), "unknown", names, name))
            if len(faults) >= MAX_FAULTS:
                break
        if faults:
            raise Mismatch(faults)
        return _build(lambda given: make(**given), found, value) if make is not None else found

    schema: Schema = {"type": "object"}
    if fields:
        schema["properties"] = {field.name: field.schema for field in fields}
    if required:
        schema["required"] = required
    if closed:
        schema["additionalProperties"] = False
    tags = {field.name: field.shape.options for field in fields if field.required and field.shape.options}
    return Shape(schema, convert, frozenset({dict}), tags=tags)


# --- unions ---------------------------------------------------------------------------------------


# Subscripted with what is only known at run time.
_UNION: Any = Union


def union(members: Sequence[Shape]) -> Shape:
    """The first of several shapes that takes a value; those that take it as it is come first.

    That rule only matters for numbers: of ``float | int``, 3 becomes an int and 3.5 a float. Of
    objects that are told apart by a property, only those are tried that its value names.
    """
    if len(members) == 1:
        return members[0]
    # Members that are being read have no tags yet.
    narrow = functools.cache(lambda: _by_tag(members))
    orders = {kind: sorted(members, key=lambda m: kind not in m.natives) for kind in _EVERYTHING}

    def convert(value: Any) -> Any:
        kind = type(value)
        tried = narrow()(value) if kind is dict else orders.get(kind, members)
        # The scalars have no parts to walk down, and one alternative is no choice.
        work = effort() if len(tried) > 1 and kind in (dict, list) else None
        faults = []
        for member in tried:
            try:
                return member.convert(value) if work is None else work.outcome(id(member), member.convert, value)
            except Mismatch as error:
                faults.append(error.faults)
        raise Mismatch(closest(faults))

    def parse(text: str) -> Any:
        # An empty text is null only if nothing else can be made of it.
        for member in sorted(members, key=lambda m: m is SCALARS[type(None)]):
            value = member.parse(text)
            try:
                member.convert(value)
            except Mismatch:
                continue
            return value
        return text

    natives: frozenset[type] = frozenset().union(*(member.natives for member in members))
    ordered = any(member.ordered for member in members)
    schema = {"anyOf": [member.schema for member in members]}
    return Shape(schema, convert, natives, parse=parse, exact=_exact_union(members), ordered=ordered)


def _by_tag(members: Sequence[Shape]) -> Callable[[dict[str, Any]], Sequence[Shape]]:
    """What to try for an object: raises ``Mismatch`` if a property rules all out."""
    takers = [member for member in members if dict in member.natives]
    others = [member for member in members if dict not in member.natives]
    shared = [name for name in (takers[0].tags if takers else ()) if all(name in member.tags for member in takers)]
    if len(takers) < 2 or not shared:
        order = [*takers, *others]
        return lambda value: order
    # The property that has a value for each alone is the one that tells them apart, if there is one.
    tag = max(shared, key=lambda name: len({_identity(o) for member in takers for o in member.tags[name]}))
    table: dict[Any, list[Shape]] = {}
    for member in takers:
        for option in member.tags[tag]:
            table.setdefault(_identity(option), []).append(member)
    options = [option for member in takers for option in member.tags[tag]]

    def narrow(value: dict[str, Any]) -> Sequence[Shape]:
        if tag not in value:
            return takers
        given = value[tag]
        found = table.get(_identity(given)) if type(given) in _NAMES else None
        if found is None:
            raise Mismatch((Fault((tag,), "enum", options, given),))
        return found

    return narrow


def _identity(value: Any) -> tuple[bool, Any]:
    # In Python True == 1, in JSON it is not.
    return type(value) is bool, value


def _exact_union(members: Sequence[Shape]) -> Any:
    known = [member.exact for member in members]
    if None in known:
        return None
    exact: Any = _UNION[tuple(known)]
    return exact if understood(exact) else None  # if not, msgspec cannot tell the members apart


def understood(exact: Any) -> bool:
    """Whether msgspec can convert to a type."""
    try:
        msgspec.json.Decoder(exact)
    except (TypeError, ValueError, NotImplementedError):
        return False
    return exact is not None
