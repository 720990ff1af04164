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
import re
from base64 import urlsafe_b64encode
from binascii import b2a_base64
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeAlias

import msgspec
from msgspec import UNSET, Raw
from msgspec.structs import force_setattr, replace

from mcp_wsgi.jsonrpc import dumps

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


class ContentError(Exception):
    """A handler built or returned something that is no content; the text says what is allowed."""


class _HasWire(Protocol):
    def wire(self, revision: Revision) -> dict[str, Any]: ...


# --- checks of parts ------------------------------------------------------------------------------

_LABEL = r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_META_KEY = re.compile(rf"(?:((?:{_LABEL}\.)*{_LABEL})/)?([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)")
_RESERVED_LABELS = frozenset({"modelcontextprotocol", "mcp"})
# Source: W3C Trace Context, "traceparent Header Field Values".
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_ISO_8601 = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?")
# A scheme and the characters of RFC 3986; which of them may stand where is ``uris.check_uri``'s.
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]*")
_MIME_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+(?:[ \t]*;.*)?")

# Field -> what its value must satisfy, and how that is said.
_ANNOTATIONS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "audience": (
        lambda value: isinstance(value, (list, tuple)) and all(role in ("user", "assistant") for role in value),
        "a list of 'user' and 'assistant'",
    ),
    "priority": (
        lambda value: isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1,
        "a number from 0 to 1",
    ),
    "lastModified": (
        lambda value: isinstance(value, str) and _ISO_8601.fullmatch(value) is not None,
        "an ISO 8601 date or time, such as '2025-01-12T15:00:58Z'",
    ),
}


def check_annotations(
    annotations: Mapping[str, Any], *, owner: str = "content", error: type[Exception] = ContentError
) -> None:
    """Refuse annotations that no revision knows.

    Args:
        annotations: ``audience``, ``priority`` and ``lastModified``, as on the wire.
        owner: Who has them, for the error's text.
        error: What to raise.

    Raises:
        ContentError: Or ``error``: an unknown field or a wrong value.

    Source: server/resources, "Annotations".
    """
    if not isinstance(annotations, Mapping):
        raise error(f"annotations of {owner}: take a dict, not {_kind(annotations)}")
    for name, value in annotations.items():
        if name not in _ANNOTATIONS:
            raise error(f"annotations of {owner}: unknown field {name!r}; there are {', '.join(_ANNOTATIONS)}")
        fits, wanted = _ANNOTATIONS[name]
        if not fits(value):
            raise error(f"annotations of {owner}: {name!r} takes {wanted}")


def check_meta(meta: Mapping[str, Any], *, owner: str = "content", error: type[Exception] = ContentError) -> None:
    """Refuse a ``_meta`` object that has no right to its keys, or is no JSON.

    Prefixes that any revision reserves for MCP are refused in all, since one value serves them all.

    Args:
        meta: The ``_meta`` object.
        owner: Who has it, for the error's text.
        error: What to raise.

    Raises:
        ContentError: Or ``error``: a malformed or reserved key, or a value that is no JSON.

    Source: basic/index, "_meta"; 2025-06-18 basic/index, "_meta".
    """
    if not isinstance(meta, Mapping):
        raise error(f"meta of {owner}: takes a dict, not {_kind(meta)}")
    for key, value in meta.items():
        problem = _meta_key_problem(key) or _trace_problem(key, value)
        if problem:
            raise error(f"meta of {owner}: key {key!r} {problem}")
    try:
        dumps(dict(meta))
    except (TypeError, ValueError, RecursionError):
        raise error(f"meta of {owner}: takes JSON: text, finite numbers, booleans, None, lists, dicts") from None


def _meta_key_problem(key: Any) -> str | None:
    match = _META_KEY.fullmatch(key) if isinstance(key, str) else None
    if match is None:
        return "is malformed; write 'com.example/name' or 'name', of letters, digits and inner '-', '_', '.'"
    labels = match[1].split(".") if match[1] else []
    # The session era reserves such a label anywhere but at the end, the modern era in second place.
    if not _RESERVED_LABELS.isdisjoint([*labels[:-1], *labels[1:2]]):
        return "has a prefix reserved for MCP; use a domain of your own"
    return None


def _trace_problem(key: str, value: Any) -> str | None:
    if key == "traceparent" and not (isinstance(value, str) and _TRACEPARENT.fullmatch(value)):
        return "takes a W3C Trace Context value"
    if key in ("tracestate", "baggage") and not isinstance(value, str):
        return "takes text in its W3C format"
    return None


