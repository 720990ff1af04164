from __future__ import annotations

import contextlib
import datetime
import ipaddress
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi.problems import MAX_FAULTS, Fault, Mismatch
from mcp_wsgi.shapes import (
    ANYTHING,
    SCALARS,
    Field,
    Shape,
    array,
    choice,
    fixed_array,
    mapping,
    record,
    subclass,
    understood,
    union,
)
from tests.slow import SLOW_NUMBERS, forbid_the_usual_decoder

TEXT, WHOLE, REAL, SWITCH, NULL = (SCALARS[kind] for kind in (str, int, float, bool, type(None)))


def faults(convert: Callable[[Any], Any], value: Any) -> list[tuple[tuple[Any, ...], str]]:
    """Where a value breaks which rules."""
    with pytest.raises(Mismatch) as error:
        convert(value)
    return [(fault.steps, fault.keyword) for fault in error.value.faults]


def same(found: Any, expected: Any) -> bool:
    return bool(found == expected) and type(found) is type(expected)


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (str, "5", "5"),
        (int, 5, 5),
        (int, 3.0, 3),
        (int, 1e300, int(1e300)),
        (int, -(10**400), -(10**400)),
        (float, 1.5, 1.5),
        (float, 3, 3.0),
        (bool, True, True),
        (type(None), None, None),
        (Any, [1, {"a": None}], [1, {"a": None}]),
        (Decimal, "1.50", Decimal("1.50")),
        (Decimal, 1.1, Decimal("1.1")),
        (Decimal, 7, Decimal(7)),
        (Decimal, "-1E+5", Decimal("-1E+5")),
        (bytes, "YWJj", b"abc"),
        (bytes, "", b""),
        (datetime.date, "2026-07-28", datetime.date(2026, 7, 28)),
        (datetime.datetime, "2026-07-28T09:30:00", datetime.datetime(2026, 7, 28, 9, 30)),
        (datetime.time, "09:30:00", datetime.time(9, 30)),
        (datetime.timedelta, "P1DT2H", datetime.timedelta(days=1, hours=2)),
        (uuid.UUID, "00000000-0000-0000-0000-000000000001", uuid.UUID(int=1)),
        (ipaddress.IPv4Address, "127.0.0.1", ipaddress.IPv4Address("127.0.0.1")),
        (ipaddress.IPv6Address, "::1", ipaddress.IPv6Address("::1")),
    ],
)
def test_scalars_are_converted(kind: Any, value: Any, expected: Any) -> None:
    assert same(SCALARS[kind].convert(value), expected)


@pytest.mark.parametrize(
    ("kind", "value", "keyword"),
    [
        (str, 5, "type"),
        (int, "5", "type"),
        (int, True, "type"),
        (int, 3.5, "type"),
        (float, False, "type"),
        (float, "1.5", "type"),
        (float, 10**400, "value"),
        (bool, 1, "type"),
        (bool, "true", "type"),
        (type(None), 0, "type"),
        (type(None), "", "type"),
        (Decimal, True, "type"),
        (Decimal, "NaN", "format"),
        (Decimal, "Infinity", "format"),
        (Decimal, "1_000", "format"),
        (Decimal, "٣", "format"),
        (Decimal, "1\n", "format"),
        (Decimal, "1e99999999999999999999", "format"),
        (bytes, "YWJ", "format"),
        (bytes, "YW Jj", "format"),
        (bytes, "YW-_", "format"),
        (bytes, 5, "type"),
        (datetime.date, "2026-7-28", "format"),
        (datetime.date, "2026-02-30", "format"),
        (datetime.datetime, "2026-07-28", "format"),
        (datetime.time, "25:00:00", "format"),
        (datetime.timedelta, "1 hour", "format"),
        (uuid.UUID, "1", "format"),
        (ipaddress.IPv4Address, "1.2.3", "format"),
    ],
)
def test_other_values_are_no_scalars(kind: Any, value: Any, keyword: str) -> None:
    assert faults(SCALARS[kind].convert, value) == [((), keyword)]


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (str, "5", "5"),
        (int, "42", 42),
        (int, "+42", 42),
        (int, "007", 7),
        (int, "42.0", 42),
        (int, "1e3", 1000),
        (float, "1.5", 1.5),
        (float, ".5", 0.5),
        (float, "2", 2.0),
        (bool, "true", True),
        (bool, "FALSE", False),
        (bool, "1", True),
        (bool, "0", False),
        (type(None), "", None),
        (type(None), "null", None),
        (Any, "[1]", "[1]"),
        (Decimal, "1.50", Decimal("1.50")),
        (datetime.date, "2026-07-28", datetime.date(2026, 7, 28)),
        (bytes, "YWJj", b"abc"),
    ],
)
def test_scalars_are_read_from_text(kind: Any, text: str, expected: Any) -> None:
    assert same(SCALARS[kind].read(text), expected)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (int, ""),
        (int, "ten"),
        (int, "4.5"),
        (int, "٣"),
        (int, "1_0"),
        (int, "9" * 5000),
        (int, " 1"),
        (float, "nan"),
        (float, "inf"),
        (float, "1e999"),
        (bool, "yes"),
        (bool, ""),
        (type(None), "None"),
        (Decimal, "x"),
    ],
)
def test_other_texts_are_no_scalars(kind: Any, text: str) -> None:
    with pytest.raises(Mismatch):
        SCALARS[kind].read(text)


