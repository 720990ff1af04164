"""Named things that may be added and removed while they are served."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Generic, Protocol, TypeVar

from mcp_wsgi.errors import RegistrationError

__all__ = ["Entry", "Registry"]


class Entry(Protocol):
    """What a registry keeps: the value that is listed, and who registered it."""

    @property
    def item(self) -> Any:
        """The value that is listed."""

    @property
    def label(self) -> str:
        """The registered object's full name, for error messages."""


E = TypeVar("E", bound=Entry)


class Registry(Generic[E]):
    """Entries by key, in the order of registration.

    A change replaces ``entries`` and ``listed`` by new ones, so a reader needs no lock: it works on
    what it got.

    Args:
        noun: What is kept, for error messages.
        lock: Held while a change is made.
        changed: Called after each change, without the lock.
    """

    def __init__(self, noun: str, lock: threading.RLock, changed: Callable[[], None]) -> None:
        self.entries: Mapping[str, E] = {}
        self.listed: tuple[Any, ...] = ()
        self._noun = noun
        self._lock = lock
        self._changed = changed

    def add(self, key: str, entry: E) -> None:
        """Add an entry at the end.

        Raises:
            RegistrationError: The key is taken.
        """
        with self._lock:
            other = self.entries.get(key)
            if other is not None:
                raise RegistrationError(f"{self._noun} {key!r} is registered twice: {other.label}; {entry.label}")
            self._replace({**self.entries, key: entry})
        self._changed()

    def remove(self, key: str) -> None:
        """Remove an entry; a call that has found it already ends undisturbed.

        Raises:
            RegistrationError: There is none.
        """
        with self._lock:
            if key not in self.entries:
                raise RegistrationError(f"{self._noun} {key!r} is not registered")
            self._replace({name: entry for name, entry in self.entries.items() if name != key})
        self._changed()

    def _replace(self, entries: Mapping[str, E]) -> None:
        self.entries = entries
        self.listed = tuple(entry.item for entry in entries.values())
