"""The judge of messages: right ones pass, and each kind of wrong one is refused."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi.revisions import REVISIONS as SERVED
from tests.wire import ANY_ID, MODERN, REVISIONS, WireError, check_message, faults, on_message

LEGACY = REVISIONS[:-1]
_CACHE = {"ttlMs": 0, "cacheScope": "private"}
_TOOL = {"name": "add", "inputSchema": {"type": "object", "properties": {"a": {"type": "integer"}}}}
_IMAGE = {"type": "image", "data": "AAAA", "mimeType": "image/png"}

# Method -> a right result in every session-era revision, and what the modern one adds to it.
RESULTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "tools/list": ({"tools": [_TOOL], "nextCursor": "x"}, _CACHE),
    "tools/call": ({"content": [{"type": "text", "text": "3"}, _IMAGE], "isError": False}, {}),
    "resources/list": ({"resources": [{"uri": "note://1", "name": "one", "size": 3}]}, _CACHE),
    "resources/templates/list": ({"resourceTemplates": [{"uriTemplate": "note://{id}", "name": "note"}]}, _CACHE),
    "resources/read": (
        {"contents": [{"uri": "note://1", "text": "milk"}, {"uri": "note://1", "blob": "AA=="}]},
        _CACHE,
    ),
    "prompts/list": ({"prompts": [{"name": "ask", "arguments": [{"name": "topic", "required": True}]}]}, _CACHE),
    "prompts/get": ({"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}]}, {}),
    "completion/complete": ({"completion": {"values": ["a"], "total": 1, "hasMore": False}}, {}),
}
PROGRESS = {
    "jsonrpc": "2.0",
    "method": "notifications/progress",
    "params": {"progressToken": 1, "progress": 0.5, "total": 1},
}


def answer(method: str, revision: str) -> dict[str, Any]:
    """A right response to ``method``."""
    result, modern = copy.deepcopy(RESULTS[method])
    if revision == MODERN:
        result |= {"resultType": "complete", **modern}
    return {"jsonrpc": "2.0", "id": 1, "result": result}


def error(code: int, **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": "No.", **more}}


def found(message: object, revision: str, method: str | None = None, request_id: object = ANY_ID) -> str:
    return "\n".join(faults(message, revision, request_method=method, request_id=request_id))


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Every object of a message whose fields the protocol names."""
    if isinstance(value, dict):
        yield value
        for key, item in value.items():
            if key not in {"inputSchema", "outputSchema"}:
                yield from objects(item)
    elif isinstance(value, list):
        for item in value:
            yield from objects(item)


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("method", RESULTS)
def test_a_right_result_passes(method: str, revision: str) -> None:
    assert found(answer(method, revision), revision, method, 1) == ""
    on_message(revision)(answer(method, revision))


@pytest.mark.parametrize("revision", LEGACY)
def test_a_right_initialize_result_passes_in_its_own_revision_only(revision: str) -> None:
    result = {"protocolVersion": revision, "capabilities": {"tools": {}}, "serverInfo": {"name": "n", "version": "1"}}
    message = {"jsonrpc": "2.0", "id": "a", "result": result}
    assert found(message, revision, "initialize") == ""
    result["protocolVersion"] = "2024-11-05"
    assert "protocolVersion" in found(message, revision, "initialize")


@given(st.sampled_from(sorted(RESULTS)), st.sampled_from(REVISIONS), st.data())
def test_an_unknown_field_is_refused_at_any_depth(method: str, revision: str, data: st.DataObject) -> None:
    message = answer(method, revision)
    data.draw(st.sampled_from(list(objects(message))))["colour"] = "red"
    assert "colour" in found(message, revision, method)


@given(st.sampled_from(sorted(RESULTS)), st.sampled_from(REVISIONS), st.data())
def test_null_is_refused_at_any_depth(method: str, revision: str, data: st.DataObject) -> None:
    message = answer(method, revision)
    target = data.draw(st.sampled_from(list(objects(message))))
    target[data.draw(st.sampled_from(sorted(target)))] = None
    assert found(message, revision, method) != ""


