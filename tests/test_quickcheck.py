from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi.quickcheck import quick_type
from tests.ecma import Reference


def accepts(schema: Any, value: Any) -> bool:
    found = quick_type(schema)
    assert found is not None
    try:
        msgspec.convert(value, found)
    except msgspec.ValidationError:
        return False
    return True


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (True, [1]),
        ({}, {"a": None}),
        ({"title": "T", "x-mine": 1, "format": "date", "$comment": "c"}, 1),
        ({"type": "string"}, "a"),
        ({"type": "string", "maxLength": 2, "minLength": 1, "pattern": "^a"}, "ab"),
        ({"type": "integer", "minimum": 1, "exclusiveMaximum": 5}, 4),
        ({"type": "number", "maximum": 1.5}, 1),
        ({"type": "boolean"}, True),
        ({"type": "null"}, None),
        ({"type": "array"}, [1, "a"]),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2}, [1]),
        ({"type": "object"}, {"a": 1}),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, {"a": 1}),
        ({"type": "object", "properties": {"a b": {"type": "null"}, "class": {}}}, {"a b": None, "class": 1, "x": 2}),
        ({"type": "object", "properties": {"a": {}, "b": {}}, "required": ["b"]}, {"b": 1}),
        ({"type": "object", "additionalProperties": False}, {}),
        ({"type": "string", "enum": ["a", "b"]}, "b"),
        ({"enum": ["a"]}, "a"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, None),
    ],
)
def test_plain_schemas_have_a_quick_way(schema: Any, value: Any) -> None:
    assert accepts(schema, value)


@pytest.mark.parametrize(
    "schema",
    [
        False,
        {"minimum": 1},
        {"type": "integer", "multipleOf": 2},
        {"type": "integer", "minimum": 1.5},
        {"type": "number", "maximum": 2**53},
        {"type": ["string", "null"]},
        {"type": "string", "const": "a"},
        {"enum": [1, "a"]},
        {"enum": [True]},
        {"type": "string", "enum": ["a"], "minLength": 2},
        {"type": "integer", "enum": ["a"]},
        {"type": "array", "uniqueItems": True},
        {"type": "array", "prefixItems": [{}]},
        {"type": "object", "patternProperties": {}},
        {"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "null"}},
        {"type": "object", "required": ["a"]},
        {"type": "object", "properties": {"a": {"$ref": "#"}}},
        {"anyOf": [{"type": "string"}, {"type": "null"}], "minLength": 1},
        {"anyOf": [{"type": "array", "items": {"type": "null"}}, {"type": "array"}]},
        {"oneOf": [{"type": "string"}]},
        {"dependentRequired": {}},
        {"minLength": 1, "unheard": 2},
    ],
)
def test_anything_else_has_none(schema: Any) -> None:
    assert quick_type(schema) is None


names = st.sampled_from(["a", "b", "c d"])
leaves = st.one_of(
    st.just({}),
    st.builds(
        lambda low, high: {"type": "string", "minLength": low, "maxLength": high}, st.integers(0, 2), st.integers(1, 3)
    ),
    st.sampled_from([{"type": "string", "pattern": pattern} for pattern in ("^a", "b$", r"^\D\w$")]),
    st.builds(
        lambda kind, key, bound: {"type": kind, key: bound},
        st.sampled_from(["integer", "number"]),
        st.sampled_from(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]),
        st.integers(-2, 2) | st.sampled_from([0.5, 2**53 - 1, 2**62]),
    ),
    st.sampled_from([{"type": name} for name in ("string", "integer", "number", "boolean", "null", "array", "object")]),
    st.just({"type": "string", "enum": ["a", "b"]}),
)


def combine(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.builds(lambda i, n: {"type": "array", "items": i, "minItems": n}, inner, st.integers(0, 2)),
        st.builds(lambda i: {"type": "object", "additionalProperties": i}, inner),
        st.builds(lambda parts: {"anyOf": parts}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(
            lambda parts, count, closed: {
                "type": "object",
                "properties": parts,
                "required": list(parts)[:count],
                "additionalProperties": not closed,
            },
            st.dictionaries(names, inner, max_size=3),
            st.integers(0, 3),
            st.booleans(),
        ),
    )


schemas = st.recursive(leaves, combine, max_leaves=5)
numbers = st.sampled_from([0, 1, -1, 2, 3.0, 0.5, -0.0, 2**53 + 1, 2**63, -(2**70), 1e300, 10**400])
values = st.recursive(
    st.none() | st.booleans() | numbers | st.sampled_from(["", "a", "ab", "b", "abcd", "b\n", "\u0663a", "a\u0663"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)


@given(schemas, values)
def test_what_the_quick_way_accepts_is_valid(schema: Any, value: Any) -> None:
    if quick_type(schema) is not None and accepts(schema, value):
        assert Reference(schema).is_valid(value)
