"""The signed store: the id says everything."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi.errors import ConfigurationError
from mcp_wsgi.sealing import Sealer
from mcp_wsgi.sessions import SessionRecord, Settings, is_session_id
from mcp_wsgi.stores.signed import SignedStore
from tests.stores.kit import TTL, Clock, record

KEY = "a key for the tests"
LIMIT = 4096
CONTROLS = "\x01" * 5000


def found(store: SignedStore, opened: SessionRecord) -> SessionRecord:
    """What the id of a session says."""
    session_id = store.create(opened, {})
    assert is_session_id(session_id)
    assert len(session_id) < LIMIT
    got = store.find(session_id)
    assert got is not None
    return got


def test_another_process_with_the_same_key_knows_the_session() -> None:
    clock = Clock()
    session_id = SignedStore([KEY], TTL, clock).create(record(), {})
    assert SignedStore([KEY], TTL, clock).find(session_id) == record()
    assert SignedStore(["another key"], TTL, clock).find(session_id) is None


def test_an_old_key_opens_until_it_is_taken_from_the_list() -> None:
    session_id = SignedStore(["old"]).create(record(), {})
    assert SignedStore(["new", "old"]).find(session_id) == record()
    assert SignedStore(["new"]).find(session_id) is None
    assert SignedStore(["old"]).find(SignedStore(["new", "old"]).create(record(), {})) is None


@pytest.mark.parametrize("keys", [[], [""], "key"])
def test_keys_are_a_list_of_good_ones(keys: Any) -> None:
    with pytest.raises(ConfigurationError):
        SignedStore(keys)


@given(place=st.integers(0, 10_000), other=st.sampled_from("Aa0-_."))
def test_a_changed_id_is_unknown(place: int, other: str) -> None:
    store = SignedStore([KEY])
    session_id = store.create(record(), {})
    place %= len(session_id)
    changed = session_id[:place] + other + session_id[place + 1 :]
    assert (store.find(changed) is None) == (changed != session_id)
    assert store.hold(changed) == (changed == session_id)


@pytest.mark.parametrize(
    "payload",
    [None, [], {}, "x", ["2025-11-25", {}, {}, None, "/", "soon", "n"], ["2025-11-25", [], {}, None, "/", 1, "n"]],
)
def test_a_signed_id_of_another_shape_is_unknown(payload: Any) -> None:
    """Such as one that another version of the package made under the same key."""
    session_id = Sealer([KEY], salt="mcp_wsgi.session").seal(payload)
    assert SignedStore([KEY]).find(session_id) is None


def test_a_token_that_was_sealed_for_something_else_is_unknown() -> None:
    payload: list[Any] = ["2025-11-25", {}, {}, None, "/", 1000, "n"]
    store = SignedStore([KEY], TTL, Clock())
    assert store.find(Sealer([KEY], salt="mcp_wsgi.session").seal(payload)) is not None
    assert store.find(Sealer([KEY], salt="something else").seal(payload)) is None


def test_ids_of_equal_sessions_at_one_moment_differ_by_128_random_bits() -> None:
    asked: list[int] = []

    def random_bytes(count: int) -> bytes:
        asked.append(count)
        return bytes([len(asked)]) * count

    store = SignedStore([KEY], TTL, Clock(), random_bytes)
    assert store.create(record(), {}) != store.create(record(), {})
    assert min(asked) * 8 >= 128


def test_ordinary_clients_are_kept_whole() -> None:
    info = {"name": "é", "title": "A client", "version": "1", "icons": [{"src": "https://example.com/i.png"}]}
    capabilities: dict[str, Any] = {"experimental": {"x": {}}, "elicitation": {"form": {}, "url": {}}, "sampling": {}}
    opened = record(client_info=info, capabilities=capabilities)
    assert found(SignedStore([KEY]), opened) == opened


def test_a_talkative_client_is_known_by_its_name_and_version() -> None:
    info = {"name": "n" * 5000, "title": 7, "version": "1.2", "description": "d" * 5000}
    assert found(SignedStore([KEY]), record(client_info=info)).client_info == {"name": "n" * 50, "version": "1.2"}


def test_of_too_many_capabilities_those_of_the_protocol_stay() -> None:
    capabilities: dict[str, Any] = {
        "roots": {"listChanged": True, "x": CONTROLS},
        "sampling": {"tools": {CONTROLS: 1}},
        "elicitation": {},
        "experimental": {"x": "x" * 5000},
    }
    kept = found(SignedStore([KEY]), record(capabilities=capabilities)).capabilities
    assert kept == {"roots": {"listChanged": True}, "sampling": {"tools": {}}, "elicitation": {}}


@pytest.mark.parametrize("roots", [1, None, "x" * 5000, []])
def test_a_capability_of_a_wrong_type_is_left_out(roots: Any) -> None:
    capabilities = {"roots": roots, "experimental": CONTROLS}
    assert found(SignedStore([KEY]), record(capabilities=capabilities)).capabilities == {}


def test_the_largest_id_stays_below_four_kibibytes() -> None:
    # What fills its share to the last byte, and what is longest once it is cut: a control character takes six.
    whole = {"x": "y" * (1024 - len('{"x":""}'))}
    cut = dict.fromkeys(("name", "title", "version"), CONTROLS)
    for info in (whole, cut):
        opened = record(client_info=info, capabilities=whole, principal="str:" + "p" * 200, mount="/" + "m" * 499)
        got = found(SignedStore([KEY]), opened)
        assert (got.capabilities, got.principal, got.mount) == (whole, opened.principal, opened.mount)
        assert len(got.client_info) == len(info)


def test_there_is_no_state_and_nothing_to_push_to() -> None:
    store = SignedStore([KEY])
    session_id = store.create(record(), {"a": 1})
    store.save(session_id, {"a": 2})
    store.set_log_level(session_id, "debug")
    store.subscribe(session_id, "a:1")
    store.mark_initialized(session_id)
    assert store.load(session_id) == {}
    assert store.settings(session_id) == Settings()
    assert store.live(session_id, list) is None
    assert store.ids() == []


def test_an_id_cannot_be_ended() -> None:
    store = SignedStore([KEY])
    session_id = store.create(record(), {})
    assert store.end(session_id) is None
    assert store.close() == []
    assert store.find(session_id) == record()
