"""The handler of the logging module: each record goes to the client of its own call."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextvars import copy_context
from typing import Any

import pytest

from mcp_wsgi.context import Context, current_context, enter
from mcp_wsgi.errors import Cancelled
from mcp_wsgi.logs import ContextLogHandler
from tests.sinks import Sink, context


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    """A logger of the application's own, with the handler on it."""
    logger = logging.getLogger("test_logs.shop")
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
    assert sink.params == [{"level": level, "data": "3 rows", "logger": "test_logs.shop"}]


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
    assert sink.params == [{"level": "info", "data": "read a?b", "logger": "test_logs.shop.?x"}]


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
