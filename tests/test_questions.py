"""Questions of the session era: each answer finds who waits for it, and no wait is for ever."""

from __future__ import annotations

import json
from collections.abc import Iterator
from queue import Queue
from threading import Event, Thread
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi import Cancelled, Context, ElicitForm, ElicitUrl, InputError, ListRoots, MCPServer, UrlElicitationRequired
from mcp_wsgi.errors import Overloaded
from mcp_wsgi.excerpts import MAX_SENTENCE
from mcp_wsgi.questions import Questions
from mcp_wsgi.workers import patched_by_gevent
from tests.asking import LEGACY, SURE, Asked, accept, log_texts, outcome, sampled, shown
from tests.patched import run_patched
from tests.wsgi.peer import NEWEST, OLDEST, SECOND, SOON, Peer, call, note, ping
from tests.wsgi.raw import raw

WORKERS = "greenlets" if patched_by_gevent() else "threads"
REVISIONS = pytest.mark.parametrize("revision", LEGACY)

# --- who waits for what ---------------------------------------------------------------------------

OWNER = ("session", "anna", "")


def test_an_answer_wakes_who_waits_for_it() -> None:
    questions, signal = Questions(1), Event()
    (question,) = questions.ask(1, OWNER, signal)
    assert (question.answered, signal.is_set()) == (False, False)
    assert questions.answer(question.id, OWNER, {"a": 1}, None)
    assert (question.answered, question.result, question.error, signal.is_set()) == (True, {"a": 1}, None, True)


def test_a_question_is_answered_once() -> None:
    questions = Questions(1)
    (question,) = questions.ask(1, OWNER, Event())
    assert [questions.answer(question.id, OWNER, {"n": n}, None) for n in range(2)] == [True, False]
    assert question.result == {"n": 0}


@pytest.mark.parametrize(
    "owner", [("other", "anna", ""), ("session", "bob", ""), ("session", "anna", "/b"), (None, None, "")]
)
def test_nobody_else_answers(owner: tuple[str | None, ...]) -> None:
    questions = Questions(1)
    (question,) = questions.ask(1, OWNER, Event())
    assert not questions.answer(question.id, owner, {}, None)
    assert not question.answered


@pytest.mark.parametrize("identity", ["x", "", 0, 1, None])
def test_an_answer_to_nothing_is_no_answer(identity: Any) -> None:
    questions = Questions(1)
    questions.ask(1, OWNER, Event())
    assert not questions.answer(identity, OWNER, {}, None)


def test_what_is_closed_takes_no_answer() -> None:
    questions = Questions(1)
    asked = questions.ask(3, OWNER, Event())
    questions.answer(asked[0].id, OWNER, {}, None)
    questions.close(asked)
    assert len(questions) == 0
    assert not questions.answer(asked[1].id, OWNER, {}, None)


@given(st.lists(st.integers(0, 5), max_size=20))
def test_so_many_calls_may_wait_whatever_each_asks(counts: list[int]) -> None:
    questions = Questions(len(counts))
    waiting = [questions.ask(count, OWNER, Event()) for count in counts]
    assert len(questions) == sum(counts)
    with pytest.raises(Overloaded, match=f"{len(counts)} calls"):
        questions.ask(1, OWNER, Event())
    for asked in waiting:
        questions.close(asked)
        questions.close(questions.ask(1, OWNER, Event()))
    assert len(questions) == 0


# --- a server that asks ---------------------------------------------------------------------------


