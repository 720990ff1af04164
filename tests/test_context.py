"""What a callback can see and do: the call it serves, progress through a list, logs that were asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mcp_wsgi.call import Call, ClientInfo
from mcp_wsgi.context import Context
from mcp_wsgi.errors import Cancelled
from mcp_wsgi.levels import LEVELS
from mcp_wsgi.schema import OutputError
from tests.sinks import REVISION, Sink, context

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


def test_no_progress_without_a_token() -> None:
    """S26-PROG-01."""
    sink = Sink()
    ctx = context(sink, token=None)
    ctx.report_progress(1)
    ctx.flush()
    assert list(ctx.track("ab")) == ["a", "b"]
    assert sink.sent == []


@pytest.mark.parametrize("message", [1, b"rows", ["rows"], "\ud800"])
@pytest.mark.parametrize("token", [None, "t"])
def test_a_message_that_is_no_text_fails_whether_anybody_listens_or_not(token: str | None, message: Any) -> None:
    sink = Sink()
    ctx = context(sink, token=token)
    for report in (lambda: ctx.report_progress(1, None, message), lambda: list(ctx.track("a", message=message))):
        with pytest.raises(ValueError, match=r"ctx\.report_progress\(\): message.* text"):
            report()
    assert sink.sent == []


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


@pytest.mark.parametrize("logger", [1, object(), b"shop", ["shop"], "\ud800"])
@pytest.mark.parametrize("level", [None, "debug"])
@pytest.mark.parametrize("method", ["log", *LEVELS])
def test_a_logger_that_is_no_text_fails_whether_anybody_listens_or_not(
    method: str, level: str | None, logger: Any
) -> None:
    sink = Sink()
    ctx = context(sink, level=level)
    before = ("info",) if method == "log" else ()
    with pytest.raises(OutputError, match=r"ctx\.log\(\): logger.* text"):
        getattr(ctx, method)(*before, "x", logger=logger)
    assert sink.sent == []


@pytest.mark.parametrize("data", [float("nan"), object(), "\ud800", [float("inf")]])
@pytest.mark.parametrize("level", [None, "debug"])
def test_data_without_a_json_form_is_refused_whoever_listens(data: Any, level: str | None) -> None:
    sink = Sink()
    with pytest.raises(OutputError):
        context(sink, level=level).info(data)
    assert sink.sent == []
