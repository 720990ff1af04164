"""Requirements, groups 6 and 12: what a server asks of its client, in rounds or by requests of its own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from types import SimpleNamespace
from typing import Annotated, Any, Literal, TypedDict

import pytest
from msgspec import Meta

from mcp_wsgi import (
    Context,
    ElicitForm,
    ElicitUrl,
    InputRequired,
    ListRoots,
    MCPServer,
    Sample,
    UrlElicitationRequired,
)
from mcp_wsgi.errors import RegistrationError
from mcp_wsgi.inputs import CAPABILITIES, InputRequest
from mcp_wsgi.testing import Client
from tests.asking import ALL, LEGACY, SURE, Asked, accept, modern, outcome, retry, sampled, shown
from tests.spec.kit import CALLS, everything, refusal, send
from tests.wsgi.peer import NEWEST, OLDEST, SECOND, call, note

HI = {"role": "user", "content": {"type": "text", "text": "hi"}}
TOOL = {"name": "add", "inputSchema": {"type": "object"}}
USE = {"type": "tool_use", "id": "u", "name": "add", "input": {}}

#: What can be asked: the question, the capabilities that it needs, an answer to it, and what comes of that.
KINDS: dict[str, tuple[InputRequest, dict[str, Any], dict[str, Any]]] = {
    "form": (ElicitForm("Sure?", SURE), {"elicitation": {}}, accept(sure=True)),
    "page": (
        ElicitUrl("Pay", "https://pay.example/x", "p1"),
        {"elicitation": {"url": {}}},
        {"action": "accept"},
    ),
    "model": (Sample(messages=[HI], max_tokens=5), {"sampling": {}}, sampled()),
    "model with tools": (
        Sample(messages=[HI], max_tokens=5, tools=[TOOL]),
        {"sampling": {"tools": {}}},
        sampled(),
    ),
    "model with context": (
        Sample(messages=[HI], max_tokens=5, include_context="thisServer"),
        {"sampling": {"context": {}}},
        sampled(),
    ),
    "roots": (ListRoots(), {"roots": {}}, {"roots": [{"uri": "file:///a"}]}),
}
KIND = pytest.mark.parametrize("kind", KINDS)
REQUESTS: dict[str, dict[str, Any]] = {
    "tools/call": {"name": "ask", "arguments": {}},
    "resources/read": {"uri": "asks://now"},
    "prompts/get": {"name": "ask"},
}
REQUEST = pytest.mark.parametrize("method", REQUESTS)
REVISION = pytest.mark.parametrize("revision", LEGACY)


def server(ask: Callable[[Context], Any]) -> MCPServer:
    """A server whose tool, resource and prompt do the same; the tool ``late`` has sent a message before."""
    mcp = MCPServer("asks")

    @mcp.tool(name="ask")
    def tool(ctx: Context) -> str:
        return str(ask(ctx))

    @mcp.tool
    def late(ctx: Context) -> str:
        ctx.report_progress(1)
        return str(ask(ctx))

    @mcp.resource("asks://now")
    def resource(ctx: Context) -> str:
        return str(ask(ctx))

    @mcp.prompt(name="ask")
    def prompt(ctx: Context) -> str:
        return str(ask(ctx))

    return mcp


def of(kind: str) -> MCPServer:
    return server(lambda ctx: ctx.ask({"q": KINDS[kind][0]})["q"])


def app(made: MCPServer, **options: Any) -> Any:
    return made.wsgi_app(**{"sessions": True, "workers": "threads", "auth": _user, "max_streams": 4, **options})


def _user(request: Any) -> Any:
    return SimpleNamespace(id=request.headers.get("X-User") or "anna")


def asked(result: Mapping[str, Any]) -> dict[str, Any]:
    assert result["resultType"] == "input_required"
    return dict(result["inputRequests"])


# --- rounds ---------------------------------------------------------------------------------------


@KIND
@REQUEST
def test_input_is_asked_for_by_a_result(kind: str, method: str) -> None:
    """S26-MRTR-01, S26-MRTR-04, S26-BASE-13, S26-BASE-04: and by no request of the server's own."""
    client = modern(of(kind), capabilities=KINDS[kind][1])
    reply = send(client, method, REQUESTS[method])
    (message,) = reply.messages
    (question,) = asked(message["result"]).values()
    assert question.keys() <= {"method", "params"}
    assert question["method"] == KINDS[kind][0].method


