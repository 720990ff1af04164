"""What tools, prompts and resources answer with, and how each revision writes it.

Rules of this file:

* A value is checked when it is built, so a mistake shows in the function that made it. The
  ``wire`` methods and ``*_wire`` functions only choose fields; they do not fail on a built value.
* An error names types, never values, so that its text may be shown to a model.
* Data that is no content (dicts, dataclasses, numbers ...) becomes JSON through callables that
  the caller passes in, since schemas are another file's concern.
"""

from __future__ import annotations

import os
from base64 import urlsafe_b64encode
from binascii import b2a_base64
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeAlias

import msgspec
from msgspec import UNSET, Raw
from msgspec.structs import force_setattr, replace

from mcp_wsgi.checks import (
    ContentError,
    check_annotations,
    check_meta,
    check_mime_type,
    check_uri_text,
    kind_of,
    text_of,
)
from mcp_wsgi.sniffing import SUFFIXES, sniffed

if TYPE_CHECKING:
    from mcp_wsgi.revisions import Revision

__all__ = [
    "Audio",
    "Block",
    "ContentError",
    "EmbeddedResource",
    "Image",
    "Message",
    "PromptResult",
    "ResourceContents",
    "ResourceLink",
    "Text",
    "ToolResult",
    "blocks",
    "check_annotations",
    "check_meta",
    "prompt_result",
    "prompt_result_wire",
    "resource_contents",
    "resource_contents_wire",
    "tool_result",
    "tool_result_wire",
]

Role = Literal["user", "assistant"]
ToJson: TypeAlias = Callable[[Any], Any]

_OCTETS = "application/octet-stream"


class _HasWire(Protocol):
    def wire(self, revision: Revision) -> dict[str, Any]: ...


def _base64(data: bytes) -> str:
    return b2a_base64(data, newline=False).decode("ascii")


# --- content blocks -------------------------------------------------------------------------------


class _Value(msgspec.Struct, frozen=True):
    """Whatever a handler may return that is of this file; it is never taken for plain data."""


class _Block(_Value, frozen=True, kw_only=True):
    """What all content blocks share."""

    annotations: Mapping[str, Any] | None = None
    meta: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.annotations is not None:
            force_setattr(self, "annotations", check_annotations(self.annotations, owner=type(self).__name__))
        if self.meta is not None:
            force_setattr(self, "meta", check_meta(self.meta, owner=type(self).__name__))

    def _extras(self, revision: Revision) -> dict[str, Any]:
        annotations = revision.shape("Annotations", self.annotations) if self.annotations else None
        return {"annotations": annotations or None, "_meta": dict(self.meta) if self.meta else None}


class Text(_Block, frozen=True):
    """Text for the model or the user.

    Args:
        text: Any text that UTF-8 can write.
        annotations: ``audience`` (of ``user``, ``assistant``), ``priority`` (0-1),
            ``lastModified`` (ISO 8601); default: none.
        meta: The ``_meta`` object; default: none.

    Raises:
        ContentError: One of them is wrong.

    Source: schema, ``TextContent``.
    """

    text: str

    def __post_init__(self) -> None:
        if type(self.text) is not str or not self.text.isascii():
            force_setattr(self, "text", text_of(self.text, "Text"))
        super().__post_init__()

    def wire(self, revision: Revision) -> dict[str, Any]:
        """The block as ``revision`` writes it."""
        if self.annotations is None and self.meta is None:
            return {"type": "text", "text": self.text}
        return revision.shape("TextContent", {"type": "text", "text": self.text, **self._extras(revision)})


class _MediaOptions(_Block, frozen=True, kw_only=True):
    path: str | os.PathLike[str] | None = None
    mime_type: str | None = None


