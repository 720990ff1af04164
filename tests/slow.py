"""What takes long to read if nothing is done about it, and how long it may take."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator

__all__ = ["SLOW_NUMBERS", "in_bounded_time"]

#: A megabyte of numbers, each of which takes msgspec about 10 us.
SLOW_NUMBERS = ",".join(["1e308"] * 170_000)


@contextlib.contextmanager
def in_bounded_time(text: str | bytes = f"[{SLOW_NUMBERS}]") -> Iterator[None]:
    """Fails if the block takes far longer than the standard library does to read ``text``.

    Reading it number by number in the slow way takes 10 to 30 times as long. Both are measured here and now, in CPU
    time of this thread, so that a slow machine or a busy moment does not count.
    """
    start = time.thread_time()
    json.loads(text)
    usual = time.thread_time()
    yield
    assert time.thread_time() - usual < 6 * (usual - start)