# --- choices --------------------------------------------------------------------------------------


def test_a_choice_tells_true_from_one() -> None:
    shape = choice([(1, "one"), (True, "yes"), (None, "none"), ("1", "text")])
    assert [shape.convert(value) for value in (1, 1.0, True, None, "1")] == ["one", "one", "yes", "none", "text"]
    others: list[Any] = [0, False, "x", [1], {}, 2.5]
    for value in others:
        assert faults(shape.convert, value) == [((), "enum")]
    assert shape.schema == {"enum": [1, True, None, "1"]}


def test_a_choice_of_one_kind_says_its_type() -> None:
    assert choice([("a", 1)]).schema == {"type": "string", "enum": ["a"]}
    assert choice([(False, 1)]).schema == {"type": "boolean", "enum": [False]}


def test_a_choice_is_read_from_text() -> None:
    shape = choice([("a", "A"), (2, "two"), (True, "yes"), (None, "none"), (1.5, "real")])
    texts = {"a": "A", "2": "two", "true": "yes", "TRUE": "yes", "null": "none", "1.5": "real"}
    assert {text: shape.read(text) for text in texts} == texts
    assert faults(shape.read, "b") == [((), "enum")]
    assert faults(choice([(1, 1)]).read, "true") == [((), "enum")]


def test_only_choices_that_msgspec_compares_alike_have_an_exact_type() -> None:
    assert choice([("a", "a")], exact=str).exact is str
    assert choice([(1, 1)], exact=int).exact is int
    for options in ([(True, 1)], [(1.5, 1)], [("a", 1), (2, 2)]):
        assert choice(options, exact=str).exact is None


# --- containers -----------------------------------------------------------------------------------


def test_every_item_that_does_not_fit_is_told() -> None:
    shape = array(array(WHOLE))
    assert shape.convert([[1], [2.0]]) == [[1], [2]]
    assert faults(shape.convert, [[1, "a"], 5, ["b"]]) == [((0, 1), "type"), ((1,), "type"), ((2, 0), "type")]
    assert faults(shape.convert, (1,)) == [((), "type")]


def test_after_enough_faults_no_more_are_looked_for() -> None:
    assert len(faults(array(WHOLE).convert, ["x"] * 10_000)) == MAX_FAULTS
    assert len(faults(mapping(TEXT, WHOLE).convert, {str(n): "x" for n in range(10_000)})) == MAX_FAULTS
    assert len(faults(record([], None, closed=True).convert, {str(n): 1 for n in range(10_000)})) == MAX_FAULTS


def test_a_set_takes_duplicates_and_tells_what_cannot_be_in_one() -> None:
    shape = array(ANYTHING, set)
    assert shape.convert([1, 1, 2]) == {1, 2}
    assert faults(shape.convert, [[1]]) == [((), "value")]


def test_each_place_has_its_shape() -> None:
    shape = fixed_array([WHOLE, TEXT], tuple, required=1)
    assert shape.convert([1, "a"]) == (1, "a")
    assert shape.convert([1]) == (1,)
    assert faults(shape.convert, []) == [((), "minItems")]
    assert faults(shape.convert, ["a", 1, 2]) == [((), "maxItems"), ((0,), "type"), ((1,), "type")]
    assert faults(shape.convert, {}) == [((), "type")]
    assert fixed_array([], tuple).convert([]) == ()


def test_names_of_a_mapping_are_converted() -> None:
    assert mapping(WHOLE, WHOLE).convert({"1": 2, "-3": 4}) == {1: 2, -3: 4}
    assert mapping(choice([("a", "A")]), TEXT).convert({"a": "x"}) == {"A": "x"}
    assert mapping(TEXT, TEXT, sorted).convert({"b": "x", "a": "y"}) == ["a", "b"]
    for name in ("x", "+1", "1.0", "", "1\n", "9" * 5000):
        assert faults(mapping(WHOLE, WHOLE).convert, {name: 1}) == [((name,), "pattern")]
    assert faults(mapping(WHOLE, WHOLE).convert, [1]) == [((), "type")]


@pytest.mark.parametrize("key", [REAL, SWITCH, NULL, ANYTHING, choice([(1, 1)]), array(TEXT)])
def test_other_names_are_no_text(key: Shape) -> None:
    with pytest.raises(ValueError, match="are text"):
        mapping(key, TEXT)


