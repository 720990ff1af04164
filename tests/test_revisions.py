from __future__ import annotations

import importlib
from typing import Any

import msgspec
import pytest
from pydantic import BaseModel

from mcp_wsgi.revisions import DEFAULT_LEGACY, LEGACY, MODERN, REVISIONS, SUPPORTED, Revision, negotiate

NAMES = ("2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26")

# The official package has wire types for the two newest revisions.
OFFICIAL = {"2026-07-28": "mcp_types._v2026_07_28", "2025-11-25": "mcp_types._v2025_11_25"}

# Tasks (2025-11-25) are not served, so a tool says nothing about them.
NOT_SERVED = {("2025-11-25", "Tool"): {"execution"}}

# Copied by hand from the published schema.ts of each revision.
HAND_MADE: dict[str, dict[str, set[str]]] = {
    "2025-03-26": {
        "Annotations": {"audience", "priority"},
        "AudioContent": {"type", "data", "mimeType", "annotations"},
        "BlobResourceContents": {"uri", "mimeType", "blob"},
        "EmbeddedResource": {"type", "resource", "annotations"},
        "ImageContent": {"type", "data", "mimeType", "annotations"},
        "Implementation": {"name", "version"},
        "Prompt": {"name", "description", "arguments"},
        "PromptArgument": {"name", "description", "required"},
        "Resource": {"uri", "name", "description", "mimeType", "annotations", "size"},
        "ResourceTemplate": {"uriTemplate", "name", "description", "mimeType", "annotations"},
        "TextContent": {"type", "text", "annotations"},
        "TextResourceContents": {"uri", "mimeType", "text"},
        "Tool": {"name", "description", "inputSchema", "annotations"},
        "ToolAnnotations": {"title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"},
    },
    "2025-06-18": {
        "Annotations": {"audience", "priority", "lastModified"},
        "AudioContent": {"type", "data", "mimeType", "annotations", "_meta"},
        "BlobResourceContents": {"uri", "mimeType", "blob", "_meta"},
        "BooleanSchema": {"type", "title", "description", "default"},
        "EmbeddedResource": {"type", "resource", "annotations", "_meta"},
        "ImageContent": {"type", "data", "mimeType", "annotations", "_meta"},
        "Implementation": {"name", "title", "version"},
        # The published name is EnumSchema.
        "LegacyTitledEnumSchema": {"type", "title", "description", "enum", "enumNames"},
        "NumberSchema": {"type", "title", "description", "minimum", "maximum"},
        "Prompt": {"name", "title", "description", "arguments", "_meta"},
        "PromptArgument": {"name", "title", "description", "required"},
        "Resource": {"uri", "name", "title", "description", "mimeType", "annotations", "size", "_meta"},
        "ResourceLink": {"type", "uri", "name", "title", "description", "mimeType", "annotations", "size", "_meta"},
        "ResourceTemplate": {"uriTemplate", "name", "title", "description", "mimeType", "annotations", "_meta"},
        "StringSchema": {"type", "title", "description", "minLength", "maxLength", "format"},
        "TextContent": {"type", "text", "annotations", "_meta"},
        "TextResourceContents": {"uri", "mimeType", "text", "_meta"},
        "Tool": {"name", "title", "description", "inputSchema", "outputSchema", "annotations", "_meta"},
        "ToolAnnotations": {"title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"},
    },
}


def official_fields(revision: str, kind: str) -> set[str]:
    model: type[BaseModel] = getattr(importlib.import_module(OFFICIAL[revision]), kind)
    return {field.alias or name for name, field in model.model_fields.items()}


def test_newest_first_and_nothing_else() -> None:
    assert SUPPORTED == tuple(REVISIONS) == NAMES
    assert [r.name for r in MODERN] == ["2026-07-28"]
    assert [r.name for r in LEGACY] == ["2025-11-25", "2025-06-18", "2025-03-26"]


@pytest.mark.parametrize("name", OFFICIAL)
def test_fields_equal_the_official_types(name: str) -> None:
    """DUAL-10: every payload is shaped for the request's revision."""
    ours = {kind: set(fields) for kind, fields in REVISIONS[name].fields.items()}
    official = {kind: official_fields(name, kind) - NOT_SERVED.get((name, kind), set()) for kind in ours}
    assert ours == official


