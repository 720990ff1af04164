"""The protocol revisions as data: what each one has, renames and forbids.

A difference between two revisions is a row here. Code elsewhere asks a ``Revision`` for a value
(``revision.not_found_code``, ``revision.shape("Tool", fields)``) and never compares names.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

import msgspec

__all__ = [
    "DEFAULT_LEGACY",
    "LEGACY",
    "META_CLIENT_CAPABILITIES",
    "META_CLIENT_INFO",
    "META_LOG_LEVEL",
    "META_PROTOCOL_VERSION",
    "META_SERVER_INFO",
    "META_SUBSCRIPTION_ID",
    "MODERN",
    "REVISIONS",
    "SUPPORTED",
    "Revision",
    "negotiate",
]

Era = Literal["legacy", "modern"]
Structured = Literal["none", "object", "any"]

# Keys of a modern request's or result's _meta. Source: basic/index, "_meta".
META_PROTOCOL_VERSION = "io.modelcontextprotocol/protocolVersion"
META_CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
META_CLIENT_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
META_LOG_LEVEL = "io.modelcontextprotocol/logLevel"
META_SERVER_INFO = "io.modelcontextprotocol/serverInfo"
META_SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId"


class Revision(msgspec.Struct, frozen=True, kw_only=True):
    """One dated revision of the protocol.

    Attributes:
        name: The date that names it on the wire.
        era: ``legacy`` (``initialize``, sessions) or ``modern`` (every request stands alone).
        fields: Wire type -> the fields that it has. A type that is missing does not exist.
        content_types: The ``type`` values that a content block may have.
        structured: What ``structuredContent`` may be: nothing at all, an object, any JSON value.
        not_found_code: JSON-RPC error code of an unknown resource.
        batches: Whether a body may be an array of messages.
        result_type: Whether a result carries ``resultType``.
        cache_hints: Whether cacheable results carry ``ttlMs`` and ``cacheScope``.
        server_info_in_meta: Whether each result's ``_meta`` names the server.
        listens: Whether change notices travel on a stream that ``subscriptions/listen`` opens.
        polls: Whether a client comes back by itself when a connection ends that had an event id.
        elicitation: Whether a user can be asked to fill in a form.
        elicitation_modes: Whether a question to the user has a mode, and so may be a page to open.
        elicitation_ids: Whether such a page has an id.
        sampling_tools: Whether a model that is sampled may have tools, and messages several blocks.
        asks_in_results: Whether a question is a result that the client answers with a new request;
            else it is a request of the server's own.
        completion_context: Whether ``completion/complete`` carries the arguments resolved so far.
    """

    name: str
    era: Era
    fields: Mapping[str, frozenset[str]]
    content_types: frozenset[str]
    structured: Structured
    not_found_code: int
    batches: bool
    result_type: bool
    cache_hints: bool
    server_info_in_meta: bool
    listens: bool
    polls: bool
    elicitation: bool
    elicitation_modes: bool
    elicitation_ids: bool
    sampling_tools: bool
    asks_in_results: bool
    completion_context: bool

    @property
    def modern(self) -> bool:
        """Whether every request stands alone."""
        return self.era == "modern"

    def shape(self, kind: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Keep the fields that a wire type has in this revision.

        Args:
            kind: Name of the wire type, such as ``Tool``.
            fields: Wire field -> value; ``None`` stands for "not set" and is left out.

        Raises:
            KeyError: The type does not exist in this revision.
        """
        known = self.fields[kind]
        return {name: value for name, value in fields.items() if value is not None and name in known}


# The fields of each wire type in the oldest revision, then what each later one adds or drops.
# Source: schema.ts of each revision.
_FIELDS_2025_03_26: dict[str, str] = {
    "Annotations": "audience priority",
    "AudioContent": "type data mimeType annotations",
    "BlobResourceContents": "uri mimeType blob",
    "EmbeddedResource": "type resource annotations",
    "ImageContent": "type data mimeType annotations",
    "Implementation": "name version",
    "Prompt": "name description arguments",
    "PromptArgument": "name description required",
    "Resource": "uri name description mimeType annotations size",
    "ResourceTemplate": "uriTemplate name description mimeType annotations",
    "TextContent": "type text annotations",
    "TextResourceContents": "uri mimeType text",
    "Tool": "name description inputSchema annotations",
    "ToolAnnotations": "title readOnlyHint destructiveHint idempotentHint openWorldHint",
}
_ADDED_2025_06_18: dict[str, str] = {
    "Annotations": "lastModified",
    "AudioContent": "_meta",
    "BlobResourceContents": "_meta",
    "BooleanSchema": "type title description default",
    "EmbeddedResource": "_meta",
    "ImageContent": "_meta",
    "Implementation": "title",
    # Named ``EnumSchema`` in that revision.
    "LegacyTitledEnumSchema": "type title description enum enumNames",
    "NumberSchema": "type title description minimum maximum",
    "Prompt": "title _meta",
    "PromptArgument": "title",
    "Resource": "title _meta",
    "ResourceLink": "type uri name title description mimeType annotations size _meta",
    "ResourceTemplate": "title _meta",
    "StringSchema": "type title description minLength maxLength format",
    "TextContent": "_meta",
    "TextResourceContents": "_meta",
    "Tool": "title outputSchema _meta",
}
_ADDED_2025_11_25: dict[str, str] = {
    "Icon": "src mimeType sizes theme",
    "Implementation": "description websiteUrl icons",
    "LegacyTitledEnumSchema": "default",
    "NumberSchema": "default",
    "Prompt": "icons",
    "Resource": "icons",
    "ResourceLink": "icons",
    "ResourceTemplate": "icons",
    "StringSchema": "default",
    "TitledMultiSelectEnumSchema": "type title description items minItems maxItems default",
    "TitledSingleSelectEnumSchema": "type title description oneOf default",
    "Tool": "icons",
    "UntitledMultiSelectEnumSchema": "type title description items minItems maxItems default",
    "UntitledSingleSelectEnumSchema": "type title description enum default",
}


