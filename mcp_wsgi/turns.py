"""Turns: the buffered calls of one session run one at a time, first come, first served."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any

from mcp_wsgi.errors import Overloaded
from mcp_wsgi.workers import Signal, guard

__all__ = ["NOT_BEHIND", "Turn", "Turns"]

#: What those are told that were to wait behind a call that stays alone.
NOT_BEHIND = "Overloaded: a call of this session waits for its client"


class Turns:
    """The queue of one session.

    Args:
        max_pending: Calls that may wait, beside the one whose turn it is.
        clock: Monotonic seconds.
    """

    # A turn goes from waiting to active to over, or skips one; it moves with the lock held.

    __slots__ = ("_active", "_alone", "_clock", "_lock", "_max_pending", "_waiting")

    def __init__(self, max_pending: int, clock: Callable[[], float] = monotonic) -> None:
        self._max_pending = max_pending
        self._clock = clock
        self._lock = guard()
        self._active: Turn | None = None
        self._alone = False  # nobody may queue up behind it
        # A dict, as a queue that anybody can leave from the middle at no cost.
        self._waiting: dict[Turn, None] = {}

    @property
    def pending(self) -> int:
        """How many wait."""
        return len(self._waiting)

    def join(self, make_event: Callable[[], Signal]) -> Turn:
        """Queue up. Every turn must be left in the end, or those behind it wait for ever.

        Args:
            make_event: Makes an event that blocks only who waits for it; called if there is
                somebody to wait for. Must not block.

        Raises:
            Overloaded: ``max_pending`` calls wait already, or nobody may wait; see ``Turn.stay_alone``.
        """
        with self._lock:
            if self._active is None:
                self._active = turn = Turn(self, None)
            elif self._alone:
                raise Overloaded(NOT_BEHIND)
            elif len(self._waiting) < self._max_pending:
                turn = Turn(self, make_event())
                self._waiting[turn] = None
            else:
                raise Overloaded(f"Overloaded: {self._max_pending} calls of this session are waiting")
            return turn

    def wait(self, turn: Turn, timeout: float) -> bool:
        """See ``Turn.wait``."""
        end = self._clock() + timeout
        # An event may wake who waits early, and one that was set late finds the turn moved on.
        while turn in self._waiting:
            left = end - self._clock()
            if left <= 0:
                break
            turn.event.wait(left)
        return self._active is turn

    def withdraw(self, turn: Turn) -> bool:
        """See ``Turn.withdraw``."""
        with self._lock:
            if turn not in self._waiting:
                return False
            del self._waiting[turn]
        turn.event.set()
        return True

    def stay_alone(self, turn: Turn, alone: bool) -> None:
        """See ``Turn.stay_alone``."""
        sent_away: list[Turn] = []
        with self._lock:
            if self._active is turn:
                self._alone = alone
                if alone:
                    sent_away = list(self._waiting)
                    self._waiting.clear()
            for waiting in sent_away:
                waiting.sent_away = True
        for waiting in sent_away:
            waiting.event.set()

    def leave(self, turn: Turn) -> None:
        """See ``Turn.leave``."""
        with self._lock:
            woken: Turn | None = None
            if turn in self._waiting:
                del self._waiting[turn]
                woken = turn
            elif self._active is turn:
                self._alone = False
                self._active = woken = next(iter(self._waiting), None)
                if woken is not None:
                    del self._waiting[woken]
        if woken is not None:
            woken.event.set()


class Turn:
    """The place of one call in the queue; made by ``Turns.join``.

    Attributes:
        event: Set when the turn no longer waits.
        sent_away: Whether it was to wait behind a call that stays alone.
    """

    __slots__ = ("_turns", "event", "sent_away")

    def __init__(self, turns: Turns, event: Any) -> None:
        self._turns = turns
        self.event = event
        self.sent_away = False

    def wait(self, timeout: float) -> bool:
        """Wait until it is this call's turn.

        Args:
            timeout: Seconds. When they are over the call keeps its place, until it leaves.

        Returns:
            Whether it is its turn now; never again after ``leave``, which also ends the waiting.
        """
        return self._turns.wait(self, timeout)

    def withdraw(self) -> bool:
        """Give up the place if the call still waits, which it then never gets.

        Returns:
            Whether it was still waiting. May be called from any thread or greenlet.
        """
        return self._turns.withdraw(self)

    def stay_alone(self, alone: bool) -> None:
        """Send away all that wait behind this call, whose turn it is, and let nobody queue up; or again.

        For a call that waits for its client: what waits behind it would hold a thread each, perhaps
        the very thread that the client's answer needs.
        """
        self._turns.stay_alone(self, alone)

    def leave(self) -> None:
        """Give up the place, wherever it is, for good; the next call gets its turn if this had it.

        May be called from any thread or greenlet, and again.
        """
        self._turns.leave(self)
