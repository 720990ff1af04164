"""Methods in which the client may be asked, in either era."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Optional

import pytest

from mcp_wsgi import (
    Context,
    ElicitForm,
    ElicitUrl,
    Handler,
    InputRequired,
    ListRoots,
    MCPServer,
    Resource,
    Tool,
    UrlElicitationRequired,
)
from mcp_wsgi.errors import MCPError
from mcp_wsgi.handler import Feature
from mcp_wsgi.revisions import SUPPORTED
from mcp_wsgi.testing import Client, ProtocolError
from tests.asking import ALL, SURE
from tests.dispatching import NEW
from tests.spec.kit import CALLS

ASKING = pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25", "2026-07-28"])


REQUESTS = pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"name": "tool"}),
        ("resources/read", {"uri": "paint://color"}),
        ("prompts/get", {"name": "prompt"}),
    ],
)


def painter(ask: Callable[[Context], Any]) -> MCPServer:
    """A server whose tool, resource and prompt do the same."""
    mcp = MCPServer("painter")
    mcp.tool(name="tool")(asked(ask))
    mcp.resource("paint://color", name="resource")(asked(ask))
    mcp.prompt(name="prompt")(asked(ask))
    return mcp


def asked(ask: Callable[[Context], Any]) -> Callable[[Context], Any]:
    def callback(ctx: Context) -> Any:
        return ask(ctx)

    return callback


def said(raw: Mapping[str, Any]) -> str:
    """The text of a result of one of the three."""
    (part,) = raw.get("content") or raw.get("contents") or raw["messages"]
    return str(part.get("text") or part["content"]["text"])


def by_hand(ctx: Context) -> InputRequired | str:
    """Ask in three rounds, by the explicit form."""
    state = ctx.request_state or {"seen": []}
    seen = [*state["seen"], *[answer["action"] for answer in ctx.input_responses.values()]]
    if len(seen) == 3:
        return "+".join(seen)
    return InputRequired({f"round {len(seen)}": ElicitForm("Sure?", SURE)}, {"seen": seen})


def raised(ctx: Context) -> str:
    answer = by_hand(ctx)
    if isinstance(answer, InputRequired):
        raise answer
    return answer


@ASKING
@REQUESTS
@pytest.mark.parametrize("ask", [by_hand, raised])
def test_the_explicit_form_is_the_same_in_both_eras(
    ask: Callable[[Context], Any], method: str, params: dict[str, Any], revision: str
) -> None:
    """S26-MRTR-02"""
    actions = iter(["accept", "decline", "cancel"])
    client = Client(painter(ask), revision=revision, answer=lambda method, params: {"action": next(actions)})
    assert said(client.request(method, params).raw) == "accept+decline+cancel"


@ASKING
@REQUESTS
def test_an_ordinary_function_is_the_same_in_both_eras(method: str, params: dict[str, Any], revision: str) -> None:
    """S26-MRTR-02"""
    mcp = painter(lambda ctx: f"{ctx.elicit('Sure?', SURE).action} {ctx.once('n', lambda: 5)}")
    client = Client(mcp, revision=revision, answer=lambda method, params: {"action": "cancel"})
    assert said(client.request(method, params).raw) == "cancel 5"


@ASKING
@REQUESTS
@pytest.mark.parametrize("explicit", [True, False])
def test_who_cannot_be_asked_is_told_so(method: str, params: dict[str, Any], revision: str, explicit: bool) -> None:
    """S26-BASE-17, S26-MRTR-05: with an error of its own in the modern era, else in-band."""
    question = ElicitForm("Sure?", SURE)
    mcp = painter(lambda ctx: InputRequired({"a": question}) if explicit else ctx.ask({"a": question}))
    client = Client(mcp, revision=revision, sessions=True)
    if method == "tools/call" and revision != NEW.name:
        reply = client.call_tool("tool")
        assert (reply.is_error, "has not declared elicitation" in reply.text) == (True, True)
        return
    with pytest.raises(ProtocolError, match="has not declared elicitation") as caught:
        client.request(method, params)
    data: dict[str, Any] = {"requiredCapabilities": {"elicitation": {}}}
    modern = (400, -32021, data)
    assert caught.value.reply is not None
    got = (caught.value.reply.status, caught.value.code, caught.value.data)
    assert got == (modern if revision == NEW.name else (200, -32603, None))


@pytest.mark.parametrize("explicit", [True, False])
@REQUESTS
def test_a_refusal_in_the_session_era_is_told_in_band(method: str, params: dict[str, Any], explicit: bool) -> None:
    question = ElicitForm("Sure?", SURE)
    mcp = painter(lambda ctx: InputRequired({"a": question}) if explicit else ctx.ask({"a": question}))

    def refuse(method: str, params: Any) -> Any:
        raise MCPError("not now", code=-1)

    client = Client(mcp, revision="2025-11-25", answer=refuse)
    if method == "tools/call":
        reply = client.call_tool("tool")
        assert (reply.is_error, reply.text) == (True, "The client refused: not now")
    else:
        with pytest.raises(ProtocolError, match="The client refused: not now"):
            client.request(method, params)


@REQUESTS
def test_a_state_alone_asks_the_client_to_call_again(method: str, params: dict[str, Any]) -> None:
    """S26-MRTR-03: which only the modern era can."""
    mcp = painter(lambda ctx: InputRequired(state=1) if ctx.request_state is None else str(ctx.request_state))
    assert said(Client(mcp, answer=lambda method, params: {}).request(method, params).raw) == "1"
    with pytest.raises(ProtocolError) as caught:
        Client(mcp, revision="2025-11-25", answer=lambda method, params: {}).request(method, params)
    assert caught.value.code == -32603


def test_rounds_without_an_end_are_given_up(caplog: pytest.LogCaptureFixture) -> None:
    mcp = painter(lambda ctx: InputRequired({"a": ListRoots()}))
    with pytest.raises(ProtocolError) as caught:
        Client(mcp, revision="2025-11-25", answer=lambda method, params: {"roots": []}).call_tool("tool")
    assert (caught.value.code, "64 rounds" in str(caplog.records[-1].exc_info)) == (-32603, True)


class Nosy(Handler):
    """Asks where nobody can be asked."""

    def features(self) -> frozenset[Feature]:
        return frozenset({"completions", "tools", "resources"})

    def tools(self, ctx: Context) -> list[Tool]:
        raise InputRequired({"a": ListRoots()})

    def resources(self, ctx: Context) -> list[Resource]:
        ctx.list_roots()
        return []

    def complete(self, ref: Any, argument: Any, context: Any, ctx: Context) -> list[str]:
        return [root.uri for root in ctx.list_roots()]

    def may_subscribe(self, uri: str, ctx: Context) -> bool:
        raise InputRequired({"a": ListRoots()})


@pytest.mark.parametrize("revision", list(SUPPORTED))
@pytest.mark.parametrize("method", ["tools/list", "resources/list", "completion/complete"])
def test_nobody_is_asked_by_other_methods(method: str, revision: str, caplog: pytest.LogCaptureFixture) -> None:
    """S26-MRTR-02, S26-BASE-13"""
    heard: list[Any] = []
    client = Client(
        Nosy(),
        revision=revision,
        capabilities=ALL,
        answer=lambda method, params: {"roots": []},
        on_message=heard.append,
    )
    with pytest.raises(ProtocolError) as caught:
        client.request(method, CALLS.get(method))
    assert caught.value.code == -32603
    assert not [message for message in heard if message.get("method") == "roots/list"]
    assert "failed" in caplog.text


def test_nobody_is_asked_whether_there_may_be_a_subscription() -> None:
    """S26-MRTR-02"""
    client = Client(Nosy(), capabilities=ALL)
    wanted = {"notifications": {"resourceSubscriptions": ["note://fixed"]}}
    with pytest.raises(ProtocolError) as caught, client.stream("subscriptions/listen", wanted) as stream:
        stream.result()
    assert caught.value.code == -32603


def test_a_page_that_is_required_after_a_question_is_an_error_with_its_data() -> None:
    """T25-ELI-04: also when the function has been run again."""
    page = ElicitUrl("Pay", "https://pay.example", "p1")

    def ask(ctx: Context) -> Any:
        if not ctx.input_responses:
            return InputRequired({"a": ListRoots()})
        raise UrlElicitationRequired([page])

    client = Client(painter(ask), revision="2025-11-25", answer=lambda method, params: {"roots": []})
    with pytest.raises(ProtocolError) as caught:
        client.call_tool("tool")
    params = {"mode": "url", "message": "Pay", "url": "https://pay.example", "elicitationId": "p1"}
    assert (caught.value.code, caught.value.data) == (-32042, {"elicitations": [params]})


def test_a_page_that_is_required_is_a_question_in_the_modern_era() -> None:
    """T25-ELI-04, S26-BASE-10"""

    def ask(ctx: Context) -> Any:
        if ctx.input_responses:
            return str(dict(ctx.input_responses))
        raise UrlElicitationRequired([ElicitUrl("Pay", "https://pay.example", "p1")])

    client = Client(painter(ask), answer=lambda method, params: {"action": "accept"})
    assert client.call_tool("tool").text == "{'elicitation-1': {'action': 'accept'}}"
    with pytest.raises(ProtocolError) as caught:
        Client(painter(ask), capabilities={"elicitation": {}}).call_tool("tool")
    assert (caught.value.code, caught.value.data) == (-32021, {"requiredCapabilities": {"elicitation": {"url": {}}}})


def test_an_application_that_catches_all_exceptions_still_asks() -> None:
    def careless(ctx: Context) -> Any:
        try:
            ctx.list_roots()
        except Exception:  # noqa: BLE001
            return "swallowed"

    assert Client(painter(careless), capabilities=ALL).request("tools/call", {"name": "tool"}).raw["inputRequests"]


@ASKING
def test_both_forms_together_ask_each_question_once(revision: str) -> None:
    """What was asked before an ``InputRequired`` is not asked again when the function runs again."""
    heard: list[str] = []

    def mixed(ctx: Context) -> Any:
        first = ctx.elicit("First?", SURE).action
        if ctx.request_state is None:
            raise InputRequired({"second": ElicitForm("Second?", SURE)}, state={"first": first})
        third = ctx.elicit("Third?", SURE).action
        return f"{ctx.request_state['first']} {first} {third}"

    def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
        heard.append(params["message"])
        return {"action": "decline"}

    assert Client(painter(mixed), revision=revision, answer=answer).call_tool("tool").text == "decline " * 2 + "decline"
    assert heard == ["First?", "Second?", "Third?"]


@ASKING
def test_a_state_comes_back_in_its_json_form(revision: str) -> None:
    def ask(ctx: Context) -> Any:
        return str(ctx.request_state) if ctx.request_state else InputRequired({"a": ListRoots()}, {"a": (1, NEW.name)})

    client = Client(painter(ask), revision=revision, answer=lambda method, params: {"roots": []})
    assert client.call_tool("tool").text == "{'a': [1, '2026-07-28']}"


@ASKING
def test_a_state_without_a_json_form_is_a_failure(revision: str, caplog: pytest.LogCaptureFixture) -> None:
    mcp = painter(lambda ctx: InputRequired({"a": ListRoots()}, object()))
    with pytest.raises(ProtocolError) as caught:
        Client(mcp, revision=revision, answer=lambda method, params: {"roots": []}).call_tool("tool")
    assert (caught.value.code, "object is no type that JSON knows" in str(caplog.records[-1].exc_info)) == (
        -32603,
        True,
    )


def test_a_function_may_say_that_it_returns_a_question() -> None:
    """What else it returns is promised to the client as ever."""
    mcp = MCPServer("typed")

    def text(ctx: Context) -> str | InputRequired:
        return "red" if ctx.input_responses else InputRequired({"a": ListRoots()})

    def data(ctx: Context) -> Optional[Color | InputRequired]:  # noqa: UP045 - the old spelling, too
        return Color("red") if ctx.input_responses else InputRequired({"a": ListRoots()})

    def never(ctx: Context) -> InputRequired:
        return InputRequired({"a": ListRoots()})

    for function in (text, data, never):
        mcp.add_tool(function)
    client = Client(mcp, answer=lambda method, params: {"roots": []})
    schemas = {tool["name"]: tool.get("outputSchema") for tool in client.list_tools()}
    assert (schemas["text"], schemas["never"]) == (None, None)
    assert "name" in json.dumps(schemas["data"])
    assert client.call_tool("text").text == "red"
    assert json.loads(client.call_tool("data").text) == {"name": "red"}


@dataclass
class Color:
    name: str
