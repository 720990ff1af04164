from __future__ import annotations

import threading
from collections.abc import Callable

import msgspec
import pytest

from mcp_wsgi.errors import RegistrationError
from mcp_wsgi.registry import Registry


class Thing(msgspec.Struct, frozen=True):
    item: str
    label: str = "tool shop.thing (line 1)"


def registry(changed: Callable[[], None] = lambda: None) -> Registry[Thing]:
    return Registry("tool", threading.RLock(), changed)


def test_entries_stay_in_the_order_of_registration() -> None:
    """S26-TOOL-03."""
    things = registry()
    for key in ("c", "a", "b"):
        things.add(key, Thing(key.upper()))
    things.remove("a")
    things.add("a", Thing("A2"))
    assert (list(things.entries), things.listed) == (["c", "b", "a"], ("C", "B", "A2"))


def test_a_taken_key_is_refused_with_both_names() -> None:
    """S26-TOOL-04: unique in the server."""
    things = registry()
    things.add("add", Thing("x", "tool shop.old (line 3)"))
    with pytest.raises(RegistrationError, match=r"'add'.*shop\.old \(line 3\).*shop\.new \(line 9\)"):
        things.add("add", Thing("y", "tool shop.new (line 9)"))
    assert things.listed == ("x",)


def test_an_unknown_key_cannot_be_removed() -> None:
    with pytest.raises(RegistrationError, match="tool 'add' is not registered"):
        registry().remove("add")


def test_what_a_reader_holds_does_not_change() -> None:
    things = registry()
    things.add("a", Thing("A"))
    entries, listed = things.entries, things.listed
    things.add("b", Thing("B"))
    things.remove("a")
    assert (list(entries), listed) == (["a"], ("A",))


def test_each_change_is_told_once_and_after_it_shows() -> None:
    seen: list[tuple[str, ...]] = []
    things = registry(lambda: seen.append(things.listed))
    things.add("a", Thing("A"))
    things.remove("a")
    with pytest.raises(RegistrationError):
        things.remove("a")
    assert seen == [("A",), ()]


def test_the_lock_is_free_when_a_change_is_told() -> None:
    lock = threading.RLock()

    def from_another_thread() -> None:
        thread = threading.Thread(target=lambda: free.append(lock.acquire(timeout=5)))
        thread.start()
        thread.join()

    free: list[bool] = []
    Registry[Thing]("tool", lock, from_another_thread).add("a", Thing("A"))
    assert free == [True]


def test_nothing_is_lost_when_many_threads_register() -> None:
    things, start = registry(), threading.Barrier(4)

    def work(number: int) -> None:
        start.wait(timeout=5)
        for i in range(50):
            things.add(f"{number}-{i}", Thing(f"{number}-{i}"))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(things.listed) == set(things.entries) == {f"{n}-{i}" for n in range(4) for i in range(50)}
