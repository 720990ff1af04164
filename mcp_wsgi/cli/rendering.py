"""What a server lists and answers, as text for people."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mcp_wsgi.http_client import BodyError, parse_json
from mcp_wsgi.results import Listing, PromptReply, ToolReply

__all__ = ["listing_text", "log_text", "pretty", "progress_text", "prompt_text", "signature", "tool_text", "type_text"]

_TITLES = {
    "tools": "Tools",
    "resources": "Resources",
    "resource_templates": "Resource templates",
    "prompts": "Prompts",
}


def pretty(value: Any) -> str:
    """A JSON value on several lines."""
    return json.dumps(value, indent=2, ensure_ascii=False)


# --- lists ----------------------------------------------------------------------------------------


def listing_text(kind: str, listing: Listing, width: int = 100) -> str:
    """A list with its title: a line for each thing, and below it the first paragraph of its description.

    Args:
        kind: ``tools``, ``resources``, ``resource_templates`` or ``prompts``.
        listing: The things.
        width: Columns of the terminal.
    """
    blocks = [_entry(_LABELS[kind](item), item.get("description"), width) for item in listing]
    return "\n".join([_TITLES[kind], *(blocks or ["  none"])])


def _entry(label: str, description: str | None, width: int) -> str:
    paragraph = " ".join((description or "").strip().partition("\n\n")[0].split())
    indent = " " * 6
    return "\n".join([f"  {label}", *textwrap.wrap(paragraph, width, initial_indent=indent, subsequent_indent=indent)])


def signature(tool: Mapping[str, Any]) -> str:
    """A tool as a function would be written: ``add(a: integer, b: integer = 2) -> integer``."""
    schema = tool["inputSchema"]
    required = schema.get("required", [])
    parameters = ", ".join(
        _parameter(name, inner, name in required) for name, inner in schema.get("properties", {}).items()
    )
    output = tool.get("outputSchema")
    return f"{tool['name']}({parameters})" + (f" -> {type_text(output)}" if output else "")


def _parameter(name: str, schema: Any, required: bool) -> str:
    if isinstance(schema, Mapping) and "default" in schema:
        return f"{name}: {type_text(schema)} = {json.dumps(schema['default'], ensure_ascii=False)}"
    return f"{name}{'' if required else '?'}: {type_text(schema)}"


def type_text(schema: Any) -> str:
    """A schema in few words, such as ``string``, ``array of integer``, ``"a" | "b"``."""
    if not isinstance(schema, Mapping):
        return "any"
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "const" in schema or "enum" in schema:
        values = schema.get("enum", [schema.get("const")])
        return " | ".join(json.dumps(value, ensure_ascii=False) for value in values)
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            return " | ".join(dict.fromkeys(type_text(part) for part in schema[keyword]))
    kinds = schema.get("type", "any")
    if kinds == "array" and "items" in schema:
        return f"array of {type_text(schema['items'])}"
    if kinds == "string" and "format" in schema:
        return str(schema["format"])
    return " | ".join(kinds) if isinstance(kinds, list) else str(kinds)


def _resource(item: Mapping[str, Any]) -> str:
    words = [item["name"], *([item["mimeType"]] if "mimeType" in item else [])]
    return f"{item.get('uri') or item['uriTemplate']}  ({', '.join(words)})"


def _prompt(item: Mapping[str, Any]) -> str:
    arguments = item.get("arguments", [])
    return f"{item['name']}({', '.join(a['name'] + ('' if a.get('required') else '?') for a in arguments)})"


_LABELS = {"tools": signature, "resources": _resource, "resource_templates": _resource, "prompts": _prompt}


# --- answers --------------------------------------------------------------------------------------


def tool_text(reply: ToolReply) -> str:
    """A tool's result: its content, and its structured content unless that says the same."""
    parts = list(_blocks(reply.content))
    if reply.structured is not None:
        if _says(reply.text, reply.structured):
            parts = [pretty(reply.structured)]
        else:
            parts.append(pretty(reply.structured))
    return "\n".join(parts)


def _says(text: str, structured: Any) -> bool:
    try:
        return bool(parse_json(text) == structured)
    except BodyError:
        return False


def prompt_text(reply: PromptReply) -> str:
    """A prompt's messages, each with who says it."""
    return "\n".join(
        f"{message['role']}: {text}" for message in reply.messages for text in _blocks([message["content"]])
    )


def progress_text(progress: float, total: float | None, message: str | None) -> str:
    """A progress notification: ``progress 3/10: reading``."""
    share = f"{progress:g}" if total is None else f"{progress:g}/{total:g}"
    return f"progress {share}: {message}" if message else f"progress {share}"


def log_text(params: Mapping[str, Any]) -> str:
    """A log message: ``[warning] disk full``."""
    data = params["data"]
    return f"[{params['level']}] {data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)}"


def _blocks(blocks: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for block in blocks:
        kind = block["type"]
        if kind == "text":
            yield block["text"]
        elif kind == "resource":
            resource = block["resource"]
            yield resource.get("text") or f"[{resource['uri']}, {resource.get('mimeType', 'binary')}]"
        elif kind == "resource_link":
            yield f"[{block['name']}: {block['uri']}]"
        else:
            size = len(block.get("data", "").rstrip("=")) * 3 // 4  # Base64: four characters for three bytes
            yield f"[{kind}, {block.get('mimeType', 'unknown')}, {size} bytes]"
