from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi.docstrings import Docs, describe, innermost


def google(customer: str, limit: int = 20) -> str:
    """Find a customer's orders.

    Newest first.

    Args:
        customer: Name or
            e-mail address.
        limit (int): At most: this many.

    Returns:
        One line for each.

    Raises:
        ValueError: Never.
    """
    return customer * limit


def numpy(customer: str, limit: int = 20) -> str:
    """Find a customer's orders.

    Newest first.

    Parameters
    ----------
    customer : str
        Name or
        e-mail address.
    limit : int, optional
        At most: this many.

    Returns
    -------
    str
        One line for each.
    """
    return customer * limit


def sphinx(customer: str, limit: int = 20) -> str:
    """Find a customer's orders.

    Newest first.

    :param customer: Name or
        e-mail address.
    :param int limit: At most: this many.
    :returns: One line for each.
    :raises ValueError: Never.
    """
    return customer * limit


@pytest.mark.parametrize("function", [google, numpy, sphinx])
def test_all_three_styles_say_the_same(function: Callable[..., Any]) -> None:
    assert describe(function) == Docs(
        "Find a customer's orders.\n\nNewest first.",
        {"customer": "Name or\ne-mail address.", "limit": "At most: this many."},
        "One line for each.",
    )


def test_a_function_without_a_docstring_says_nothing() -> None:
    assert describe(lambda: None) == Docs()


def test_a_single_line_is_all_text() -> None:
    def add() -> None:
        """Add: two numbers."""

    assert describe(add) == Docs("Add: two numbers.")


def test_a_summary_may_take_two_lines() -> None:
    def add() -> None:
        """Add two
        numbers.
        """

    assert describe(add).text == "Add two\nnumbers."


def test_numpy_lets_parameters_share_a_line() -> None:
    def add() -> None:
        """Add.

        Parameters
        ----------
        a, b : int
            A number.
        c : int
        """

    assert describe(add).params == {"a": "A number.", "b": "A number."}


def test_examples_notes_and_warnings_stay_in_the_text() -> None:
    def add() -> None:
        """Add.

        Notes
        -----
        Exact.

        Warnings
        --------
        Slow.

        Examples
        --------
        >>> add(1, 2)
        3
        """

    assert describe(add).text == "Add.\n\nNote:\nExact.\n\nWarning:\nSlow.\n\nExample:\n>>> add(1, 2)\n3"


def test_what_only_looks_like_a_section_stays_in_the_text() -> None:
    def fetch() -> None:
        """Fetch http://example.com/: the page.

        Steps:
          1. look
          2. leap: carefully
        """

    assert "2. leap: carefully" in (describe(fetch).text or "")


LINES = [
    "Args:",
    "Parameters",
    "----",
    "x : int",
    "    x: y",
    ":param",
    ":param a b c d: e",
    ":rtype: int",
    "@param",
    "",
]


@given(st.lists(st.sampled_from(LINES) | st.text(max_size=8), max_size=8))
def test_no_docstring_is_so_malformed_that_it_cannot_be_read(lines: list[str]) -> None:
    def odd() -> None: ...

    odd.__doc__ = "\n".join(["Odd.", "", *lines])
    assert (describe(odd).text or "").startswith("Odd.")


def test_partials_decorators_and_methods_are_seen_through() -> None:
    class Shop:
        def find(self) -> None:
            """Find it."""

    @functools.wraps(google)
    def wrapper(*args: Any) -> None: ...

    assert describe(functools.partial(functools.partial(google))) == describe(google)
    assert describe(wrapper) == describe(google)
    assert describe(Shop().find).text == "Find it."


def test_a_callable_object_is_described_by_its_call_then_its_class() -> None:
    class Silent:
        """Of the class."""

        def __call__(self) -> None: ...

    class Speaking(Silent):
        def __call__(self) -> None:
            """Of the call."""

    class Mute:
        def __call__(self) -> None: ...

    assert describe(Silent()).text == "Of the class."
    assert describe(Speaking()).text == "Of the call."
    assert describe(Mute()) == Docs()


def test_the_docstring_that_a_class_got_from_its_maker_is_no_docstring() -> None:
    @dataclass
    class Point:
        x: int

    class Pair(NamedTuple):
        x: int

    class Child(Point):
        pass

    assert describe(Point) == describe(Pair) == describe(Child) == Docs()


def test_the_innermost_function_is_below_everything() -> None:
    class Shop:
        def find(self) -> None: ...

        def __call__(self) -> None: ...

    @functools.wraps(google)
    def wrapper(*args: Any) -> None: ...

    assert innermost(functools.partial(wrapper, "x")) is google
    assert innermost(Shop().find) is Shop.find
    assert innermost(Shop()) is Shop.__call__
    assert innermost(Shop) is Shop
    assert innermost(5) == 5
