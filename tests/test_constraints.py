from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any

import annotated_types as at
import msgspec
import pytest
import typing_extensions
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, Field, Strict, StringConstraints

from mcp_wsgi.constraints import RULES, annotated, constrained, filtered, merged, read_metadata
from mcp_wsgi.problems import Mismatch, mismatch
from mcp_wsgi.shapes import SCALARS, Shape, array, mapping, union
from tests.ecma import Reference

TEXT, WHOLE, REAL, NULL = SCALARS[str], SCALARS[int], SCALARS[float], SCALARS[type(None)]


def shape_of(base: Shape, *metadata: Any) -> Shape:
    return annotated(base, read_metadata(metadata))


def broken(shape: Shape, value: Any) -> list[tuple[str, Any]]:
    """The rules that a value breaks."""
    try:
        shape.convert(value)
    except Mismatch as error:
        return [(fault.keyword, fault.limit) for fault in error.faults]
    return []


@pytest.mark.parametrize(
    ("metadata", "schema"),
    [
        ((at.Ge(1),), {"minimum": 1}),
        ((at.Gt(1), at.Le(5)), {"exclusiveMinimum": 1, "maximum": 5}),
        ((at.Interval(ge=1, lt=5),), {"minimum": 1, "exclusiveMaximum": 5}),
        ((at.MultipleOf(3),), {"multipleOf": 3}),
        ((msgspec.Meta(ge=1, le=5, title="T", description="D", examples=[2]),), None),
        ((Field(ge=1, le=5, title="T", description="D", examples=[2]),), None),
        (("One.", {"x-unit": "kg"}), {"description": "One.", "x-unit": "kg"}),
        ((typing_extensions.Doc("One."),), {"description": "One."}),
        ((msgspec.Meta(extra_json_schema={"deprecated": True}),), {"deprecated": True}),
        ((Field(json_schema_extra={"deprecated": True}, strict=True),), {"deprecated": True}),
        ((Strict(), object()), {}),
    ],
)
def test_metadata_of_every_kind_goes_into_the_schema(metadata: tuple[Any, ...], schema: dict[str, Any] | None) -> None:
    if schema is None:
        schema = {"minimum": 1, "maximum": 5, "title": "T", "description": "D", "examples": [2]}
    assert shape_of(WHOLE, *metadata).schema == {"type": "integer", **schema}


@pytest.mark.parametrize(
    ("base", "schema"),
    [
        (TEXT, {"type": "string", "minLength": 1, "maxLength": 3}),
        (array(WHOLE), {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3}),
        (mapping(TEXT, WHOLE), None),
        (union([TEXT, NULL]), {"anyOf": [{"type": "string"}, {"type": "null"}], "minLength": 1, "maxLength": 3}),
    ],
)
def test_a_length_is_of_whatever_has_one(base: Shape, schema: dict[str, Any] | None) -> None:
    found = shape_of(base, at.Len(1, 3)).schema
    assert found == (schema or {**base.schema, "minProperties": 1, "maxProperties": 3})


def test_a_least_length_of_nothing_is_not_said() -> None:
    assert shape_of(TEXT, at.MaxLen(3), at.Len(0, 3)).schema == {"type": "string", "maxLength": 3}


def test_all_limits_that_a_value_breaks_are_told_with_those_of_its_parts() -> None:
    shape = shape_of(array(WHOLE), at.MaxLen(1))
    assert broken(shape, [1, "x"]) == [("maxItems", 1), ("type", ("integer",))]
    assert broken(shape_of(WHOLE, at.Ge(5), at.MultipleOf(2)), 3) == [("minimum", 5), ("multipleOf", 2)]


def test_a_pattern_is_read_as_clients_read_it() -> None:
    """S26-JSON-02: ``$`` is the end, in the quick way and in the careful one; ``\\d`` knows ten digits."""
    shape = shape_of(TEXT, msgspec.Meta(pattern=r"^[a-z]\d$"))
    assert shape.schema["pattern"] == r"^[a-z]\d$"
    assert shape.convert("a1") == msgspec.convert("a1", shape.exact) == "a1"
    for text in ("a1\n", "a\u0663"):
        assert broken(shape, text) == [("pattern", r"^[a-z]\d$")]
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(text, shape.exact)


def test_a_pattern_that_is_compiled_is_left_to_python() -> None:
    shape = shape_of(TEXT, Field(pattern=re.compile(r"\Aa\Z", re.IGNORECASE)))
    assert "pattern" not in shape.schema
    assert shape.convert("A") == "A"
    assert [keyword for keyword, _ in broken(shape, "b")] == ["pattern"]


