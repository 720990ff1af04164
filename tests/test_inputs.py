"""Questions as values: what each revision is told, what a client needs for it, and what its answer says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi.content import EmbeddedResource, Image, Message, ResourceContents
from mcp_wsgi.errors import InputError, MCPError, MissingCapability, RegistrationError
from mcp_wsgi.inputs import (
    CAPABILITIES,
    ElicitForm,
    ElicitResult,
    ElicitUrl,
    InputRequired,
    InvalidAnswer,
    ListRoots,
    Root,
    Sample,
    SamplingResult,
    UrlElicitationRequired,
    check_capability,
    has_capability,
    new_elicitation_id,
    required_capabilities,
)
from mcp_wsgi.revisions import REVISIONS
from tests.asking import SURE, accept, sampled
from tests.wire import check_message

OLDEST, SECOND, NEWEST, MODERN = (REVISIONS[name] for name in ("2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"))
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@dataclass
class Person:
    name: str
    age: int = 30


# --- forms ----------------------------------------------------------------------------------------


def test_a_form_says_its_mode_where_there_are_modes() -> None:
    """S26-ELI-02, T25-ELI-02"""
    form = ElicitForm("Who?", SURE)
    asked = {"message": "Who?", "requestedSchema": SURE}
    assert form.params(MODERN) == form.params(NEWEST) == {"mode": "form", **asked}
    assert form.params(SECOND) == asked


def test_the_oldest_revision_has_no_forms() -> None:
    """T25-ELI-01"""
    with pytest.raises(InputError, match="2025-03-26 has no forms"):
        ElicitForm("Who?", SURE).params(OLDEST)


def test_a_form_that_is_none_is_refused_where_it_is_made() -> None:
    """S26-ELI-03"""
    for wrong in ({"type": "array"}, {"type": "object", "properties": {"a": {"type": "object"}}}, int):
        with pytest.raises(RegistrationError):
            ElicitForm("Who?", wrong)


def test_a_filled_in_form_is_read_as_what_was_asked_for() -> None:
    """S26-ELI-05, S26-ELI-07"""
    form = ElicitForm("Who?", Person)
    assert form.read(accept(name="Ann")) == ElicitResult("accept", Person("Ann"))
    assert form.read({"action": "decline"}) == ElicitResult("decline")
    assert [form.read({"action": action, "content": 5}).accepted for action in ("decline", "cancel")] == [False, False]


@pytest.mark.parametrize("content", [{}, {"name": 5}, {"name": "Ann", "age": "x"}, None, [], "Ann"])
def test_what_does_not_fit_the_form_is_no_answer(content: Any) -> None:
    """S26-ELI-07"""
    with pytest.raises(InvalidAnswer, match="does not fit"):
        ElicitForm("Who?", Person).read({"action": "accept", "content": content})


@given(ANYTHING)
def test_no_answer_makes_a_question_crash(answer: Any) -> None:
    """S26-MRTR-12"""
    for question in (ElicitForm("?", SURE), ElicitUrl("?", "https://a.example", "1"), _sample(), ListRoots()):
        with pytest.raises(InvalidAnswer):
            question.read(answer)


@given(st.dictionaries(st.sampled_from(["action", "content", "roots", "role", "model", "stopReason"]), ANYTHING))
def test_an_answer_is_read_or_refused(answer: Any) -> None:
    for question in (ElicitForm("?", SURE), ElicitUrl("?", "https://a.example", "1"), _sample(), ListRoots()):
        try:
            read = question.read(answer)
        except InvalidAnswer:
            continue
        assert isinstance(read, (ElicitResult, SamplingResult, tuple))


# --- pages ----------------------------------------------------------------------------------------


def test_a_page_has_an_id_in_one_revision_only() -> None:
    """S26-ELI-02, T25-ELI-03"""
    page = ElicitUrl("Pay", "https://pay.example", "p1")
    asked = {"mode": "url", "message": "Pay", "url": "https://pay.example"}
    assert (page.params(MODERN), page.params(NEWEST)) == (asked, {**asked, "elicitationId": "p1"})
    assert page.read({"action": "accept"}) == ElicitResult("accept", id="p1")


@pytest.mark.parametrize("revision", [OLDEST, SECOND])
def test_older_revisions_have_no_pages(revision: Any) -> None:
    """T25-ELI-02"""
    with pytest.raises(InputError, match="forms only"):
        ElicitUrl("Pay", "https://pay.example", "p1").params(revision)


def test_the_ids_of_pages_are_hard_to_guess() -> None:
    """T25-ELI-03"""
    ids = {new_elicitation_id() for _ in range(1000)}
    assert len(ids) == len({identity[:8] for identity in ids}) == 1000


@pytest.mark.parametrize("url", ["", "pay", "/pay", "https://pay.example/ x", "https://pay.example/\n"])
def test_a_page_has_an_address(url: str) -> None:
    """S26-ELI-02"""
    with pytest.raises(ValueError, match="no URL"):
        ElicitUrl("Pay", url, "p1")


# --- models ---------------------------------------------------------------------------------------

HI = {"role": "user", "content": {"type": "text", "text": "hi"}}
USE = {"type": "tool_use", "id": "u1", "name": "add", "input": {}}
RESULT = {"type": "tool_result", "toolUseId": "u1", "content": []}


def _sample(*messages: Any, **options: Any) -> Sample:
    return Sample(messages=messages or (HI,), max_tokens=9, **options)


def said(role: str, *blocks: Any) -> dict[str, Any]:
    return {"role": role, "content": list(blocks)}


def test_what_is_not_set_is_not_said() -> None:
    """S26-SMP-02"""
    assert _sample(Message("user", "hi")).params(SECOND) == {"messages": [HI], "maxTokens": 9}


def test_everything_that_can_be_set_is_said() -> None:
    tool = {"name": "add", "inputSchema": {"type": "object"}}
    options: dict[str, Any] = {
        "system_prompt": "Be kind",
        "temperature": 0.5,
        "stop_sequences": ("x",),
        "model_preferences": {"hints": [{"name": "m"}]},
        "include_context": "none",
        "metadata": {"a": 1},
        "tools": (tool,),
        "tool_choice": {"mode": "auto"},
    }
    params = _sample(Message("user", Image(b"x", mime_type="image/png")), **options).params(NEWEST)
    names = "messages maxTokens systemPrompt temperature stopSequences modelPreferences includeContext metadata tools"
    assert sorted(params) == sorted([*names.split(), "toolChoice"])
    asked = {"jsonrpc": "2.0", "id": "1", "method": "sampling/createMessage", "params": params}
    check_message(asked, NEWEST.name, request_method=None)


@pytest.mark.parametrize("revision", [OLDEST, SECOND])
@pytest.mark.parametrize(
    "sample",
    [
        _sample(tools=[]),
        _sample(tool_choice={"mode": "auto"}),
        _sample(said("user", HI["content"])),
        _sample({"role": "assistant", "content": USE}, {"role": "user", "content": RESULT}),
    ],
)
def test_older_revisions_sample_single_blocks_without_tools(revision: Any, sample: Sample) -> None:
    """T25-SMP-01"""
    with pytest.raises(InputError, match=f"{revision.name} samples single blocks"):
        sample.params(revision)
    assert isinstance(_sample().params(revision), dict)


GOOD_TALKS: list[list[Any]] = [
    [HI, said("assistant", USE), said("user", RESULT)],
    [HI, {"role": "assistant", "content": USE}, {"role": "user", "content": RESULT}, HI],
    [
        HI,
        said("assistant", HI["content"], USE, {**USE, "id": "u2"}),
        said("user", {**RESULT, "toolUseId": "u2"}, RESULT),
    ],
]
BAD_TALKS: list[list[Any]] = [
    [HI, said("assistant", USE)],
    [HI, said("assistant", USE), HI],
    [HI, said("assistant", USE), said("user", RESULT, HI["content"])],
    [HI, said("assistant", USE), said("user", {**RESULT, "toolUseId": "u2"})],
    [HI, said("assistant", USE, {**USE, "id": "u2"}), said("user", RESULT)],
    [HI, said("assistant", USE), said("user", RESULT, RESULT)],
    [HI, said("assistant", USE), said("assistant", RESULT)],
    [said("user", RESULT)],
    [HI, said("user", USE), said("user", RESULT)],
    [HI, said("assistant", USE), HI, said("user", RESULT)],
]


@pytest.mark.parametrize("revision", [NEWEST, MODERN])
def test_each_use_of_a_tool_is_followed_by_its_result(revision: Any) -> None:
    """S26-SMP-03"""
    for talk in GOOD_TALKS:
        assert _sample(*talk).params(revision)["messages"] == talk
    for talk in BAD_TALKS:
        with pytest.raises(InputError, match="tool"):
            _sample(*talk).params(revision)


@pytest.mark.parametrize("message", [{"content": HI["content"]}, {"role": "system", "content": {}}, {"role": "user"}])
def test_a_message_has_a_role_and_a_content(message: Any) -> None:
    """S26-SMP-02"""
    with pytest.raises(InputError, match="role"):
        _sample(message).params(NEWEST)


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": "hi"},
        {"role": "user", "content": ["hi"]},
        {"role": "user", "content": {"text": "hi"}},
        Message("user", EmbeddedResource(ResourceContents(uri="note://1", text="hi"))),
    ],
)
def test_a_model_is_sampled_from_some_kinds_of_content_only(message: Any) -> None:
    """S26-SMP-02"""
    with pytest.raises(InputError, match="content blocks of these types"):
        _sample(message).params(NEWEST)


def test_the_words_of_a_model_are_read() -> None:
    assert _sample().read(sampled("Paris")).text == "Paris"
    blocks = [{"type": "text", "text": "a"}, USE, {"type": "text", "text": "b"}]
    read = _sample().read({"role": "assistant", "content": blocks, "model": "m", "stopReason": "toolUse"})
    assert (read.text, read.content, read.stop_reason, read.model) == ("ab", tuple(blocks), "toolUse", "m")


# --- roots ----------------------------------------------------------------------------------------


def test_roots_are_read() -> None:
    """S26-ROOT-01"""
    read = ListRoots().read({"roots": [{"uri": "file:///a", "name": "A"}, {"uri": "file:///b"}]})
    assert (read, ListRoots().read({"roots": []})) == ((Root("file:///a", "A"), Root("file:///b")), ())


@pytest.mark.parametrize("root", [{}, "file:///a", {"uri": "a b"}, {"uri": 5}, {"uri": "file:///a", "name": 5}, None])
def test_roots_that_are_none_are_refused(root: Any) -> None:
    """S26-ROOT-01: before the application sees any of them."""
    with pytest.raises(InvalidAnswer, match="no list of roots"):
        ListRoots().read({"roots": [{"uri": "file:///a"}, root]})


# --- capabilities ---------------------------------------------------------------------------------

FORM: dict[str, Any] = {"form": {}}
PAGE: dict[str, Any] = {"url": {}}


@pytest.mark.parametrize(
    ("declared", "has"),
    [
        ({}, ""),
        ({"elicitation": {}}, "elicitation"),
        ({"elicitation": FORM}, "elicitation"),
        ({"elicitation": PAGE}, "elicitation.url"),
        ({"elicitation": {**FORM, **PAGE}}, "elicitation elicitation.url"),
        ({"elicitation": {"other": {}}}, "elicitation"),
        ({"sampling": {}}, "sampling"),
        ({"sampling": {"tools": {}}}, "sampling sampling.tools"),
        ({"sampling": {"context": {}}}, "sampling sampling.context"),
        ({"roots": {"listChanged": True}}, "roots"),
        ({"elicitation": None, "sampling": 5, "roots": []}, ""),
        ({"elicitation": {"form": None, "url": True}, "sampling": {"tools": 1}}, "sampling"),
    ],
)
def test_what_a_client_has_declared(declared: dict[str, Any], has: str) -> None:
    """S26-ELI-01, S26-SMP-01: ``elicitation: {}`` is forms only."""
    assert [name for name in CAPABILITIES if has_capability(declared, name)] == has.split()


@given(
    st.dictionaries(st.sampled_from(["elicitation", "sampling", "roots"]), ANYTHING), st.sampled_from([*CAPABILITIES])
)
def test_no_declaration_makes_a_check_crash(declared: Any, name: str) -> None:
    assert has_capability(declared, name) in (True, False)


@pytest.mark.parametrize("names", [[name] for name in CAPABILITIES] + [list(CAPABILITIES)])
def test_what_is_required_would_do(names: list[str]) -> None:
    required = required_capabilities(names)
    check_capability(required, [name for name in names if name != "elicitation" or len(names) == 1])
    with pytest.raises(MissingCapability) as caught:
        check_capability({}, names)
    assert caught.value.data == {"requiredCapabilities": required}
    assert caught.value.names == tuple(names)


def test_only_what_is_missing_is_required() -> None:
    with pytest.raises(MissingCapability) as caught:
        check_capability({"sampling": {}}, ["sampling", "sampling.tools"])
    assert caught.value.data == {"requiredCapabilities": {"sampling": {"tools": {}}}}


@pytest.mark.parametrize(
    ("question", "needs"),
    [
        (ElicitForm("?", SURE), ["elicitation"]),
        (ElicitUrl("?", "https://a.example", "1"), ["elicitation.url"]),
        (ListRoots(), ["roots"]),
        (_sample(), ["sampling"]),
        (_sample(include_context="none"), ["sampling"]),
        (_sample(include_context="thisServer"), ["sampling", "sampling.context"]),
        (_sample(tools=[]), ["sampling", "sampling.tools"]),
        (_sample(tool_choice={"mode": "none"}), ["sampling", "sampling.tools"]),
    ],
)
def test_what_a_question_needs(question: Any, needs: list[str]) -> None:
    """S26-SMP-01"""
    assert list(question.needs()) == needs


# --- signals --------------------------------------------------------------------------------------


def test_what_ends_a_round_is_no_exception() -> None:
    required = InputRequired({"a": ListRoots()}, {"n": 1})
    assert not isinstance(required, Exception)
    assert (dict(required.requests), required.state) == ({"a": ListRoots()}, {"n": 1})
    with pytest.raises(TypeError):
        required.requests["b"] = ListRoots()  # type: ignore[index]


def test_a_page_that_is_required_is_an_error_or_a_question() -> None:
    """T25-ELI-04"""
    page = ElicitUrl("Pay", "https://pay.example", "p1")
    assert dict(UrlElicitationRequired([page]).as_questions(MODERN).requests) == {"elicitation-1": page}
    with pytest.raises(UrlElicitationRequired) as caught:
        UrlElicitationRequired([page]).as_questions(NEWEST)
    assert isinstance(caught.value, MCPError)
    assert (caught.value.code, caught.value.data) == (-32042, {"elicitations": [page.params(NEWEST)]})
    with pytest.raises(InputError):
        UrlElicitationRequired([page]).as_questions(SECOND)
