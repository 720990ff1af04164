from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi.problems import (
    MAX_PROBLEMS,
    ArgumentErrors,
    Fault,
    Mismatch,
    Problem,
    closest,
    mismatch,
    problems,
    quote,
    render_path,
)


def say(keyword: str, limit: Any, value: Any) -> str:
    """The words for one fault of a whole value."""
    ((problem,), _) = problems([Fault((), keyword, limit, value)])
    assert problem.path == ""
    return problem.message


def test_the_text_has_a_line_for_each_problem_with_its_path() -> None:
    error = ArgumentErrors([Problem("limit", "is wrong"), Problem("", "so is the rest")])
    assert str(error) == "limit: is wrong\nso is the rest"


def test_problems_beyond_the_limit_are_counted() -> None:
    told, more = problems([Fault((n,), "type", ["string"], 1) for n in range(MAX_PROBLEMS + 3)])
    assert (len(told), more) == (MAX_PROBLEMS, 3)
    assert str(ArgumentErrors(told, more)).endswith("\nand 3 more")


def test_the_same_problem_is_told_once() -> None:
    fault = Fault(("a",), "required", None, None)
    assert problems([fault, fault])[0] == [Problem("a", "required, but missing")]


@pytest.mark.parametrize(
    ("steps", "path"),
    [
        ((), ""),
        (("items", 2, "price"), "items[2].price"),
        ((0, "a"), "[0].a"),
        (("a.b", "c d"), "['a.b']['c d']"),
        (("",), "['']"),
        (("naïve",), "['naïve']"),
    ],
)
def test_a_path_reads_like_code(steps: tuple[str | int, ...], path: str) -> None:
    assert render_path(steps) == path


def test_a_huge_name_is_cut_in_a_path() -> None:
    assert len(render_path(("x" * 10_000,))) < 200


@pytest.mark.parametrize(
    ("value", "quoted"),
    [("ten", "'ten'"), (True, "true"), (None, "null"), ({"a": [1]}, '{"a":[1]}')],
)
def test_values_are_quoted_as_the_client_wrote_them(value: Any, quoted: str) -> None:
    assert quote(value) == quoted


def test_a_number_of_thousands_of_digits_is_not_quoted() -> None:
    assert quote(10**4999) == "this integer"


@given(st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_a_quoted_value_is_short(value: Any) -> None:
    # A character may take up to ten when it is escaped.
    assert len(quote(value)) <= 1010


@pytest.mark.parametrize(
    ("keyword", "limit", "value", "words"),
    [
        ("type", ["integer"], "ten", "'ten' is not of type 'integer'"),
        ("type", ["integer", "null"], "x", "'x' is not of type 'integer' or 'null'"),
        ("enum", ["a", 1], "b", "'b' is not one of 'a', 1"),
        ("const", None, 1, "1 is not null"),
        ("unknown", ["limit"], "limt", "unknown argument 'limt'; known: limit"),
        ("unknown", [], "x", "unknown argument 'x'; none is expected"),
        ("minimum", 3, 1, "1 is less than the minimum of 3"),
        ("maximum", 3, 4, "4 is more than the maximum of 3"),
        ("exclusiveMinimum", 3, 3, "3 is not more than 3"),
        ("exclusiveMaximum", 3, 3, "3 is not less than 3"),
        ("multipleOf", 2, 3, "3 is not a multiple of 2"),
        ("minLength", 2, "a", "'a' is shorter than 2 characters"),
        ("maxLength", 1, "ab", "'ab' is longer than 1 character"),
        ("pattern", "^a$", "b", "'b' does not match the pattern ^a$"),
        ("minItems", 2, [1], "has 1 item, needs at least 2"),
        ("maxItems", 1, [1, 2], "has 2 items, may have at most 1"),
        ("minProperties", 2, {"a": 1}, "has 1 property, needs at least 2"),
        ("maxProperties", 0, {"a": 1, "b": 2}, "has 2 properties, may have at most 0"),
        ("uniqueItems", True, [1, 1], "has an item more than once, all must differ"),
        ("contains", {}, [1], "has no item of the kind that must be there"),
        ("not", {}, 1, "1 is what the schema rules out"),
        ("forbidden", None, 1, "1 is not allowed here"),
        ("format", "date", "x", "'x' is not a date such as 2026-07-28"),
        ("format", "colour", "x", "'x' is not colour"),
        ("value", "is odd", 1, "is odd"),
    ],
)
def test_every_rule_has_its_words(keyword: str, limit: Any, value: Any, words: str) -> None:
    assert say(keyword, limit, value) == words


def test_what_a_class_says_is_cut() -> None:
    assert say("value", "x" * 1000, 1) == "x" * 300 + "..."


def test_below_the_top_an_argument_is_a_property() -> None:
    ((problem,), _) = problems([Fault(("order",), "unknown", ["id"], "idd")])
    assert str(problem) == "order: unknown property 'idd'; known: id"


def test_long_lists_of_choices_are_cut() -> None:
    assert say("enum", list(range(50)), "x").endswith("19 and 30 more")


def test_of_alternatives_that_all_want_another_type_the_types_are_told() -> None:
    branches = [mismatch("type", [name], 1.5).faults for name in ("integer", "null", "integer")]
    assert closest(branches) == [Fault((), "type", ["integer", "null"], 1.5)]


def test_of_alternatives_with_listed_values_all_values_are_told() -> None:
    branches = [
        mismatch("enum", ["a", "b"], "x").faults,
        mismatch("type", ["null"], "x").faults,
        mismatch("enum", ["c"], "x").faults,
    ]
    assert closest(branches) == [Fault((), "enum", ["a", "b", "c"], "x")]


def test_of_several_alternatives_the_one_with_the_fewest_faults_is_told() -> None:
    one = [Fault(("a",), "required", None, None)]
    two = [Fault(("b",), "required", None, None), Fault(("c",), "required", None, None)]
    assert closest([mismatch("type", ["string"], {}).faults, two, one]) == one


def test_of_several_alternatives_the_one_of_the_right_form_is_told() -> None:
    form = [Fault((n,), "format", "date", "x") for n in range(2)]
    assert closest([[Fault((0,), "type", ["integer"], "x")], form]) == form


def test_a_mismatch_keeps_its_faults() -> None:
    assert Mismatch([Fault((), "value", "x", 1)]).faults == [Fault((), "value", "x", 1)]


def test_a_fault_seen_from_the_container_has_a_longer_way() -> None:
    assert Fault((1,), "value", "x", 1).below("a").steps == ("a", 1)