@pytest.mark.parametrize("revision", REVISIONS)
def test_optional_fields_are_not_null(revision: str) -> None:
    """S26-PAGE-03: the last page has no nextCursor, never null."""
    message = answer("tools/list", revision)
    message["result"]["nextCursor"] = None
    assert "nextCursor: null" in found(message, revision, "tools/list")


@pytest.mark.parametrize("field", ["resultType", "ttlMs", "cacheScope"])
def test_modern_fields_are_required_there_and_unknown_before(field: str) -> None:
    """DUAL-10: no resultType, ttlMs or cacheScope in a result of the session era."""
    modern, legacy = answer("tools/list", MODERN), answer("tools/list", "2025-11-25")
    legacy["result"][field] = modern["result"].pop(field)
    assert field in found(modern, MODERN, "tools/list")
    assert field in found(legacy, "2025-11-25", "tools/list")


@pytest.mark.parametrize(
    ("field", "value"), [("resultType", "done"), ("ttlMs", -1), ("ttlMs", 1.5), ("cacheScope", "shared")]
)
def test_modern_fields_have_few_values(field: str, value: object) -> None:
    """S26-BASE-04, S26-CACHE-02."""
    message = answer("tools/list", MODERN)
    message["result"][field] = value
    assert field in found(message, MODERN, "tools/list")


def test_input_required_needs_a_question_or_a_state() -> None:
    """S26-MRTR-03, S26-MRTR-15."""
    message = {"jsonrpc": "2.0", "id": 1, "result": {"resultType": "input_required"}}
    assert "neither" in found(message, MODERN, "tools/call")
    message["result"]["requestState"] = "s"  # type: ignore[index]
    assert found(message, MODERN, "tools/call") == ""
    assert found(message, MODERN, "prompts/list") != ""


# Method, where in its result, field, value, the first revision that has it.
_LATER = [
    ("tools/list", ("tools", 0), "title", "Add", "2025-06-18"),
    ("tools/list", ("tools", 0), "outputSchema", {"type": "object"}, "2025-06-18"),
    ("tools/list", ("tools", 0), "icons", [{"src": "https://a.example/i.png"}], "2025-11-25"),
    ("tools/call", (), "structuredContent", {"a": 1}, "2025-06-18"),
    ("tools/call", ("content", 0), "_meta", {"a": 1}, "2025-06-18"),
    ("tools/call", ("content", 0), "annotations", {"lastModified": "2025-01-12T15:00:58Z"}, "2025-06-18"),
    ("resources/list", ("resources", 0), "_meta", {"a": 1}, "2025-06-18"),
    ("resources/list", ("resources", 0), "icons", [{"src": "data:,"}], "2025-11-25"),
    ("resources/read", ("contents", 0), "_meta", {"a": 1}, "2025-06-18"),
    ("prompts/list", ("prompts", 0), "title", "Ask", "2025-06-18"),
    ("prompts/list", ("prompts", 0, "arguments", 0), "title", "Topic", "2025-06-18"),
]


@pytest.mark.parametrize(("method", "path", "field", "value", "since"), _LATER)
@pytest.mark.parametrize("revision", REVISIONS)
def test_a_field_is_refused_before_its_revision(
    revision: str, method: str, path: tuple[str | int, ...], field: str, value: object, since: str
) -> None:
    message = answer(method, revision)
    target: Any = message["result"]
    for step in path:
        target = target[step]
    target[field] = value
    assert (found(message, revision, method) == "") is (revision >= since)


@pytest.mark.parametrize("revision", REVISIONS)
def test_resource_links_came_with_2025_06_18(revision: str) -> None:
    """T25-TOOL-04."""
    message = answer("tools/call", revision)
    message["result"]["content"] = [{"type": "resource_link", "uri": "note://1", "name": "one"}]
    assert (found(message, revision, "tools/call") == "") is (revision != "2025-03-26")


