"""Content is checked when built, read from what handlers return, and written as each revision has it."""

from __future__ import annotations

import base64
import enum
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi.content import (
    Audio,
    ContentError,
    EmbeddedResource,
    Image,
    Message,
    PromptResult,
    ResourceContents,
    ResourceLink,
    Text,
    ToolResult,
    blocks,
    check_annotations,
    check_meta,
    prompt_result,
    prompt_result_wire,
    resource_contents,
    resource_contents_wire,
    tool_result,
    tool_result_wire,
)
from mcp_wsgi.errors import RegistrationError
from mcp_wsgi.revisions import REVISIONS, Revision
from tests.wire import check_message

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)
WAV = b"RIFF\x24\x00\x00\x00WAVEfmt "
PDF = b"%PDF-1.7\n"
NEWEST = REVISIONS["2026-07-28"]
OLDEST = REVISIONS["2025-03-26"]
ALL = pytest.mark.parametrize("revision", REVISIONS.values(), ids=REVISIONS)
ANNOTATIONS = {"audience": ["user"], "priority": 0.5, "lastModified": "2025-01-12T15:00:58Z"}
META = {"com.example/k": [1, {"a": None}]}


class Picture(msgspec.Struct):
    """Stands for ``descriptions.Icon``, which lies below this layer."""

    def wire(self, revision: Revision) -> dict[str, Any]:
        return {"src": "https://example.com/i.png"}


EVERYTHING = (
    Text("héllo", annotations=ANNOTATIONS, meta=META),
    Image(PNG, annotations=ANNOTATIONS, meta=META),
    Audio(WAV, annotations=ANNOTATIONS, meta=META),
    ResourceLink("note://1", "one", "One", "First", "text/plain", 3, [Picture()], annotations=ANNOTATIONS, meta=META),
    EmbeddedResource(ResourceContents("note://1", "hi", None, "text/plain", META), annotations=ANNOTATIONS, meta=META),
    EmbeddedResource(ResourceContents("note://2", blob=b"\x00\xff")),
)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


def same(value: Any) -> Any:
    """Stands for ``schema.to_json``: the values here are JSON already."""
    return value


def sent(wire: Mapping[str, Any], method: str, revision: Revision) -> Any:
    """What a client reads, held against the official types of its revision."""
    result = msgspec.json.decode(msgspec.json.encode(wire))
    envelope: dict[str, Any] = {"resultType": "complete"} if revision.result_type else {}
    if method == "resources/read" and revision.cache_hints:
        envelope |= {"ttlMs": 0, "cacheScope": "private"}
    message = {"jsonrpc": "2.0", "id": 1, "result": {**result, **envelope}}
    check_message(message, revision.name, request_method=method)
    return result


def called(value: Any, revision: Revision = NEWEST, **options: Any) -> Any:
    return sent(tool_result_wire(tool_result(value, to_json=same, **options), revision), "tools/call", revision)


def prompted(value: Any, revision: Revision = NEWEST, **options: Any) -> Any:
    return sent(prompt_result_wire(prompt_result(value, **options), revision), "prompts/get", revision)


def read(value: Any, revision: Revision = NEWEST, **options: Any) -> Any:
    contents = resource_contents(value, uri="x://y", to_json=same, **options)
    return sent(resource_contents_wire(contents, revision), "resources/read", revision)["contents"]


def refused(build: Callable[[], object], *words: str) -> None:
    with pytest.raises(ContentError) as caught:
        build()
    for word in words:
        assert word in str(caught.value)


def lazily(build: Any, *parts: Any, **named: Any) -> Callable[[], object]:
    """A call with parts whose types a checker would refuse."""
    return lambda: build(*parts, **named)


# --- wire forms -----------------------------------------------------------------------------------


