from __future__ import annotations

import itertools
import socket
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi.jsonschemas import (
    MAX_PARTS,
    MAX_SCHEMA_DEPTH,
    MAX_SUBSCHEMAS,
    SchemaError,
    Validator,
    admits_text,
    inlined,
    rebuilt,
    subschemas,
)
from mcp_wsgi.problems import MAX_FAULTS, problems

SCHEMAS = {
    **{f"draft-0{number}": f"http://json-schema.org/draft-0{number}/schema#" for number in (3, 4, 6, 7)},
    **{name: f"https://json-schema.org/draft/{name}/schema" for name in ("2019-09", "2020-12")},
}


def told(schema: dict[str, Any], value: Any) -> list[str]:
    """What is said about a value."""
    faults = Validator(schema).faults(value)
    return [str(problem) for problem in problems(faults)[0]] if faults else []


# --- which schemas are taken ----------------------------------------------------------------------


def test_the_dialect_is_2020_12_unless_the_schema_says_otherwise() -> None:
    """S26-JSON-01: a keyword of 2020-12 counts, and in an older dialect it does not."""
    schema = {"prefixItems": [{"type": "integer"}]}
    assert told(schema, ["x"]) == ["[0]: 'x' is not of type 'integer'"]
    assert told({"$schema": "http://json-schema.org/draft-07/schema#", **schema}, ["x"]) == []


@pytest.mark.parametrize("dialect", ["https://example.com/mine", 5, ""])
def test_an_unknown_dialect_is_refused(dialect: Any) -> None:
    """S26-JSON-02: an unsupported dialect is a fitting error."""
    with pytest.raises(SchemaError, match="unknown dialect"):
        Validator({"$schema": dialect})


def test_an_unknown_dialect_inside_is_refused() -> None:
    with pytest.raises(SchemaError, match="unknown dialect"):
        Validator({"$defs": {"a": {"$schema": "https://example.com/mine"}}})


def test_data_that_looks_like_a_dialect_is_data() -> None:
    assert told({"const": {"$schema": "x"}}, {"$schema": "x"}) == []


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "strin"}, "'strin' is not valid.*#/type"),
        ({"properties": {"a": {"minLength": -1}}}, "#/properties/a/minLength"),
        ({"pattern": "("}, r"pattern '\(', which cannot be used: missing"),
        ({"items": {"pattern": r"\Aa"}}, r"\\A is not what ECMA-262 and Python have in common"),
        ({"patternProperties": {"(?i)a": {}}}, r"\(\?i\) is not what ECMA-262"),
        ({"propertyNames": {"pattern": "a++"}}, r"\+\+ is not what ECMA-262"),
        ({"$ref": "#/x-own/a", "x-own": {"a": {"pattern": r"\Z"}}}, r"\\Z is not what ECMA-262"),
        ({"properties": []}, "is not of type 'object'"),
        ({"default": float("nan")}, "is no JSON"),
        ({None: 2}, "is no JSON"),
    ],
)
def test_an_invalid_schema_is_refused_with_its_reason(schema: Any, words: str) -> None:
    """S26-JSON-03: what is listed is valid in its dialect."""
    with pytest.raises(SchemaError, match=words):
        Validator(schema)


