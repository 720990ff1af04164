"""How a call asks its client: keys, what was declared, answers as values, steps that run once."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from mcp_wsgi.content import Message
from mcp_wsgi.context import Context
from mcp_wsgi.errors import MissingCapability
from mcp_wsgi.inputs import ElicitForm, ElicitResult, ListRoots, Root
from mcp_wsgi.schema import OutputError
from tests.asking import SURE, accept, sampled
from tests.sinks import asking


def test_a_form_comes_back_as_its_type() -> None:
    ctx, sink, _ = asking(accept(sure=True))
    assert ctx.elicit("Sure?", SURE) == ElicitResult("accept", {"sure": True})
    assert sink.asked == [("elicitation/create", {"mode": "form", "message": "Sure?", "requestedSchema": SURE})]


@pytest.mark.parametrize("messages", ["hi", Message("user", "hi"), [Message("user", "hi")]])
def test_a_model_is_sampled_from_text_or_messages(messages: Any) -> None:
    ctx, sink, _ = asking(sampled("Paris"))
    assert ctx.sample(messages, max_tokens=5, temperature=0.5).text == "Paris"
    message = {"role": "user", "content": {"type": "text", "text": "hi"}}
    assert sink.asked == [
        ("sampling/createMessage", {"messages": [message], "maxTokens": 5, "temperature": 0.5}),
    ]


def test_roots_are_asked_for_each_time() -> None:
    """T25-ROOT-01: so a change is seen without being told of."""
    ctx, sink, _ = asking({"roots": [{"uri": "file:///a"}]})
    sink_answers = [ctx.list_roots()]
    sink.answer = {"roots": []}
    sink_answers.append(ctx.list_roots())
    assert sink_answers == [(Root("file:///a"),), ()]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (lambda ctx: ctx.elicit("?", SURE, key="a"), lambda ctx: ctx.elicit("!", SURE, key="a")),
        (lambda ctx: ctx.elicit("?", SURE, key="elicitation-1"), lambda ctx: ctx.elicit("?", SURE)),
        (lambda ctx: ctx.elicit("?", SURE), lambda ctx: ctx.elicit("?", SURE, key="elicitation-1")),
        (lambda ctx: ctx.ask({"a": ElicitForm("?", SURE)}), lambda ctx: ctx.ask({"a": ElicitForm("?", SURE)})),
        (lambda ctx: ctx.elicit_url("?", "https://a.example", key="a"), lambda ctx: ctx.elicit("?", SURE, key="a")),
    ],
)
def test_two_questions_have_two_keys(first: Any, second: Any) -> None:
    """In either era, so that what works in one works in the other."""
    ctx, _, _ = asking({"action": "decline"})
    first(ctx)
    with pytest.raises(RuntimeError, match="two questions have the key"):
        second(ctx)
    ctx.restart()
    second(ctx)


def test_questions_without_a_key_are_told_apart_by_their_order() -> None:
    ctx, sink, _ = asking({"action": "decline"})
    for number in range(3):
        ctx.elicit(f"{number}?", SURE)
    assert [params["message"] for _, params in sink.asked] == ["0?", "1?", "2?"]


def test_a_question_that_could_not_be_asked_leaves_its_key_free() -> None:
    ctx, _, _ = asking({"action": "decline"}, capabilities={"elicitation": {}})
    with pytest.raises(MissingCapability):
        ctx.elicit_url("?", "https://a.example", key="a")
    assert ctx.elicit("?", SURE, key="a").action == "decline"


def test_a_step_runs_once_and_gives_its_json_form() -> None:
    ctx, _, _ = asking({})
    counter = itertools.count(1)
    found = [ctx.once("a", lambda: (next(counter), {"b": (2,)})) for _ in range(2)]
    assert found == [[1, {"b": [2]}]] * 2


def test_a_step_that_fails_is_tried_again() -> None:
    ctx, _, _ = asking({})
    ready: list[int] = []
    with pytest.raises(IndexError):
        ctx.once("a", ready.pop)
    ready.append(5)
    assert ctx.once("a", ready.pop) == 5


def test_a_step_gives_json_or_fails() -> None:
    ctx, _, _ = asking({})
    with pytest.raises(OutputError):
        ctx.once("a", object)


def test_nobody_is_asked_but_in_a_call_a_read_or_a_prompt() -> None:
    """S26-MRTR-02"""
    ctx, sink, _ = asking({"roots": []}, "completion/complete")
    ctx.may_ask = False
    with pytest.raises(RuntimeError, match="not in completion/complete"):
        ctx.list_roots()
    assert (sink.asked, ctx.once("a", lambda: 1)) == ([], 1)


@pytest.mark.parametrize(
    ("ask", "missing"),
    [
        (lambda ctx: ctx.elicit("?", SURE), "elicitation"),
        (lambda ctx: ctx.elicit_url("?", "https://a.example"), "elicitation.url"),
        (lambda ctx: ctx.sample("?", max_tokens=1), "sampling"),
        (lambda ctx: ctx.list_roots(), "roots"),
    ],
)
def test_what_was_not_declared_is_not_asked(ask: Callable[[Context], object], missing: str) -> None:
    """S26-BASE-17, S26-MRTR-05"""
    ctx, sink, _ = asking({}, capabilities={})
    with pytest.raises(MissingCapability) as caught:
        ask(ctx)
    assert (caught.value.names, sink.asked) == ((missing,), [])


def test_of_several_questions_none_is_asked_if_one_cannot_be() -> None:
    ctx, sink, _ = asking({"roots": []}, capabilities={"roots": {}})
    with pytest.raises(MissingCapability):
        ctx.ask({"a": ListRoots(), "b": ElicitForm("?", SURE)})
    assert sink.asked == []