@ALL
def test_every_block_is_written_as_the_revision_has_it(revision: Revision) -> None:
    """T25-TOOL-04, T25-PRM-01, S26-TOOL-13: known types and fields only, bytes in Base64."""
    content = called(EVERYTHING, revision)["content"]
    assert len(content) == len(EVERYTHING)
    assert {block["type"] for block in content} == revision.content_types
    for block in EVERYTHING:
        assert prompted(block, revision)["messages"][0]["role"] == "user"


def test_a_newer_revision_gets_every_field() -> None:
    text, image, audio, link, embedded, binary = called(EVERYTHING)["content"]
    extras = {"annotations": ANNOTATIONS, "_meta": META}
    assert text == {"type": "text", "text": "héllo", **extras}
    assert image == {"type": "image", "data": base64.b64encode(PNG).decode(), "mimeType": "image/png", **extras}
    assert audio == {"type": "audio", "data": base64.b64encode(WAV).decode(), "mimeType": "audio/wav", **extras}
    assert link == {
        "type": "resource_link", "uri": "note://1", "name": "one", "title": "One", "description": "First",
        "mimeType": "text/plain", "size": 3, "icons": [{"src": "https://example.com/i.png"}], **extras,
    }  # fmt: skip
    resource = {"uri": "note://1", "text": "hi", "mimeType": "text/plain", "_meta": META}
    assert embedded == {"type": "resource", "resource": resource, **extras}
    assert binary == {"type": "resource", "resource": {"uri": "note://2", "blob": "AP8="}}


def test_an_older_revision_loses_what_it_does_not_know() -> None:
    text = called(EVERYTHING, OLDEST)["content"][0]
    assert text == {"type": "text", "text": "héllo", "annotations": {"audience": ["user"], "priority": 0.5}}


def test_annotations_that_are_all_unknown_leave_no_trace() -> None:
    only_new = Text("x", annotations={"lastModified": "2025-01-12"})
    assert called(only_new, OLDEST)["content"] == [{"type": "text", "text": "x"}]


def test_a_link_is_text_where_links_do_not_exist() -> None:
    """T25-TOOL-04: 2025-03-26 has no resource_link."""
    links = [ResourceLink("note://1", "one", description="First"), ResourceLink("note://2", "two")]
    content = called(links, OLDEST)["content"]
    assert [block["text"] for block in content] == ["one: note://1\nFirst", "two: note://2"]


def test_icons_are_left_out_where_they_do_not_exist() -> None:
    """T25-ICON-01: 2025-06-18 has links without icons."""
    link = ResourceLink("note://1", "one", icons=[Picture()])
    assert called(link, REVISIONS["2025-06-18"])["content"] == [
        {"type": "resource_link", "uri": "note://1", "name": "one"}
    ]


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


def test_a_list_that_mixes_content_and_data_is_refused() -> None:
    refused(lambda: blocks([Text("a"), {"b": 1}]), "type dict", "index 1")
    refused(lambda: blocks(["a", ToolResult("b")]), "type ToolResult", "index 1")


@pytest.mark.parametrize("value", [[], (), ["a", 1], {"a": "b"}, 3, 1.5, True])
def test_data_is_no_content(value: Any) -> None:
    assert blocks(value) is None


def test_a_named_tuple_of_text_is_data() -> None:
    class Name(NamedTuple):
        first: str
        last: str

    assert blocks(Name("Ada", "Lovelace")) is None