@pytest.mark.parametrize("revision", REVISIONS)
def test_structured_content_is_an_object_before_the_modern_era(revision: str) -> None:
    """T25-TOOL-03."""
    message = answer("tools/call", revision)
    message["result"]["structuredContent"] = [1]
    assert (found(message, revision, "tools/call") == "") is (revision == MODERN)


_WRONG_VALUES = [
    ("tools/call", ("content", 1, "data"), "not base64"),
    ("tools/call", ("content", 1, "mimeType"), "text/plain"),
    ("tools/call", ("content", 0, "text"), "\ud800"),
    ("tools/call", ("content", 0, "text"), 3),
    ("tools/call", ("content", 0, "annotations"), {"lastModified": "yesterday"}),
    ("tools/call", ("content", 0, "annotations"), {"priority": 2}),
    ("tools/call", ("isError",), "false"),
    ("tools/list", ("tools", 0, "name"), "add numbers"),
    ("tools/list", ("tools", 0, "inputSchema", "type"), "array"),
    ("tools/list", ("tools", 0, "inputSchema", "properties"), {"a": {"type": "whole"}}),
    ("tools/list", ("tools",), [_TOOL, _TOOL]),
    ("resources/list", ("resources", 0, "uri"), "note"),
    ("resources/list", ("resources", 0, "size"), "3"),
    ("resources/read", ("contents", 0, "uri"), "note://a b"),
    ("resources/read", ("contents", 1, "blob"), "="),
    ("prompts/get", ("messages", 0, "content"), []),
    ("prompts/get", ("messages", 0, "role"), "system"),
    ("completion/complete", ("completion", "values"), ["a"] * 101),
]


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize(("method", "path", "value"), _WRONG_VALUES)
def test_a_wrong_value_is_refused(revision: str, method: str, path: tuple[str | int, ...], value: object) -> None:
    message = answer(method, revision)
    target: Any = message["result"]
    for step in path[:-1]:
        target = target[step]
    target[path[-1]] = value
    assert found(message, revision, method) != ""


def test_boolean_property_schemas_came_with_the_modern_era() -> None:
    for revision in REVISIONS:
        message = answer("tools/list", revision)
        message["result"]["tools"][0]["inputSchema"]["properties"]["a"] = True
        assert (found(message, revision, "tools/list") == "") is (revision == MODERN)


@pytest.mark.parametrize("icon", [{"src": "http://a.example/i.png"}, {"src": "data:,", "sizes": ["48"]}])
def test_a_wrong_icon_is_refused(icon: dict[str, Any]) -> None:
    """S26-ICON-01."""
    message = answer("tools/list", MODERN)
    message["result"]["tools"][0]["icons"] = [icon]
    assert "icons" in found(message, MODERN, "tools/list")


def test_a_wrong_server_info_is_refused() -> None:
    """S26-BASE-21."""
    message = answer("tools/call", MODERN)
    message["result"]["_meta"] = {"io.modelcontextprotocol/serverInfo": {"name": "n"}}
    assert "serverInfo" in found(message, MODERN, "tools/call")


