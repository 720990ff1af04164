from __future__ import annotations

import enum
from types import SimpleNamespace
from typing import Annotated, Any, Literal, Optional

import pytest

from mcp_wsgi.completers import Completers, choices
from mcp_wsgi.context import Context
from mcp_wsgi.errors import InvalidParams, RegistrationError
from mcp_wsgi.handler import Completion, CompletionArgument
from tests.contexts import context

CTX = context("completion/complete")


class Mood(enum.Enum):
    GOOD = "good"
    BAD = "bad"


class Size(enum.IntEnum):
    SMALL = 1
    LARGE = 2


def asked(completers: Completers, name: str, value: str = "", **context: str) -> list[str]:
    return list(completers.complete(CompletionArgument(name, value), context, CTX).values)


def moods() -> Completers:
    return Completers("prompt ask", {"mood": Mood, "day": str})


# --- values that the signature knows --------------------------------------------------------------


@pytest.mark.parametrize(
    ("annotation", "values"),
    [
        (bool, ("true", "false")),
        (Mood, ("good", "bad")),
        (Size, ("1", "2")),
        (Literal["a", 1, True, Mood.BAD] | None, ("a", "1", "true", "bad")),
        (Optional[Mood], ("good", "bad")),  # noqa: UP045
        (Literal["x"] | bool | None, ("x", "true", "false")),
        (Annotated[Literal["x", "y"], "why"], ("x", "y")),
        (Mood | str, ()),
        (str, ()),
        (int, ()),
        (list[bool], ()),
        (None, ()),
        (Any, ()),
        ("Unresolved", ()),
    ],
    ids=str,
)
def test_values_of_an_annotation(annotation: Any, values: tuple[str, ...]) -> None:
    assert choices(annotation) == values


def test_values_of_an_alias_made_by_the_type_statement() -> None:
    # What Python 3.12 makes of ``type Alias = Literal["a", "b"]``, as far as it matters.
    assert choices(SimpleNamespace(__value__=Literal["a", "b"])) == ("a", "b")


@pytest.mark.parametrize(("typed", "values"), [("", ["good", "bad"]), ("g", ["good"]), ("BA", ["bad"]), ("x", [])])
def test_known_values_are_suggested_by_what_is_typed(typed: str, values: list[str]) -> None:
    """S26-COMP-02."""
    assert asked(moods(), "mood", typed) == values


def test_an_argument_that_may_be_anything_has_no_suggestions() -> None:
    assert asked(moods(), "day") == []


def test_there_is_something_to_complete_only_where_somebody_knows() -> None:
    """S26-COMP-01."""
    quiet = Completers("prompt ask", {"day": str})
    assert (bool(moods()), bool(quiet), bool(Completers("resource a:b", {}))) == (True, False, False)
    quiet.add("day", lambda value: [])
    assert bool(quiet)


@pytest.mark.parametrize("name", ["mode", "", "x" * 1000])
def test_an_unknown_argument_is_refused(name: str) -> None:
    """S26-COMP-04."""
    with pytest.raises(InvalidParams, match="Unknown argument of prompt ask") as caught:
        asked(moods(), name)
    assert len(str(caught.value)) < 300


# --- functions ------------------------------------------------------------------------------------


def test_a_function_wins_over_the_signature() -> None:
    completers = moods()
    completers.add("mood", lambda value: [value + "!"])
    assert asked(completers, "mood", "go") == ["go!"]


def by_value(value: str) -> list[str]:
    return [value]


def by_resolved(value: str, resolved: dict[str, str]) -> list[str]:
    return [value, *resolved.values()]


def by_context(ctx: Context, value: str) -> list[str]:
    return [value, ctx.method]


def by_all(value: str, *, resolved: dict[str, str], ctx: Context) -> list[str]:
    return [value, *resolved.values(), ctx.method]


@pytest.mark.parametrize(
    ("function", "values"),
    [
        (by_value, ["m"]),
        (by_resolved, ["m", "bad"]),
        (by_context, ["m", "completion/complete"]),
        (by_all, ["m", "bad", "completion/complete"]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_function_gets_what_it_asks_for(function: Any, values: list[str]) -> None:
    """S26-COMP-03."""
    completers = moods()
    completers.add("day", function)
    assert asked(completers, "day", "m", mood="bad") == values


@pytest.mark.parametrize(
    "returned", [["a", "b"], ("a", "b"), dict.fromkeys("ab"), iter("ab")], ids=lambda value: type(value).__name__
)
def test_any_iterable_of_texts_will_do(returned: Any) -> None:
    completers = moods()
    completers.add("day", lambda value: returned)
    assert asked(completers, "day") == ["a", "b"]


def test_a_completion_is_passed_on() -> None:
    completers, completion = moods(), Completion(["a"], total=7, has_more=True)
    completers.add("day", lambda value: completion)
    assert completers.complete(CompletionArgument("day", ""), {}, CTX) is completion


@pytest.mark.parametrize("returned", ["text", [1], None, 5], ids=repr)
def test_what_is_no_list_of_texts_is_an_error_of_the_server(returned: Any) -> None:
    completers = moods()
    completers.add("day", lambda value: returned)
    with pytest.raises(TypeError):
        asked(completers, "day")


@pytest.mark.parametrize(
    ("argument", "function", "words"),
    [
        ("dya", by_value, "prompt ask has no argument 'dya'.*mood, day"),
        ("day", lambda: ["x"], "takes nothing.*the value typed so far"),
        ("day", lambda a, b, c: [], "takes a, b, c"),
        ("day", lambda **rest: [], "the value typed so far"),
    ],
)
def test_a_completer_that_cannot_serve_is_refused(argument: str, function: Any, words: str) -> None:
    with pytest.raises(RegistrationError, match=words):
        moods().add(argument, function)


def test_one_argument_has_one_completer() -> None:
    completers = moods()
    completers.add("day", by_value)
    with pytest.raises(RegistrationError, match="prompt ask has a completer for 'day' already"):
        completers.add("day", by_resolved)


def test_nothing_to_complete_says_so() -> None:
    with pytest.raises(RegistrationError, match="it has: none"):
        Completers("resource a:b", {}).add("x", by_value)
