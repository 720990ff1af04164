from __future__ import annotations

import contextlib
import dataclasses
import datetime
import enum
import importlib
import json
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Generic, Literal, NamedTuple, NewType, TypedDict, TypeVar

import attrs
import jsonschema
import msgspec
import pydantic
import pytest
import typing_extensions
from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta
from pydantic import Field
from typing_extensions import NotRequired

from mcp_wsgi.elicitation import Form, FormErrors, FormNotInRevision
from mcp_wsgi.errors import RegistrationError
from mcp_wsgi.problems import MAX_PROBLEMS
from mcp_wsgi.revisions import REVISIONS, Revision

T = TypeVar("T")

NEWEST, SESSIONS, OLD, OLDEST = REVISIONS.values()


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Same(enum.Enum):
    a = "a"
    b = "b"


class Level(enum.IntEnum):
    LOW = 1


Alias = typing_extensions.TypeAliasType("Alias", Colour)
Wrapped = NewType("Wrapped", Colour)

EMAIL = Field(json_schema_extra={"format": "email"})
TITLED = [{"const": "red", "title": "RED"}, {"const": "blue", "title": "BLUE"}]


def form(schema: Any) -> Form:
    return Form.of(schema, owner="tool 'it'")


def asking(hint: Any, **default: Any) -> Form:
    """A form of one property, ``it``, that is declared in a dataclass."""
    field = dataclasses.field(**default) if default else dataclasses.field()
    return form(dataclasses.make_dataclass("Asked", [("it", hint, field)]))


def raw(**properties: Any) -> Form:
    return form({"type": "object", "properties": properties})


def shown(asked: Form, revision: Revision = NEWEST) -> Any:
    """How a revision writes the property ``it``."""
    return asked.requested(revision)["properties"]["it"]


def told(asked: Form, content: Any) -> list[str]:
    """What is said about an answer."""
    with pytest.raises(FormErrors) as error:
        asked.accept(content)
    assert [str(problem) for problem in error.value.problems] == str(error.value).split("\n")[:MAX_PROBLEMS]
    return str(error.value).split("\n")


# --- the official types ---------------------------------------------------------------------------

OFFICIAL = {"2026-07-28": "mcp_types._v2026_07_28", "2025-11-25": "mcp_types._v2025_11_25"}

# Copied by hand from the published schema.json, and closed.
_REMARKS = {"title": {"type": "string"}, "description": {"type": "string"}}


def closed(required: list[str], **properties: Any) -> dict[str, Any]:
    known = {**_REMARKS, **properties}
    return {"type": "object", "properties": known, "required": ["type", *required], "additionalProperties": False}


_TEXTS = {"type": "array", "items": {"type": "string"}}
PUBLISHED_2025_06_18 = [
    closed([], type={"const": "boolean"}, default={"type": "boolean"}),
    closed(["enum"], type={"const": "string"}, enum=_TEXTS, enumNames=_TEXTS),
    closed([], type={"enum": ["integer", "number"]}, minimum={"type": "number"}, maximum={"type": "number"}),
    closed(
        [],
        type={"const": "string"},
        format={"enum": ["date", "date-time", "email", "uri"]},
        minLength={"type": "integer"},
        maxLength={"type": "integer"},
    ),
]


def is_published(part: Any, revision: str) -> bool:
    """Whether a property is what the revision's PrimitiveSchemaDefinition allows, and nothing more."""
    if revision not in OFFICIAL:
        return any(jsonschema.Draft202012Validator(kind).is_valid(part) for kind in PUBLISHED_2025_06_18)
    union = importlib.import_module(OFFICIAL[revision]).PrimitiveSchemaDefinition
    return any(_is_exactly(part, kind) for kind in getattr(union, "__value__", union).__args__)


def _is_exactly(part: Any, kind: type[pydantic.BaseModel]) -> bool:
    try:
        made = kind.model_validate(part, strict=True, by_name=False)
    except pydantic.ValidationError:
        return False
    same: bool = json.loads(made.model_dump_json(by_alias=True, exclude_unset=True)) == part
    return same


