"""Questions over real servers: other people's clients, several processes, many that wait, and some that go away."""

from __future__ import annotations

import json
import os
import random
import re
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from tests.servers.proxy import Cut, Proxy
from tests.servers.raw_session import RawSession, Stream
from tests.servers.running import BOUND, SERVERS, RawConnection, Running, eventually, post, serve, tool_call
from tests.servers.test_serve import serving
from tests.servers.visitors import Seen, Visitor, node, python, python_1, returned

MODERN, NEWEST, SECOND = "2026-07-28", "2025-11-25", "2025-06-18"
SITE = "tests.servers.asking_site:application"
KEY = "a secret of the tests of questions"
#: How a client of the session era is remembered.
KINDS: dict[str, dict[str, Any]] = {"stored": {"sessions": True}, "signed": {"secret_key": KEY}}

#: The server of that name which remembers clients in that way, as it comes.
Shared = Callable[[str, str], Running]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    """Servers of tests that leave no call behind."""
    with ExitStack() as stack:

        @cache
        def start(server: str, kind: str) -> Running:
            return stack.enter_context(serve(server, tmp_path_factory.mktemp(server), app=SITE, **KINDS[kind]))

        yield start


# --- other people's clients -----------------------------------------------------------------------

Answers = list[dict[str, Any]]
#: Has orders paid back, given an URL, the order and the answers for each; answers ``None``: cannot be asked.
Buyer = Callable[[Sequence[tuple[str, str, Answers | None]]], list[Seen]]


def in_mode(visitor: Visitor, mode: str) -> Buyer:
    """A client that is told its mode."""
    return lambda visits: visitor([(url, mode, *others) for url, *others in visits])


#: Those of the session era come first: tests are sorted by where a parameter stands among the others.
BUYERS: dict[str, Buyer] = {
    "python legacy": in_mode(python("python_approvals.py"), "legacy"),
    "typescript legacy": in_mode(node("typescript_approvals.mjs"), "legacy"),
    "python 1": python_1("python_approvals_1.py"),
    "typescript 1": node("typescript_approvals_1.mjs"),
    "python modern": in_mode(python("python_approvals.py"), MODERN),
    "typescript modern": in_mode(node("typescript_approvals.mjs"), MODERN),
}


def accepted(**content: Any) -> dict[str, Any]:
    return {"action": "accept", "content": content}


SMALL = "Case 1: refund order 1001 of 25.00?"
LARGE = ["Case 1: refund order 1002 of 480.00?", "Case 1: 480.00 is a lot. Pay it back?"]
PAY_ALL = accepted(approve=True, amount=480, reason="damaged")
#: Order, what the user answers, what is asked, what the model is told, what was paid back.
REFUNDS: dict[str, tuple[str, Answers, list[str], str, dict[str, float]]] = {
    "one question": (
        "1001",
        [accepted(approve=True, amount=20.5, reason="late")],
        [SMALL],
        "Case 1: 20.50 of order 1001 paid back, reason: late.",
        {"1001": 20.5},
    ),
    "two questions": (
        "1002",
        [PAY_ALL, accepted(sure=True)],
        LARGE,
        "Case 1: 480.00 of order 1002 paid back, reason: damaged.",
        {"1002": 480},
    ),
    "a second thought": ("1002", [PAY_ALL, accepted(sure=False)], LARGE, "Case 1: it was too much.", {}),
    "declined": ("1001", [{"action": "decline"}], [SMALL], "Case 1: nobody approved it (decline).", {}),
}


CUTS = {
    "inside the question": Cut(rb'"method":"elicitation/create"'),
    "behind the question": Cut(rb'"method":"elicitation/create"[^\n]*\n\n'),
    "inside the result": Cut(rb'"result":{"content"'),
}


@dataclass(frozen=True)
class Bought:
    """What one client saw in each case, and the proxy that was to cut its connection."""

    buyer: str
    seen: dict[str, Seen]
    proxies: dict[str, Proxy]