class Desk:
    """An application whose tools ask; ``ends`` has how each call of ``confirm`` ended."""

    def __init__(self, **options: Any) -> None:
        self.ends: Queue[str] = Queue()
        self.server = MCPServer("desk")
        self._add_tools()
        limits = {"max_questions": 300, "max_streams": 8}
        self.app = self.server.wsgi_app(**{"sessions": True, "workers": WORKERS, "auth": _user, **limits, **options})

    def _add_tools(self) -> None:
        @self.server.tool
        def confirm(ctx: Context, text: str = "Sure?") -> str:
            try:
                answer = ctx.elicit(text, SURE)
                self.ends.put(answer.action)
            except BaseException as error:
                self.ends.put(type(error).__name__)
                raise
            return f"{answer.action} {answer.data}"

        @self.server.tool
        def patient(ctx: Context) -> str:
            try:
                ctx.elicit("Sure?", SURE)
            except InputError as problem:
                return f"{type(problem).__name__}: {ctx.elicit('Really?', SURE).action}"
            return "at once"

        @self.server.tool
        def several(ctx: Context) -> str:
            answers = ctx.ask({"sure": ElicitForm("Sure?", SURE), "where": ListRoots()})
            return f"{answers['sure'].action} {len(answers['where'])}"

        @self.server.tool
        def page(ctx: Context) -> str:
            answer = ctx.elicit_url("Pay here", "https://pay.example/1")
            return f"{answer.action} {answer.id}"

        @self.server.tool
        def closed() -> str:
            raise UrlElicitationRequired([ElicitUrl("Sign in", "https://pay.example/in", "page 7")])

        @self.server.tool
        def model(ctx: Context) -> str:
            return ctx.sample("Capital of France?", max_tokens=10).text

    def peer(self, revision: str = NEWEST, **entries: Any) -> Asked:
        return Asked(self.app, revision, **entries)

    def end(self) -> str:
        return self.ends.get(timeout=SOON)


def _user(request: Any) -> Any:
    return SimpleNamespace(id=request.headers.get("X-User") or "anna")


@pytest.fixture
def desk() -> Iterator[Desk]:
    made = Desk()
    yield made
    made.app.close(0)


@REVISIONS
@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (accept(sure=True), "accept {'sure': True}"),
        ({"action": "decline"}, "decline None"),
        ({"action": "cancel"}, "cancel None"),
        ({"action": "decline", "content": {"sure": True}}, "decline None"),
    ],
)
def test_the_call_goes_on_with_the_answer(desk: Desk, revision: str, answer: Any, text: str) -> None:
    """S26-ELI-05, T25-HTTP-07: the question comes on the stream of the call, the result after it."""
    peer = desk.peer(revision)
    stream, question = peer.begin("confirm")
    assert (question["method"], question["params"]["message"]) == ("elicitation/create", "Sure?")
    assert (peer.answer(question, answer).status, peer.answer(question, answer).body) == (202, b"")
    assert shown(outcome(stream)) == (False, text)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"error": {"code": -1, "message": "User said no"}}, "The client refused: User said no"),
        ({"error": {"code": -32601, "message": "Unknown"}}, "The client refused: Unknown"),
        ({"error": {"code": -1, "message": "x" * 5000}}, f"The client refused: {'x' * MAX_SENTENCE}..."),
        ({"result": accept(sure="yes")}, "does not fit"),
        ({"result": accept()}, "does not fit"),
        ({"result": {"action": "accept"}}, "does not fit"),
        ({"result": {"action": "maybe"}}, "neither accepts"),
        ({"result": {}}, "neither accepts"),
    ],
)
def test_an_answer_of_no_use_is_told_to_the_model(desk: Desk, said: dict[str, Any], words: str) -> None:
    """T25-SMP-01, S26-ELI-07"""
    peer = desk.peer()
    stream, question = peer.begin("confirm")
    assert peer.answer(question, **said).status == 202
    failed, text = shown(outcome(stream))
    assert (failed, words in text) == (True, True)


def test_a_tool_may_go_on_without_an_answer(desk: Desk) -> None:
    peer = desk.peer()
    stream, question = peer.begin("patient")
    peer.answer(question, error={"code": -1, "message": "no"})
    peer.answer(stream.message(), {"action": "cancel"})
    assert shown(outcome(stream)) == (False, "InputRefused: cancel")


def test_what_is_asked_together_is_answered_in_any_order(desk: Desk) -> None:
    """T25-BASE-02"""
    peer = desk.peer()
    stream, first = peer.begin("several")
    second = stream.message()
    assert first["id"] != second["id"]
    assert [each["method"] for each in (first, second)] == ["elicitation/create", "roots/list"]
    peer.answer(second, {"roots": [{"uri": "file:///a"}]})
    peer.answer(first, {"action": "decline"})
    assert shown(outcome(stream)) == (False, "decline 1")


