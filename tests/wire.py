"""One judge for every message that the tests provoke.

A message is held against the official wire types of its revision, which come with the ``mcp``
package, and against what those types let through:

* the types are open, so a misspelt field passes; here an unknown field is a fault, at any depth;
* they read ``null`` as "not set", and the schemas do not; here ``null`` stands only where any
  JSON value may stand;
* all revisions before 2026-07-28 share the types of 2025-11-25; ``_ABSENT`` has what the two older
  ones lack;
* rules that no type holds are rows of ``_RULES``.

Where the schemas are departed from: an error whose request could not be read has no ``id``. The
schemas of 2025-03-26 and 2025-06-18 require one and forbid ``null``, which JSON-RPC asks for.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import cache
from typing import Any, Final, get_args

from jsonschema.exceptions import SchemaError
from jsonschema.validators import Draft202012Validator, validator_for
from mcp_types import (
    MissingRequiredClientCapabilityErrorData,
    UnsupportedProtocolVersionErrorData,
    _v2025_11_25,
    _v2026_07_28,
)
from mcp_types.methods import SERVER_NOTIFICATIONS, SERVER_REQUESTS, SERVER_RESULTS
from pydantic import BaseModel, TypeAdapter, ValidationError, create_model

__all__ = ["ANY_ID", "MODERN", "REVISIONS", "WireError", "check_message", "faults", "on_message"]

REVISIONS: Final = ("2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
MODERN: Final = "2026-07-28"
#: Stands for "the request's id is not known here".
ANY_ID: Final = object()

# What the revision lacks of the 2025-11-25 types: type -> fields, "*" for the type itself.
# Source: schema.json of each revision.
_ABSENT_2025_06_18: Mapping[str, str] = {
    "CreateMessageRequestParams": "task toolChoice tools",
    "ElicitRequestFormParams": "mode task",
    "ElicitRequestURLParams": "*",
    "Implementation": "description icons websiteUrl",
    "NumberSchema": "default",
    "Prompt": "icons",
    "Resource": "icons",
    "ResourceLink": "icons",
    "ResourceTemplate": "icons",
    "SamplingMessage": "_meta",
    "ServerCapabilities": "tasks",
    "StringSchema": "default",
    "TitledMultiSelectEnumSchema": "*",
    "TitledSingleSelectEnumSchema": "*",
    "Tool": "execution icons",
    "ToolResultContent": "*",
    "ToolUseContent": "*",
    "UntitledMultiSelectEnumSchema": "*",
}
_ABSENT_2025_03_26: Mapping[str, str] = {
    "Annotations": "lastModified",
    "AudioContent": "_meta",
    "BlobResourceContents": "_meta",
    "CallToolResult": "structuredContent",
    "EmbeddedResource": "_meta",
    "ImageContent": "_meta",
    "Implementation": "title",
    "Prompt": "_meta title",
    "PromptArgument": "title",
    "Resource": "_meta title",
    "ResourceLink": "*",
    "ResourceTemplate": "_meta title",
    "TextContent": "_meta",
    "TextResourceContents": "_meta",
    "Tool": "_meta outputSchema title",
}


def _absent(*tables: Mapping[str, str]) -> dict[str, frozenset[str]]:
    merged: dict[str, frozenset[str]] = {}
    for table in tables:
        for kind, names in table.items():
            merged[kind] = merged.get(kind, frozenset()) | frozenset(names.split())
    return merged


_ABSENT: Mapping[str, Mapping[str, frozenset[str]]] = {
    "2025-03-26": _absent(_ABSENT_2025_06_18, _ABSENT_2025_03_26),
    "2025-06-18": _absent(_ABSENT_2025_06_18),
    "2025-11-25": {},
    "2026-07-28": {},
}

# JSON-RPC's own codes, and those that MCP assigns. Everything else in -32768...-32000 is reserved.
_STANDARD_CODES = frozenset({-32700, -32600, -32601, -32602, -32603})
_MCP_CODES: Mapping[str, frozenset[int]] = {
    "2025-03-26": frozenset({-32002}),
    "2025-06-18": frozenset({-32002}),
    "2025-11-25": frozenset({-32002, -32042}),
    "2026-07-28": frozenset({-32020, -32021, -32022}),
}
_ERROR_DATA: Mapping[int, type[BaseModel]] = {
    -32021: MissingRequiredClientCapabilityErrorData,
    -32022: UnsupportedProtocolVersionErrorData,
    -32042: create_model("PagesRequired", elicitations=(list[_v2025_11_25.ElicitRequestURLParams], ...)),
}
#: What the property of a form can be. The official type of a form does not look at them.
_FORM_PROPERTIES = {"2026-07-28": _v2026_07_28, "2025-11-25": _v2025_11_25, "2025-06-18": _v2025_11_25}
_INITIALIZE_RESULT: Any = SERVER_RESULTS[("initialize", "2025-11-25")]
_IMPLEMENTATION = _INITIALIZE_RESULT.model_fields["server_info"].annotation

Message = Mapping[str, Any]
Rule = Callable[[Message, str], Iterator[str]]


class WireError(AssertionError):
    """A message does not fit its revision; the text has every fault and the message itself."""


def check_message(message: Message, revision: str, *, request_method: str | None, request_id: object = ANY_ID) -> None:
    """Refuse a message that a server must not send in this revision.

    Args:
        message: A result, error, notification or request, as parsed from JSON.
        revision: The name of the revision it was sent in.
        request_method: The method it answers; ``None`` if the request could not be read, or for what
            answers none.
        request_id: The ``id`` that a response must carry, with its type; default: any.

    Raises:
        WireError: With every fault found.
    """
    found = list(faults(message, revision, request_method=request_method, request_id=request_id))
    if found:
        listed = "\n".join(f"  - {fault}" for fault in found)
        raise WireError(f"not a message of {revision} (answering {request_method}):\n{listed}\n{message!r}")


def on_message(revision: str) -> Callable[[Message], None]:
    """``check_message`` as a client's hook, for a server in another process.

    A hook does not know the request, so a result need only fit one method of the revision; what is
    answered in this process is judged in full (``conftest.py``).
    """

    def hook(message: Message) -> None:
        if "result" not in message:
            check_message(message, revision, request_method=None)
        elif not any(_fits(message, method, revision) for method, named in SERVER_RESULTS if named == revision):
            raise WireError(f"no result of {revision}: {message!r}")

    return hook


def _fits(message: Message, method: str, revision: str) -> bool:
    return not any(faults(message, revision, request_method=method))


def faults(message: object, revision: str, *, request_method: str | None, request_id: object = ANY_ID) -> Iterator[str]:
    """What is wrong with a message, given as to ``check_message``; nothing if it is right."""
    if not isinstance(message, dict):
        yield "a message is a JSON object"
        return
    yield from _not_json(message)
    if message.get("jsonrpc") != "2.0":
        yield "jsonrpc must be '2.0'"
    if "method" in message:
        yield from _call_faults(message, revision)
    elif "result" in message:
        yield from _result_faults(message, revision, request_method)
        yield from _id_faults(message, request_id)
    elif "error" in message:
        yield from _error_faults(message, revision)
        if "id" in message or request_method is not None:
            yield from _id_faults(message, request_id)
    else:
        yield "neither method, result nor error"


# --- the envelopes --------------------------------------------------------------------------------


def _not_json(message: object) -> Iterator[str]:
    try:
        json.dumps(message, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except (TypeError, ValueError) as error:
        yield f"is not JSON in UTF-8: {error}"


def _call_faults(message: Message, revision: str) -> Iterator[str]:
    surface = SERVER_REQUESTS if "id" in message else SERVER_NOTIFICATIONS
    model = surface.get((message["method"], revision))
    if model is None:
        kind = "request" if "id" in message else "notification"
        yield f"a server sends no {kind} {message['method']!r} in {revision}"
    else:
        yield from _typed(message, model, revision, "")


def _result_faults(message: Message, revision: str, request_method: str | None) -> Iterator[str]:
    yield from _extra(message, {"jsonrpc", "id", "result"})
    models = None if request_method is None else SERVER_RESULTS.get((request_method, revision))
    if models is None:
        yield f"{request_method!r} has no result in {revision}"
    else:
        yield from _typed(message["result"], _arm(models, message["result"]), revision, "result")


def _arm(models: Any, result: object) -> Any:
    """The one of a union's types that ``result`` claims to be by its ``resultType``."""
    arms = get_args(models)
    if not arms:
        return models
    asks = isinstance(result, dict) and result.get("resultType") == "input_required"
    return next(arm for arm in arms if (arm.__name__ == "InputRequiredResult") is asks)