@pytest.fixture(scope="module", params=BUYERS)
def bought(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bought]:
    """All cases of a client, in one process of it: a visit for each, to an application of its own."""
    wanted: dict[str, tuple[str, Answers | None]] = {
        **{case: (order, answers) for case, (order, answers, *_) in REFUNDS.items()},
        "cannot be asked": ("1001", None),
    }
    cuts = {} if "modern" in request.param else CUTS
    wanted |= dict.fromkeys(cuts, wanted["two questions"])
    app = "tests.servers.approvals_site:application"
    with (
        serve("gevent", tmp_path_factory.mktemp("bought"), app=app, copies=len(wanted)) as running,
        ExitStack() as stack,
    ):
        proxies = {cut: stack.enter_context(Proxy(running.port)) for cut in cuts}
        for cut, proxy in proxies.items():
            proxy.arm(CUTS[cut])
        ports = [proxies[case].port if case in proxies else running.port for case in wanted]
        urls = [f"http://127.0.0.1:{port}/{number}/mcp" for number, port in enumerate(ports)]
        seen = BUYERS[request.param]([(url, *what) for url, what in zip(urls, wanted.values(), strict=True)])
        yield Bought(request.param, dict(zip(wanted, seen, strict=True)), proxies)


@pytest.mark.timeout(600)  # the first visit installs its client
@pytest.mark.parametrize("case", REFUNDS)
def test_one_function_gives_every_client_the_same_answer_and_acts_once(bought: Bought, case: str) -> None:
    order, _, asked, text, refunded = REFUNDS[case]
    assert bought.seen[case] == {
        "asked": asked,
        "failed": False,
        "text": text,
        "ledger": {"cases": [order], "refunded": refunded},
    }


@pytest.mark.timeout(600)
@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("bought", [name for name in BUYERS if "modern" not in name], indirect=True)
def test_other_peoples_clients_come_back_to_what_they_were_asked(bought: Bought, cut: str) -> None:
    """T25-HTTP-38."""
    order, _, asked, text, refunded = REFUNDS["two questions"]
    bought.proxies[cut].wait()
    assert bought.seen[cut] == {
        "asked": asked,
        "failed": False,
        "text": text,
        "ledger": {"cases": [order], "refunded": refunded},
    }


@pytest.mark.timeout(600)
def test_a_client_that_cannot_be_asked_is_told_so_and_nothing_happens(bought: Bought) -> None:
    seen = returned(bought.seen["cannot be asked"])
    assert seen["failed"] == (-32021 if "modern" in bought.buyer else True)
    assert "elicitation" in seen["text"]
    assert seen["ledger"] == {"cases": [], "refunded": {}}


ANSWERERS = {"python": python("python_answers.py"), "typescript": node("typescript_answers.mjs")}
MODES = ("legacy", "auto", MODERN)


#: Which server a test uses and how that remembers clients.
ASKING = {"gevent": ("gevent", "stored"), "gthread": ("gthread", "stored"), "signed": ("gthread", "signed")}


@pytest.fixture(scope="module", params=ANSWERERS)
def answered(request: pytest.FixtureRequest, shared: Shared) -> dict[tuple[str, str], Seen]:
    """What a client that answers saw of each server in each of its modes."""
    visits = [(server, mode) for server in ASKING for mode in MODES]
    seen = ANSWERERS[request.param]([(shared(*ASKING[server]).url, mode) for server, mode in visits])
    return dict(zip(visits, seen, strict=True))


@pytest.mark.timeout(600)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("server", ASKING)
def test_whatever_is_asked_other_peoples_clients_answer(
    answered: dict[tuple[str, str], Seen], server: str, mode: str
) -> None:
    seen = returned(answered[server, mode])
    assert seen["text"] == "filled, sampled, file:///home, accept"
    assert (seen["resource"], seen["prompt"]) == ("read: filled", "prompted: filled")
    assert seen["pages"] == ["https://shop.example/pay"]
    assert seen["progress"][-1] == 2


# --- modern rounds --------------------------------------------------------------------------------


ON = accepted(word="on")


