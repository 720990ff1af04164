"""What is sealed opens as it was; what was touched does not open."""

from __future__ import annotations

import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from itsdangerous import Signer

from mcp_wsgi.errors import ConfigurationError, InvalidCursor
from mcp_wsgi.sealing import MAX_TOKEN, Cursors, SealBroken, Sealer, generate_key

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)
URL_SAFE = frozenset(string.ascii_letters + string.digits + "-_.")
SEALER = Sealer([b"key"], salt="test")


@given(payload=json_values)
def test_what_is_sealed_opens_as_it_was(payload: Any) -> None:
    token = SEALER.seal(payload)
    assert URL_SAFE.issuperset(token)
    assert SEALER.open(token) == payload


@given(payload=json_values, data=st.data())
def test_a_token_with_another_character_does_not_open(payload: Any, data: st.DataObject) -> None:
    token = SEALER.seal(payload)
    place = data.draw(st.integers(0, len(token) - 1))
    other = data.draw(st.sampled_from(sorted(URL_SAFE - {token[place]})))
    with pytest.raises(SealBroken):
        SEALER.open(token[:place] + other + token[place + 1 :])


@given(cut=st.integers(1, 40), junk=st.text(min_size=1))
def test_a_token_of_another_length_does_not_open(cut: int, junk: str) -> None:
    token = SEALER.seal({"a": 1})
    for changed in (token[:-cut], token[cut:], token + junk, junk + token):
        with pytest.raises(SealBroken):
            SEALER.open(changed)


@pytest.mark.parametrize("token", [None, 3, b"abc", ["a"], "", ".", "a.b", "é", "\ud800", " "])
def test_what_is_no_token_does_not_open(token: Any) -> None:
    with pytest.raises(SealBroken) as caught:
        SEALER.open(token)
    assert caught.value.reason
    assert str(caught.value) == caught.value.reason


def test_a_new_key_signs_and_the_old_one_still_opens() -> None:
    old, both, new = (Sealer(keys, salt="s") for keys in (["old"], ["new", "old"], ["new"]))
    assert both.open(old.seal(1)) == 1
    assert new.open(both.seal(2)) == 2
    with pytest.raises(SealBroken):
        old.open(both.seal(3))


def test_text_and_its_bytes_are_the_same_key() -> None:
    assert Sealer(["schlüssel"], salt="s").open(Sealer(["schlüssel".encode()], salt="s").seal(1)) == 1


def test_a_token_does_not_open_under_another_salt() -> None:
    with pytest.raises(SealBroken):
        Sealer([b"key"], salt="other").open(SEALER.seal(1))


@pytest.mark.parametrize("keys", [[], "secret", b"secret", [b""], ["good", ""]])
def test_keys_are_a_list_of_secrets(keys: Any) -> None:
    with pytest.raises(ConfigurationError, match="list of one or more keys"):
        Sealer(keys, salt="s")


def test_a_salt_is_needed() -> None:
    with pytest.raises(ConfigurationError, match="salt"):
        Sealer([b"key"], salt="")


@pytest.mark.parametrize(
    "payload", [float("nan"), float("inf"), b"x", (1, 2), {1: 2}, {1, 2}, object(), "\ud800", {"a": [float("nan")]}]
)
def test_only_json_is_sealed(payload: Any) -> None:
    with pytest.raises(ValueError, match="only JSON"):
        SEALER.seal(payload)


def test_a_payload_that_holds_itself_is_not_sealed() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(ValueError, match="only JSON"):
        SEALER.seal(loop)


def test_no_token_is_longer_than_the_limit() -> None:
    # Four characters for three bytes, then a dot and 43 characters of signature.
    longest = "x" * ((MAX_TOKEN - 44) * 3 // 4 - len('""'))
    token = SEALER.seal(longest)
    assert len(token) == MAX_TOKEN
    assert SEALER.open(token) == longest
    with pytest.raises(ValueError, match="too large"):
        SEALER.seal(longest + "x")
    with pytest.raises(SealBroken, match="longer"):
        SEALER.open("x" * (MAX_TOKEN + 1))


def test_a_signature_over_what_is_no_json_does_not_open() -> None:
    """Whoever shares the key with us by mistake does not make us read other formats."""
    signer = SEALER._signer
    assert isinstance(signer, Signer)
    for inside in (b"TmFO", b"gASVAAAA", b"e30!", b"A"):
        with pytest.raises(SealBroken):
            SEALER.open(signer.sign(inside).decode())


def test_a_signature_has_one_spelling() -> None:
    token = SEALER.seal(1)
    padded = token + "="
    assert SEALER._signer.unsign(padded)
    with pytest.raises(SealBroken, match="respelled"):
        SEALER.open(padded)


# --- cursors --------------------------------------------------------------------------------------

CURSORS = Cursors(SEALER)


@given(list_name=st.text(), state=st.text(), offset=st.integers(0, 2**63))
def test_a_cursor_gives_back_its_place(list_name: str, state: str, offset: int) -> None:
    """S26-PAGE-02: stable, for the same list in the same state."""
    token = CURSORS.issue(list_name, state, offset)
    assert token == CURSORS.issue(list_name, state, offset)
    assert CURSORS.read(token, list_name, state) == offset


def refuses(token: Any, list_name: str = "tools", state: str = "s1") -> None:
    with pytest.raises(InvalidCursor) as caught:
        CURSORS.read(token, list_name, state)
    assert caught.value.code == -32602


def test_a_cursor_of_another_list_or_state_is_invalid() -> None:
    """S26-PAGE-02"""
    token = CURSORS.issue("tools", "s1", 50)
    refuses(token, list_name="prompts")
    refuses(token, state="s2")


@pytest.mark.parametrize("token", ["", "50", None, 3, {"a": 1}, "é", "x" * (MAX_TOKEN + 1)])
def test_a_cursor_of_ones_own_making_is_invalid(token: Any) -> None:
    """S26-PAGE-01, S26-PAGE-02: the empty string too."""
    refuses(token)


@pytest.mark.parametrize(
    "payload",
    [50, None, [], ["tools", "s1"], ["tools", "s1", -1], ["tools", "s1", True], ["tools", "s1", "5"],
     ["tools", "s1", 1.0], ["tools", "s1", 5, 5], {"tools": "s1"}],
)  # fmt: skip
def test_a_sealed_value_of_another_kind_is_no_cursor(payload: Any) -> None:
    refuses(SEALER.seal(payload))


def test_the_reason_is_kept_for_the_log_and_not_told() -> None:
    with pytest.raises(InvalidCursor) as caught:
        CURSORS.read("forged", "tools", "s1")
    assert isinstance(caught.value.__cause__, SealBroken)
    assert caught.value.__cause__.reason not in str(caught.value)


def test_a_key_is_32_fresh_bytes() -> None:
    assert len({generate_key() for _ in range(20)}) == 20
    assert {len(generate_key()) for _ in range(20)} == {32}
