"""Multiples of numbers as they are written in decimals."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi.multiples import is_multiple


@pytest.mark.parametrize(
    ("value", "limit", "expected"),
    [
        *((0.3, 0.1, True), (0.35, 0.1, False), (0.7, 0.1, True), (1.1, 0.1, True), (19.99, 0.01, True)),
        *((4.35, 0.01, True), (4.355, 0.01, False), (0.0075, 0.0001, True), (0.00751, 0.0001, False)),
        *((-0.3, 0.1, True), (-0.0, 0.1, True), (0, 0.1, True), (14.0, 7, True), (-7, 7, True), (8, 7, False)),
        *((1e308, 1e-5, True), (1e-308, 0.1, False), (7e300, 7, True), (1e23, 10, True), (10**400, 0.1, True)),
        *((10**400 + 1, 0.5, True), (10**400 + 1, 2.0**1000, False), (1.5, 0.5, True), (5e-324, 5e-324, True)),
    ],
)
def test_floats_are_their_shortest_decimal_text(value: float, limit: float, *, expected: bool) -> None:
    """S26-JSON-02."""
    assert is_multiple(value, limit) is expected


numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
limits = st.integers(1) | st.floats(5e-324, 1e308) | st.sampled_from([0.1, 0.01, 0.25])


@given(numbers, limits)
def test_any_two_numbers_are_told_exactly(value: float, limit: float) -> None:
    quotient = Fraction(str(value)) / Fraction(str(limit))
    assert is_multiple(value, limit) is (quotient.denominator == 1)


@given(st.integers(-(10**9), 10**9), st.sampled_from([0.1, 0.01, 0.05, 0.25, 1e-5]))
def test_what_is_written_as_a_multiple_is_one(count: int, limit: float) -> None:
    assert is_multiple(float(count * Fraction(str(limit))), limit)
