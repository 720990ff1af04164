"""JSON of whatever origin to Python values, in a time that depends on its size alone."""

from __future__ import annotations

import math
from typing import Any

import msgspec

__all__ = ["decode_json"]


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise msgspec.DecodeError("Number out of range")
    return number


_decode = msgspec.json.Decoder().decode
# That decoder is fast with nearly all numbers, but takes 8 to 20 us for each beyond 1e288, or that lies between two
# floats and has an exponent: 6 s for a body of 4 MB, in which nothing else runs. Python's own reading takes 0.1 to
# 0.3 us for any, which is slower for all others.
_decode_exponents = msgspec.json.Decoder(float_hook=_finite).decode
#: From so many exponents on Python reads the numbers; fewer cost 20 ms at most.
_MANY_EXPONENTS = 1000


def decode_json(text: bytes | str) -> Any:
    """Read JSON strictly.

    Args:
        text: JSON; bytes are UTF-8.

    Raises:
        msgspec.DecodeError: Not JSON, or a number is out of range.
        UnicodeError: Not UTF-8.
        RecursionError: Nested beyond what Python can follow.
    """
    if len(text) > len("1e9,") * _MANY_EXPONENTS and _letters_e(text) > _MANY_EXPONENTS:
        return _decode_exponents(text)
    return _decode(text)


def _letters_e(text: bytes | str) -> int:
    # Those of words count too, which costs nothing: the decoders differ in numbers only.
    if isinstance(text, str):
        return text.count("e") + text.count("E")
    return text.count(b"e") + text.count(b"E")
