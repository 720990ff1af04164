from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi.decoding import decode_json
from tests.slow import forbid_the_usual_decoder

#: So many numbers with an exponent that the careful way to read them is taken.
MANY = "1e5," * 2000


def between(number: float, digits: int) -> str:
    """The first digits of what lies midway to the next float: the hardest numbers to round."""
    midway = (Fraction(number) + Fraction(math.nextafter(number, math.inf))) / 2
    with localcontext() as context:
        context.prec = digits
        return f"{Decimal(midway.numerator) / Decimal(midway.denominator):.{digits - 1}e}"


SLOW = [
    *("1e308", "-1E+300", "1e0000308", "1.7976931348623157e308", "9e289", "1e23", "5e-324", "1e-400", "8.9e-300"),
    *(between(number, digits) for number in (1.1e-320, 1.1e-200, 1.1, 1.1e200, 1.1e300) for digits in (20, 21, 770)),
    *("9007199254740993.0", "12345678901234567.5", "1" * 300 + ".5", "0." + "0" * 300 + "1", "1" * 4000),
]


#: Those that may take the usual decoder long; it needs an exponent.
WITH_EXPONENT = [number for number in SLOW if "e" in number.lower()]


def as_text(text: str) -> str | bytes:
    return text


def as_bytes(text: str) -> str | bytes:
    return text.encode()


@pytest.mark.parametrize("form", [as_text, as_bytes])
@pytest.mark.parametrize("number", WITH_EXPONENT, ids=lambda number: number[:9] + number[-5:])
def test_no_number_takes_long_however_it_is_written(
    number: str, form: Callable[[str], str | bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    forbid_the_usual_decoder(monkeypatch)
    assert decode_json(form(f"[{','.join([number] * 2000)}]")) == [float(number)] * 2000


def outcome(text: str) -> str:
    """The last item of an array, or that it is none; 1 and 1.0, 0.0 and -0.0 are told apart."""
    try:
        return repr(decode_json(text)[-1])
    except msgspec.DecodeError:
        return "no JSON"


@given(
    st.sampled_from(SLOW)
    | st.floats().map(repr)
    | st.integers().map(str)
    | st.from_regex(r"-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,4})?", fullmatch=True)
    | st.text("0123456789.eE+-", min_size=1, max_size=9)
)
def test_many_numbers_with_exponents_change_the_meaning_of_none(number: str) -> None:
    """S26-BASE-01."""
    assert outcome(f"[{MANY}{number}]") == outcome(f"[{number}]")


def test_words_are_no_numbers() -> None:
    text = '["%s", 0.1, 7, "1e999"]' % ("e" * 5000)
    assert decode_json(text) == decode_json(text.encode()) == ["e" * 5000, 0.1, 7, "1e999"]


@pytest.mark.parametrize("number", ["1e309", "-1e309", "1" * 5000])
@pytest.mark.parametrize("before", ["", MANY], ids=["alone", "behind many"])
def test_a_number_that_no_float_holds_is_no_json(number: str, before: str) -> None:
    """S26-BASE-01."""
    with pytest.raises(msgspec.DecodeError, match="out of range"):
        decode_json(f"[{before}{number}]")