def _error_faults(message: Message, revision: str) -> Iterator[str]:
    yield from _extra(message, {"jsonrpc", "id", "error"})
    error = message["error"]
    if not isinstance(error, dict):
        yield "error must be an object"
        return
    yield from _extra(error, {"code", "message", "data"}, "error.")
    code, text = error.get("code"), error.get("message")
    if type(code) is not int:
        yield f"error.code must be an integer, not {code!r}"
    elif -32768 <= code <= -32000 and code not in _STANDARD_CODES | _MCP_CODES[revision]:
        yield f"error.code {code} is reserved in {revision}"
    elif code in _ERROR_DATA:
        yield from _typed(error.get("data"), _ERROR_DATA[code], revision, "error.data")
    if not isinstance(text, str) or not text:
        yield "error.message must be a text"


def _id_faults(message: Message, request_id: object) -> Iterator[str]:
    got = message.get("id")
    if type(got) not in (int, str):
        yield f"id must be a string or an integer, not {got!r}"
    elif request_id is not ANY_ID and (type(got), got) != (type(request_id), request_id):
        yield f"id is {got!r}, the request's was {request_id!r}"


def _extra(fields: Iterable[str], known: set[str], prefix: str = "") -> Iterator[str]:
    for name in sorted(set(fields) - known):
        yield f"unknown field {prefix}{name}"


