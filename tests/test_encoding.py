from __future__ import annotations

import collections
import dataclasses
import datetime
import enum
import ipaddress
import json
import math
import pathlib
import types
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NamedTuple, TypedDict

import attrs
import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi.content import Text
from mcp_wsgi.encoding import OutputError, to_json
from mcp_wsgi.jsonrpc import encode


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


class Text2(str):
    __slots__ = ()


class Whole(int):
    pass


class Real(float):
    pass


@dataclasses.dataclass
class Point:
    x: int
    tags: tuple[str, ...] = ()


@attrs.define
class Box:
    size: int


class Line(msgspec.Struct):
    a: Point


class Pair(NamedTuple):
    left: int
    right: str


class Row(TypedDict):
    a: int


class Model(pydantic.BaseModel):
    size: int = pydantic.Field(alias="Size")
    when: datetime.date | None = None


@pydantic.dataclasses.dataclass
class ModelPoint:
    x: int


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def no_container_shared(a: Any, b: Any) -> bool:
    if not isinstance(a, (dict, list)) or not a:
        return True
    pairs = zip(a.values(), b.values(), strict=True) if isinstance(a, dict) else zip(a, b, strict=True)
    return a is not b and all(no_container_shared(x, y) for x, y in pairs)


@given(json_values)
def test_builtins_come_back_equal_and_unshared(value: Any) -> None:
    found = to_json(value)
    assert found == value
    assert json.dumps(found) == json.dumps(value)
    assert no_container_shared(value, found)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Point(1, ("a",)), {"x": 1, "tags": ["a"]}),
        (Box(3), {"size": 3}),
        (Line(Point(1)), {"a": {"x": 1, "tags": []}}),
        (Pair(1, "b"), [1, "b"]),
        (Row(a=1), {"a": 1}),
        (Model(Size=2, when=datetime.date(2026, 1, 2)), {"Size": 2, "when": "2026-01-02"}),
        ([Model(Size=2)], [{"Size": 2, "when": None}]),
        (Point(Model(Size=2)), {"x": {"Size": 2, "when": None}, "tags": []}),  # type: ignore[arg-type]
        (ModelPoint(1), {"x": 1}),
        (pydantic.SecretStr("s"), "**********"),
        (Colour.RED, "red"),
        (Level.LOW, 1),
        ({Colour.RED: 1}, {"red": 1}),
        (datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc), "2026-01-02T03:04:05Z"),
        (datetime.timedelta(hours=1), "PT3600S"),
        (Decimal("1.50"), "1.50"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        ({uuid.UUID(int=1): 1}, {"00000000-0000-0000-0000-000000000001": 1}),
        ({1}, [1]),
        (frozenset({1}), [1]),
        (((1, 2), (3,)), [[1, 2], [3]]),
        (collections.deque([1]), [1]),
        (range(2), [0, 1]),
        (collections.OrderedDict(a=1), {"a": 1}),
        (types.MappingProxyType({"a": {1}}), {"a": [1]}),
        ({"a": 1}.keys(), ["a"]),
        (pathlib.PurePosixPath("/a/b"), "/a/b"),
        (ipaddress.ip_address("::1"), "::1"),
        (Text2("x"), "x"),
        (Whole(3), 3),
        (Real(1.5), 1.5),
        ({Text2("k"): [Text2("v")]}, {"k": ["v"]}),
        (10**400, 10**400),
        ({"é": "é"}, {"é": "é"}),
    ],
)
def test_structured_values_become_builtins(value: Any, expected: Any) -> None:
    found = to_json(value)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize("value", [Text2("x"), Whole(3), Real(1.5), Level.LOW])
def test_subclasses_of_builtins_become_these(value: Any) -> None:
    assert type(to_json([value])[0]) in (str, int, float)


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (math.nan, ""),
        (math.inf, ""),
        ({"a": [{"b": -math.inf}]}, "a[0].b: "),
        (Point(math.nan), "x: "),  # type: ignore[arg-type]
        ([1.5, math.nan], "[1]: "),
    ],
)
def test_numbers_without_a_value_are_named_with_their_place(value: Any, path: str) -> None:
    with pytest.raises(OutputError, match=r"no JSON number") as error:
        to_json(value)
    assert str(error.value).startswith(path)


