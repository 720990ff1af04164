"""Questions of the modern era: sealed states that fit one call of one caller, and replay."""

from __future__ import annotations

import base64
import itertools
import json
import logging
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_wsgi import Context, ElicitForm, InputRequired, ListRoots, MCPServer, Sample
from mcp_wsgi.errors import OptionError
from mcp_wsgi.http_client import HTTPReply
from mcp_wsgi.inputs import InputRequest
from mcp_wsgi.revisions import REVISIONS
from mcp_wsgi.rounds import MAX_ROUND_QUESTIONS, Rounds, States, digest_of
from mcp_wsgi.sessions import principal_id
from mcp_wsgi.testing import Client
from mcp_wsgi.vault import StateSealer
from tests.asking import SURE, accept, log_texts, modern, retry, sampled, shown
from tests.exchanges import Clock
from tests.spec.kit import MODERN, refusal

KEY, OLD_KEY, REMOVED_KEY = "new" * 16, "old" * 16, "removed" * 8
CALL: dict[str, Any] = {"name": "refund", "arguments": {"order": "7"}}
ANSWER = {"elicitation-1": accept(sure=True)}


def shop() -> MCPServer:
    mcp = MCPServer("shop")

    @mcp.tool
    def refund(order: str, ctx: Context) -> str:
        return f"{order}: {ctx.elicit('Sure?', SURE).data}"

    @mcp.tool
    def forget(order: str, ctx: Context) -> str:
        return f"{order}: {ctx.elicit('Sure?', SURE).data}"

    @mcp.prompt
    def ask(order: str, ctx: Context) -> str:
        return f"{order}: {ctx.elicit('Sure?', SURE).data}"

    return mcp


def user(request: Any) -> Any:
    return SimpleNamespace(id=request.headers.get("X-User") or "anna")


def app(*keys: str, **options: Any) -> Any:
    return shop().wsgi_app(workers="inline", auth=user, secret_key=keys or (KEY, OLD_KEY), **options)


def client(target: Any, name: str = "anna", mount: str = "") -> Client:
    return modern(target, headers={"X-User": name}, environ={"SCRIPT_NAME": mount})


def begun(target: Any) -> str:
    """The state of a call by anna that waits for an answer."""
    result = client(target).request("tools/call", CALL).raw
    assert list(result["inputRequests"]) == ["elicitation-1"]
    return str(result["requestState"])


def went_on(by: Client, state: Any, method: str = "tools/call", **params: Any) -> HTTPReply:
    """Make the next round of the call, or of another."""
    given = {**CALL, **params, "requestState": state, "inputResponses": ANSWER}
    return by.post(by.message(method, given))


# --- states that are not good here ----------------------------------------------------------------


def forged(
    *,
    key: str = KEY,
    revision: str = MODERN,
    method: str = "tools/call",
    params: dict[str, Any] = CALL,
    by: str = "anna",
    mount: str = "",
    age: float = 0.0,
    kept: Any = None,
) -> str:
    """What the application would seal, if it were so."""
    sealer = StateSealer([key.encode()], ttl=900.0, clock=lambda: time.time() - age)
    binding = (revision, method, digest_of(params), principal_id(SimpleNamespace(id=by)), mount)
    return sealer.seal([{}, {}, {}, None] if kept is None else kept, binding)


def turned(state: str, place: int) -> str:
    """With one character changed, to another of the alphabet."""
    return state[:place] + ("A" if state[place] != "A" else "B") + state[place + 1 :]


class Case(NamedTuple):
    """What is sent instead of the state, by whom and for what; and what the log says."""

    state: Callable[[str], Any]
    reason: str
    by: str = "anna"
    mount: str = ""
    params: Mapping[str, Any] = MappingProxyType({})
    method: str = "tools/call"


