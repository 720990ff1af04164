from __future__ import annotations

import pytest

from mcp_wsgi.excerpts import MAX_EXCERPT, MAX_SENTENCE, quote_text, shorten


def test_a_short_text_is_shown_whole() -> None:
    text = "x" * MAX_EXCERPT
    assert (shorten(text), quote_text(text)) == (text, f"'{text}'")


def test_a_long_text_is_cut_and_says_so() -> None:
    text = "\n" * 1_000_000
    assert shorten(text) == "\n" * MAX_EXCERPT + "..."
    assert quote_text(text) == "'" + "\\n" * MAX_EXCERPT + "'..."
    assert shorten(text, MAX_SENTENCE) == "\n" * MAX_SENTENCE + "..."


@pytest.mark.parametrize("text", ["a\nb", "a\r\x1b[2J"])
def test_what_is_quoted_begins_no_line(text: str) -> None:
    assert quote_text(text) == repr(text)
    assert quote_text(text).isprintable()
