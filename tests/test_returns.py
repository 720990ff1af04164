"""What tools, prompts and resources return is read from any value, and written as each revision has it."""

from __future__ import annotations

import base64
import enum
import json
from typing import Any

import pytest
from hypothesis import given

from mcp_wsgi.content import Image, Message, ResourceContents, Text
from mcp_wsgi.returns import PromptResult, ToolResult, prompt_result, resource_contents, tool_result
from mcp_wsgi.revisions import Revision
from tests.contents import ALL, META, OLDEST, PDF, PNG, called, json_values, prompted, read, refused, same

# --- full results ---------------------------------------------------------------------------------


@ALL
def test_meta_of_results_exists_in_every_revision(revision: Revision) -> None:
    assert called(ToolResult("x", meta=META), revision)["_meta"] == META
    assert prompted(PromptResult("x", meta=META), revision)["_meta"] == META


def test_failure_is_marked_and_success_is_not() -> None:
    assert called(ToolResult("broken", is_error=True)) == {
        "content": [{"type": "text", "text": "broken"}],
        "isError": True,
    }
    assert "isError" not in called("fine")


# --- what tools return ----------------------------------------------------------------------------


@ALL
def test_text_is_one_text_block(revision: Revision) -> None:
    assert called("hello", revision) == {"content": [{"type": "text", "text": "hello"}]}


@ALL
def test_none_is_no_content(revision: Revision) -> None:
    assert called(None, revision) == {"content": []}


def test_a_text_enum_counts_by_its_value() -> None:
    class Colour(str, enum.Enum):
        RED = "red"

    (block,) = tool_result(Colour.RED, to_json=same).content
    assert isinstance(block, Text)
    assert type(block.text) is str
    assert called(Colour.RED)["content"][0]["text"] == "red"


def test_a_list_of_content_is_one_block_each() -> None:
    content = called(["a", Text("b"), PNG])["content"]
    assert [block["type"] for block in content] == ["text", "text", "image"]


@ALL
@given(value=json_values)
def test_data_is_never_lost(revision: Revision, value: Any) -> None:
    """T25-TOOL-03, T25-TOOL-06, S26-TOOL-08, S26-TOOL-09: as JSON text always, as data where it may stand."""
    result = called({"value": value}, revision)
    assert json.loads(result["content"][0]["text"]) == {"value": value}
    assert ("structuredContent" in result) == (revision.structured != "none")
    plain = called([value, 1], revision)
    assert json.loads(plain["content"][0]["text"]) == [value, 1]
    assert ("structuredContent" in plain) == (revision.structured == "any")


@pytest.mark.parametrize("value", [[], 0, False, 1.5, [1, 2]])
def test_a_list_or_plain_value_is_structured_in_the_modern_era(value: Any) -> None:
    assert called(value)["structuredContent"] == value


@pytest.mark.parametrize("value", ["x://y", [1], {"a": 1}])
def test_with_an_output_schema_all_is_data(value: Any) -> None:
    """S26-TOOL-07: what the schema's check gives is what is sent."""
    result = called(value, structured=lambda data: {"checked": data})
    assert result["structuredContent"] == {"checked": value}
    assert json.loads(result["content"][0]["text"]) == {"checked": value}


@pytest.mark.parametrize("value", [Text("x"), ["a", Text("b")], Message("user", "x"), (Image(PNG),)])
def test_with_an_output_schema_content_is_refused(value: Any) -> None:
    refused(lambda: tool_result(value, to_json=same, structured=same), "output schema", "structured=")


def test_a_full_result_keeps_its_content_beside_an_object() -> None:
    result = called(ToolResult(["told", PNG], structured={"a": 1}))
    assert [block["type"] for block in result["content"]] == ["text", "image"]
    assert result["structuredContent"] == {"a": 1}


@ALL
def test_a_full_result_gets_the_text_of_a_list(revision: Revision) -> None:
    """S26-TOOL-09, T25-TOOL-06: always in the content, once."""
    added = called(ToolResult("told", structured=[1, 2]), revision)["content"]
    assert [block["text"] for block in added] == ["told", "[1,2]"]
    there = called(ToolResult(["told", "[1, 2]", PNG], structured=[1, 2]), revision)["content"]
    assert [block.get("text") for block in there] == ["told", "[1, 2]", None]


def test_text_too_deep_to_be_a_copy_is_none() -> None:
    content = called(ToolResult("[" * 100_000, structured=[1]))["content"]
    assert content[-1]["text"] == "[1]"


def test_a_full_result_must_fit_the_output_schema() -> None:
    """S26-TOOL-07"""

    def check(data: Any) -> Any:
        raise LookupError(data)

    with pytest.raises(LookupError, match="bad"):
        tool_result(ToolResult(structured="bad"), to_json=same, structured=check)
    refused(lambda: tool_result(ToolResult("x"), to_json=same, structured=check), "without 'structured'")