class _Media(_MediaOptions, frozen=True):
    """Bytes with a MIME type; what images and audio share."""

    data: bytes = None  # type: ignore[assignment]

    kind: ClassVar[str]
    wire_type: ClassVar[str]

    def __post_init__(self) -> None:
        owner = type(self).__name__
        if (self.data is None) == (self.path is None):
            raise ContentError(f"{owner} takes either data or path")
        path = Path(self.path) if self.path is not None else None
        data = path.read_bytes() if path is not None else self.data
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise ContentError(f"{owner} takes raw bytes, not {kind_of(data)}; Base64 is added on the wire")
        data = bytes(data)
        mime_type = self.mime_type or sniffed(data) or (SUFFIXES.get(path.suffix.lower()) if path else None)
        if mime_type is None:
            raise ContentError(f"{owner}: the format is not recognised; give mime_type, such as '{self.kind}/...'")
        check_mime_type(mime_type, owner)
        if not mime_type.startswith(f"{self.kind}/"):
            raise ContentError(f"{owner} cannot hold {mime_type}; return bytes or an EmbeddedResource instead")
        for name, value in (("data", data), ("mime_type", mime_type), ("path", None)):
            force_setattr(self, name, value)
        super().__post_init__()

    def wire(self, revision: Revision) -> dict[str, Any]:
        """The block as ``revision`` writes it."""
        fields = {"type": self.kind, "data": _base64(self.data), "mimeType": self.mime_type}
        return revision.shape(self.wire_type, {**fields, **self._extras(revision)})


class Image(_Media, frozen=True):
    """A picture.

    Args:
        data: The raw bytes of the file; they become Base64 on the wire.
        path: A file to read instead, at once; the built value holds its bytes and no path.
        mime_type: Default: told by the first bytes (PNG, JPEG, GIF, WebP), else by the path's suffix.
        annotations: As of ``Text``.
        meta: The ``_meta`` object; default: none.

    Raises:
        ContentError: Not exactly one of ``data`` and ``path``, or the type is unknown or no ``image/*``.
        OSError: The file cannot be read.

    Source: schema, ``ImageContent``.
    """

    kind: ClassVar[str] = "image"
    wire_type: ClassVar[str] = "ImageContent"


class Audio(_Media, frozen=True):
    """A sound.

    Args:
        data: The raw bytes of the file; they become Base64 on the wire.
        path: A file to read instead, at once; the built value holds its bytes and no path.
        mime_type: Default: told by the first bytes (WAV, MP3, Ogg, FLAC), else by the path's suffix.
        annotations: As of ``Text``.
        meta: The ``_meta`` object; default: none.

    Raises:
        ContentError: Not exactly one of ``data`` and ``path``, or the type is unknown or no ``audio/*``.
        OSError: The file cannot be read.

    Source: schema, ``AudioContent``.
    """

    kind: ClassVar[str] = "audio"
    wire_type: ClassVar[str] = "AudioContent"


class ResourceLink(_Block, frozen=True):
    """A resource that the client may read if it wants to.

    Args:
        uri: Its identifier (RFC 3986); it need not be listed.
        name: Short programmatic name.
        title: Display name; default ``name``.
        description: What it holds; default: none.
        mime_type: Default: unknown.
        size: Bytes of the raw content; default: unknown.
        icons: Pictures, each with a ``wire(revision)`` method; default: none.
        annotations: As of ``Text``.
        meta: The ``_meta`` object; default: none.

    Raises:
        ContentError: One of them is wrong.

    Source: server/tools, "Resource Links".
    """

    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None
    icons: Sequence[_HasWire] = ()

    def __post_init__(self) -> None:
        check_uri_text(self.uri, "ResourceLink")
        for name in ("name", "title", "description"):
            value = getattr(self, name)
            if value is not None or name == "name":
                force_setattr(self, name, text_of(value, f"ResourceLink: {name!r}"))
        check_mime_type(self.mime_type, "ResourceLink")
        if self.size is not None and (type(self.size) is not int or self.size < 0):
            raise ContentError("ResourceLink: 'size' takes a number of bytes")
        super().__post_init__()

    def wire(self, revision: Revision) -> dict[str, Any]:
        """The block as ``revision`` writes it: as text where links do not exist."""
        if "resource_link" not in revision.content_types:
            return self._as_text().wire(revision)
        icons = [icon.wire(revision) for icon in self.icons] if "Icon" in revision.fields else None
        return revision.shape(
            "ResourceLink",
            {
                "type": "resource_link",
                "uri": self.uri,
                "name": self.name,
                "title": self.title,
                "description": self.description,
                "mimeType": self.mime_type,
                "size": self.size,
                "icons": icons or None,
                **self._extras(revision),
            },
        )

    def _as_text(self) -> Text:
        lines = [f"{self.name}: {self.uri}", self.description]
        return Text("\n".join(filter(None, lines)), annotations=self.annotations, meta=self.meta)