def test_a_record_tells_what_is_missing_unknown_and_wrong() -> None:
    shape = record([Field("a", "x", WHOLE), Field("b", "y", WHOLE, required=False)], None, closed=True)
    assert shape.convert({"a": 1.0, "b": 2}) == {"x": 1, "y": 2}
    assert shape.convert({"a": 1}) == {"x": 1}
    assert faults(shape.convert, {"b": "x", "c": 1}) == [(("a",), "required"), (("b",), "type"), ((), "unknown")]
    assert faults(shape.convert, []) == [((), "type")]


def test_an_open_record_ignores_what_it_does_not_know() -> None:
    assert record([Field("a", "a", WHOLE)], None, closed=False).convert({"a": 1, "c": 1}) == {"a": 1}


def test_what_the_class_itself_refuses_is_told_at_its_place() -> None:
    def make(**values: Any) -> Any:
        raise ValueError("the end is before the start")

    shape = array(record([], make, closed=True))
    with pytest.raises(Mismatch) as error:
        shape.convert([{}])
    assert error.value.faults == [Fault((0,), "value", "the end is before the start", {})]


def test_a_lax_record_reads_texts() -> None:
    shape = record([Field("a", "a", WHOLE), Field("b", "b", array(WHOLE))], None, closed=True, lax=True)
    assert shape.convert({"a": "1", "b": "[2]"}) == {"a": 1, "b": [2]}
    assert faults(shape.convert, {"a": "x", "b": "2"}) == [(("a",), "type"), (("b",), "type")]
    assert faults(shape.convert, {"a": 1, "b": "[1"}) == [(("a",), "type"), (("b",), "type")]


def test_a_subclass_is_made_of_its_base() -> None:
    class Upper(str):
        __slots__ = ()

        def __new__(cls, text: str) -> Upper:  # noqa: PYI034
            if not text:
                raise ValueError
            return super().__new__(cls, text.upper())

    shape = subclass(TEXT, Upper)
    assert shape.convert("a") == shape.read("a") == "A"
    assert faults(shape.convert, 5) == [((), "type")]
    with pytest.raises(Mismatch) as error:
        shape.convert("")
    assert error.value.faults[0].limit == "ValueError"


# --- unions ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("members", [[WHOLE, REAL], [REAL, WHOLE]])
@pytest.mark.parametrize("value", [3, 3.0, 3.5])
def test_a_number_keeps_its_kind_if_it_can(members: list[Shape], value: Any) -> None:
    assert same(union(members).convert(value), value)


def test_the_first_member_that_takes_a_value_has_it() -> None:
    date = SCALARS[datetime.date]
    assert union([date, TEXT]).convert("2026-07-28") == datetime.date(2026, 7, 28)
    assert union([TEXT, date]).convert("2026-07-28") == "2026-07-28"
    assert union([date, TEXT]).convert("x") == "x"
    assert union([WHOLE, NULL]).convert(3.0) == 3


def test_of_records_the_one_that_fits_is_taken() -> None:
    small = record([Field("a", "a", WHOLE)], None, closed=True)
    large = record([Field("a", "a", WHOLE), Field("b", "b", WHOLE)], None, closed=True)
    assert union([small, large]).convert({"a": 1, "b": 2}) == {"a": 1, "b": 2}
    assert faults(union([small, NULL]).convert, {"a": "x"}) == [(("a",), "type")]


def test_members_are_read_from_text_in_their_order_but_null_comes_last() -> None:
    assert union([WHOLE, TEXT]).read("5") == 5
    assert union([TEXT, WHOLE]).read("5") == "5"
    assert union([NULL, TEXT]).read("") == ""
    assert union([NULL, WHOLE]).read("") is None
    assert union([WHOLE, array(WHOLE)]).read("[1]") == [1]
    assert faults(union([WHOLE, SWITCH]).read, "x") == [((), "type")]


def test_many_numbers_in_a_text_do_not_take_long(monkeypatch: pytest.MonkeyPatch) -> None:
    forbid_the_usual_decoder(monkeypatch)
    assert set(array(SCALARS[float]).read(f"[{SLOW_NUMBERS}]")) == {1e308}


def test_a_union_that_msgspec_cannot_tell_apart_has_no_exact_type() -> None:
    assert union([TEXT, SCALARS[datetime.date]]).exact is None
    assert union([TEXT, SCALARS[Decimal]]).exact is None
    assert union([TEXT, NULL]).exact == str | None
    assert union([TEXT]) is TEXT


@given(st.text())
def test_reading_raises_nothing_but_a_mismatch(text: str) -> None:
    shapes = [*SCALARS.values(), array(WHOLE), mapping(TEXT, WHOLE), union([WHOLE, SWITCH, NULL]), choice([(True, 1)])]
    for shape in shapes:
        with contextlib.suppress(Mismatch):
            shape.read(text)


def test_the_exact_types_of_scalars_convert_alike() -> None:
    for kind, shape in SCALARS.items():
        if shape.exact is not None:
            assert shape.exact is kind or kind is object
            assert understood(shape.exact)
