from __future__ import annotations

import dataclasses
import datetime
import enum
import functools
import inspect
import json
import logging
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, Literal, NoReturn, TypedDict

import jsonschema
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from mcp_wsgi import schema
from mcp_wsgi.content import Audio, EmbeddedResource, Image, ResourceLink, Text
from mcp_wsgi.errors import RegistrationError
from mcp_wsgi.jsonschemas import MAX_PARTS
from mcp_wsgi.returns import ToolResult
from mcp_wsgi.schema import (
    ArgumentErrors,
    Arguments,
    HeaderParam,
    Output,
    OutputError,
    Problem,
    StringArguments,
    check_name,
)
from mcp_wsgi.shapes import MAX_DECODED_DEPTH
from mcp_wsgi.signatures import return_hint
from tests.slow import SLOW_NUMBERS, forbid_the_usual_decoder

NOTHING: dict[str, Any] = {"type": "object", "additionalProperties": False}


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Item:
    name: str
    price: float = 1.0


@dataclasses.dataclass
class Node:
    value: int
    next: Node | None = None


class Row(TypedDict):
    a: int


@dataclasses.dataclass
class Holder:
    note: Text


class Model(pydantic.BaseModel):
    a: int
    b: str | None = None


def find(customer: str, limit: int = 20, tags: list[str] = [], *, strict: bool | None = None) -> list[Item]:  # noqa: B006
    """Find a customer's orders.

    Args:
        customer: Name or e-mail address.
    """
    return []


def arguments(function: Callable[..., Any], **options: Any) -> Arguments:
    return Arguments.from_function(function, owner="tool 'it'", **options)


def written(properties: dict[str, Any], **more: Any) -> Arguments:
    return Arguments.from_schema({"type": "object", "properties": properties, **more}, owner="tool 'it'")


def told(bind: Callable[[Any], Any], values: Any) -> list[str]:
    """What is said about arguments."""
    with pytest.raises(ArgumentErrors) as error:
        bind(values)
    return str(error.value).split("\n")


# --- schemas from signatures ----------------------------------------------------------------------


def test_a_signature_becomes_a_closed_object() -> None:
    """S26-TOOL-05."""
    nullable = {"anyOf": [{"type": "boolean"}, {"type": "null"}], "default": None}
    assert arguments(find).schema == {
        "type": "object",
        "properties": {
            "customer": {"type": "string", "description": "Name or e-mail address."},
            "limit": {"type": "integer", "default": 20},
            "tags": {"type": "array", "items": {"type": "string"}, "default": []},
            "strict": nullable,
        },
        "required": ["customer"],
        "additionalProperties": False,
    }


def test_without_parameters_nothing_is_taken() -> None:
    """S26-TOOL-05: the schema that is recommended for it."""
    assert arguments(lambda: None).schema == NOTHING
    assert Arguments.from_schema(None, owner="x").schema == NOTHING
    assert arguments(lambda ctx: None, skip={"ctx"}).schema == NOTHING
    for taken in (arguments(lambda: None), Arguments.from_schema(None, owner="x")):
        assert taken.bind({}) == {}
        assert told(taken.bind, {"a": 1}) == ["unknown argument 'a'; none is expected"]


def test_classes_are_put_in_place_unless_they_are_recursive() -> None:
    def tool(item: Item, node: Node) -> None: ...

    found = arguments(tool).schema
    assert found["properties"]["item"]["properties"]["name"] == {"type": "string"}
    assert found["properties"]["node"] == {"$ref": "#/$defs/Node"}
    assert list(found["$defs"]) == ["Node"]


def test_a_signature_may_grow_too_large_to_be_listed() -> None:
    kind: Any = int
    for _ in range(20):
        kind = dataclasses.make_dataclass("Twice", [("a", kind), ("b", kind)])

    def tool(a: Any) -> None: ...

    tool.__annotations__["a"] = kind
    with pytest.raises(RegistrationError, match="tool 'it': the input schema"):
        arguments(tool)