# --- answers that are none of ours ----------------------------------------------------------------


def test_only_the_first_answer_counts(desk: Desk) -> None:
    peer = desk.peer()
    stream, question = peer.begin("confirm")
    peer.answer(question, {"action": "decline"})
    assert peer.answer(question, accept(sure=True)).status == 202
    assert shown(outcome(stream)) == (False, "decline None")


@pytest.mark.parametrize("who", ["unknown id", "number", "other session", "other principal", "no session"])
def test_a_stray_answer_is_accepted_and_does_nothing(desk: Desk, who: str) -> None:
    """S26-ELI-08, T25-ELI-06: not even with the right id."""
    peer, other, bob = desk.peer(), desk.peer(), desk.peer(HTTP_X_USER="bob")
    stream, question = peer.begin("confirm")
    reply = accept(sure=True)
    statuses = {
        "unknown id": lambda: peer.answer("x", reply).status,
        "number": lambda: peer.post({"jsonrpc": "2.0", "id": 1, "result": reply}).status,
        "other session": lambda: other.answer(question, reply).status,
        "other principal": lambda: bob.answer(question, reply).status,
        "no session": lambda: other.answer(question, reply, HTTP_MCP_SESSION_ID=None).status,
    }
    assert statuses[who]() == (400 if who == "no session" else 202)
    peer.answer(question, {"action": "decline"})
    assert shown(outcome(stream)) == (False, "decline None")


def test_another_user_is_not_in_the_session(desk: Desk) -> None:
    """T25-ELI-06: whoever has its id and the question's."""
    peer = desk.peer()
    stream, question = peer.begin("confirm")
    assert peer.answer(question, accept(sure=True), HTTP_X_USER="bob").status == 404
    peer.answer(question, {"action": "decline"})
    assert shown(outcome(stream)) == (False, "decline None")


def test_each_of_many_gets_its_own_answer(desk: Desk) -> None:
    peers = [desk.peer() for _ in range(50)]
    waiting = [peer.begin("confirm", text=f"{number}?") for number, peer in enumerate(peers)]
    for number, (peer, (_, question)) in reversed([*enumerate(zip(peers, waiting, strict=True))]):
        assert question["params"]["message"] == f"{number}?"
        peer.answer(question, accept(sure=number % 2 == 0))
    for number, (stream, _) in enumerate(waiting):
        assert shown(outcome(stream)) == (False, f"accept {{'sure': {number % 2 == 0}}}")


def test_ids_are_never_used_again(desk: Desk) -> None:
    """T25-BASE-02: nor can they be guessed from one another."""
    peer, ids = desk.peer(), set()
    for number in range(100):
        stream, question = peer.begin("confirm", number)
        ids.add(question["id"])
        peer.answer(question, {"action": "decline"})
        outcome(stream)
    assert len(ids) == len({identity[:8] for identity in ids}) == 100
    assert min(map(len, ids)) >= 22  # 128 bits in an alphabet of 64


# --- time -----------------------------------------------------------------------------------------


@REVISIONS
def test_silence_ends_the_wait_and_the_client_is_told(revision: str) -> None:
    """T25-LIFE-05, S26-ELI-05: an answer that comes later does nothing."""
    desk = Desk(input_timeout=0.2)
    peer = desk.peer(revision)
    stream, question = peer.begin("confirm")
    told, last = stream.messages()
    assert (told["method"], told["params"]["requestId"]) == ("notifications/cancelled", question["id"])
    assert shown(last) == (True, "The client did not answer in time")
    assert peer.answer(question, accept(sure=True)).status == 202


def test_only_what_has_no_answer_is_withdrawn() -> None:
    desk = Desk(input_timeout=0.3)
    peer = desk.peer()
    stream, first = peer.begin("several")
    second = stream.message()
    peer.answer(first, {"action": "decline"})
    told, last = stream.messages()
    assert told["params"]["requestId"] == second["id"]
    assert shown(last)[0]


