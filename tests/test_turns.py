"""First come, first served, one at a time, and nobody is forgotten."""

from __future__ import annotations

import random
import threading
import time
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from mcp_wsgi.errors import Overloaded
from mcp_wsgi.turns import Turn, Turns
from tests.stores.kit import Clock

SOON = 10.0  # seconds: a bound for what happens at once


class TickingEvent:
    """An event whose waiting costs time of the clock, and nothing else."""

    def __init__(self, clock: Clock, step: float = 1000.0) -> None:
        self.clock = clock
        self.step = step
        self.waits: list[float] = []
        self.is_set = False

    def set(self) -> None:
        self.is_set = True

    def clear(self) -> None:
        """Nobody waits for it twice."""

    def wait(self, timeout: float) -> bool:
        self.waits.append(timeout)
        self.clock.now += min(timeout, self.step)
        return self.is_set


def joined(turns: Turns, count: int) -> list[Turn]:
    """That many calls, in order."""
    return [turns.join(threading.Event) for _ in range(count)]


def state(turns: list[Turn]) -> list[bool]:
    """Whose turn it is."""
    return [turn.wait(0) for turn in turns]


def test_the_first_has_its_turn_at_once_and_needs_no_event() -> None:
    def none_needed() -> Any:
        raise AssertionError("an event was made")

    turn = Turns(0).join(none_needed)
    assert turn.wait(0)
    assert turn.wait(0)


def test_turns_come_in_the_order_of_joining() -> None:
    turns = Turns(10)
    calls = joined(turns, 4)
    for place, call in enumerate(calls):
        assert state(calls) == [other == place for other in range(4)]
        call.leave()
    assert state(calls) == [False] * 4
    assert joined(turns, 1)[0].wait(0)


def test_who_leaves_the_queue_is_passed_over() -> None:
    calls = joined(Turns(10), 4)
    calls[1].leave()
    calls[0].leave()
    assert state(calls) == [False, False, True, False]


def test_leaving_again_takes_nobody_s_turn() -> None:
    calls = joined(Turns(10), 3)
    for _ in range(2):
        calls[0].leave()
    assert state(calls) == [False, True, False]
    for _ in range(2):
        calls[2].leave()
    assert state(calls) == [False, True, False]


def test_only_so_many_may_wait() -> None:
    turns = Turns(2)
    calls = joined(turns, 3)
    assert turns.pending == 2
    with pytest.raises(Overloaded, match="2 calls of this session are waiting"):
        joined(turns, 1)
    calls[2].leave()
    assert not joined(turns, 1)[0].wait(0)
    calls[0].leave()
    assert not joined(turns, 1)[0].wait(0)
    with pytest.raises(Overloaded):
        joined(turns, 1)


def test_nobody_waits_where_none_may() -> None:
    turns = Turns(0)
    (call,) = joined(turns, 1)
    with pytest.raises(Overloaded):
        joined(turns, 1)
    call.leave()
    assert joined(turns, 1)[0].wait(0)


def test_who_waited_in_vain_keeps_its_place() -> None:
    clock = Clock()
    turns = Turns(10, clock)
    event = TickingEvent(clock)
    first = turns.join(threading.Event)
    second, third = turns.join(lambda: event), turns.join(threading.Event)
    assert not second.wait(5)
    assert clock.now == 1005
    first.leave()
    assert state([second, third]) == [True, False]
    assert event.is_set


def test_an_event_that_wakes_early_is_waited_for_again() -> None:
    clock = Clock()
    turns = Turns(1, clock)
    event = TickingEvent(clock, step=2)
    turns.join(threading.Event)
    assert not turns.join(lambda: event).wait(5)
    assert event.waits == [5, 3, 1]