# --- the official types ---------------------------------------------------------------------------


@cache
def _adapter(model: Any) -> TypeAdapter[Any]:
    return TypeAdapter(model)


def _typed(raw: object, model: Any, revision: str, path: str) -> Iterator[str]:
    try:
        parsed = _adapter(model).validate_python(raw, strict=True, by_name=False)
    except ValidationError as error:
        for problem in error.errors():
            yield f"{_join(path, *problem['loc'])}: {problem['msg']}"
    else:
        yield from _compare(raw, parsed, revision, path)


def _join(path: str, *parts: object) -> str:
    return ".".join([*([path] if path else []), *map(str, parts)])


def _compare(raw: Any, parsed: object, revision: str, path: str) -> Iterator[str]:
    """Walk the message beside its parsed form, which knows the type of every object."""
    if isinstance(parsed, BaseModel):
        yield from _compare_object(raw, parsed, revision, path)
    elif isinstance(parsed, list):
        for index, item in enumerate(parsed):
            yield from _compare(raw[index], item, revision, _join(path, index))
    elif isinstance(parsed, dict):
        for key, item in parsed.items():
            yield from _compare(raw[key], item, revision, _join(path, key))


def _compare_object(raw: dict[str, Any], parsed: BaseModel, revision: str, path: str) -> Iterator[str]:
    kind = type(parsed).__name__
    absent = _ABSENT[revision].get(kind, frozenset())
    if "*" in absent:
        yield f"{path}: {kind} does not exist in {revision}"
    declared = {field.alias or name: name for name, field in type(parsed).model_fields.items()}
    for key, value in raw.items():
        where = _join(path, key)
        if key not in declared:
            if not _is_open(kind):
                yield f"{where}: unknown field of {kind}"
        elif key in absent:
            yield f"{where}: {kind} has no such field in {revision}"
        elif value is None and type(parsed).model_fields[declared[key]].annotation is not Any:
            yield f"{where}: null; leave the field out"
        else:
            yield from _compare(value, getattr(parsed, declared[key]), revision, where)
    for rule in _RULES.get(kind, ()):
        yield from (f"{path}: {fault}" for fault in rule(raw, revision))
    if revision == MODERN and "resultType" in declared:
        yield from (f"{path}: {fault}" for fault in _result_type(raw, kind))