@pytest.mark.parametrize("method", [method for method in CALLS if method not in REQUESTS])
def test_no_other_method_ends_in_a_question(method: str) -> None:
    """S26-MRTR-02: not even if what would be answers comes with it."""
    client = modern(everything())
    reply = send(client, method, {**CALLS[method], "inputResponses": {"a": {}}, "requestState": "x"})
    assert reply.messages[0]["result"]["resultType"] == "complete"


@pytest.mark.parametrize(
    ("required", "names"),
    [
        (InputRequired({"a": ListRoots()}), {"inputRequests", "requestState"}),
        (InputRequired(state=1), {"requestState"}),
        (InputRequired(), {"requestState"}),
    ],
)
def test_a_round_ends_with_questions_or_a_state(required: InputRequired, names: set[str]) -> None:
    """S26-MRTR-03, S26-MRTR-06, S26-MRTR-15: the state is a text, and there are no cache hints."""

    def ask(ctx: Context) -> Any:
        raise required

    for method, params in REQUESTS.items():
        result = modern(server(ask), cache_ttl=60).request(method, params).raw
        assert result.keys() - {"resultType", "_meta"} == names
        assert type(result["requestState"]) is str


@REQUEST
def test_a_complete_read_has_the_hints_that_a_question_lacks(method: str) -> None:
    """S26-MRTR-15"""
    client, params = modern(of("roots"), cache_ttl=60), REQUESTS[method]
    first = client.request(method, params).raw
    done = retry(client, method, params, first, q=KINDS["roots"][2])["result"]
    assert "ttlMs" not in first
    assert ("ttlMs" in done) is (method == "resources/read")


@KIND
@REQUEST
def test_what_the_client_did_not_declare_is_not_asked(kind: str, method: str) -> None:
    """S26-MRTR-05, S26-BASE-17, S26-ELI-01, S26-SMP-01, S26-ROOT-01: on this request, whatever it did before."""
    made = of(kind)
    assert asked(modern(made, capabilities=KINDS[kind][1]).request(method, REQUESTS[method]).raw)
    for declared in _less_than(KINDS[kind][1]):
        reply = send(modern(made, capabilities=declared), method, REQUESTS[method])
        assert (reply.status, refusal(reply)["code"]) == (400, -32021)
        required = refusal(reply)["data"]["requiredCapabilities"]
        # With what is required beside what was declared, the same request is asked.
        merged = {name: {**declared.get(name, {}), **required.get(name, {})} for name in {*declared, *required}}
        assert asked(modern(made, capabilities=merged).request(method, REQUESTS[method]).raw)