def test_an_event_that_cannot_be_made_takes_no_place() -> None:
    turns = Turns(1)
    joined(turns, 1)
    with pytest.raises(ZeroDivisionError):
        turns.join(lambda: 1 // 0)  # type: ignore[arg-type, return-value]
    assert turns.pending == 0


def waiting(turn: Turn) -> tuple[threading.Thread, list[bool]]:
    """A thread that waits for a turn, and what it gets."""
    got: list[bool] = []
    thread = threading.Thread(target=lambda: got.append(turn.wait(60)), daemon=True)
    thread.start()
    return thread, got


@pytest.mark.parametrize(("leaver", "result"), [(0, True), (1, False)])
def test_who_waits_is_woken_by_its_turn_and_by_its_own_leaving(leaver: int, result: bool) -> None:
    calls = joined(Turns(1), 2)
    thread, got = waiting(calls[1])
    calls[leaver].leave()
    thread.join(SOON)
    assert got == [result]


# --- withdrawing ----------------------------------------------------------------------------------


def test_who_has_withdrawn_never_gets_a_turn_and_leaves_room() -> None:
    turns = Turns(2)
    calls = joined(turns, 3)
    assert calls[1].withdraw()
    assert turns.pending == 1
    later = joined(turns, 1)
    calls[0].leave()
    assert state([*calls, *later]) == [False, False, True, False]
    calls[1].leave()
    assert state([*calls, *later]) == [False, False, True, False]
    calls[2].leave()
    assert state([*calls, *later]) == [False, False, False, True]


def test_only_who_waits_can_withdraw() -> None:
    calls = joined(Turns(10), 3)
    assert not calls[0].withdraw()
    assert calls[0].wait(0)  # it has its turn all the same
    calls[0].leave()
    assert [calls[0].withdraw(), calls[1].withdraw()] == [False, False]
    assert [calls[2].withdraw(), calls[2].withdraw()] == [True, False]
    assert state(calls) == [False, True, False]


def test_who_waits_is_woken_by_its_withdrawal() -> None:
    calls = joined(Turns(1), 2)
    thread, got = waiting(calls[1])
    assert calls[1].withdraw()
    thread.join(SOON)
    assert got == [False]


@pytest.mark.parametrize("round_", range(50))
def test_a_withdrawal_that_races_with_the_turn_has_one_winner(round_: int) -> None:
    """Either it gets its turn, and the withdrawal says so, or it never does."""
    calls, barrier = joined(Turns(3), 3), threading.Barrier(2)
    withdrawn: list[bool] = []

    def withdraw() -> None:
        barrier.wait(SOON)
        withdrawn.append(calls[1].withdraw())

    thread = threading.Thread(target=withdraw)
    thread.start()
    barrier.wait(SOON)
    calls[0].leave()
    thread.join(SOON)
    assert state(calls) == ([False, False, True] if withdrawn == [True] else [False, True, False])


# --- any history ----------------------------------------------------------------------------------


class Histories(RuleBasedStateMachine):
    """Any history of a queue, beside a list."""

    calls = Bundle("calls")
    most = 3

    def __init__(self) -> None:
        super().__init__()
        self.turns = Turns(self.most)
        self.queue: list[Turn] = []
        self.all: list[Turn] = []

    @rule(target=calls)
    def join(self) -> Turn | None:
        if len(self.queue) > self.most:
            with pytest.raises(Overloaded):
                self.turns.join(threading.Event)
            return None
        turn = self.turns.join(threading.Event)
        self.queue.append(turn)
        self.all.append(turn)
        return turn

    @rule(turn=calls)
    def leave(self, turn: Turn | None) -> None:
        if turn is not None:
            turn.leave()
        if turn in self.queue:
            self.queue.remove(turn)

    @rule(turn=calls)
    def withdraw(self, turn: Turn | None) -> None:
        if turn is None:
            return
        assert turn.withdraw() is (turn in self.queue[1:])
        if turn in self.queue[1:]:
            self.queue.remove(turn)

    @invariant()
    def the_first_of_the_queue_has_its_turn(self) -> None:
        assert [turn for turn in self.all if turn.wait(0)] == self.queue[:1]
        assert self.turns.pending == len(self.queue[1:])
        assert all(turn.event is None or turn.event.is_set() == (turn not in self.queue[1:]) for turn in self.all)


def test_any_history_serves_the_first_of_the_queue() -> None:
    run_state_machine_as_test(Histories, settings=settings(stateful_step_count=40))


# --- many at once ---------------------------------------------------------------------------------


class Crowd:
    """Threads that join one queue; some lose patience or are taken out by somebody else."""

    def __init__(self, seed: int, size: int) -> None:
        self.random = random.Random(seed)
        self.turns = Turns(size)
        self.joining = threading.Lock()  # so that the order of joining is known
        self.order: list[int] = []
        self.served: list[int] = []
        self.gone: list[int] = []
        self.running = 0
        self.threads = [threading.Thread(target=self.call, args=(number,), daemon=True) for number in range(size)]
        self.kinds = [self.random.choice(["patient", "hasty", "taken out", "withdrawn", "slow"]) for _ in range(size)]

    def call(self, number: int) -> None:
        kind = self.kinds[number]
        with self.joining:
            turn = self.turns.join(threading.Event)
            self.order.append(number)
        if kind == "taken out":
            threading.Thread(target=turn.leave, daemon=True).start()
        if kind == "withdrawn":
            threading.Thread(target=turn.withdraw, daemon=True).start()
        if turn.wait(0.001 if kind == "hasty" else 60):
            self.serve(number, kind)
        else:
            self.gone.append(number)
        turn.leave()

    def serve(self, number: int, kind: str) -> None:
        self.served.append(number)
        if kind == "taken out":
            return  # somebody may have ended its turn already, so others may run beside it
        self.running += 1
        assert self.running == 1
        time.sleep(0.002 if kind == "slow" else 0)
        self.running -= 1


@pytest.mark.parametrize("seed", range(20))
def test_a_crowd_is_served_in_order_one_at_a_time_and_to_the_last(seed: int) -> None:
    crowd = Crowd(seed, 16)
    for thread in crowd.threads:
        thread.start()
    for thread in crowd.threads:
        thread.join(SOON)
    assert sorted(crowd.served + crowd.gone) == list(range(16))
    patient = [number for number in crowd.order if crowd.kinds[number] in {"patient", "slow"}]
    assert [number for number in crowd.served if number in patient] == patient
    assert not {*crowd.gone} & {*patient}
    assert crowd.turns.pending == 0
    assert joined(crowd.turns, 1)[0].wait(0)


def test_a_call_that_stays_alone_sends_away_who_waits_and_lets_nobody_queue_up() -> None:
    turns = Turns(10)
    first, *others = joined(turns, 3)
    first.stay_alone(True)
    assert [(call.event.is_set(), call.wait(SOON), call.sent_away) for call in others] == [(True, False, True)] * 2
    with pytest.raises(Overloaded, match="waits for its client"):
        joined(turns, 1)
    assert first.wait(0)
    assert not first.sent_away


def test_behind_a_call_that_no_longer_stays_alone_calls_queue_up_again() -> None:
    turns = Turns(10)
    (first,) = joined(turns, 1)
    first.stay_alone(True)
    first.stay_alone(False)
    (second,) = joined(turns, 1)
    assert not second.wait(0)
    first.leave()
    assert second.wait(0)


def test_a_call_that_ends_alone_leaves_the_queue_open() -> None:
    turns = Turns(10)
    (first,) = joined(turns, 1)
    first.stay_alone(True)
    first.leave()
    second, third = joined(turns, 2)
    assert state([second, third]) == [True, False]


def test_only_the_call_whose_turn_it_is_can_stay_alone() -> None:
    turns = Turns(10)
    first, second = joined(turns, 2)
    second.stay_alone(True)
    assert state([first, *joined(turns, 1)]) == [True, False]
    assert not second.sent_away