@pytest.mark.parametrize("sign", [1, -1])
def test_integers_that_no_one_reads_are_refused(sign: int) -> None:
    for value in (sign * 10**4300, [sign * 10**4300], {"a": sign * 10**4300}):
        with pytest.raises(OutputError, match="thousands of digits"):
            to_json(value)


def test_what_contains_itself_is_refused() -> None:
    value: list[Any] = []
    value.append({"again": value})
    with pytest.raises(OutputError, match="contains itself"):
        to_json(value)


def test_a_structure_that_contains_itself_is_refused() -> None:
    point = Point(1)
    point.x = point  # type: ignore[assignment]
    with pytest.raises(OutputError, match="contains itself"):
        to_json(point)


@pytest.mark.parametrize("value", ["\ud800", {"\udfff": 1}, ["ok", "a\ud800"], {"é\ud800": 1}])
def test_half_a_surrogate_pair_is_refused(value: Any) -> None:
    with pytest.raises(OutputError, match="surrogate"):
        to_json(value)


@pytest.mark.parametrize("name", [1.5, None, True, (1, 2)])
def test_names_that_are_no_text_are_refused(name: Any) -> None:
    with pytest.raises(OutputError, match=r"^a: .* is no text"):
        to_json({"a": {name: 1}})


@pytest.mark.parametrize("value", [object(), iter([1]), lambda: 1, 1j, ValueError("x"), Point])
def test_other_types_are_refused_by_name(value: Any) -> None:
    with pytest.raises(OutputError, match=type(value).__name__):
        to_json({"a": value})


def test_content_is_no_part_of_data() -> None:
    with pytest.raises(OutputError, match="Text is content"):
        to_json({"a": Text("x")})


def test_what_a_pydantic_model_cannot_encode_is_refused() -> None:
    class Holder(pydantic.BaseModel):
        secret: pydantic.SecretStr = "x"  # type: ignore[assignment]

    with pytest.raises(OutputError):
        to_json(Holder())


@pytest.mark.parametrize(
    "value", [{"data": b"\x00"}, [b"\x00"], bytearray(b"x"), {"deep": [{"data": memoryview(b"x")}]}]
)
def test_bytes_that_nobody_announced_are_refused(value: object) -> None:
    with pytest.raises(OutputError, match="bytes have no JSON form"):
        to_json(value)


def test_bytes_that_a_schema_announces_are_base64() -> None:
    assert to_json({"data": [b"\x00\xff"]}, promised_bytes=True) == {"data": ["AP8="]}


def test_integers_as_names_are_written_as_text() -> None:
    assert to_json({1: {-2: "a"}, "b": 3}) == {"1": {"-2": "a"}, "b": 3}


def test_names_that_are_the_same_text_are_refused() -> None:
    with pytest.raises(OutputError, match="two names are both '1'"):
        to_json({1: "a", "1": "b"})


def test_an_integer_that_nobody_reads_is_no_name() -> None:
    with pytest.raises(OutputError, match="thousands of digits"):
        to_json({10**5000: 1})


def deep_list(levels: int) -> Any:
    return [deep_list(levels - 1)] if levels else 1


def deep_object(levels: int) -> Any:
    return {"a": deep_object(levels - 1)} if levels else "x"


def deep_mix(levels: int) -> Any:
    return {"a": ({"b": deep_mix(levels - 3)},)} if levels > 0 else None


def further_down(frames: int, work: Callable[[], Any]) -> Any:
    """What the work returns where a server, a framework and its middleware have used that much of the stack."""
    return further_down(frames - 1, work) if frames else work()


@pytest.mark.parametrize("deep", [deep_list, deep_object, deep_mix])
def test_as_deep_as_a_body_may_be_is_written_where_half_of_the_stack_is_used(deep: Callable[[int], Any]) -> None:
    value = deep(256)
    assert further_down(500, lambda: encode(to_json(value))) == encode(value)


def test_deeper_than_the_stack_is_refused() -> None:
    for value in (deep_list(900), deep_object(900)):
        with pytest.raises(OutputError, match="nested too deeply"):
            further_down(200, lambda value=value: to_json(value))  # type: ignore[misc]