@pytest.mark.parametrize(
    "ref", ["https://example.com/schema.json", "//example.com/x", "other.json", "#/$defs/none", "#none", "#/type/x/y"]
)
def test_a_reference_that_leads_nowhere_is_refused_and_nothing_is_fetched(
    ref: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S26-JSON-04, S26-JSON-05: no network, and no passing of everything instead."""

    def no_network(*args: Any) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket, "getaddrinfo", no_network)
    with pytest.raises(SchemaError, match="leads nowhere"):
        Validator({"type": "object", "properties": {"a": {"items": {"$ref": ref}}}})


def test_a_reference_below_an_unknown_keyword_is_followed() -> None:
    with pytest.raises(SchemaError, match="leads nowhere"):
        Validator({"items": {"$ref": "#/x-parts/a"}, "x-parts": {"a": {"$ref": "https://example.com"}}})


@pytest.mark.parametrize(
    "schema",
    [
        {"items": {"$ref": "#/$defs/n"}, "$defs": {"n": {"type": "integer"}}},
        {"items": {"$ref": "#n"}, "$defs": {"n": {"$anchor": "n", "type": "integer"}}},
        {"items": {"$dynamicRef": "#n"}, "$defs": {"n": {"$dynamicAnchor": "n", "type": "integer"}}},
        {"$id": "https://a.example/b", "items": {"$ref": "c"}, "$defs": {"n": {"$id": "c", "type": "integer"}}},
        {
            "$schema": "http://json-schema.org/draft-04/schema#",
            "items": {"$ref": "#/definitions/n"},
            "definitions": {"n": {"type": "integer"}},
        },
        {"items": {"$ref": "#/$defs/a"}, "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"type": "integer"}}},
        {"items": [{"type": "integer"}], "$schema": "http://json-schema.org/draft-07/schema#"},
    ],
)
def test_references_within_the_schema_are_followed(schema: dict[str, Any]) -> None:
    assert told(schema, [1]) == []
    assert told(schema, ["x"]) == ["[0]: 'x' is not of type 'integer'"]


def test_the_meta_schema_is_at_hand() -> None:
    schema = {"$ref": "https://json-schema.org/draft/2020-12/schema"}
    assert told(schema, {"type": "string"}) == []
    assert told(schema, {"type": 5}) != []


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels - 1):
        schema = {"items": schema}
    return schema


def test_schemas_are_bounded_in_depth() -> None:
    """S26-JSON-06."""
    assert told(nested(40), []) == []
    with pytest.raises(SchemaError, match="deep"):
        Validator(nested(MAX_SCHEMA_DEPTH + 1))
    with pytest.raises(SchemaError):
        Validator(nested(MAX_SCHEMA_DEPTH * 100))


def test_schemas_are_bounded_in_size() -> None:
    """S26-JSON-06."""
    with pytest.raises(SchemaError, match=f"more than {MAX_SUBSCHEMAS}"):
        Validator({"properties": {str(n): {} for n in range(MAX_SUBSCHEMAS)}})


@pytest.mark.parametrize("schema", [{"$ref": "#"}, {"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"$ref": "#"}}}])
def test_a_schema_that_refers_to_itself_without_end_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(SchemaError, match="without end"):
        Validator(schema)


def test_a_schema_is_kept_as_it_was_given() -> None:
    """S26-TOOL-06: keywords pass through unstripped."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$comment": "c",
        "x-mine": [1],
        "if": {"type": "object"},
        "then": {"$ref": "#/$defs/a"},
        "$defs": {"a": {"$anchor": "a", "title": "A"}},
        "allOf": [True],
    }
    kept = Validator(schema).schema
    assert kept == schema
    assert list(kept) == list(schema)
    schema["allOf"] = [False]
    assert kept["allOf"] == [True]


# --- what is said about values --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "value", "words"),
    [
        ({"type": ["integer", "null"]}, "x", ["'x' is not of type 'integer' or 'null'"]),
        ({"enum": ["a", 1]}, "b", ["'b' is not one of 'a', 1"]),
        ({"const": "a"}, "b", ["'b' is not 'a'"]),
        ({"required": ["a", "b", "c"]}, {"b": 1}, ["a: required, but missing", "c: required, but missing"]),
        ({"dependentRequired": {"a": ["b"], "c": ["d"]}}, {"a": 1}, ["b: required, but missing"]),
        (
            {"properties": {"a": {}}, "patternProperties": {"^x": {}}, "additionalProperties": False},
            {"a": 1, "b": 2, "x1": 3},
            ["unknown argument 'b'; known: a"],
        ),
        ({"additionalProperties": {"type": "null"}}, {"b": 1}, ["b: 1 is not of type 'null'"]),
        ({"properties": {"a": False}}, {"a": 1}, ["1 is not allowed here"]),
        ({"maxLength": 2, "pattern": "^a"}, "bbb", ["'bbb' is longer than 2 characters"]),
        ({"pattern": "^a"}, "b", ["'b' does not match the pattern ^a"]),
        ({"uniqueItems": True}, [1, 1], ["has an item more than once, all must differ"]),
        ({"contains": {"type": "null"}}, [1], ["has no item of the kind that must be there"]),
        ({"not": {"type": "null"}}, None, ["null is what the schema rules out"]),
        ({"if": {"type": "string"}, "then": {"minLength": 2}}, "a", ["'a' is shorter than 2 characters"]),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "x", ["'x' is not of type 'integer' or 'null'"]),
        (
            {"items": {"anyOf": [{"type": "integer"}, {"type": "object", "required": ["a"]}]}},
            [{}],
            ["[0].a: required, but missing"],
        ),
        (
            {"anyOf": [{"anyOf": [{"properties": {"a": {"type": "null"}}, "type": "object"}]}, {"type": "null"}]},
            {"a": 1},
            ["a: 1 is not of type 'null'"],
        ),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, 1, ["fits more than one of the alternatives"]),
        ({"oneOf": [{"type": "integer"}, {"type": "null"}]}, "x", ["'x' is not of type 'integer' or 'null'"]),
        ({"propertyNames": {"maxLength": 1}}, {"ab": 1}, ["'ab' is longer than 1 character"]),
        (
            {"unevaluatedProperties": False},
            {"a": 1},
            ["Unevaluated properties are not allowed ('a' was unexpected)"],
        ),
        (
            {"$schema": "http://json-schema.org/draft-03/schema#", "properties": {"a": {"required": True}}},
            {},
            ["a: 'a' is a required property"],
        ),
    ],
)
def test_all_problems_are_told_in_plain_words(schema: dict[str, Any], value: Any, words: list[str]) -> None:
    assert told(schema, value) == words


