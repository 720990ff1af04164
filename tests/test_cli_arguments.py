"""What ``KEY=VALUE`` words mean."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi.cli.arguments import (
    UsageError,
    admits_string,
    header_fields,
    json_object,
    options,
    strings,
    tool_arguments,
)

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "number": {"type": "integer"},
        "either": {"type": ["integer", "string"]},
        "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "count": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "items": {"type": "array", "items": {"type": "string"}},
        "open": {},
        "place": {"$ref": "#/$defs/Place"},
        "word": {"$ref": "#/$defs/a~1b"},
    },
    "$defs": {"Place": {"type": "object"}, "a/b": {"type": "string"}},
}


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("text=5", {"text": "5"}),
        ("text=", {"text": ""}),
        ("text=a=b", {"text": "a=b"}),
        ("number=5", {"number": 5}),
        ("number=five", {"number": "five"}),
        ("either=5", {"either": "5"}),
        ("maybe=null", {"maybe": "null"}),
        ("count=null", {"count": None}),
        ('items=["a"]', {"items": ["a"]}),
        ("open=5", {"open": "5"}),
        ('place={"x": 1}', {"place": {"x": 1}}),
        ("word=5", {"word": "5"}),
        ("unknown=5", {"unknown": "5"}),
        ("text:=5", {"text": 5}),
        ("maybe:=null", {"maybe": None}),
    ],
)
def test_a_value_is_read_by_the_schema_of_its_argument(word: str, expected: dict[str, Any]) -> None:
    assert tool_arguments([word], SCHEMA) == expected


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (True, True),
        (False, False),
        ({"enum": [1, "a"]}, True),
        ({"enum": [1, 2]}, False),
        ({"const": "a"}, True),
        ({"const": None}, False),
        ({"oneOf": [{"type": "integer"}, {"type": "string"}]}, True),
        ({"allOf": [{"type": "string"}, {"maxLength": 3}]}, True),
        ({"allOf": [{"type": "string"}, {"type": "integer"}]}, False),
        ({"description": "anything"}, True),
        ({"$ref": "#"}, True),
        ({"$ref": "#/$defs/gone"}, True),
        ({"$ref": "https://elsewhere.example/x"}, True),
    ],
)
def test_a_schema_tells_whether_it_takes_strings(schema: Any, expected: bool) -> None:
    assert admits_string(schema, {"$ref": "#"}) is expected


@given(st.dictionaries(st.from_regex(r"[a-z]{1,5}", fullmatch=True), st.text()))
def test_any_string_goes_through_as_a_string_and_as_json(arguments: dict[str, str]) -> None:
    plain = {key: value for key, value in arguments.items() if not value.startswith("@")}
    schema = {"properties": {key: {"type": "string"} for key in plain}}
    assert tool_arguments([f"{key}={value}" for key, value in plain.items()], schema) == plain
    assert tool_arguments([f"{key}:={json.dumps(value)}" for key, value in arguments.items()], {}) == arguments


def test_a_value_may_be_the_content_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "value"
    file.write_text("[1]", "utf-8")
    assert tool_arguments([f"text=@{file}", f"items=@{file}", f"open:=@{file}"], SCHEMA) == {
        "text": "[1]",
        "items": [1],
        "open": [1],
    }
    assert strings([f"a=@{file}"]) == {"a": "[1]"}
    assert json_object('{"a": [1]}') == {"a": [1]}
    file.write_text('{"a": 1}', "utf-8")
    assert json_object(f"@{file}") == {"a": 1}


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["text"], "'text' is no pair"),
        (["=x"], "'=x' is no pair"),
        ([":=1"], "is no pair"),
        (["text=a", "text:=1"], "text is given twice"),
        (["text:={"], "text is no JSON"),
        (["text=@/no/such/file"], "cannot read /no/such/file: No such file"),
        (["text=@"], "cannot read"),
    ],
)
def test_a_word_that_means_nothing_is_refused(words: list[str], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        tool_arguments(words, SCHEMA)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"\xff")
    with pytest.raises(UsageError, match=r"cannot read .*x: .*utf-8"):
        strings([f"a=@{tmp_path / 'x'}"])


@pytest.mark.parametrize("word", ["text=\udcff", 'text:="\udcff"', "unknown=a\udc80b"])
def test_bytes_that_are_no_text_are_refused_by_the_name_of_their_argument(word: str) -> None:
    """Python reads such bytes of a command line as lone surrogates (PEP 383)."""
    name = word.partition("=")[0].removesuffix(":")
    for read in (lambda words: tool_arguments(words, SCHEMA), strings, options):
        with pytest.raises(UsageError, match=f"^{name} must be UTF-8$"):
            read([word])


def test_names_header_fields_and_json_are_text_too(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^the name 'k\\udcff' must be UTF-8$"):
        strings(["k\udcff=1"])
    with pytest.raises(UsageError, match=r"^header X must be UTF-8$"):
        header_fields(["X: \udcff"])
    with pytest.raises(UsageError, match=r"^--json must be UTF-8$"):
        json_object('{"a": "\udcff"}')
    # The name of a file may be any bytes.
    (file := tmp_path / "v\udcff").write_text("1")
    assert strings([f"a=@{file}"]) == {"a": "1"}


@pytest.mark.parametrize("text", ["[1]", "1", "{"])
def test_arguments_as_json_are_an_object(text: str) -> None:
    with pytest.raises(UsageError, match="--json"):
        json_object(text)


def test_prompt_arguments_are_strings_as_they_stand() -> None:
    assert strings(["a=1", "b=null", "c:=1"]) == {"a": "1", "b": "null", "c:": "1"}


def test_options_are_json_where_they_can_be() -> None:
    assert options(["sessions=false", "page-size=5", "cache_scope=public", 'origins=["https://a.example"]']) == {
        "sessions": False,
        "page_size": 5,
        "cache_scope": "public",
        "origins": ["https://a.example"],
    }
    assert options(["a:=1"]) == {"a": 1}


def test_header_fields_have_a_name_and_a_value() -> None:
    assert header_fields(["Authorization: Bearer a:b", "X-Empty:"]) == {"Authorization": "Bearer a:b", "X-Empty": ""}
    for word in ("Authorization", ": x"):
        with pytest.raises(UsageError, match="is no header"):
            header_fields([word])
