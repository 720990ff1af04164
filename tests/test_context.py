"""What a callback can see and do: progress that only grows, logs that were asked for, the forwarding handler."""

from __future__ import annotations

import itertools
import json
import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from contextvars import copy_context
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wsgi.content import Message
from mcp_wsgi.context import LEVELS, SILENCE, Call, ClientInfo, Context, ContextLogHandler, current_context, enter
from mcp_wsgi.errors import Cancelled, InputError, MissingCapability
from mcp_wsgi.inputs import ElicitForm, ElicitResult, ElicitUrl, ListRoots, Root
from mcp_wsgi.revisions import MODERN, REVISIONS
from mcp_wsgi.schema import OutputError
from tests.asking import ALL, SURE, accept, sampled

REVISION = MODERN[0]


class Sink:
    """Keeps what is emitted; ``room`` decides, report by report, whether the rate limit lets it through."""

    def __init__(self, room: Iterable[bool] = ()) -> None:
        self.cancelled = False
        self.order: AbstractContextManager[Any] = threading.Lock()
        self.sent: list[dict[str, Any]] = []
        self.room = iter(room)

    def emit(self, message: bytes) -> None:
        if self.cancelled:
            raise Cancelled
        self.sent.append(json.loads(message))

    def allow_progress(self) -> bool:
        return next(self.room, True)

    def close_stream(self) -> bool:
        return False

    def ask(self, owner: tuple[str | None, ...], requests: Sequence[tuple[str, dict[str, Any]]]) -> list[Any]:
        raise InputError("nobody is there")

    @property
    def params(self) -> list[Any]:
        return [message["params"] for message in self.sent]

    @property
    def steps(self) -> list[Any]:
        return [params["progress"] for params in self.params]


def context(sink: Sink, *, token: str | int | None = "t", level: str | None = None) -> Context:
    return Context(Call("tools/call", {}, 1, REVISION, progress_token=token, log_level=level), sink)


# --- what can be seen -----------------------------------------------------------------------------


def test_shows_the_call_it_serves() -> None:
    client = ClientInfo({"name": "c", "version": "2"}, {"roots": {}})
    meta, headers, environ, user = {"a": 1}, {"Accept": "*/*"}, {"k": "v"}, object()
    call = Call("m", {}, "id", REVISION, meta, client, user, headers=headers, environ=environ)
    ctx = Context(call, Sink(), {"seen": 1})
    assert (ctx.request_id, ctx.method, ctx.revision, ctx.principal) == ("id", "m", REVISION, user)
    assert (ctx.client.name, ctx.client.version, ctx.client.capabilities) == ("c", "2", {"roots": {}})
    assert (ctx.meta, ctx.headers, ctx.environ, ctx.state) == (meta, headers, environ, {"seen": 1})


def test_what_the_client_leaves_unsaid_is_empty() -> None:
    """S26-BASE-15."""
    ctx = Context(Call("m", {}, 1, REVISION), Sink())
    assert (ctx.client.name, ctx.client.version, ctx.client.info, ctx.client.capabilities) == (None, None, {}, {})
    assert (ctx.principal, ctx.meta, ctx.headers, ctx.environ, ctx.state) == (None, {}, {}, {}, {})


def test_the_state_is_the_very_dict_that_was_given() -> None:
    state: dict[str, Any] = {}
    Context(Call("m", {}, 1, REVISION), Sink(), state).state["k"] = 1
    assert state == {"k": 1}


def test_two_calls_share_no_state() -> None:
    """S26-BASE-18."""
    first, second = context(Sink()), context(Sink())
    first.state["k"] = 1
    assert second.state == {}


def test_cancelling_ends_the_callback_at_whatever_it_asks_of_the_context_next() -> None:
    """S26-CAN-02, T25-CAN-02: also where the client wants neither progress nor logs."""
    sink = Sink()
    ctx = context(sink, token=None)
    ctx.raise_if_cancelled()
    before, sink.cancelled = ctx.cancelled, True
    assert (before, ctx.cancelled) == (False, True)
    calls: list[Callable[[], object]] = [
        ctx.raise_if_cancelled,
        lambda: ctx.report_progress(1),
        lambda: ctx.log("debug", "x"),
        lambda: next(ctx.track([1])),
    ]
    for call in calls:
        with pytest.raises(Cancelled):
            call()


