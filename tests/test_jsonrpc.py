"""JSON-RPC: what is a message, what is JSON but none, what is no JSON; and the bytes that go out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi.errors import InvalidRequest, MCPError, MethodNotFound, ParseError, ResourceNotFound
from mcp_wsgi.jsonrpc import (
    Batch,
    Invalid,
    Notification,
    Request,
    Response,
    decode,
    dumps,
    encode_error,
    encode_notification,
    encode_result,
    parse,
)
from tests.slow import SLOW_NUMBERS, forbid_the_usual_decoder

# Text and numbers of JSON: no surrogates, nothing infinite. Strings full of what brackets and quotes are made of
# come often, since the look at the nesting has to see through them.
text = st.text(st.characters(codec="utf-8"), max_size=8) | st.text('[]{}"\\,: a', max_size=8)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=2), max_leaves=6
)
objects = st.dictionaries(text, values, max_size=2)
ids = text | st.integers()
requests = st.builds(Request, ids, text, objects)
notifications = st.builds(Notification, text, objects)
errors = st.builds(lambda code, message: {"code": code, "message": message}, st.integers(), text)
responses = st.builds(Response, ids, objects, st.none()) | st.builds(Response, st.none() | ids, st.none(), errors)
messages = requests | notifications | responses


def wire(message: Request | Notification | Response) -> dict[str, Any]:
    fields = {name: getattr(message, name) for name in message.__struct_fields__}
    return {"jsonrpc": "2.0", **{name: value for name, value in fields.items() if value is not None}}


RPC = '{"jsonrpc":"2.0",'
PING = RPC.encode() + b'"id":1,"method":"ping"}'


def written(value: Any, *, ascii_only: bool = False) -> bytes:
    return json.dumps(value, ensure_ascii=ascii_only, allow_nan=False).encode()


# --- what is a message ----------------------------------------------------------------------------


@given(messages, st.booleans())
def test_reads_what_another_encoder_writes(message: Request | Notification | Response, ascii_only: bool) -> None:
    """S26-BASE-01, T25-BASE-01: JSON-RPC 2.0 in UTF-8, characters escaped or not."""
    assert parse(written(wire(message), ascii_only=ascii_only)) == message


@given(st.lists(messages, min_size=1, max_size=2))
def test_reads_a_batch_in_order(batch: list[Request | Notification | Response]) -> None:
    """T25-BASE-06."""
    assert parse(written([wire(message) for message in batch])) == Batch(tuple(batch))


@pytest.mark.parametrize("identity", [0, 1, -1, 2**53, 2**64, -(2**70), 10**4000, "", "0", "é\U0001f600", "a" * 5000])
def test_every_string_or_integer_is_an_id(identity: str | int) -> None:
    """S26-BASE-02: 0 and the empty string are ids, too."""
    assert parse(b'{"jsonrpc":"2.0","id":%b,"method":"ping"}' % written(identity)) == Request(identity, "ping", {})


def test_a_message_without_id_is_a_notification() -> None:
    """S26-BASE-12, T25-BASE-05: so nothing is owed."""
    assert parse(b'{"jsonrpc":"2.0","method":"no/such"}') == Notification("no/such", {})


@pytest.mark.parametrize("identity", ["", ',"id":null'])
def test_an_error_may_come_without_a_readable_id(identity: str) -> None:
    """T25-BASE-04."""
    body = RPC + '"error":{"code":-32700,"message":"?"}' + identity + "}"
    assert parse(body.encode()) == Response(None, None, {"code": -32700, "message": "?"})


def test_unknown_members_are_passed_over_and_the_last_of_two_counts() -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"a","x":1,"params":{"k":1,"k":2},"method":"b"}'
    assert parse(body) == Request(1, "b", {"k": 2})


# --- JSON, but no message -------------------------------------------------------------------------

# Body -> the id that can be read from it.
NO_MESSAGES: list[tuple[str, str | int | None]] = [
    *((scalar, None) for scalar in ("null", "true", "1", "1.5", '"ping"', "{}", "[]")),
    *((f'{RPC}"id":{bad},"method":"ping"}}', None) for bad in ("null", "true", "1.5", "1.0", "1e2", "[1]", "{}")),
    (RPC + '"id":null,"method":"ping","error":{"code":1,"message":""}}', None),
    *((f'{RPC}"id":7,"method":"ping","params":{bad}}}', 7) for bad in ("null", "[]", "[1]", "1", '"x"', "false")),
    *((f'{RPC}"method":"ping","params":{bad}}}', None) for bad in ("null", "[]")),
    *((f'{RPC}"id":"a","method":{bad}}}', "a") for bad in ("null", "1", "true", "[]", "{}")),
    ('{"id":7,"method":"ping"}', 7),
    *((f'{{"jsonrpc":{bad},"id":7,"method":"ping"}}', 7) for bad in ("null", "2", "2.0", '"1.0"', '"2"', "[]")),
    (RPC + '"id":7}', 7),
    # The id of a response is that of a request of the server's own: it is not sent back.
    (RPC + '"id":7,"result":{},"error":{"code":1,"message":""}}', None),
    *((f'{RPC}"id":7,"result":{bad}}}', None) for bad in ("null", "1", "[]", '"x"')),
    *((f'{RPC}"result":{{}}{bad}}}', None) for bad in ("", ',"id":null', ',"id":1.5')),
    *((f'{RPC}"id":7,"error":{bad}}}', None) for bad in ("null", "[]", "{}", '{"code":1}', '{"message":""}')),
    *((f'{RPC}"id":7,"error":{{"code":{bad},"message":""}}}}', None) for bad in ("null", "true", "1.5", '"1"')),
    (RPC + '"id":7,"error":{"code":1,"message":null}}', None),
    (RPC + '"id":true,"error":{"code":1,"message":""}}', None),
]


@pytest.mark.parametrize(("body", "identity"), NO_MESSAGES)
def test_what_is_no_message_is_an_invalid_request(body: str, identity: str | int | None) -> None:
    """S26-BASE-02, S26-BASE-06, S26-BASE-08, T25-BASE-01, T25-BASE-03: -32600, with the id of a request."""
    found = parse(body.encode())
    assert isinstance(found, Invalid)
    assert (found.error.code, found.id) == (-32600, identity)


@given(values)
def test_every_json_value_becomes_a_message_or_an_invalid_one(value: Any) -> None:
    assert isinstance(parse(written(value)), Request | Notification | Response | Invalid | Batch)


def test_items_of_a_batch_fail_one_by_one() -> None:
    """T25-BASE-06: a nested batch is no message either."""
    batch = parse(b'[1,[],[{"jsonrpc":"2.0","method":"a"}],{"jsonrpc":"2.0","id":7,"method":1},%b]' % PING)
    assert isinstance(batch, Batch)
    assert [item.id for item in batch.items if isinstance(item, Invalid)] == [None, None, None, 7]
    assert batch.items[-1] == Request(1, "ping", {})


@pytest.mark.parametrize(("count", "kind"), [(99, Batch), (100, Batch), (101, Invalid)])
def test_a_batch_has_a_limit(count: int, kind: type) -> None:
    assert type(parse(b"[" + b",".join([PING] * count) + b"]")) is kind
    assert type(parse(b"[1,1,1]", max_batch=2)) is Invalid


def test_a_long_batch_costs_no_errors() -> None:
    """A body of nothing but commas and digits makes one error, not two million."""
    found = parse(b"[" + b"1," * 200_000 + b"1]")
    assert isinstance(found, Invalid)
    assert str(found.error) == "Invalid request: a batch has at most 100 messages"


# --- no JSON --------------------------------------------------------------------------------------

NO_JSON: dict[str, bytes] = {
    "empty": b"",
    "blank": b" \t\r\n",
    "cut off": b'{"jsonrpc":"2.0"',
    "followed by more": b"{} {}",
    "followed by NUL": b"{}\x00",
    "byte order mark": b"\xef\xbb\xbf{}",
    "UTF-16": '{"a":1}'.encode("utf-16"),
    "no UTF-8 in a string": b'{"a":"\xff"}',
    "no UTF-8 in a key": b'{"\xff":1}',
    "overlong UTF-8": b'"\xc0\xaf"',
    "surrogate as UTF-8": b'"\xed\xa0\x80"',
    "lone high surrogate": b'{"a":"\\ud800"}',
    "lone low surrogate": b'{"a":"\\udc00"}',
    "surrogates turned round": b'{"a":"\\udc00\\ud800"}',
    "NaN": b'{"a":NaN}',
    "Infinity": b'{"a":Infinity}',
    "minus Infinity": b'{"a":-Infinity}',
    "number beyond a float": b'{"a":1e999}',
    "number of 5000 digits": b'{"a":' + b"1" * 5000 + b"}",
    "leading zero": b"[01]",
    "bare fraction": b"[.5]",
    "hexadecimal": b"[0x1]",
    "trailing comma": b"[1,]",
    "comment": b"/**/[1]",
    "single quotes": b"{'a':1}",
    "line end in a string": b'"\n"',
    "unknown escape": b'"\\x41"',
    "wrong case": b"True",
}


@pytest.mark.parametrize("body", NO_JSON.values(), ids=NO_JSON)
def test_what_is_no_json_is_a_parse_error(body: bytes) -> None:
    """S26-BASE-01, S26-BASE-08, T25-BASE-01: strict JSON in UTF-8."""
    with pytest.raises(ParseError) as caught:
        parse(body)
    assert caught.value.code == -32700


@given(st.binary(max_size=40) | st.text('[]{}",:\\u0dea1.-', max_size=40).map(str.encode))
def test_reads_and_refuses_what_a_strict_reading_does(body: bytes) -> None:
    """S26-BASE-01."""
    try:
        value = decode(body)
    except ParseError:
        with pytest.raises((ValueError, AssertionError)):
            strictly_read(body)
    else:
        assert value == strictly_read(body)


def strictly_read(body: bytes) -> Any:
    value = json.loads(body.decode(), parse_constant=_refuse, parse_float=_finite)
    json.dumps(value, ensure_ascii=False).encode()  # no lone surrogates
    return value


def _refuse(name: str) -> None:
    raise ValueError(name)


def _finite(text: str) -> float:
    number = float(text)
    assert abs(number) != float("inf")
    return number


def test_text_that_utf_8_lacks_is_a_parse_error() -> None:
    with pytest.raises(ParseError):
        decode('"\ud800"')


@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'[{"a":', b'["]",', b'{"}":', b'["\\"]",', b'["\\\\",'])
@pytest.mark.parametrize("depth", [100, 100_000])
def test_deep_nesting_is_refused_before_it_is_followed(opening: bytes, depth: int) -> None:
    with pytest.raises(ParseError, match="deeper than 64 levels"):
        parse(opening * depth)


@given(values, st.integers(0, 12))
def test_the_limit_of_nesting_is_exact(value: Any, limit: int) -> None:
    body = written(value)
    if depth(value) <= limit:
        parse(body, max_depth=limit)
    else:
        with pytest.raises(ParseError, match="deeper"):
            parse(body, max_depth=limit)


def depth(value: Any) -> int:
    if not isinstance(value, list | dict):
        return 0
    return 1 + max((depth(item) for item in (value.values() if isinstance(value, dict) else value)), default=0)


def test_decoding_alone_survives_any_depth() -> None:
    with pytest.raises(ParseError, match="too deeply"):
        decode(b"[" * 1_000_000)


@pytest.mark.parametrize("body", NO_JSON.values(), ids=NO_JSON)
def test_what_is_no_json_is_none_behind_many_numbers_either(body: bytes) -> None:
    """S26-BASE-01, S26-BASE-08."""
    with pytest.raises(ParseError):
        parse(b"[" + b"1e5," * 2000 + body + b"]")


def test_many_numbers_do_not_take_long(monkeypatch: pytest.MonkeyPatch) -> None:
    forbid_the_usual_decoder(monkeypatch)
    parse(b'{"jsonrpc":"2.0","method":"m","params":{"a":[%b]}}' % SLOW_NUMBERS.encode())


# --- what goes out --------------------------------------------------------------------------------


@given(ids, objects)
def test_a_result_comes_back_with_its_id(identity: str | int, result: dict[str, Any]) -> None:
    """S26-BASE-03, T25-BASE-03: the same id of the same JSON type."""
    message = parse(encode_result(identity, dumps(result).encode()), max_depth=500)
    assert message == Response(identity, result, None)
    assert isinstance(message, Response)
    assert type(message.id) is type(identity)


@given(ids, text, st.integers(-40000, 40000), values)
def test_an_error_comes_back_with_its_id(identity: str | int, message: str, code: int, data: Any) -> None:
    """S26-BASE-06, T25-BASE-03."""
    error: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    encoded = encode_error(identity, MCPError(message, code=code, data=data))
    assert parse(encoded, max_depth=500) == Response(identity, None, error)


def test_an_error_without_a_readable_id_has_none() -> None:
    """S26-BASE-06, T25-BASE-04: left out, not null."""
    assert json.loads(encode_error(None, InvalidRequest("No"))) == {
        "jsonrpc": "2.0",
        "error": {"code": -32600, "message": "No"},
    }


def test_the_code_of_an_error_can_be_overridden() -> None:
    """T25-RES-02."""
    error = json.loads(encode_error(1, ResourceNotFound("a:b"), code=-32002))["error"]
    assert error == {"code": -32002, "message": "Resource not found", "data": {"uri": "a:b"}}


class Plain(MCPError):
    """Says what it says without the help of its base."""

    def __str__(self) -> str:
        return "in its own words"


def loop() -> list[Any]:
    items: list[Any] = []
    items.append(items)
    return items


def tower() -> list[Any]:
    items: list[Any] = []
    for _ in range(100_000):
        items = [items]
    return items


UNSAYABLE = [float("nan"), {"k": {1, 2}}, {(): 1}, "\ud800", {"\udc00": 1}, [object()], b"x", loop(), tower()]


@pytest.mark.parametrize("data", UNSAYABLE, ids=lambda value: type(value).__name__)
def test_data_without_a_json_form_is_left_out(data: Any) -> None:
    """S26-BASE-06: the client still gets its error."""
    error = json.loads(encode_error(1, MCPError("No stock", code=5, data=data)))["error"]
    assert error == {"code": 5, "message": "No stock"}


def test_a_message_is_sent_as_the_error_puts_it_and_always_as_utf_8() -> None:
    assert json.loads(encode_error(1, Plain()))["error"]["message"] == "in its own words"
    assert json.loads(encode_error(1, MethodNotFound("a\ud800b")))["error"]["message"] == "Method not found: a?b"


@given(text, objects)
def test_a_notification_has_no_id(method: str, params: dict[str, Any]) -> None:
    """S26-BASE-12."""
    encoded = encode_notification(method, params)
    assert "id" not in json.loads(encoded)
    assert parse(encoded, max_depth=500) == Notification(method, params)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), "\udc80", {"\ud800": 1}])
def test_nothing_goes_out_that_json_cannot_say(bad: Any) -> None:
    """S26-BASE-01."""
    for write in (dumps, lambda value: encode_notification("x", {"k": value})):
        with pytest.raises(ValueError, match=r"."):
            write(bad)


@pytest.mark.parametrize(("bad", "error"), [(loop(), ValueError), (object(), TypeError), (b"x", TypeError)])
def test_python_objects_and_loops_do_not_go_out(bad: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"."):
        dumps(bad)


@given(values)
def test_json_goes_out_on_one_line(value: Any) -> None:
    """S26-STDIO-01: so that it can be one line of stdio and one ``data`` field of an event."""
    out = dumps(value)
    assert json.loads(out) == value
    assert not {"\n", "\r"} & set(out)
