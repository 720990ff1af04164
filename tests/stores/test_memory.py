"""The memory store: what no other store has."""

from __future__ import annotations

import gc
import threading
import tracemalloc
from collections.abc import Callable
from itertools import count
from typing import Any

import msgspec
import pytest

from mcp_wsgi.stores.memory import MemoryStore
from tests.stores.kit import TTL, Clock, record

COUNT = 1000


def initialize() -> Any:
    """What an ordinary client opens a session with, as it comes off the wire."""
    return msgspec.json.decode(
        b'{"clientInfo":{"name":"an-ordinary-client","title":"An ordinary client","version":"1.2.3"},'
        b'"capabilities":{"roots":{"listChanged":true},"sampling":{},"elicitation":{"form":{},"url":{}}}}'
    )


def filled(clock: Clock) -> MemoryStore:
    """A store with many sessions, each with objects of its own."""
    store = MemoryStore(TTL, COUNT, clock)
    for _ in range(COUNT):
        params = initialize()
        store.create(record(client_info=params["clientInfo"], capabilities=params["capabilities"]), {"user": "ann"})
    return store


def traced(work: Callable[[], Any]) -> tuple[Any, int]:
    """What ``work`` returns, and the bytes that are in use for it then."""
    work()  # whatever is only made once
    gc.collect()
    tracemalloc.start()
    try:
        result = work()
        gc.collect()
        return result, tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


def test_a_thousand_sessions_take_less_than_two_mebibytes() -> None:
    store, size = traced(lambda: filled(Clock()))
    assert len(store) == COUNT
    assert size < 2 * 1024 * 1024


def test_abandoned_sessions_leave_nothing_behind() -> None:
    clock = Clock()

    def open_and_abandon() -> MemoryStore:
        store = filled(clock)
        clock.now += TTL
        assert len(store.expire()) == COUNT
        return store

    # The tables that were large once stay so; their rows are gone.
    assert traced(open_and_abandon)[1] < traced(lambda: filled(Clock()))[1] / 10


def test_the_live_object_is_made_when_it_is_first_asked_for() -> None:
    numbers = count()
    store = MemoryStore(TTL, 2, Clock())
    first, second = store.create(record(), {}), store.create(record(), {})
    assert first is not None
    assert second is not None
    assert store.live(second, lambda: next(numbers)) == 0
    ended = store.end(first)
    assert ended is not None
    assert ended.live is None
    assert next(numbers) == 1


class Meddler:
    """A state that uses the store while it is being copied and when it is dropped."""

    store: MemoryStore
    calls: list[int]

    def __deepcopy__(self, memo: object) -> Meddler:
        self.calls.append(len(self.store))
        return self

    def __del__(self) -> None:
        self.calls.append(len(self.store))


def test_the_application_s_code_runs_without_the_lock() -> None:
    store = MemoryStore(TTL, 2, Clock())
    calls: list[int] = []

    def work() -> None:
        meddler = Meddler()
        meddler.store, meddler.calls = store, calls
        session_id = store.create(record(), {"a": meddler})
        assert session_id is not None
        store.load(session_id)
        store.save(session_id, {"a": meddler})
        del meddler
        store.save(session_id, {})

    # A thread of its own: with the lock taken it would wait for ever.
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()
    assert calls == [0, 1, 1, 1]


def test_a_factory_that_raises_leaves_the_store_usable() -> None:
    broken = iter([ZeroDivisionError])

    def make() -> object:
        for error in broken:
            raise error
        return "made"

    store = MemoryStore(TTL, 1, Clock())
    session_id = store.create(record(), {})
    assert session_id is not None
    with pytest.raises(ZeroDivisionError):
        store.live(session_id, make)
    assert store.live(session_id, make) == "made"


def test_no_more_tokens_are_claimed_than_can_be_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_wsgi.stores.memory.MAX_CLAIMED", 2)
    clock = Clock()
    store = MemoryStore(TTL, 1, clock, clock)
    assert [store.claim(token, clock() + 10) for token in ("a", "b", "c")] == [True, True, False]
    clock.now += 10
    assert store.claim("c", clock() + 10)
