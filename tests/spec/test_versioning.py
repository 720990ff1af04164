"""Requirements, group 2: versions, discovery, opening, and both eras on one endpoint."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_wsgi import Handler, InitParams, MCPServer
from mcp_wsgi.revisions import SUPPORTED
from mcp_wsgi.testing import Client
from tests.spec.kit import CALLS, MODERN, PREFIX, Connect, declared, everything, refusal, refused, send

SESSION = ("2025-11-25", "2025-06-18", "2025-03-26")
#: Methods of the session era that the modern one has dropped.
GONE = ("initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe")


def initialize(version: Any = "2025-11-25", **more: Any) -> dict[str, Any]:
    """An ``initialize`` message; ``more`` replaces parameters."""
    client = {"capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    params = {"protocolVersion": version, **client, **more}
    return {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}


def post(client: Client, message: dict[str, Any], version: str | None = None, **headers: str | None) -> Any:
    """Post with the version header given, or with none, and with no other header of the protocol."""
    fields = {"MCP-Protocol-Version": version, "Mcp-Method": None, "Mcp-Name": None}
    return client.post(message, headers={**fields, **{key.replace("_", "-"): text for key, text in headers.items()}})


# --- versions -------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["v999.0.0", "2027-01-01", "", "2025-11-25", "2024-11-05"])
def test_a_version_that_no_request_may_have_is_answered_by_those_it_may(connect: Connect, version: str) -> None:
    """S26-VER-01, S26-HTTP-15, DUAL-05, Q-07: 400, -32022, what is supported and what was asked."""
    client = connect()
    message = client.message("tools/list")
    message["params"]["_meta"][PREFIX + "protocolVersion"] = version
    reply = client.post(message, headers={"MCP-Protocol-Version": version})
    assert refused(reply) == (400, -32022)
    assert refusal(reply)["data"] == {"supported": list(SUPPORTED), "requested": version}
    assert refusal(reply)["data"]["supported"] == client.discover().raw["supportedVersions"]


def test_discovery_tells_versions_capabilities_and_instructions(connect: Connect) -> None:
    """S26-VER-02, S26-VER-03, S26-VER-04, S26-TOOL-01, S26-RES-01, S26-PRM-01, Q-10: the name is in ``_meta``."""
    mcp = everything()
    mcp.instructions = "Ask for tea."
    result = connect(mcp).discover().raw
    assert result["supportedVersions"] == [MODERN, *SESSION]
    features = ("completions", "logging", "prompts", "resources", "tools")
    assert result["capabilities"] == {feature: declared(feature, MODERN) for feature in features}
    assert result["instructions"] == "Ask for tea."
    assert (result["resultType"], result["ttlMs"], result["cacheScope"]) == ("complete", 0, "private")
    assert result["_meta"][PREFIX + "serverInfo"]["name"] == "everything"
    assert "serverInfo" not in result
    assert "instructions" not in connect().discover().raw


def test_what_is_advertised_is_what_is_answered(connect: Connect, revision: str) -> None:
    """S26-VER-04, T25-LIFE-07: each capability with its methods, and none without."""
    behind = {"tools": "tools/list", "resources": "resources/list", "prompts": "prompts/list"}

    class Tools(Handler):
        def tools(self, ctx: Any) -> Any:
            return []

    class Resources(Handler):
        def resource_templates(self, ctx: Any) -> Any:
            return []

    class Prompts(Handler):
        def prompts(self, ctx: Any) -> Any:
            return []

    for handler, name in ((Tools(), "tools"), (Resources(), "resources"), (Prompts(), "prompts")):
        client = connect(handler, revision)
        opened = client.discover() if revision == MODERN else client.initialize()
        assert opened.raw["capabilities"] == {"logging": {}, name: declared(name, revision)}
        for capability, method in behind.items():
            reply = send(client, method)
            if capability == name:
                assert "result" in reply.json
            else:
                assert refused(reply) == (404 if revision == MODERN else 200, -32601)


def test_no_extension_is_on_by_itself(connect: Connect, revision: str) -> None:
    """S26-VER-07: nothing is offered that nobody opted in to."""
    client = connect(revision=revision)
    opened = client.discover() if revision == MODERN else client.initialize()
    assert not opened.raw["capabilities"].keys() & {"extensions", "tasks", "experimental"}


def test_a_client_with_extensions_gets_core_behaviour(connect: Connect) -> None:
    """S26-VER-06: what a client declares beyond the core changes nothing here."""
    extensions: dict[str, Any] = {"extensions": {"com.example/x": {}, PREFIX + "tasks": {}}}
    plain, extended = connect(), connect(capabilities=extensions)
    for method in CALLS:
        assert send(plain, method).body == send(extended, method).body


# --- opening a session ----------------------------------------------------------------------------


def test_initialize_is_answered_with_all_it_needs(connect: Connect, session_revision: str) -> None:
    """T25-LIFE-01, T25-TOOL-01, T25-RES-01, T25-PRM-01, T25-COMP-01, T25-LOG-01: version, capabilities, serverInfo."""
    mcp = everything()
    mcp.instructions = "Ask for tea."
    result = connect(mcp, session_revision).initialize().raw
    assert result.keys() == {"protocolVersion", "capabilities", "serverInfo", "instructions"}
    assert result["capabilities"] == {"completions": {}, "logging": {}, "prompts": {}, "resources": {}, "tools": {}}
    assert (result["serverInfo"]["name"], result["serverInfo"]["version"]) == ("everything", "1.2")
    assert "instructions" not in connect(revision=session_revision).initialize().raw


@pytest.mark.parametrize(
    ("asked", "agreed"),
    [
        *((version, version) for version in SESSION),
        (MODERN, "2025-11-25"),
        ("2024-11-05", "2025-11-25"),
        ("2030-01-01", "2025-11-25"),
        ("", "2025-11-25"),
    ],
)
def test_the_clients_version_is_taken_or_the_newest_offered(connect: Connect, asked: str, agreed: str) -> None:
    """T25-LIFE-02, DUAL-04: never 2026-07-28, which has no ``initialize``."""
    result = post(connect(revision="2025-11-25"), initialize(asked)).json["result"]
    assert result["protocolVersion"] == agreed


@pytest.mark.parametrize("header", [None, "2025-11-25", "2025-03-26", "1999-01-01", "?"])
def test_the_version_header_of_initialize_means_nothing(connect: Connect, header: str | None) -> None:
    """T25-HTTP-20: some clients send one; the parameters say what is asked for."""
    result = post(connect(revision="2025-11-25"), initialize("2025-06-18"), header).json["result"]
    assert result["protocolVersion"] == "2025-06-18"


@pytest.mark.parametrize("version", [None, 5, ["2025-11-25"], {}])
def test_initialize_without_a_version_is_refused(connect: Connect, version: object) -> None:
    """T25-LIFE-01: its parameters are checked, and the refusal is HTTP 200 like every error of a request."""
    assert refused(post(connect(revision="2025-11-25"), initialize(version))) == (200, -32602)


@pytest.mark.parametrize("wrong", [{"capabilities": []}, {"clientInfo": "x"}])
def test_initialize_with_wrong_parameters_is_refused(connect: Connect, wrong: dict[str, Any]) -> None:
    """T25-LIFE-01: objects are objects."""
    assert refused(post(connect(revision="2025-11-25"), initialize(**wrong))) == (200, -32602)


def test_nothing_comes_before_the_answer_to_initialize(connect: Connect, session_revision: str) -> None:
    """T25-LIFE-04: the only message is the result."""

    class Greeting(Handler):
        def init(self, params: InitParams) -> dict[str, Any]:
            assert params.revision.name == session_revision
            assert params.client_info["name"] == "test"
            return {}

    (answer,) = post(connect(Greeting(), session_revision), initialize(session_revision)).messages
    assert answer["result"]["protocolVersion"] == session_revision


def test_each_request_is_served_in_the_version_of_its_header(connect: Connect, session_revision: str) -> None:
    """T25-LIFE-03, DUAL-10: fields that a revision lacks are not sent in it."""
    tool = connect(revision=session_revision).list_tools()["add"]
    assert ("outputSchema" in tool) is (session_revision != "2025-03-26")


# --- two eras, one endpoint -----------------------------------------------------------------------


def test_one_endpoint_serves_both_eras_at_once(connect: Connect) -> None:
    """DUAL-02, S26-BASE-20: conversations of both eras, taking turns."""
    app = everything().wsgi_app(workers="inline")
    clients = [connect(app, version) for version in SUPPORTED]
    for _ in range(2):
        for client in clients:
            assert client.call_tool("echo", text=client.revision.name).text == client.revision.name


def test_meta_makes_a_request_modern_and_initialize_without_it_is_not(connect: Connect) -> None:
    """DUAL-01: the era is chosen by the envelope, never by the method or by Mcp-Method."""
    client = connect()
    modern = client.message("tools/list")
    assert client.post(modern).json["result"]["resultType"] == "complete"
    reply = post(client, initialize(), Mcp_Method="initialize")
    assert reply.json["result"]["protocolVersion"] == "2025-11-25"
    legacy = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    reply = post(client, legacy, "2025-11-25", Mcp_Method="tools/list")
    assert "resultType" not in reply.json["result"]


@pytest.mark.parametrize("method", GONE)
def test_methods_of_the_session_era_do_not_exist_in_the_modern(connect: Connect, method: str) -> None:
    """DUAL-03, S26-HTTP-16: 404 and -32601, since the era is chosen before the method."""
    assert refused(
        send(connect(), method, {"protocolVersion": "2025-11-25", "level": "info", "uri": "note://fixed"})
    ) == (
        404,
        -32601,
    )


@pytest.mark.parametrize("method", ["server/discover", "nope", "resources/subscribe", "tasks/get"])
def test_a_method_that_a_session_lacks_is_no_404(connect: Connect, session_revision: str, method: str) -> None:
    """DUAL-08: 404 would tell a session-era client that its session is gone."""
    client = connect(revision=session_revision)
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"uri": "note://fixed"}}
    assert refused(client.post(message)) == (200, -32601)


def test_initialize_with_a_modern_header_is_told_the_versions(connect: Connect) -> None:
    """Q-07, DUAL-01, DUAL-07: 400 and -32602; the text names what is served."""
    reply = post(connect(), initialize(MODERN), MODERN, Mcp_Method="initialize")
    assert refused(reply) == (400, -32602)
    assert all(version in refusal(reply)["message"] for version in SUPPORTED)


def test_without_a_version_header_a_request_is_of_the_oldest_revision(connect: Connect) -> None:
    """DUAL-06, T25-HTTP-19: but with a modern ``_meta`` the missing header is a mismatch."""
    client = connect()
    legacy = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    assert "outputSchema" not in post(client, legacy).json["result"]["tools"][1]
    assert refused(client.post(client.message("tools/list"), headers={"MCP-Protocol-Version": None})) == (400, -32020)


def test_a_batch_without_a_version_header_is_of_the_oldest_revision(connect: Connect) -> None:
    """Q-11: served, unless its messages are modern, whose bodies hold one message."""
    client = connect(revision="2025-03-26")
    legacy = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert client.post([legacy]).json == [{"jsonrpc": "2.0", "id": 1, "result": {}}]
    modern = connect().message("tools/list")
    assert refused(connect().post([modern], headers={"MCP-Protocol-Version": None})) == (400, -32600)


@pytest.mark.parametrize("http_method", ["GET", "DELETE"])
def test_get_and_delete_are_not_served_in_the_modern_era(connect: Connect, http_method: str) -> None:
    """DUAL-09, S26-HTTP-37: 405, whatever session or event they name."""
    headers = {"Mcp-Session-Id": "x", "Last-Event-ID": "y"}
    assert refused(connect().http(http_method, headers=headers)) == (405, -32600)


def test_session_ids_and_event_ids_are_ignored(connect: Connect, revision: str) -> None:
    """DUAL-09, S26-HTTP-37: without stored sessions no id is minted, echoed or looked at."""
    client = connect(revision=revision)
    reply = send(client, "tools/list", None, Mcp_Session_Id="x", Last_Event_ID="y")
    assert reply.status == 200
    assert reply.headers["Mcp-Session-Id"] is None
    if revision != MODERN:
        assert client.initialize().http.headers["Mcp-Session-Id"] is None


def test_session_results_have_nothing_of_the_modern_era(connect: Connect, session_revision: str) -> None:
    """DUAL-10: no resultType, no cache hints, no serverInfo in ``_meta``."""
    client = connect(revision=session_revision)
    for method in CALLS:
        result = send(client, method).json["result"]
        assert not result.keys() & {"resultType", "ttlMs", "cacheScope", "_meta"}


def test_modern_tools_have_nothing_of_the_session_era(connect: Connect) -> None:
    """DUAL-10: no ``execution``, no core ``tasks``."""
    client = connect()
    assert all("execution" not in tool for tool in client.list_tools())
    assert "tasks" not in client.discover().raw["capabilities"]


def test_every_modern_400_carries_an_error_that_clients_recognise(connect: Connect) -> None:
    """DUAL-11: an empty or foreign body would make a client fall back to ``initialize``."""
    client = connect()
    message = client.message("server/discover")
    refusals: list[tuple[Any, dict[str, str | None]]] = [
        (message, {"Mcp-Method": None}),
        (message, {"MCP-Protocol-Version": "1"}),
        ({**message, "params": {}}, {}),
        ({**message, "id": None}, {}),
        ([message], {}),
        (b"{", {}),
    ]
    for body, headers in refusals:
        reply = client.post(body, headers=headers)
        assert reply.status == 400
        assert reply.headers["Content-Type"] == "application/json"
        assert refusal(reply)["code"] in (-32700, -32600, -32602, -32020, -32022)


def test_the_handler_learns_which_client_opened_the_session(connect: Connect, revision: str) -> None:
    """T25-LIFE-01, S26-BASE-18: ``init`` gets what the client said, in either era."""
    seen: list[InitParams] = []

    def init(params: InitParams) -> dict[str, Any]:
        seen.append(params)
        return {}

    mcp = MCPServer("seen", init=init)
    mcp.add_tool(lambda: "x", name="x")
    client = connect(mcp, revision, capabilities={"roots": {}}, client_info={"name": "me", "version": "2"})
    client.call_tool("x")
    assert seen[0].client_info == {"name": "me", "version": "2"}
    assert seen[0].capabilities == {"roots": {}}
    assert seen[0].revision.name == revision