class ResourceContents(_Value, frozen=True):
    """The content of a resource, or one part of it.

    Args:
        uri: Its identifier (RFC 3986).
        text: The content, if it is text.
        blob: The raw bytes otherwise; they become Base64 on the wire.
        mime_type: Default: unknown.
        meta: The ``_meta`` object; default: none.

    Raises:
        ContentError: Not exactly one of ``text`` and ``blob``, or one of them is wrong.

    Source: schema, ``TextResourceContents`` and ``BlobResourceContents``.
    """

    uri: str
    text: str | None = None
    blob: bytes | None = None
    mime_type: str | None = None
    meta: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        check_uri_text(self.uri, "ResourceContents")
        if (self.text is None) == (self.blob is None):
            raise ContentError("ResourceContents takes either text or blob")
        if self.text is not None:
            force_setattr(self, "text", text_of(self.text, "ResourceContents: 'text'"))
        elif isinstance(self.blob, (bytes, bytearray, memoryview)):
            force_setattr(self, "blob", bytes(self.blob))
        else:
            raise ContentError(f"ResourceContents: 'blob' takes raw bytes, not {kind_of(self.blob)}")
        check_mime_type(self.mime_type, "ResourceContents")
        if self.meta is not None:
            force_setattr(self, "meta", check_meta(self.meta, owner="ResourceContents"))

    def wire(self, revision: Revision) -> dict[str, Any]:
        """The contents as ``revision`` writes them."""
        fields = {"uri": self.uri, "mimeType": self.mime_type, "_meta": dict(self.meta) if self.meta else None}
        if self.blob is not None:
            return revision.shape("BlobResourceContents", {**fields, "blob": _base64(self.blob)})
        return revision.shape("TextResourceContents", {**fields, "text": self.text})


class EmbeddedResource(_Block, frozen=True):
    """A resource's content, sent along.

    Args:
        resource: The content.
        annotations: As of ``Text``.
        meta: The ``_meta`` object; default: none.

    Raises:
        ContentError: One of them is wrong.

    Source: server/tools, "Embedded Resources".
    """

    resource: ResourceContents

    def __post_init__(self) -> None:
        if not isinstance(self.resource, ResourceContents):
            raise ContentError(f"EmbeddedResource takes ResourceContents, not {kind_of(self.resource)}")
        super().__post_init__()

    def wire(self, revision: Revision) -> dict[str, Any]:
        """The block as ``revision`` writes it."""
        fields = {"type": "resource", "resource": self.resource.wire(revision)}
        return revision.shape("EmbeddedResource", {**fields, **self._extras(revision)})


Block: TypeAlias = Text | Image | Audio | ResourceLink | EmbeddedResource

_BYTES = (bytes, bytearray, memoryview)
_ONE_BLOCK: tuple[type[Any], ...] = (str, *_BYTES, _Block)
_ALLOWED = "text, bytes, content blocks, or a list of these"


