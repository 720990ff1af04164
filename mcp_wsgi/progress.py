"""The progress of one call: it only grows, and its newest value arrives.

Source: basic/patterns/progress.
"""

from __future__ import annotations

import math
from typing import Any

from mcp_wsgi.jsonrpc import Id, encode_notification
from mcp_wsgi.problems import quote
from mcp_wsgi.sink import Sink

__all__ = ["Progress", "finite"]


class Progress:
    """Tells a client that asked for it how far its call has come; safe from any thread or greenlet.

    Args:
        token: What the client asked for it with.
        sink: Where messages go.
    """

    __slots__ = ("_last", "_pending", "_sink", "_token")

    def __init__(self, token: Id, sink: Sink) -> None:
        self._token = token
        self._sink = sink
        self._last = -math.inf
        self._pending: bytes | None = None

    def report(self, progress: float, total: float | None, message: str | None) -> None:
        """Send a value that exceeds the last one, or hold it back while the rate limit has no room.

        Args:
            progress: As of ``finite``.
            total: As of ``finite``; ``None``: unknown.
            message: One readable line; ``None``: none.

        Raises:
            ValueError: The message has lone surrogates.
        """
        if progress <= self._last:
            return
        params: dict[str, Any] = {"progressToken": self._token, "progress": progress}
        if total is not None:
            params["total"] = total
        if message is not None:
            params["message"] = message
        encoded = encode_notification("notifications/progress", params)
        with self._sink.order:
            if progress <= self._last:
                return  # another thread of the callback was faster
            self._last = progress
            if self._sink.allow_progress():
                self._pending = None
                self._sink.emit(encoded)
            else:
                self._pending = encoded

    def flush(self) -> None:
        """Send what the rate limit still holds back."""
        if self._pending is None or self._sink.cancelled:
            return
        with self._sink.order:
            pending, self._pending = self._pending, None
            if pending is not None:
                self._sink.emit(pending)


def finite(value: float) -> float:
    """A number as JSON can say it; any real one will do, such as a ``Decimal``.

    Raises:
        ValueError: It is not finite.
    """
    try:
        is_finite = math.isfinite(value)
    except OverflowError:  # an integer beyond what a float holds
        is_finite = False
    if not is_finite:
        raise ValueError(f"progress must be finite, not {quote(value)}")
    return value if type(value) is int or type(value) is float else float(value)