def _less_than(needed: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {}
    ((name, within),) = needed.items()
    if within:
        yield {name: {}}
    yield {other: value for other, value in ALL.items() if other != name}


def test_a_mode_that_was_left_out_is_not_declared() -> None:
    """S26-ELI-01: an empty object is forms only, and pages alone are no forms."""
    cases: list[tuple[str, dict[str, Any]]] = [("page", {}), ("page", {"form": {}}), ("form", {"url": {}})]
    for kind, declared in cases:
        reply = send(modern(of(kind), capabilities={"elicitation": declared}), "tools/call", REQUESTS["tools/call"])
        assert (reply.status, refusal(reply)["code"]) == (400, -32021)


@KIND
def test_in_an_open_stream_the_refusal_is_its_last_message(kind: str) -> None:
    """S26-BASE-17"""
    client = modern(of(kind), capabilities={})
    params = {"name": "late", "_meta": {"progressToken": "t"}}
    progress, last = send(client, "tools/call", params).messages
    assert (progress["method"], last["error"]["code"]) == ("notifications/progress", -32021)


@KIND
def test_in_an_open_stream_the_questions_are_its_last_message(kind: str) -> None:
    """S26-MRTR-01: after what was sent before them."""
    client = modern(of(kind))
    params = {"name": "late", "_meta": {"progressToken": "t"}}
    progress, last = send(client, "tools/call", params).messages
    assert (progress["method"], list(asked(last["result"]))) == ("notifications/progress", ["q"])


@pytest.mark.parametrize("name", CAPABILITIES)
def test_what_a_tool_requires_is_known_before_it_runs(name: str) -> None:
    """S26-BASE-17, S26-MRTR-05"""
    mcp, began = MCPServer("requires"), []

    @mcp.tool(requires=[name])
    def ask(ctx: Context) -> str:
        began.append(1)
        return "done"

    reply = send(modern(mcp, capabilities={}), "tools/call", REQUESTS["tools/call"])
    assert (reply.status, refusal(reply)["code"], began) == (400, -32021, [])
    client = modern(mcp, capabilities=refusal(reply)["data"]["requiredCapabilities"])
    assert client.call_tool("ask").text == "done"


@KIND
@REQUEST
def test_a_retry_is_a_request_like_any_other(kind: str, method: str) -> None:
    """S26-MRTR-11, S26-MRTR-14, S26-MRTR-10: with a new id, to another process, or never."""
    key = ["k" * 32]
    first, second = (modern(of(kind), secret_key=key) for _ in range(2))
    params = REQUESTS[method]
    forgotten, result = (first.request(method, params).raw for _ in range(2))
    assert asked(forgotten) == asked(result)
    second.request("tools/list")
    done = retry(second, method, params, result, q=KINDS[kind][2])["result"]
    assert done["resultType"] == "complete"


def test_unknown_answers_are_ignored_and_missing_ones_asked_for_again() -> None:
    """S26-MRTR-13"""
    client = modern(server(lambda ctx: len(ctx.ask({"a": ListRoots(), "b": ListRoots()}))))
    params, answer = REQUESTS["tools/call"], KINDS["roots"][2]
    result = client.request("tools/call", params).raw
    assert list(asked(result)) == ["a", "b"]
    result = retry(client, "tools/call", params, result, c={"x": 1}, B=5)["result"]
    assert list(asked(result)) == ["a", "b"]
    result = retry(client, "tools/call", params, result, b=answer, c=None)["result"]
    assert list(asked(result)) == ["a"]
    assert shown(retry(client, "tools/call", params, result, a=answer)) == (False, "2")


@KIND
def test_malformed_answers_are_an_error(kind: str) -> None:
    """S26-MRTR-12, S26-ELI-07"""
    client, params = modern(of(kind)), REQUESTS["tools/call"]
    first = client.request("tools/call", params).raw
    malformed: list[Any] = [5, "x", [], {}, {"action": "x"}, {"roots": 5}, {"roots": [5]}, {"role": "user"}]
    for wrong in malformed:
        assert retry(client, "tools/call", params, first, q=wrong)["error"]["code"] == -32602


# --- forms and pages ------------------------------------------------------------------------------


class Size(Enum):
    SMALL = "s"
    LARGE = "l"


class Order(TypedDict):
    """Everything that a form can ask for."""

    name: Annotated[str, Meta(min_length=1, max_length=9, title="Name", description="Who?")]
    count: Annotated[int, Meta(ge=1, le=5)]
    weight: Annotated[float, Meta(ge=0)]
    gift: bool
    color: Literal["red", "blue"]
    size: Size
    extras: list[Literal["bow", "card"]]


ORDER = {"name": "Ann", "count": 2, "weight": 1.5, "gift": True, "color": "red", "size": "s", "extras": ["bow"]}
FIELDS: dict[str, dict[str, Any]] = {
    "mail": {"type": "string", "format": "email", "default": "a@b.example"},
    "site": {"type": "string", "format": "uri"},
    "day": {"type": "string", "format": "date"},
    "time": {"type": "string", "format": "date-time"},
    "n": {"type": "integer", "minimum": 1, "maximum": 5, "default": 2},
    "x": {"type": "number", "default": 0.5},
    "yes": {"type": "boolean", "default": True},
    "one": {"type": "string", "enum": ["a", "b"], "default": "a"},
    "titled": {"type": "string", "oneOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]},
    "many": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "minItems": 1, "maxItems": 2},
    "named": {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}},
}


