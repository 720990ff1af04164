"""``multipleOf``, for numbers as they are written: 0.3 is a multiple of 0.1, which no binary fraction knows."""

from __future__ import annotations

from decimal import Context, Decimal

__all__ = ["is_multiple"]

# More digits than any two JSON numbers are apart: integers have up to 4300, floats begin at 5e-324.
_EXACT = Context(prec=10_000)


def is_multiple(value: float, limit: float) -> bool:
    """Whether a number is a whole multiple of another; floats count as their shortest decimal text.

    Args:
        value: Finite.
        limit: More than 0.

    Source: JSON Schema 2020-12 Validation, 6.2.1, which knows no binary numbers.
    """
    if type(value) is int and type(limit) is int:
        return value % limit == 0
    return _EXACT.remainder(_decimal(value), _decimal(limit)) == 0


def _decimal(value: float) -> Decimal:
    return Decimal(value) if type(value) is int else Decimal(repr(value))