def assert_published(asked: Form, revision: Revision) -> None:
    schema = asked.requested(revision)
    assert schema.keys() - {"required"} == {"type", "properties"}
    assert set(schema.get("required", ())) <= schema["properties"].keys()
    assert all(is_published(part, revision.name) for part in schema["properties"].values()), schema
    if revision.name in OFFICIAL:
        params = importlib.import_module(OFFICIAL[revision.name]).ElicitRequestFormParams
        params.model_validate({"message": "?", "requestedSchema": schema}, strict=True, by_name=False)


# --- what a form can ask --------------------------------------------------------------------------

KINDS: list[tuple[Any, Any]] = [
    (str, {"type": "string"}),
    (Annotated[str, MinLen(1), MaxLen(5)], {"type": "string", "minLength": 1, "maxLength": 5}),
    (Annotated[str, Field(title="T", description="D")], {"type": "string", "title": "T", "description": "D"}),
    (Annotated[str, EMAIL], {"type": "string", "format": "email"}),
    (Annotated[str, Field(examples=["x"], json_schema_extra={"x-own": 1})], {"type": "string"}),
    (pydantic.AnyUrl, {"type": "string", "format": "uri", "minLength": 1}),
    (datetime.date, {"type": "string", "format": "date"}),
    (datetime.datetime, {"type": "string", "format": "date-time"}),
    (bool, {"type": "boolean"}),
    (int, {"type": "integer"}),
    (Annotated[float, Ge(0.5), Le(9)], {"type": "number", "minimum": 0.5, "maximum": 9}),
    (Annotated[int, Gt(0), Lt(10)], {"type": "integer", "minimum": 1, "maximum": 9}),
    (Annotated[int, Gt(0), Ge(5)], {"type": "integer", "minimum": 5}),
    (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
    (Literal["a"], {"type": "string", "enum": ["a"]}),
    (Literal[Colour.RED], {"type": "string", "oneOf": TITLED[:1]}),
    (Colour, {"type": "string", "oneOf": TITLED}),
    (Same, {"type": "string", "enum": ["a", "b"]}),
    (Alias, {"type": "string", "oneOf": TITLED}),
    (Wrapped, {"type": "string", "oneOf": TITLED}),
    (list[Literal["a", "b"]], {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}),
    (set[Annotated[Same, "noted"]], {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}),
    (
        Annotated[tuple[Colour, ...], MinLen(1), MaxLen(2)],
        {"type": "array", "items": {"anyOf": TITLED}, "minItems": 1, "maxItems": 2},
    ),
]


@pytest.mark.parametrize(("hint", "schema"), KINDS, ids=str)
def test_a_type_becomes_what_the_official_types_allow(hint: Any, schema: Any) -> None:
    """S26-ELI-03, S26-ELI-04."""
    for asked in (asking(hint), form(pydantic.create_model("Asked", it=(hint, ...)))):
        assert shown(asked) == schema
        assert asked.requested(NEWEST) == {"type": "object", "properties": {"it": schema}, "required": ["it"]}
        assert_published(asked, NEWEST)
        assert_published(asked, SESSIONS)


@pytest.mark.parametrize(("hint", "schema"), KINDS, ids=str)
def test_what_may_be_left_out_is_asked_for_in_the_same_way(hint: Any, schema: Any) -> None:
    for asked in (asking(typing.Optional[hint]), asking(typing.Optional[hint], default=None)):  # noqa: UP045
        assert asked.requested(NEWEST) == {"type": "object", "properties": {"it": schema}}
        assert [asked.accept(content).it for content in ({}, {"it": None}, None)] == [None] * 3


@dataclasses.dataclass
class AsDataclass:
    """Where to send it.

    Attributes:
        name: Who gets it.
    """

    name: Annotated[str, Meta(min_length=1)]
    colour: Colour = Colour.RED
    count: int = 1
    note: str | None = None


@attrs.define
class AsAttrs:
    """Where to send it.

    Attributes:
        name: Who gets it.
    """

    name: Annotated[str, Meta(min_length=1)]
    colour: Colour = Colour.RED
    count: int = 1
    note: str | None = None


class AsStruct(msgspec.Struct, forbid_unknown_fields=True):
    """Where to send it.

    Attributes:
        name: Who gets it.
    """

    name: Annotated[str, Meta(min_length=1)]
    colour: Colour = Colour.RED
    count: int = 1
    note: str | None = None


class AsModel(pydantic.BaseModel, extra="forbid"):
    name: Annotated[str, Field(min_length=1, description="Who gets it.")]
    colour: Colour = Colour.RED
    count: int = 1
    note: str | None = None


class AsDict(TypedDict):
    """Where to send it.

    Attributes:
        name: Who gets it.
    """

    name: Annotated[str, Meta(min_length=1)]
    colour: NotRequired[Annotated[Colour, {"default": "red"}]]
    count: Annotated[int, {"default": 1}]
    note: str | None


CLASSES = [AsDataclass, AsAttrs, AsStruct, AsModel, AsDict]


def as_dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {name: getattr(value, name) for name in AsDict.__annotations__}


@pytest.mark.parametrize("kind", CLASSES)
def test_every_kind_of_class_makes_the_same_form_and_gives_its_own_instances(kind: Any) -> None:
    assert form(kind).requested(NEWEST) == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 1, "description": "Who gets it."},
            "colour": {"type": "string", "oneOf": TITLED, "default": "red"},
            "count": {"type": "integer", "default": 1},
            "note": {"type": "string"},
        },
        "required": ["name"],
    }
    answer = form(kind).accept({"name": "Ada", "colour": "blue", "count": 2.0, "note": "x"})
    assert type(answer) is (dict if kind is AsDict else kind)
    assert as_dict(answer) == {"name": "Ada", "colour": Colour.BLUE, "count": 2, "note": "x"}