def test_a_form_can_ask_for_all_that_there_is() -> None:
    """S26-ELI-03, S26-ELI-04, S26-ELI-07: defaults are filled in."""
    client = modern(server(lambda ctx: json.dumps(ctx.elicit("?", _form(FIELDS)).data)))
    params = REQUESTS["tools/call"]
    first = client.request("tools/call", params).raw
    ((key, question),) = asked(first).items()
    assert question["params"]["requestedSchema"]["properties"] == FIELDS
    done = retry(client, "tools/call", params, first, **{key: accept(many=["b"])})
    filled = {name: field["default"] for name, field in FIELDS.items() if "default" in field}
    assert json.loads(shown(done)[1]) == {**filled, "many": ["b"]}


def _form(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(properties)}


class Short(TypedDict):
    """What the second revision can say of it."""

    name: str
    gift: bool
    size: Size


@pytest.mark.parametrize("revision", [*LEGACY, "2026-07-28"])
def test_a_form_is_made_of_a_type_for_every_revision(revision: str) -> None:
    """S26-ELI-02, S26-ELI-03, T25-ELI-02: flat; the judge of all tests knows what each revision has."""
    order: Any = Order if revision != SECOND else Short
    content = {name: ORDER[name] for name in order.__annotations__}
    made = server(lambda ctx: ctx.elicit("Your order?", order).data == {**content, "size": Size.SMALL})
    client = Client(made, revision=revision, answer=lambda method, params: {"action": "accept", "content": content})
    assert client.call_tool("ask").text == "True"


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": {"type": "string"}},
        _form({"a": {"type": "object", "properties": {}}}),
        _form({"a": {"type": "array", "items": {"type": "object"}}}),
        _form({"a": {"$ref": "#/x"}}),
        list[str],
    ],
)
def test_a_form_that_is_not_flat_cannot_be_made(schema: Any) -> None:
    """S26-ELI-03"""
    with pytest.raises(RegistrationError):
        ElicitForm("?", schema)


@pytest.mark.parametrize("revision", [*LEGACY, "2026-07-28"])
@pytest.mark.parametrize("action", ["accept", "decline", "cancel"])
def test_every_end_of_a_question_is_told(revision: str, action: str) -> None:
    """S26-ELI-05: what comes with anything but accept is no content."""
    made = server(lambda ctx: ctx.elicit("Sure?", SURE))
    answer = {"action": action, "content": {"sure": True}}
    text = Client(made, revision=revision, answer=lambda method, params: answer).call_tool("ask").text
    assert f"action='{action}'" in text
    assert ("{'sure': True}" in text) is (action == "accept")


def test_a_page_has_a_valid_address_and_no_id() -> None:
    """S26-ELI-02"""
    client = modern(server(lambda ctx: ctx.elicit_url("Pay", "https://pay.example/x")))
    (question,) = asked(client.request("tools/call", REQUESTS["tools/call"]).raw).values()
    assert question["params"] == {"mode": "url", "message": "Pay", "url": "https://pay.example/x"}
    with pytest.raises(ValueError, match="no URL"):
        ElicitUrl("Pay", "pay.example", "p1")