@REVISIONS
def test_waiting_does_not_count_against_the_deadline(revision: str) -> None:
    """T25-LIFE-06: which begins anew with the answer."""
    desk = Desk(request_timeout=0.6, keepalive=0.1)
    peer = desk.peer(revision)
    stream, question = peer.begin("confirm")
    for _ in range(8):
        assert next(stream._chunks).startswith(b":")
    peer.answer(question, {"action": "cancel"})
    assert shown(outcome(stream)) == (False, "cancel None")


def test_the_deadline_is_back_after_the_answer() -> None:
    """T25-LIFE-06"""
    desk, gate = Desk(request_timeout=1.0, keepalive=0.2), Event()

    @desk.server.tool
    def stuck(ctx: Context) -> str:
        ctx.elicit("Sure?", SURE)
        gate.wait(SOON)
        return "late"

    peer = desk.peer()
    stream, question = peer.begin("stuck")
    peer.answer(question, {"action": "cancel"})
    assert "too long" in outcome(stream)["error"]["message"]
    gate.set()


# --- calls that end while they wait ---------------------------------------------------------------


@REVISIONS
def test_a_cancelled_call_waits_no_more(desk: Desk, revision: str) -> None:
    peer = desk.peer(revision)
    stream, question = peer.begin("confirm")
    assert peer.cancel(1).status == 202
    assert (stream.messages(), desk.end()) == ([], Cancelled.__name__)
    assert peer.answer(question, accept(sure=True)).status == 202
    assert peer.post(ping()).status == 200


def test_the_end_of_the_session_ends_the_wait(desk: Desk) -> None:
    peer = desk.peer()
    stream, question = peer.begin("confirm")
    assert peer.delete().status == 204
    assert [message["error"]["code"] for message in stream.messages()] == [-32603]
    assert desk.end() == Cancelled.__name__
    assert peer.answer(question, accept(sure=True)).status == 404


def test_the_end_of_the_application_ends_the_wait(desk: Desk) -> None:
    peer = desk.peer()
    stream, _ = peer.begin("confirm")
    desk.app.close(0)
    assert [message["error"]["code"] for message in stream.messages()] == [-32603]
    assert desk.end() == Cancelled.__name__


def test_a_broken_connection_is_resumed_while_the_call_waits(desk: Desk) -> None:
    """T25-HTTP-17: the question comes again to a client that has not got it, and so does the result."""
    peer = desk.peer()
    stream = peer.streamed(call("confirm"))
    mark = next(stream)
    stream.close()
    with peer.get(after=mark.id) as resumed:
        question = resumed.message()
    peer.answer(question, {"action": "decline"})
    assert desk.end() == "decline"
    with peer.get(after=mark.id) as again:
        assert [message["id"] for message in again.messages()] == [question["id"], 1]


@pytest.mark.parametrize("revision", [SECOND, NEWEST])
def test_an_answer_comes_though_nobody_reads(desk: Desk, revision: str) -> None:
    peer = desk.peer(revision)
    stream, question = peer.begin("confirm")
    stream.close()
    peer.answer(question, {"action": "decline"})
    assert desk.end() == "decline"


# --- where nobody can be asked --------------------------------------------------------------------


def test_more_calls_than_may_wait_are_refused() -> None:
    desk = Desk(max_questions=1)
    first, second = desk.peer(), desk.peer()
    stream, question = first.begin("confirm")
    error = json.loads(second.post(call("confirm")).body)["error"]
    assert (error["code"], "1 calls are waiting" in error["message"]) == (-32603, True)
    first.answer(question, {"action": "decline"})
    outcome(stream)
    stream, question = second.begin("confirm")
    second.answer(question, {"action": "cancel"})
    assert shown(outcome(stream)) == (False, "cancel None")


def test_none_may_wait_where_the_limit_is_zero() -> None:
    assert json.loads(Desk(max_questions=0).peer().post(call("confirm")).body)["error"]["code"] == -32603


