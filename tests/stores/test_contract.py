"""What every store promises. A new one joins by a line in ``BACKENDS``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule, run_state_machine_as_test

from mcp_wsgi.errors import InvalidParams
from mcp_wsgi.sessions import MAX_SUBSCRIBED_BYTES, MAX_SUBSCRIPTIONS, Settings, is_session_id
from mcp_wsgi.stores import Ended, SessionStore
from mcp_wsgi.stores.memory import MemoryStore
from mcp_wsgi.stores.signed import SignedStore
from tests.stores.kit import TTL, Clock, record

MAX_SESSIONS = 5

BACKENDS: dict[str, Callable[[Clock], SessionStore]] = {
    "memory": lambda clock: MemoryStore(TTL, MAX_SESSIONS, clock, clock),
    "signed": lambda clock: SignedStore(["a key for the tests"], TTL, clock),
}
STATEFUL = [name for name, make in BACKENDS.items() if make(Clock()).stateful]

every_store = pytest.mark.parametrize("store", BACKENDS, indirect=True)
stateful_stores = pytest.mark.parametrize("store", STATEFUL, indirect=True)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(request: pytest.FixtureRequest, clock: Clock) -> SessionStore:
    return BACKENDS[request.param](clock)


def opened(store: SessionStore, **state: Any) -> str:
    """The id of a new session."""
    session_id = store.create(record(), state)
    assert session_id is not None
    return session_id


def together(count: int, work: Callable[[], Any]) -> list[Any]:
    """What ``work`` returns on that many threads, which start it at the same moment."""
    barrier = Barrier(count)

    def run() -> Any:
        barrier.wait()
        return work()

    with ThreadPoolExecutor(count) as pool:
        return [future.result() for future in [pool.submit(run) for _ in range(count)]]


NO_IDS = ["", "x", "é", "\x00", "a b", "." * 10, "A" * 10_000, "\ud800", "eyJhIjoxfQ.c2ln"]


# --- what all of them do --------------------------------------------------------------------------


@every_store
def test_what_was_settled_is_found(store: SessionStore) -> None:
    assert store.find(opened(store)) == record()


@every_store
def test_ids_differ_and_are_visible_ascii(store: SessionStore) -> None:
    ids = {opened(store) for _ in range(MAX_SESSIONS)}
    assert len(ids) == MAX_SESSIONS
    assert all(map(is_session_id, ids))
    assert not any("," in session_id for session_id in ids)


@every_store
@pytest.mark.parametrize("session_id", NO_IDS)
def test_an_id_that_was_never_given_is_gone(store: SessionStore, session_id: str) -> None:
    opened(store)
    assert store.find(session_id) is None
    assert not store.hold(session_id)
    assert store.end(session_id) is None
    store.release(session_id)
    assert store.expire() == []


@every_store
def test_a_session_is_there_until_its_time_is_over(store: SessionStore, clock: Clock) -> None:
    session_id = opened(store)
    clock.now += TTL - 1
    assert store.find(session_id) == record()
    clock.now += 1
    assert store.find(session_id) is None
    assert not store.hold(session_id)


@every_store
def test_looking_does_not_prolong_a_life(store: SessionStore, clock: Clock) -> None:
    session_id = opened(store)
    for _ in range(2):
        clock.now += TTL / 2
        store.find(session_id)
        store.load(session_id)
        store.save(session_id, {})
        store.settings(session_id)
        store.set_log_level(session_id, "debug")
        store.live(session_id, list)
        store.ids()
    assert store.find(session_id) is None


@every_store
def test_a_change_is_taken(store: SessionStore) -> None:
    session_id = opened(store)
    assert store.hold(session_id)
    assert store.save(session_id, {"a": 1})
    assert store.set_log_level(session_id, "error")
    assert store.subscribe(session_id, "file:///a")
    assert store.unsubscribe(session_id, "file:///a")
    assert store.mark_initialized(session_id)


@every_store
def test_an_empty_store_is_still_a_store(store: SessionStore) -> None:
    assert len(store) == 0
    assert bool(store) is True
    assert store.close() == []


# --- life -----------------------------------------------------------------------------------------


@stateful_stores
def test_what_is_held_does_not_expire(store: SessionStore, clock: Clock) -> None:
    session_id = opened(store)
    store.hold(session_id)
    clock.now += 100 * TTL
    assert store.expire() == []
    assert store.find(session_id) == record()
    assert store.ids() == [session_id]


@stateful_stores
def test_the_time_counts_from_the_last_release(store: SessionStore, clock: Clock) -> None:
    session_id = opened(store)
    store.hold(session_id)
    store.hold(session_id)
    store.release(session_id)
    clock.now += 2 * TTL
    store.release(session_id)
    clock.now += TTL - 1
    assert store.find(session_id) == record()
    clock.now += 1
    assert store.find(session_id) is None


@stateful_stores
def test_a_release_too_many_changes_nothing(store: SessionStore, clock: Clock) -> None:
    session_id = opened(store)
    clock.now += TTL / 2
    store.release(session_id)
    assert store.hold(session_id)
    clock.now += TTL
    assert store.find(session_id) == record()
    store.release(session_id)
    clock.now += TTL
    assert store.find(session_id) is None


@stateful_stores
def test_what_expired_is_handed_out_once_in_order(store: SessionStore, clock: Clock) -> None:
    first = opened(store, n=1)
    clock.now += 1
    second = opened(store, n=2)
    clock.now += TTL
    third = opened(store)
    assert store.expire() == [Ended(first, record(), {"n": 1}), Ended(second, record(), {"n": 2})]
    assert store.expire() == []
    assert store.ids() == [third]


@stateful_stores
@pytest.mark.parametrize(
    "change",
    [
        lambda store, other: store.create(record(), {}),
        lambda store, other: store.hold(other),
        lambda store, other: store.release(other),
        lambda store, other: store.end(other),
        lambda store, other: store.ids(),
        lambda store, other: len(store),
        lambda store, other: store.find(other),
        lambda store, other: store.save(other, {}),
    ],
)
def test_nothing_expires_unseen(
    store: SessionStore, clock: Clock, change: Callable[[SessionStore, str], object]
) -> None:
    """Whatever happens to other sessions when one has expired, ``expire`` still has it."""
    expired = opened(store)
    other, held = opened(store), opened(store)
    store.hold(held)
    clock.now += TTL / 2
    store.hold(other)
    store.release(other)
    clock.now += TTL / 2
    change(store, other)
    change(store, held)
    assert expired not in store.ids()
    assert [ended.id for ended in store.expire()] == [expired]


@stateful_stores
def test_what_is_ended_is_handed_out_once_and_gone(store: SessionStore) -> None:
    session_id = opened(store, cart=["tea"])
    assert store.end(session_id) == Ended(session_id, record(), {"cart": ["tea"]})
    assert store.end(session_id) is None
    assert store.expire() == []
    assert store.close() == []


@stateful_stores
def test_what_is_gone_takes_nothing(store: SessionStore) -> None:
    session_id = opened(store)
    store.end(session_id)
    assert store.find(session_id) is None
    assert store.load(session_id) is None
    assert store.settings(session_id) is None
    assert store.live(session_id, list) is None
    assert not store.hold(session_id)
    assert not store.save(session_id, {})
    assert not store.set_log_level(session_id, "info")
    assert not store.subscribe(session_id, "a:b")
    assert not store.unsubscribe(session_id, "a:b")
    assert not store.mark_initialized(session_id)
    assert store.ids() == []


@stateful_stores
def test_what_is_held_can_be_ended_and_is_released_in_vain(store: SessionStore) -> None:
    session_id = opened(store)
    store.hold(session_id)
    assert store.end(session_id) is not None
    store.release(session_id)
    assert store.find(session_id) is None
    assert len(store) == 0


@stateful_stores
def test_an_expired_session_cannot_be_ended(store: SessionStore, clock: Clock) -> None:
    session_id = opened(store)
    clock.now += TTL
    assert store.end(session_id) is None
    assert [ended.id for ended in store.expire()] == [session_id]


@stateful_stores
def test_a_full_store_opens_no_session_until_there_is_room(store: SessionStore, clock: Clock) -> None:
    first = opened(store)
    store.hold(first)
    others = [opened(store) for _ in range(MAX_SESSIONS - 1)]
    assert store.create(record(), {}) is None
    assert {*store.ids()} == {first, *others}
    store.end(others.pop())
    opened(store)
    assert store.create(record(), {}) is None
    clock.now += TTL
    for _ in range(MAX_SESSIONS - 1):
        opened(store)
    assert store.create(record(), {}) is None
    assert len(store.expire()) == MAX_SESSIONS - 1


@stateful_stores
def test_closing_ends_all_and_opens_no_more(store: SessionStore, clock: Clock) -> None:
    expired, held = opened(store), opened(store, n=1)
    store.hold(held)
    clock.now += TTL
    idle = opened(store)
    assert {ended.id: ended.state for ended in store.close()} == {expired: {}, held: {"n": 1}, idle: {}}
    assert store.close() == []
    assert store.expire() == []
    assert store.ids() == []
    assert store.create(record(), {}) is None


# --- state, settings, the live object -------------------------------------------------------------


@stateful_stores
def test_what_was_saved_last_is_loaded(store: SessionStore) -> None:
    session_id, other = opened(store, cart=[]), opened(store)
    assert store.load(session_id) == {"cart": []}
    assert store.save(session_id, {"cart": ["tea"]})
    assert store.load(session_id) == {"cart": ["tea"]}
    assert store.load(other) == {}


@stateful_stores
def test_nobody_changes_the_kept_state_from_outside(store: SessionStore) -> None:
    given: dict[str, Any] = {"cart": {"items": []}}
    session_id = opened(store, **given)
    given["cart"]["items"].append("from create")
    saved: dict[str, Any] = {"cart": {"items": []}}
    assert store.load(session_id) == saved
    store.save(session_id, saved)
    saved["cart"]["items"].append("from save")
    loaded = store.load(session_id)
    assert loaded == {"cart": {"items": []}}
    loaded["cart"]["items"].append("from load")
    assert store.load(session_id) == {"cart": {"items": []}}


@stateful_stores
def test_a_new_session_has_the_default_settings(store: SessionStore) -> None:
    assert store.settings(opened(store)) == Settings(log_level=None, subscriptions=frozenset(), initialized=False)


@stateful_stores
def test_settings_are_kept_for_each_session(store: SessionStore) -> None:
    session_id, other = opened(store), opened(store)
    store.set_log_level(session_id, "debug")
    store.set_log_level(session_id, "error")
    store.mark_initialized(session_id)
    for uri in ("a:1", "a:2", "a:2", "a:3"):
        store.subscribe(session_id, uri)
    for uri in ("a:3", "a:4"):
        store.unsubscribe(session_id, uri)
    assert store.settings(session_id) == Settings("error", frozenset({"a:1", "a:2"}), True)
    assert store.settings(other) == Settings()


@stateful_stores
def test_a_subscription_too_many_is_refused_and_the_others_stay(store: SessionStore) -> None:
    session_id = opened(store)
    uris = [f"a:{n}" for n in range(MAX_SUBSCRIPTIONS)]
    for uri in uris:
        store.subscribe(session_id, uri)
    with pytest.raises(InvalidParams, match="Too many subscriptions"):
        store.subscribe(session_id, "a:more")
    assert store.subscribe(session_id, uris[0])
    kept = store.settings(session_id)
    assert kept is not None
    assert kept.subscriptions == {*uris}
    store.unsubscribe(session_id, uris[0])
    assert store.subscribe(session_id, "a:more")


@stateful_stores
def test_the_text_of_subscriptions_is_bounded_in_bytes(store: SessionStore) -> None:
    session_id = opened(store)
    assert store.subscribe(session_id, "é" * (MAX_SUBSCRIBED_BYTES // 2))
    with pytest.raises(InvalidParams):
        store.subscribe(session_id, "a")


@stateful_stores
def test_the_live_object_is_always_the_same_one(store: SessionStore) -> None:
    session_id, other = opened(store), opened(store)
    live = store.live(session_id, list)
    assert live == []
    live.append(1)
    store.hold(session_id)
    assert store.live(session_id, list) is live
    store.release(session_id)
    assert store.live(session_id, list) is live
    assert store.live(other, list) == []
    ended = store.end(session_id)
    assert ended is not None
    assert ended.live is live


# --- several at once ------------------------------------------------------------------------------


@stateful_stores
def test_one_of_many_who_end_a_session_gets_it(store: SessionStore) -> None:
    for _ in range(20):
        session_id = opened(store)
        got = together(4, lambda: store.end(session_id))  # noqa: B023
        assert [ended.id for ended in got if ended is not None] == [session_id]


@stateful_stores
def test_what_expired_goes_to_one_of_many(store: SessionStore, clock: Clock) -> None:
    for _ in range(20):
        ids = [opened(store) for _ in range(MAX_SESSIONS)]
        clock.now += TTL
        got = together(4, store.expire)
        assert Counter(ended.id for part in got for ended in part) == Counter(ids)


@stateful_stores
def test_no_more_sessions_than_allowed_are_opened_at_once(store: SessionStore) -> None:
    got = together(4, lambda: [store.create(record(), {}) for _ in range(MAX_SESSIONS)])
    ids = [session_id for part in got for session_id in part if session_id is not None]
    assert len(ids) == MAX_SESSIONS
    assert {*store.ids()} == {*ids}


@stateful_stores
def test_holds_of_many_threads_are_counted(store: SessionStore, clock: Clock) -> None:
    session_id = opened(store)

    def work() -> None:
        for _ in range(200):
            store.hold(session_id)
            store.subscribe(session_id, "a:1")
            store.release(session_id)
        store.hold(session_id)

    together(4, work)
    for _ in range(4):
        clock.now += TTL
        assert store.find(session_id) is not None
        store.release(session_id)
    clock.now += TTL
    assert store.find(session_id) is None


@stateful_stores
def test_one_live_object_is_made_for_many_who_ask(store: SessionStore) -> None:
    session_id = opened(store)
    assert len({id(live) for live in together(4, lambda: store.live(session_id, list))}) == 1


# --- any history ----------------------------------------------------------------------------------


class Histories(RuleBasedStateMachine):
    """Any history of a store, beside a model so plain that it is obviously right."""

    backend = "memory"
    sessions = Bundle("sessions")

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.store = BACKENDS[self.backend](self.clock)
        self.since: dict[str, float] = {}  # when it was last released
        self.holds: Counter[str] = Counter()
        self.state: dict[str, int] = {}
        self.out: list[str] = []  # handed out
        self.all: list[str] = []

    def there(self, session_id: str) -> bool:
        if session_id in self.out:
            return False
        return bool(self.holds[session_id]) or self.clock.now - self.since[session_id] < TTL

    @rule(target=sessions)
    def create(self) -> str:
        room = sum(map(self.there, self.all)) < MAX_SESSIONS
        session_id = self.store.create(record(), {"n": 0})
        assert (session_id is not None) == room
        if session_id is None:
            return "none"
        self.all.append(session_id)
        self.since[session_id] = self.clock.now
        self.state[session_id] = 0
        return session_id

    @rule(seconds=st.sampled_from([1, 7, TTL // 2, TTL - 1, TTL]))
    def tick(self, seconds: int) -> None:
        self.clock.now += seconds

    @rule(session_id=sessions.filter(lambda each: each != "none"))
    def hold(self, session_id: str) -> None:
        there = self.there(session_id)
        assert self.store.hold(session_id) == there
        self.holds[session_id] += there

    @rule(session_id=sessions.filter(lambda each: each != "none"))
    def release(self, session_id: str) -> None:
        self.store.release(session_id)
        if self.there(session_id) and self.holds[session_id]:
            self.holds[session_id] -= 1
            self.since[session_id] = self.clock.now

    @rule(session_id=sessions.filter(lambda each: each != "none"), number=st.integers())
    def save(self, session_id: str, number: int) -> None:
        there = self.there(session_id)
        assert self.store.save(session_id, {"n": number}) == there
        if there:
            self.state[session_id] = number

    @rule(session_id=consumes(sessions).filter(lambda each: each != "none"))
    def end(self, session_id: str) -> None:
        there = self.there(session_id)
        ended = self.store.end(session_id)
        assert (ended is not None) == there
        if ended is not None:
            self.hand_out([ended])

    @rule()
    def expire(self) -> None:
        expected = {each for each in self.all if each not in self.out and not self.there(each)}
        got = self.store.expire()
        assert {ended.id for ended in got} == expected
        self.hand_out(got)

    def hand_out(self, got: list[Ended]) -> None:
        for ended in got:
            assert ended.id not in self.out
            assert ended.state == {"n": self.state[ended.id]}
            self.out.append(ended.id)

    @invariant()
    def those_are_there_that_should_be(self) -> None:
        expected = {each for each in self.all if self.there(each)}
        assert {*self.store.ids()} == expected
        assert len(self.store) == len(expected)
        for session_id in self.all:
            assert (self.store.find(session_id) is not None) == (session_id in expected)

    def teardown(self) -> None:
        self.hand_out(self.store.close())
        assert sorted(self.out) == sorted(self.all)


@pytest.mark.parametrize("backend", STATEFUL)
def test_any_history_hands_out_each_session_once(backend: str) -> None:
    machine = type("Histories", (Histories,), {"backend": backend})
    run_state_machine_as_test(machine, settings=settings(stateful_step_count=40))


# --- tokens, channels, live objects ---------------------------------------------------------------


@stateful_stores
def test_a_token_is_claimed_once_until_it_may_be_forgotten(store: SessionStore, clock: Clock) -> None:
    assert [store.claim(token, clock() + 10) for token in ("a", "b", "a")] == [True, True, False]
    clock.now += 10
    assert store.claim("a", clock() + 10)


@stateful_stores
def test_of_many_who_claim_a_token_one_gets_it(store: SessionStore, clock: Clock) -> None:
    assert sorted(together(4, lambda: store.claim("a", clock() + 10))) == [False, False, False, True]


@stateful_stores
def test_the_live_objects_are_those_that_were_made_of_sessions_that_are_there(store: SessionStore) -> None:
    one, two, _ = opened(store), opened(store), opened(store)
    made = [store.live(one, list), store.live(two, list)]
    assert store.lives() == made
    store.end(one)
    assert store.lives() == made[1:]


@stateful_stores
def test_channels_are_remembered(store: SessionStore) -> None:
    session_id = opened(store)
    assert store.set_channels(session_id, frozenset({"a", "b"}))
    assert store.settings(session_id) == Settings(channels=frozenset({"a", "b"}))
    store.end(session_id)
    assert not store.set_channels(session_id, frozenset())


def test_a_store_without_state_claims_everything_and_has_nothing_alive(clock: Clock) -> None:
    store = BACKENDS["signed"](clock)
    assert [store.claim("a", clock()) for _ in range(2)] == [True, True]
    assert store.set_channels(opened(store), frozenset({"a"}))
    assert store.lives() == []