def one_round(
    running: Running,
    *,
    state: str | None = None,
    responses: dict[str, Any] | None = None,
    tool: str = "travel",
    **arguments: Any,
) -> tuple[int, dict[str, Any]]:
    """One round of a call on a connection of its own; returns the status and the message."""
    body, headers = tool_call(tool, MODERN, **arguments)
    message = json.loads(body)
    params = message["params"]
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = {"elicitation": {}}
    if state is not None:
        params |= {"requestState": state, "inputResponses": responses}
    status, answer = post(running, json.dumps(message).encode(), headers)
    return status, json.loads(answer)


def asked_by(message: dict[str, Any], key: str) -> list[int]:
    """The processes that ran the rounds so far, as the question under ``key`` names them."""
    text: str = message["result"]["inputRequests"][key]["params"]["message"]
    return [int(pid) for pid in text.removeprefix("Go on from ").removesuffix("?").split(" and ")]


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """Let one worker do nothing, so that it is another one that answers."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def test_each_round_may_be_run_by_another_process(tmp_path: Path) -> None:
    """S26-BASE-20: what a round needs travels with its request."""
    with serve("gevent-2", tmp_path, app=SITE, secret_key=KEY) as running:
        _, first = one_round(running)
        (one,) = asked_by(first, "elicitation-1")
        with stopped(one):
            state = first["result"]["requestState"]
            _, second = one_round(running, state=state, responses={"elicitation-1": ON})
        known, two = asked_by(second, "elicitation-2")
        assert known == one != two
        with stopped(two):
            state = second["result"]["requestState"]
            status, last = one_round(running, state=state, responses={"elicitation-2": ON})
        assert (status, last["result"]["content"][0]["text"]) == (200, f"{one} {two} {one}")
        assert running.log() == ""


def test_without_a_common_key_another_process_refuses_and_the_log_says_why(tmp_path: Path) -> None:
    with serve("gevent-2", tmp_path, app=SITE) as running:
        for _ in range(2):
            _, first = one_round(running)
            (one,) = asked_by(first, "elicitation-1")
            with stopped(one):
                status, refusal = one_round(
                    running, state=first["result"]["requestState"], responses={"elicitation-1": ON}
                )
            assert (status, refusal["error"]["code"]) == (200, -32602)
        # Once in each process that has asked.
        assert 1 <= running.log().count("Set a secret_key that all processes share") <= 2


def test_an_answer_that_is_sent_twice_pays_once(tmp_path: Path) -> None:
    with serve("gevent", tmp_path, app="examples.approvals:application") as running:
        _, first = one_round(running, tool="refund", order="1001")
        again = {
            "state": first["result"]["requestState"],
            "responses": {"elicitation-1": accepted(approve=True, amount=5)},
        }
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: one_round(running, tool="refund", order="1001", **again)[1], range(8)))
        assert sorted("result" in answer for answer in answers) == [False] * 7 + [True]
        assert {answer["error"]["code"] for answer in answers if "error" in answer} == {-32602}
        _, ledger = one_round(running, tool="ledger")
    assert ledger["result"]["structuredContent"] == {"cases": ["1001"], "refunded": {"1001": 5}}


TRAVELLING = """
import os
from mcp_wsgi import Context, MCPServer

mcp = MCPServer("travelling")

@mcp.tool
def travel(ctx: Context) -> str:
    first = ctx.once("first", os.getpid)
    ctx.elicit(f"Go on from {first}?", {"type": "object", "properties": {}})
    return f"{first} {os.getpid()}"