@pytest.mark.parametrize("kind", CLASSES)
def test_what_is_missing_is_filled_in_and_what_is_unknown_is_dropped(kind: Any) -> None:
    answer = form(kind).accept({"name": "Ada", "admin": True, "": [], "note": None})
    assert as_dict(answer) == {"name": "Ada", "colour": Colour.RED, "count": 1, "note": None}
    assert not hasattr(answer, "admin")


def test_a_class_makes_the_defaults_that_json_cannot_say() -> None:
    asked = asking(list[Same], default_factory=lambda: [Same.a])
    assert asked.requested(NEWEST)["properties"] == {
        "it": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}
    }
    assert asked.accept({}).it == [Same.a]


def test_what_a_typed_dict_need_not_have_is_left_out() -> None:
    class Asked(TypedDict, total=False):
        it: str
        other: typing_extensions.Required[int]

    asked = form(Asked)
    assert asked.requested(NEWEST)["required"] == ["other"]
    assert asked.accept({"other": 1}) == asked.accept({"other": 1, "it": None}) == {"other": 1}


def test_names_are_those_of_json_whatever_the_class_calls_them() -> None:
    class Struct(msgspec.Struct, rename="camel"):
        my_colour: Colour

    class Model(pydantic.BaseModel):
        my_colour: Colour = Field(alias="myColour")

    for kind in (Struct, Model):
        assert form(kind).requested(NEWEST)["properties"] == {"myColour": {"type": "string", "oneOf": TITLED}}
        assert form(kind).accept({"myColour": "red"}).my_colour is Colour.RED


def test_a_class_may_have_type_arguments() -> None:
    @dataclasses.dataclass
    class Asked(Generic[T]):
        it: T

    known: Any = Asked
    assert shown(form(known[Annotated[Colour, Field(title="Paint")]])) == {
        "type": "string",
        "oneOf": TITLED,
        "title": "Paint",
    }


def test_a_form_may_ask_for_nothing_but_consent() -> None:
    for asked in (form(dataclasses.make_dataclass("Nothing", [])), raw(), form({"type": "object"})):
        assert asked.requested(NEWEST) == asked.requested(OLD) == {"type": "object", "properties": {}}
    assert raw().accept(None) == raw().accept({"x": 1}) == {}


# --- hand-written schemas -------------------------------------------------------------------------

