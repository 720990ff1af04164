"""The testing kit, on real servers of ours and on small ones that break the rules."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from wsgiref.validate import validator

import pytest

from mcp_wsgi import Context, Handler, MCPServer
from mcp_wsgi.errors import ConfigurationError, MCPError, OptionError
from mcp_wsgi.http_client import Answer, Transport
from mcp_wsgi.revisions import LEGACY, MODERN, REVISIONS, SUPPORTED
from mcp_wsgi.testing import Client, Listing, ProtocolError
from mcp_wsgi.wsgi.app import MCPApp
from tests.clients import Spy, kit
from tests.recorder import Checked

NEWEST = MODERN[0].name
NEWEST_LEGACY = LEGACY[0].name


@pytest.fixture
def mcp() -> MCPServer:
    return kit()


# --- both eras ------------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", SUPPORTED)
def test_every_method_works_in_every_revision(mcp: MCPServer, revision: str) -> None:
    app = validator(Checked(MCPApp(mcp, workers="inline")))
    with Client(app, revision=revision) as client:
        assert client.list_tools().names[:2] == ["add", "fail"]
        assert client.list_resources().names == ["words", "data"]
        assert client.list_resource_templates()["kit://item/{number}"]["name"] == "item"
        assert client.list_prompts()["ask"]["description"] == "Ask about it."
        assert client.call_tool("add", a=1, b=2).text == "3"
        assert client.read_resource("kit://text").text == "some words"
        assert client.read_resource("kit://bytes").blob == b"\0\1"
        assert client.get_prompt("ask", topic="x").text == "x, plain"
        assert client.complete("ask", "tone", "p").values == ["plain", "polite"]
        assert client.request("tools/list").raw["tools"] == list(client.list_tools())


@pytest.mark.parametrize("revision", SUPPORTED)
def test_progress_and_logs_come_in_order(mcp: MCPServer, revision: str) -> None:
    heard: list[Any] = []
    with Client(mcp, revision=revision) as client:
        reply = client.call_tool("work", steps=2, progress=lambda *update: heard.append(update), log_level="info")
    assert heard == [(1, 2, "step 1"), (2, 2, "step 2")]
    assert [update.message for update in reply.progress] == ["step 1", "step 2"]
    assert [log.data for log in reply.logs] == [{"step": 1}, {"step": 2}]
    assert [n["method"].rpartition("/")[2] for n in reply.notifications] == ["progress", "message"] * 2
    assert reply.streamed


def test_without_asking_nothing_comes_before_the_result(mcp: MCPServer) -> None:
    reply = Client(mcp).call_tool("work", steps=2)
    assert reply.notifications == ()
    assert not reply.streamed


def test_a_token_of_ones_own_asks_for_progress(mcp: MCPServer) -> None:
    assert [update.token for update in Client(mcp).call_tool("work", steps=1, progress_token=7).progress] == [7]


def test_log_messages_below_the_level_are_not_asked_for(mcp: MCPServer) -> None:
    assert Client(mcp).call_tool("work", steps=1, log_level="warning").logs == ()


def test_a_tool_that_fails_is_a_result(mcp: MCPServer) -> None:
    reply = Client(mcp).call_tool("fail")
    assert (reply.is_error, reply.text) == (True, "no luck")


@pytest.mark.parametrize(("revision", "code"), [(NEWEST, -32602), (NEWEST_LEGACY, -32002)])
def test_a_refused_request_raises_with_its_code(mcp: MCPServer, revision: str, code: int) -> None:
    with pytest.raises(ProtocolError, match="Resource not found") as caught:
        Client(mcp, revision=revision).read_resource("kit://none")
    assert (caught.value.code, caught.value.data) == (code, {"uri": "kit://none"})


def test_arguments_go_by_name_or_as_a_mapping(mcp: MCPServer) -> None:
    client = Client(mcp)
    assert client.call_tool("add", {"a": 1}, b=2).text == "3"
    assert client.call_tool("meta", {"meta": "an argument"}, meta={"x/y": 1}).text == "an argument"
    assert client.get_prompt("ask", {"topic": "a"}, tone="b").text == "a, b"


@pytest.mark.parametrize("revision", SUPPORTED)
def test_lists_are_read_page_by_page(revision: str) -> None:
    mcp = MCPServer("many")
    for number in range(7):
        mcp.add_tool(lambda: "", name=f"tool_{number}")
    client = Client(mcp, revision=revision, page_size=3)
    assert client.list_tools().names == [f"tool_{number}" for number in range(7)]
    first = client.page("tools")
    assert first.names == ["tool_0", "tool_1", "tool_2"]
    assert client.page("tools", first.next_cursor).names == ["tool_3", "tool_4", "tool_5"]


def test_an_empty_cursor_is_a_cursor(mcp: MCPServer) -> None:
    """S26-PAGE-01: an empty string is a cursor too; no server of ours has issued it."""
    with pytest.raises(ProtocolError) as caught:
        Client(mcp).page("tools", "")
    assert caught.value.code == -32602


# --- who is calling -------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class User:
    id: str


@pytest.mark.parametrize("revision", SUPPORTED)
def test_a_principal_is_whom_the_tool_sees(mcp: MCPServer, revision: str) -> None:
    client = Client(mcp, revision=revision, principal=User("ada"))
    assert client.call_tool("whoami").text.startswith("ada ")
    assert Client(mcp, revision=revision).call_tool("whoami").text.startswith("None ")


def test_a_principal_is_for_a_handler_only(mcp: MCPServer) -> None:
    with pytest.raises(ConfigurationError, match="principal: for a server or handler only"):
        Client(MCPApp(mcp), principal=User("ada"))
    with pytest.raises(ConfigurationError, match="page_size: for a server or handler only"):
        Client(MCPApp(mcp), page_size=1)


def test_a_wrong_option_is_refused(mcp: MCPServer) -> None:
    with pytest.raises(OptionError, match="page_siz"):
        Client(mcp, page_siz=1)


@pytest.mark.parametrize("target", [None, "kit", Handler])
def test_what_cannot_be_called_is_refused(target: Any) -> None:
    with pytest.raises(ConfigurationError, match="no server, handler or WSGI application"):
        Client(target)


def test_an_unknown_revision_is_refused_with_those_there_are(mcp: MCPServer) -> None:
    with pytest.raises(ConfigurationError, match=r"2024-01-01.*2026-07-28"):
        Client(mcp, revision="2024-01-01")
    assert Client(mcp, revision=REVISIONS[NEWEST_LEGACY]).revision.name == NEWEST_LEGACY
    assert Client(mcp).revision is MODERN[0]


def test_the_endpoint_may_be_elsewhere(mcp: MCPServer) -> None:
    assert Client(mcp, path="/tools/kit").call_tool("add", a=1, b=1).text == "2"
    with pytest.raises(ProtocolError) as caught:
        Client(MCPApp(mcp), path="/elsewhere").list_tools()
    assert caught.value.http_status == 404


# --- the session era ------------------------------------------------------------------------------


def test_a_legacy_conversation_is_opened_on_first_use(mcp: MCPServer) -> None:
    """T25-LIFE-01, T25-HTTP-20."""
    spy = Spy(mcp)
    client = Client(spy, revision=NEWEST_LEGACY, capabilities={"roots": {}})
    assert spy.seen == []
    client.ping()
    assert [body["method"] for body in spy.bodies] == ["initialize", "notifications/initialized", "ping"]
    assert spy.bodies[0]["params"]["capabilities"] == {"roots": {}}
    assert [seen.get("HTTP_MCP_PROTOCOL_VERSION") for seen in spy.seen] == [None, NEWEST_LEGACY, NEWEST_LEGACY]
    client.set_level("error")
    assert len(spy.seen) == 4
    assert spy.header("Mcp-Method") is None


def test_a_modern_client_opens_nothing(mcp: MCPServer) -> None:
    spy = Spy(mcp)
    with Client(spy) as client:
        client.list_prompts()
    assert [body["method"] for body in spy.bodies] == ["prompts/list"]


@pytest.mark.parametrize("era", [NEWEST, NEWEST_LEGACY])
def test_methods_of_the_other_era_are_refused_by_the_server(mcp: MCPServer, era: str) -> None:
    """DUAL-03."""
    client = Client(mcp, revision=era)
    foreign = ["ping", "initialize", "logging/setLevel"] if era == NEWEST else ["server/discover"]
    for method in foreign:
        with pytest.raises(ProtocolError) as caught:
            client.request(method)
        assert (caught.value.code, caught.value.http_status) == (-32601, 404 if era == NEWEST else 200)


class Scripted:
    """A WSGI application that answers by method: a result, an error, or what a function makes of the message."""

    def __init__(self, script: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        self.script = script
        self.headers = headers or {}
        self.seen: list[tuple[str, str | None, str | None]] = []

    def __call__(self, environ: dict[str, Any], start_response: Any) -> list[bytes]:
        message = json.loads(environ["wsgi.input"].read() or b"{}")
        http_method, method = environ["REQUEST_METHOD"], message.get("method")
        self.seen.append((http_method, method, environ.get("HTTP_MCP_SESSION_ID")))
        status, content_type, body = self.answer(http_method, message)
        fields = {"Content-Type": content_type, **self.headers}
        start_response(status, list(fields.items()))
        return [body]

    def answer(self, http_method: str, message: dict[str, Any]) -> tuple[str, str, bytes]:
        if http_method != "POST" or "id" not in message or "method" not in message:
            return self.script.get(http_method, ("202 Accepted", "text/plain", b""))  # type: ignore[no-any-return]
        scripted = self.script.get(message["method"], {})
        if isinstance(scripted, tuple):
            return scripted
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": scripted}
        return "200 OK", "application/json", json.dumps(answer).encode()


HELLO = {"protocolVersion": NEWEST_LEGACY, "capabilities": {}, "serverInfo": {"name": "s", "version": "0"}}


def test_a_session_id_is_kept_and_given_back() -> None:
    """T25-SESS-01, T25-SESS-05."""
    app = Scripted({"initialize": HELLO}, {"Mcp-Session-Id": "s-1"})
    with Client(app, revision=NEWEST_LEGACY) as client:
        assert client.session_id == "s-1"
        client.ping()
    assert app.seen == [
        ("POST", "initialize", None),
        ("POST", "notifications/initialized", "s-1"),
        ("POST", "ping", "s-1"),
        ("DELETE", None, "s-1"),
    ]
    client.close()
    client.ping()
    assert app.seen[4:] == [("POST", "initialize", None), *app.seen[1:3]]


def test_a_server_that_ends_no_sessions_is_left_all_the_same() -> None:
    """T25-SESS-05: DELETE may be answered by 405."""
    script = {"initialize": HELLO, "DELETE": ("405 Method Not Allowed", "text/plain", b"")}
    with Client(Scripted(script, {"Mcp-Session-Id": "s"}), revision=NEWEST_LEGACY) as client:
        pass
    assert client.session_id is None


def test_the_client_speaks_what_the_server_chose() -> None:
    """T25-LIFE-02."""
    app = Scripted({"initialize": {**HELLO, "protocolVersion": "2025-06-18"}})
    with Client(app, revision=NEWEST_LEGACY) as client:
        assert client.revision.name == "2025-06-18"


@pytest.mark.parametrize("chosen", ["1999-01-01", NEWEST, None])
def test_a_revision_that_cannot_be_chosen_is_refused(chosen: str | None) -> None:
    """DUAL-04."""
    app = Scripted({"initialize": {**HELLO, "protocolVersion": chosen}})
    with pytest.raises(ProtocolError, match="the server chose the revision"):
        Client(app, revision=NEWEST_LEGACY).initialize()


# --- raw requests ---------------------------------------------------------------------------------


def test_a_body_can_be_posted_as_it_is(mcp: MCPServer) -> None:
    client = Client(mcp)
    reply = client.post(b"{")
    assert (reply.status, reply.json["error"]["code"]) == (400, -32700)
    assert client.post([1]).json["error"]["code"] == -32600
    good = client.post(client.message("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}}))
    assert good.json["result"]["content"][0]["text"] == "3"


@pytest.mark.parametrize("params", [None, [], "x", {"name": 1}, {"name": "add", "arguments": []}])
def test_odd_messages_can_be_posted(mcp: MCPServer, params: object) -> None:
    client = Client(mcp)
    client.list_tools()
    message = {**client.message("tools/call"), "params": params}
    assert client.post(message).status == 400
    assert client.post({**message, "method": 5}).status == 400


def test_other_http_methods_can_be_sent(mcp: MCPServer) -> None:
    spy = Spy(mcp)
    reply = Client(spy).http("GET")
    assert (reply.status, reply.headers["Allow"]) == (405, "POST, OPTIONS")
    assert "CONTENT_TYPE" not in spy.seen[-1]


def test_a_notification_is_accepted_or_raises(mcp: MCPServer) -> None:
    """S26-HTTP-05."""
    Client(mcp).notify("notifications/cancelled", {"requestId": 1})
    with pytest.raises(ProtocolError, match="HTTP 404"):
        Client(MCPApp(mcp, path="/other")).notify("notifications/cancelled")


# --- streams --------------------------------------------------------------------------------------


def test_a_stream_gives_each_message_as_it_is_made(mcp: MCPServer) -> None:
    done: list[int] = []

    @mcp.tool
    def slow(ctx: Context) -> str:
        for step in (1, 2):
            ctx.report_progress(step)
            done.append(step)
        return "slow"

    with Client(mcp).stream("tools/call", {"name": "slow"}, progress_token="t") as stream:
        assert next(stream)["params"]["progress"] == 1
        assert done == []
        assert next(stream)["params"]["progress"] == 2
        assert done == [1]
        assert stream.result()["content"][0]["text"] == "slow"
        assert list(stream) == []
    assert stream.http.status == 200


def test_closing_a_stream_is_a_disconnect(mcp: MCPServer) -> None:
    """S26-HTTP-13: the call is cancelled."""
    ended: list[str] = []

    @mcp.tool
    def endless(ctx: Context) -> str:
        try:
            while True:
                ctx.report_progress(len(ended) + 1)
                ended.append("step")
        finally:
            ended.append("end")

    with Client(mcp, progress_rate=1e6).stream("tools/call", {"name": "endless"}, progress_token=1) as stream:
        next(stream)
        stream.close()
    assert ended[-1] == "end"
    assert list(stream) == []


def test_on_message_hears_everything(mcp: MCPServer) -> None:
    heard: list[Any] = []
    client = Client(mcp, on_message=heard.append)
    client.call_tool("work", steps=1, progress_token="t")
    assert [message.get("method", "response") for message in heard] == ["notifications/progress", "response"]


def test_what_the_application_raises_reaches_the_test() -> None:
    def app(environ: dict[str, Any], start_response: Any) -> Iterator[bytes]:
        start_response("200 OK", [("Content-Type", "text/event-stream")])
        yield b": hello\n\n"
        raise ValueError("boom")

    with pytest.raises(ValueError, match="boom"):
        Client(app).list_tools()


# --- servers that break the rules -----------------------------------------------------------------


def streamed(*messages: Any) -> tuple[str, str, bytes]:
    return "200 OK", "text/event-stream", b"".join(b"data: %s\n\n" % json.dumps(m).encode() for m in messages)


RESULT = {"jsonrpc": "2.0", "id": 1, "result": {}}
NOTE = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}}

BROKEN: dict[str, tuple[Any, str]] = {
    "accepted, not answered": (("202 Accepted", "text/plain", b""), "HTTP 202 Accepted"),
    "not found": (("404 Not Found", "text/html", b"<p>"), "HTTP 404 Not Found: <p>"),
    "a redirect": (("307 Temporary Redirect", "text/plain", b""), "HTTP 307"),
    "a page": (("200 OK", "text/html", b"<p>"), "neither JSON nor an event stream"),
    "no JSON": (("200 OK", "application/json", b"{"), "not JSON"),
    "NaN": (("200 OK", "application/json", b'{"id":1,"result":NaN}'), "NaN"),
    "no message": (("200 OK", "application/json", b"{}"), "something else than JSON-RPC"),
    "a number": (("200 OK", "application/json", b"1"), "something else than JSON-RPC"),
    "nothing": (streamed(), "without a response"),
    "no response": (streamed(NOTE), "without a response"),
    "another's response": (streamed({**RESULT, "id": 9}), "without a response"),
    "more after the response": (streamed(RESULT, NOTE), "after the response"),
    "two responses": (streamed(RESULT, RESULT), "after the response"),
    "a result that is no object": (streamed({**RESULT, "result": []}), "its result is no object"),
    "an error that is none": (streamed({"id": 1, "error": "x"}), "malformed error"),
    "a list without end": ({"tools": [], "nextCursor": "same"}, "in circles"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_answer_is_a_protocol_error(case: str) -> None:
    answer, words = BROKEN[case]
    with pytest.raises(ProtocolError, match=words) as caught:
        Client(Scripted({"tools/list": answer})).list_tools()
    assert caught.value.code == 0


def test_an_error_without_an_id_answers_the_request() -> None:
    """S26-BASE-06: the id is left out when it could not be read."""
    error = {"jsonrpc": "2.0", "error": {"code": -32700, "message": "Parse error"}}
    with pytest.raises(ProtocolError) as caught:
        Client(Scripted({"x": ("200 OK", "application/json", json.dumps(error).encode())})).request("x")
    assert (caught.value.code, caught.value.http_status) == (-32700, 200)


def test_messages_that_are_neither_notification_nor_response_are_only_heard() -> None:
    question = {"jsonrpc": "2.0", "id": "q-1", "method": "roots/list"}
    heard: list[Any] = []
    client = Client(Scripted({"x": streamed(question, {**RESULT, "id": 1})}), on_message=heard.append)
    assert client.request("x").notifications == ()
    assert heard[0] == question


def test_a_transport_that_need_not_be_read_to_its_end_is_not() -> None:
    """A server may leave the stream open after the response."""

    class Endless(Answer):
        status, reason, fields = 200, "OK", (("Content-Type", "text/event-stream"),)

        def __iter__(self) -> Iterator[bytes]:
            yield b"data: " + json.dumps(RESULT).encode() + b"\n\n"
            raise AssertionError("read on")

        def close(self) -> None:
            closed.append(self)

    class Line(Transport):
        def open(self, method: str, fields: Any, body: bytes | None = None) -> Answer:
            return Endless()

    closed: list[Answer] = []
    assert Client(Line()).request("x").raw == {}
    assert len(closed) == 1


# --- questions ------------------------------------------------------------------------------------

ASKING = pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25", "2026-07-28"])


def asking() -> MCPServer:
    mcp = MCPServer("asking")

    @mcp.tool
    def ask(ctx: Context) -> str:
        name = ctx.elicit("Name?", {"type": "object", "properties": {"name": {"type": "string"}}})
        return f"{name.data} {ctx.sample('Hi', max_tokens=3).text} {[root.uri for root in ctx.list_roots()]}"

    @mcp.tool
    def on_and_on(ctx: Context) -> str:
        for number in range(1000):
            ctx.list_roots(key=f"{number}")
        return "done"

    return mcp


def answers(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "elicitation/create":
        assert params["message"] == "Name?"
        return {"action": "accept", "content": {"name": "Ann"}}
    if method == "sampling/createMessage":
        return {"role": "assistant", "content": {"type": "text", "text": "hi"}, "model": "m"}
    return {"roots": [{"uri": "file:///a"}]}


@ASKING
def test_questions_are_answered_by_a_function(revision: str) -> None:
    client = Client(asking(), revision=revision, answer=answers)
    assert client.call_tool("ask").text == "{'name': 'Ann'} hi ['file:///a']"


@ASKING
def test_who_gives_no_answers_declares_that_nothing_can_be_asked(revision: str) -> None:
    client = Client(asking(), revision=revision)
    if revision == NEWEST:
        with pytest.raises(ProtocolError, match="has not declared elicitation"):
            client.call_tool("ask")
    else:
        assert "has not declared elicitation" in client.call_tool("ask").text


def test_without_answers_the_end_of_a_round_is_the_result() -> None:
    raw = Client(asking(), capabilities={"elicitation": {}}).request("tools/call", {"name": "ask"}).raw
    assert (raw["resultType"], list(raw["inputRequests"])) == ("input_required", ["elicitation-1"])


def test_without_answers_questions_of_the_session_era_are_refused() -> None:
    client = Client(asking(), revision="2025-11-25", capabilities={"elicitation": {}}, sessions=True)
    reply = client.call_tool("ask")
    assert (reply.is_error, reply.text) == (True, "The client refused: this client answers no questions")


def test_capabilities_may_say_less_than_there_are_answers() -> None:
    client = Client(asking(), answer=answers, capabilities={"elicitation": {}})
    with pytest.raises(ProtocolError) as caught:
        client.call_tool("ask")
    assert caught.value.data == {"requiredCapabilities": {"sampling": {}}}


def test_an_answer_may_refuse_in_the_session_era() -> None:
    def refuse(method: str, params: dict[str, Any]) -> dict[str, Any]:
        raise MCPError("no", code=-1)

    reply = Client(asking(), revision="2025-11-25", answer=refuse).call_tool("ask")
    assert (reply.is_error, reply.text) == (True, "The client refused: no")
    with pytest.raises(MCPError, match="no"):
        Client(asking(), answer=refuse).call_tool("ask")


def test_what_an_answer_raises_reaches_the_test() -> None:
    def broken(method: str, params: dict[str, Any]) -> dict[str, Any]:
        raise KeyError(method)

    for revision in (NEWEST, NEWEST_LEGACY):
        with pytest.raises(KeyError, match="elicitation/create"):
            Client(asking(), revision=revision, answer=broken, input_timeout=0.1).call_tool("ask")


def test_a_server_that_asks_on_and_on_is_given_up() -> None:
    with pytest.raises(ProtocolError, match="64 rounds were not enough"):
        Client(asking(), answer=answers).call_tool("on_and_on")


@ASKING
def test_other_arguments_reach_the_function_in_every_round(revision: str) -> None:
    mcp, seen = MCPServer("rounds"), []

    @mcp.tool
    def ask(number: int, ctx: Context) -> str:
        ctx.report_progress(1, 1)
        seen.append(number)
        return f"{number} {len(ctx.list_roots())}"

    heard: list[float] = []
    client = Client(mcp, revision=revision, answer=answers)
    reply = client.call_tool("ask", number=7, progress=lambda done, total, message: heard.append(done))
    assert reply.text == "7 1"
    assert len(heard) == len(seen) == (2 if revision == NEWEST else 1)


# --- what it costs --------------------------------------------------------------------------------


def test_importing_the_kit_loads_no_framework() -> None:
    code = (
        "import mcp_wsgi.testing, sys; print({'gevent', 'werkzeug', 'jsonschema', 'asyncio', 'ssl'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "set()\n"


def test_a_listing_is_what_the_lists_return(mcp: MCPServer) -> None:
    assert isinstance(Client(mcp).list_tools(), Listing)
