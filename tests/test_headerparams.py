from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi.headerparams import HeaderParam, argument_at, header_params, header_value_matches
from mcp_wsgi.jsonschemas import SchemaError

REGION = {"type": "string", "x-mcp-header": "Region"}


def param(kind: Any) -> HeaderParam:
    return HeaderParam("Mcp-Param-X", "X", ("x",), kind)


def test_parameters_are_found_along_properties() -> None:
    """S26-HTTP-30, S26-HTTP-34: at the top and inside nested objects."""
    schema = {
        "type": "object",
        "properties": {
            "region": REGION,
            "order": {"type": "object", "properties": {"id": {"type": "integer", "x-mcp-header": "Order-Id"}}},
            "dry": {"type": "boolean", "x-mcp-header": "dry"},
        },
    }
    assert header_params(schema) == (
        HeaderParam("Mcp-Param-Region", "Region", ("region",), "string"),
        HeaderParam("Mcp-Param-dry", "dry", ("dry",), "boolean"),
        HeaderParam("Mcp-Param-Order-Id", "Order-Id", ("order", "id"), "integer"),
    )


@pytest.mark.parametrize("name", ["", "a b", "a:b", "a\n", "é", "a\x00", 5, None, ["a"], "a,b", "(a)"])
def test_a_name_that_is_no_header_name_is_refused(name: Any) -> None:
    """S26-HTTP-32: non-empty, a token of RFC 9110, no control characters."""
    with pytest.raises(SchemaError, match="no header name"):
        header_params({"properties": {"a": {"type": "string", "x-mcp-header": name}}})


def test_every_character_of_a_token_but_the_underscore_is_taken() -> None:
    """S26-HTTP-32, W-01."""
    token = "!#$%&'*+-.^`|~09azAZ"
    assert header_params({"properties": {"a": {"type": "string", "x-mcp-header": token}}})[0].name == token


@pytest.mark.parametrize("name", ["order_id", "_", "Order-_Id", "id_"])
def test_a_name_that_servers_drop_is_refused(name: str) -> None:
    """W-01: a field with an underscore never arrives, or arrives as its twin with a hyphen."""
    schema = {"properties": {"order": {"properties": {"id": {"type": "integer", "x-mcp-header": name}}}}}
    with pytest.raises(SchemaError, match=rf"'{name}' at order.id: .* write '{name.replace('_', '-')}'"):
        header_params(schema)


def test_names_are_unique_whatever_their_case() -> None:
    """S26-HTTP-32."""
    with pytest.raises(SchemaError, match="'REGION' at b, as a has"):
        header_params({"properties": {"a": REGION, "b": {"type": "string", "x-mcp-header": "REGION"}}})


@pytest.mark.parametrize("kind", ["number", "object", "array", "null", ["string", "null"], None])
def test_only_strings_integers_and_booleans_may_be_marked(kind: Any) -> None:
    """S26-HTTP-33."""
    with pytest.raises(SchemaError, match="at a, which is not of one type"):
        header_params({"properties": {"a": {"type": kind, "x-mcp-header": "X"}}})
    with pytest.raises(SchemaError, match="at a, which is not of one type"):
        header_params({"properties": {"a": {"x-mcp-header": "X"}}})


@pytest.mark.parametrize(
    "schema",
    [
        REGION,
        {"items": REGION},
        {"prefixItems": [REGION]},
        {"additionalProperties": REGION},
        {"patternProperties": {"^a": REGION}},
        {"$defs": {"a": REGION}},
        {"oneOf": [REGION]},
        {"anyOf": [{"properties": {"a": REGION}}]},
        {"allOf": [{"properties": {"a": REGION}}]},
        {"not": REGION},
        {"if": REGION},
        {"then": {"properties": {"a": REGION}}},
        {"else": REGION},
        {"properties": {"a": {"items": {"properties": {"b": REGION}}}}},
        {"dependentSchemas": {"a": REGION}},
    ],
)
def test_nothing_else_may_be_marked(schema: dict[str, Any]) -> None:
    """S26-HTTP-34."""
    with pytest.raises(SchemaError, match="where not only properties lead"):
        header_params(schema)


@pytest.mark.parametrize("keyword", ["default", "const", "examples", "enum"])
def test_data_is_no_mark(keyword: str) -> None:
    assert header_params({"properties": {"a": {"type": "object", keyword: [REGION]}}}) == ()


def test_the_argument_is_read_at_the_end_of_its_path() -> None:
    """S26-HTTP-30."""
    arguments = {"order": {"id": 3}, "list": [{"id": 4}], "none": None}
    assert argument_at(arguments, ("order", "id")) == 3
    assert argument_at(arguments, ("order",)) == {"id": 3}
    for path in (("order", "name"), ("list", "id"), ("none", "id"), ("missing", "id")):
        assert argument_at(arguments, path) is None


@pytest.mark.parametrize(
    ("kind", "argument", "text", "verdict"),
    [
        ("string", "eu", "eu", True),
        ("string", "eu", "EU", False),
        ("string", "", "", True),
        ("string", "é", "é", True),
        ("string", "true", "true", True),
        ("boolean", True, "true", True),
        ("boolean", False, "false", True),
        ("boolean", True, "True", False),
        ("boolean", True, "1", False),
        ("boolean", False, "0", False),
        ("integer", 42, "42", True),
        ("integer", 42, "42.0", True),
        ("integer", 42.0, "42", True),
        ("integer", 42, "4.2e1", True),
        ("integer", -1, "-1", True),
        ("integer", 42, "43", False),
        ("integer", 42, "42.5", False),
        ("integer", 42, "", False),
        ("integer", 42, "0x2a", False),
        ("integer", 42, " 42", False),
        ("integer", 42, "4_2", False),
        ("integer", 42, "٤٢", False),
        ("integer", 1, "NaN", False),
        ("integer", 1, "true", False),
        ("integer", 2**53 - 1, "9007199254740991", True),
        ("integer", 2**53, "9007199254740992", False),
        ("integer", -(2**53), "-9007199254740992", False),
        ("integer", 1, "1e999999999", False),
        # Exponents that the decimal module has no room for.
        ("integer", 1, "1e999999999999999999999", False),
        ("integer", 1, "1e-999999999999999999999", False),
        ("integer", 0, "1e-1999999999999999999", False),
        ("integer", 1, "1" * 30 + "e" + "9" * 5000, False),
        ("string", None, "", False),
        ("string", ["eu"], "eu", False),
    ],
)
def test_a_header_matches_its_argument(kind: str, argument: Any, text: str, verdict: bool) -> None:
    """S26-HTTP-26, S26-HTTP-27, S26-HTTP-28, S26-HTTP-29."""
    assert header_value_matches(param(kind), argument, text) is verdict


@given(st.integers(-(2**53) + 1, 2**53 - 1))
def test_an_integer_matches_however_it_is_written(number: int) -> None:
    """S26-HTTP-29."""
    assert header_value_matches(param("integer"), number, str(number))
    assert header_value_matches(param("integer"), number, f"{number}.0")
    assert not header_value_matches(param("integer"), number, str(number + 1))


@given(st.text(), st.text())
def test_strings_match_only_themselves(argument: str, text: str) -> None:
    """S26-HTTP-20: values are compared case-sensitively."""
    assert header_value_matches(param("string"), argument, text) is (argument == text)
