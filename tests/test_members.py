"""Classes with members, as hints."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any, Generic, NamedTuple, TypedDict, TypeVar

import attrs
import msgspec
import pytest
import typing_extensions

from mcp_wsgi.members import Described, Member, has_members, members_of

if TYPE_CHECKING:
    from decimal import Decimal

T = TypeVar("T")
U = TypeVar("U")


def members(hint: Any, *, sending: bool = False) -> list[Member]:
    return described(hint, sending=sending).members


def described(hint: Any, *, sending: bool = False) -> Described:
    return members_of(hint, getattr(hint, "__origin__", hint), {}, sending=sending)


@dataclasses.dataclass
class Order:
    """An order.

    Attributes:
        number: Its number.
        tags: Labels.
    """

    number: int
    note: str = "none"
    tags: list[str] = dataclasses.field(default_factory=list)
    made: object = dataclasses.field(default_factory=object)
    total: float = dataclasses.field(default=0.0, init=False)


def test_a_dataclass_takes_its_fields() -> None:
    found = described(Order)
    assert found.text == "An order."
    assert found.closed
    assert found.members == [
        Member("number", "number", int, True, dataclasses.MISSING, "Its number."),
        Member("note", "note", str, False, "none"),
        Member("tags", "tags", list[str], False, [], "Labels."),
        Member("made", "made", object, False, dataclasses.MISSING),
    ]
    assert found.make is Order


def test_a_dataclass_sends_what_is_computed_too() -> None:
    last = members(Order, sending=True)[-1]
    assert (last.name, last.required) == ("total", False)


def test_what_a_dataclass_only_takes_is_refused() -> None:
    @dataclasses.dataclass
    class Strange:
        a: dataclasses.InitVar[int]

    Strange.__annotations__["a"] = dataclasses.InitVar[int]
    with pytest.raises(ValueError, match="InitVar"):
        members(Strange)


@attrs.define
class Box:
    size: int
    _secret: str = "s"
    parts: list[int] = attrs.Factory(list)
    made: object = attrs.Factory(object)
    volume: int = attrs.field(default=1, init=False)


def test_attrs_takes_private_fields_by_their_public_name() -> None:
    assert [(m.name, m.hint, m.required, m.default) for m in members(Box)] == [
        ("size", int, True, attrs.NOTHING),
        ("secret", str, False, "s"),
        ("parts", list[int], False, []),
        ("made", object, False, msgspec.UNSET),
    ]


def test_attrs_sends_no_private_fields() -> None:
    assert [m.name for m in members(Box, sending=True)] == ["size", "parts", "made", "volume"]


class Point(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    pos_x: int
    pos_y: Annotated[int, "down"] = 0
    tags: list[str] = []


def test_a_struct_has_its_encoded_names_and_its_own_word_on_unknown_fields() -> None:
    found = described(Point)
    assert [(m.name, m.target, m.hint, m.required, m.default) for m in found.members] == [
        ("posX", "pos_x", int, True, msgspec.NODEFAULT),
        ("posY", "pos_y", Annotated[int, "down"], False, 0),
        ("tags", "tags", list[str], False, []),
    ]
    assert found.closed
    assert not described(Open).closed


class Open(msgspec.Struct):
    a: int


class Tagged(msgspec.Struct, tag="t", tag_field="kind"):
    a: int


def test_a_tag_is_a_property_but_no_argument() -> None:
    found = described(Tagged)
    assert [m.name for m in found.members] == ["kind", "a"]
    assert found.make(kind="t", a=1) == Tagged(1)


def test_a_struct_without_names_is_refused() -> None:
    class Row(msgspec.Struct, array_like=True):
        a: int

    with pytest.raises(ValueError, match="array_like"):
        members(Row)


class Movie(TypedDict, total=False):
    title: typing_extensions.Required[str]
    year: int


class Rated(Movie):
    stars: typing_extensions.NotRequired[int]
    code: typing_extensions.ReadOnly[str]


def test_a_typed_dict_knows_what_is_required_even_from_text() -> None:
    found = described(Rated)
    assert {m.name: (m.hint, m.required) for m in found.members} == {
        "title": (str, True),
        "year": (int, False),
        "stars": (int, False),
        "code": (str, True),
    }
    assert found.make(title="x") == {"title": "x"}


class Pair(NamedTuple):
    left: int
    right: str = "r"


def test_a_named_tuple_is_made_by_position() -> None:
    found = described(Pair)
    assert found.positional
    assert [(m.name, m.hint, m.required, m.default) for m in found.members] == [
        ("left", int, True, msgspec.UNSET),
        ("right", str, False, "r"),
    ]


@dataclasses.dataclass
class Page(Generic[T]):
    items: list[T]
    first: T | None = None


@dataclasses.dataclass
class Named(Page[T], Generic[T, U]):
    name: U | None = None


@dataclasses.dataclass
class Numbers(Named[int, str]):
    pass


def test_type_arguments_reach_the_members() -> None:
    assert [m.hint for m in members(Page[int])] == [list[int], int | None]
    assert [m.hint for m in members(Named[int, str])] == [list[int], int | None, str | None]
    assert [m.hint for m in members(Numbers)] == [list[int], int | None, str | None]
    assert members(Page)[0].hint == list[T]  # type: ignore[valid-type]


def test_a_class_inside_a_function_may_name_itself() -> None:
    @dataclasses.dataclass
    class Node:
        next: Node | None = None

    assert members(Node)[0].hint == Node | None


@dataclasses.dataclass
class Priced:
    price: Decimal


def test_a_hint_that_cannot_be_evaluated_is_refused() -> None:
    with pytest.raises(ValueError, match="'Decimal' is not defined"):
        members(Priced)


def test_other_classes_have_no_members() -> None:
    assert not any(has_members(cls) for cls in (int, dict, tuple, object, "Order", list[int], Order(1)))
    assert all(has_members(cls) for cls in (Order, Box, Point, Movie, Pair))
    with pytest.raises(ValueError, match="no class with members"):
        members(int)