def test_header_parameters_are_listed_and_checked() -> None:
    """S26-HTTP-32, S26-HTTP-33, S26-HTTP-34."""

    def tool(region: Annotated[str, {"x-mcp-header": "Region"}], size: int = 1) -> None: ...

    def wrong(size: Annotated[float, {"x-mcp-header": "Size"}]) -> None: ...

    assert arguments(tool).headers == (HeaderParam("Mcp-Param-Region", "Region", ("region",), "string"),)
    with pytest.raises(RegistrationError, match="tool 'it': the input schema has x-mcp-header 'Size' at size"):
        arguments(wrong)
    with pytest.raises(RegistrationError, match="tool 'it': the input schema has x-mcp-header"):
        written({"a": {"items": {"type": "string", "x-mcp-header": "X"}}})


def test_a_piece_of_schema_that_is_invalid_is_refused() -> None:
    def tool(a: Annotated[str, {"minLength": "x"}]) -> None: ...

    with pytest.raises(RegistrationError, match="tool 'it': parameter a"):
        arguments(tool)


# --- binding --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "bound"),
    [
        ({"customer": "a"}, {"customer": "a"}),
        ({"customer": "a", "limit": 3.0}, {"customer": "a", "limit": 3}),
        ({"customer": "a", "strict": None, "tags": ["x"]}, {"customer": "a", "strict": None, "tags": ["x"]}),
        ({"customer": "a", "tags": '["x"]'}, {"customer": "a", "tags": ["x"]}),
        ({"customer": "5", "limit": "5"}, {"customer": "5", "limit": 5}),
        ({"customer": "[1]", "strict": "true"}, {"customer": "[1]", "strict": True}),
        ({"customer": "null", "strict": "null"}, {"customer": "null", "strict": None}),
    ],
)
def test_arguments_are_converted_and_defaults_are_left_to_the_function(given: Any, bound: Any) -> None:
    found = arguments(find).bind(given)
    assert found == bound
    assert all(type(found[name]) is type(bound[name]) for name in bound)


def test_all_problems_are_told_at_once_with_their_paths() -> None:
    """S26-TOOL-15."""
    assert told(arguments(find).bind, {"limt": 3, "limit": "ten", "tags": ["a", 5]}) == [
        "customer: required, but missing",
        "unknown argument 'limt'; known: customer, limit, tags, strict",
        "limit: 'ten' is not of type 'integer'",
        "tags[1]: 5 is not of type 'string'",
    ]


@pytest.mark.parametrize("given", [None, [], "x", 5])
def test_arguments_that_are_no_object_are_refused(given: Any) -> None:
    for taken in (arguments(find), written({}), written({"a": {"$ref": "#/$defs/a"}}, **{"$defs": {"a": True}})):
        (problem,) = told(taken.bind, given)
        assert problem.endswith("is not of type 'object'")


def test_values_are_converted_by_their_types() -> None:
    def tool(day: datetime.date, colour: Colour, item: Item, models: list[Model], more: set[int] = frozenset()) -> None:  # type: ignore[assignment]
        ...

    assert arguments(tool).bind(
        {"day": "2026-07-28", "colour": "red", "item": {"name": "a"}, "models": [{"a": 1}], "more": "[1, 1]"}
    ) == {
        "day": datetime.date(2026, 7, 28),
        "colour": Colour.RED,
        "item": Item("a"),
        "models": [Model(a=1)],
        "more": {1},
    }


def test_many_problems_are_counted_and_values_are_cut() -> None:
    def tool(a: list[int]) -> None: ...

    lines = told(arguments(tool).bind, {"a": ["x" * 100_000] * 10_000})
    assert len(lines) == 21
    assert lines[-1] == "and 80 more"
    assert max(map(len, lines)) < 200


