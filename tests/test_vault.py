"""A sealed state opens as it was, for what it was sealed for, in its time; nothing else opens."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import string
import struct
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi.errors import ConfigurationError
from mcp_wsgi.sealing import SealBroken, Sealer
from mcp_wsgi.vault import MAX_STATE, Opened, StateSealer, digest

KEY = b"k" * 32
BINDING = ("2026-07-28", "tools/call", "digest", "str:alice", "/mcp")
URL_SAFE = frozenset(string.ascii_letters + string.digits + "-_")
# Version, salt, key check, expiry, tag: what comes to the JSON text.
OVERHEAD = 1 + 24 + 16 + 8 + 16

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)
bindings = st.lists(st.none() | st.text(st.characters()), max_size=4)


class Clock:
    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def sealer(*keys: bytes | str, clock: Callable[[], float] | None = None, max_size: int = MAX_STATE) -> StateSealer:
    return StateSealer(keys or [KEY], ttl=900, clock=clock or Clock(), max_size=max_size)


SEALER = sealer()


def refuses(text: Any, binding: Any = BINDING, by: StateSealer = SEALER, because: str = ".") -> None:
    with pytest.raises(SealBroken, match=because) as caught:
        by.open(text, binding)
    assert caught.value.reason


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def spelled(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


# --- what is sealed opens -------------------------------------------------------------------------


@given(value=json_values, binding=bindings)
def test_any_json_state_opens_as_it_was(value: Any, binding: list[str | None]) -> None:
    text = SEALER.seal(value, binding)
    assert URL_SAFE.issuperset(text)
    # ``repr`` tells 1, 1.0, True and -0.0 apart.
    assert repr(SEALER.open(text, binding).value) == repr(value)


def test_a_state_opens_in_another_process_with_the_same_key() -> None:
    text = sealer("schlüssel", clock=Clock(0)).seal({"step": 2}, BINDING)
    assert sealer("schlüssel".encode(), clock=Clock(5)).open(text, BINDING).value == {"step": 2}


def test_what_is_sealed_cannot_be_read() -> None:
    secret = "4111 1111 1111 1111"
    text = SEALER.seal({"card": secret}, ["user-7"])
    for hidden in (secret, "card", "user-7"):
        assert hidden.encode() not in decoded(text)
        assert spelled(hidden.encode())[:-1] not in text


def test_equal_states_share_nothing_but_the_version() -> None:
    """Neither the content nor the key shows by comparing."""
    one, two = (decoded(SEALER.seal(["same"], BINDING)) for _ in range(2))
    assert len(one) == len(two)
    assert one[:1] == two[:1]
    for start in range(1, len(one) - 7, 8):
        assert one[start : start + 8] != two[start : start + 8]


def test_the_length_tells_how_long_a_state_is_and_not_how_it_compresses() -> None:
    repeated = "ab" * 500
    assert len(decoded(SEALER.seal(repeated, BINDING))) == OVERHEAD + len(json.dumps(repeated))


def test_no_two_states_have_the_same_id_and_each_keeps_its_own() -> None:
    """S26-MRTR-09: a store can tell that a state was used."""
    texts = [SEALER.seal(1, BINDING) for _ in range(200)]
    ids = [SEALER.open(text, BINDING).id for text in texts]
    assert len(set(ids)) == 200
    assert [SEALER.open(text, BINDING).id for text in texts] == ids


def test_randomness_comes_from_the_source_that_was_passed() -> None:
    asked: list[int] = []

    def random_bytes(count: int) -> bytes:
        asked.append(count)
        return b"\x07" * count

    known = StateSealer([KEY], ttl=900, clock=Clock(1000.0), random_bytes=random_bytes)
    opened = known.open(known.seal("x", BINDING), BINDING)
    assert asked == [24]
    assert opened == Opened("x", spelled(b"\x07" * 24), 1900.0)


# --- what was touched does not --------------------------------------------------------------------


@given(value=json_values, data=st.data())
def test_a_state_with_one_bit_changed_is_refused(value: Any, data: st.DataObject) -> None:
    """S26-MRTR-07"""
    raw = bytearray(decoded(SEALER.seal(value, BINDING)))
    bit = data.draw(st.integers(0, len(raw) * 8 - 1))
    raw[bit // 8] ^= 1 << bit % 8
    refuses(spelled(bytes(raw)))


def test_every_bit_counts() -> None:
    raw = decoded(SEALER.seal({"a": 1}, BINDING))
    for bit in range(len(raw) * 8):
        changed = int.from_bytes(raw, "big") ^ 1 << bit
        refuses(spelled(changed.to_bytes(len(raw), "big")))


@given(value=json_values, data=st.data())
def test_a_state_with_another_character_is_refused(value: Any, data: st.DataObject) -> None:
    text = SEALER.seal(value, BINDING)
    place = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.characters().filter(lambda character: character != text[place]))
    refuses(text[:place] + other + text[place + 1 :])


def test_a_state_of_any_other_length_is_refused() -> None:
    text = SEALER.seal({"a": 1}, BINDING)
    for cut in range(len(text)):
        refuses(text[:cut])
        refuses(text[len(text) - cut :])


@given(junk=st.text(min_size=1), raw_junk=st.binary(min_size=1, max_size=40))
def test_a_state_with_something_added_is_refused(junk: str, raw_junk: bytes) -> None:
    text = SEALER.seal({"a": 1}, BINDING)
    for extended in (text + junk, junk + text, spelled(decoded(text) + raw_junk), spelled(raw_junk + decoded(text))):
        refuses(extended)


@given(text=st.text(st.sampled_from(sorted(URL_SAFE)), max_size=200))
def test_text_of_ones_own_making_is_refused(text: str) -> None:
    refuses(text)


def test_parts_of_two_states_do_not_make_a_third() -> None:
    one, two = (decoded(SEALER.seal(value, BINDING)) for value in ("a", "b"))
    for cut in range(9, len(one) - 8):
        refuses(spelled(one[:cut] + two[cut:]))


@pytest.mark.parametrize("length", [1, 2, 3])
def test_a_state_has_one_spelling(length: int) -> None:
    """Base64 can write the same bytes in other ways."""
    text = SEALER.seal("x" * length, BINDING)
    alphabet = string.ascii_uppercase + string.ascii_lowercase + string.digits + "-_"
    respelled = text[:-1] + alphabet[alphabet.index(text[-1]) ^ 1]
    if len(text) % 4:
        assert decoded(respelled) == decoded(text)
    for changed in (respelled, text + "=" * (-len(text) % 4 or 4), text + "\n", " " + text, text[:9] + "\n" + text[9:]):
        refuses(changed)


@pytest.mark.parametrize("text", [None, 3, True, b"abc", ["a"], {"a": 1}, "", "=", "a", "a+b/", "é", "\ud800", " "])
def test_what_is_no_text_of_ours_is_refused(text: Any) -> None:
    """S26-MRTR-06"""
    refuses(text)


def test_a_subclass_of_text_is_not_what_came_off_the_wire() -> None:
    class Text(str):
        __slots__ = ()

    refuses(Text(SEALER.seal(1, BINDING)), because="not text")


def test_a_signed_token_is_no_state() -> None:
    refuses(Sealer([KEY], salt="s").seal({"a": 1}))


# --- keys -----------------------------------------------------------------------------------------


def test_the_newest_key_seals_and_older_ones_open() -> None:
    old, both, new = sealer("old"), sealer("new", "old"), sealer("new")
    assert both.open(old.seal(1, BINDING), BINDING).value == 1
    assert new.open(both.seal(2, BINDING), BINDING).value == 2
    refuses(both.seal(3, BINDING), by=old)


@given(keys=st.lists(st.binary(min_size=1, max_size=80), min_size=2, max_size=5, unique=True), data=st.data())
def test_each_key_of_the_list_opens_and_no_other(keys: list[bytes], data: st.DataObject) -> None:
    used = data.draw(st.sampled_from(keys))
    text = sealer(used).seal([1], BINDING)
    assert sealer(*keys).open(text, BINDING).value == [1]
    refuses(text, by=sealer(*(key for key in keys if key != used)), because="unknown key")


@pytest.mark.parametrize("keys", [[], "secret", b"secret", [b""], ["good", ""]])
def test_keys_are_a_list_of_secrets(keys: Any) -> None:
    with pytest.raises(ConfigurationError, match="list of one or more keys"):
        StateSealer(keys, ttl=1, clock=Clock())


# --- binding --------------------------------------------------------------------------------------


@given(one=bindings, other=bindings)
def test_a_state_opens_for_its_binding_only(one: list[str | None], other: list[str | None]) -> None:
    """S26-MRTR-08"""
    text = SEALER.seal("x", one)
    if one == other:
        assert SEALER.open(text, other).value == "x"
    else:
        refuses(text, other)


@given(binding=st.lists(st.none() | st.text(), min_size=2, max_size=6, unique=True), data=st.data())
def test_a_binding_with_two_parts_swapped_is_another(binding: list[str | None], data: st.DataObject) -> None:
    text = SEALER.seal("x", binding)
    one, two = data.draw(st.permutations(range(len(binding))))[:2]
    binding[one], binding[two] = binding[two], binding[one]
    refuses(text, binding)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (["ab", "c"], ["a", "bc"]), (["a", ""], ["a"]), (["", "a"], ["a", ""]), ([], [""]), ([None], [""]),
        ([None], []), (["None"], [None]), (["a", "b"], ["b", "a"]), (["a,b"], ["a", "b"]), (['a","b'], ["a", "b"]),
        (["\0"], [""]), (["é"], ["e\u0301"]), (["\U0001f600"], ["\ud83d\ude00"]),
        (["a\0\0\0\0\0\0\0\x01b"], ["a", "b"]),
    ],
)  # fmt: skip
def test_bindings_that_look_alike_are_told_apart(one: list[str | None], other: list[str | None]) -> None:
    refuses(SEALER.seal("x", one), other)
    refuses(SEALER.seal("x", other), one)


def test_one_text_is_not_taken_for_its_characters() -> None:
    with pytest.raises(TypeError, match="list of texts"):
        SEALER.seal("x", "tools/call")
    with pytest.raises(TypeError, match="list of texts"):
        SEALER.open(SEALER.seal("x", [*"abc"]), "abc")


# --- time -----------------------------------------------------------------------------------------


def test_a_state_opens_until_its_time_is_over() -> None:
    """S26-MRTR-08"""
    clock = Clock(1000.0)
    timed = sealer(clock=clock)
    text = timed.seal(1, BINDING)
    clock.now = 1899.999
    assert timed.open(text, BINDING).expires == 1900.0
    for clock.now in (1900.0, 1e12, float("inf"), float("nan")):
        refuses(text, by=timed, because="expired")


def test_a_clock_put_back_prolongs_a_state_by_that_step_and_no_more() -> None:
    clock = Clock(1000.0)
    timed = sealer(clock=clock)
    text = timed.seal(1, BINDING)
    clock.now = 1100.0 - 500.0
    # 800 of its 900 seconds are left, and the 500 come on top.
    clock.now += 800 + 500 - 0.001
    assert timed.open(text, BINDING).value == 1
    clock.now += 0.001
    refuses(text, by=timed, because="expired")


def test_the_time_of_a_state_is_that_of_who_sealed_it() -> None:
    clock = Clock(1000.0)
    text = StateSealer([KEY], ttl=5, clock=clock).seal(1, BINDING)
    clock.now = 1006.0
    refuses(text, by=StateSealer([KEY], ttl=10_000, clock=clock), because="expired")


@pytest.mark.parametrize("ttl", [0, -1, float("nan"), float("inf")])
def test_a_state_lives_for_some_time(ttl: float) -> None:
    with pytest.raises(ConfigurationError, match="ttl"):
        StateSealer([KEY], ttl=ttl, clock=Clock())


# --- size and content -----------------------------------------------------------------------------


def test_no_state_is_longer_than_the_limit() -> None:
    longest = "x" * (MAX_STATE * 3 // 4 - OVERHEAD - len('""'))
    text = SEALER.seal(longest, BINDING)
    assert len(text) == MAX_STATE == 65_536
    assert SEALER.open(text, BINDING).value == longest
    with pytest.raises(ValueError, match="too large"):
        SEALER.seal(longest + "x", BINDING)
    refuses("A" * (MAX_STATE + 1), because="longer")


def test_the_limit_can_be_set() -> None:
    small = sealer(max_size=200)
    with pytest.raises(ValueError, match="at most 200"):
        small.seal("x" * 100, BINDING)
    refuses(SEALER.seal("x" * 100, BINDING), by=small, because="longer")


@pytest.mark.parametrize(
    "value", [float("nan"), float("-inf"), b"x", (1, 2), {1: 2}, {1, 2}, object(), "\ud800", {"a": [float("nan")]}]
)
def test_only_json_is_sealed(value: Any) -> None:
    with pytest.raises(ValueError, match="only JSON"):
        SEALER.seal(value, BINDING)


def hkdf(key: bytes, salt: bytes, label: bytes, length: int) -> bytes:
    """RFC 5869, section 2, by the letter."""
    extracted = hmac.digest(salt, key, "sha256")
    made, block = b"", b""
    for counter in range(1, -(-length // 32) + 1):
        block = hmac.digest(extracted, block + label + bytes([counter]), "sha256")
        made += block
    return made[:length]


def sealed_by_hand(content: bytes, key: bytes = KEY, version: bytes = b"\x01") -> str:
    salt = b"s" * 24
    derived = hkdf(key, salt, b"mcp_wsgi.state" + version, 60)
    associated = b"".join(struct.pack(">q", len(part)) + part.encode() for part in BINDING)
    sealed = AESGCM(derived[28:]).encrypt(derived[16:28], content, associated)
    return spelled(version + salt + derived[:16] + sealed)


def test_the_format_is_the_one_that_is_described() -> None:
    """States are out while the package is upgraded: this format opens for ever, or gets another version."""
    text = sealed_by_hand(struct.pack(">d", 1500.0) + b'{"a":[1,true]}')
    assert SEALER.open(text, BINDING) == Opened({"a": [1, True]}, spelled(b"s" * 24), 1500.0)


def test_another_version_of_the_format_is_refused() -> None:
    refuses(sealed_by_hand(struct.pack(">d", 1500.0) + b"1", version=b"\x02"), because="unknown format")


@pytest.mark.parametrize("content", [b"", b"NaN", b'"\xff"', b"1 2", b"1e999", b'"\\ud800"', b"\x80\x04."])
def test_a_seal_around_what_is_no_json_is_refused(content: bytes) -> None:
    """Whoever shares the key with us by mistake does not make us read other formats."""
    refuses(sealed_by_hand(struct.pack(">d", 1500.0) + content), because="not JSON")


@pytest.mark.parametrize("expires", [float("nan"), -1.0, 1000.0])
def test_a_seal_around_a_time_that_is_none_is_refused(expires: float) -> None:
    refuses(sealed_by_hand(struct.pack(">d", expires) + b"1"), because="expired")


def test_a_seal_around_less_than_a_time_is_refused() -> None:
    refuses(sealed_by_hand(b"1234567"), because="shorter")


def test_a_state_nested_beyond_what_python_follows_is_refused() -> None:
    levels = 300_000
    text = sealed_by_hand(struct.pack(">d", 1500.0) + b"[" * levels + b"]" * levels)
    refuses(text, by=sealer(max_size=1_000_000), because="nested too deeply")


# --- digests --------------------------------------------------------------------------------------


def test_a_digest_is_that_of_the_sorted_json() -> None:
    text = '{"arguments":{"a":[1,1.5,true,null],"b":"é"},"name":"pay"}'
    params = {"name": "pay", "arguments": {"b": "é", "a": [1, 1.5, True, None]}}
    assert digest(params) == hashlib.sha256(text.encode()).hexdigest()


def reordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: reordered(value[name]) for name in reversed(value)}
    return [reordered(item) for item in value] if isinstance(value, list) else value


@given(params=st.dictionaries(st.text(), json_values))
def test_the_order_of_names_does_not_count(params: dict[str, Any]) -> None:
    assert digest(reordered(params)) == digest(params)


@given(one=json_values, other=json_values)
def test_digests_are_equal_for_what_is_written_alike_only(one: Any, other: Any) -> None:
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (digest({"a": one}) == digest({"a": other})) is same


def test_values_that_python_takes_for_equal_have_digests_of_their_own() -> None:
    values = [1, 1.0, "1", True, [1], {"1": 1}, 0, 0.0, -0.0, False, None, "", [], {}, "null", 2**64, float(2**64)]
    assert len({digest({"a": value}) for value in values}) == len(values)


def test_what_is_left_out_does_not_count_at_the_top_alone() -> None:
    left_out = {"_meta", "requestState"}
    params = {"name": "pay", "arguments": {"_meta": 1}}
    assert digest({**params, "_meta": {"a": 1}, "requestState": "x"}, left_out) == digest(params)
    assert digest({"name": "pay", "arguments": {}}, left_out) != digest(params, left_out)
    assert digest({**params, "_meta": {}}) != digest(params)


def test_a_text_that_is_no_unicode_has_no_digest() -> None:
    with pytest.raises(ValueError, match="surrogate"):
        digest({"a": "\ud800"})


# --- a request, and those that are not it ---------------------------------------------------------

REQUEST: dict[str, Any] = {
    "revision": "2026-07-28",
    "method": "tools/call",
    "params": {"name": "pay", "arguments": {"amount": 5}},
    "principal": "str:alice",
    "mount": "/mcp",
}


def binding_of(**changes: Any) -> list[str | None]:
    request = {**REQUEST, **changes}
    return [*(request[name] for name in ("revision", "method", "principal", "mount")), digest(request["params"])]


HOSTILE: dict[str, dict[str, Any]] = {
    "tampered": {"change": lambda text: text[:80] + ("A" if text[80] != "A" else "B") + text[81:]},
    "truncated": {"change": lambda text: text[:-4]},
    "extended": {"change": lambda text: text + "AAAA"},
    "other user": {"principal": "str:mallory"},
    "no user": {"principal": None},
    "other method": {"method": "prompts/get"},
    "other tool": {"params": {"name": "refund", "arguments": {"amount": 5}}},
    "other arguments": {"params": {"name": "pay", "arguments": {"amount": 500}}},
    "arguments of another type": {"params": {"name": "pay", "arguments": {"amount": "5"}}},
    "other mount": {"mount": "/other"},
    "other revision": {"revision": "2025-11-25"},
    "removed key": {"keys": ["new"]},
    "expired": {"now": 1900.0},
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_state_that_is_not_exactly_ours_is_refused(case: str) -> None:
    """S26-MRTR-07, S26-MRTR-08"""
    text = sealer("old").seal({"step": 1}, binding_of())
    assert sealer("new", "old").open(text, binding_of()).value == {"step": 1}
    hostile = dict(HOSTILE[case])
    change = hostile.pop("change", str)
    by = sealer(*hostile.pop("keys", ["new", "old"]), clock=Clock(hostile.pop("now", 1000.0)))
    refuses(change(text), binding_of(**hostile), by)


def test_importing_the_module_loads_no_cryptography() -> None:
    code = "import mcp_wsgi.vault, sys; print('cryptography' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "False\n"
