"""How many streams may be open at once."""

from __future__ import annotations

import gc
import threading
from collections import deque

import pytest

from mcp_wsgi.workers import Budget
from tests.workers.kit import WAIT


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_a_budget_gives_as_many_as_there_are(limit: int) -> None:
    budget = Budget(limit)
    assert [budget.take() for _ in range(limit + 2)] == [True] * limit + [False] * 2
    assert (budget.taken, budget.limit) == (limit, limit)
    for _ in range(limit):
        budget.give()
    assert budget.taken == 0
    assert [budget.take() for _ in range(limit + 1)] == [True] * limit + [False]


def test_a_budget_says_when_it_is_scarce() -> None:
    wanted: list[bool] = []
    budget = Budget(1, lambda: wanted.append(True))
    assert budget.take()
    assert wanted == []
    assert not budget.take()
    assert wanted == [True]


def test_a_budget_is_never_overdrawn_and_nothing_of_it_is_lost() -> None:
    budget, held, wrong = Budget(5), deque[None](), list[int]()

    def use() -> None:
        for _ in range(2000):
            if budget.take():
                held.append(None)
                if len(held) > 5:
                    wrong.append(len(held))
                held.pop()
                budget.give()

    threads = [threading.Thread(target=use) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    assert (wrong, budget.taken) == ([], 0)
    assert [budget.take() for _ in range(6)] == [True] * 5 + [False]


def test_a_budget_can_be_given_back_to_by_a_finalizer() -> None:
    """Which may interrupt whoever takes at any point, so nothing may wait for a lock there."""

    class Stream:
        def __init__(self) -> None:
            self.itself = self  # only the collector finds it

        def __del__(self) -> None:
            budget.give()

    budget = Budget(50)
    taken = 0
    for _ in range(400):
        if budget.take():
            taken += 1
            Stream()
        else:
            gc.collect()
    gc.collect()
    assert taken > 50
    assert budget.taken == 0