def test_a_pattern_is_not_tried_on_a_text_that_is_too_long() -> None:
    shape = shape_of(TEXT, msgspec.Meta(pattern="^(a+)+$", max_length=40))
    assert broken(shape, "a" * 1000 + "!") == [("maxLength", 40)]
    assert broken(shape, "b") == [("pattern", "^(a+)+$")]


@pytest.mark.parametrize(
    ("base", "metadata", "words"),
    [
        (TEXT, at.Ge(1), "says nothing"),
        (WHOLE, at.MinLen(1), "without a length"),
        (SCALARS[bool], msgspec.Meta(pattern="a"), "says nothing"),
        (TEXT, Field(pattern="("), "cannot be used"),
        (TEXT, Field(pattern=r"\A[a-z]+\Z"), r"\\A is not what ECMA-262 and Python have in common"),
        (WHOLE, at.MultipleOf(0), "more than 0"),
    ],
)
def test_a_limit_that_says_nothing_is_refused(base: Shape, metadata: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        shape_of(base, metadata)


def test_a_limit_stated_twice_is_refused_unless_it_is_the_same() -> None:
    assert read_metadata([at.Ge(1), Field(ge=1)]).limits == {"ge": 1}
    with pytest.raises(ValueError, match="stated twice"):
        read_metadata([at.Ge(1), msgspec.Meta(ge=2)])


def test_an_alias_is_refused() -> None:
    with pytest.raises(ValueError, match="alias"):
        read_metadata([Field(alias="b")])


@pytest.mark.parametrize("rule", [AfterValidator(abs), StringConstraints(to_lower=True), Field(discriminator="kind")])
def test_what_only_pydantic_understands_is_left_to_it(rule: Any) -> None:
    assert read_metadata([rule]).rules == [rule]


def test_a_field_may_hold_rules_for_pydantic() -> None:
    class Rule:
        def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any: ...

    field = Field()
    field.metadata.append(rule := Rule())
    assert read_metadata([field]).rules == [rule]


def test_bounds_of_dates_and_decimals_hold_for_what_is_meant() -> None:
    date = shape_of(SCALARS[datetime.date], at.Ge(datetime.date(2026, 1, 1)))
    assert broken(date, "2026-01-01") == []
    assert broken(date, "2025-12-31") == [("minimum", datetime.date(2026, 1, 1))]
    assert date.schema == {"type": "string", "format": "date"}
    amount = shape_of(SCALARS[Decimal], at.Gt(0.1))
    assert amount.convert("0.2") == Decimal("0.2")
    for value in ("0.1", 0.1):
        assert broken(amount, value) == [("exclusiveMinimum", 0.1)]
    assert amount.schema["exclusiveMinimum"] == 0.1
    # As a float, 0.1 is a little more than that.
    assert broken(shape_of(SCALARS[Decimal], at.Ge(0.1)), "0.1") == []
    assert broken(shape_of(union([SCALARS[Decimal], NULL]), at.Ge(1)), None) == []


def test_a_time_that_cannot_be_compared_is_out_of_bounds() -> None:
    moment = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
    shape = shape_of(SCALARS[datetime.datetime], at.Ge(moment))
    assert broken(shape, "2027-01-01T00:00:00") == [("minimum", moment)]
    assert broken(shape, "2027-01-01T00:00:00Z") == []


@pytest.mark.parametrize(
    ("metadata", "aware", "naive"),
    [
        (msgspec.Meta(tz=True), True, False),
        (msgspec.Meta(tz=False), False, True),
        (at.Timezone(...), True, False),
        (at.Timezone(None), False, True),
        (at.Timezone("Europe/Berlin"), True, True),
    ],
)
def test_a_time_zone_can_be_asked_for(metadata: Any, aware: bool, naive: bool) -> None:
    shape = shape_of(SCALARS[datetime.datetime], metadata)
    assert (broken(shape, "2026-01-01T00:00:00Z") == []) is aware
    assert (broken(shape, "2026-01-01T00:00:00") == []) is naive


def test_a_predicate_is_held_against_the_converted_value() -> None:
    shape = shape_of(TEXT, at.Predicate(str.islower))
    assert broken(shape, "a") == []
    assert broken(shape, "A") == [("value", "'A' does not satisfy islower")]


def test_a_piece_of_schema_is_held_against_the_value_beside_the_hint() -> None:
    demand = {"properties": {"a": {"type": "integer"}}, "required": ["a"]}
    shape = shape_of(mapping(TEXT, SCALARS[Any]), demand, {"title": "T"})
    assert shape.schema == {"type": "object", **demand, "title": "T"}
    assert broken(shape, {"a": "x"}) == [("type", ["integer"])]
    assert broken(shape, {}) == [("required", None)]
    assert shape.convert({"a": 1}) == {"a": 1}


def test_a_piece_of_schema_must_be_valid() -> None:
    with pytest.raises(ValueError, match="its schema is invalid"):
        shape_of(TEXT, {"minLength": "x"})


def test_no_keyword_is_lost_when_schemas_meet() -> None:
    assert merged({"minimum": 1}, {"maximum": 2}) == {"minimum": 1, "maximum": 2}
    assert merged({"minimum": 1}, {"minimum": 1}) == {"minimum": 1}
    assert merged({"minimum": 1}, {"minimum": 2}) == {"allOf": [{"minimum": 1}], "minimum": 2}
    twice = constrained(constrained(WHOLE, {"minimum": 1}), {"minimum": 0})
    assert broken(twice, 0) == [("minimum", 1)]


def test_a_filter_sees_both_values() -> None:
    def check(value: Any, result: Any) -> None:
        if (value, result) != ("2026-01-01", datetime.date(2026, 1, 1)):
            raise mismatch("value", "no", value)

    shape = filtered(SCALARS[datetime.date], check)
    assert broken(shape, "2026-01-01") == []
    assert broken(shape, "2026-01-02") == [("value", "no")]


def test_limits_hold_for_texts_that_are_read_too() -> None:
    shape = shape_of(WHOLE, at.Ge(5))
    assert shape.read("7") == 7
    for text, keyword in (("3", "minimum"), ("x", "type")):
        with pytest.raises(Mismatch) as error:
            shape.read(text)
        assert [fault.keyword for fault in error.value.faults] == [keyword]


bounds = st.integers(-5, 5) | st.sampled_from([0.5, -0.1, 0.1, 2**53, 2**53 + 1, 2**70, 1e300])
limits: dict[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"], bounds),
    "multipleOf": st.integers(1, 5) | st.sampled_from([0.1, 0.5, 1e-5]),
    **dict.fromkeys(["minLength", "maxLength", "minItems", "maxItems"], st.integers(0, 3)),
    **dict.fromkeys(["minProperties", "maxProperties"], st.integers(0, 3)),
    "pattern": st.sampled_from(["^a", "b$", "^[ab]{1,2}$", "a|b"]),
}
values = st.one_of(
    st.integers(-6, 6),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.3, 1e308, 2.0**53, 2**53 + 1, 10**20]),
    st.text("ab\n", max_size=4),
    st.lists(st.none(), max_size=4),
    st.dictionaries(st.text(max_size=1), st.none(), max_size=4),
)


