from __future__ import annotations

import collections
import collections.abc
import dataclasses
import datetime
import enum
import pathlib
import re
import typing
import uuid
from decimal import Decimal
from typing import Annotated, Any, Generic, Literal, NamedTuple, NewType, Optional, TypedDict, TypeVar, Union

import annotated_types as at
import attrs
import jsonschema
import msgspec
import pydantic
import pytest
import typing_extensions
from pydantic import AfterValidator, AnyUrl, Field

from mcp_wsgi.jsonschemas import inlined
from mcp_wsgi.problems import Mismatch, problems
from mcp_wsgi.typehints import Compiler, Unsupported, evaluate, remark_default, scope_of

T = TypeVar("T")
Bound = TypeVar("Bound", bound=int)
OneOf = TypeVar("OneOf", int, str)
UserId = NewType("UserId", int)
Json = Union[None, int, list["Json"], dict[str, "Json"]]  # noqa: UP007
Few = typing_extensions.TypeAliasType("Few", tuple[T, T], type_params=(T,))
Tree = typing_extensions.TypeAliasType("Tree", Union[int, list["Tree"]])  # type: ignore[misc]  # noqa: UP007


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1


class Lenient(enum.Enum):
    A = "a"

    @classmethod
    def _missing_(cls, value: object) -> Lenient:
        return cls.A


@dataclasses.dataclass
class Item:
    """An item.

    Attributes:
        name: Its name.
    """

    name: str
    price: float = 1.0


@dataclasses.dataclass
class Node:
    value: int
    children: list[Node] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Range:
    low: int
    high: int

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError("low must not be more than high")


@dataclasses.dataclass
class Page(Generic[T]):
    items: list[T]


@attrs.define
class Box:
    size: int
    _secret: str = "s"


class Point(msgspec.Struct, tag="point"):
    x: int
    y: int | msgspec.UnsetType = msgspec.UNSET


class Row(TypedDict):
    a: int
    b: typing_extensions.NotRequired[str]


class Pair(NamedTuple):
    left: Annotated[int, "A number."]
    right: str = "r"


class Model(pydantic.BaseModel):
    """A model."""

    size_cm: int = Field(ge=1)
    parent: Model | None = None
    kind: Literal["a", "b"] = "a"


class Outer(pydantic.BaseModel):
    inner: Inner


class Inner(pydantic.BaseModel):
    a: int = Field(title="Mine")


class Text(str):
    __slots__ = ()


def schema_of(hint: Any, *, sending: bool = False) -> dict[str, Any]:
    compiler = Compiler(globals(), sending=sending)
    schema = inlined(compiler.shape(hint).schema, compiler.defs)
    jsonschema.Draft202012Validator.check_schema(schema)
    return schema


def convert(hint: Any, value: Any) -> Any:
    return Compiler(globals()).shape(hint).convert(value)


def told(hint: Any, value: Any) -> list[str]:
    """What is said about a value."""
    try:
        convert(hint, value)
    except Mismatch as error:
        return [str(problem) for problem in problems(error.faults)[0]]
    return []


