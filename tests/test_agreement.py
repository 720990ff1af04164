"""Schemas and conversions agree, for any type and any value; so do the quick and the careful way.

Held against the jsonschema library, not against our own use of it.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import ipaddress
import pathlib
import uuid
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple, NewType, Optional, Union

import annotated_types as at
import attrs
import jsonschema
import msgspec
import pytest
import typing_extensions
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_wsgi.errors import RegistrationError
from mcp_wsgi.problems import Mismatch
from mcp_wsgi.schema import ArgumentErrors, Arguments
from tests.ecma import Reference

# --- any type -------------------------------------------------------------------------------------


class Colour(enum.Enum):
    RED = "r"
    GREEN = "g"


class Level(enum.IntEnum):
    LOW = 1


class Mixed(enum.Enum):
    A = 0.5
    B = True
    C = None
    D = "x"
    E = 3


UserId = NewType("UserId", int)
_UNION: Any = Union
_TYPED_DICT: Any = typing_extensions.TypedDict

leaves = st.sampled_from(
    [
        *(str, int, float, bool, None, Any, Colour, Level, Mixed, UserId, list, dict, tuple, set),
        *(datetime.date, datetime.datetime, datetime.time, datetime.timedelta, Decimal, uuid.UUID, bytes),
        *(ipaddress.IPv4Address, pathlib.PurePath),
        *(Literal["a", "b"], Literal[1, 2], Literal[True], Literal[1, "a", None], Literal[False, 0]),  # noqa: PYI061
        *(Annotated[int, at.Ge(2)], Annotated[int, at.Gt(2), at.Lt(5)], Annotated[int, at.MultipleOf(3)]),
        *(Annotated[float, at.Ge(0.5)], Annotated[float, at.MultipleOf(0.1)], Annotated[int, at.Ge(1.5)]),
        *(Annotated[int, at.Le(2**60)], Annotated[float, at.Lt(2**53)], Annotated[Decimal, at.Ge(1)]),
        *(Annotated[str, at.MinLen(2)], Annotated[str, msgspec.Meta(pattern="^a+$", max_length=3)]),
        *(Annotated[str, {"pattern": "b$"}], Annotated[float, {"multipleOf": 0.1}]),
        *(Annotated[str | None, at.MinLen(1)], Annotated[int | None, at.Ge(3)], Annotated[Any, at.Len(1, 2)]),
        *(Annotated[str, {"enum": ["a", "bb"]}], Annotated[int, {"minimum": 2}]),
        Annotated[dict, {"properties": {"a": {"type": "integer"}}, "required": ["a"]}],
    ]
)

Fields = list[tuple[Any, bool]]


def a_dataclass(fields: Fields) -> Any:
    optional = dataclasses.field(default=None)
    members = [
        (f"f{n}", hint, optional) if has_default else (f"f{n}", hint) for n, (hint, has_default) in enumerate(fields)
    ]
    return dataclasses.make_dataclass("Made", members, kw_only=True)


def a_typed_dict(fields: Fields) -> Any:
    members = {f"f{n}": typing_extensions.NotRequired[hint] if may else hint for n, (hint, may) in enumerate(fields)}
    return _TYPED_DICT("Made", members)


def a_named_tuple(fields: Fields) -> Any:
    return NamedTuple("Made", [(f"f{n}", hint) for n, (hint, _) in enumerate(fields)])


def a_struct(fields: Fields) -> Any:
    members = [
        (f"f{n}", hint, None) if has_default else (f"f{n}", hint) for n, (hint, has_default) in enumerate(fields)
    ]
    closed, tagged = len(fields) % 2 == 0, len(fields) % 3 == 0
    return msgspec.defstruct("Made", members, kw_only=True, forbid_unknown_fields=closed, tag=tagged)


def an_attrs_class(fields: Fields) -> Any:
    default: dict[bool, dict[str, Any]] = {True: {"default": None}, False: {}}
    members = {f"f{n}": attrs.field(type=hint, **default[may]) for n, (hint, may) in enumerate(fields)}
    return attrs.make_class("Made", members, kw_only=True)


def combined(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    def made(build: Callable[..., Any], *parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        def attempt(values: tuple[Any, ...]) -> Any:
            try:
                return build(*values)
            except TypeError:  # a union of what cannot be hashed
                return int

        return st.tuples(*parts).map(attempt)

    keys = st.sampled_from([str, int, Colour, uuid.UUID, Annotated[str, at.MinLen(1)]])
    hashable = st.sampled_from([int, str, float, bool, Any, Colour, float | int])
    fields = st.lists(st.tuples(inner, st.booleans()), max_size=3)
    kinds = st.sampled_from([a_dataclass, a_typed_dict, a_named_tuple, a_struct, an_attrs_class])
    return st.one_of(
        made(lambda item: list[item], inner),  # type: ignore[valid-type]
        made(lambda item: Sequence[item], inner),  # type: ignore[valid-type]
        made(lambda item: tuple[item, ...], inner),  # type: ignore[valid-type]
        made(lambda one, two: tuple[one, two], inner, inner),  # type: ignore[valid-type]
        made(lambda key, item: dict[key, item], keys, inner),  # type: ignore[valid-type]
        made(lambda item: set[item], hashable),  # type: ignore[valid-type]
        made(lambda item: Annotated[list[item], at.Len(1, 2)], inner),  # type: ignore[valid-type]
        made(lambda item: Annotated[dict[str, item], at.MaxLen(1)], inner),  # type: ignore[valid-type]
        made(lambda item: Optional[item], inner),  # noqa: UP045
        made(lambda one, two: _UNION[one, two], inner, inner),
        made(lambda one, two, three: _UNION[one, two, three], inner, inner, inner),
        made(lambda kind, members: kind(members), kinds, fields),
    )


hints = st.recursive(leaves, combined, max_leaves=5)

# --- any value, most of them nearly right ---------------------------------------------------------

EXAMPLES = {
    "date": "2024-01-01",
    "date-time": "2024-01-01T00:00:00Z",
    "time": "10:00:00",
    "duration": "PT1S",
    "uuid": "12345678-1234-5678-1234-567812345678",
    "ipv4": "127.0.0.1",
}
texts = st.sampled_from(
    [*EXAMPLES.values(), "", "a", "aa", "b", "r", "x", "1", "1.5", "YWJj", "null", "[1]", "a\n", "NaN"]
)
numbers = st.one_of(
    st.integers(-5, 7),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([3.0, 0.5, -0.0, 0.3, 2.0, 1.0, 1e300, 2**53 + 1, 2**63, -(2**70), 2.0**53]),
)
names = st.sampled_from(["f0", "f1", "f2", "a", "1", "-12", "r", "type", "x", EXAMPLES["uuid"], ""])
anything = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)


def nearly(schema: Any) -> st.SearchStrategy[Any]:
    """Values that a schema of ours might accept."""
    for keyword in ("anyOf", "allOf"):
        if keyword in schema:
            return st.one_of([nearly(part) for part in schema[keyword]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kinds = schema.get("type", [])
    return st.one_of([_KINDS[kind](schema) for kind in ([kinds] if isinstance(kinds, str) else kinds)] or [anything])


def nearly_array(schema: Any) -> st.SearchStrategy[Any]:
    if "prefixItems" in schema:
        return st.tuples(*map(nearly, schema["prefixItems"])).map(list)
    return st.lists(nearly(schema.get("items", {})), max_size=3)


def nearly_object(schema: Any) -> st.SearchStrategy[Any]:
    parts = {name: nearly(part) for name, part in schema.get("properties", {}).items()}
    if not parts:
        return st.dictionaries(names, nearly(schema.get("additionalProperties") or {}), max_size=2)
    required = {name: parts.pop(name) for name in schema.get("required", []) if name in parts}
    return st.fixed_dictionaries(required, optional=parts)


_KINDS: dict[str, Callable[[Any], st.SearchStrategy[Any]]] = {
    "array": nearly_array,
    "boolean": lambda schema: st.booleans(),
    "integer": lambda schema: numbers,
    "null": lambda schema: st.none(),
    "number": lambda schema: numbers,
    "object": nearly_object,
    "string": lambda schema: st.just(EXAMPLES[schema["format"]]) if "format" in schema else texts,
}


def spoilt(value: Any) -> st.SearchStrategy[Any]:
    """The value, or one that differs from it in one place."""
    ways = [st.just(value), st.just(value), anything, st.just([value]), st.just({"f0": value})]
    if isinstance(value, dict):
        ways.append(st.just({**value, "unheard": 1}))
        ways.extend(spoilt(part).map(partial(_replaced, value, name)) for name, part in value.items())
        ways.extend(st.just({n: part for n, part in value.items() if n != name}) for name in value)
    if isinstance(value, list):
        ways.extend(spoilt(part).map(partial(_replaced, value, n)) for n, part in enumerate(value))
    return st.one_of(ways)


def _replaced(container: Any, place: Any, part: Any) -> Any:
    copy = container.copy()
    copy[place] = part
    return copy


def tool_with(hint: Any) -> Arguments | None:
    def tool(x: Any) -> None: ...

    tool.__annotations__["x"] = hint
    try:
        return Arguments.from_function(tool, owner="it")
    except RegistrationError as error:
        assert "says nothing about" in str(error) or "names in a JSON object" in str(error)  # noqa: PT017
        return None


def same(one: Any, two: Any) -> bool:
    """Equal, and of the same types all the way down."""
    if type(one) is not type(two):
        return False
    if isinstance(one, (list, tuple)):
        return len(one) == len(two) and all(map(same, one, two))
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(same(part, two[name]) for name, part in one.items())
    return bool(one == two)


# What conversions refuse beyond the schema: text in a format, values of no number or class, and bounds
# of numbers that are given as text.
STRICTER = {"format", "value", "minimum"}


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(hints, st.data())
def test_what_converts_is_valid_and_what_is_valid_converts(hint: Any, data: st.DataObject) -> None:
    arguments = tool_with(hint)
    if arguments is None:
        return
    jsonschema.Draft202012Validator.check_schema(arguments.schema)
    value = {"x": data.draw(nearly(arguments.schema["properties"]["x"]).flatmap(spoilt))}
    valid = Reference(arguments.schema).is_valid(value)
    try:
        arguments._careful(value)
    except Mismatch as error:
        if valid and "anyOf" not in str(arguments.schema):  # of a union any member's faults may be told
            assert {fault.keyword for fault in error.faults} <= STRICTER  # noqa: PT017
    else:
        assert valid


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(hints, st.data())
def test_the_quick_way_gives_what_the_careful_way_gives(hint: Any, data: st.DataObject) -> None:
    arguments = tool_with(hint)
    if arguments is None:
        return
    value = {"x": data.draw(nearly(arguments.schema["properties"]["x"]).flatmap(spoilt))}
    try:
        quick = arguments._quick(value)
    except (msgspec.ValidationError, Mismatch):
        return
    assert same(quick, arguments._careful(value))


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(hints, st.data())
def test_binding_never_fails_in_another_way(hint: Any, data: st.DataObject) -> None:
    arguments = tool_with(hint)
    if arguments is None:
        return
    value = {"x": data.draw(nearly(arguments.schema["properties"]["x"]).flatmap(spoilt))}
    try:
        arguments.bind(value)
    except ArgumentErrors as error:
        assert all(problem.path.startswith("x") for problem in error.problems)  # noqa: PT017
        assert len(str(error)) < 10_000  # noqa: PT017


@pytest.mark.parametrize(
    ("hint", "value", "converted"),
    [
        (int, 1, 1),
        (str | None, None, None),
        (list[int], [1], [1]),
        (dict[str, float], {"a": 1}, {"a": 1.0}),
        (Annotated[int, at.Ge(1)], 1, 1),
        (Colour, "r", Colour.RED),
        (datetime.date, "2024-01-01", datetime.date(2024, 1, 1)),
    ],
)
def test_plain_types_do_have_a_quick_way(hint: Any, value: Any, converted: Any) -> None:
    """Without it the properties above would say nothing of the usual case."""
    arguments = tool_with(hint)
    assert arguments is not None
    assert arguments._quick is not arguments._careful
    assert same(arguments._quick({"x": value}), {"x": converted})