def _with(base: Mapping[str, frozenset[str]], added: Mapping[str, str]) -> Mapping[str, frozenset[str]]:
    merged = dict(base)
    for kind, names in added.items():
        merged[kind] = merged.get(kind, frozenset()) | frozenset(names.split())
    return MappingProxyType(merged)


_fields_03 = _with({}, _FIELDS_2025_03_26)
_fields_06 = _with(_fields_03, _ADDED_2025_06_18)
_fields_11 = _with(_fields_06, _ADDED_2025_11_25)

_CONTENT = frozenset({"text", "image", "audio", "resource"})
_CONTENT_WITH_LINKS = _CONTENT | {"resource_link"}

_ROWS = (
    Revision(
        name="2026-07-28",
        era="modern",
        fields=_fields_11,
        content_types=_CONTENT_WITH_LINKS,
        structured="any",
        not_found_code=-32602,
        batches=False,
        result_type=True,
        cache_hints=True,
        server_info_in_meta=True,
        listens=True,
        polls=False,
        elicitation=True,
        elicitation_modes=True,
        elicitation_ids=False,
        sampling_tools=True,
        asks_in_results=True,
        completion_context=True,
    ),
    Revision(
        name="2025-11-25",
        era="legacy",
        fields=_fields_11,
        content_types=_CONTENT_WITH_LINKS,
        structured="object",
        not_found_code=-32002,
        batches=False,
        result_type=False,
        cache_hints=False,
        server_info_in_meta=False,
        listens=False,
        polls=True,
        elicitation=True,
        elicitation_modes=True,
        elicitation_ids=True,
        sampling_tools=True,
        asks_in_results=False,
        completion_context=True,
    ),
    Revision(
        name="2025-06-18",
        era="legacy",
        fields=_fields_06,
        content_types=_CONTENT_WITH_LINKS,
        structured="object",
        not_found_code=-32002,
        batches=False,
        result_type=False,
        cache_hints=False,
        server_info_in_meta=False,
        listens=False,
        polls=False,
        elicitation=True,
        elicitation_modes=False,
        elicitation_ids=False,
        sampling_tools=False,
        asks_in_results=False,
        completion_context=True,
    ),
    Revision(
        name="2025-03-26",
        era="legacy",
        fields=_fields_03,
        content_types=_CONTENT,
        structured="none",
        not_found_code=-32002,
        batches=True,
        result_type=False,
        cache_hints=False,
        server_info_in_meta=False,
        listens=False,
        polls=False,
        elicitation=False,
        elicitation_modes=False,
        elicitation_ids=False,
        sampling_tools=False,
        asks_in_results=False,
        completion_context=False,
    ),
)

#: Every revision served, by name, newest first.
REVISIONS: Mapping[str, Revision] = MappingProxyType({row.name: row for row in _ROWS})
#: The names of all revisions served, newest first; what ``supportedVersions`` lists.
SUPPORTED: tuple[str, ...] = tuple(REVISIONS)
#: The revisions in which every request stands alone, newest first.
MODERN: tuple[Revision, ...] = tuple(row for row in _ROWS if row.modern)
#: The revisions with ``initialize``, newest first.
LEGACY: tuple[Revision, ...] = tuple(row for row in _ROWS if not row.modern)
#: What a request of the session era is read as that names no revision.
#: Source: 2025-11-25 basic/transports, "Protocol Version Header".
DEFAULT_LEGACY: Revision = REVISIONS["2025-03-26"]


def negotiate(requested: object) -> Revision:
    """Choose the revision that answers an ``initialize``.

    Args:
        requested: The client's ``protocolVersion``.

    Returns:
        The client's revision if it is served in the session era, else the newest that is.

    Source: 2025-11-25 basic/lifecycle, "Version Negotiation".
    """
    revision = REVISIONS.get(requested) if isinstance(requested, str) else None
    return revision if revision is not None and not revision.modern else LEGACY[0]
