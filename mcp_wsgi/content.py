"""Content blocks, and the messages and resource contents that carry them; how each revision writes them.

Rules of this file and of ``returns.py``:

* A value is checked when it is built, so a mistake shows in the function that made it. The
  ``wire`` methods and ``*_wire`` functions only choose fields; they do not fail on a built value.
* An error names types, never values, so that its text may be shown to a model.
"""

from __future__ import annotations

import os
from base64 import urlsafe_b64encode
from binascii import b2a_base64
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeAlias

import msgspec
from msgspec.structs import force_setattr

from mcp_wsgi.checks import (
    ContentError,
    check_annotations,
    check_meta,
    check_mime_type,
    check_uri_text,
    kind_of,
    text_of,
)
from mcp_wsgi.sniffing import OCTETS, SUFFIXES, sniffed

if TYPE_CHECKING:
    from mcp_wsgi.revisions import Revision

__all__ = [
    "BYTES",
    "ONE_BLOCK",
    "Audio",
    "Block",
    "Content",
    "EmbeddedResource",
    "Image",
    "Message",
    "ResourceContents",
    "ResourceLink",
    "Role",
    "Text",
    "blocks",
]

Role = Literal["user", "assistant"]
#: What raw bytes come in.
BYTES = (bytes, bytearray, memoryview)


class _HasWire(Protocol):
    def wire(self, revision: Revision) -> dict[str, Any]: ...


def _base64(data: bytes) -> str:
    return b2a_base64(data, newline=False).decode("ascii")


# --- content blocks -------------------------------------------------------------------------------


class Content(msgspec.Struct, frozen=True):
    """Whatever a function returns that is content; it is never taken for plain data."""


class _Block(Content, frozen=True, kw_only=True):
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
        if not isinstance(data, BYTES):
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


class ResourceContents(Content, frozen=True):
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
        elif isinstance(self.blob, BYTES):
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

#: What is one block, or becomes one.
ONE_BLOCK: tuple[type[Any], ...] = (str, *BYTES, _Block)


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
    if isinstance(value, ONE_BLOCK):
        return (_block(value),)
    # Exact types: a named tuple is data.
    if type(value) not in (list, tuple) or not value:
        return None
    if all(isinstance(item, ONE_BLOCK) for item in value):
        return tuple(_block(item) for item in value)
    if any(isinstance(item, Content) for item in value):
        index, other = next((i, item) for i, item in enumerate(value) if not isinstance(item, ONE_BLOCK))
        raise ContentError(
            f"a list of content holds {kind_of(other)} at index {index}; it may hold text, bytes, blocks"
        )
    return None


def _block(value: Any) -> Any:
    if isinstance(value, _Block):
        return value
    return Text(value) if isinstance(value, str) else _from_bytes(bytes(value))


def _from_bytes(data: bytes) -> Block:
    mime_type = sniffed(data) or OCTETS
    if mime_type.startswith("image/"):
        return Image(data, mime_type=mime_type)
    if mime_type.startswith("audio/"):
        return Audio(data, mime_type=mime_type)
    # Bytes have no address, so they are named by their digest: the same bytes, the same URI (RFC 6920).
    digest = urlsafe_b64encode(sha256(data).digest()).rstrip(b"=").decode("ascii")
    return EmbeddedResource(ResourceContents(f"ni:///sha-256;{digest}", blob=data, mime_type=mime_type))


# --- messages -------------------------------------------------------------------------------------


class Message(Content, frozen=True):
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
        if not isinstance(self.content, ONE_BLOCK):
            raise ContentError(f"a message takes text, bytes or one content block, not {kind_of(self.content)}")
        force_setattr(self, "content", _block(self.content))

    def wire(self, revision: Revision) -> dict[str, Any]:
        """The message as ``revision`` writes it."""
        return {"role": self.role, "content": self.content.wire(revision)}
