"""Event bytes, as every kind of client reads them."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi.http_client import EventParser
from mcp_wsgi.jsonrpc import dumps, encode
from mcp_wsgi.wsgi.sse import KEEPALIVE, event

texts = st.text(st.characters(codec="utf-8"))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
    max_leaves=5,
)


@given(values)
def test_an_event_carries_its_message_in_one_data_line(value: object) -> None:
    text = event(dumps(value).encode())
    (read,) = EventParser().feed(text)
    assert (read.event, json.loads(read.data)) == ("message", value)
    assert text.count(b"\ndata: ") == 1


@given(texts)
def test_a_client_that_splits_at_every_unicode_line_end_reads_it_too(text: str) -> None:
    kind, data, end = event(encode({"text": text})).decode().splitlines()
    assert (kind, json.loads(data.removeprefix("data: ")), end) == ("event: message", {"text": text}, "")


def test_line_separators_are_escaped_and_their_neighbours_are_not() -> None:
    assert event('["\u2027\u2028\u2029\u202a\x85\x86é"]'.encode()) == (
        b'event: message\ndata: ["\xe2\x80\xa7\\u2028\\u2029\xe2\x80\xaa\\u0085\xc2\x86\xc3\xa9"]\n\n'
    )


def test_a_keep_alive_is_no_event() -> None:
    assert EventParser().feed(KEEPALIVE + KEEPALIVE) == []
    assert KEEPALIVE.startswith(b":")
