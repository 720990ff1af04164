"""Rules of single header fields, on values alone."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi.errors import HeaderMismatch
from mcp_wsgi.schema import Arguments
from mcp_wsgi.testing import header_text
from mcp_wsgi.wsgi.headers import (
    Accepted,
    accepted,
    check_name,
    check_parameters,
    decode_sentinel,
    field,
    is_json,
)

BOTH, JSON, SSE, NEITHER = Accepted(True, True), Accepted(True, False), Accepted(False, True), Accepted(False, False)


@pytest.mark.parametrize(
    ("value", "takes"),
    [
        (None, BOTH),
        ("", BOTH),
        ("  ", BOTH),
        ("*/*", BOTH),
        ("application/json, text/event-stream", BOTH),
        ("text/event-stream,application/json", BOTH),
        ("Application/JSON; q=0.5 , TEXT/*", BOTH),
        ("application/json", JSON),
        ("application/*", JSON),
        ("application/json;q=1;charset=utf-8", JSON),
        ("text/event-stream", SSE),
        ("text/*;q=0.1", SSE),
        ("application/json;q=0, */*", SSE),
        ("*/*, text/event-stream; Q = 0.000", JSON),
        ("application/*;q=0, application/json", JSON),
        ("application/json;q=0", NEITHER),
        ("*/*;q=0", NEITHER),
        ("text/html", NEITHER),
        ("application/xml, image/*", NEITHER),
        (";", NEITHER),
        ("json", NEITHER),
    ],
)
def test_the_most_specific_range_decides_what_a_client_takes(value: str | None, takes: Accepted) -> None:
    assert accepted(value) == takes


@given(st.text())
def test_any_accept_header_is_read(value: str) -> None:
    assert isinstance(accepted(value), Accepted)


@pytest.mark.parametrize(
    "value",
    [
        "application/json",
        "Application/JSON",
        "application/json;charset=utf-8",
        'application/json; charset="UTF-8"',
        'application/json; profile="a,b"; charset=utf-8',
        "application/json; charset=utf8; profile=x",
        "application/json;",
    ],
)
def test_json_in_utf8_is_json(value: str) -> None:
    assert is_json(value)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "text/plain",
        "application/jsonp",
        "application/json-rpc",
        "application/vnd.api+json",
        "application/json;charset=latin-1",
        "application/json;charset=utf-16",
        "application/json,application/json",
        "application/json; a=b, text/plain",
        'application/json; a="b",text/plain',
        'application/json; a="b, text/plain',
        "application/json; charset=utf-8, application/json; charset=utf-8",
        "application/x-www-form-urlencoded",
    ],
)
def test_anything_else_is_not_json(value: str) -> None:
    assert not is_json(value)


def test_a_field_is_stripped_of_spaces_and_tabs_around_it() -> None:
    assert field({"Mcp-Name": " \t a\tb c \t"}, "Mcp-Name") == "a\tb c"
    assert field({"Mcp-Name": ""}, "Mcp-Name") == ""
    assert field({}, "Mcp-Name") is None


@given(st.text(min_size=1))
def test_a_field_holds_visible_ascii_spaces_and_tabs_or_is_refused(value: str) -> None:
    plain = all(mark == "\t" or " " <= mark <= "~" for mark in value)
    if plain:
        assert field({"Mcp-Name": value}, "Mcp-Name") == value.strip(" \t")
    else:
        with pytest.raises(HeaderMismatch, match="Mcp-Name"):
            field({"Mcp-Name": value}, "Mcp-Name")


@given(st.text())
def test_what_a_client_writes_into_a_header_is_read_back(value: str) -> None:
    written = field({"Mcp-Name": header_text(value)}, "Mcp-Name")
    assert written is not None
    assert decode_sentinel("Mcp-Name", written) == value


@pytest.mark.parametrize(
    "literal",
    [
        "SGVsbG8=",
        "=?base64?SGVsbG8=",
        "SGVsbG8=?=",
        "=?BASE64?SGVsbG8=?=",
        "=?Base64?SGVsbG8=?=",
        "=?base64?=",
        "",
        "?=",
    ],
)
def test_a_value_without_both_markers_is_literal(literal: str) -> None:
    assert decode_sentinel("Mcp-Name", literal) == literal


@pytest.mark.parametrize(
    "inside",
    ["SGVsbG8", "SGVs!!!bG8=", "SGVsbG8==", "SGVsbG8=SGVsbG8=", "=", "==", "====", "A===", "SGVs bG8=", "a-_b", "gA=="],
)
def test_malformed_base64_between_the_markers_is_refused(inside: str) -> None:
    with pytest.raises(HeaderMismatch, match="no Base64 of UTF-8"):
        decode_sentinel("Mcp-Name", f"=?base64?{inside}?=")


def test_an_empty_value_may_be_wrapped() -> None:
    assert decode_sentinel("Mcp-Name", "=?base64??=") == ""


@pytest.mark.parametrize("name", ["add", "Größe", "a b", " a", "=?base64?YQ==?=", ""])
def test_the_name_header_says_what_the_body_says(name: str) -> None:
    check_name({"Mcp-Name": header_text(name)}, name)


@pytest.mark.parametrize("value", [None, "Add", "add,add", "ad", "=?base64?QWRk?="])
def test_a_name_header_that_is_missing_or_differs_is_refused(value: str | None) -> None:
    with pytest.raises(HeaderMismatch, match="Mcp-Name"):
        check_name({} if value is None else {"Mcp-Name": value}, "add")


def test_a_body_without_a_name_is_left_to_its_own_check() -> None:
    check_name({"Mcp-Name": "add"}, None)
    check_name({"Mcp-Name": "add"}, 5)


# --- Mcp-Param-* ----------------------------------------------------------------------------------

DECLARED = Arguments.from_schema(
    {
        "type": "object",
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "count": {"type": "integer", "x-mcp-header": "Count"},
            "dry": {"type": "boolean", "x-mcp-header": "Dry-Run"},
            "place": {"type": "object", "properties": {"city": {"type": "string", "x-mcp-header": "City"}}},
        },
    },
    owner="tool 'test'",
)


@pytest.mark.parametrize(
    ("headers", "arguments"),
    [
        ({}, {}),
        ({}, {"region": None, "place": {}}),
        ({"Region": "eu"}, {"region": "eu"}),
        ({"Region": ""}, {"region": ""}),
        ({"Region": "=?base64?w6k=?="}, {"region": "é"}),
        ({"Count": "42"}, {"count": 42}),
        ({"Count": "42.0"}, {"count": 42}),
        ({"Count": "42"}, {"count": 42.0}),
        ({"Dry-Run": "true"}, {"dry": True}),
        ({"Dry-Run": "false"}, {"dry": False}),
        ({"City": "Bern"}, {"place": {"city": "Bern"}}),
        ({"Unknown": "x"}, {}),
    ],
)
def test_parameter_headers_repeat_the_arguments(headers: dict[str, str], arguments: dict[str, Any]) -> None:
    check_parameters({f"Mcp-Param-{name}": value for name, value in headers.items()}, DECLARED, arguments)


@pytest.mark.parametrize(
    ("headers", "arguments", "why"),
    [
        ({}, {"region": "eu"}, "Region is missing"),
        ({}, {"region": ""}, "Region is missing"),
        ({}, {"dry": False}, "Dry-Run is missing"),
        ({"Region": "EU"}, {"region": "eu"}, "Region differs"),
        ({"Region": "eu,eu"}, {"region": "eu"}, "Region differs"),
        ({"Region": "eu"}, {}, "Region has no argument"),
        ({"Region": ""}, {"region": None}, "Region has no argument"),
        ({"Count": "43"}, {"count": 42}, "Count differs"),
        ({"Count": "x"}, {"count": 42}, "Count differs"),
        ({"Dry-Run": "True"}, {"dry": True}, "Dry-Run differs"),
        ({"City": "Bern"}, {"city": "Bern"}, "City has no argument"),
        ({"Region": "=?base64?w6k?="}, {"region": "é"}, "no Base64"),
        ({"Region": "é"}, {"region": "é"}, "characters"),
    ],
)
def test_a_parameter_header_that_says_something_else_is_refused(
    headers: dict[str, str], arguments: dict[str, Any], why: str
) -> None:
    with pytest.raises(HeaderMismatch, match=why):
        check_parameters({f"Mcp-Param-{name}": value for name, value in headers.items()}, DECLARED, arguments)


@given(st.text())
def test_any_text_argument_can_be_repeated_in_a_header(value: str) -> None:
    check_parameters({"Mcp-Param-Region": header_text(value)}, DECLARED, {"region": value})


def test_base64_of_the_client_is_what_is_decoded() -> None:
    text = base64.b64encode("naïve".encode()).decode()
    assert decode_sentinel("x", f"=?base64?{text}?=") == "naïve"
