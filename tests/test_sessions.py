"""Who may use a session, and what its id looks like."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi.sessions import MAX_SESSION_ID, Settings, belongs, is_session_id, new_session_id, principal_id
from tests.patched import run_patched
from tests.stores.kit import record

VISIBLE = [chr(code) for code in range(0x21, 0x7F)]


def known_as(value: Any) -> str:
    """The text for a principal with that id."""
    text = principal_id(SimpleNamespace(id=value))
    assert text is not None
    return text


@given(text=st.text(VISIBLE, min_size=1))
def test_visible_ascii_is_a_session_id(text: str) -> None:
    assert is_session_id(text)


@given(before=st.text(VISIBLE), after=st.text(VISIBLE), other=st.characters(exclude_characters="".join(VISIBLE)))
def test_any_other_character_makes_it_none(before: str, after: str, other: str) -> None:
    assert not is_session_id(before + other + after)


def test_a_session_id_has_1_to_8192_characters() -> None:
    assert [is_session_id("a" * size) for size in (0, 1, 8192, 8193)] == [False, True, True, False]
    assert MAX_SESSION_ID == 8192


def test_a_new_id_has_128_random_bits_or_more_in_visible_ascii() -> None:
    asked: list[int] = []

    def random_bytes(count: int) -> bytes:
        asked.append(count)
        return b"\xff" * count

    assert is_session_id(new_session_id(random_bytes))
    assert sum(asked) * 8 >= 128


@given(first=st.binary(min_size=24, max_size=24), second=st.binary(min_size=24, max_size=24))
def test_all_random_bits_are_in_the_id(first: bytes, second: bytes) -> None:
    assert (new_session_id(lambda _: first) == new_session_id(lambda _: second)) == (first == second)


def test_new_ids_differ() -> None:
    assert len({new_session_id() for _ in range(1000)}) == 1000


def test_nobody_has_no_id() -> None:
    assert principal_id(None) is None


@given(values=st.lists(st.integers() | st.text() | st.uuids() | st.booleans() | st.binary(), min_size=2, max_size=2))
def test_principals_are_the_same_only_if_their_ids_are_of_one_type_and_value(values: list[Any]) -> None:
    first, second = values
    same = type(first) is type(second) and first == second
    assert (known_as(first) == known_as(second)) == same


def test_the_type_of_an_id_is_part_of_it() -> None:
    assert known_as(1) != known_as("1")
    assert known_as(UUID(int=1)) != known_as(str(UUID(int=1)))


def test_a_subclass_of_text_counts_as_text() -> None:
    assert known_as(type("SafeText", (str,), {})("ann")) == known_as("ann")


@pytest.mark.parametrize("value", ["p" * 10_000, "é" * 100, "\ud800", 10**1000, b"\xff" * 1000])
def test_the_text_of_a_principal_is_short_ascii(value: Any) -> None:
    text = known_as(value)
    assert text.isascii()
    assert len(text) <= 220


def test_nobody_can_take_an_id_that_passes_for_another_s_digest() -> None:
    digest = known_as("é").partition("#")[2]
    assert len({known_as("é"), known_as(digest), known_as("#" + digest), known_as("str#" + digest)}) == 4


@pytest.mark.parametrize(
    ("principal", "mount", "mine"),
    [
        ("str:ann", "/shop", True),
        ("str:bob", "/shop", False),
        ("int:ann", "/shop", False),
        (None, "/shop", False),
        ("str:ann", "/other", False),
        ("str:ann", "/shop/", False),
        ("str:ann", "", False),
    ],
)
def test_a_session_belongs_to_its_principal_at_its_mount(principal: str | None, mount: str, mine: bool) -> None:
    assert belongs(record(principal="str:ann", mount="/shop"), principal, mount) is mine


def test_without_auth_a_session_is_nobody_s_and_not_a_principal_s() -> None:
    opened = record(principal=None)
    assert belongs(opened, None, "/shop")
    assert not belongs(opened, "str:None", "/shop")


@given(uris=st.lists(st.tuples(st.booleans(), st.text())))
def test_subscriptions_are_a_set(uris: list[tuple[bool, str]]) -> None:
    settings = Settings("info", frozenset(), True)
    expected: set[str] = set()
    for wanted, uri in uris:
        settings = settings.subscribed(uri) if wanted else settings.unsubscribed(uri)
        (expected.add if wanted else expected.discard)(uri)
    assert settings == Settings("info", frozenset(expected), True)


def test_stores_and_turns_keep_their_promises_under_gevent() -> None:
    run_patched("tests/stores", "tests/test_turns.py")