def test_a_failure_need_not_fit_the_output_schema() -> None:
    """S26-TOOL-11"""

    def check(data: Any) -> Any:
        raise AssertionError

    assert called(ToolResult("no", is_error=True), structured=check)["isError"] is True
    result = called(ToolResult("no", {"why": 1}, is_error=True), structured=check)
    assert result["structuredContent"] == {"why": 1}


@pytest.mark.parametrize("value", [Message("user", "x"), PromptResult("x"), ResourceContents("x://y", "z")])
def test_values_of_prompts_and_resources_are_no_tool_results(value: Any) -> None:
    refused(lambda: tool_result(value, to_json=same), type(value).__name__, "a tool takes")


def test_data_that_the_converter_let_through_unencodable_is_told_apart() -> None:
    refused(lambda: tool_result({"a": object()}, to_json=same), "JSON")
    refused(lambda: tool_result({"a": "\ud800"}, to_json=same), "JSON")


def test_the_content_of_a_full_result_is_normalised() -> None:
    assert ToolResult().content == ToolResult(None).content == ToolResult([]).content == ()
    assert ToolResult("a").content == ToolResult(["a"]).content == ToolResult(Text("a")).content == (Text("a"),)
    refused(lambda: ToolResult({"a": 1}), "type dict", "structured")  # type: ignore[arg-type]


# --- what prompts return --------------------------------------------------------------------------


@ALL
def test_a_prompt_is_messages(revision: Revision) -> None:
    """S26-PRM-03: one block per message."""
    result = prompted(["ask", Message("assistant", "tell"), Image(PNG)], revision)
    assert [m["role"] for m in result["messages"]] == ["user", "assistant", "user"]
    assert [m["content"]["type"] for m in result["messages"]] == ["text", "text", "image"]


@pytest.mark.parametrize("value", ["hi", Text("hi"), Message("user", "hi"), ["hi"], PromptResult("hi")])
def test_one_message_may_be_given_in_many_ways(value: Any) -> None:
    assert prompted(value) == {"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}]}


def test_the_description_of_the_result_wins() -> None:
    assert prompted(PromptResult("x", "own"), description="listed")["description"] == "own"
    assert prompted("x", description="listed")["description"] == "listed"


@pytest.mark.parametrize("value", [None, 3, {"role": "user"}, [["x"]], ToolResult("x")])
def test_what_is_no_message_is_refused_by_type(value: Any) -> None:
    wrong = value[0] if isinstance(value, list) else value
    refused(lambda: prompt_result(value), type(wrong).__name__, "one content block")


# --- what reads return ----------------------------------------------------------------------------


@ALL
def test_contents_are_written_as_the_revision_has_them(revision: Revision) -> None:
    """S26-RES-05, S26-RES-06"""
    parts = read([ResourceContents("x://a", "t", meta=META), ResourceContents("x://b", blob=b"b")], revision)
    assert [(part["uri"], part.get("text"), part.get("blob")) for part in parts] == [
        ("x://a", "t", None),
        ("x://b", None, "Yg=="),
    ]
    assert ("_meta" in parts[0]) == (revision is not OLDEST)


@pytest.mark.parametrize(
    ("value", "declared", "expected"),
    [
        ("hi", None, {"text": "hi", "mimeType": "text/plain"}),
        ("# hi", "text/markdown", {"text": "# hi", "mimeType": "text/markdown"}),
        (b"\x00", None, {"blob": "AA==", "mimeType": "application/octet-stream"}),
        (bytearray(PDF), None, {"blob": base64.b64encode(PDF).decode(), "mimeType": "application/pdf"}),
        (b"\x00", "image/x-own", {"blob": "AA==", "mimeType": "image/x-own"}),
        ({"a": 1}, None, {"text": '{"a":1}', "mimeType": "application/json"}),
        (["a", 1], "application/geo+json", {"text": '["a",1]', "mimeType": "application/geo+json"}),
        ([], "application/json; charset=utf-8", {"text": "[]", "mimeType": "application/json; charset=utf-8"}),
        ((), "application/ld+JSON", {"text": "[]", "mimeType": "application/ld+JSON"}),
        (0, None, {"text": "0", "mimeType": "application/json"}),
    ],
)
def test_a_value_is_read_by_its_kind(value: Any, declared: str | None, expected: dict[str, str]) -> None:
    assert read(value, mime_type=declared) == [{"uri": "x://y", **expected}]


def test_contents_of_ones_own_are_kept() -> None:
    own = ResourceContents("other://z", "t", mime_type="text/x")
    assert resource_contents(own, uri="x://y", to_json=same, mime_type="text/plain") == (own,)


@pytest.mark.parametrize("value", [None, [], ()])
def test_no_contents_are_refused(value: Any) -> None:
    """S26-RES-03"""
    refused(lambda: resource_contents(value, uri="x://y", to_json=same), "ResourceNotFound", "application/json")


@pytest.mark.parametrize("value", [Text("x"), ToolResult("x"), [ResourceContents("x://y", "z"), Text("x")]])
def test_other_content_is_no_resource(value: Any) -> None:
    refused(lambda: resource_contents(value, uri="x://y", to_json=same), "a resource takes")