ELSEWHERE = "something else, or changed"
CASES: dict[str, Case] = {
    "changed in its salt": Case(lambda state: turned(state, 10), "unknown key, or changed"),
    "changed in its content": Case(lambda state: turned(state, 90), ELSEWHERE),
    "changed in its tag": Case(lambda state: turned(state, len(state) - 4), ELSEWHERE),
    "cut by its end": Case(lambda state: state[:-8], "respelled|or changed"),
    "cut to little": Case(lambda state: state[:40], "shorter"),
    "longer by some": Case(lambda state: state + "AAAA", "respelled|base64url|or changed"),
    "empty": Case(lambda state: "", "not base64url"),
    "of another user": Case(lambda state: state, ELSEWHERE, by="bob"),
    "of another tool": Case(lambda state: state, ELSEWHERE, params={"name": "forget"}),
    "of other arguments": Case(lambda state: state, ELSEWHERE, params={"arguments": {"order": "8"}}),
    "of an argument of another type": Case(lambda state: state, ELSEWHERE, params={"arguments": {"order": 7}}),
    "of one more parameter": Case(lambda state: state, ELSEWHERE, params={"more": None}),
    "of another mount": Case(lambda state: state, ELSEWHERE, mount="/other"),
    "of another method": Case(
        lambda state: state, ELSEWHERE, params={"name": "ask", "arguments": {"order": "7"}}, method="prompts/get"
    ),
    "of another revision": Case(lambda state: forged(revision="2027-01-01"), ELSEWHERE),
    "of a key that was removed": Case(lambda state: forged(key=REMOVED_KEY), "unknown key"),
    "expired": Case(lambda state: forged(age=901.0), "expired"),
    "a cursor's signature": Case(lambda state: "WyJ4Il0.c2ln", "not base64url"),
    "plain JSON": Case(lambda state: base64.urlsafe_b64encode(b"[{},{},{},null]" * 9).decode(), "unknown format"),
    "of another shape": Case(lambda state: forged(kept={"answers": 5}), "another release|otherwise"),
    "too long": Case(lambda state: "A" * 70_000, "longer"),
    "a number": Case(lambda state: 5, "not text"),
    "an object": Case(lambda state: {"state": state}, "not text"),
    "a list": Case(lambda state: [state], "not text"),
    "true": Case(lambda state: True, "not text"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_state_that_is_not_good_here_is_refused(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """S26-MRTR-06, S26-MRTR-07, S26-MRTR-08: the same answer for all, and the reason in the log."""
    caplog.set_level(logging.INFO, "mcp_wsgi")
    case, target = CASES[name], app()
    state = begun(target)
    reply = went_on(client(target, case.by, case.mount), case.state(state), case.method, **case.params)
    flat = "Invalid params: the requestState is not valid here; start again without it"
    assert (reply.status, refusal(reply)) == (200, {"code": -32602, "message": flat})
    assert any(words in log_texts(caplog) for words in case.reason.split("|"))
    assert shown(json.loads(went_on(client(target), state).body)) == (False, "7: {'sure': True}")


def test_what_the_table_forges_would_be_good_but_for_one_thing() -> None:
    reply = went_on(client(app()), forged())
    assert shown(json.loads(reply.body)) == (False, "7: {'sure': True}")


@pytest.mark.parametrize("place", range(0, 200, 7))
def test_no_character_can_be_changed(place: int) -> None:
    """S26-MRTR-07"""
    target = app()
    state = begun(target)
    assert refusal(went_on(client(target), turned(state, place % len(state))))["code"] == -32602


def test_a_state_outlives_a_new_key_until_the_old_one_is_removed() -> None:
    state = begun(app(OLD_KEY))
    assert went_on(client(app(KEY, OLD_KEY)), state).status == 200
    assert shown(json.loads(went_on(client(app(KEY, OLD_KEY)), state).body)) == (False, "7: {'sure': True}")
    assert refusal(went_on(client(app(KEY)), state))["code"] == -32602


def test_any_process_with_the_key_goes_on() -> None:
    """S26-MRTR-11: nothing but the request links the rounds."""
    assert shown(json.loads(went_on(client(app()), begun(app())).body)) == (False, "7: {'sure': True}")


def test_a_state_tells_nothing_of_what_is_in_it() -> None:
    """S26-MRTR-07: it is encrypted."""
    state = begun(app())
    raw = base64.urlsafe_b64decode(state + "=" * (-len(state) % 4))
    assert b"elicitation" not in raw
    assert state != begun(app())


def test_state_ttl_ends_a_state() -> None:
    """S26-MRTR-08: by the clock of whoever opens it."""
    clock = Clock()
    states = States(StateSealer([KEY.encode()], ttl=900.0, clock=clock))
    target = app()
    target._dispatcher.asking.states = states
    state = begun(target)
    clock.now += 899
    assert shown(json.loads(went_on(client(target), state).body)) == (False, "7: {'sure': True}")
    clock.now += 1
    assert refusal(went_on(client(target), state))["code"] == -32602


def test_without_single_use_a_client_may_go_back() -> None:
    target = app()
    state = begun(target)
    assert [shown(json.loads(went_on(client(target), state).body))[0] for _ in range(2)] == [False, False]


def test_single_use_takes_a_state_once(caplog: pytest.LogCaptureFixture) -> None:
    """S26-MRTR-09"""
    caplog.set_level(logging.INFO, "mcp_wsgi")
    target = app(sessions=True, single_use=True)
    state, other = begun(target), begun(target)
    first, second, third = (went_on(client(target), each) for each in (state, state, other))
    assert shown(json.loads(first.body)) == shown(json.loads(third.body)) == (False, "7: {'sure': True}")
    assert refusal(second) == refusal(went_on(client(target), "x"))
    assert "used before" in log_texts(caplog)


def test_a_malformed_retry_does_not_use_up_a_state() -> None:
    target = app(sessions=True, single_use=True)
    state, by = begun(target), client(target)
    assert refusal(by.post(by.message("tools/call", {**CALL, "requestState": state, "inputResponses": 5})))
    assert shown(json.loads(went_on(by, state).body)) == (False, "7: {'sure': True}")


@pytest.mark.parametrize("options", [{}, {"sessions": "auto"}])
def test_single_use_needs_a_store(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match="single_use"):
        app(single_use=True, **options)


def test_a_state_that_would_be_too_large_is_a_failure(caplog: pytest.LogCaptureFixture) -> None:
    mcp = MCPServer("large")

    @mcp.tool
    def keep(ctx: Context) -> str:
        ctx.once("large", lambda: "x" * 70_000)
        return str(ctx.elicit("Sure?", SURE))

    by = modern(mcp)
    reply = by.post(by.message("tools/call", {"name": "keep"}))
    assert "x" * 20 not in reply.body.decode()
    assert shown(json.loads(reply.body))[0]
    assert "too large" in log_texts(caplog)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def keeper(states: list[Any]) -> MCPServer:
    """A tool that notes what came back of each state but the last, and asks on."""
    mcp = MCPServer("keeper")

    @mcp.tool
    def keep(ctx: Context) -> str:
        place = len(ctx.input_responses)
        if place:
            return json.dumps(ctx.request_state)
        raise InputRequired({"go": ListRoots()}, state=states[-1])

    return mcp


@given(JSON)
def test_any_json_makes_the_round_trip(state: Any) -> None:
    by = modern(keeper([state]), answer=lambda method, params: {"roots": []})
    assert by.call_tool("keep").text == json.dumps(state)


@given(JSON)
def test_any_result_of_a_step_makes_the_round_trip(value: Any) -> None:
    mcp, ran = MCPServer("steps"), itertools.count()

    @mcp.tool
    def step(ctx: Context) -> str:
        kept = ctx.once("step", lambda: [value, next(ran)])
        ctx.list_roots()
        return json.dumps(kept)

    by = modern(mcp, answer=lambda method, params: {"roots": []})
    assert (by.call_tool("step").text, next(ran)) == (json.dumps([value, 0]), 1)


# --- replay ---------------------------------------------------------------------------------------

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
PLACES = ("hall", "bath", "roof")


def planner(effects: list[str]) -> MCPServer:
    """A tool with three questions at once, two steps, and a loop of questions."""
    mcp = MCPServer("planner")

    def effect(name: str) -> str:
        effects.append(name)
        return f"{name} {len(effects)}"

    @mcp.tool
    def plan(ctx: Context) -> str:
        booked = ctx.once("book", lambda: effect("booked"))
        asked: dict[str, InputRequest] = {
            "who": ElicitForm("Who?", TEXT),
            "why": Sample(messages=[{"role": "user", "content": {"type": "text", "text": "Why?"}}], max_tokens=5),
            "where": ListRoots(),
        }
        first = ctx.ask(asked)
        found = [first["who"].data["text"], first["why"].text, first["where"][0].uri]
        for place in PLACES:
            answer = ctx.elicit(f"What for the {place}?", TEXT, key=f"for {place}")
            found.append(answer.data["text"] if answer.accepted else answer.action)
        paid = ctx.once("pay", lambda: effect("paid"))
        found.append(ctx.elicit(f"Is {found[0]} sure?", SURE).action)
        return "; ".join([booked, paid, *found])

    return mcp


ANSWERS: dict[str, dict[str, Any]] = {
    "who": accept(text="Ann"),
    "why": sampled("fun"),
    "where": {"roots": [{"uri": "file:///home"}]},
    "for hall": accept(text="paint"),
    "for bath": {"action": "decline"},
    "for roof": accept(text="tiles"),
    "elicitation-1": {"action": "cancel"},
}
PLANNED = "booked 1; paid 2; Ann; fun; file:///home; paint; decline; tiles; cancel"


@given(st.data())
@settings(max_examples=40)
def test_every_split_into_rounds_gives_the_same_result(data: st.DataObject) -> None:
    """S26-MRTR-10, S26-MRTR-13: whatever is answered when, each step runs once."""
    effects: list[str] = []
    by, params = modern(planner(effects)), {"name": "plan", "arguments": {}}
    result = by.request("tools/call", params).raw
    for round_ in itertools.count():
        if result["resultType"] == "complete":
            break
        asked = sorted(result["inputRequests"])
        # Late in a conversation something is answered, so that it ends.
        chosen = data.draw(st.sets(st.sampled_from(asked), min_size=min(1, round_ // 3)))
        stray = data.draw(
            st.dictionaries(st.sampled_from(["Who", "elicitation-99", ""]), st.sampled_from([5, None, accept()]))
        )
        empty = data.draw(
            st.dictionaries(st.sampled_from([key for key in asked if key not in chosen] or ["-"]), st.none())
        )
        result = retry(by, "tools/call", params, result, **{**stray, **empty, **{key: ANSWERS[key] for key in chosen}})[
            "result"
        ]
    assert result["content"][0]["text"] == PLANNED
    assert effects == ["booked", "paid"]


def test_the_session_era_comes_to_the_same_result() -> None:
    effects: list[str] = []
    asked = iter(ANSWERS.values())
    by = Client(planner(effects), revision="2025-11-25", answer=lambda method, params: next(asked))
    assert (by.call_tool("plan").text, effects) == (PLANNED, ["booked", "paid"])


def test_a_client_that_goes_back_repeats_what_came_after() -> None:
    """What ``once`` does not promise: a state is what it is, however often it comes."""
    effects: list[str] = []
    by, params = modern(planner(effects)), {"name": "plan", "arguments": {}}
    first = by.request("tools/call", params).raw
    rest = {key: value for key, value in ANSWERS.items() if key != "elicitation-1"}
    for _ in range(2):
        assert "inputRequests" in retry(by, "tools/call", params, first, **rest)["result"]
    assert effects == ["booked", "paid", "paid"]


def moody(asks: Callable[[Context, int], object]) -> MCPServer:
    """A tool, a resource and a prompt that ask differently in each round."""
    mcp, rounds = MCPServer("moody"), itertools.count(1)

    @mcp.tool
    def tool(ctx: Context) -> str:
        return str(asks(ctx, next(rounds)))

    @mcp.resource("mood://now")
    def resource(ctx: Context) -> str:
        return str(asks(ctx, next(rounds)))

    @mcp.prompt
    def prompt(ctx: Context) -> str:
        return str(asks(ctx, next(rounds)))

    return mcp


REQUESTS = pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"name": "tool"}),
        ("resources/read", {"uri": "mood://now"}),
        ("prompts/get", {"name": "prompt"}),
    ],
)


@REQUESTS
def test_a_replay_that_asks_something_else_is_an_error_for_the_developer(
    method: str, params: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    by = modern(moody(lambda ctx, number: ctx.elicit(f"secret {number}?", SURE)))
    first = by.request(method, params).raw
    reply = retry(by, method, params, first, **ANSWER)
    text = str(reply["error"] if method != "tools/call" else reply["result"])
    assert "secret" not in text
    assert "another question" not in text
    assert reply["error"]["code"] == -32603 if "error" in reply else reply["result"]["isError"]
    assert "another question was asked under the key 'elicitation-1'" in str(caplog.records[-1].exc_info)


def test_a_replay_may_ask_less_or_more() -> None:
    by = modern(moody(lambda ctx, number: [ctx.elicit("?", SURE, key=f"{n}").action for n in range(number)]))
    params = {"name": "tool"}
    result = by.request("tools/call", params).raw
    for key in ("0", "1"):
        assert list(result["inputRequests"]) == [key]
        result = retry(by, "tools/call", params, result, **{key: {"action": "decline"}})["result"]
    assert list(result["inputRequests"]) == ["2"]


def asks(ask: Callable[[Context], object]) -> Client:
    mcp = MCPServer("asks")

    @mcp.tool
    def tool(ctx: Context) -> str:
        return str(ask(ctx))

    return modern(mcp)


def test_an_application_that_catches_all_exceptions_still_asks() -> None:
    ended: list[str] = []

    def careless(ctx: Context) -> object:
        try:
            return ctx.elicit("Sure?", SURE).action
        except Exception:  # noqa: BLE001
            return "swallowed"
        finally:
            ended.append("finally")

    by = asks(careless)
    result = by.request("tools/call", {"name": "tool"}).raw
    assert (result["resultType"], ended) == ("input_required", ["finally"])


@pytest.mark.parametrize("malformed", [5, "yes", [accept(sure=True)], True, 1.5])
def test_an_answer_that_is_no_object_is_refused(malformed: Any) -> None:
    """S26-MRTR-12"""
    by = asks(lambda ctx: ctx.elicit("Sure?", SURE).action)
    first = by.request("tools/call", {"name": "tool"}).raw
    error = retry(by, "tools/call", {"name": "tool"}, first, **{"elicitation-1": malformed})["error"]
    assert (error["code"], "elicitation-1" in error["message"]) == (-32602, True)


@pytest.mark.parametrize("malformed", [5, "x", [], True])
def test_answers_that_are_no_object_are_refused(malformed: Any) -> None:
    """S26-MRTR-12"""
    by = asks(lambda ctx: ctx.elicit("Sure?", SURE).action)
    message = by.message("tools/call", {"name": "tool", "inputResponses": malformed})
    assert refusal(by.post(message))["code"] == -32602


def test_an_answer_that_does_not_fit_can_be_given_again() -> None:
    """S26-MRTR-12: the state is still good."""
    by, params = asks(lambda ctx: ctx.elicit("Sure?", SURE).data), {"name": "tool"}
    first = by.request("tools/call", params).raw
    assert retry(by, "tools/call", params, first, **{"elicitation-1": accept(sure="no")})["error"]["code"] == -32602
    assert shown(retry(by, "tools/call", params, first, **ANSWER)) == (False, "{'sure': True}")


def test_a_round_has_a_limit_of_questions() -> None:
    questions: dict[str, InputRequest] = {f"{n}": ListRoots() for n in range(MAX_ROUND_QUESTIONS + 1)}
    by = asks(lambda ctx: ctx.ask(questions))
    assert refusal(by.post(by.message("tools/call", {"name": "tool"})))["code"] == -32603
    del questions["0"]
    assert len(by.request("tools/call", {"name": "tool"}).raw["inputRequests"]) == MAX_ROUND_QUESTIONS


def test_both_forms_go_together() -> None:
    """The state of the explicit form outlives a question of the other one."""

    def mixed(ctx: Context) -> object:
        if ctx.request_state is None:
            raise InputRequired({"roots": ListRoots()}, state={"step": 2})
        return f"{ctx.elicit('Sure?', SURE).action} in step {ctx.request_state['step']}"

    by, params = asks(mixed), {"name": "tool"}
    first = by.request("tools/call", params).raw
    second = retry(by, "tools/call", params, first, roots={"roots": []})["result"]
    assert shown(retry(by, "tools/call", params, second, **ANSWER)) == (False, "accept in step 2")


def test_a_call_without_rounds_opens_nothing() -> None:
    def refuse(identity: str, expires: float) -> bool:
        raise AssertionError("nothing to claim")

    states = States(StateSealer([b"k" * 32], ttl=1.0, clock=time.time), refuse)
    params = {"name": "tool", "requestState": None, "inputResponses": None}
    rounds = Rounds(states, ("a",), params, REVISIONS[MODERN])
    assert (dict(rounds.responses), rounds.state, rounds.ask({})) == ({}, None, {})