@pytest.mark.parametrize("name", HAND_MADE)
def test_fields_equal_the_published_schema(name: str) -> None:
    """DUAL-10, for the two revisions that the official package has no wire types of."""
    assert {kind: set(fields) for kind, fields in REVISIONS[name].fields.items()} == HAND_MADE[name]


@pytest.mark.parametrize("name", OFFICIAL)
def test_every_content_block_of_the_official_union_is_known(name: str) -> None:
    union = importlib.import_module(OFFICIAL[name]).ContentBlock
    members = getattr(union, "__value__", union).__args__
    assert {member.model_fields["type"].annotation.__args__[0] for member in members} == REVISIONS[name].content_types


def test_the_oldest_revision_has_no_links() -> None:
    """T25-TOOL-04."""
    assert REVISIONS["2025-03-26"].content_types == {"text", "image", "audio", "resource"}
    assert REVISIONS["2025-06-18"].content_types == {"text", "image", "audio", "resource", "resource_link"}


@pytest.mark.parametrize(
    ("attribute", "values"),
    [
        ("era", ("modern", "legacy", "legacy", "legacy")),
        ("modern", (True, False, False, False)),
        # T25-TOOL-03, T25-TOOL-06
        ("structured", ("any", "object", "object", "none")),
        # S26-RES-03, T25-RES-02
        ("not_found_code", (-32602, -32002, -32002, -32002)),
        # T25-BASE-06, T25-BASE-07
        ("batches", (False, False, False, True)),
        # S26-BASE-04, S26-CACHE-01, S26-BASE-21
        ("result_type", (True, False, False, False)),
        ("cache_hints", (True, False, False, False)),
        ("server_info_in_meta", (True, False, False, False)),
        # S26-SUB-12
        ("listens", (True, False, False, False)),
        # T25-COMP-01
        ("completion_context", (True, True, True, False)),
    ],
)
def test_differences_between_revisions(attribute: str, values: tuple[Any, ...]) -> None:
    assert tuple(getattr(REVISIONS[name], attribute) for name in NAMES) == values


@pytest.mark.parametrize("name", [r.name for r in LEGACY])
def test_initialize_keeps_the_clients_version_if_it_is_served(name: str) -> None:
    """T25-LIFE-02."""
    assert negotiate(name) is REVISIONS[name]


@pytest.mark.parametrize(
    "requested", ["2024-11-05", "2099-01-01", "", "2025-11-25 ", None, 7, ["2025-06-18"], {}, True]
)
def test_initialize_offers_the_newest_session_revision_otherwise(requested: object) -> None:
    """T25-LIFE-02."""
    assert negotiate(requested).name == "2025-11-25"


def test_initialize_never_agrees_to_the_modern_revision() -> None:
    """DUAL-04."""
    assert negotiate("2026-07-28").name == "2025-11-25"


def test_a_request_without_a_version_is_of_the_oldest_revision() -> None:
    """T25-HTTP-19."""
    assert DEFAULT_LEGACY.name == "2025-03-26"


def test_shape_keeps_what_the_revision_has_and_what_is_set() -> None:
    fields: dict[str, object] = {"name": "add", "title": "Add", "description": None, "icons": [], "execution": {}}
    assert REVISIONS["2025-03-26"].shape("Tool", fields) == {"name": "add"}
    assert REVISIONS["2025-06-18"].shape("Tool", fields) == {"name": "add", "title": "Add"}
    assert REVISIONS["2025-11-25"].shape("Tool", fields) == {"name": "add", "title": "Add", "icons": []}


def test_shape_keeps_false_zero_and_empty() -> None:
    values = {"priority": 0, "audience": []}
    assert REVISIONS["2025-11-25"].shape("Annotations", values) == values


def test_shape_refuses_a_type_that_the_revision_lacks() -> None:
    with pytest.raises(KeyError, match="ResourceLink"):
        REVISIONS["2025-03-26"].shape("ResourceLink", {"uri": "a:b"})


def test_tables_cannot_be_edited() -> None:
    row: Revision = REVISIONS["2025-11-25"]
    with pytest.raises(TypeError):
        REVISIONS["x"] = row  # type: ignore[index]
    with pytest.raises(TypeError):
        row.fields["Tool"] = frozenset()  # type: ignore[index]
    with pytest.raises(AttributeError):
        row.batches = True  # type: ignore[misc]
    assert isinstance(row, msgspec.Struct)