def test_a_value_that_is_wrong_all_over_is_not_searched_to_its_end() -> None:
    schema = {"items": {"type": "object"}}
    assert len(Validator(schema).faults([1] * 10_000)) == MAX_FAULTS
    assert len(Validator({"anyOf": [schema, {"type": "null"}]}).faults([1] * 10_000)) == MAX_FAULTS


def test_a_value_with_more_parts_than_can_be_judged_is_refused_unless_it_is_ours() -> None:
    """S26-JSON-06."""
    validator = Validator({"items": {"type": "integer"}})
    value = [[1] * (MAX_PARTS // 2), {"a": [1] * (MAX_PARTS // 2)}]
    assert [fault.keyword for fault in validator.faults(value)] == ["value"]
    assert {fault.keyword for fault in validator.faults(value, trusted=True)} == {"type"}
    assert validator.faults([1] * (MAX_PARTS // 100)) == []


def test_a_long_text_is_not_matched_against_a_pattern() -> None:
    validator = Validator({"type": "string", "maxLength": 40, "pattern": "^(a+)+$"})
    assert [fault.keyword for fault in validator.faults("a" * 1000 + "!")] == ["maxLength"]


def deep(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


def test_values_nested_without_end_are_refused() -> None:
    validator = Validator({"items": {"$ref": "#"}})
    assert validator.faults(deep(60)) == []
    assert [fault.keyword for fault in validator.faults(deep(5000))] == ["value"]


@pytest.mark.parametrize("frames", range(40))
def test_wherever_the_stack_ends_it_is_the_value_that_is_refused(frames: int) -> None:
    """One of the libraries below panics if the stack ends inside it, with what is no ``Exception``."""

    def further_down(frames: int) -> Any:
        return further_down(frames - 1) if frames else validator.faults(deep(5000))

    validator = Validator({"items": {"$ref": "#"}})
    assert [fault.keyword for fault in further_down(frames)] == ["value"]


def test_numbers_beyond_what_can_be_computed_are_refused() -> None:
    assert told({"multipleOf": 0.1}, 10**12_000) == ["holds a number that is too large to be checked"]
    assert told({"multipleOf": 0.1}, 10**400) == []


@pytest.mark.parametrize("dialect", ["draft-03", "draft-04", "draft-06", "draft-07", "2019-09", "2020-12"])
def test_multiples_are_those_of_the_decimals_that_are_written(dialect: str) -> None:
    """S26-JSON-02."""
    keyword = "divisibleBy" if dialect == "draft-03" else "multipleOf"
    taken = Validator({"$schema": SCHEMAS[dialect], "type": "number", keyword: 0.1})
    assert [value for value in (0.3, 0.35, 0.7, 19.9, 2, 1e308) if not taken.faults(value)] == [
        0.3,
        0.7,
        19.9,
        2,
        1e308,
    ]
    assert [str(each) for each in problems(taken.faults(0.35))[0]] == ["0.35 is not a multiple of 0.1"]
    assert Validator({"$schema": SCHEMAS[dialect], keyword: 2}).faults(True) == []


PATTERN = {"type": "string", "pattern": "^[a-z]+$"}


@pytest.mark.parametrize(
    ("schema", "right", "wrong"),
    [
        (PATTERN, "a", "a\n"),
        ({"items": {"$ref": "#/$defs/a"}, "$defs": {"a": PATTERN}}, ["a"], ["a\n"]),
        ({"$ref": "#/x-own/a", "x-own": {"a": PATTERN}}, "a", "a\n"),
        ({"anyOf": [PATTERN, {"type": "null"}]}, "a", "a\n"),
        ({"not": {"pattern": "^a$"}}, "a\n", "a"),
        ({"propertyNames": PATTERN}, {"a": 1}, {"a\n": 1}),
        ({"patternProperties": {"^a$": False}}, {"a\n": 1}, {"a": 1}),
        ({"patternProperties": {r"^\d$": False}}, {"\u0663": 1}, {"3": 1}),
        ({"patternProperties": {"^a$": {}, "^b$": {}}, "additionalProperties": False}, {"b": 1}, {"b\n": 1}),
        ({"patternProperties": {"^a$": {}}, "additionalProperties": {"type": "null"}}, {"a": 1}, {"a\n": 1}),
        ({"patternProperties": {"^a$": {}}, "unevaluatedProperties": False}, {"a": 1}, {"a\n": 1}),
        (
            {"$ref": "#/x-own/a", "unevaluatedProperties": False, "x-own": {"a": {"patternProperties": {"a$": {}}}}},
            {"a": 1},
            {"a\n": 1},
        ),
        ({"patternProperties": {"a$": {"type": "null"}}, "items": {"$ref": "#/patternProperties/a$"}}, [None], [1]),
        ({"patternProperties": {".": {"minimum": 1}, r"[^\n\r\u2028\u2029]": {"maximum": 2}}}, {"a": 2}, {"a": 3}),
        ({"patternProperties": {".": {"minimum": 1}, r"[^\n\r\u2028\u2029]": {"maximum": 2}}}, {"a": 1}, {"a": 0}),
        ({"enum": [{"patternProperties": {"a$": 1}}]}, {"patternProperties": {"a$": 1}}, {"patternProperties": {}}),
        (
            {"properties": {"patternProperties": {"pattern": "a$"}}},
            {"patternProperties": "a"},
            {"patternProperties": "a\n"},
        ),
    ],
)
def test_patterns_are_those_of_ecma_262_wherever_they_stand(schema: dict[str, Any], right: Any, wrong: Any) -> None:
    """S26-JSON-02: ``$`` is the end of the text, and nothing but the end."""
    validator = Validator(schema)
    assert validator.schema == schema
    assert (validator.faults(right), bool(validator.faults(wrong))) == ([], True)


def test_patterns_of_older_dialects_are_those_of_ecma_262_too() -> None:
    """S26-JSON-02."""
    for dialect in SCHEMAS.values():
        schema = {"$schema": dialect, "patternProperties": {"^a$": {"pattern": "^b$"}}, "additionalProperties": False}
        validator = Validator(schema)
        assert [bool(validator.faults(value)) for value in ({"a": "b"}, {"a\n": "b"}, {"a": "b\n"})] == [
            False,
            True,
            True,
        ]


def test_a_pattern_is_told_as_it_is_written() -> None:
    assert told(PATTERN, "a\n") == ["'a\\n' does not match the pattern ^[a-z]+$"]


def test_what_only_looks_like_a_pattern_is_left_alone() -> None:
    schema = {"default": {"pattern": "("}, "x-own": {"pattern": "(", "patternProperties": {"(": 1}}}
    assert told(schema, {"a": 1}) == []


@given(st.lists(st.recursive(st.integers(0, 1) | st.booleans() | st.just(1.0), lambda i: st.lists(i, max_size=2))))
def test_unique_items_are_pairwise_unequal(value: list[Any]) -> None:
    """The library's own ``uniqueItems`` misses some pairs, its ``const`` does not."""
    twins = [
        (one, two)
        for one, two in itertools.combinations(value, 2)
        if jsonschema.Draft202012Validator({"const": one}).is_valid(two)
    ]
    assert (Validator({"uniqueItems": True}).faults(value) == []) is (twins == [])


def test_unique_items_may_be_objects() -> None:
    schema = {"uniqueItems": True}
    assert told(schema, [{"a": 1, "b": [2]}, {"b": [2], "a": True}]) == []
    assert told(schema, [{"a": 1, "b": [2]}, {"b": [2.0], "a": 1}]) != []


# --- documents ------------------------------------------------------------------------------------


def test_only_schemas_are_walked_not_data() -> None:
    schema = {
        "properties": {"enum": {"type": "null"}},
        "enum": [{"type": 1}],
        "default": {"items": {}},
        "items": [{"a": 1}, {"b": 1}],
        "not": {"c": 1},
        "dependencies": {"x": ["y"]},
    }
    assert list(subschemas(schema)) == [
        ("properties", "enum", {"type": "null"}),
        ("items", 0, {"a": 1}),
        ("items", 1, {"b": 1}),
        ("not", None, {"c": 1}),
        ("dependencies", "x", ["y"]),
    ]


def test_a_schema_is_rebuilt_from_the_inside() -> None:
    seen: list[Any] = []

    def change(part: dict[str, Any]) -> dict[str, Any]:
        seen.append(part["n"])
        return {**part, "n": part["n"] * 10}

    schema = {"n": 1, "properties": {"a": {"n": 2, "items": {"n": 3}}}, "anyOf": [{"n": 4}, True], "enum": [{"n": 5}]}
    assert rebuilt(schema, change) == {
        "n": 10,
        "properties": {"a": {"n": 20, "items": {"n": 30}}},
        "anyOf": [{"n": 40}, True],
        "enum": [{"n": 5}],
    }
    assert seen == [3, 2, 4, 1]


def test_definitions_are_put_in_place_with_what_stands_beside_the_reference() -> None:
    root: dict[str, Any] = {"properties": {"a": {"$ref": "#/$defs/A", "description": "mine"}}}
    defs: dict[str, dict[str, Any]] = {
        "A": {"type": "array", "items": {"$ref": "#/$defs/B"}, "description": "theirs"},
        "B": {"type": "null"},
    }
    assert inlined(root, defs) == {
        "properties": {"a": {"type": "array", "items": {"type": "null"}, "description": "mine"}}
    }


def test_recursive_definitions_stay_and_others_inside_them_do_not() -> None:
    defs: dict[str, dict[str, Any]] = {
        "Node": {"properties": {"next": {"$ref": "#/$defs/Other"}, "leaf": {"$ref": "#/$defs/Leaf"}}},
        "Other": {"properties": {"back": {"$ref": "#/$defs/Node"}}},
        "Leaf": {"type": "null"},
        "Unused": {},
    }
    assert inlined({"items": {"$ref": "#/$defs/Node"}}, defs) == {
        "items": {"$ref": "#/$defs/Node"},
        "$defs": {
            "Node": {"properties": {"next": {"$ref": "#/$defs/Other"}, "leaf": {"type": "null"}}},
            "Other": {"properties": {"back": {"$ref": "#/$defs/Node"}}},
        },
    }


def test_a_recursive_root_is_spelled_out() -> None:
    node: dict[str, Any] = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
    assert inlined({"$ref": "#/$defs/Node"}, {"Node": node}) == {**node, "$defs": {"Node": node}}


def test_data_that_looks_like_a_reference_stays() -> None:
    schema = {"default": {"$ref": "#/$defs/A"}}
    assert inlined(schema, {"A": {}}) == schema


def test_definitions_that_multiply_without_end_are_refused() -> None:
    defs: dict[str, Any] = {"D0": {}}
    for n in range(1, 40):
        ref = {"$ref": f"#/$defs/D{n - 1}"}
        defs[f"D{n}"] = {"properties": {"a": ref, "b": ref}}
    with pytest.raises(SchemaError, match="more than"):
        inlined({"$ref": "#/$defs/D39"}, defs)


@pytest.mark.parametrize(
    ("schema", "verdict"),
    [
        (True, True),
        (False, False),
        ({}, True),
        ({"type": "string"}, True),
        ({"type": ["null", "string"]}, True),
        ({"type": "integer"}, False),
        ({"type": ["null", "array"]}, False),
        ({"enum": [1, "a"]}, True),
        ({"enum": [1, None]}, False),
        ({"const": "a"}, True),
        ({"const": 1}, False),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, False),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, True),
        ({"oneOf": [{"type": "integer"}, {"enum": ["a"]}]}, True),
        ({"allOf": [{"type": "string"}, {"type": "integer"}]}, False),
        ({"properties": {}}, True),
        ({"$ref": "#/$defs/object"}, False),
        ({"$ref": "#/definitions/text"}, True),
        ({"$ref": "#/$defs/chain"}, True),
        ({"$ref": "#/$defs/none"}, True),
        ({"$ref": "#somewhere"}, True),
        ({"$ref": "#/$defs/all"}, True),
    ],
)
def test_where_a_string_could_be_meant(schema: Any, verdict: bool) -> None:
    root = {
        "$defs": {"object": {"type": "object"}, "chain": {"$ref": "#/$defs/object"}, "all": True},
        "definitions": {"text": {"type": "string"}},
    }
    assert admits_text(schema, root) is verdict
