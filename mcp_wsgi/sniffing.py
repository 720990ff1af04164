"""What kind of data bytes hold, by how they begin or by the name of their file."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["OCTETS", "SUFFIXES", "sniffed"]

#: The media type of bytes that nothing more is known of. Source: RFC 2046, section 4.5.1.
OCTETS = "application/octet-stream"

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
#: Media types by file suffix. A table of our own: the standard library's depends on the machine's files.
SUFFIXES: Mapping[str, str] = {
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


def sniffed(data: bytes) -> str | None:
    """The media type that the first bytes tell; ``None`` if they tell none."""
    return next((mime_type for magic, mime_type in _MAGIC if magic.match(data)), None)