@pytest.mark.parametrize("revision", REVISIONS)
def test_results_exist_only_for_methods_of_the_revision(revision: str) -> None:
    method, other = ("server/discover", "ping") if revision == MODERN else ("ping", "server/discover")
    empty = {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert "no result" in found(empty, revision, other)
    assert "no result" not in found(empty, revision, method)
    assert "no result" in found(empty, revision, None)


@pytest.mark.parametrize("revision", LEGACY)
def test_an_empty_result_is_empty(revision: str) -> None:
    """T25-BASE-10."""
    assert found({"jsonrpc": "2.0", "id": 1, "result": {}}, revision, "ping") == ""
    assert found({"jsonrpc": "2.0", "id": 1, "result": {"ok": True}}, revision, "ping") != ""


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_response_echoes_the_id_with_its_type(revision: str) -> None:
    """S26-BASE-03."""
    message = answer("tools/call", revision)
    assert found(message, revision, "tools/call", 1) == ""
    for other in ("1", 2, True):
        assert "id is 1" in found(message, revision, "tools/call", other)


@pytest.mark.parametrize("wrong", [None, True, 1.5, []])
def test_an_id_is_a_string_or_an_integer(wrong: object) -> None:
    """S26-BASE-02."""
    assert "id must be" in found(answer("tools/call", MODERN) | {"id": wrong}, MODERN, "tools/call")
    assert "id must be" in found(error(-32600) | {"id": wrong}, MODERN)


def test_an_error_has_no_id_only_if_its_request_could_not_be_read() -> None:
    message = error(-32700)
    del message["id"]
    for revision in REVISIONS:
        assert found(message, revision) == ""
        assert "id must be" in found(message, revision, "tools/call")


@pytest.mark.parametrize(
    ("code", "revisions"),
    [
        (-32601, REVISIONS),
        (42, REVISIONS),
        (-31999, REVISIONS),
        (-32002, LEGACY),
        (-32020, (MODERN,)),
        (-32000, ()),
        (-32099, ()),
        (-32768, ()),
    ],
)
def test_error_codes_belong_to_revisions(code: int, revisions: tuple[str, ...]) -> None:
    """S26-BASE-09."""
    assert tuple(revision for revision in REVISIONS if found(error(code), revision, "tools/call") == "") == revisions


def test_an_error_of_the_version_says_which_are_served() -> None:
    """S26-VER-01."""
    right = {"supported": [MODERN], "requested": "1"}
    assert found(error(-32022, data=right), MODERN) == ""
    assert found(error(-32022), MODERN) != ""
    assert "colour" in found(error(-32022, data=right | {"colour": "red"}), MODERN)


def test_a_server_supports_the_revision_that_it_speaks() -> None:
    """S26-VER-03."""
    result = {"supportedVersions": [MODERN], "capabilities": {}, "resultType": "complete", **_CACHE}
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "result": result}
    assert found(message, MODERN, "server/discover") == ""
    result["supportedVersions"] = ["2025-11-25"]
    assert "supportedVersions" in found(message, MODERN, "server/discover")


@pytest.mark.parametrize(
    "part",
    [{"code": "-32600"}, {"code": True}, {"message": None}, {"message": ""}, {"colour": "red"}],
)
def test_an_error_object_has_its_form(part: dict[str, Any]) -> None:
    """S26-BASE-06."""
    message = error(-32600)
    message["error"] |= part
    assert found(message, MODERN) != ""
    assert found(message | {"error": "No."}, MODERN) != ""


@pytest.mark.parametrize("revision", REVISIONS)
def test_notifications_are_judged_whole(revision: str) -> None:
    assert found(PROGRESS, revision) == ""
    for part in ({"progressToken": True}, {"progress": "1"}, {"total": None}, {"colour": "red"}):
        assert found(PROGRESS | {"params": PROGRESS["params"] | part}, revision) != ""  # type: ignore[operator]
    assert "sends no notification" in found(PROGRESS | {"method": "notifications/initialized"}, revision)


@pytest.mark.parametrize("revision", REVISIONS)
def test_any_json_may_be_logged_even_null(revision: str) -> None:
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": "notifications/message"}
    assert found(message | {"params": {"level": "info", "data": None}}, revision) == ""
    assert found(message | {"params": {"level": "trace", "data": None}}, revision) != ""


@pytest.mark.parametrize("revision", REVISIONS)
def test_servers_send_requests_in_the_session_era_only(revision: str) -> None:
    """S26-BASE-13."""
    message = {"jsonrpc": "2.0", "id": "q1", "method": "roots/list"}
    assert (found(message, revision) == "") is (revision != MODERN)