def test_a_string_is_decoded_once_and_only_where_no_string_is_meant() -> None:
    def tool(a: list[int], b: str | list[int] = "", c: Any = None, d: dict[str, Any] = {}) -> None: ...  # noqa: B006

    bind = arguments(tool).bind
    given = {"a": "[1]", "b": "[1]", "c": "[1]", "d": '{"x": "[1]"}'}
    assert bind(given) == {"a": [1], "b": "[1]", "c": "[1]", "d": {"x": "[1]"}}
    assert given["a"] == "[1]"
    assert told(bind, {"a": '"[1]"'}) == ["""a: '"[1]"' is not of type 'array'"""]
    assert told(bind, {"a": "[1, null]"}) == ["a[1]: null is not of type 'integer'"]
    assert told(bind, {"a": "NaN"}) == ["a: 'NaN' is not of type 'array'"]


def test_what_was_decoded_is_bounded_in_depth() -> None:
    def tool(a: list[Any]) -> None: ...

    bind = arguments(tool).bind
    assert len(bind({"a": "[" * MAX_DECODED_DEPTH + "]" * MAX_DECODED_DEPTH})["a"]) == 1
    for levels in (MAX_DECODED_DEPTH + 1, 100_000):
        (problem,) = told(bind, {"a": "[" * levels + "]" * levels})
        assert problem.endswith("is not of type 'array'")


def test_many_numbers_in_a_string_do_not_take_long(monkeypatch: pytest.MonkeyPatch) -> None:
    def tool(a: list[float]) -> None: ...

    bind, text = arguments(tool).bind, f"[{SLOW_NUMBERS}]"
    forbid_the_usual_decoder(monkeypatch)
    assert set(bind({"a": text})["a"]) == {1e308}


def test_a_value_nested_without_end_is_refused() -> None:
    value: dict[str, Any] = {"value": 1}
    for _ in range(10_000):
        value = {"value": 1, "next": value}

    def tool(node: Node) -> None: ...

    assert told(arguments(tool).bind, {"node": value}) == ["too deeply nested to be checked"]


def test_defaults_that_stand_in_a_field_are_supplied() -> None:
    def tool(a: int = Field(2), b: list[int] = Field(default_factory=list), c: int = Field(ge=1)) -> None: ...  # noqa: B008

    bind = arguments(tool).bind
    assert bind({"c": 1}) == {"a": 2, "b": [], "c": 1}
    assert bind({"c": "1", "a": 5}) == {"a": 5, "b": [], "c": 1}
    assert bind({"c": 1})["b"] is not bind({"c": 1})["b"]


def test_names_that_only_python_would_mind_are_taken() -> None:
    def tool(__struct_fields__: int, self: int = 1, arguments: int = 2) -> None: ...

    assert arguments(tool).bind({"__struct_fields__": 1, "self": 3}) == {"__struct_fields__": 1, "self": 3}

    def hidden(__weakref__: int) -> None: ...

    def slots(__slots__: int) -> None: ...

    def mangled(__a: int) -> None: ...  # noqa: PYI063

    for function in (hidden, slots, mangled):
        (name,) = inspect.signature(function).parameters
        assert arguments(function).bind({name: 1.0}) == {name: 1}


def test_an_integer_beyond_what_msgspec_lists_is_a_choice_too() -> None:
    def tool(a: Literal[1, 10_000_000_000_000_000_000_000]) -> None: ...  # type: ignore[valid-type]

    assert arguments(tool).bind({"a": 10**22}) == {"a": 10**22}


def test_bound_arguments_call_the_function() -> None:
    def tool(a: int, b: int = 2, *, c: int = 3) -> int:
        return a * 100 + b * 10 + c

    assert tool(**arguments(tool).bind({"c": 4, "a": 1})) == 124
    partial = functools.partial(tool, c=5)
    assert partial(**arguments(partial).bind({"a": 1})) == 125
    assert told(arguments(partial).bind, {"a": 1, "c": 4}) == ["unknown argument 'c'; known: a, b"]


# --- hand-written schemas -------------------------------------------------------------------------