@pytest.mark.parametrize("keyword", list(RULES))
def test_every_rule_agrees_with_the_library(keyword: str) -> None:
    holds: Callable[[Any, Any], bool]
    kinds, holds = RULES[keyword]

    @given(limits[keyword], values)
    def agree(limit: Any, value: Any) -> None:
        if type(value) in kinds:
            assert holds(value, limit) is Reference({keyword: limit}).is_valid(value)

    agree()


def test_multiples_are_told_beyond_what_a_float_can_count() -> None:
    multiple = RULES["multipleOf"][1]
    assert multiple(10**400, 0.5)
    assert not multiple(10**400 + 1, 2.0**1000)
    assert multiple(0.3, 0.1)
    assert not multiple(0.35, 0.1)
    assert multiple(1e308, 1e-5)


def exact_values(kind: type) -> st.SearchStrategy[Any]:
    return st.text("ab", max_size=4) if kind is str else st.integers(-(2**70), 2**70) | values


@pytest.mark.parametrize("kind", [int, float, str])
@given(data=st.data())
def test_the_exact_type_accepts_only_what_the_shape_does(kind: type, data: st.DataObject) -> None:
    names = ["minLength", "maxLength", "pattern"] if kind is str else ["minimum", "maximum", "exclusiveMinimum"]
    chosen = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True))
    shape = constrained(SCALARS[kind], {name: data.draw(limits[name]) for name in chosen})
    value = data.draw(exact_values(kind))
    if shape.exact is None:
        return
    try:
        quick = msgspec.convert(value, shape.exact)
    except msgspec.ValidationError:
        return
    assert shape.convert(value) == quick


def test_limits_that_msgspec_counts_otherwise_have_no_exact_type() -> None:
    for limit in ({"multipleOf": 2}, {"minimum": 2**53}, {"minimum": 1.5}):
        assert constrained(WHOLE, limit).exact is None
    assert constrained(array(WHOLE), {"minItems": 1}).exact is None
    assert constrained(REAL, {"minimum": 1.5}).exact == Annotated[float, msgspec.Meta(ge=1.5)]