WRITTEN: Mapping[str, Any] = {
    "name": {"type": "string", "title": "Name", "default": "John", "minLength": 1, "maxLength": 50},
    "age": {"type": "integer", "minimum": 0, "maximum": 150, "default": 30},
    "score": {"type": "number", "default": 95.5},
    "sure": {"type": "boolean", "default": True, "description": "Really?"},
    "plain": {"type": "string", "enum": ["a", "b"], "default": "a"},
    "titled": {"type": "string", "oneOf": TITLED, "default": "blue"},
    "legacy": {"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"], "default": "b"},
    "several": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "minItems": 1, "default": ["a"]},
    "titles": {"type": "array", "items": {"anyOf": TITLED}, "maxItems": 1, "default": []},
}


def test_a_written_schema_is_sent_as_it_is() -> None:
    """S26-ELI-04: every kind of property that the revision has."""
    schema = {"type": "object", "properties": WRITTEN, "required": ["age"]}
    unsaid = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "T", "additionalProperties": False}
    asked = form({**schema, **unsaid, "description": "D"})
    for revision in (NEWEST, SESSIONS):
        assert asked.requested(revision) == schema
        assert_published(asked, revision)


def test_a_written_schema_gives_a_dict_with_the_defaults() -> None:
    asked = raw(**WRITTEN, odd={"type": "string"})
    defaults = {name: part["default"] for name, part in WRITTEN.items()}
    assert asked.accept({}) == asked.accept({"odd": None, "more": 1}) == defaults
    answer = asked.accept({"age": 3.0, "score": 2, "titles": ["red"], "plain": "b"})
    assert answer == {**defaults, "age": 3, "score": 2, "titles": ["red"], "plain": "b"}
    assert type(answer["age"]) is int


def test_what_is_required_is_not_filled_in() -> None:
    """Nobody has agreed to a default that was not sent back."""
    asked = form(
        {"type": "object", "properties": {"it": {"type": "boolean", "default": True}}, "required": ["it"]},
    )
    assert shown(asked) == {"type": "boolean", "default": True}
    assert told(asked, {}) == ["it: required, but missing"]


@pytest.mark.parametrize(
    "asked", [raw(it=WRITTEN["sure"]), asking(bool, default=True), asking(bool, default_factory=lambda: True)]
)
def test_null_does_not_stand_for_a_default(asked: Form) -> None:
    assert told(asked, {"it": None}) == ["it: null is not of type 'boolean'"]


def test_null_stands_for_itself_where_the_type_takes_it() -> None:
    told_default = asking(str | None, default="x")
    assert shown(told_default) == {"type": "string", "default": "x"}
    for asked in (told_default, asking(str | None, default_factory=lambda: "x")):
        assert (asked.accept({}).it, asked.accept({"it": None}).it) == ("x", None)


# --- revisions ------------------------------------------------------------------------------------


def test_the_oldest_forms_have_defaults_for_booleans_only() -> None:
    """T25-ELI-02."""
    single = {name: part for name, part in WRITTEN.items() if part["type"] != "array"}
    asked = raw(**single)
    assert_published(asked, OLD)
    written = asked.requested(OLD)["properties"]
    assert {name for name, part in written.items() if "default" in part} == {"sure"}
    assert asked.accept({}) == {name: part["default"] for name, part in single.items()}