def _text(value: Any, owner: str) -> str:
    if not isinstance(value, str):
        raise ContentError(f"{owner} takes text, not {_kind(value)}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ContentError(f"{owner}: the text holds a lone surrogate, which UTF-8 cannot write") from None
    # A plain str: the value of a str Enum, not its name.
    return str.__str__(value)


def _check_uri(value: Any, owner: str) -> None:
    if not isinstance(value, str) or not _URI.fullmatch(value):
        raise ContentError(f"{owner}: 'uri' takes a URI with a scheme (RFC 3986), other characters percent-encoded")


def _check_mime_type(value: Any, owner: str) -> None:
    if value is not None and not (isinstance(value, str) and _MIME_TYPE.fullmatch(value)):
        raise ContentError(f"{owner}: 'mime_type' takes text such as 'image/png'")


def _kind(value: Any) -> str:
    return f"a value of type {type(value).__qualname__}"


def _base64(data: bytes) -> str:
    return b2a_base64(data, newline=False).decode("ascii")


# --- kinds of bytes -------------------------------------------------------------------------------

# How the usual formats begin.
_MAGIC: tuple[tuple[re.Pattern[bytes], str], ...] = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"GIF8[79]a"), "image/gif"),
    (re.compile(rb"RIFF.{4}WEBP", re.DOTALL), "image/webp"),
    (re.compile(rb"RIFF.{4}WAVE", re.DOTALL), "audio/wav"),
    (re.compile(rb"OggS"), "audio/ogg"),
    (re.compile(rb"fLaC"), "audio/flac"),
    # With an ID3 tag, or straight with a frame of MPEG 1, 2 or 2.5, layer III.
    (re.compile(rb"ID3|\xff[\xfa\xfb\xf2\xf3\xe2\xe3]"), "audio/mpeg"),
    (re.compile(rb"%PDF-"), "application/pdf"),
)
# A table of our own: the standard library's depends on the machine's files.
_SUFFIXES: Mapping[str, str] = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".svg": "image/svg+xml",
    ".avif": "image/avif",
    ".bmp": "image/bmp",
    ".tif": "image/tiff",
    ".tiff": "image/tiff",
    ".wav": "audio/wav",
    ".mp3": "audio/mpeg",
    ".ogg": "audio/ogg",
    ".oga": "audio/ogg",
    ".opus": "audio/ogg",
    ".flac": "audio/flac",
    ".m4a": "audio/mp4",
    ".aac": "audio/aac",
}


def _sniff(data: bytes) -> str | None:
    return next((mime_type for magic, mime_type in _MAGIC if magic.match(data)), None)


# --- content blocks -------------------------------------------------------------------------------


class _Value(msgspec.Struct, frozen=True):
    """Whatever a handler may return that is of this file; it is never taken for plain data."""


class _Block(_Value, frozen=True, kw_only=True):
    """What all content blocks share."""

    annotations: Mapping[str, Any] | None = None
    meta: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.annotations is not None:
            check_annotations(self.annotations, owner=type(self).__name__)
        if self.meta is not None:
            check_meta(self.meta, owner=type(self).__name__)

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
            force_setattr(self, "text", _text(self.text, "Text"))
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
            raise ContentError(f"{owner} takes raw bytes, not {_kind(data)}; Base64 is added on the wire")
        data = bytes(data)
        mime_type = self.mime_type or _sniff(data) or (_SUFFIXES.get(path.suffix.lower()) if path else None)
        if mime_type is None:
            raise ContentError(f"{owner}: the format is not recognised; give mime_type, such as '{self.kind}/...'")
        _check_mime_type(mime_type, owner)
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
        _check_uri(self.uri, "ResourceLink")
        for name in ("name", "title", "description"):
            value = getattr(self, name)
            if value is not None or name == "name":
                force_setattr(self, name, _text(value, f"ResourceLink: {name!r}"))
        _check_mime_type(self.mime_type, "ResourceLink")
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
        _check_uri(self.uri, "ResourceContents")
        if (self.text is None) == (self.blob is None):
            raise ContentError("ResourceContents takes either text or blob")
        if self.text is not None:
            force_setattr(self, "text", _text(self.text, "ResourceContents: 'text'"))
        elif isinstance(self.blob, (bytes, bytearray, memoryview)):
            force_setattr(self, "blob", bytes(self.blob))
        else:
            raise ContentError(f"ResourceContents: 'blob' takes raw bytes, not {_kind(self.blob)}")
        _check_mime_type(self.mime_type, "ResourceContents")
        if self.meta is not None:
            check_meta(self.meta, owner="ResourceContents")

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
            raise ContentError(f"EmbeddedResource takes ResourceContents, not {_kind(self.resource)}")
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
        raise ContentError(f"a list of content holds {_kind(other)} at index {index}; it may hold text, bytes, blocks")
    return None


def _block(value: Any) -> Any:
    if isinstance(value, _Block):
        return value
    return Text(value) if isinstance(value, str) else _from_bytes(bytes(value))


def _from_bytes(data: bytes) -> Block:
    mime_type = _sniff(data) or _OCTETS
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
                raise ContentError(f"content of ToolResult takes {_ALLOWED}, not {_kind(content)}; see 'structured'")
            force_setattr(self, "content", found)
        if self.meta is not None:
            check_meta(self.meta, owner="ToolResult")


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
        raise ContentError(f"returned {_kind(value)}; {allowed}")


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
            raise ContentError(f"a message takes text, bytes or one content block, not {_kind(self.content)}")
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
            force_setattr(self, "description", _text(self.description, "PromptResult: 'description'"))
        if self.meta is not None:
            check_meta(self.meta, owner="PromptResult")


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
        return (ResourceContents(uri, blob=data, mime_type=mime_type or _sniff(data) or _OCTETS),)
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
