"""What ``KEY=VALUE`` words on a command line mean: a tool's arguments, a prompt's, options, header fields."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

__all__ = [
    "UsageError",
    "admits_string",
    "header_fields",
    "is_text",
    "json_object",
    "options",
    "strings",
    "tool_arguments",
]


class UsageError(Exception):
    """The command line is wrong; the text says where."""


def tool_arguments(words: Iterable[str], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Read the arguments of a tool.

    ``key=value`` is read by the schema of the argument: as a string where it may be one, else as
    JSON. ``key:=value`` is JSON whatever the schema. A value ``@path`` is the content of a file.

    Args:
        words: Words of the command line.
        schema: The tool's input schema.

    Raises:
        UsageError: A word that is no such pair or no UTF-8, a key given twice, broken JSON, an unreadable file.
    """
    properties = schema.get("properties", {})
    return {
        key: _json(value, key) if explicit else _fitting(value, properties.get(key, True), schema)
        for key, value, explicit in _pairs(words)
    }


def strings(words: Iterable[str]) -> dict[str, str]:
    """Read ``key=value`` pairs as they stand; ``@path`` is the content of a file. Raises ``UsageError``."""
    return {f"{key}:" if explicit else key: value for key, value, explicit in _pairs(words)}


def options(words: Iterable[str]) -> dict[str, Any]:
    """Read ``NAME=VALUE`` pairs; a value that is JSON is that, any other a string. Raises ``UsageError``."""
    return {
        key.replace("-", "_"): _json(value, key) if explicit else _fitting(value, False, {})
        for key, value, explicit in _pairs(words)
    }


def header_fields(words: Iterable[str]) -> dict[str, str]:
    """Read ``Name: value`` words. Raises ``UsageError``."""
    fields = {}
    for word in words:
        name, colon, value = word.partition(":")
        if not colon or not name.strip():
            raise UsageError(f"{word!r} is no header; write 'Name: value'")
        _check_text(name, f"the name {name!r}")
        _check_text(value, f"header {name.strip()}")
        fields[name.strip()] = value.strip()
    return fields


def json_object(text: str) -> dict[str, Any]:
    """Read a JSON object, out of the file if the text is ``@path``. Raises ``UsageError``."""
    value = _json(_content(text, "--json"), "--json")
    if not isinstance(value, dict):
        raise UsageError("--json takes a JSON object, such as '{\"name\": 1}'")
    return value


def is_text(word: str) -> bool:
    """Whether a word of the command line was UTF-8; other bytes arrive as lone surrogates (PEP 383)."""
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True


def admits_string(schema: Any, root: Mapping[str, Any], depth: int = 8) -> bool:
    """Whether a string may fit a schema.

    Args:
        schema: The schema asked about.
        root: The whole schema, for its ``$defs``.
        depth: References followed at most.
    """
    if not isinstance(schema, Mapping):
        return schema is not False
    if "$ref" in schema:
        return depth == 0 or admits_string(_resolved(schema["$ref"], root), root, depth - 1)
    if "type" in schema:
        return "string" in (schema["type"] if isinstance(schema["type"], list) else [schema["type"]])
    if "enum" in schema or "const" in schema:
        return any(isinstance(value, str) for value in schema.get("enum", [schema.get("const")]))
    for keyword, combine in (("anyOf", any), ("oneOf", any), ("allOf", all)):
        if keyword in schema:
            return combine(admits_string(part, root, depth) for part in schema[keyword])
    return True


def _resolved(reference: str, root: Mapping[str, Any]) -> Any:
    found: Any = root
    for step in reference.removeprefix("#").strip("/").split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        found = found.get(name, True) if isinstance(found, Mapping) else True
    return found


def _pairs(words: Iterable[str]) -> Iterator[tuple[str, str, bool]]:
    """Key, value, and whether it was written ``key:=value``."""
    seen = set()
    for word in words:
        key, equals, value = word.partition("=")
        explicit = key.endswith(":")
        key = key.removesuffix(":")
        if not equals or not key:
            raise UsageError(f"{word!r} is no pair; write KEY=VALUE, or KEY:=JSON")
        if key in seen:
            raise UsageError(f"{key} is given twice")
        seen.add(key)
        _check_text(key, f"the name {key!r}")
        yield key, _content(value, key), explicit


def _check_text(word: str, name: str) -> None:
    if not is_text(word):
        raise UsageError(f"{name} must be UTF-8")


def _content(value: str, name: str) -> str:
    if not value.startswith("@"):
        _check_text(value, name)
        return value
    try:
        return Path(value[1:]).read_text("utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {value[1:]}: {getattr(error, 'strerror', None) or error}") from error


def _fitting(value: str, schema: Any, root: Mapping[str, Any]) -> Any:
    if admits_string(schema, root):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value  # the one who checks it says what it should be


def _json(value: str, name: str) -> Any:
    try:
        return json.loads(value)
    except ValueError as error:
        raise UsageError(f"{name} is no JSON: {error}") from error