@pytest.mark.parametrize(
    ("asked", "old"),
    [
        (asking(Colour), {"type": "string", "enum": ["red", "blue"], "enumNames": ["RED", "BLUE"]}),
        (asking(Same), {"type": "string", "enum": ["a", "b"]}),
        (raw(it=WRITTEN["titled"]), {"type": "string", "enum": ["red", "blue"], "enumNames": ["RED", "BLUE"]}),
        (raw(it=WRITTEN["plain"]), {"type": "string", "enum": ["a", "b"]}),
        (raw(it=WRITTEN["legacy"]), {"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]}),
    ],
)
def test_the_oldest_forms_have_titles_beside_the_choices(asked: Form, old: Any) -> None:
    """T25-ELI-02."""
    assert shown(asked, OLD) == old
    assert_published(asked, OLD)


@pytest.mark.parametrize("asked", [asking(list[Colour]), raw(it=WRITTEN["several"]), raw(it=WRITTEN["titles"])])
def test_the_oldest_forms_have_no_choice_of_several_values(asked: Form) -> None:
    with pytest.raises(FormNotInRevision, match="tool 'it': property 'it': 2025-06-18 has no choice of several"):
        asked.requested(OLD)


def test_the_oldest_revision_has_no_forms() -> None:
    """T25-ELI-01."""
    for asked in (raw(), asking(str)):
        with pytest.raises(FormNotInRevision, match="tool 'it': 2025-03-26 has no forms"):
            asked.requested(OLDEST)


# --- what a form cannot ask -----------------------------------------------------------------------


class Inner(msgspec.Struct):
    x: int


class Pair(NamedTuple):
    x: int


class Chain(msgspec.Struct):
    it: Chain | None


NO_FORM: list[tuple[Any, str]] = [
    (Inner, "is an object, but a form is flat"),
    (dict[str, str], "is an object, but a form is flat"),
    (list[str], "is a list of anything"),
    (list[Inner], "is a list of anything"),
    (tuple[str, str], "is a list of anything"),
    (Annotated[list[str], {"items": False}], "has no single type"),
    (Annotated[str, {"enum": [["a"]]}], "has choices that are no texts"),
    (Any, "has no single type"),
    (int | str, "has no single type"),
    (int | str | None, "has no single type"),
    (Level, "has choices that are no texts"),
    (Literal[1, 2], "has choices that are no texts"),
    (Literal["a", 1], "has choices that are no texts"),
    (Literal[None], "has no choices"),  # noqa: PYI061
    (list[Level], "has choices that are no texts"),
    (datetime.time, "the format 'time' is none of date, date-time, email, uri"),
    (bytes, "a form cannot say contentEncoding"),
    (
        Annotated[str, Meta(pattern="a")],
        "a form cannot say pattern: .* description, format, maxLength, minLength, title",
    ),
    (Annotated[float, Gt(0)], "a form cannot say exclusiveMinimum"),
    (Annotated[int, Meta(multiple_of=2)], "a form cannot say multipleOf"),
    (Annotated[bool, {"title": 1}], "title, description and format take text"),
]


@pytest.mark.parametrize(("hint", "reason"), NO_FORM, ids=str)
def test_a_type_that_no_form_can_ask_for_is_refused(hint: Any, reason: str) -> None:
    """S26-ELI-03."""
    with pytest.raises(RegistrationError, match=f"^tool 'it': property 'it': {reason}"):
        asking(hint)


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (Chain, "property 'it': has no single type"),
        (dataclasses.make_dataclass("Odd", [("it", complex)]), "it: complex has no JSON form"),
        (dataclasses.make_dataclass("Odd", [("it", Annotated[float, Ge(-float("inf"))])]), "the form is no JSON"),
        (Pair, "Pair is no object with named members"),
        (pydantic.RootModel[int], "is no object with named members"),
        (str, "a form is a dataclass, .* not <class 'str'>"),
        (dict[str, int], "a form is a dataclass"),
        (list[Annotated[int, {}]], "a form is a dataclass"),
        (Colour, "a form is a dataclass"),
        (["it"], "a form is a dataclass, .* not a value of type list"),
        (None, "a form is a dataclass"),
    ],
    ids=str,
)
def test_what_is_no_flat_class_is_refused(schema: Any, reason: str) -> None:
    with pytest.raises(RegistrationError, match=f"^tool 'it': .*{reason}"):
        form(schema)


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        (True, "has no single type"),
        ({}, "has no single type"),
        ({"type": ["string", "null"]}, "has no single type"),
        ({"type": "null"}, "has no single type"),
        ({"anyOf": [{"type": "string"}]}, "has no single type"),
        ({"type": "object", "properties": {}}, "is an object, but a form is flat"),
        ({"type": "array"}, "is a list of anything"),
        ({"type": "array", "items": {"type": "string"}}, "is a list of anything"),
        ({"type": "array", "items": {"oneOf": TITLED}}, "is a list of anything"),
        ({"type": "array", "items": {"type": "integer", "enum": [1]}}, "has choices that are no texts"),
        ({"type": "array", "items": {"anyOf": TITLED}, "uniqueItems": True}, "a form cannot say uniqueItems"),
        ({"enum": ["a"]}, "has choices that are no texts.*type: string"),
        ({"type": "string", "enum": []}, "has no choices"),
        ({"type": "string", "enum": ["a", "a"]}, "one of them twice"),
        ({"type": "string", "enum": ["a", "b"], "enumNames": ["A"]}, "needs one title, a text, for each"),
        ({"type": "string", "enum": ["a"], "enumNames": "A"}, "needs one title, a text, for each"),
        ({"type": "string", "enum": ["a"], "enumNames": [1]}, "needs one title, a text, for each"),
        ({"type": "string", "enumNames": ["a"]}, "a form cannot say enumNames"),
        ({"type": "string", "oneOf": [{"const": "a"}]}, "has alternatives"),
        ({"type": "string", "oneOf": [{"const": 1, "title": "A"}]}, "has choices that are no texts"),
        ({"type": "string", "oneOf": [{"const": "a", "title": 1}]}, "is invalid: 1 is not of type 'string'"),
        ({"type": "string", "oneOf": TITLED, "enum": ["red"]}, "a form cannot say enum"),
        ({"type": "string", "format": "hostname"}, "the format 'hostname' is none of"),
        ({"type": "string", "pattern": "^a"}, "a form cannot say pattern"),
        ({"type": "boolean", "minLength": 1}, "a form cannot say minLength"),
        ({"$ref": "#/properties/it"}, "has no single type|schema of the form"),
    ],
    ids=str,
)
def test_a_written_property_that_no_form_can_have_is_refused(part: Any, reason: str) -> None:
    """S26-ELI-03."""
    with pytest.raises(RegistrationError, match=f"^tool 'it': .*({reason})"):
        raw(it=part)


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"type": "array"}, "must have type: object at its root"),
        ({}, "must have type: object at its root"),
        ({"type": "object", "properties": {"it": {"type": "strange"}}}, "the schema of the form is invalid"),
        ({"type": "object", "properties": {"it": {"minLength": object()}}}, "the schema of the form is no JSON"),
        ({"type": "object", "patternProperties": {}, "allOf": [{}]}, "cannot say allOf, patternProperties"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "cannot say additionalProperties"),
        ({"type": "object", "required": ["it"]}, "property 'it' is required, but not there"),
    ],
)
def test_a_written_schema_that_is_no_form_is_refused(schema: Any, reason: str) -> None:
    with pytest.raises(RegistrationError, match=f"^tool 'it': .*{reason}"):
        form(schema)