def test_a_client_that_takes_no_stream_cannot_be_asked(desk: Desk) -> None:
    got = desk.peer().post(call("confirm"), HTTP_ACCEPT="application/json")
    failed, text = shown(json.loads(got.body))
    assert (failed, "cannot be asked: it takes no stream" in text) == (True, True)


def test_a_server_with_one_thread_cannot_ask() -> None:
    desk = Desk(workers="threads")
    peer = desk.peer(wsgi__multithread=False)
    failed, text = shown(json.loads(peer.post(call("confirm")).body))
    assert (failed, "this server cannot hold one" in text) == (True, True)
    assert peer.post(ping()).status == 200


@pytest.mark.parametrize("version", [OLDEST, SECOND, NEWEST])
def test_a_client_that_is_not_remembered_cannot_be_asked(version: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "mcp_wsgi")
    desk = Desk(sessions=False)
    got = raw(
        desk.app, call("confirm"), HTTP_MCP_PROTOCOL_VERSION=version, HTTP_ACCEPT="application/json, text/event-stream"
    )
    failed, text = shown(json.loads(got.body))
    assert (failed, "has not declared elicitation" in text) == (True, True)
    assert version == OLDEST or "sessions=True" in log_texts(caplog)


@REVISIONS
def test_a_signed_session_is_enough(revision: str) -> None:
    desk = Desk(sessions="auto", secret_key=["k" * 32])
    peer, other = desk.peer(revision), desk.peer(revision, HTTP_X_USER="bob")
    stream, question = peer.begin("confirm")
    other.answer(question, accept(sure=True))
    peer.answer(question, {"action": "decline"})
    assert shown(outcome(stream)) == (False, "decline None")


def test_without_a_stored_session_the_wait_ends_with_the_connection() -> None:
    desk = Desk(sessions="auto", secret_key=["k" * 32])
    stream, _ = desk.peer().begin("confirm")
    stream.close()
    assert desk.end() == Cancelled.__name__


# --- pages to open --------------------------------------------------------------------------------


def test_a_page_has_an_id_and_its_end_is_told_to_who_asked(desk: Desk) -> None:
    """T25-ELI-03, T25-ELI-05"""
    peer, other = desk.peer(), desk.peer()
    stream, question = peer.begin("page")
    name = question["params"].pop("elicitationId")
    assert question["params"] == {"mode": "url", "message": "Pay here", "url": "https://pay.example/1"}
    peer.answer(question, {"action": "accept"})
    assert shown(outcome(stream)) == (False, f"accept {name}")
    with peer.get() as own, other.get() as foreign:
        assert desk.app.elicitation_complete(name) == 1
        desk.app.log(str(other.session), "error", "after")
        assert own.message() == _completed(name)
        assert foreign.message()["method"] == "notifications/message"
        assert desk.app.elicitation_complete(name) == 0


def _completed(name: str) -> dict[str, Any]:
    method = "notifications/elicitation/complete"
    return {"jsonrpc": "2.0", "method": method, "params": {"elicitationId": name}}


def test_a_page_may_be_through_before_the_answer(desk: Desk) -> None:
    """T25-ELI-05"""
    peer = desk.peer()
    stream, question = peer.begin("page")
    assert desk.app.elicitation_complete(question["params"]["elicitationId"]) == 1
    peer.answer(question, {"action": "accept"})
    outcome(stream)


def test_a_call_can_be_refused_until_a_page_was_opened(desk: Desk) -> None:
    """T25-ELI-04, T25-ELI-05: with an error of its own, and its end is told, too."""
    peer = desk.peer()
    error = json.loads(peer.post(call("closed")).body)["error"]
    page = {"mode": "url", "message": "Sign in", "url": "https://pay.example/in", "elicitationId": "page 7"}
    assert (error["code"], error["data"]) == (-32042, {"elicitations": [page]})
    with peer.get() as own:
        assert desk.app.elicitation_complete("page 7") == 1
        assert own.message() == _completed("page 7")