@pytest.mark.parametrize(
    ("data", "block_type", "mime_type"),
    [
        (PNG, "image", "image/png"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF", "image", "image/jpeg"),
        (b"GIF89a\x01\x00", "image", "image/gif"),
        (b"GIF87a\x01\x00", "image", "image/gif"),
        (b"RIFF\x1a\x0a\x00\x0aWEBPVP8 ", "image", "image/webp"),
        (WAV, "audio", "audio/wav"),
        (b"ID3\x03\x00", "audio", "audio/mpeg"),
        (b"\xff\xfb\x90\x64", "audio", "audio/mpeg"),
        (b"OggS\x00\x02", "audio", "audio/ogg"),
        (b"fLaC\x00\x00", "audio", "audio/flac"),
    ],
)
def test_bytes_are_what_they_begin_like(data: bytes, block_type: str, mime_type: str) -> None:
    for given_as in (data, bytearray(data), memoryview(data)):
        (block,) = called(given_as)["content"]
        assert (block["type"], block["mimeType"]) == (block_type, mime_type)
        assert base64.b64decode(block["data"]) == data


def test_other_bytes_are_embedded_under_their_digest() -> None:
    """RFC 6920, section 3: Base64 for URLs, no padding. The digest is what ``sha256sum`` says."""
    (block,) = called(b"Hello World!")["content"]
    name, _, digest = block["resource"]["uri"].partition(";")
    assert name == "ni:///sha-256"
    assert base64.urlsafe_b64decode(digest + "=").hex() == (
        "7f83b1657ff1fc53b92dc18148a1d65dfc2d4b1fa3d677284addd200126d9069"
    )
    assert "=" not in digest
    assert block["resource"]["mimeType"] == "application/octet-stream"
    assert base64.b64decode(block["resource"]["blob"]) == b"Hello World!"
    assert called(PDF)["content"][0]["resource"]["mimeType"] == "application/pdf"


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


def test_a_message_is_said_by_user_or_assistant() -> None:
    refused(lambda: Message("system", "x"), "'user' or 'assistant'")  # type: ignore[arg-type]


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


# --- checks when built ----------------------------------------------------------------------------


def test_a_file_is_read_when_the_block_is_built(tmp_path: Path) -> None:
    path = tmp_path / "dot.bin"
    path.write_bytes(PNG)
    image = Image(path=path)
    path.unlink()
    assert image == Image(PNG)


@pytest.mark.parametrize(("suffix", "mime_type"), [(".SVG", "image/svg+xml"), (".tiff", "image/tiff")])
def test_a_format_without_a_mark_is_told_by_the_suffix(tmp_path: Path, suffix: str, mime_type: str) -> None:
    path = tmp_path / f"picture{suffix}"
    path.write_bytes(b"<svg/>")
    assert Image(path=str(path)).mime_type == mime_type


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Audio(path=tmp_path / "none.wav")


def test_what_is_said_of_bytes_wins_over_what_they_begin_like() -> None:
    assert Image(PNG, mime_type="image/apng").mime_type == "image/apng"


def build_unknown_suffix(tmp_path: Path) -> Image:
    path = tmp_path / "a.xyz"
    path.write_bytes(b"?")
    return Image(path=path)


def test_an_unknown_format_must_be_named(tmp_path: Path) -> None:
    refused(lambda: Image(b"?"), "give mime_type", "image/")
    refused(lambda: build_unknown_suffix(tmp_path), "give mime_type")


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lazily(Text, 3), ["Text takes text", "type int"]),
        (lazily(Text, "\ud800"), ["lone surrogate"]),
        (lazily(Image), ["either data or path"]),
        (lazily(Image, PNG, path="x.png"), ["either data or path"]),
        (lazily(Image, "aGk="), ["raw bytes", "type str"]),
        (lazily(Image, WAV), ["cannot hold audio/wav"]),
        (lazily(Audio, PDF), ["cannot hold application/pdf"]),
        (lazily(Image, PNG, mime_type="image"), ["mime_type"]),
        (lazily(ResourceLink, "no scheme", "n"), ["uri", "scheme"]),
        (lazily(ResourceLink, "x://é", "n"), ["percent-encoded"]),
        (lazily(ResourceLink, None, "n"), ["uri"]),
        (lazily(ResourceLink, "x://y", None), ["'name'", "NoneType"]),
        (lazily(ResourceLink, "x://y", "n", title=3), ["'title'", "int"]),
        (lazily(ResourceLink, "x://y", "n", size=-1), ["bytes"]),
        (lazily(ResourceLink, "x://y", "n", size=True), ["bytes"]),
        (lazily(ResourceLink, "x://y", "n", mime_type="text"), ["mime_type"]),
        (lazily(ResourceContents, "x://y"), ["either text or blob"]),
        (lazily(ResourceContents, "x://y", "t", b"b"), ["either text or blob"]),
        (lazily(ResourceContents, "x://y", b"t"), ["'text'", "type bytes"]),
        (lazily(ResourceContents, "x://y", blob="b"), ["'blob'", "type str"]),
        (lazily(ResourceContents, "y", "t"), ["uri"]),
        (lazily(ResourceContents, "x://y", "t", mime_type="text"), ["mime_type"]),
        (lazily(EmbeddedResource, "t"), ["ResourceContents", "type str"]),
        (lazily(PromptResult, "x", description=3), ["'description'"]),
    ],
)
def test_a_wrong_part_is_named(build: Callable[[], object], words: list[str]) -> None:
    refused(build, *words)