keyless = mcp.wsgi_app()
"""


def test_the_workers_of_the_command_read_each_others_states(tmp_path: Path) -> None:
    with serving(tmp_path, "--workers", "2", text=TRAVELLING) as served:
        port = int(served.url.split(":")[2].split("/")[0])
        running = Running("serve", port, tmp_path, served.process)
        _, first = one_round(running)
        (one,) = asked_by(first, "elicitation-1")
        with stopped(one):
            _, last = one_round(running, state=first["result"]["requestState"], responses={"elicitation-1": ON})
        known, two = last["result"]["content"][0]["text"].split()
        assert int(known) == one != int(two)
    assert served.err == ""


def test_the_command_refuses_workers_without_a_common_key(tmp_path: Path) -> None:
    with serving(tmp_path, "--workers", "2", text=TRAVELLING, target="notes.py:keyless") as served:
        assert served.process.wait(BOUND) == 2
    assert served.out == ""
    assert served.err.startswith("mcp-wsgi: notes.py:keyless has no secret_key")


# --- the session era ------------------------------------------------------------------------------


class Asked(RawSession):
    """A session of a client that can be asked to fill in a form."""

    def post(self, message: dict[str, Any], *, port: int | None = None) -> Stream:
        """Send one message; an ``initialize`` declares what the client can do."""
        if message.get("method") == "initialize":
            message["params"]["capabilities"] = {"elicitation": {}}
        return super().post(message, port=port)

    def answer(self, question: str, word: str) -> None:
        """Answer a question on a connection of its own."""
        response = {"jsonrpc": "2.0", "id": question, "result": accepted(word=word)}
        with self.post(response) as taken:
            assert (taken.status, taken.body()) == (202, None)


def question(stream: Stream) -> tuple[str, str]:
    """The id and the text of the next question."""
    message = next(event.message for event in stream if event.message is not None)
    assert message["method"] == "elicitation/create"
    return message["id"], message["params"]["message"]


def final(stream: Stream) -> str:
    """The text of the result that the stream ends with."""
    (message,) = [event.message for event in stream if event.message is not None]
    assert stream.whole
    text: str = message["result"]["content"][0]["text"]
    return text


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("sessions", "calls"), [(200, 1), (4, 50)])
def test_each_of_200_that_wait_in_one_process_gets_its_own_answer(
    shared: Shared, kind: str, sessions: int, calls: int
) -> None:
    running = shared("gevent", kind)
    with ExitStack() as stack:
        clients = [Asked(running.port, (NEWEST, SECOND)[number % 2]) for number in range(sessions)]
        waiting: list[tuple[Asked, Stream, str, str]] = []
        for client in clients:
            for identity in range(calls):
                name = f"n{len(waiting)}"
                stream = stack.enter_context(client.call("ask", identity=identity, name=name))
                asked, text = question(stream)
                assert text == f"A word for {name}?"
                waiting.append((client, stream, name, asked))
        assert len({asked for *_, asked in waiting}) == 200
        random.Random(5).shuffle(waiting)
        for client, _, name, asked in waiting:
            client.answer(asked, f"word of {name}")
        for _, stream, name, _ in waiting:
            assert final(stream) == f"{name}: word of {name}"


def test_an_answer_that_reaches_another_process_is_taken_for_nothing_and_the_log_warns_of_it(tmp_path: Path) -> None:
    with serve("gevent-2", tmp_path, app=SITE, secret_key=KEY) as running:
        client = Asked(running.port, SECOND)
        with client.call("travel") as stream:
            asked, text = question(stream)
            asker = int(text.removeprefix("Go on from ").removesuffix("?"))
            with stopped(asker):
                client.answer(asked, "lost")
                (other,) = asked_by(one_round(running)[1], "elicitation-1")
            with stopped(other):
                client.answer(asked, "on")
                client.answer(question(stream)[0], "on")
                assert final(stream) == f"{asker} {asker} {asker}"
        assert running.log().count("send all requests of a session to the same one") == 1


# --- more than the threads can wait for -----------------------------------------------------------

CLIENTS_AT_ONCE = 50


def outcome(client: Asked) -> tuple[str, Any]:
    """Call ``ask`` and never answer: ``waits`` and the stream, or ``ended`` and the message."""
    stream = client.call("ask", name=client.id[:8])
    if stream.headers["Content-Type"] == "application/json":
        with stream:
            return "ended", (stream.status, stream.body())
    return "waits", stream


@pytest.mark.parametrize("kind", KINDS)
def test_those_too_many_to_wait_are_refused_at_once_and_the_site_still_answers(shared: Shared, kind: str) -> None:
    running = shared("gthread", kind)
    with ThreadPoolExecutor(CLIENTS_AT_ONCE) as pool, ExitStack() as stack:
        clients = [Asked(running.port, SECOND) for _ in range(CLIENTS_AT_ONCE)]
        outcomes = list(pool.map(outcome, clients))
        streams = [stack.enter_context(what) for how, what in outcomes if how == "waits"]
        refusals = [what for how, what in outcomes if how == "ended"]
        assert len(streams) == 2
        for status, message in refusals:
            assert status == 200
            assert message["error"]["message"] == "Overloaded: 2 calls are waiting for their clients"
        assert {client.text("echo", text="there") for client in clients} == {"there"}
        waiting = [client for client, (how, _) in zip(clients, outcomes, strict=True) if how == "waits"]
        for client, stream in zip(waiting, streams, strict=True):
            client.answer(question(stream)[0], "late")
            assert final(stream) == f"{client.id[:8]}: late"


def in_turn(client: Asked, identity: int, tool: str, **arguments: Any) -> Stream:
    """Make a call that has its turn in its session, as it has no progress token."""
    params = {"name": tool, "arguments": arguments}
    return client.post({"jsonrpc": "2.0", "id": identity, "method": "tools/call", "params": params})


def test_what_would_wait_behind_a_question_holds_no_thread(shared: Shared) -> None:
    """One client with many calls, in the one session that waits, keeps nobody else from being served."""

    def behind(identity: int) -> str:
        with in_turn(client, identity, "echo", text="behind") as answer:
            message: str = answer.body()["error"]["message"]
            return message

    running = shared("gthread", "stored")
    with ThreadPoolExecutor(16) as pool:
        client = Asked(running.port, SECOND)
        with in_turn(client, 1, "ask", name="first") as stream:
            asked, _ = question(stream)
            refused = list(pool.map(behind, range(2, 18)))
            assert set(refused) == {"Overloaded: a call of this session waits for its client"}
            assert Asked(running.port, SECOND).text("echo", text="there") == "there"
            client.answer(asked, "word")
            assert final(stream) == "first: word"
        assert client.text("echo", text="again") == "again"


def test_greenlets_wait_behind_a_question_for_their_turn(shared: Shared) -> None:
    def behind(identity: int) -> str:
        with in_turn(client, identity, "echo", text="behind") as answer:
            text: str = answer.body()["result"]["content"][0]["text"]
            return text

    running = shared("gevent", "stored")
    with ThreadPoolExecutor(16) as pool:
        client = Asked(running.port, SECOND)
        with in_turn(client, 1, "ask", name="first") as stream:
            asked, _ = question(stream)
            waiting = pool.map(behind, range(2, 18))
            client.answer(asked, "word")
            assert final(stream) == "first: word"
        assert set(waiting) == {"behind"}


def test_greenlets_that_wait_leave_room_for_other_calls(tmp_path: Path) -> None:
    with serve("gevent", tmp_path, app=SITE, sessions=True, max_calls=4) as running, ExitStack() as stack:
        clients = [Asked(running.port, SECOND) for _ in range(6)]
        outcomes = [outcome(client) for client in clients]
        for how, what in outcomes:
            if how == "waits":
                stack.enter_context(what)
        assert [how for how, _ in outcomes] == ["waits"] * 2 + ["ended"] * 4
        assert clients[5].text("echo", text="there") == "there"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("server", ["gthread", "gevent"])
def test_nothing_waits_for_ever_and_asking_works_again(tmp_path: Path, server: str, kind: str) -> None:
    def ending(client: Asked) -> str:
        how, what = outcome(client)
        if how == "ended":
            assert what[1]["error"]["message"].startswith("Overloaded")
            return "refused"
        with what:
            asked, _ = question(what)
            cancelled, result = [event.message for event in what if event.message is not None]
        assert what.whole
        assert cancelled["method"] == "notifications/cancelled"
        assert cancelled["params"]["requestId"] == asked
        assert result["result"]["isError"] is True
        assert result["result"]["content"][0]["text"] == "The client did not answer in time"
        return "timed out"

    with (
        serve(server, tmp_path, app=SITE, input_timeout=1, **KINDS[kind]) as running,
        ThreadPoolExecutor(CLIENTS_AT_ONCE) as pool,
    ):
        clients = [Asked(running.port, SECOND) for _ in range(CLIENTS_AT_ONCE)]
        endings = list(pool.map(ending, clients))
        assert endings.count("timed out") >= 2
        assert server == "gthread" or set(endings) == {"timed out"}
        with clients[0].call("ask", identity=2, name="again") as stream:
            clients[0].answer(question(stream)[0], "now")
            assert final(stream) == "again: now"


# --- clients that go away -------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["gevent", "gthread"])
def stored(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server with stored sessions where one call may wait for its client; each test frees that place again."""
    folder = tmp_path_factory.mktemp(request.param)
    with serve(request.param, folder, app=SITE, sessions=True, keepalive=0.1, max_questions=1) as running:
        yield running