@pytest.mark.parametrize("user", ["bob", "anna"])
def test_a_question_belongs_to_its_user(user: str) -> None:
    """S26-ELI-08: as the credentials of the request say, in either era."""
    made = app(of("form"), secret_key=["k" * 32])
    params = REQUESTS["tools/call"]
    result = modern(made, headers={"X-User": "anna"}).request("tools/call", params).raw
    reply = retry(modern(made, headers={"X-User": user}), "tools/call", params, result, q=KINDS["form"][2])
    assert ("error" in reply) is (user == "bob")
    peer, other = Asked(made, HTTP_X_USER="anna"), Asked(made, HTTP_X_USER="bob")
    stream, question = peer.begin("ask")
    if user == "bob":
        other.answer(question, accept(sure=True))
    peer.answer(question, {"action": "decline"})
    assert "decline" in outcome(stream)["result"]["content"][0]["text"]


# --- the session era ------------------------------------------------------------------------------


@KIND
@REVISION
def test_the_session_era_is_asked_by_requests_of_the_server(kind: str, revision: str) -> None:
    """T25-ELI-01, T25-ELI-02, T25-SMP-01: within what the revision has, which the judge of all tests knows."""
    made = app(of(kind))
    peer = Asked(made, revision, KINDS[kind][1])
    if revision == SECOND and kind in ("page", "model with tools"):
        failed, text = shown(json.loads(peer.post(call("ask")).body))
        assert (failed, "cannot be asked" in text) == (True, True)
        return
    stream, question = peer.begin("ask")
    assert question["method"] == KINDS[kind][0].method
    assert peer.answer(question, KINDS[kind][2]).status == 202
    assert not outcome(stream)["result"].get("isError")


@KIND
@pytest.mark.parametrize("revision", [OLDEST, SECOND, NEWEST])
def test_nobody_is_asked_for_what_was_not_declared(kind: str, revision: str) -> None:
    """T25-ELI-01, T25-ELI-03, T25-SMP-01, S26-ELI-01, S26-SMP-01, T25-ROOT-01: a result says so."""
    made = app(of(kind))
    for declared in _less_than(KINDS[kind][1]):
        for tool in ("ask", "late"):
            (message,) = _answers(Asked(made, revision, declared), tool)
            failed, text = shown(message)
            assert (failed, "has not declared" in text) == (True, True)


def _answers(peer: Asked, tool: str) -> list[Any]:
    got = peer.post(call(tool))
    lines = [line.removeprefix(b"data: ") for line in got.body.splitlines() if line.startswith(b"data: {")]
    return [json.loads(line) for line in lines or [got.body]]


def test_the_oldest_revision_has_models_and_roots_only() -> None:
    """T25-ELI-01, T25-SMP-01: one block, and no tools."""
    for kind, can in (("form", False), ("page", False), ("model", True), ("model with tools", False), ("roots", True)):
        peer = Asked(app(of(kind)), OLDEST)
        if not can:
            failed, text = shown(json.loads(peer.post(call("ask")).body))
            assert (failed, "cannot be asked" in text) == (True, True)
            continue
        stream, question = peer.begin("ask")
        peer.answer(question, KINDS[kind][2])
        assert not outcome(stream)["result"].get("isError")


