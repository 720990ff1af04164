"""Requirements, group 11: log messages to the client."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from mcp_wsgi import Context, ContextLogHandler, MCPServer
from mcp_wsgi.levels import LEVELS
from mcp_wsgi.testing import Client
from tests.spec.kit import MODERN, PREFIX, Connect, everything, refusal, refused, send


def loud() -> MCPServer:
    """A server whose tool logs at every level, most severe first."""
    mcp = MCPServer("loud")

    @mcp.tool
    def work(ctx: Context) -> str:
        for level in reversed(LEVELS):
            ctx.log(level, {"at": level}, logger="shop")
        return "done"

    return mcp


def levels(client: Client, **asked: Any) -> list[str]:
    return [log.level for log in client.call_tool("work", **asked).logs]


def test_logging_is_declared(connect: Connect, revision: str) -> None:
    """S26-LOG-01, T25-LOG-01: since any callback may log."""
    client = connect(MCPServer("empty"), revision)
    opened = client.discover() if revision == MODERN else client.initialize()
    assert opened.raw["capabilities"]["logging"] == {}


def test_without_a_level_nothing_is_logged(connect: Connect) -> None:
    """S26-LOG-02: not even an emergency; the answer is plain JSON."""
    client = connect(loud())
    assert levels(client) == []
    assert client.call_tool("work").http.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize("level", LEVELS)
def test_a_request_gets_its_level_and_above(connect: Connect, level: str) -> None:
    """S26-LOG-03, T25-LOG-03: the eight levels, on that request's own stream, before its response."""
    assert levels(connect(loud()), log_level=level) == list(reversed(LEVELS))[: len(LEVELS) - LEVELS.index(level)]


def test_what_is_logged_for_one_request_is_not_sent_to_another(connect: Connect) -> None:
    """S26-LOG-02, S26-LOG-03: the level is of the request, not of the client."""
    app = loud().wsgi_app(workers="inline")
    one, two = connect(app), connect(app)
    assert levels(one, log_level="emergency") == ["emergency"]
    assert levels(two) == levels(one) == []


@pytest.mark.parametrize("level", ["", "INFO", "warn", "trace", "fatal", 5, True, [], {}])
def test_an_unknown_level_is_refused(connect: Connect, session_revision: str, level: Any) -> None:
    """S26-LOG-04, T25-LOG-02: -32602, in the request's ``_meta`` or in logging/setLevel."""
    client = connect()
    message = client.message("tools/call", {"name": "echo", "arguments": {"text": "x"}})
    message["params"]["_meta"][PREFIX + "logLevel"] = level
    assert refused(client.post(message)) == (400, -32602)
    reply = send(connect(revision=session_revision), "logging/setLevel", {"level": level})
    assert refused(reply) == (200, -32602)


def test_a_level_of_null_is_none(connect: Connect) -> None:
    """S26-LOG-02: some clients write what they have not got as null."""
    client = connect(loud())
    message = client.message("tools/call", {"name": "work"})
    message["params"]["_meta"][PREFIX + "logLevel"] = None
    (answer,) = client.post(message).messages
    assert "result" in answer


@pytest.mark.parametrize("level", LEVELS)
def test_set_level_is_answered_with_an_empty_result(connect: Connect, session_revision: str, level: str) -> None:
    """T25-LOG-01: ``{}``, for each of the eight."""
    assert connect(revision=session_revision).set_level(level).raw == {}
    assert refusal(send(connect(revision=session_revision), "logging/setLevel", {}))["code"] == -32602


def test_a_session_client_gets_the_level_that_the_server_chose(connect: Connect, session_revision: str) -> None:
    """T25-LOG-02: info and above by default; an option says otherwise."""
    chosen = levels(connect(loud(), session_revision))
    assert chosen == list(reversed(LEVELS[1:]))
    assert levels(connect(loud(), session_revision, log_level="critical")) == ["emergency", "alert", "critical"]


def test_a_log_message_has_level_data_and_logger(connect: Connect, revision: str) -> None:
    """T25-LOG-03, S26-LOG-03: data is any JSON value."""
    first = connect(loud(), revision).call_tool("work", log_level="debug" if revision == MODERN else None).logs[0]
    assert (first.level, first.data, first.logger) == ("emergency", {"at": "emergency"}, "shop")


@pytest.mark.parametrize("data", [float("nan"), {"a": float("inf")}, object(), "\ud800", {"a": "\udfff"}])
def test_data_that_json_cannot_say_fails_in_the_tool(connect: Connect, revision: str, data: Any) -> None:
    """S26-LOG-03, S26-BASE-01: nothing of it is on the wire."""
    mcp = MCPServer("odd")

    @mcp.tool
    def work(ctx: Context) -> str:
        ctx.error(data)
        return "done"

    reply = connect(mcp, revision).call_tool("work", log_level="debug" if revision == MODERN else None)
    assert reply.is_error
    assert reply.logs == ()


def test_an_applications_own_records_go_to_the_client_of_the_call(connect: Connect, revision: str) -> None:
    """S26-LOG-02, S26-LOG-05: only their message, never a traceback, nor what this package logs itself."""
    logger = logging.getLogger("spec.shop")
    handler = ContextLogHandler()
    logger.addHandler(handler)
    logging.getLogger("mcp_wsgi").addHandler(handler)
    mcp = MCPServer("shop")

    prices: dict[str, str] = {}

    @mcp.tool
    def work() -> str:
        try:
            return prices["secret"]
        except KeyError:
            logger.exception("out of %s", "tea")
        raise RuntimeError("secret")

    try:
        reply = connect(mcp, revision).call_tool("work", log_level="info" if revision == MODERN else None)
        silent = connect(mcp).call_tool("work").logs
    finally:
        logger.removeHandler(handler)
        logging.getLogger("mcp_wsgi").removeHandler(handler)
    assert [(log.level, log.data, log.logger) for log in reply.logs] == [("error", "out of tea", "spec.shop")]
    assert silent == ()


@pytest.mark.parametrize("name", ["crash", "fail"])
def test_a_crash_is_logged_for_the_operator_and_not_for_the_client(connect: Connect, revision: str, name: str) -> None:
    """S26-LOG-05, T25-LOG-03: internals stay out of notifications and answers."""
    reply = connect(revision=revision).call_tool(name, log_level="debug" if revision == MODERN else None)
    assert reply.notifications == ()
    assert "secret" not in str(reply.raw)
    assert "Traceback" not in str(reply.raw)


def test_expected_refusals_are_quiet(connect: Connect, revision: str, caplog: pytest.LogCaptureFixture) -> None:
    """S26-LOG-05: what a client did wrong fills no log at WARNING, and its words break no line of it."""
    caplog.set_level(logging.DEBUG, "mcp_wsgi")
    client = connect(everything(), revision, environ={"PATH_INFO": "/a\r\nERROR fake"})
    client.http("GET")
    connect(revision=revision).http("DELETE")
    send(connect(revision=revision), "nope\r\nERROR fake")
    send(connect(revision=revision), "tools/call", {"name": "nope\r\nERROR fake"})
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
    assert all("\n" not in record.getMessage() for record in caplog.records)
