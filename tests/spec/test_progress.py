"""Requirements, group 5: progress and cancellation."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from mcp_wsgi import Context, MCPServer
from mcp_wsgi.testing import Client
from tests.spec.kit import MODERN, Connect, everything, refused, send

TOKENS = ["p", "", 0, 7, -1, 2**53 + 1, "é\u2028"]


def reporting(*values: float, messages: bool = False) -> MCPServer:
    """A server whose tool reports these values."""
    mcp = MCPServer("reporting")

    @mcp.tool
    def work(ctx: Context) -> str:
        for value in values:
            ctx.report_progress(value, 10, f"at {value}" if messages else None)
        return "done"

    return mcp


def sent(client: Client, token: str | int | None = "p") -> list[dict[str, Any]]:
    """The messages of a call, with the parameters of the notifications in place of them."""
    with client.stream("tools/call", {"name": "work"}, progress_token=token) as stream:
        return [message.get("params", message) for message in stream]


@pytest.mark.parametrize("token", TOKENS)
def test_progress_carries_the_token_of_its_request(connect: Connect, revision: str, token: str | int) -> None:
    """S26-PROG-01, S26-PROG-02, T25-PROG-01: echoed as given, with its JSON type, on that request's stream."""
    *progress, last = sent(connect(reporting(1, 2), revision), token)
    assert [(type(params["progressToken"]), params["progressToken"]) for params in progress] == [
        (type(token), token)
    ] * 2
    assert last["result"]["content"][0]["text"] == "done"


def test_without_a_token_there_is_no_progress(connect: Connect, revision: str) -> None:
    """S26-PROG-01, T25-PROG-01: only for a token that was given."""
    (only,) = sent(connect(reporting(1, 2), revision), None)
    assert "result" in only


@pytest.mark.parametrize("token", [1.5, True, [], {}])
def test_a_token_of_another_type_is_refused(connect: Connect, revision: str, token: Any) -> None:
    """S26-PROG-02: -32602; a 400 in the modern era, as for the rest of ``_meta``."""
    reply = send(connect(revision=revision), "tools/call", {"name": "chat", "_meta": {"progressToken": token}})
    assert refused(reply) == (400 if revision == MODERN else 200, -32602)


def test_progress_only_increases(connect: Connect, revision: str) -> None:
    """S26-PROG-03, T25-PROG-01: what does not exceed the last value is dropped; fractions are fine."""
    *progress, _ = sent(connect(reporting(0, 0.5, 0.5, 0.25, 3, -1, 3.5), revision))
    assert [params["progress"] for params in progress] == [0, 0.5, 3, 3.5]


def test_total_and_message_are_optional(connect: Connect, revision: str) -> None:
    """S26-PROG-03: a message is one readable line."""
    bare, _ = sent(connect(reporting(1), revision))
    assert bare == {"progressToken": "p", "progress": 1, "total": 10}
    told, _ = sent(connect(reporting(1, messages=True), revision))
    assert told == {**bare, "message": "at 1"}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_progress_is_a_number_of_json(connect: Connect, revision: str, value: float) -> None:
    """S26-PROG-03, S26-BASE-01: what JSON cannot say fails in the tool, not on the wire."""
    client = connect(reporting(value), revision)
    assert client.call_tool("work", progress_token="p").is_error


def test_progress_is_rate_bounded_and_the_newest_is_sent_at_the_end(connect: Connect, revision: str) -> None:
    """S26-PROG-04, S26-LOG-05: a burst of as many as the rate, and then the last."""
    app = reporting(*range(100)).wsgi_app(workers="inline", progress_rate=5, clock=lambda: 0.0)
    *progress, _ = sent(connect(app, revision))
    assert [params["progress"] for params in progress] == [0, 1, 2, 3, 4, 99]


def test_progress_ends_with_its_call(connect: Connect, revision: str) -> None:
    """S26-PROG-04, T25-PROG-01: what reports later reports to nobody, and is not held up by it."""
    mcp, late = MCPServer("late"), threading.Event()

    @mcp.tool
    def work(ctx: Context) -> str:
        ctx.report_progress(1)

        def go_on() -> None:
            assert answered.wait(20)
            for value in range(2, 1000):
                ctx.report_progress(value)
                ctx.info("still here")
            late.set()

        answered = threading.Event()
        threads.append((threading.Thread(target=go_on), answered))
        threads[-1][0].start()
        return "done"

    threads: list[tuple[threading.Thread, threading.Event]] = []
    client = connect(mcp, revision, event_log=2, progress_rate=1000)
    assert [message.get("progress") for message in sent(client)] == [1, None]
    assert client.call_tool("work").progress == ()
    for thread, answered in threads:
        late.clear()
        answered.set()
        assert late.wait(20)
        thread.join(20)


def test_two_calls_do_not_share_their_progress(connect: Connect, revision: str) -> None:
    """S26-PROG-01, S26-HTTP-07, T25-HTTP-13: each stream has its own token's, and nothing goes to both."""
    app = reporting(1, 2).wsgi_app(workers="inline")
    one, two = connect(app, revision), connect(app, revision)
    with (
        one.stream("tools/call", {"name": "work"}, progress_token="a") as first,
        two.stream("tools/call", {"name": "work"}, progress_token="b") as second,
    ):
        tokens = [next(stream)["params"]["progressToken"] for stream in (first, second, first, second)]
    assert tokens == ["a", "b", "a", "b"]


@pytest.mark.parametrize(
    "params", [{"requestId": 1}, {"requestId": "nope", "reason": "x"}, {}, {"requestId": None}, {"requestId": [1]}]
)
def test_a_cancel_that_is_late_unknown_or_malformed_is_ignored(
    connect: Connect, revision: str, params: dict[str, Any]
) -> None:
    """S26-CAN-01, S26-CAN-02, T25-CAN-02: 202, and the next request is served."""
    client = connect(revision=revision)
    assert client.call_tool("echo", text="hi").text == "hi"
    reply = client.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
    assert (reply.status, reply.body) == (202, b"")
    assert client.call_tool("echo", text="hi").text == "hi"


def test_a_cancel_does_not_reach_another_clients_request(connect: Connect, revision: str) -> None:
    """T25-CAN-01, S26-CAN-01: the same id in another conversation is another request."""
    app = everything().wsgi_app(workers="inline")
    one, two = connect(app, revision), connect(app, revision)
    with one.stream("tools/call", {"name": "chat"}, progress_token="p") as stream:
        next(stream)
        two.notify("notifications/cancelled", {"requestId": 1})
        assert stream.result()["content"][0]["text"] == "done"