# --- progress -------------------------------------------------------------------------------------


@pytest.mark.parametrize("token", ["t", "", 0, 7, 2**60])
def test_progress_goes_to_the_token_of_the_request(token: str | int) -> None:
    """S26-PROG-02, T25-PROG-01: echoed as given; 0 and the empty string are tokens."""
    sink = Sink()
    context(sink, token=token).report_progress(0.5, 2, "half way")
    assert sink.sent == [
        {
            "jsonrpc": "2.0",
            "method": "notifications/progress",
            "params": {"progressToken": token, "progress": 0.5, "total": 2, "message": "half way"},
        }
    ]


def test_no_progress_without_a_token() -> None:
    """S26-PROG-01."""
    sink = Sink()
    ctx = context(sink, token=None)
    ctx.report_progress(1)
    ctx.flush()
    assert list(ctx.track("ab")) == ["a", "b"]
    assert sink.sent == []


@given(st.lists(st.integers(-5, 5) | st.floats(-5, 5)), st.lists(st.booleans()))
def test_progress_strictly_increases_and_its_highest_value_arrives(steps: list[float], room: list[bool]) -> None:
    """S26-PROG-03, S26-PROG-04: whatever is reported, and whatever the rate limit holds back."""
    sink = Sink(room)
    ctx = context(sink)
    for step in steps:
        ctx.report_progress(step)
    ctx.flush()
    assert all(before < after for before, after in zip(sink.steps, sink.steps[1:], strict=False))
    assert sink.steps[-1:] == ([max(steps)] if steps else [])
    assert set(sink.steps) <= set(steps)


def test_progress_held_back_is_sent_once_at_the_end_or_made_stale_by_a_newer_one() -> None:
    """S26-PROG-04."""
    sink = Sink([True, False, False, True, False])
    ctx = context(sink)
    for step in range(5):
        ctx.report_progress(step)
    assert sink.steps == [0, 3]
    ctx.flush()
    ctx.flush()
    assert sink.steps == [0, 3, 4]


def test_nothing_held_back_goes_to_a_client_that_has_gone() -> None:
    """S26-HTTP-13."""
    sink = Sink([False])
    ctx = context(sink)
    ctx.report_progress(1)
    sink.cancelled = True
    ctx.flush()
    assert sink.sent == []


class Overtaken:
    """A lock that another thread of the callback is faster to take."""

    def __init__(self, other: Callable[[], object]) -> None:
        self.others = [other]

    def __enter__(self) -> None:
        if self.others:
            self.others.pop()()

    def __exit__(self, *exc_info: object) -> None:
        pass


@pytest.mark.parametrize(("first", "sent"), [(1, [2]), (2, [2]), (3, [2, 3])])
def test_progress_of_several_threads_keeps_its_order(first: int, sent: list[int]) -> None:
    """S26-PROG-03: the check counts that is made with the others held off."""
    sink = Sink()
    ctx = context(sink)
    sink.order = Overtaken(lambda: ctx.report_progress(2))
    ctx.report_progress(first)
    assert sink.steps == sent


def test_two_threads_that_flush_send_once() -> None:
    sink = Sink([False])
    ctx = context(sink)
    ctx.report_progress(1)
    sink.order = Overtaken(ctx.flush)
    ctx.flush()
    assert sink.steps == [1]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), 10**400, Decimal("NaN")])
def test_a_number_that_is_not_finite_is_refused(value: Any) -> None:
    """S26-PROG-03: also where nobody listens, so that it shows before somebody does."""
    for token in ("t", None):
        ctx = context(Sink(), token=token)
        with pytest.raises(ValueError, match="finite"):
            ctx.report_progress(value)
        with pytest.raises(ValueError, match="finite"):
            ctx.report_progress(1, value)


