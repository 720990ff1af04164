"""Turns: the buffered calls of one session run one at a time, first come, first served."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any, Protocol

from mcp_wsgi.errors import Overloaded
from mcp_wsgi.workers import guard

__all__ = ["Event", "Turn", "Turns"]


class Event(Protocol):
    """What a waiting call waits for; ``workers.Job.event`` makes such."""

    def set(self) -> None:
        """Wake who waits, and let nobody wait from now on."""

    def wait(self, timeout: float, /) -> object:
        """Wait for ``set``, at most ``timeout`` seconds; may return early."""


class Turns:
    """The queue of one session.

    Args:
        max_pending: Calls that may wait, beside the one whose turn it is.
        clock: Monotonic seconds.
    """

    # A turn goes from waiting to active to over, or skips one; it moves with the lock held.

    __slots__ = ("_active", "_clock", "_lock", "_max_pending", "_waiting")

    def __init__(self, max_pending: int, clock: Callable[[], float] = monotonic) -> None:
        self._max_pending = max_pending
        self._clock = clock
        self._lock = guard()
        self._active: Turn | None = None
        # A dict, as a queue that anybody can leave from the middle at no cost.
        self._waiting: dict[Turn, None] = {}

    @property
    def pending(self) -> int:
        """How many wait."""
        return len(self._waiting)

    def join(self, make_event: Callable[[], Event]) -> Turn:
        """Queue up. Every turn must be left in the end, or those behind it wait for ever.

        Args:
            make_event: Makes an event that blocks only who waits for it; called if there is
                somebody to wait for. Must not block.

        Raises:
            Overloaded: ``max_pending`` calls wait already.
        """
        with self._lock:
            if self._active is None:
                self._active = turn = Turn(self, None)
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

    def leave(self, turn: Turn) -> None:
        """See ``Turn.leave``."""
        with self._lock:
            woken: Turn | None = None
            if turn in self._waiting:
                del self._waiting[turn]
                woken = turn
            elif self._active is turn:
                self._active = woken = next(iter(self._waiting), None)
                if woken is not None:
                    del self._waiting[woken]
        if woken is not None:
            woken.event.set()


class Turn:
    """The place of one call in the queue; made by ``Turns.join``.

    Attributes:
        event: Set when the turn no longer waits.
    """

    __slots__ = ("_turns", "event")

    def __init__(self, turns: Turns, event: Any) -> None:
        self._turns = turns
        self.event = event

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

    def leave(self) -> None:
        """Give up the place, wherever it is, for good; the next call gets its turn if this had it.

        May be called from any thread or greenlet, and again.
        """
        self._turns.leave(self)
