"""How many streams may be open at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

__all__ = ["Budget"]


class Budget:
    """Streams that may be open at once; safe from any thread or greenlet, and from a finalizer.

    Args:
        limit: How many.
        scarce: Called when one more is wanted than there may be; it may see to it that some end soon.
    """

    def __init__(self, limit: int, scarce: Callable[[], object] | None = None) -> None:
        self.limit = limit
        self._scarce = scarce
        # Each step of a deque is one step, so no lock is needed that a finalizer could find held.
        self._taken: deque[None] = deque()

    @property
    def taken(self) -> int:
        """How many are open."""
        return len(self._taken)

    def take(self) -> bool:
        """Count one more; ``False`` if there are as many as may be."""
        self._taken.append(None)
        if len(self._taken) <= self.limit:
            return True
        self._taken.pop()
        if self._scarce is not None:
            self._scarce()
        return False

    def give(self) -> None:
        """Count one out that ``take`` has counted."""
        self._taken.pop()