def test_a_hand_written_schema_is_listed_as_it_is() -> None:
    """S26-TOOL-06: unstripped, and references stay where they are."""
    given = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "title": "Mine",
        "properties": {"a": {"$ref": "#/$defs/A"}},
        "$defs": {"A": {"$anchor": "a", "type": "integer", "title": "A"}},
        "if": {"required": ["a"]},
        "then": {"minProperties": 1},
    }
    found = Arguments.from_schema(given, owner="x").schema
    assert found == given
    assert list(found) == list(given)


@pytest.mark.parametrize("given", [{}, {"type": "array"}, {"type": ["object"]}, {"anyOf": [{"type": "object"}]}])
def test_the_root_must_be_an_object(given: Any) -> None:
    """S26-TOOL-05."""
    with pytest.raises(RegistrationError, match="tool 'it': the input schema must have type: object"):
        Arguments.from_schema(given, owner="tool 'it'")


@pytest.mark.parametrize(
    "more",
    [{"required": "a"}, {"$schema": "https://example.com"}, {"$ref": "https://example.com"}, {"properties": {"a": 5}}],
)
def test_a_schema_that_cannot_be_used_is_refused_at_registration(more: dict[str, Any]) -> None:
    """S26-JSON-02, S26-JSON-03, S26-JSON-05."""
    with pytest.raises(RegistrationError, match="tool 'it': the input schema "):
        Arguments.from_schema({"type": "object", **more}, owner="tool 'it'")


def test_arguments_for_a_hand_written_schema_are_checked_and_left_alone() -> None:
    taken = written({"a": {"type": "integer"}, "b": {"type": "number", "multipleOf": 0.5}}, required=["a"])
    given = {"a": 3.0, "b": 1, "c": [1]}
    assert taken.bind(given) is given
    assert told(taken.bind, {"a": "x", "b": 0.7}) == [
        "a: 'x' is not of type 'integer'",
        "b: 0.7 is not a multiple of 0.5",
    ]


def test_a_string_is_decoded_for_a_hand_written_schema_too() -> None:
    taken = written({"a": {"type": "array"}, "b": {"type": ["string", "array"]}, "c": {}}, additionalProperties=False)
    assert taken.bind({"a": "[1]", "b": "[1]", "c": "[1]"}) == {"a": [1], "b": "[1]", "c": "[1]"}


# --- prompts and templates ------------------------------------------------------------------------


def greet(
    name: Annotated[str, "Who."],
    count: int,
    loud: bool = False,
    day: datetime.date | None = None,
    tags: list[str] = [],  # noqa: B006
    colour: Colour = Colour.RED,
    mood: Literal["good", "bad"] = "good",
    factor: float = 1.0,
) -> str:
    """Greet.

    Args:
        count: How often.
    """
    return name


def strings(function: Callable[..., Any], **options: Any) -> StringArguments:
    return StringArguments.from_function(function, owner="prompt 'it'", **options)


@pytest.mark.parametrize("levels", [65, 200, 900, 100_000])
def test_what_stands_in_a_text_is_bounded_in_depth(levels: int) -> None:
    def prompt(rows: list[Any] = [], node: Node | None = None) -> None: ...  # noqa: B006

    bind = strings(prompt).bind
    (problem,) = told(bind, {"rows": "[" * levels + "]" * levels})
    assert problem.endswith("is not of type 'array'")
    (problem,) = told(bind, {"node": '{"value":1,"next":' * levels + "null" + "}" * levels})
    assert problem.endswith("is not of type 'object' or 'null'")


def test_the_names_of_text_parameters_are_listed() -> None:
    """S26-PRM-03."""
    assert strings(greet, skip=("mood", "factor")).names == (
        ("name", True, "Who."),
        ("count", True, "How often."),
        ("loud", False, None),
        ("day", False, None),
        ("tags", False, None),
        ("colour", False, None),
    )