def _is_open(kind: str) -> bool:
    """Whether a type may hold any further fields: ``_meta`` objects and JSON Schemas."""
    return kind in {"InputSchema", "OutputSchema"} or "Meta" in kind


# --- what no type holds ---------------------------------------------------------------------------


def _result_type(raw: Message, kind: str) -> Iterator[str]:
    expected = "input_required" if kind == "InputRequiredResult" else "complete"
    if raw["resultType"] != expected:
        yield f"resultType must be {expected!r}"
    info = raw.get("_meta", {}).get("io.modelcontextprotocol/serverInfo")
    if info is not None:
        yield from _typed(info, _IMPLEMENTATION, MODERN, "serverInfo")


def _base64(field: str) -> Rule:
    def rule(raw: Message, revision: str) -> Iterator[str]:
        try:
            # There and back: Python 3.10 decodes what is only padding.
            same = base64.b64encode(base64.b64decode(raw[field], validate=True)).decode() == raw[field]
        except ValueError:
            same = False
        if not same:
            yield f"{field} is not Base64"

    return rule


def _mime(prefix: str) -> Rule:
    def rule(raw: Message, revision: str) -> Iterator[str]:
        if not raw["mimeType"].startswith(prefix):
            yield f"mimeType must begin with {prefix}"

    return rule


def _uri(raw: Message, revision: str) -> Iterator[str]:
    if not re.fullmatch(r"""[A-Za-z][A-Za-z0-9+.-]*:[^\s<>"{}|\\^`\x00-\x20\x7f-\U0010ffff]*""", raw["uri"]):
        yield f"uri {raw['uri']!r} is no absolute URI"


def _icon(raw: Message, revision: str) -> Iterator[str]:
    if not raw["src"].startswith(("https:", "data:")):
        yield f"src {raw['src']!r} is neither https: nor data:"
    for size in raw.get("sizes", ()):
        if not re.fullmatch(r"any|[0-9]+x[0-9]+", size):
            yield f"sizes: {size!r}"


def _last_modified(raw: Message, revision: str) -> Iterator[str]:
    text = raw.get("lastModified")
    if text is not None:
        try:
            # Python 3.10 reads no "Z".
            datetime.fromisoformat(re.sub("Z$", "+00:00", text))
        except ValueError:
            yield f"lastModified {text!r} is not ISO 8601"


def _tool(raw: Message, revision: str) -> Iterator[str]:
    if not re.fullmatch(r"[A-Za-z0-9_.-]{1,128}", raw["name"]):
        yield f"name {raw['name']!r}"
    for field in ("inputSchema", "outputSchema"):
        if field in raw:
            yield from (f"{field}: {fault}" for fault in _json_schema(raw[field], revision))


def _json_schema(schema: dict[str, Any], revision: str) -> Iterator[str]:
    try:
        validator_for(schema, default=Draft202012Validator).check_schema(schema)
    except SchemaError as error:
        yield f"is no JSON Schema: {error.message}"
    if revision != MODERN:
        for name, value in schema.get("properties", {}).items():
            if not isinstance(value, dict):
                yield f"properties.{name}: a boolean schema came with 2026-07-28"


def _unique(field: str, key: str) -> Rule:
    def rule(raw: Message, revision: str) -> Iterator[str]:
        names = [item[key] for item in raw[field]]
        if len(set(names)) != len(names):
            yield f"{field}: the same {key} twice"

    return rule