@pytest.mark.parametrize("message", [[], "x", {}, {"jsonrpc": "2.0", "id": 1}, PROGRESS | {"jsonrpc": "1.0"}])
def test_what_is_no_message_is_refused(message: object) -> None:
    assert found(message, MODERN) != ""


def test_not_a_number_is_refused() -> None:
    message = answer("tools/call", MODERN)
    message["result"]["structuredContent"] = [float("nan")]
    assert "not JSON" in found(message, MODERN, "tools/call")


def test_a_hook_refuses_what_fits_no_method() -> None:
    hook = on_message("2025-06-18")
    hook(PROGRESS)
    hook({"jsonrpc": "2.0", "id": 1, "result": {}})
    for wrong in (answer("tools/list", MODERN), error(-32022), PROGRESS | {"method": "notifications/x"}):
        with pytest.raises(WireError):
            hook(wrong)


def test_check_message_tells_every_fault() -> None:
    message = answer("tools/call", MODERN) | {"colour": "red", "jsonrpc": 2}
    with pytest.raises(WireError, match=r"(?s)jsonrpc.*colour"):
        check_message(message, MODERN, request_method="tools/call")


# A wire type of ours, with every field that any revision has, and where it stands.
_EVERY_FIELD = {
    "title": "T",
    "description": "D",
    "mimeType": "image/png",
    "annotations": {"audience": ["user"]},
    "icons": [{"src": "data:,", "theme": "dark"}],
    "_meta": {"a": 1},
}
_KINDS = [
    (
        "Tool",
        _TOOL | {"outputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
        "tools/list",
        "tools",
    ),
    ("Resource", {"uri": "note://1", "name": "one", "size": 3}, "resources/list", "resources"),
    ("ResourceTemplate", {"uriTemplate": "n://{a}", "name": "n"}, "resources/templates/list", "resourceTemplates"),
    ("Prompt", {"name": "ask", "arguments": []}, "prompts/list", "prompts"),
    ("TextContent", {"type": "text", "text": "3"}, "tools/call", "content"),
    ("ImageContent", {"type": "image", "data": "AA=="}, "tools/call", "content"),
    ("TextResourceContents", {"uri": "note://1", "text": "t"}, "resources/read", "contents"),
]


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize(("kind", "fields", "method", "field"), _KINDS)
def test_our_table_of_fields_agrees_with_the_official_types(
    revision: str, kind: str, fields: dict[str, Any], method: str, field: str
) -> None:
    """DUAL-10: with every field set, ``Revision.shape`` keeps what the revision has, and all of it."""
    message = answer(method, revision)
    message["result"][field] = [SERVED[revision].shape(kind, _EVERY_FIELD | fields)]
    assert found(message, revision, method) == ""
    dropped = (_EVERY_FIELD | fields).keys() - message["result"][field][0].keys()
    for name in dropped:
        longer = message["result"][field][0] | {name: (_EVERY_FIELD | fields)[name]}
        assert name in found(message | {"result": message["result"] | {field: [longer]}}, revision, method)


# --- what a server asks of its client -------------------------------------------------------------

_TEXT = {"type": "text", "text": "hi"}
_USE = {"type": "tool_use", "id": "u", "name": "add", "input": {}}
_RESULT = {"type": "tool_result", "toolUseId": "u", "content": []}
_OLD_CHOICE = {"type": "string", "enum": ["a"], "enumNames": ["A"]}
_CHOICE = {"type": "string", "oneOf": [{"const": "a", "title": "A"}]}
_CHOICES = {"type": "array", "items": {"type": "string", "enum": ["a"]}}


def form(**properties: Any) -> dict[str, Any]:
    return {"message": "Who?", "requestedSchema": {"type": "object", "properties": properties}}


def asked(method: str, params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": "q", "method": method, "params": params}


def talk(*messages: tuple[str, Any]) -> dict[str, Any]:
    return {"messages": [{"role": role, "content": content} for role, content in messages], "maxTokens": 1}


PAGE = {"mode": "url", "message": "Pay", "url": "https://a.example"}
#: What may be asked: method, parameters, and the revisions that have it.
QUESTIONS: list[tuple[str, dict[str, Any], tuple[str, ...]]] = [
    ("elicitation/create", form(a={"type": "string"}, b={"type": "boolean"}), REVISIONS[1:]),
    ("elicitation/create", form(a=_OLD_CHOICE), REVISIONS[1:]),
    ("elicitation/create", form(a=_CHOICE), REVISIONS[2:]),
    ("elicitation/create", form(a=_CHOICES), REVISIONS[2:]),
    ("elicitation/create", form(a={"type": "integer", "default": 1}), REVISIONS[2:]),
    ("elicitation/create", {"mode": "form", **form(a={"type": "string"})}, REVISIONS[2:]),
    ("elicitation/create", {**PAGE, "elicitationId": "1"}, ("2025-11-25",)),
    ("elicitation/create", PAGE, (MODERN,)),
    ("elicitation/create", {**PAGE, "url": "a b"}, ()),
    ("elicitation/create", {**PAGE, "url": "a b", "elicitationId": "1"}, ()),
    ("elicitation/create", form(a={"type": "object"}), ()),
    ("elicitation/create", form(a={"type": "array", "items": {"type": "object"}}), ()),
    ("elicitation/create", form(a={"type": "string", "pattern": "x"}), ()),
    ("sampling/createMessage", talk(("user", _TEXT)), REVISIONS),
    ("sampling/createMessage", talk(("user", [_TEXT])), REVISIONS[2:]),
    ("sampling/createMessage", talk(("assistant", [_USE]), ("user", [_RESULT])), REVISIONS[2:]),
    ("sampling/createMessage", talk(("assistant", _USE), ("user", _TEXT)), ()),
    ("sampling/createMessage", talk(("assistant", _USE), ("user", [_RESULT, _TEXT])), ()),
    ("sampling/createMessage", talk(("user", _RESULT)), ()),
    ("sampling/createMessage", {"messages": []}, ()),
    ("roots/list", {}, REVISIONS),
]


@pytest.mark.parametrize(("method", "params", "revisions"), QUESTIONS)
def test_a_question_fits_the_revisions_that_have_it(
    method: str, params: dict[str, Any], revisions: tuple[str, ...]
) -> None:
    fits = tuple(revision for revision in LEGACY if not found(asked(method, params), revision))
    assert fits == tuple(revision for revision in revisions if revision != MODERN)
    result = {"resultType": "input_required", "inputRequests": {"q": {"method": method, "params": params}}}
    answer = {"jsonrpc": "2.0", "id": 1, "result": result}
    assert (not found(answer, MODERN, "tools/call")) is (MODERN in revisions)


@pytest.mark.parametrize("method", ["elicitation/create", "sampling/createMessage", "roots/list"])
def test_the_modern_era_has_no_questions_of_their_own(method: str) -> None:
    params = next(params for name, params, revisions in QUESTIONS if name == method and MODERN in revisions)
    assert "a server sends no request" in found(asked(method, params), MODERN)


@pytest.mark.parametrize("method", [method for method in RESULTS if "list" in method or "complete" in method])
def test_input_is_required_by_three_methods_only(method: str) -> None:
    assert found(
        {"jsonrpc": "2.0", "id": 1, "result": {"resultType": "input_required", "requestState": "x"}}, MODERN, method
    )


def test_the_error_for_pages_names_them() -> None:
    """S26-BASE-10."""
    page = {**PAGE, "elicitationId": "1"}
    right = error(-32042, data={"elicitations": [page]})
    assert [revision for revision in REVISIONS if not found(right, revision)] == ["2025-11-25"]
    for data in ({}, {"elicitations": [PAGE]}, {"elicitations": [{**page, "url": "a b"}]}, {"elicitations": [form()]}):
        assert found(error(-32042, data=data), "2025-11-25")
