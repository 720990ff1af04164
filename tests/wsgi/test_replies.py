"""Replies as values, and streams around a running exchange."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable
from functools import partial
from typing import Any

import pytest

from mcp_wsgi.errors import Cancelled, MethodNotAllowed, Overloaded, Unauthorized
from mcp_wsgi.eventlog import Event
from mcp_wsgi.exchange import Answer, Exchange
from mcp_wsgi.options import Options
from mcp_wsgi.workers.inline import InlineCrew
from mcp_wsgi.wsgi.http import HttpReply
from mcp_wsgi.wsgi.replies import accepted_reply, answer_reply, error_reply, json_reply, stream_reply

LAST = Answer(b'{"last":1}')


def bytes_of(reply: HttpReply) -> bytes:
    return b"".join(reply.body)


def test_a_message_is_the_whole_body() -> None:
    reply = json_reply(b"{}")
    assert (reply.status, dict(reply.headers), bytes_of(reply)) == (
        200,
        {"Content-Type": "application/json", "Content-Length": "2"},
        b"{}",
    )


def test_a_refusal_has_the_status_and_headers_of_its_error() -> None:
    reply = error_reply(MethodNotAllowed("GET", ("POST", "OPTIONS")), 7)
    assert (reply.status, dict(reply.headers)["Allow"]) == (405, "POST, OPTIONS")
    message = json.loads(bytes_of(reply))
    assert (message["id"], message["error"]["code"]) == (7, -32600)
    assert dict(error_reply(Overloaded(retry_after=3)).headers)["Retry-After"] == "3"
    assert error_reply(Unauthorized(), status=418).status == 418


@pytest.mark.parametrize("challenge", ["a\r\nb: c", "\x00", "\u20ac", "a\x7fb", "\n"])
def test_a_header_of_an_error_holds_no_line_end(challenge: str) -> None:
    value = dict(error_reply(Unauthorized(challenge=challenge)).headers)["WWW-Authenticate"]
    assert value.isascii()
    assert value == value.strip()
    assert value.isprintable() or value == ""


def test_an_accepted_notification_has_an_empty_body() -> None:
    reply = accepted_reply()
    assert (reply.status, bytes_of(reply), dict(reply.headers)["Content-Length"]) == (202, b"", "0")


def test_an_answer_is_json_or_a_stream_of_one() -> None:
    assert bytes_of(answer_reply(LAST, as_json=True)) == LAST.body
    stream = answer_reply(LAST, as_json=False)
    assert dict(stream.headers)["Content-Type"] == "text/event-stream"
    assert bytes_of(stream) == b'event: message\ndata: {"last":1}\n\n'


def test_an_answer_with_a_status_of_its_own_is_json_whatever_is_accepted() -> None:
    reply = answer_reply(Answer(b"{}", 404), as_json=False)
    assert (reply.status, dict(reply.headers)["Content-Type"]) == (404, "application/json")


def test_an_empty_answer_is_an_accepted_reply() -> None:
    """Of a request that was cancelled."""
    for as_json in (True, False):
        reply = answer_reply(Answer(b"", 202), as_json=as_json)
        assert (reply.status, bytes_of(reply), dict(reply.headers)["Content-Length"]) == (202, b"", "0")


# --- streams --------------------------------------------------------------------------------------


class Running:
    """An exchange whose callback says ``one``, ``two`` and its answer, and keeps a diary."""

    def __init__(self, *, cancel_on_close: bool, work: Callable[[Exchange], Answer] | None = None) -> None:
        self.diary: list[str] = []
        options = Options.build({"keepalive": 1, "request_timeout": 60})
        exchange = Exchange(InlineCrew(5), options, lambda: 0.0, streaming=True, late=lambda: LAST)
        exchange.start(work or self._work)
        assert exchange.first() is None
        self.reply = stream_reply(exchange.messages(), partial(exchange.leave, cancel=cancel_on_close))
        self.body: Any = self.reply.body

    def _work(self, exchange: Exchange) -> Answer:
        try:
            for word in ("one", "two"):
                exchange.emit(f'"{word}"'.encode())
                self.diary.append(word)
        except Cancelled:
            self.diary.append("cancelled")
        return LAST


def data(chunks: Iterable[bytes]) -> list[Any]:
    return [json.loads(chunk.split(b"data: ")[1]) for chunk in chunks]


@pytest.mark.parametrize("cancel", [True, False])
def test_a_stream_gives_every_message_and_the_answer_and_ends(cancel: bool) -> None:
    running = Running(cancel_on_close=cancel)
    assert data(running.body) == ["one", "two", {"last": 1}]
    running.body.close()
    running.body.close()
    assert running.diary == ["one", "two"]
    assert list(running.body) == []
    headers = dict(running.reply.headers)
    assert (headers["Content-Type"], headers["X-Accel-Buffering"]) == ("text/event-stream", "no")
    assert headers["Cache-Control"] == "no-store, no-transform"


def test_closing_a_stream_cancels_where_that_is_the_rule() -> None:
    running = Running(cancel_on_close=True)
    assert data([next(running.body)]) == ["one"]
    running.body.close()
    assert running.diary == ["cancelled"]


def test_closing_a_stream_leaves_the_work_alone_where_it_may_be_fetched_later() -> None:
    running = Running(cancel_on_close=False)
    next(running.body)
    running.body.close()
    assert running.diary == ["one", "two"]


@pytest.mark.parametrize(("cancel", "diary"), [(True, ["cancelled"]), (False, ["one", "two"])])
def test_a_stream_that_is_closed_unread_is_closed_all_the_same(cancel: bool, diary: list[str]) -> None:
    running = Running(cancel_on_close=cancel)
    running.body.close()
    assert running.diary == diary


def test_two_streams_do_not_share_their_headers() -> None:
    one, two = (Running(cancel_on_close=True).reply for _ in range(2))
    one.headers.append(("X-A", "1"))
    assert ("X-A", "1") not in two.headers


def events(*items: Event | bytes | None) -> Generator[Any, None, None]:
    yield from items


def test_events_have_ids_and_one_without_a_message_is_a_mark() -> None:
    items = events(Event("4_0_1", 1, b""), Event("4_2", 2, b"{}"), None, Event("4_3", 3, b"[]", last=True))
    assert list(stream_reply(items, lambda: None, 2.0).body) == [
        b"id: 4_0_1\nretry: 2000\ndata: \n\n",
        b"id: 4_2\nevent: message\ndata: {}\n\n",
        b": keep-alive\n\n",
        b"id: 4_3\nevent: message\ndata: []\n\n",
    ]


def test_a_stream_is_left_once_and_only_if_more_was_to_come() -> None:
    left: list[str] = []
    whole = stream_reply(events(b"1"), lambda: left.append("whole")).body
    assert len(list(whole)) == 1
    part: Any = stream_reply(events(b"1", b"2"), lambda: left.append("part")).body
    next(part)
    for body in (whole, part):
        close: Any = getattr(body, "close")  # noqa: B009 - no Iterable has one
        close()
        close()
    assert left == ["part"]
