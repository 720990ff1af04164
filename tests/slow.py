"""What takes long to read if nothing is done about it, and how long it may take."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

__all__ = ["SLOW_NUMBERS", "in_bounded_time"]

#: A megabyte of numbers, each of which takes msgspec about 10 us.
SLOW_NUMBERS = ",".join(["1e308"] * 170_000)


@contextlib.contextmanager
def in_bounded_time() -> Iterator[None]:
    """Fails if the block has a megabyte read number by number in the slow way, which takes 1 to 2 s; not 0.1 s."""
    start = time.thread_time()
    yield
    assert time.thread_time() - start < 0.6