@pytest.mark.parametrize(
    ("value", "sent"), [(Decimal("0.5"), 0.5), (Fraction(1, 4), 0.25), (True, 1.0), (2**60, 2**60)]
)
def test_any_real_number_is_sent_as_a_json_number(value: Any, sent: float) -> None:
    sink = Sink()
    context(sink).report_progress(value, value)
    assert sink.params[0]["progress"] == sink.params[0]["total"] == sent
    assert type(sink.params[0]["progress"]) is type(sent)


def test_a_report_that_fails_counts_for_nothing() -> None:
    sink = Sink()
    ctx = context(sink)
    with pytest.raises(TypeError):
        ctx.report_progress("5")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="surrogates"):
        ctx.report_progress(5, message="\ud800")
    ctx.report_progress(1)
    assert sink.steps == [1]


def test_track_reports_after_each_item() -> None:
    sink = Sink()
    assert list(context(sink).track("abc", message="rows")) == ["a", "b", "c"]
    assert sink.params == [
        {"progressToken": "t", "progress": done, "total": 3, "message": "rows"} for done in (1, 2, 3)
    ]


@pytest.mark.parametrize(("items", "total", "sent"), [(iter("ab"), None, None), (iter("ab"), 2, 2), ("ab", 9, 9)])
def test_track_knows_the_total_where_there_is_one(items: Any, total: float | None, sent: float | None) -> None:
    sink = Sink()
    assert list(context(sink).track(items, total)) == ["a", "b"]
    assert [params.get("total") for params in sink.params] == [sent, sent]


def test_track_stops_before_the_next_item_when_cancelled() -> None:
    """S26-CAN-02."""
    sink = Sink()
    tracked = context(sink, token=None).track(iter(range(5)))
    assert [next(tracked), next(tracked)] == [0, 1]
    sink.cancelled = True
    with pytest.raises(Cancelled):
        next(tracked)


# --- logs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("threshold", [None, *LEVELS])
@pytest.mark.parametrize("level", LEVELS)
def test_logs_from_the_level_asked_for_upwards(threshold: str | None, level: str) -> None:
    """S26-LOG-02, S26-LOG-03, T25-LOG-01: nothing below the level, nothing at all unasked."""
    sink = Sink()
    ctx = context(sink, level=threshold)
    due = threshold is not None and LEVELS.index(level) >= LEVELS.index(threshold)
    assert ctx.wants(level) == due
    ctx.log(level, "x")
    assert bool(sink.sent) == due


@pytest.mark.parametrize("level", LEVELS)
def test_each_level_has_its_method(level: str) -> None:
    """T25-LOG-03."""
    sink = Sink()
    getattr(context(sink, level="debug"), level)({"rows": [1, None]}, "shop")
    assert sink.sent == [
        {
            "jsonrpc": "2.0",
            "method": "notifications/message",
            "params": {"level": level, "data": {"rows": [1, None]}, "logger": "shop"},
        }
    ]


def test_a_log_message_needs_no_logger() -> None:
    sink = Sink()
    context(sink, level="info").info(None)
    assert sink.params == [{"level": "info", "data": None}]


@pytest.mark.parametrize("level", ["trace", "INFO", ""])
def test_an_unknown_level_is_refused_by_name(level: str) -> None:
    ctx = context(Sink())
    for call in (ctx.wants, lambda level: ctx.log(level, "x")):
        with pytest.raises(ValueError, match=f"unknown log level '{level}'.*emergency"):
            call(level)


@pytest.mark.parametrize("data", [float("nan"), object(), "\ud800", [float("inf")]])
@pytest.mark.parametrize("level", [None, "debug"])
def test_data_without_a_json_form_is_refused_whoever_listens(data: Any, level: str | None) -> None:
    sink = Sink()
    with pytest.raises(OutputError):
        context(sink, level=level).info(data)
    assert sink.sent == []


# --- the handler of the logging module ------------------------------------------------------------


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    """A logger of the application's own, with the handler on it."""
    logger = logging.getLogger("test_context.shop")
    logger.setLevel(1)
    handler = ContextLogHandler()
    logger.addHandler(handler)
    yield logger
    logger.removeHandler(handler)


def record(text: str, *args: object, name: str = "shop") -> logging.LogRecord:
    return logging.LogRecord(name, logging.ERROR, "", 0, text, args, None)


