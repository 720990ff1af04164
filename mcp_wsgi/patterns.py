r"""Patterns of JSON Schema, which are ECMA-262's, in the regular expressions of Python.

The two share most of their syntax and differ in what some of it means: ``$`` also stands before a final
line feed in Python, ``\d``, ``\w`` and ``\b`` know the letters of all scripts, ``.`` takes a carriage
return. What can be written so that it means the same is; everything else is refused, since a pattern
must not mean one thing to a client that reads the schema and another here.

Left as it is, being harmless: Python keeps what a group has matched in an earlier turn of a loop.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

__all__ = ["PatternError", "finder", "to_python"]

# Compiled patterns that are kept; they come from the application, so there are few.
_KEPT = 1024


class PatternError(ValueError):
    """A pattern is none, or uses what ECMA-262 and Python do not share; the text says which."""


@lru_cache(_KEPT)
def finder(pattern: str) -> Callable[[str], Any]:
    """What looks for a pattern of ECMA-262 anywhere in a text, and returns ``None`` if it is not there.

    Raises:
        PatternError: As of ``to_python``.
    """
    return re.compile(to_python(pattern)).search


@lru_cache(_KEPT)
def to_python(pattern: str) -> str:
    """A pattern for ``re`` that matches what the same pattern matches in ECMA-262 with its ``u`` flag.

    Raises:
        PatternError: There is none.

    Source: JSON Schema 2020-12 Core, 6.4; ECMA-262, 22.2.
    """
    found: list[str] = []
    as_written: list[str] = []
    position, in_class = 0, False
    while position < len(pattern):
        matched = (_IN_CLASS if in_class else _OUTSIDE).match(pattern, position)
        piece = matched[0] if matched is not None else pattern[position]
        position += len(piece)
        if piece in _KINDS:
            as_written.append(piece)
            found.append(_KINDS[piece] if in_class else f"[{_KINDS[piece]}]")
            continue
        if piece[0] == "\\":
            part = _escape(piece, in_class=in_class)
        elif in_class:
            in_class = piece != "]"
            part = f"\\{piece}" if piece in _SET_MARKS else piece
        else:
            in_class = piece[0] == "["
            part = _plain(piece)
        as_written.append(part)
        found.append(part)
    result = "".join(found)
    try:
        # One of them stands for many characters, which must not become the end of a range.
        re.compile("".join(as_written))
        re.compile(result)
    except (re.error, OverflowError, RecursionError) as error:
        raise PatternError(getattr(error, "msg", None) or "too large") from error
    return result


_OUTSIDE = re.compile(
    r"""
    \\(?: u\{[0-9A-Fa-f]+\} | u[0-9A-Fa-f]{4} | c[A-Za-z] | [0-9]+ | . | \Z )
    | \(\?(?: : | <?[=!] | <[A-Za-z_$][\w$]*> | .{0,2} )
    | \[ \^? \]?
    | (?: [*+?] | \{[0-9]+(?:,[0-9]*)?\} ) \+
    | \{,
    | .
    """,
    re.VERBOSE | re.DOTALL,
)
_IN_CLASS = re.compile(r"\\(?:u\{[0-9A-Fa-f]+\}|u[0-9A-Fa-f]{4}|c[A-Za-z]|[0-9]+|.|\Z)|.", re.DOTALL)

# Python warns of these in a class, where they may get a meaning one day.
_SET_MARKS = frozenset("[&|~")
# Escape -> the characters that it stands for, as they are written in a class.
_KINDS = {
    r"\d": r"0-9",
    r"\D": r"\x00-/:-\U0010ffff",
    r"\w": r"A-Za-z0-9_",
    r"\W": r"\x00-/:-@\[-\^`{-\U0010ffff",
    r"\s": r"\t-\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff",
    r"\S": (
        r"\x00-\x08\x0e-\x1f!-\x9f\xa1-\u167f\u1681-\u1fff\u200b-\u2027\u202a-\u202e\u2030-\u205e\u2060-\u2fff"
        r"\u3001-\ufefe\uff00-\U0010ffff"
    ),
}
_WORD = "[A-Za-z0-9_]"
_EDGES = {
    r"\b": f"(?:(?<={_WORD})(?!{_WORD})|(?<!{_WORD})(?={_WORD}))",
    r"\B": f"(?:(?<={_WORD})(?={_WORD})|(?<!{_WORD})(?!{_WORD}))",
}
# Letters of the other escapes that both have.
_SAME = frozenset("btnvfrx")
_SAME_GROUPS = frozenset(("(?:", "(?=", "(?!", "(?<=", "(?<!"))
_SURROGATES = range(0xD800, 0xE000)


def _escape(piece: str, *, in_class: bool) -> str:
    kind = piece[1:2]
    if piece in _EDGES and not in_class:
        return _EDGES[piece]
    if kind == "u" and len(piece) > len("\\u"):
        return _character(int(piece[2:].strip("{}"), 16), piece)
    if kind == "c" and len(piece) > len("\\c"):
        return _character(ord(piece[2]) % 32, piece)
    if "0" <= kind <= "9":
        return _number(piece, in_class=in_class)
    if kind.isascii() and kind.isalpha() and kind not in _SAME:
        raise _unshared(piece)
    return piece


def _number(piece: str, *, in_class: bool) -> str:
    if piece == "\\0":
        return r"\x00"
    if in_class or piece[1] == "0":
        raise _unshared(piece)
    # A group that took no part matches nothing at all in Python.
    return f"(?({piece[1:]}){piece})"


def _character(code: int, piece: str) -> str:
    # Halves of a pair are one character there.
    if code in _SURROGATES or code > 0x10FFFF:
        raise PatternError(f"{piece} is no character of its own: write the character itself")
    return f"\\U{code:08x}"


def _plain(piece: str) -> str:
    if piece == "$":
        return r"\Z"
    if piece == ".":
        return r"[^\n\r\u2028\u2029]"
    if piece.startswith("(?<") and piece.endswith(">"):
        return "("
    if piece.startswith("(?") and piece not in _SAME_GROUPS:
        raise _unshared(piece)
    if piece == "{," or (len(piece) > 1 and piece[-1] in "]+"):
        raise _unshared(piece)
    return piece


def _unshared(piece: str) -> PatternError:
    return PatternError(f"{piece} is not what ECMA-262 and Python have in common")