@pytest.mark.parametrize("value", [*EVERYTHING, ToolResult("x"), Message("user", "x"), PromptResult("x")])
def test_a_built_value_cannot_be_changed(value: Any) -> None:
    for name in value.__struct_fields__:
        with pytest.raises(AttributeError):
            setattr(value, name, None)


def test_a_built_value_does_not_follow_the_buffer_it_came_from() -> None:
    buffer = bytearray(PNG)
    image, contents = Image(buffer), ResourceContents("x://y", blob=buffer)  # type: ignore[arg-type]
    buffer[:] = bytes(len(buffer))
    assert image.data == contents.blob == PNG


def test_an_empty_resource_has_a_size() -> None:
    assert called(ResourceLink("x://y", "n", size=0))["content"][0]["size"] == 0


def test_no_value_is_in_an_error() -> None:
    secret = "hunter2"
    for build in (
        lambda: prompt_result({secret}),
        lambda: Text(secret.encode()),  # type: ignore[arg-type]
        lambda: ToolResult({secret: 1}),  # type: ignore[arg-type]
        lambda: check_annotations({"audience": [secret]}),
        lambda: check_meta({"key": secret.encode()}),
        lambda: ResourceLink(f"{secret} {secret}", "n"),
    ):
        with pytest.raises(ContentError) as caught:
            build()
        assert secret not in str(caught.value)


@pytest.mark.parametrize(
    "annotations",
    [
        {},
        {"audience": []},
        {"audience": ("user", "assistant")},
        {"priority": 0},
        {"priority": 1.0},
        {"lastModified": "2025-01-12"},
        {"lastModified": "2025-01-12T15:00:58.123+02:00"},
    ],
)
def test_right_annotations_pass(annotations: dict[str, Any]) -> None:
    """S26-RES-08"""
    check_annotations(annotations)


@pytest.mark.parametrize(
    ("annotations", "word"),
    [
        ("user", "type str"),
        ({"audience": "user"}, "list of 'user'"),
        ({"audience": ["system"]}, "list of 'user'"),
        ({"audience": [[]]}, "list of 'user'"),
        ({"priority": True}, "0 to 1"),
        ({"priority": 1.01}, "0 to 1"),
        ({"priority": float("nan")}, "0 to 1"),
        ({"lastModified": "yesterday"}, "ISO 8601"),
        ({"lastModified": 3}, "ISO 8601"),
        ({"colour": "red"}, "unknown field 'colour'"),
    ],
)
def test_wrong_annotations_are_refused(annotations: Any, word: str) -> None:
    """S26-RES-08"""
    refused(lambda: check_annotations(annotations, owner="note"), word, "note")
    with pytest.raises(RegistrationError):
        check_annotations(annotations, error=RegistrationError)
    refused(lambda: Text("x", annotations=annotations), "Text")