def test_texts_are_converted_to_the_types_of_their_parameters() -> None:
    given = {
        "name": "[1]",
        "count": "3",
        "loud": "true",
        "day": "2026-07-28",
        "tags": '["a"]',
        "colour": "red",
        "mood": "bad",
        "factor": "2",
    }
    assert strings(greet).bind(given) == {
        "name": "[1]",
        "count": 3,
        "loud": True,
        "day": datetime.date(2026, 7, 28),
        "tags": ["a"],
        "colour": Colour.RED,
        "mood": "bad",
        "factor": 2.0,
    }
    assert strings(greet).bind({"name": "", "count": "0", "loud": "0", "day": ""}) == {
        "name": "",
        "count": 0,
        "loud": False,
        "day": None,
    }


def test_all_problems_of_texts_are_told_at_once() -> None:
    """S26-PRM-02."""
    assert told(strings(greet).bind, {"count": "x", "loud": "maybe", "nam": "a", "mood": "odd"}) == [
        "name: required, but missing",
        "count: 'x' is not of type 'integer'",
        "loud: 'maybe' is not of type 'boolean'",
        "unknown argument 'nam'; known: name, count, loud, day, tags, colour, mood, factor",
        "mood: 'odd' is not one of 'good', 'bad'",
    ]
    assert told(strings(greet).bind, {"name": 5, "count": "1"}) == ["name: 5 is not of type 'string'"]


def test_defaults_that_stand_in_a_field_are_supplied_to_prompts() -> None:
    def prompt(a: str, b: int = Field(2)) -> None: ...

    assert strings(prompt).bind({"a": "x"}) == {"a": "x", "b": 2}


def test_a_parameter_without_a_json_form_is_refused_for_prompts_too() -> None:
    def prompt(a: complex) -> None: ...

    with pytest.raises(RegistrationError, match="prompt 'it': parameter a"):
        strings(prompt)


# --- output ---------------------------------------------------------------------------------------


def output(annotation: Any) -> Output:
    found = Output.from_annotation(annotation, owner="tool 'it'")
    assert found is not None
    return found


@pytest.mark.parametrize(
    "annotation",
    [
        *(inspect.Signature.empty, None, type(None), NoReturn, str, bytes, Any, object, str | None, str | bytes),
        *(Text, Image, Audio, ResourceLink, EmbeddedResource, ToolResult, Image | None, Text | Image | str),
        *(list[Text], list[Text | Image], list[str | Image], tuple[Image, ...], Sequence[Text], Iterable[Image]),
        *(list, list[Any], tuple, list[bytes], Annotated[str, "Words."], Annotated[list[Image], "x"] | None),
    ],
)
def test_text_and_content_promise_no_data(annotation: Any) -> None:
    assert Output.from_annotation(annotation, owner="x") is None


@pytest.mark.parametrize(
    ("annotation", "schema", "is_object"),
    [
        (int, {"type": "integer"}, False),
        (bool, {"type": "boolean"}, False),
        (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}, False),
        (list[str], {"type": "array", "items": {"type": "string"}}, False),
        (dict, {"type": "object"}, True),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}, True),
        (Row, {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}, True),
        (
            Item,
            {
                "type": "object",
                "properties": {"name": {"type": "string"}, "price": {"type": "number", "default": 1.0}},
                "required": ["name"],
            },
            True,
        ),
    ],
)
def test_other_annotations_promise_data(annotation: Any, schema: dict[str, Any], is_object: bool) -> None:
    found = output(annotation)
    assert found.schema == schema
    assert found.is_object is is_object


def test_a_recursive_type_is_an_object_at_the_root() -> None:
    """T25-TOOL-03: clients of the session era look for type object there."""
    found = output(Node)
    assert found.is_object
    assert found.dump(Node(1, Node(2))) == {"value": 1, "next": {"value": 2, "next": None}}


