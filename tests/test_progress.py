"""Progress: it only grows, and its newest value arrives."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sinks import Sink, context


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


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), float("-inf"), 10**400, pytest.param(10**5000, id="long"), Decimal("NaN")],
)
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
    with pytest.raises(ValueError, match="surrogate"):
        ctx.report_progress(5, message="\ud800")
    ctx.report_progress(1)
    assert sink.steps == [1]
