"""The jsonschema library with two keywords as the specification has them, written without our own code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import jsonschema

__all__ = ["Reference"]


def _pattern(validator: Any, pattern: str, value: Any, schema: Any) -> Iterator[jsonschema.ValidationError]:
    # Good enough for patterns that have ``$`` at their ends only.
    ended = re.sub(r"\$(?=\||\)|$)", r"(?![\\s\\S])", pattern)
    if isinstance(value, str) and not re.search(ended, value, re.ASCII):
        yield jsonschema.ValidationError("pattern")


def _multiple_of(validator: Any, limit: Any, value: Any, schema: Any) -> Iterator[jsonschema.ValidationError]:
    if type(value) in (int, float) and (_fraction(value) / _fraction(limit)).denominator != 1:
        yield jsonschema.ValidationError("multipleOf")


def _fraction(value: float) -> Fraction:
    return Fraction(value if isinstance(value, int) else repr(value))


_extend: Any = jsonschema.validators.extend
Reference: Any = _extend(jsonschema.Draft202012Validator, {"pattern": _pattern, "multipleOf": _multiple_of})