@pytest.fixture(scope="module", params=["gevent", "gthread"])
def signed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The same without stored sessions."""
    folder = tmp_path_factory.mktemp(request.param)
    with serve(request.param, folder, app=SITE, secret_key=KEY, keepalive=0.1, max_questions=1) as running:
        yield running


def can_be_asked(client: Asked) -> bool:
    """Whether the one place to wait is free again."""
    how, what = outcome(client)
    if how == "ended":
        return False
    with what:
        client.answer(question(what)[0], "there")
        return final(what) == f"{client.id[:8]}: there"


def test_without_a_stored_session_a_client_that_goes_away_ends_its_call(signed: Running) -> None:
    client = Asked(signed.port, NEWEST)
    with client.call("ask", name="left") as stream:
        asked, _ = question(stream)
    signed.seen("left.over")
    client.answer(asked, "too late")
    eventually(lambda: can_be_asked(client), "the place is not given back")


def test_without_a_stored_session_a_cancel_ends_the_question_though_the_client_stays(signed: Running) -> None:
    """Real clients keep the connection when they cancel."""
    client = Asked(signed.port, SECOND)
    with client.call("ask", name="unwanted") as stream:
        question(stream)
        for identity in (2, "1", True, None):
            client.notify("notifications/cancelled", requestId=identity)
        Asked(signed.port, SECOND).notify("notifications/cancelled", requestId=1)
        assert not can_be_asked(Asked(signed.port, SECOND))
        client.notify("notifications/cancelled", requestId=1)
        signed.seen("unwanted.over")
        ends = [event.message for event in stream if event.message is not None]
        assert stream.whole
    assert all("result" not in message for message in ends)
    assert can_be_asked(client)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", KINDS)
def test_the_typescript_client_ends_its_question_when_it_gives_up(shared: Shared, kind: str) -> None:
    running = shared("gevent", kind)
    (seen,) = node("typescript_impatient.mjs")([(running.url, str(running.folder / "impatient.over"))])
    assert seen == {"failed": True, "over": True}


@pytest.mark.parametrize("revision", [NEWEST, SECOND])
def test_a_question_survives_its_connection(stored: Running, revision: str) -> None:
    client = Asked(stored.port, revision)
    with client.call("ask", name="kept") as stream:
        event = next(event for event in stream if event.message is not None)
    with client.get(event.id) as rest:
        client.answer(event.message["id"], "after all")
        assert final(rest) == "kept: after all"
    assert can_be_asked(Asked(stored.port, revision))


def test_a_question_that_was_lost_with_its_connection_comes_again(stored: Running) -> None:
    client = Asked(stored.port, NEWEST)
    with client.call("ask", name="lost") as stream:
        mark = next(stream)
    assert mark.message is None
    with client.get(mark.id) as rest:
        asked, text = question(rest)
        assert text == "A word for lost?"
        client.answer(asked, "found")
        assert final(rest) == "lost: found"


def test_an_answer_may_come_while_nobody_reads(stored: Running) -> None:
    client = Asked(stored.port, NEWEST)
    with client.call("ask", name="unread") as stream:
        event = next(event for event in stream if event.message is not None)
    client.answer(event.message["id"], "blind")
    stored.seen("unread.over")
    with client.get(event.id) as rest:
        assert final(rest) == "unread: blind"


@pytest.mark.parametrize("how", ["delete", "cancel"])
def test_the_end_of_a_session_or_call_ends_its_question(stored: Running, how: str) -> None:
    client = Asked(stored.port, NEWEST)
    with client.call("ask", name=how) as stream:
        question(stream)
        if how == "delete":
            assert client.delete() == 204
        else:
            client.notify("notifications/cancelled", requestId=1)
        stored.seen(f"{how}.over")
        ends = [event.message for event in stream if event.message is not None]
        assert stream.whole
    assert all("result" not in message for message in ends)
    eventually(lambda: can_be_asked(Asked(stored.port, NEWEST)), "the place is not given back")


def test_a_client_that_never_comes_back_is_waited_for_no_longer_than_agreed(tmp_path: Path) -> None:
    options = {"sessions": True, "keepalive": 0.1, "max_questions": 1, "input_timeout": 1}
    with serve("gthread", tmp_path, app=SITE, **options) as running:
        client = Asked(running.port, NEWEST)
        with client.call("ask", name="gone") as stream:
            event = next(event for event in stream if event.message is not None)
        running.seen("gone.over")
        with client.get(event.id) as rest:
            cancelled, result = [event.message for event in rest if event.message is not None]
        assert cancelled["params"]["requestId"] == event.message["id"]
        assert result["result"]["isError"] is True
        assert can_be_asked(client)


# --- time, and the end of the server --------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("server", ["gevent", "gthread", "waitress"])
def test_the_deadline_of_a_call_stands_still_while_its_client_thinks(tmp_path: Path, server: str, kind: str) -> None:
    options = {"request_timeout": 0.5, "keepalive": 0.1, **KINDS[kind]}
    with serve(server, tmp_path, app=SITE, **options) as running:
        client = Asked(running.port, SECOND)
        body, headers = tool_call("ask", SECOND, name="thinking")
        with RawConnection(running, body, {**headers, "Mcp-Session-Id": client.id}) as connection:
            # So many tenths of a second have passed then.
            connection.read_until(b": keep-alive\n\n", times=15)
            (asked,) = re.findall(rb'"id":"([^"]+)","method":"elicitation/create"', connection.received)
            client.answer(asked.decode(), "at last")
            connection.read_until(b"thinking: at last")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("server", ["sync", "wsgiref"])
def test_a_server_with_one_thread_says_that_it_cannot_ask(tmp_path: Path, server: str, kind: str) -> None:
    with serve(server, tmp_path, app=SITE, **KINDS[kind]) as running:
        how, what = outcome(Asked(running.port, NEWEST))
    assert how == "ended"
    assert what[1]["result"]["isError"] is True
    assert what[1]["result"]["content"][0]["text"].startswith("The client cannot be asked")


@pytest.mark.parametrize(("server", "kind"), [("gevent", "stored"), ("gthread", "signed")])
def test_the_end_of_the_server_ends_its_questions(tmp_path: Path, server: str, kind: str) -> None:
    """The hook gives calls half of gunicorn's two seconds, then tells their clients of the end."""
    command = [*SERVERS[server][:-1], "-c", "python:mcp_wsgi.contrib.gunicorn", "{app}"]
    with (
        patch.dict(SERVERS, {"hooked": command}),
        serve("hooked", tmp_path, app=SITE, **KINDS[kind]) as running,
        Asked(running.port, SECOND).call("ask", name="ended") as stream,
    ):
        question(stream)
        running.process.send_signal(signal.SIGTERM)
        (end,) = [event.message for event in stream if event.message is not None]
        assert stream.whole
        assert (end["id"], end["error"]["code"]) == (1, -32603)
        assert running.process.wait(BOUND) == 0
        running.seen("ended.over")
