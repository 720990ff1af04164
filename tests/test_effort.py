from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, TypedDict

import pytest

from mcp_wsgi.effort import MAX_STEPS, Effort, TooMuchEffort, bounded, effort
from mcp_wsgi.jsonschemas import Validator
from mcp_wsgi.problems import Mismatch, mismatch
from mcp_wsgi.schema import ArgumentErrors, Arguments, Output, StringArguments

TOO_MUCH = "too much to be checked in full: send less"
# Levels that a request may have: two for each level of the trees below.
DEPTH = 29


@dataclasses.dataclass
class And:
    op: Literal["and"]
    args: list[And | Or | Leaf]


@dataclasses.dataclass
class Or:
    op: Literal["or"]
    args: list[And | Or | Leaf]


@dataclasses.dataclass
class Leaf:
    op: Literal["leaf"]
    v: int


class Plain(TypedDict):
    kids: list[Plain | Marked]


class Marked(TypedDict):
    kids: list[Plain | Marked]
    mark: int


def tree(x: And | Or | Leaf) -> str:
    return ""


def plain(x: Plain | Marked) -> str:
    return ""


def tagged(leaf: Any, depth: int = DEPTH) -> Any:
    for level in range(depth):
        leaf = {"op": ("and", "or")[level % 2], "args": [leaf]}
    return leaf


def untagged(leaf: Any, depth: int = DEPTH, **more: Any) -> Any:
    for _ in range(depth):
        leaf = {"kids": [leaf], **more}
    return leaf


@contextmanager
def soon() -> Iterator[None]:
    """Exponential work on these values takes minutes and more; what is allowed is about a second."""
    start = time.process_time()
    yield
    assert time.process_time() - start < 5


def problem(function: Callable[..., Any], value: Any) -> str:
    with soon(), pytest.raises(ArgumentErrors) as error:
        Arguments.from_function(function, owner="tool").bind({"x": value})
    return str(error.value)


# --- signatures -----------------------------------------------------------------------------------


def test_a_bad_leaf_of_a_tagged_tree_is_told_in_its_own_words() -> None:
    told = problem(tree, tagged({"op": "leaf", "v": "x"}))
    assert told == f"x{'.args[0]' * DEPTH}.v: 'x' is not of type 'integer'"


def test_a_tag_that_names_nothing_is_told_with_all_that_would_do() -> None:
    assert problem(tree, {"op": "nope", "v": 1}) == "x.op: 'nope' is not one of 'and', 'or', 'leaf'"
    assert problem(tree, {"op": ["and"]}).startswith("x.op: ['and'] is not one of".replace("'and'", '"and"', 1))


def test_without_the_tag_the_alternative_that_fits_best_is_told() -> None:
    assert problem(tree, {"v": 1}) == "x.op: required, but missing"


def test_a_valid_tagged_tree_is_converted() -> None:
    bound = Arguments.from_function(tree, owner="tool").bind({"x": tagged({"op": "leaf", "v": 1}, 2)})
    assert bound == {"x": Or("or", [And("and", [Leaf("leaf", 1)])])}


@pytest.mark.parametrize("more", [{}, {"mark": 1}])
def test_alternatives_without_a_tag_are_each_tried_once(more: Any) -> None:
    assert problem(plain, untagged(5, **more)).endswith("5 is not of type 'object'")
    with soon():
        value: Any = untagged({"kids": [], **more}, **more)
        assert Arguments.from_function(plain, owner="tool").bind({"x": value}) == {"x": value}


def test_parts_that_are_equal_are_made_apart() -> None:
    shared: list[Any] = []
    value: Any = {"kids": [{"kids": shared, "mark": 1}, {"kids": [], "mark": 1}]}
    bound = Arguments.from_function(plain, owner="tool").bind({"x": value})["x"]
    assert bound["kids"][0]["kids"] is not bound["kids"][1]["kids"]


