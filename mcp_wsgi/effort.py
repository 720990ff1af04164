"""How much work a hostile value may cause.

Alternatives that contain themselves make checking exponential: each of them may walk down all of the
value again. Two things bound it, whatever the schema. What was found out of a part of the value is
kept, so that no part is held against the same alternative twice; and steps are counted, so that
checking ends even where that does not help.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, TypeVar

from mcp_wsgi.problems import Fault, Mismatch

__all__ = ["MAX_STEPS", "Effort", "TooMuchEffort", "bounded", "effort"]

T = TypeVar("T")
R = TypeVar("R")

#: Steps (roughly microseconds) that the check of one value may take.
MAX_STEPS = 1_000_000


class TooMuchEffort(Exception):
    """A check has taken all its steps; no alternative catches it, so that it ends the whole."""

    #: What is told of the value; whether it would have fitted is not known.
    fault = Fault((), "value", "too much to be checked in full: send less", None)


class Effort:
    """The work done on one value so far.

    Args:
        steps: How many may be taken.
    """

    __slots__ = ("_depth", "_known", "_left")

    def __init__(self, steps: float) -> None:
        self._left = steps
        self._depth = 0
        self._known: dict[tuple[Any, int], tuple[Any, Any, Sequence[Fault]]] = {}

    def spend(self, steps: int) -> None:
        """Count steps.

        Raises:
            TooMuchEffort: There were too many.
        """
        self._left -= steps
        if self._left < 0:
            raise TooMuchEffort

    def outcome(self, key: Any, convert: Callable[[Any], Any], value: Any) -> Any:
        """What ``convert`` gives or raises, from memory where it is asked again for the same part.

        Args:
            key: What is held against the value; equal only for what gives equal outcomes.
            convert: Returns what may be used more than once, or raises ``Mismatch``.
            value: A list or dict.
        """
        place = (key, id(value))
        known = self._known.get(place)
        if known is None:
            # With the value, so that its id stays its own.
            known = (value, *self._found(convert, value))
            # Only what is asked on behalf of another question can be asked again.
            if self._depth:
                self._known[place] = known
            else:
                self._known.clear()
        _, result, faults = known
        self.spend(1 + len(faults))
        if faults:
            raise Mismatch(faults)
        return result

    def _found(self, convert: Callable[[Any], Any], value: Any) -> tuple[Any, Sequence[Fault]]:
        self._depth += 1
        try:
            return convert(value), ()
        except Mismatch as error:
            return None, error.faults
        finally:
            self._depth -= 1


_current: ContextVar[Effort | None] = ContextVar("mcp_wsgi.effort", default=None)

#: The effort that is counted here and now; ``None`` outside of any bounded check.
effort = _current.get


def bounded(check: Callable[[T], R], steps: float = MAX_STEPS) -> Callable[[T], R]:
    """The same check, whose effort is counted.

    Args:
        check: May raise ``TooMuchEffort`` from then on.
        steps: How many it may take.
    """

    def counted(value: T) -> R:
        token = _current.set(Effort(steps))
        try:
            return check(value)
        finally:
            _current.reset(token)

    return counted
