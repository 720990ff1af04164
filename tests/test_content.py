"""Content is checked when built, told apart from data, and written as each revision has it."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mcp_wsgi.checks import ContentError, check_annotations, check_meta
from mcp_wsgi.content import Audio, EmbeddedResource, Image, Message, ResourceContents, ResourceLink, Text, blocks
from mcp_wsgi.returns import PromptResult, ToolResult, prompt_result
from mcp_wsgi.revisions import REVISIONS, Revision
from tests.contents import (
    ALL,
    ANNOTATIONS,
    EVERYTHING,
    META,
    OLDEST,
    PDF,
    PNG,
    WAV,
    Picture,
    called,
    lazily,
    prompted,
    refused,
)

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


# --- what is content ------------------------------------------------------------------------------


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


def test_a_message_is_said_by_user_or_assistant() -> None:
    refused(lambda: Message("system", "x"), "'user' or 'assistant'")  # type: ignore[arg-type]


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
