"""Questions of the session era: which pages the session notes."""

from __future__ import annotations

from mcp_wsgi.inputs import ElicitUrl
from tests.sinks import asking


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