@pytest.mark.parametrize(
    "key",
    ["a", "a.b", "a-b_c.d9", "com.example/k", "x/k", "com.ex-ample/a_b", "com.example.mcp/k", "ui/resourceUri", "9"],
)
def test_own_meta_keys_pass(key: str) -> None:
    """S26-BASE-22, S26-BASE-23"""
    check_meta({key: 1})


@pytest.mark.parametrize(
    "key", ["", "/", "a/", "_a", "a_", "a b", "é", "9x.com/k", "x-.com/k", "-x/k", "a//b", "a/b/c", ".a/k", "a\n", 3]
)
def test_malformed_meta_keys_are_refused(key: Any) -> None:
    """S26-BASE-22"""
    refused(lambda: check_meta({key: 1}, owner="note"), "malformed", "note")


@pytest.mark.parametrize(
    "key",
    ["io.modelcontextprotocol/k", "dev.mcp/k", "org.modelcontextprotocol.api/k", "com.mcp.tools/k", "mcp.dev/k"],
)
def test_reserved_meta_keys_are_refused(key: str) -> None:
    """S26-BASE-23, T25-BASE-09"""
    refused(lambda: check_meta({key: 1}), "reserved for MCP")
    with pytest.raises(RegistrationError):
        check_meta({key: 1}, error=RegistrationError)


def test_every_value_checks_its_meta_and_annotations() -> None:
    """S26-BASE-22, S26-RES-08"""
    contents = ResourceContents("x://y", "t")
    described: list[tuple[Any, ...]] = [
        (Text, "t"),
        (Image, PNG),
        (Audio, WAV),
        (ResourceLink, "x://y", "n"),
        (EmbeddedResource, contents),
    ]
    for build, *parts in described:
        refused(lazily(build, *parts, annotations={"a": 1}), f"annotations of {build.__name__}")
    for build, *parts in [*described, (ToolResult, "t"), (PromptResult, "t"), (ResourceContents, "x://y", "t")]:
        refused(lazily(build, *parts, meta={"a b": 1}), f"meta of {build.__name__}")


TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.parametrize(
    ("meta", "fits"),
    [
        ({"traceparent": TRACE, "tracestate": "a=b", "baggage": "c=d"}, True),
        ({"traceparent": TRACE.upper()}, False),
        ({"traceparent": 1}, False),
        ({"tracestate": {}}, False),
        ({"baggage": None}, False),
    ],
)
def test_trace_context_has_its_own_formats(meta: dict[str, Any], fits: bool) -> None:
    """S26-BASE-25"""
    if fits:
        check_meta(meta)
    else:
        refused(lambda: check_meta(meta), "W3C")


@pytest.mark.parametrize("value", [float("nan"), b"x", {1, 2}, object(), "\ud800"])
def test_meta_is_json(value: Any) -> None:
    refused(lambda: check_meta({"k": {"deep": [value]}}), "JSON")
    refused(lambda: ToolResult("x", meta={"k": value}), "ToolResult")


def test_meta_is_a_dict() -> None:
    refused(lambda: check_meta([("k", 1)]), "type list")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "make",
    [
        lambda meta: Text("a", meta=meta),
        lambda meta: ToolResult(meta=meta),
        lambda meta: ResourceContents("a://b", text="", meta=meta),
        lambda meta: PromptResult("a", meta=meta),
    ],
)
def test_meta_is_copied_when_a_value_is_built(make: Any) -> None:
    meta = {"a": {"b": [1]}}
    value = make(meta)
    meta["a"]["b"].append(2)
    meta["c"] = {}
    assert value.meta == {"a": {"b": [1]}}


def test_annotations_are_copied_when_a_value_is_built() -> None:
    annotations: dict[str, Any] = {"audience": ["user"]}
    text = Text("a", annotations=annotations)
    annotations["audience"].append("nobody")
    assert text.annotations == {"audience": ["user"]}