def during(ctx: Context, work: Callable[[], object]) -> None:
    """Run ``work`` as a worker does: in a copy of the context in which ``ctx`` is current."""

    def run() -> None:
        enter(ctx)
        work()

    copy_context().run(run)


@pytest.mark.parametrize(
    ("levelno", "level"),
    [
        *((number, "debug") for number in (1, 10, 19)),
        *((number, "info") for number in (20, 29)),
        *((number, "warning") for number in (30, 39)),
        *((number, "error") for number in (40, 49)),
        *((number, "critical") for number in (50, 99)),
    ],
)
def test_a_record_made_during_a_call_goes_to_its_client(logger: logging.Logger, levelno: int, level: str) -> None:
    """T25-LOG-03: at the level of the protocol that fits."""
    sink = Sink()
    during(context(sink, level="debug"), lambda: logger.log(levelno, "%d rows", 3))
    assert sink.params == [{"level": level, "data": "3 rows", "logger": "test_context.shop"}]


def test_records_below_the_client_s_level_stay(logger: logging.Logger) -> None:
    """S26-LOG-03."""
    sink = Sink()
    for level in ("critical", "error", None):
        during(context(sink, level=level), lambda level=level: logger.error("asked for %s", level))  # type: ignore[misc]
    assert [params["data"] for params in sink.params] == ["asked for error"]


def test_each_record_goes_to_its_own_call_and_to_none_outside(logger: logging.Logger) -> None:
    """S26-HTTP-07, S26-LOG-03."""
    sinks = Sink(), Sink()
    for number, sink in enumerate(sinks):
        during(context(sink, level="info"), lambda number=number: logger.info("call %d", number))  # type: ignore[misc]
    logger.info("between the calls")
    assert [[params["data"] for params in sink.params] for sink in sinks] == [["call 0"], ["call 1"]]
    assert current_context() is None


def test_a_traceback_stays_at_home(logger: logging.Logger) -> None:
    """S26-LOG-05."""
    sink = Sink()

    def work() -> None:
        logger.error("failed", exc_info=ValueError("secret"))

    during(context(sink, level="debug"), work)
    assert [params["data"] for params in sink.params] == ["failed"]


def test_lone_surrogates_are_replaced(logger: logging.Logger) -> None:
    """S26-BASE-01: file names of unknown encoding have them."""
    sink = Sink()
    odd = logger.getChild("\udcffx")
    during(context(sink, level="debug"), lambda: odd.info("read %s", "a\udc80b"))
    assert sink.params == [{"level": "info", "data": "read a?b", "logger": "test_context.shop.?x"}]


def test_a_record_that_cannot_be_formatted_is_reported_to_the_developer(capsys: pytest.CaptureFixture[str]) -> None:
    """The call goes on."""
    sink, handler = Sink(), ContextLogHandler()
    during(context(sink, level="debug"), lambda: handler.handle(record("%d", "three")))
    assert sink.sent == []
    assert "--- Logging error ---" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "sent"), [("mcp_wsgi", 0), ("mcp_wsgi.child", 0), ("mcp_wsgi_shop", 1), ("root", 1)])
def test_records_of_this_package_are_left_alone(name: str, sent: int) -> None:
    """S26-LOG-05: they tell what clients must not read, and to send them could make more of them."""
    sink, handler = Sink(), ContextLogHandler()
    during(context(sink, level="debug"), lambda: handler.handle(record("x", name=name)))
    assert len(sink.sent) == sent


def test_logging_in_a_cancelled_call_says_nothing_and_raises_nothing(logger: logging.Logger) -> None:
    """S26-HTTP-13."""
    sink = Sink()
    ctx = context(sink, level="debug")
    sink.cancelled = True
    during(ctx, lambda: logger.error("late"))
    assert sink.sent == []


def test_a_call_that_is_cancelled_while_it_logs_ends_there(logger: logging.Logger) -> None:
    """S26-CAN-02."""

    class Closing(Sink):
        def emit(self, message: bytes) -> None:
            raise Cancelled

    with pytest.raises(Cancelled):
        during(context(Closing(), level="debug"), lambda: logger.error("now"))