def test_the_annotation_is_found_on_the_function() -> None:
    found = Output.from_annotation(return_hint(find, owner="x"), owner="x")
    assert found is not None
    assert found.schema["items"]["properties"]["name"] == {"type": "string"}
    assert Output.from_annotation(return_hint(lambda: 1, owner="x"), owner="x") is None


@pytest.mark.parametrize("annotation", [complex, dict[str, Image], "Nowhere", list[complex]])
def test_an_annotation_without_a_json_form_is_refused(annotation: Any) -> None:
    with pytest.raises(RegistrationError, match="tool 'it': return annotation: "):
        Output.from_annotation(annotation, owner="tool 'it'")


@pytest.mark.parametrize(
    ("annotation", "value", "data"),
    [
        (int, 3, 3),
        (float, 3, 3),
        (list[Item], [Item("a")], [{"name": "a", "price": 1.0}]),
        (Row, {"a": 1, "b": 2}, {"a": 1, "b": 2}),
        (Model, Model(a=1), {"a": 1, "b": None}),
        (list[Model], [Model(a=1), {"a": 2}], [{"a": 1, "b": None}, {"a": 2}]),
        (dict[str, datetime.date], {"a": datetime.date(2026, 7, 28)}, {"a": "2026-07-28"}),
        (set[Colour], {Colour.RED}, ["red"]),
        (tuple[int, str], (1, "a"), [1, "a"]),
    ],
)
def test_results_are_encoded(annotation: Any, value: Any, data: Any) -> None:
    """S26-TOOL-07: what is sent conforms."""
    found = output(annotation)
    assert found.dump(value) == data
    jsonschema.Draft202012Validator(found.schema).validate(data)


@pytest.mark.parametrize(
    ("annotation", "value", "words"),
    [
        (int, "3", "'3' is not of type 'integer'"),
        (list[Item], [Item("a"), Item(5)], "[1].name: 5 is not of type 'string'"),  # type: ignore[arg-type]
        (Row, {"b": 1}, "a: required, but missing"),
        (Model, Model.model_construct(a="x"), "a: 'x' is not of type 'integer'"),
        (Node, Node(1, Node("x")), "next.value: 'x' is not of type 'integer'"),  # type: ignore[arg-type]
        (tuple[int, str], (1,), "has 1 item, needs at least 2"),
        (float, float("nan"), "nan is no JSON number"),
        (list[Item], [Item("a", float("inf"))], "[0].price: inf is no JSON number"),
        (dict[str, int], {1.5: 1}, "1.5 is no text"),
    ],
)
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
def test_results_that_are_not_what_was_promised_are_refused(annotation: Any, value: Any, words: str) -> None:
    """S26-TOOL-07."""
    with pytest.raises(OutputError) as error:
        output(annotation).dump(value)
    assert words in str(error.value)


def test_a_hand_written_output_schema_is_kept_and_held_against_results() -> None:
    given = {"$defs": {"a": {"type": "integer"}}, "type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}}
    found = Output.from_schema(given, owner="x")
    assert found.schema == given
    assert found.is_object
    assert not Output.from_schema({"type": ["object", "null"]}, owner="x").is_object
    assert found.dump({"a": 1}) == {"a": 1}
    with pytest.raises(OutputError, match="a: 'x' is not of type 'integer'"):
        found.dump({"a": "x"})


def test_a_large_result_of_ours_is_not_refused_for_its_size() -> None:
    found = Output.from_schema({"type": "array", "uniqueItems": False}, owner="x")
    assert len(found.dump([None] * (MAX_PARTS + 1))) == MAX_PARTS + 1


def test_an_invalid_output_schema_is_refused() -> None:
    with pytest.raises(RegistrationError, match="tool 'it': the output schema is invalid"):
        Output.from_schema({"type": "objekt"}, owner="tool 'it'")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "name"]), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.sampled_from(
        [int, float, bool, list[int], dict[str, str], Row, Item, Model, Node, Colour, int | None, list[Row]]
    ),
    json_values,
)
def test_what_leaves_conforms_whatever_is_returned(annotation: Any, value: Any) -> None:
    """S26-TOOL-07."""
    found = output(annotation)
    validator = jsonschema.Draft202012Validator(found.schema)
    try:
        data = found.dump(value)
    except OutputError:
        assert not validator.is_valid(value)
    else:
        assert json.dumps(data) == json.dumps(value)
        validator.validate(data)