def blocks(value: Any) -> tuple[Block, ...] | None:
    """Read a value as content.

    Text becomes ``Text``; bytes become what they begin like, an ``Image`` or ``Audio``, else an
    ``EmbeddedResource``; a list is content if all its items are. An empty list is data: a search
    that found nothing still tells the model so.

    Args:
        value: What a handler returned.

    Returns:
        The blocks; none for ``None``; ``None`` if the value is data.

    Raises:
        ContentError: A list mixes content with data.
    """
    if value is None:
        return ()
    if isinstance(value, _ONE_BLOCK):
        return (_block(value),)
    # Exact types: a named tuple is data.
    if type(value) not in (list, tuple) or not value:
        return None
    if all(isinstance(item, _ONE_BLOCK) for item in value):
        return tuple(_block(item) for item in value)
    if any(isinstance(item, _Value) for item in value):
        index, other = next((i, item) for i, item in enumerate(value) if not isinstance(item, _ONE_BLOCK))
        raise ContentError(
            f"a list of content holds {kind_of(other)} at index {index}; it may hold text, bytes, blocks"
        )
    return None


def _block(value: Any) -> Any:
    if isinstance(value, _Block):
        return value
    return Text(value) if isinstance(value, str) else _from_bytes(bytes(value))


def _from_bytes(data: bytes) -> Block:
    mime_type = sniffed(data) or _OCTETS
    if mime_type.startswith("image/"):
        return Image(data, mime_type=mime_type)
    if mime_type.startswith("audio/"):
        return Audio(data, mime_type=mime_type)
    # Bytes have no address, so they are named by their digest: the same bytes, the same URI (RFC 6920).
    digest = urlsafe_b64encode(sha256(data).digest()).rstrip(b"=").decode("ascii")
    return EmbeddedResource(ResourceContents(f"ni:///sha-256;{digest}", blob=data, mime_type=mime_type))


# --- results of tools -----------------------------------------------------------------------------