@pytest.mark.parametrize(
    "make",
    [
        lambda: raw(it={"type": "string", "default": 1}),
        lambda: raw(it={"type": "string", "enum": ["a"], "default": "b"}),
        lambda: raw(it={"type": "array", "items": {"anyOf": TITLED}, "default": ["green"]}),
        lambda: raw(it={"type": "string", "format": "email", "default": "nobody"}),
        lambda: raw(it={"type": "string", "default": None}),
        lambda: asking(Annotated[int, Ge(1)], default=0),
        lambda: asking(Annotated[str, {"format": "uri"}], default="here"),
    ],
)
def test_a_default_must_fit(make: Callable[[], Form]) -> None:
    with pytest.raises(RegistrationError, match=r"tool 'it': property it.*: its default does not fit"):
        make()


# --- what comes back ------------------------------------------------------------------------------


def test_all_problems_are_told_at_once() -> None:
    """S26-ELI-05."""
    asked = form(AsDataclass)
    assert told(asked, {"colour": "green", "count": "1", "note": 5}) == [
        "colour: 'green' is not one of 'red', 'blue'",
        "count: '1' is not of type 'integer'",
        "note: 5 is not of type 'string' or 'null'",
        "name: required, but missing",
    ]


@pytest.mark.parametrize("content", [[], "x", 5, True, [{"name": "Ada"}]])
def test_an_answer_that_is_no_object_is_refused(content: Any) -> None:
    (problem,) = told(form(AsDataclass), content)
    assert problem.endswith("is not of type 'object'")


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("email", ["a@b", "ada.l+x@example.com", "\u00e4@\u00f6.de"], ["", "a", "a@", "@b", "a@b@c", "a b@c", "a@b\n"]),
        ("uri", ["https://example.com/?q=1", "mailto:a@b"], ["", "example.com", "https://a b", "/x"]),
        ("date", ["2026-07-28"], ["", "2026-02-30", "28.07.2026", "2026-07-28T09:30:00Z"]),
        ("date-time", ["2026-07-28T09:30:00Z", "2026-07-28T09:30:00.5+02:00"], ["", "now", "2026-07-28T25:00:00Z"]),
    ],
)
def test_formats_are_checked(name: str, good: list[str], bad: list[str]) -> None:
    """S26-ELI-04."""
    asked = raw(it={"type": "string", "format": name})
    assert [asked.accept({"it": text}) for text in good] == [{"it": text} for text in good]
    for text in bad:
        (problem,) = told(asked, {"it": text})
        assert problem.startswith(f"it: {text!r} is not a")