# --- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", "a b", "a,b", "a/b", "é", "a\n", "x" * 129])
def test_other_names_are_refused(name: str) -> None:
    """S26-TOOL-04."""
    with pytest.raises(RegistrationError, match="tool name"):
        check_name("tool", name)


@pytest.mark.parametrize("name", ["a", "A-z_09", "x" * 64])
def test_plain_names_pass_in_silence(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """S26-TOOL-04."""
    check_name("tool", name)
    assert not caplog.records


@pytest.mark.parametrize("name", ["a.b", "x" * 65, "x" * 128])
def test_names_that_known_clients_refuse_are_warned_of(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """S26-TOOL-04."""
    with caplog.at_level(logging.WARNING, "mcp_wsgi"):
        check_name("tool", name)
    assert name in caplog.text


# --- costs ----------------------------------------------------------------------------------------


def test_a_signature_of_plain_types_loads_no_library() -> None:
    code = """
import sys
from mcp_wsgi.schema import Arguments, Output, ArgumentErrors
def add(a: int, b: list[int] | None = None) -> int:
    "Add."
arguments = Arguments.from_function(add, owner="x")
Output.from_annotation(int, owner="x").dump(3)
try:
    arguments.bind({"a": "x"})
except ArgumentErrors:
    print(sorted({"jsonschema", "docstring_parser", "pydantic", "attr", "referencing", "asyncio"} & sys.modules.keys()))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_public_names_are_there() -> None:
    assert all(hasattr(schema, name) for name in schema.__all__)
    assert str(Problem("a", "b")) == "a: b"


def test_an_annotation_with_bytes_announces_them() -> None:
    output = Output.from_annotation(dict[str, bytes], owner="tool")
    assert output is not None
    assert output.dump({"data": b"\x00\xff"}) == {"data": "AP8="}


def test_integer_names_are_sent_as_the_schema_says() -> None:
    output = Output.from_annotation(dict[int, str], owner="tool")
    assert output is not None
    assert output.schema["propertyNames"] == {"pattern": "^-?[0-9]+$"}
    assert output.dump({1: "a", -2: "b"}) == {"1": "a", "-2": "b"}


@pytest.mark.parametrize(
    "annotation",
    [
        ToolResult | dict[str, int],
        ToolResult | Item,
        Image | dict[str, int],
        Text | Item | None,
        Annotated[Text | Item, "either"],
        list[Text | dict[str, int]],
        list[Image] | Item,
    ],
)
def test_data_or_content_is_told_by_the_value(annotation: Any) -> None:
    assert Output.from_annotation(annotation, owner="tool") is None


@pytest.mark.parametrize("annotation", [dict[str, Text], list[list[Text]], list[dict[str, Image]], Holder])
def test_content_inside_data_is_refused(annotation: Any) -> None:
    with pytest.raises(RegistrationError, match=r"(Text|Image) is content, and cannot be a part of structured data"):
        Output.from_annotation(annotation, owner="tool")


@pytest.mark.parametrize("schema", [True, [], "x", 5])
def test_a_schema_is_a_dict(schema: Any) -> None:
    with pytest.raises(RegistrationError, match="tool 't': the input schema is a dict, not a value of type"):
        Arguments.from_schema(schema, owner="tool 't'")
    with pytest.raises(RegistrationError, match="tool 't': the output schema is a dict, not a value of type"):
        Output.from_schema(schema, owner="tool 't'")


def test_a_name_is_text() -> None:
    with pytest.raises(RegistrationError, match="tool name 5"):
        check_name("tool", 5)