class ToolResult(_Value, frozen=True):
    """All that a tool can answer.

    Args:
        content: What the model reads: text, bytes, a block, or a list of these; default: nothing,
            or the JSON text of ``structured`` if that is given.
        structured: Data for programs; default: none. Once ``tool_result`` has checked it, it is
            held as encoded JSON (``msgspec.Raw``), so that it is encoded once.
        is_error: Whether the tool failed; the model is shown ``content`` and may try again.
        meta: The ``_meta`` object, which the model does not see; default: none.

    Raises:
        ContentError: One of them is wrong.

    Source: server/tools, "Tool Result".
    """

    content: tuple[Block, ...] = ()
    structured: Any = UNSET
    is_error: bool = False
    meta: Mapping[str, Any] | None = None

    if TYPE_CHECKING:
        # What the constructor takes is wider than what the attribute gives.
        def __init__(
            self,
            content: str | bytes | Block | Sequence[str | bytes | Block] | None = (),
            structured: Any = UNSET,
            is_error: bool = False,
            meta: Mapping[str, Any] | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        content: Any = self.content
        if content != ():
            found = () if content == [] else blocks(content)
            if found is None:
                raise ContentError(f"content of ToolResult takes {_ALLOWED}, not {kind_of(content)}; see 'structured'")
            force_setattr(self, "content", found)
        if self.meta is not None:
            force_setattr(self, "meta", check_meta(self.meta, owner="ToolResult"))


def tool_result(value: Any, *, to_json: ToJson, structured: ToJson | None = None) -> ToolResult:
    """Read what a tool returned.

    Args:
        value: Text, bytes, content blocks, a list of these, ``None``, data, or a ``ToolResult``.
        to_json: Turns data into JSON builtins.
        structured: The same, checked against the tool's output schema; all that such a tool returns
            is data, text too. Default: the tool has no output schema.

    Returns:
        A result whose ``structured`` is encoded.

    Raises:
        ContentError: The value is of a wrong kind.
        Exception: What ``to_json`` and ``structured`` raise.

    Source: server/tools, "Structured Content" and "Output Schema".
    """
    if isinstance(value, ToolResult):
        return _checked(value, to_json, structured)
    if structured is not None:
        items = value if type(value) in (list, tuple) else (value,)
        if any(isinstance(item, _Value) for item in items):
            raise ContentError(
                "a tool with an output schema returned content; it takes data, or ToolResult(content, structured=...)"
            )
        return ToolResult(structured=_encode(structured(value)))
    if isinstance(value, _ONE_BLOCK):
        return ToolResult(value)
    content = blocks(value)
    if content is not None:
        return ToolResult(content)
    _refuse_value(value, f"a tool takes {_ALLOWED}, data, or a ToolResult")
    return ToolResult(structured=_encode(to_json(value)))


def _checked(result: ToolResult, to_json: ToJson, structured: ToJson | None) -> ToolResult:
    # What failed need not fit the output schema. Source: server/tools, "Error Handling".
    bound = structured is not None and not result.is_error
    if result.structured is UNSET:
        if bound:
            raise ContentError("a tool with an output schema returned a ToolResult without 'structured'")
        return result
    convert = structured if structured is not None and bound else to_json
    return replace(result, structured=_encode(convert(result.structured)))


def _encode(value: Any) -> Raw:
    try:
        return Raw(msgspec.json.encode(value))
    except (TypeError, ValueError, RecursionError):
        raise ContentError("structured data cannot be written as JSON") from None


def _refuse_value(value: Any, allowed: str) -> None:
    if isinstance(value, _Value):
        raise ContentError(f"returned {kind_of(value)}; {allowed}")


def tool_result_wire(result: ToolResult, revision: Revision) -> dict[str, Any]:
    """Write a result as ``revision`` has it, without ``resultType``.

    ``structuredContent`` is a ``msgspec.Raw``; encode the whole with ``msgspec.json``.

    Args:
        result: As ``tool_result`` gives it.
        revision: The revision of the call.

    Source: schema, ``CallToolResult``.
    """
    content = [block.wire(revision) for block in result.content]
    wire: dict[str, Any] = {"content": content}
    if result.structured is not UNSET:
        data = result.structured
        is_object = bytes(memoryview(data)[:1]) == b"{"
        if revision.structured == "any" or (revision.structured == "object" and is_object):
            wire["structuredContent"] = data
        # Content beside an object is the author's own rendering of it. Lists and plain values need
        # their text in any case (SEP-2106): a client of the session era sees nothing else of them.
        if not content or not (is_object or _has_copy(result.content, data)):
            content.append({"type": "text", "text": str(data, "utf-8")})
    if result.is_error:
        wire["isError"] = True
    if result.meta:
        wire["_meta"] = dict(result.meta)
    return wire


def _has_copy(content: tuple[Block, ...], data: Raw) -> bool:
    return any(isinstance(block, Text) and _same_json(block.text, data) for block in content)


def _same_json(text: str, data: Raw) -> bool:
    try:
        return bytes(data) == msgspec.json.encode(msgspec.json.decode(text))
    except (msgspec.DecodeError, RecursionError):
        return False


# --- results of prompts ---------------------------------------------------------------------------


class Message(_Value, frozen=True):
    """One message of a prompt.

    Args:
        role: ``user`` or ``assistant``.
        content: Text, bytes or a content block; exactly one.

    Raises:
        ContentError: One of them is wrong.

    Source: server/prompts, "PromptMessage".
    """

    role: Role
    content: Block

    if TYPE_CHECKING:

        def __init__(self, role: Role, content: str | bytes | Block) -> None: ...

    def __post_init__(self) -> None:
        if self.role not in ("user", "assistant"):
            raise ContentError("Message: 'role' takes 'user' or 'assistant'")
        if not isinstance(self.content, _ONE_BLOCK):
            raise ContentError(f"a message takes text, bytes or one content block, not {kind_of(self.content)}")
        force_setattr(self, "content", _block(self.content))

    def wire(self, revision: Revision) -> dict[str, Any]:
        """The message as ``revision`` writes it."""
        return {"role": self.role, "content": self.content.wire(revision)}


_ONE_MESSAGE: TypeAlias = Message | str | bytes | Block


class PromptResult(_Value, frozen=True):
    """All that a prompt can answer.

    Args:
        messages: One or a list of: ``Message``; text, bytes or a content block, said by the user.
        description: What the prompt is for; default: none.
        meta: The ``_meta`` object; default: none.

    Raises:
        ContentError: One of them is wrong.

    Source: schema, ``GetPromptResult``.
    """

    messages: tuple[Message, ...]
    description: str | None = None
    meta: Mapping[str, Any] | None = None

    if TYPE_CHECKING:

        def __init__(
            self,
            messages: _ONE_MESSAGE | Sequence[_ONE_MESSAGE],
            description: str | None = None,
            meta: Mapping[str, Any] | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        given: Any = self.messages
        items = given if isinstance(given, (list, tuple)) else (given,)
        messages = tuple(item if isinstance(item, Message) else Message("user", item) for item in items)
        force_setattr(self, "messages", messages)
        if self.description is not None:
            force_setattr(self, "description", text_of(self.description, "PromptResult: 'description'"))
        if self.meta is not None:
            force_setattr(self, "meta", check_meta(self.meta, owner="PromptResult"))


def prompt_result(value: Any, *, description: str | None = None) -> PromptResult:
    """Read what a prompt returned.

    Args:
        value: A ``PromptResult``, or what its ``messages`` takes.
        description: Used if the result has none of its own; default: none.

    Raises:
        ContentError: The value is of a wrong kind.
    """
    result = value if isinstance(value, PromptResult) else PromptResult(value)
    if result.description is None and description is not None:
        return replace(result, description=description)
    return result


def prompt_result_wire(result: PromptResult, revision: Revision) -> dict[str, Any]:
    """Write a prompt's result as ``revision`` has it, without ``resultType``.

    Source: schema, ``GetPromptResult``.
    """
    wire: dict[str, Any] = {"messages": [message.wire(revision) for message in result.messages]}
    if result.description is not None:
        wire["description"] = result.description
    if result.meta:
        wire["_meta"] = dict(result.meta)
    return wire


# --- results of reads -----------------------------------------------------------------------------


def resource_contents(
    value: Any, *, uri: str, to_json: ToJson, mime_type: str | None = None
) -> tuple[ResourceContents, ...]:
    """Read what stands behind a resource.

    Args:
        value: Text, bytes, ``ResourceContents`` or a list of them; anything else is data, sent as JSON.
        uri: The URI that was read.
        to_json: Turns data into JSON builtins.
        mime_type: What the resource is declared as; default: ``text/plain``, ``application/json``,
            or what bytes begin like.

    Raises:
        ContentError: The value is of a wrong kind, ``None``, or an empty list of a resource that
            is not declared as JSON.
        Exception: What ``to_json`` raises.

    Source: server/resources, "Resource Contents" and "Error Handling" (no empty ``contents``).
    """
    if isinstance(value, ResourceContents):
        return (value,)
    if isinstance(value, str):
        return (ResourceContents(uri, text=value, mime_type=mime_type or "text/plain"),)
    if isinstance(value, _BYTES):
        data = bytes(value)
        return (ResourceContents(uri, blob=data, mime_type=mime_type or sniffed(data) or _OCTETS),)
    items = value if type(value) in (list, tuple) else (value,)
    if items and all(isinstance(item, ResourceContents) for item in items):
        return tuple(items)
    if value is None or (not items and not _is_json_type(mime_type)):
        raise ContentError(
            "a resource has no contents; raise ResourceNotFound if there is none,"
            " or declare mime_type='application/json' if an empty list is its data"
        )
    for item in items:
        _refuse_value(item, "a resource takes text, bytes, data, ResourceContents, or a list of ResourceContents")
    text = str(_encode(to_json(value)), "utf-8")
    return (ResourceContents(uri, text=text, mime_type=mime_type or "application/json"),)


def _is_json_type(mime_type: str | None) -> bool:
    essence = (mime_type or "").partition(";")[0].strip().lower()
    return essence == "application/json" or essence.endswith("+json")


def resource_contents_wire(contents: Sequence[ResourceContents], revision: Revision) -> dict[str, Any]:
    """Write what was read as ``revision`` has it, without ``resultType`` and cache hints.

    Source: schema, ``ReadResourceResult``.
    """
    return {"contents": [part.wire(revision) for part in contents]}
