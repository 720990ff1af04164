"""Every row of the bad-input table, over real sockets, under several servers."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from tests.servers.bad_input import OPTIONS, ROWS, Row, good_request
from tests.servers.running import BOUND, Running, serve

_USUAL: dict[str, str | None] = {
    "Host": "127.0.0.1",
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
}


@pytest.fixture(scope="module", params=["gevent", "gthread", "waitress", "wsgiref"])
def running(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp(request.param)
    with serve(request.param, folder, app="tests.servers.bad_app:application", **OPTIONS) as server:
        yield server


def dial(running: Running) -> socket.socket:
    """A new connection."""
    return socket.create_connection(("127.0.0.1", running.port), BOUND)


class Answer:
    """Status, header block and body of one HTTP answer."""

    def __init__(self, stream: Any) -> None:
        version, status, _ = stream.readline().split(b" ", 2)
        self.status = int(status)
        head = b"".join(iter(stream.readline, b"\r\n")).decode("latin-1").lower()
        # Without a length, or in HTTP/1.0, the body ends with the connection.
        self.closes = version == b"HTTP/1.0" or "connection: close" in head or "content-length" not in head
        length = re.search(r"content-length: (\d+)", head)
        if length:
            self.body = stream.read(int(length[1]))
        elif "transfer-encoding: chunked" in head:
            self.body = b"".join(_chunks(stream))
        else:
            self.body = stream.read()


def _chunks(stream: Any) -> Iterator[bytes]:
    while size := int(stream.readline().split(b";")[0], 16):
        yield stream.read(size)
        stream.readline()
    stream.readline()


def wire(row: Row) -> bytes:
    """The whole request as bytes."""
    fields = {**_USUAL, **row.headers}
    body = row.body
    if row.chunked:
        fields["Transfer-Encoding"] = "chunked"
        body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    elif row.length is None:
        fields["Content-Length"] = str(len(body))
    elif row.length:
        fields["Content-Length"] = row.length
    lines = [f"{name}: {value}\r\n" for name, value in fields.items() if value is not None]
    head = f"{row.http_method} /mcp HTTP/1.1\r\n{''.join(lines)}".encode("latin-1")
    return head + row.extra + b"\r\n" + body


def codes(body: bytes) -> list[int | None]:
    """The error codes of the messages in a body, JSON or SSE."""
    text = body.decode()
    data = re.findall(r"^data: (.*)$", text, re.MULTILINE) or [text]
    messages = [message for line in data for message in _as_list(json.loads(line))]
    assert all(message["jsonrpc"] == "2.0" for message in messages)
    return [message["error"]["code"] if "error" in message else None for message in messages]


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_each_row_is_answered_and_the_next_request_is_served(running: Running, row: Row) -> None:
    if running.kind in row.not_on:
        row = good_request()  # the server cannot even receive it: the reason is in the table
    with dial(running) as connection, connection.makefile("rb") as stream:
        connection.sendall(wire(row))
        answer = Answer(stream)
        assert answer.status == row.status, answer.body
        if row.status == 202:
            assert answer.body == b""
        elif not row.by_server:
            assert row.code in codes(answer.body), answer.body
            assert row.text in answer.body.decode()
        assert b"secret" not in answer.body
        # After a body that was not read whole, closing is the server's right (RFC 9110, 15.5.14).
        if answer.closes or row.length is not None or row.status == 413:
            return
        connection.sendall(wire(good_request()))
        assert Answer(stream).status == 200


def test_a_new_connection_is_served_after_all_that(running: Running) -> None:
    with dial(running) as connection, connection.makefile("rb") as stream:
        connection.sendall(wire(good_request()))
        assert b'"text":"hi"' in Answer(stream).body


@pytest.mark.parametrize("sent", [0, 40, 10_000], ids=["before", "during the head", "after"])
def test_a_client_that_vanishes_harms_nobody(running: Running, sent: int) -> None:
    with dial(running) as connection:
        connection.sendall(wire(good_request())[:sent])
    test_a_new_connection_is_served_after_all_that(running)


def test_a_body_that_ends_early_is_no_request(running: Running) -> None:
    with dial(running) as connection, connection.makefile("rb") as stream:
        connection.sendall(wire(good_request())[:-10])
        connection.shutdown(socket.SHUT_WR)
        received = stream.read()
    assert b'"text":"hi"' not in received
    test_a_new_connection_is_served_after_all_that(running)