INTEGER = {"type": "integer"}
STRING = {"type": "string"}
ITEM = {
    "type": "object",
    "description": "An item.",
    "properties": {
        "name": {"type": "string", "description": "Its name."},
        "price": {"type": "number", "default": 1.0},
    },
    "required": ["name"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (None, {"type": "null"}),
        (Any, {}),
        (object, {}),
        ("int", INTEGER),
        (UserId, INTEGER),
        (T, {}),
        (Bound, INTEGER),
        (OneOf, {"anyOf": [INTEGER, STRING]}),
        (Text, STRING),
        (pathlib.Path, STRING),
        (Decimal, {"type": ["number", "string"], "pattern": r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"}),
        (bytes, {"type": "string", "contentEncoding": "base64"}),
        (datetime.date, {"type": "string", "format": "date"}),
        (datetime.datetime, {"type": "string", "format": "date-time"}),
        (datetime.time, {"type": "string", "format": "time"}),
        (datetime.timedelta, {"type": "string", "format": "duration"}),
        (uuid.UUID, {"type": "string", "format": "uuid"}),
        (Colour, {"type": "string", "enum": ["red", "blue"]}),
        (Level, {"type": "integer", "enum": [1]}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal[True], {"type": "boolean", "enum": [True]}),
        (Literal[1, "a", None], {"enum": [1, "a", None]}),  # noqa: PYI061
        (Literal[Colour.RED], {"type": "string", "enum": ["red"]}),
        (list, {"type": "array", "items": {}}),
        (list[int], {"type": "array", "items": INTEGER}),
        (typing.List[int], {"type": "array", "items": INTEGER}),  # noqa: UP006
        (collections.abc.Sequence[int], {"type": "array", "items": INTEGER}),
        (collections.abc.Iterable[int], {"type": "array", "items": INTEGER}),
        (set[int], {"type": "array", "items": INTEGER}),
        (frozenset[int], {"type": "array", "items": INTEGER}),
        (tuple, {"type": "array", "items": {}}),
        (tuple[int, ...], {"type": "array", "items": INTEGER}),
        (tuple[()], {"type": "array", "minItems": 0, "maxItems": 0}),
        (tuple[int, str], {"type": "array", "minItems": 2, "maxItems": 2, "prefixItems": [INTEGER, STRING]}),
        (dict, {"type": "object"}),
        (dict[str, Any], {"type": "object"}),
        (dict[Any, int], {"type": "object", "additionalProperties": INTEGER}),
        (collections.abc.Mapping[str, int], {"type": "object", "additionalProperties": INTEGER}),
        (
            dict[int, str],
            {"type": "object", "additionalProperties": STRING, "propertyNames": {"pattern": "^-?[0-9]+$"}},
        ),
        (
            dict[Colour, int],
            {
                "type": "object",
                "additionalProperties": INTEGER,
                "propertyNames": {"type": "string", "enum": ["red", "blue"]},
            },
        ),
        (Optional[int], {"anyOf": [INTEGER, {"type": "null"}]}),  # noqa: UP045
        (int | str, {"anyOf": [INTEGER, STRING]}),
        (typing.Final[int], INTEGER),
        (Annotated[int, "A.", at.Ge(1)], {"type": "integer", "minimum": 1, "description": "A."}),
        (Item, ITEM),
        (list[Item], {"type": "array", "items": ITEM}),
        (Annotated[Item, "Mine."], {**ITEM, "description": "Mine."}),
        (
            Row,
            {
                "type": "object",
                "properties": {"a": INTEGER, "b": STRING},
                "required": ["a"],
                "additionalProperties": False,
            },
        ),
        (
            Point,
            {
                "type": "object",
                "properties": {"type": {"type": "string", "enum": ["point"]}, "x": INTEGER, "y": INTEGER},
                "required": ["type", "x"],
            },
        ),
        (
            Pair,
            {
                "type": "array",
                "minItems": 1,
                "maxItems": 2,
                "prefixItems": [
                    {"type": "integer", "description": "left: A number."},
                    {"type": "string", "description": "right"},
                ],
            },
        ),
        (
            Page[int],
            {
                "type": "object",
                "properties": {"items": {"type": "array", "items": INTEGER}},
                "required": ["items"],
                "additionalProperties": False,
            },
        ),
    ],
)
def test_hints_become_schemas(hint: Any, schema: dict[str, Any]) -> None:
    assert schema_of(hint) == schema


@pytest.mark.parametrize(
    ("hint", "value", "expected"),
    [
        (UserId, 5, 5),
        (Text, "a", Text("a")),
        (pathlib.PurePosixPath, "/a", pathlib.PurePosixPath("/a")),
        (Colour, "red", Colour.RED),
        (Level, 1.0, Level.LOW),
        (Literal[Colour.RED], "red", Colour.RED),
        (set[int], [1, 1], {1}),
        (frozenset[str], ["a"], frozenset({"a"})),
        (collections.abc.Set[int], [1], {1}),
        (collections.deque[int], [1], collections.deque([1])),
        (tuple[int, ...], [1, 2.0], (1, 2)),
        (tuple[int, str], [1, "a"], (1, "a")),
        (collections.abc.Iterable[int], [1], [1]),
        (collections.OrderedDict[str, int], {"a": 1}, collections.OrderedDict(a=1)),
        (dict[uuid.UUID, int], {str(uuid.UUID(int=1)): 1}, {uuid.UUID(int=1): 1}),
        (Item, {"name": "a"}, Item("a")),
        (list[Item], [{"name": "a", "price": 2}], [Item("a", 2.0)]),
        (Node, {"value": 1, "children": [{"value": 2.0}]}, Node(1, [Node(2)])),
        (Box, {"size": 1, "secret": "x"}, Box(1, "x")),
        (Point, {"type": "point", "x": 1, "other": 2}, Point(1)),
        (Row, {"a": 1}, {"a": 1}),
        (Pair, [1], Pair(1)),
        (Page[Item], {"items": [{"name": "a"}]}, Page([Item("a")])),
        (Item | Node, {"value": 1}, Node(1)),
        (int | str | datetime.date, "2026-07-28", "2026-07-28"),
        (Model, {"size_cm": 1, "parent": {"size_cm": 2}}, Model(size_cm=1, parent=Model(size_cm=2))),
        (list[Model], [{"size_cm": 1}], [Model(size_cm=1)]),
        (Annotated[int, AfterValidator(abs)], -3, 3),
        (Json, [1, {"a": [None]}], [1, {"a": [None]}]),
    ],
)
def test_values_are_converted(hint: Any, value: Any, expected: Any) -> None:
    found = convert(hint, value)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("hint", "value", "words"),
    [
        (list[Item], [{"name": 1}, {"nam": "x"}], None),
        (Range, {"low": 2, "high": 1}, ["low must not be more than high"]),
        (Row, {"a": 1, "c": 2}, ["unknown argument 'c'; known: a, b"]),
        (Point, {"x": 1}, ["type: required, but missing"]),
        (Item | None, {}, ["name: required, but missing"]),
        (set[Any], [[1]], ["unhashable type: 'list'"]),
        (Node, {"value": 1, "children": [{"value": "x"}]}, ["children[0].value: 'x' is not of type 'integer'"]),
        (Model, {"size_cm": 0}, ["size_cm: Input should be greater than or equal to 1"]),
        (Literal[True], 1, ["1 is not one of true"]),
    ],
)
def test_what_does_not_fit_is_told(hint: Any, value: Any, words: list[str] | None) -> None:
    assert told(hint, value) == (
        words
        or [
            "[0].name: 1 is not of type 'string'",
            "[1].name: required, but missing",
            "[1]: unknown property 'nam'; known: name, price",
        ]
    )


def test_recursive_types_keep_their_definition() -> None:
    node = {
        "type": "object",
        "properties": {
            "value": INTEGER,
            "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}, "default": []},
        },
        "required": ["value"],
        "additionalProperties": False,
    }
    assert schema_of(list[Node]) == {"type": "array", "items": {"$ref": "#/$defs/Node"}, "$defs": {"Node": node}}


Texts = dataclasses.make_dataclass("Texts", [("items", list["Item"])])
# What a class statement in this module would say; with a text inside, as it looks without the
# future import, which Python 3.10 leaves as it is.
Texts.__module__ = __name__


def test_text_inside_a_hint_means_what_it_means_in_the_module_of_its_class() -> None:
    (items,) = Compiler({}).shape(Texts).convert({"items": [{"name": "a"}]}).items
    assert items == Item("a")


@dataclasses.dataclass
class Noted:
    inner: Annotated[Noted | None, "Below."] = None


def test_a_recursive_type_may_be_annotated() -> None:
    """What is noted or limited while the type is still being read converts all the same."""
    assert convert(Noted, {"inner": {"inner": None}}) == Noted(Noted(None))
    assert schema_of(Noted)["properties"]["inner"]["description"] == "Below."
    assert convert(Chain, {"next": [{"next": []}]}) == Chain([Chain([])])


@dataclasses.dataclass
class Chain:
    next: list[Annotated[Chain, "Next."]]


def test_a_recursive_alias_is_a_definition() -> None:
    json = {"$ref": "#/$defs/Json"}
    assert schema_of(Json)["anyOf"][2:] == [
        {"type": "array", "items": json},
        {"type": "object", "additionalProperties": json},
    ]


def test_types_of_one_name_are_kept_apart() -> None:
    def make(kind: Any) -> Any:
        return dataclasses.make_dataclass("Same", [("a", list[kind])])

    compiler = Compiler()
    for kind in (int, str):
        compiler.shape(make(kind))
    items = [definition["properties"]["a"]["items"]["type"] for definition in compiler.defs.values()]
    assert items == ["integer", "string"]


def test_what_is_sent_may_have_more_properties_and_decimals_are_text() -> None:
    assert "additionalProperties" not in schema_of(Item, sending=True)
    assert schema_of(Decimal, sending=True)["type"] == "string"
    assert schema_of(Box, sending=True)["properties"] == {"size": INTEGER}


def test_pydantic_models_are_described_without_noise() -> None:
    found = schema_of(Model)
    assert found["description"] == "A model."
    assert found["properties"]["size_cm"] == {"minimum": 1, "type": "integer"}
    assert found["$defs"]["Model"]["properties"]["parent"]["anyOf"] == [{"$ref": "#/$defs/Model"}, {"type": "null"}]
    assert not re.search("title", str(found))


def test_models_inside_models_are_put_in_place_and_own_titles_stay() -> None:
    assert schema_of(list[Outer])["items"]["properties"]["inner"] == {
        "type": "object",
        "properties": {"a": {"type": "integer", "title": "Mine"}},
        "required": ["a"],
    }


def test_a_discriminator_points_to_no_definition_that_is_gone() -> None:
    class Cat(pydantic.BaseModel):
        kind: Literal["cat"]

    class Dog(pydantic.BaseModel):
        kind: Literal["dog"]

    hint = Annotated[Cat | Dog, Field(discriminator="kind")]
    found = schema_of(hint)
    assert [part["properties"]["kind"]["const"] for part in found["oneOf"]] == ["cat", "dog"]
    assert "discriminator" not in found
    assert convert(hint, {"kind": "dog"}) == Dog(kind="dog")


def test_strict_models_take_what_json_can_say() -> None:
    class Strict(pydantic.BaseModel, strict=True):
        day: Any

    Strict.model_fields["day"].annotation = datetime.date
    Strict.model_rebuild(force=True)
    assert convert(Strict, {"day": "2026-07-28"}).day == datetime.date(2026, 7, 28)


def test_types_of_pydantic_are_taken() -> None:
    assert schema_of(AnyUrl) == {"type": "string", "format": "uri", "minLength": 1}
    assert str(convert(AnyUrl, "http://a.example")) == "http://a.example/"


def test_a_pydantic_dataclass_has_its_rules() -> None:
    @pydantic.dataclasses.dataclass
    class Sized:
        size: pydantic.PositiveInt

    assert schema_of(Sized)["properties"] == {"size": {"type": "integer", "exclusiveMinimum": 0}}
    assert told(Sized, {"size": 0}) == ["size: Input should be greater than 0"]


@pytest.mark.parametrize(
    ("hint", "words"),
    [
        (complex, "complex has no JSON form"),
        (collections.abc.Callable[[], int], "has no JSON form"),
        ([1], "has no JSON form"),
        (list[complex], "complex has no JSON form"),
        (dict[float, int], "names in a JSON object are text, use str"),
        (enum.Enum("Empty", {}), "has no members"),
        (enum.Enum("Odd", {"A": (1, 2)}), r"\(1, 2\) is no JSON value"),
        (Literal[b"a"], "is no JSON value"),
        (Annotated[str, at.Ge(1)], "str: minimum says nothing about str"),
        ("Nowhere", "'Nowhere' cannot be evaluated .*define it at module level"),
        (dataclasses.make_dataclass("Holder", [("a", complex)]), "a: complex has no JSON form"),
        (dataclasses.make_dataclass("Lost", [("a", "Nowhere")]), "Lost: a hint cannot be evaluated"),
        (Annotated[complex, AfterValidator(abs)], None),
    ],
)
def test_hints_without_a_json_form_are_refused(hint: Any, words: str | None) -> None:
    if words is None:
        assert schema_of(hint)
        return
    with pytest.raises(Unsupported, match=words):
        schema_of(hint)


def test_a_model_is_read_once_for_all_its_uses() -> None:
    compiler = Compiler()
    assert compiler.shape(Model) is compiler.shape(Model)


def test_what_pydantic_cannot_describe_is_refused() -> None:
    class Strange(pydantic.BaseModel, arbitrary_types_allowed=True):
        a: Compiler

    with pytest.raises(Unsupported, match="pydantic says"):
        schema_of(Strange)


def test_an_enum_that_takes_more_than_it_lists_takes_what_it_lists() -> None:
    assert convert(Lenient, "a") is Lenient.A
    assert told(Lenient, "x") == ["'x' is not one of 'a'"]
    assert Compiler().shape(Lenient).exact is None
    assert Compiler().shape(Colour).exact is Colour


def test_a_hint_is_evaluated_in_its_scope() -> None:
    assert evaluate("Thing | None", {"Thing": int}) == int | None
    assert evaluate(Optional["Thing"], {"Thing": int}) == int | None  # noqa: F821
    for text in ("Thing", "1 +", "Thing.x"):
        with pytest.raises(Unsupported, match="cannot be evaluated"):
            evaluate(text, {})


def test_the_scope_of_a_function_has_what_it_closes_over() -> None:
    local = int

    def function() -> Any:
        return local, later

    assert scope_of(function)["local"] is int
    assert scope_of(function)["Colour"] is Colour
    assert "later" not in scope_of(function)
    assert scope_of(len) == {}
    later = 1


def test_a_default_is_remarked_if_json_can_say_it() -> None:
    assert remark_default(Colour.RED) == {"default": "red"}
    assert remark_default(Item("a")) == {"default": {"name": "a", "price": 1.0}}
    assert remark_default(object()) == {}


def test_type_aliases_may_be_recursive_and_generic() -> None:
    """What a ``type`` statement makes, on every version of Python."""
    alias = typing_extensions.TypeAliasType
    assert schema_of(list[alias("Id", list[int])]) == {"type": "array", "items": {"type": "array", "items": INTEGER}}  # type: ignore[misc]
    assert schema_of(Few[int])["prefixItems"] == [INTEGER, INTEGER]
    assert schema_of(Tree)["anyOf"][1] == {"type": "array", "items": {"$ref": "#/$defs/Tree"}}
    assert convert(Tree, [1, [2]]) == [1, [2]]


# --- flags, and sets of what cannot be in a set ---------------------------------------------------


class Access(enum.Flag):
    READ = 1
    WRITE = 2


def test_flags_may_be_combined() -> None:
    shape = Compiler().shape(Access)
    assert shape.schema == {"type": "integer", "minimum": 0, "maximum": 3, "description": "Sum of READ=1, WRITE=2"}
    assert [shape.convert(bits) for bits in (0, 1, 3)] == [Access(0), Access.READ, Access.READ | Access.WRITE]
    for wrong in (4, -1, "READ", True):
        with pytest.raises(Mismatch):
            shape.convert(wrong)


def test_flags_without_members_are_refused() -> None:
    with pytest.raises(Unsupported, match="has no members"):
        Compiler().shape(enum.Flag("Nothing", {}))


@dataclasses.dataclass
class Loose:
    a: int


@dataclasses.dataclass(frozen=True)
class Fixed:
    a: int


@pytest.mark.parametrize(
    "hint",
    [
        set[list[int]],
        frozenset[dict[str, int]],
        collections.abc.Set[collections.abc.Sequence[int]],
        set[Loose],
        set[set[int]],
        set[tuple[int, list[int]]],
        set[list[int] | Loose],
        set[Annotated[Loose, "note"]],
    ],
)
def test_a_set_of_what_no_set_holds_is_refused(hint: Any) -> None:
    with pytest.raises(Unsupported, match=r"a set cannot hold .*: use list, or a frozen dataclass"):
        Compiler().shape(hint)


@pytest.mark.parametrize("hint", [set[Fixed], set[frozenset[int]], set[tuple[int, ...]], set[Any], set[int | Loose]])
def test_a_set_of_what_may_be_in_one_is_taken(hint: Any) -> None:
    assert Compiler().shape(hint).schema["type"] == "array"
