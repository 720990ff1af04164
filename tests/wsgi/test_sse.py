"""Event bytes, as every kind of client reads them."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi.http_client import EventParser
from mcp_wsgi.jsonrpc import dumps, encode
from mcp_wsgi.wsgi.sse import KEEPALIVE, event, mark

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


@given(values, st.text(st.characters(categories=["Nd"], max_codepoint=127), min_size=1))
def test_an_event_may_have_an_id(value: object, number: str) -> None:
    first, second = EventParser().feed(event(dumps(value).encode(), f"{number}_1") + event(b"{}", "0_2"))
    assert (first.id, json.loads(first.data), second.id) == (f"{number}_1", value, "0_2")


@given(st.floats(0, 1e6))
def test_a_mark_has_an_id_a_time_in_milliseconds_and_no_data(retry: float) -> None:
    (read,) = EventParser().feed(mark("3_0_7", retry))
    assert (read.id, read.data) == ("3_0_7", "")
    assert read.retry is not None
    assert abs(read.retry - retry * 1000) <= 0.5


def test_a_mark_is_what_the_specification_shows() -> None:
    assert mark("1_1_2", 1.5) == b"id: 1_1_2\nretry: 1500\ndata: \n\n"