@pytest.mark.parametrize(
    ("revision", "capabilities"),
    [(NEWEST, {"elicitation": {}}), (NEWEST, {}), (SECOND, {"elicitation": {}}), (OLDEST, {})],
)
@pytest.mark.parametrize("tool", ["page", "closed"])
def test_who_cannot_open_pages_is_not_asked_to(desk: Desk, revision: str, capabilities: Any, tool: str) -> None:
    """S26-ELI-01, T25-ELI-02, T25-ELI-04: the model is told so."""
    peer = desk.peer(revision, capabilities=capabilities)
    failed, text = shown(json.loads(peer.post(call(tool)).body))
    assert (failed, "The client cannot be asked" in text) == (True, True)


def test_a_revision_without_pages_says_so_even_if_the_client_claims_them(desk: Desk) -> None:
    """T25-ELI-02"""
    for tool in ("page", "closed"):
        failed, text = shown(json.loads(desk.peer(SECOND).post(call(tool)).body))
        assert (failed, "2025-06-18 has forms only" in text) == (True, True)


def test_nobody_is_told_where_there_are_no_sessions() -> None:
    assert Desk(sessions=False).app.elicitation_complete("x") == 0


# --- what the revisions have ----------------------------------------------------------------------


def test_the_oldest_revision_is_never_asked_to_fill_in_a_form(desk: Desk) -> None:
    """T25-ELI-01: whatever the client declares. A model it has."""
    peer = desk.peer(OLDEST)
    failed, text = shown(json.loads(peer.post(call("confirm")).body))
    assert (failed, "has not declared elicitation" in text) == (True, True)
    stream, question = peer.begin("model", 2)
    peer.answer(question, sampled())
    assert shown(outcome(stream)) == (False, "Paris")


def test_a_call_in_a_batch_may_ask(desk: Desk) -> None:
    peer = desk.peer(OLDEST)
    stream = peer.streamed([call("model", 1), call("model", 2)])
    for _ in range(2):
        question = stream.message()
        peer.post([{"jsonrpc": "2.0", "id": question["id"], "result": sampled()}, note("x")])
    (answers,) = stream.messages()
    assert [shown(answer) for answer in answers] == [(False, "Paris")] * 2


def test_a_client_that_declared_nothing_is_told_of_in_band(desk: Desk) -> None:
    """T25-ELI-01, T25-SMP-01"""
    peer = Peer(desk.app)
    for tool, name in (("confirm", "elicitation"), ("model", "sampling"), ("several", "elicitation")):
        failed, text = shown(json.loads(peer.post(call(tool)).body))
        assert (failed, f"has not declared {name}" in text) == (True, True)


def test_two_threads_of_a_tool_may_ask_at_once() -> None:
    desk = Desk(request_timeout=0.6, keepalive=0.1)
    got: Queue[str] = Queue()

    @desk.server.tool
    def pair(ctx: Context) -> str:
        threads = [Thread(target=lambda key=key: got.put(ctx.elicit(key, SURE, key=key).action)) for key in "ab"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SOON)
        return "+".join(sorted(got.get_nowait() for _ in threads))

    peer = desk.peer()
    stream, first = peer.begin("pair")
    second = stream.message()
    peer.answer(first, {"action": "decline"})
    for _ in range(8):
        assert next(stream._chunks).startswith(b":")
    peer.answer(second, {"action": "cancel"})
    assert shown(outcome(stream)) == (False, "cancel+decline")


@pytest.mark.parametrize(
    "said", [{"result": 5}, {"result": None}, {"error": "no"}, {"error": {"code": -1}}, {"result": {}, "error": {}}, {}]
)
def test_what_is_no_response_is_refused_and_the_question_stays_open(desk: Desk, said: dict[str, Any]) -> None:
    peer = desk.peer()
    stream, question = peer.begin("confirm")
    assert peer.post({"jsonrpc": "2.0", "id": question["id"], **said}).status == 400
    peer.answer(question, {"action": "decline"})
    assert shown(outcome(stream)) == (False, "decline None")


if not patched_by_gevent():

    def test_the_same_under_gevent() -> None:
        run_patched("tests/test_questions.py")