def test_a_class_may_have_rules_of_its_own() -> None:
    @dataclasses.dataclass
    class Asked:
        it: int

        def __post_init__(self) -> None:
            if self.it == 13:
                raise ValueError("not that one")

    class Model(pydantic.BaseModel):
        it: int

        @pydantic.field_validator("it")
        @classmethod
        def check(cls, value: int) -> int:
            return Asked(value).it

    assert told(form(Asked), {"it": 13}) == ["not that one"]
    assert told(form(Model), {"it": 13}) == ["it: Value error, not that one"]


def test_values_that_no_type_can_hold_are_refused() -> None:
    assert told(asking(float), {"it": 10**400}) == ["it: the number is too large"]
    model = form(pydantic.create_model("Model", it=(int, ...)))
    assert told(model, {"it": 10**5000}) == ["holds a value that cannot be read"]


def test_an_answer_of_many_parts_is_refused() -> None:
    asked = raw(it=WRITTEN["several"])
    (problem,) = told(asked, {"it": ["a"] * 200_000})
    assert "too many to be checked" in problem


# --- one form, many calls -------------------------------------------------------------------------


def test_a_form_cannot_be_changed() -> None:
    written = {"type": "object", "properties": {"it": dict(WRITTEN["several"])}}
    asked = form(written)
    written["properties"] = {}
    asked.requested(NEWEST)["properties"]["it"]["items"]["enum"].append("c")
    asked.accept({})["it"].append("b")
    assert asked.requested(NEWEST)["properties"] == {"it": WRITTEN["several"]}
    assert asked.accept({}) == {"it": ["a"]}
    with pytest.raises(AttributeError):
        asked._owner = "other"  # type: ignore[misc]


def test_a_class_is_read_once_for_each_owner() -> None:
    assert form(AsDataclass) is form(AsDataclass)
    other = Form.of(AsDataclass, owner="tool 'other'")
    with pytest.raises(FormNotInRevision, match="tool 'other'"):
        other.requested(OLDEST)


# --- whatever comes -------------------------------------------------------------------------------

TEXT = st.text(max_size=8)
CHOICES = st.sampled_from(["a", "b"])
DATES = st.dates().map(datetime.date.isoformat)
TIMES = st.datetimes(timezones=st.just(datetime.timezone.utc)).map(datetime.datetime.isoformat)

