"""How much of what somebody else chose (names, ids, URIs, values) is shown in messages and logs."""

from __future__ import annotations

__all__ = ["MAX_EXCERPT", "MAX_SENTENCE", "quote_text", "shorten"]

#: Characters of one name, id, URI or value.
MAX_EXCERPT = 100
#: Characters of a whole message that may hold several of them.
MAX_SENTENCE = 500


def shorten(text: str, limit: int = MAX_EXCERPT) -> str:
    """A text, cut to a sensible length."""
    return text if len(text) <= limit else f"{text[:limit]}..."


def quote_text(text: str, limit: int = MAX_EXCERPT) -> str:
    """A text in quotes, cut to a sensible length; it is one line, whatever it holds."""
    return repr(text) if len(text) <= limit else f"{text[:limit]!r}..."