def test_a_value_that_takes_too_many_steps_is_refused_as_a_whole() -> None:
    def tool(x: list[dict[str, list[list[int]] | list[dict[str, int]]]]) -> None: ...

    value: Any = [{"a": [[]] * 1000}] * (MAX_STEPS // 1000)
    told = problem(tool, value)
    assert told == TOO_MUCH


def test_what_is_told_of_too_many_steps_is_true_without_alternatives_too() -> None:
    """Neither of values that are wrong, nor of those that are right and cannot be known to be."""

    def wrong(x: list[int]) -> None: ...

    def right(x: set[str]) -> None: ...

    assert problem(wrong, [""] * MAX_STEPS) == TOO_MUCH
    assert problem(right, [f"{number}" for number in range(MAX_STEPS)]) == TOO_MUCH


def test_the_texts_of_prompts_are_bounded_too() -> None:
    def prompt(x: list[dict[str, int]] | dict[str, list[int]]) -> None: ...

    with soon(), pytest.raises(ArgumentErrors, match=TOO_MUCH):
        StringArguments.from_function(prompt, owner="p").bind({"x": f"[{'{},' * MAX_STEPS}{{}}]"})


# --- hand-written schemas -------------------------------------------------------------------------

REF = {"$ref": "#/$defs/n"}


def recursive(**n: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": REF}, "required": ["x"], "$defs": {"n": n}}


def chain(leaf: Any, depth: int = 25) -> Any:
    for _ in range(depth):
        leaf = {"k": leaf}
    return {"x": leaf}


ONE = {"type": "object", "properties": {"k": REF}, "required": ["k"]}
DYNAMIC = {"$dynamicRef": "#n"}
TWO = {"type": "object", "properties": {"k": REF, "z": {}}, "required": ["z"]}


@pytest.mark.parametrize(
    "schema",
    [
        recursive(anyOf=[ONE, TWO]),
        recursive(oneOf=[ONE, TWO]),
        recursive(type="object", properties={"k": {"allOf": [REF, REF]}}),
        recursive(type="object", properties={"k": REF}, patternProperties={"k": REF}),
        recursive(**{"if": ONE, "then": {"properties": {"k": REF}}, "else": TWO}),
        recursive(type="object", properties={"k": REF}, unevaluatedProperties=False, anyOf=[ONE, TWO]),
        recursive(**{"$dynamicAnchor": "n"}, type="object", properties={"k": {"allOf": [DYNAMIC, DYNAMIC]}}),
    ],
)
def test_a_schema_that_contains_itself_more_than_once_is_no_weapon(schema: Any) -> None:
    arguments = Arguments.from_schema(schema, owner="tool")
    with soon(), pytest.raises(ArgumentErrors):
        arguments.bind(chain(5))


def test_the_innermost_fault_is_told_once() -> None:
    faults = Validator(recursive(anyOf=[ONE, TWO])).faults(chain(5, 2))
    assert [(fault.steps, fault.keyword) for fault in faults] == [(("x", "k", "k"), "type")]


def test_our_own_results_may_take_any_number_of_steps() -> None:
    schema = {"type": "array", "items": {"type": "integer", "multipleOf": 1}}
    assert len(Output.from_schema(schema, owner="tool").dump([1] * (MAX_STEPS // 6))) == MAX_STEPS // 6


def test_checks_inside_a_check_share_its_steps() -> None:
    judge = Validator({"items": {"multipleOf": 1}}).faults
    assert judge([1] * 100) == []
    with pytest.raises(TooMuchEffort):
        bounded(judge, 100)([1] * 100)


# --- the count itself -----------------------------------------------------------------------------


def test_steps_are_counted_and_end() -> None:
    work = Effort(2)
    work.spend(2)
    with pytest.raises(TooMuchEffort):
        work.spend(1)


def test_nothing_is_counted_outside() -> None:
    assert effort() is None
    assert bounded(lambda value: effort() is not None)(None)
    assert effort() is None


@pytest.mark.parametrize("fails", [False, True])
def test_an_answer_is_kept_while_the_question_above_it_is_open(fails: bool) -> None:
    work, asked, part = Effort(MAX_STEPS), [], [1]

    def inner(value: Any) -> int:
        asked.append(value)
        if fails:
            raise mismatch("type", ("string",), value)
        return len(asked)

    def ask(value: Any) -> Any:
        try:
            return work.outcome("inner", inner, value)
        except Mismatch as error:
            return error.faults

    assert work.outcome("outer", lambda value: ask(value) == ask(value), part) is True
    assert len(asked) == 1
    ask(part)
    assert len(asked) == 2