def test_the_simpler_forms_of_the_second_revision() -> None:
    """T25-ELI-02: no mode, names of choices beside them, defaults of booleans only."""
    fields = {name: FIELDS[name] for name in ("mail", "n", "yes", "one", "titled")}
    peer = Asked(app(server(lambda ctx: ctx.elicit("?", _form(fields)).data)), SECOND, {"elicitation": {}})
    stream, question = peer.begin("ask")
    assert question["params"].keys() == {"message", "requestedSchema"}
    asked_for = question["params"]["requestedSchema"]["properties"]
    assert {name for name, field in asked_for.items() if "default" in field} == {"yes"}
    assert asked_for["titled"] == {"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]}
    peer.answer(question, accept())
    assert "'n': 2" in shown(outcome(stream))[1]


def test_a_choice_of_several_is_not_asked_for_where_there_is_none() -> None:
    """T25-ELI-02"""
    peer = Asked(app(server(lambda ctx: ctx.elicit("?", _form({"many": FIELDS["many"]})))), SECOND)
    failed, text = shown(json.loads(peer.post(call("ask")).body))
    assert (failed, "no choice of several values" in text) == (True, True)


def test_ids_of_questions_and_pages_are_unique() -> None:
    """T25-BASE-02, T25-ELI-03: within a session, and in the server."""
    made = app(server(lambda ctx: ctx.elicit_url("Pay", "https://pay.example/x").action))
    ids, pages = set(), set()
    for peer in (Asked(made), Asked(made)):
        for number in range(20):
            stream, question = peer.begin("ask", number)
            ids.add(question["id"])
            pages.add(question["params"]["elicitationId"])
            peer.answer(question, {"action": "decline"})
            outcome(stream)
    assert len(ids) == len(pages) == 40


def test_a_call_may_wait_for_a_page_with_an_error_of_its_own() -> None:
    """T25-ELI-04: only 2025-11-25 has it, and only for who can open pages."""

    def ask(ctx: Context) -> Any:
        raise UrlElicitationRequired([ElicitUrl("Pay", "https://pay.example/x", "p1")])

    made = app(server(ask))
    error = json.loads(Asked(made).post(call("ask")).body)["error"]
    assert error["code"] == -32042
    assert [page["elicitationId"] for page in error["data"]["elicitations"]] == ["p1"]
    for revision, declared in ((NEWEST, {"elicitation": {}}), (SECOND, ALL), (OLDEST, ALL)):
        assert shown(json.loads(Asked(made, revision, declared).post(call("ask")).body))[0]
    assert asked(modern(made).request("tools/call", REQUESTS["tools/call"]).raw)


def test_the_end_of_a_page_is_told_to_who_started_it() -> None:
    """T25-ELI-05, T25-ELI-06: neither to another session of the user nor to another user."""
    made = app(server(lambda ctx: ctx.elicit_url("Pay", "https://pay.example/x", id="p1").action))
    peer, others = Asked(made), [Asked(made), Asked(made, HTTP_X_USER="bob")]
    stream, question = peer.begin("ask")
    peer.answer(question, {"action": "accept"})
    outcome(stream)
    with peer.get() as own:
        assert made.elicitation_complete("p1") == 1
        assert own.message()["params"] == {"elicitationId": "p1"}
    for other in others:
        with other.get() as foreign:
            made.log(str(other.session), "error", "first")
            assert foreign.message()["params"]["data"] == "first"
    assert [made.elicitation_complete(name) for name in ("p1", "unknown")] == [0, 0]


@REVISION
def test_a_question_has_a_time_limit(revision: str) -> None:
    """T25-LIFE-05, S26-ELI-05: at which the client is told that nobody waits."""
    peer = Asked(app(of("form"), input_timeout=0.2), revision)
    stream, question = peer.begin("ask")
    cancelled, last = stream.messages()
    assert (cancelled["method"], cancelled["params"]["requestId"]) == ("notifications/cancelled", question["id"])
    assert shown(last)[0]


def test_the_limit_of_a_question_is_a_maximum() -> None:
    """T25-LIFE-06: what the client tells meanwhile puts it off no further; no progress was asked for."""
    peer = Asked(app(of("form"), input_timeout=0.5, keepalive=0.05))
    stream, question = peer.begin("ask")
    assert "_meta" not in question["params"]
    for step in range(5):
        peer.post(note("progress", progressToken=question["id"], progress=step))
    cancelled, last = stream.messages()
    assert (cancelled["params"]["requestId"], shown(last)[0]) == (question["id"], True)


# --- models and roots -----------------------------------------------------------------------------


@pytest.mark.parametrize("revision", [OLDEST, SECOND, NEWEST])
def test_a_question_to_a_model_has_messages_and_a_limit(revision: str) -> None:
    """S26-SMP-02, T25-SMP-01: a refusal is an error -1, which the tool may catch."""
    peer = Asked(app(server(lambda ctx: ctx.sample("hi", max_tokens=7).text)), revision)
    stream, question = peer.begin("ask")
    assert question["params"] == {"messages": [HI], "maxTokens": 7}
    peer.answer(question, error={"code": -1, "message": "User rejected sampling request"})
    assert shown(outcome(stream)) == (True, "The client refused: User rejected sampling request")


def test_the_use_of_a_tool_is_followed_by_its_result() -> None:
    """S26-SMP-03: else nothing is asked."""
    result = {"type": "tool_result", "toolUseId": "u", "content": []}
    for messages, good in (
        ([HI, _said("assistant", USE), _said("user", result)], True),
        ([HI, _said("assistant", USE)], False),
        ([HI, _said("assistant", USE), HI], False),
        ([HI, _said("assistant", USE), _said("user", result, HI["content"])], False),
        ([HI, _said("user", result)], False),
    ):
        client = modern(_sampling(messages))
        (message,) = send(client, "tools/call", REQUESTS["tools/call"]).messages
        assert ("inputRequests" in message["result"]) is good


def _sampling(messages: list[Any]) -> MCPServer:
    return server(lambda ctx: ctx.ask({"q": Sample(messages=messages, max_tokens=5)}))


def _said(role: str, *blocks: Any) -> dict[str, Any]:
    return {"role": role, "content": list(blocks)}


def test_a_tool_loop_is_told_what_the_model_wants() -> None:
    """S26-SMP-01, S26-SMP-03: with tools, where the client declared them."""

    def ask(ctx: Context) -> str:
        talk: list[Any] = [HI]
        first = ctx.sample(talk, max_tokens=5, tools=[TOOL])
        talk += [_said("assistant", *first.content), _said("user", {**_RESULT, "toolUseId": first.content[0]["id"]})]
        return ctx.sample(talk, max_tokens=5, tools=[TOOL]).text

    for revision in ("2025-11-25", "2026-07-28"):
        said = iter([{**sampled(), "content": USE, "stopReason": "toolUse"}, sampled("7")])

        def answer(method: str, params: Any, said: Iterator[Any] = said) -> Any:
            return next(said)

        client = Client(server(ask), revision=revision, answer=answer)
        assert client.call_tool("ask").text == "7"


_RESULT: dict[str, Any] = {"type": "tool_result", "content": [{"type": "text", "text": "7"}]}


@pytest.mark.parametrize("revision", [OLDEST, SECOND, NEWEST])
def test_roots_are_asked_for_anew_when_they_have_changed(revision: str) -> None:
    """T25-ROOT-01, S26-ROOT-01: nothing is kept of them, and their loss is an empty list."""
    peer = Asked(app(server(lambda ctx: [root.uri for root in ctx.list_roots()])), revision)
    for number, uris in enumerate((["file:///a"], ["file:///b", "file:///c"], [])):
        stream, question = peer.begin("ask", number)
        peer.answer(question, {"roots": [{"uri": uri} for uri in uris]})
        assert shown(outcome(stream)) == (False, str(uris))
        assert peer.post(note("roots/list_changed")).status == 202


@pytest.mark.parametrize("root", ["file:///a b", "/a", 5, None])
def test_roots_are_checked_before_anybody_sees_them(root: Any) -> None:
    """S26-ROOT-01"""
    client, params = modern(of("roots")), REQUESTS["tools/call"]
    first = client.request("tools/call", params).raw
    assert retry(client, "tools/call", params, first, q={"roots": [{"uri": root}]})["error"]["code"] == -32602
