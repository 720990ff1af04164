"""Group 4 of the requirements: what ``subscriptions/listen`` opens, over the endpoint (2026-07-28)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from mcp_wsgi import Context, Handler, MCPApp, MCPServer, ServerInfo
from mcp_wsgi.errors import OptionError
from mcp_wsgi.testing import Client, ProtocolError, Stream
from tests.spec.kit import refused, send

ALL = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


@pytest.fixture
def mcp() -> MCPServer:
    mcp = MCPServer("live")

    @mcp.tool
    def work(ctx: Context) -> str:
        ctx.report_progress(1, 2)
        ctx.info("at work")
        return "done"

    @mcp.prompt
    def ask() -> str:
        return "?"

    @mcp.resource("note://{name}")
    def note(name: str) -> str:
        return name

    return mcp


@pytest.fixture
def app(mcp: MCPServer) -> Iterator[MCPApp]:
    app = mcp.wsgi_app(workers="threads", max_streams=3, keepalive=0.05)
    yield app
    app.close()


def listen(app: MCPApp, **wanted: Any) -> Stream:
    return Client(app).stream("subscriptions/listen", {"notifications": wanted})


def acknowledged(stream: Stream) -> dict[str, Any]:
    message = next(stream)
    assert message["method"] == "notifications/subscriptions/acknowledged"
    notifications: dict[str, Any] = message["params"]["notifications"]
    return notifications


def test_the_acknowledgment_comes_first_and_names_what_is_honoured(app: MCPApp) -> None:
    """S26-SUB-02, S26-SUB-03"""
    with listen(app, **ALL, resourceSubscriptions=["note://a", "other://b"], moonPhase=True) as stream:
        assert acknowledged(stream) == {**ALL, "resourceSubscriptions": ["note://a"]}


def test_only_what_was_asked_for_is_sent(app: MCPApp) -> None:
    """S26-SUB-01: false is as good as absent."""
    with listen(app, toolsListChanged=False, promptsListChanged=True) as stream:
        assert acknowledged(stream) == {"promptsListChanged": True}
        assert app.tools_changed() == 0
        assert app.resources_changed() == 0
        assert app.prompts_changed() == 1
        assert next(stream)["method"] == "notifications/prompts/list_changed"


def test_every_message_names_its_subscription(app: MCPApp) -> None:
    """S26-SUB-04, S26-SUB-05, S26-SUB-09, Q-02: the result that ends the stream does, too."""
    streams = [listen(app, toolsListChanged=True) for _ in range(2)]
    for stream in streams:
        acknowledged(stream)
    assert app.tools_changed() == 2
    app.close()
    for stream in streams:
        changed, ending = list(stream)
        assert changed["params"]["_meta"][SUBSCRIPTION] == ending["id"]
        assert ending["result"]["_meta"][SUBSCRIPTION] == ending["id"]
        assert ending["result"]["resultType"] == "complete"


def test_a_change_of_a_live_server_is_told(app: MCPApp, mcp: MCPServer) -> None:
    """S26-SUB-12"""
    with listen(app, **ALL) as stream:
        acknowledged(stream)
        mcp.add_tool(lambda: "", name="late")
        assert next(stream)["method"] == "notifications/tools/list_changed"
        mcp.remove_prompt("ask")
        assert next(stream)["method"] == "notifications/prompts/list_changed"
        mcp.remove_resource("note://{name}")
        assert next(stream)["method"] == "notifications/resources/list_changed"


def test_updates_are_of_the_resources_asked_for(app: MCPApp) -> None:
    """S26-SUB-07"""
    with listen(app, resourceSubscriptions=["note://a"]) as stream:
        acknowledged(stream)
        assert app.resource_updated("note://b") == 0
        assert app.resource_updated("note://a") == 1
        message = next(stream)
        assert (message["method"], message["params"]["uri"]) == ("notifications/resources/updated", "note://a")


@pytest.mark.parametrize("params", [{}, {"notifications": None}, {"notifications": {"toolsListChanged": 1}}])
def test_the_filter_is_required_and_has_its_types(app: MCPApp, params: dict[str, Any]) -> None:
    """S26-SUB-06, Q-05"""
    reply = send(Client(app), "subscriptions/listen", params)
    assert refused(reply) == (200, -32602)


def test_neither_progress_nor_logs_come_on_it(app: MCPApp) -> None:
    """S26-SUB-08, S26-HTTP-07"""
    with listen(app, **ALL) as stream:
        acknowledged(stream)
        assert Client(app).call_tool("work", progress_token="t", log_level="debug").logs
        app.close()
        assert [message.get("method") for message in stream] == [None]


def test_a_lost_connection_keeps_no_subscription(app: MCPApp) -> None:
    """S26-SUB-11"""
    stream = listen(app, toolsListChanged=True)
    acknowledged(stream)
    stream.close()
    assert app.tools_changed() == 0


def test_the_answer_is_a_stream_or_a_refusal(app: MCPApp) -> None:
    """S26-SUB-13"""
    with listen(app) as stream:
        assert acknowledged(stream) == {}
        assert stream.http.headers["Content-Type"] == "text/event-stream"
    client = Client(app, headers={"Accept": "application/json"})
    with pytest.raises(ProtocolError) as caught:
        client.stream("subscriptions/listen", {"notifications": ALL})
    assert caught.value.http_status == 406


class Quiet(Handler):
    """Offers nothing whose changes could be told."""

    server_info = ServerInfo("quiet")


@pytest.mark.parametrize(
    ("handler", "options", "environ"),
    [
        (Quiet(), {}, {}),
        (MCPServer("empty"), {}, {}),
        (None, {"max_streams": 0}, {}),
        (None, {}, {"wsgi.multithread": False}),
    ],
    ids=["a handler that offers nothing", "an empty server", "no streams by option", "a server with one thread"],
)
def test_where_no_change_can_be_told_none_is_promised(
    mcp: MCPServer, handler: Handler | None, options: dict[str, Any], environ: dict[str, Any]
) -> None:
    """S26-SUB-13, S26-VER-04"""
    client = Client(MCPApp(handler or mcp, workers="threads", **options), environ=environ)
    with pytest.raises(ProtocolError) as caught:
        client.stream("subscriptions/listen", {"notifications": ALL})
    assert caught.value.code == -32601
    assert "listChanged" not in str(client.discover().raw["capabilities"])


def test_what_is_promised_is_what_can_be_told(app: MCPApp) -> None:
    """S26-VER-04."""
    capabilities = Client(app).discover().raw["capabilities"]
    assert capabilities["tools"] == capabilities["prompts"] == {"listChanged": True}
    assert capabilities["resources"] == {"listChanged": True, "subscribe": True}
    session_era = Client(app, revision="2025-11-25").initialize().raw["capabilities"]
    assert "listChanged" not in str(session_era)


def test_there_is_an_end_to_streams(app: MCPApp) -> None:
    """The budget of streams, and that of one principal."""
    streams = [listen(app, **ALL) for _ in range(3)]
    with pytest.raises(ProtocolError) as caught:
        listen(app, **ALL)
    assert caught.value.http_status == 503
    assert caught.value.reply is not None
    assert caught.value.reply.headers["Retry-After"]
    for stream in streams:
        stream.close()
    listen(app, **ALL).close()


def test_a_principal_has_an_end_of_its_own(mcp: MCPServer) -> None:
    users = {name: type("User", (), {"id": name})() for name in ("ann", "bob")}
    app = mcp.wsgi_app(
        workers="threads",
        max_streams=9,
        max_listens_per_principal=1,
        auth=lambda request: users[request.headers["X-User"]],
    )

    def of(name: str) -> Stream:
        return Client(app, headers={"X-User": name}).stream("subscriptions/listen", {"notifications": ALL})

    with of("ann"), of("bob"):
        with pytest.raises(ProtocolError) as caught:
            of("ann")
        assert caught.value.http_status == 503


def test_a_closed_application_opens_no_streams(app: MCPApp) -> None:
    app.close()
    with pytest.raises(ProtocolError) as caught:
        listen(app, **ALL)
    assert caught.value.http_status == 503


def test_a_negative_budget_is_refused(mcp: MCPServer) -> None:
    with pytest.raises(OptionError, match="max_streams"):
        mcp.wsgi_app(max_streams=-1)