def test_a_call_that_waits_for_its_client_does_not_hold_up_the_logs_of_others(logger: logging.Logger) -> None:
    """S26-BASE-20."""
    waiting, release, quick = threading.Event(), threading.Event(), Sink()

    class Stalled(Sink):
        def emit(self, message: bytes) -> None:
            waiting.set()
            release.wait(30)

    stalled = context(Stalled(), level="debug")
    thread = threading.Thread(target=during, args=(stalled, lambda: logger.info("slow")))
    thread.start()
    waiting.wait(30)
    other = threading.Thread(target=during, args=(context(quick, level="debug"), lambda: logger.info("quick")))
    other.start()
    other.join(10)
    release.set()
    thread.join(30)
    assert [params["data"] for params in quick.params] == ["quick"]


@pytest.mark.parametrize(("passed", "sent"), [(True, ["x"]), (False, []), (record("other"), ["other"])])
def test_filters_decide(passed: Any, sent: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Since Python 3.12 a filter may also put another record in place."""
    sink, handler = Sink(), ContextLogHandler()
    monkeypatch.setattr(handler, "filter", lambda given: passed)
    during(context(sink, level="debug"), lambda: handler.handle(record("x")))
    assert [params["data"] for params in sink.params] == sent


def test_arguments_that_log_on_the_way_do_not_go_round_in_circles(logger: logging.Logger) -> None:
    class Chatty:
        def __str__(self) -> str:
            logger.debug("asked")
            return "chatty"

    sink, handler = Sink(), ContextLogHandler()
    during(context(sink, level="debug"), lambda: handler.handle(record("%s", Chatty())))
    assert [params["data"] for params in sink.params] == ["asked", "chatty"]


# --- questions ------------------------------------------------------------------------------------

LEGACY = REVISIONS["2025-11-25"]


class Answering(Sink):
    """A client of the session era that gives the same answer to everything; keeps what it was asked."""

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.answer = answer
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def ask(self, owner: tuple[str | None, ...], requests: Sequence[tuple[str, dict[str, Any]]]) -> list[Any]:
        self.asked += requests
        return [self.answer] * len(requests)


class Known:
    """A session that notes which pages its user was asked to open."""

    id, stateful = "s", True

    def __init__(self) -> None:
        self.pages: list[str] = []

    def note_elicitation(self, name: str) -> None:
        self.pages.append(name)


def asking(answer: Any, method: str = "tools/call", capabilities: Any = ALL) -> tuple[Context, Answering, Any]:
    session: Any = Known()
    sink, client = Answering(answer), ClientInfo({}, capabilities)
    return Context(Call(method, {}, 1, LEGACY, client=client, session=session), sink), sink, session


def test_a_form_comes_back_as_its_type() -> None:
    ctx, sink, _ = asking(accept(sure=True))
    assert ctx.elicit("Sure?", SURE) == ElicitResult("accept", {"sure": True})
    assert sink.asked == [("elicitation/create", {"mode": "form", "message": "Sure?", "requestedSchema": SURE})]


def test_a_page_gets_an_id_that_the_session_notes() -> None:
    """T25-ELI-03"""
    ctx, sink, session = asking({"action": "accept"})
    answers = [ctx.elicit_url("Pay", "https://pay.example"), ctx.elicit_url("Pay", "https://pay.example", id="mine")]
    names = [params["elicitationId"] for _, params in sink.asked]
    assert [answer.id for answer in answers] == names == session.pages
    assert (names[1], len(names[0]) >= 22) == ("mine", True)


def test_pages_that_are_asked_for_together_are_noted_too() -> None:
    ctx, _, session = asking({"action": "decline"})
    ctx.ask({"a": ElicitUrl("A", "https://a.example", "1"), "b": ElicitUrl("B", "https://b.example", "2")})
    assert session.pages == ["1", "2"]


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


def test_there_is_nobody_to_ask_behind_silence() -> None:
    call = Call("tools/call", {}, 1, LEGACY, client=ClientInfo({}, ALL))
    with pytest.raises(InputError, match="cannot be asked here"):
        Context(call, SILENCE).list_roots()