#: Type -> JSON values of it, and what they become.
GENERATED: list[tuple[Any, st.SearchStrategy[Any], Callable[[Any], Any]]] = [
    (str, TEXT, str),
    (Annotated[str, MinLen(2), MaxLen(3)], st.text(min_size=2, max_size=3), str),
    (Annotated[str, EMAIL], st.just("a@b.de"), str),
    (bool, st.booleans(), bool),
    (int, st.integers(-(2**53), 2**53), int),
    (Annotated[int, Ge(1), Lt(5)], st.integers(1, 4), int),
    (float, st.floats(allow_nan=False, allow_infinity=False), float),
    (Annotated[float, Ge(0)], st.floats(0, 1e300), float),
    (datetime.date, DATES, datetime.date.fromisoformat),
    (datetime.datetime, TIMES, datetime.datetime.fromisoformat),
    (Literal["a", "b"], CHOICES, str),
    (Same, CHOICES, Same),
    (Colour, st.sampled_from(["red", "blue"]), Colour),
    (list[Literal["a", "b"]], st.lists(CHOICES, max_size=4), list),
    (set[Same], st.lists(CHOICES, max_size=4), lambda values: {Same(value) for value in values}),
    (Annotated[list[Same], MinLen(1)], st.lists(CHOICES, min_size=1), lambda vs: [Same(v) for v in vs]),
]


def as_class(kind: str, fields: Mapping[str, Any]) -> Any:
    if kind == "dataclass":
        return dataclasses.make_dataclass("Made", fields.items())
    if kind == "struct":
        return msgspec.defstruct("Made", list(fields.items()))
    if kind == "model":
        models: Any = {name: (hint, ...) for name, hint in fields.items()}
        return pydantic.create_model("Made", **models)
    return typing_extensions.TypedDict("Made", fields)  # type: ignore[operator]


@st.composite
def forms(draw: st.DrawFn) -> tuple[Form, dict[str, Any], dict[str, Any]]:
    """A form of any class, an answer to it, and the values that this stands for."""
    rows = draw(st.lists(st.sampled_from(GENERATED), max_size=5))
    fields: dict[str, Any] = {}
    content: dict[str, Any] = {}
    values: dict[str, Any] = {}
    for number, (hint, sent, meant) in enumerate(rows):
        name, optional = f"f{number}", draw(st.booleans())
        fields[name] = typing.Optional[hint] if optional else hint  # noqa: UP045
        if optional and draw(st.booleans()):
            values[name] = None
        else:
            content[name] = draw(sent)
            values[name] = meant(content[name])
    kind = draw(st.sampled_from(["dataclass", "struct", "model", "dict"]))
    return form(as_class(kind, fields)), content, values


@given(forms())
def test_a_form_accepts_what_it_asks_for(drawn: tuple[Form, dict[str, Any], dict[str, Any]]) -> None:
    asked, content, values = drawn
    answer = asked.accept({**content, "unknown": 1})
    assert {name: answer[name] if isinstance(answer, dict) else getattr(answer, name) for name in values} == values
    jsonschema.validate(content, asked.requested(NEWEST))


@given(forms())
def test_a_form_is_what_each_revision_allows(drawn: tuple[Form, dict[str, Any], dict[str, Any]]) -> None:
    """S26-ELI-03, T25-ELI-02."""
    asked, _, _ = drawn
    for revision in (NEWEST, SESSIONS, OLD):
        try:
            assert_published(asked, revision)
        except FormNotInRevision:
            kinds = [part["type"] for part in asked.requested(NEWEST)["properties"].values()]
            assert (revision, "array" in kinds) == (OLD, True)


HOSTILE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from([10**400, "a", "red", 1, 0.0]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(forms(), HOSTILE | st.dictionaries(st.sampled_from([f"f{n}" for n in range(5)]), HOSTILE))
def test_hostile_answers_are_refused_in_one_way(drawn: tuple[Form, Any, Any], content: Any) -> None:
    """S26-ELI-05: what comes back is checked before it is used."""
    with contextlib.suppress(FormErrors):
        drawn[0].accept(content)


@given(st.lists(st.sampled_from(sorted(WRITTEN)), unique=True), HOSTILE)
def test_what_a_written_form_accepts_fits_its_schema(names: list[str], value: Any) -> None:
    asked = raw(**{name: WRITTEN[name] for name in names})
    try:
        answer = asked.accept(dict.fromkeys(WRITTEN, value))
    except FormErrors:
        return
    assert answer.keys() == set(names)
    jsonschema.validate(answer, asked.requested(NEWEST))