def _completion(raw: Message, revision: str) -> Iterator[str]:
    if len(raw["values"]) > 100:
        yield "values: more than 100"


def _form(raw: Message, revision: str) -> Iterator[str]:
    schema = raw["requestedSchema"]
    yield from (f"requestedSchema: {fault}" for fault in _extra(schema, {"$schema", "type", "properties", "required"}))
    for name in {*schema.get("required", ())} - {*schema["properties"]}:
        yield f"requestedSchema: required names {name!r}, which is no property"
    for name, value in schema["properties"].items():
        if all(any(_typed(value, kind, revision, "")) for kind in _kinds(revision)):
            yield f"requestedSchema.properties.{name}: not a schema of a primitive in {revision}: {value}"


@cache
def _kinds(revision: str) -> tuple[Any, ...]:
    return tuple(_leaves(_FORM_PROPERTIES[revision].PrimitiveSchemaDefinition))


def _leaves(union: Any) -> Iterator[Any]:
    arms = get_args(union) or get_args(getattr(union, "__value__", None))
    if not arms:
        yield union
    for arm in arms:
        yield from _leaves(arm)


def _page(raw: Message, revision: str) -> Iterator[str]:
    yield from _uri({"uri": raw["url"]}, revision)


def _sampling(raw: Message, revision: str) -> Iterator[str]:
    """Each use of a tool is followed by a message of its results alone; before 2025-11-25 there is one block."""
    owed: list[str] = []
    for index, message in enumerate(raw["messages"]):
        content = message["content"]
        if isinstance(content, list) and revision in ("2025-03-26", "2025-06-18"):
            yield f"messages.{index}: several blocks came with 2025-11-25"
        blocks = content if isinstance(content, list) else [content]
        results = [block["toolUseId"] for block in blocks if block["type"] == "tool_result"]
        if sorted(owed) != sorted(results) or (results and (len(results) != len(blocks) or message["role"] != "user")):
            yield f"messages.{index}: the results of {owed} were to come, and nothing else"
        owed = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if owed and message["role"] != "assistant":
            yield f"messages.{index}: a user uses no tools"
    if owed:
        yield f"messages: the results of {owed} are missing"


def _input_required(raw: Message, revision: str) -> Iterator[str]:
    if not raw.keys() & {"inputRequests", "requestState"}:
        yield "neither inputRequests nor requestState"


def _negotiated(raw: Message, revision: str) -> Iterator[str]:
    if raw["protocolVersion"] != revision:
        yield f"protocolVersion is {raw['protocolVersion']!r}"


def _discovered(raw: Message, revision: str) -> Iterator[str]:
    if revision not in raw["supportedVersions"]:
        yield f"supportedVersions lacks {revision}"


_RULES: Mapping[str, tuple[Rule, ...]] = {
    "Annotations": (_last_modified,),
    "AudioContent": (_base64("data"), _mime("audio/")),
    "BlobResourceContents": (_base64("blob"), _uri),
    "Completion": (_completion,),
    "CreateMessageRequestParams": (_sampling,),
    "DiscoverResult": (_discovered,),
    "ElicitRequestFormParams": (_form,),
    "ElicitRequestURLParams": (_page,),
    "Icon": (_icon,),
    "ImageContent": (_base64("data"), _mime("image/")),
    "InitializeResult": (_negotiated,),
    "InputRequiredResult": (_input_required,),
    "ListPromptsResult": (_unique("prompts", "name"),),
    "ListResourceTemplatesResult": (_unique("resourceTemplates", "uriTemplate"),),
    "ListResourcesResult": (_unique("resources", "uri"),),
    "ListToolsResult": (_unique("tools", "name"),),
    "Resource": (_uri,),
    "ResourceLink": (_uri,),
    "ResourceUpdatedNotificationParams": (_uri,),
    "TextResourceContents": (_uri,),
    "Tool": (_tool,),
}
