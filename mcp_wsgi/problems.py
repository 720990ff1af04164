"""What is wrong with a value, where, and in which words.

Whoever checks a value (converters made from signatures, JSON Schema validators) reports ``Fault``s:
facts, without any text. The words are made here, late and bounded, so that a value that is refused
by one member of a union and taken by the next costs no formatting, and a huge value is never quoted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from mcp_wsgi.excerpts import MAX_EXCERPT, quote_text, shorten

__all__ = [
    "MAX_FAULTS",
    "MAX_PROBLEMS",
    "ArgumentErrors",
    "Fault",
    "Mismatch",
    "Problem",
    "Steps",
    "closest",
    "describe_type",
    "listing",
    "mismatch",
    "problems",
    "quote",
    "render_path",
]

#: Checking stops after this many faults: the rest of a value that is wrong all over costs nothing.
MAX_FAULTS = 100
#: This many problems are told in words; the others are counted.
MAX_PROBLEMS = 20
# Characters of what a class of the application says of a value, which may well quote it.
_OWN_WORDS = 300
# Names or alternatives that are listed in a message.
_LISTED = 20

#: The way from the whole value to a part of it: property names and item numbers.
Steps: TypeAlias = "tuple[str | int, ...]"


class Problem(msgspec.Struct, frozen=True):
    """One thing to change.

    Attributes:
        path: Where, such as ``items[2].price``; empty for the whole.
        message: What is wrong with it, in words that tell what would be right.
    """

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class ArgumentErrors(Exception):
    """Arguments do not fit; the text is meant for the model and tells all problems at once.

    Attributes:
        problems: At most ``MAX_PROBLEMS`` of them.
        more: How many there are besides, as far as they were counted.
    """

    def __init__(self, problems: Iterable[Problem], more: int = 0) -> None:
        self.problems = tuple(problems)
        self.more = more
        super().__init__(self.problems, more)

    def __str__(self) -> str:
        lines = [str(problem) for problem in self.problems]
        if self.more:
            lines.append(f"and {self.more} more")
        return "\n".join(lines)


class Fault(msgspec.Struct, frozen=True):
    """A rule that a value breaks.

    Attributes:
        steps: Where the value is.
        keyword: The JSON Schema keyword that it breaks, or one of our own (``unknown``, ``value``).
        limit: What the keyword asks for; for ``value`` the whole message.
        value: The value.
    """

    steps: Steps
    keyword: str
    limit: Any
    value: Any

    def below(self, step: str | int) -> Fault:
        """The same fault, seen from the container."""
        return Fault((step, *self.steps), self.keyword, self.limit, self.value)


class Mismatch(Exception):
    """A value does not fit; raised by converters, never shown.

    Attributes:
        faults: Why, at least one and at most ``MAX_FAULTS``.
    """

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = faults
        super().__init__()


def mismatch(keyword: str, limit: Any, value: Any) -> Mismatch:
    """A value as a whole breaks one rule."""
    return Mismatch((Fault((), keyword, limit, value),))


def closest(branches: Sequence[Sequence[Fault]]) -> Sequence[Fault]:
    """What to say of a value that fits none of several alternatives.

    The faults of the alternative that fits best are told, since only they help: if the value's type
    rules all alternatives out, the types that would do; if listed values are all that is left, these;
    else those of the alternative that has the right form, or breaks the fewest rules.
    """
    near = [branch for branch in branches if not any(_excludes(fault, "type") for fault in branch)]
    if not near:
        return [_joined("type", branches)]
    listed = [branch for branch in near if any(_excludes(fault, "enum") for fault in branch)]
    if len(listed) == len(near):
        return [_joined("enum", listed)]
    others = [branch for branch in near if branch not in listed]
    return min(others, key=lambda branch: (any(fault.keyword not in _LATE for fault in branch), len(branch)))


# What is only wrong for the conversion: the schema takes the value.
_LATE = ("format", "value")


def _excludes(fault: Fault, keyword: str) -> bool:
    return fault.keyword == keyword and not fault.steps


def _joined(keyword: str, branches: Sequence[Sequence[Fault]]) -> Fault:
    faults = [fault for branch in branches for fault in branch if _excludes(fault, keyword)]
    limits = [limit for fault in faults for limit in fault.limit]
    return Fault((), keyword, [limit for i, limit in enumerate(limits) if limit not in limits[:i]], faults[0].value)


# --- words ----------------------------------------------------------------------------------------


def problems(faults: Sequence[Fault], noun: str = "argument") -> tuple[list[Problem], int]:
    """Put faults into words.

    Args:
        faults: What is wrong, at least one.
        noun: What the properties of the whole are called.

    Returns:
        At most ``MAX_PROBLEMS`` problems, and how many there are besides.
    """
    told = list(dict.fromkeys(_problem(fault, noun) for fault in faults[:MAX_PROBLEMS]))
    return told, max(0, len(faults) - MAX_PROBLEMS)


def _problem(fault: Fault, noun: str) -> Problem:
    noun = "property" if fault.steps else noun
    words = _WORDS.get(fault.keyword)
    message = words(fault, noun) if words is not None else shorten(str(fault.limit), _OWN_WORDS)
    return Problem(render_path(fault.steps), message)


def _unknown(fault: Fault, noun: str) -> str:
    known = f"known: {listing(map(shorten, fault.limit))}" if fault.limit else "none is expected"
    return f"unknown {noun} {quote(fault.value)}; {known}"


_FORMATS: Mapping[str, str] = {
    "base64": "base64 (RFC 4648, section 4)",
    "date": "a date such as 2026-07-28",
    "date-time": "a date and time such as 2026-07-28T09:30:00Z",
    "decimal": "a decimal number",
    "duration": "a duration of days, hours, minutes and seconds such as P1DT2H30M",
    "ipv4": "an IPv4 address",
    "ipv6": "an IPv6 address",
    "time": "a time such as 09:30:00",
    "uuid": "a UUID such as 123e4567-e89b-12d3-a456-426614174000",
}

_WORDS: Mapping[str, Callable[[Fault, str], str]] = {
    "type": lambda f, noun: f"{quote(f.value)} is not of type {_alternatives(repr(name) for name in f.limit)}",
    "enum": lambda f, noun: f"{quote(f.value)} is not one of {listing(map(quote, f.limit))}",
    "const": lambda f, noun: f"{quote(f.value)} is not {quote(f.limit)}",
    "contains": lambda f, noun: "has no item of the kind that must be there",
    "not": lambda f, noun: f"{quote(f.value)} is what the schema rules out",
    "required": lambda f, noun: "required, but missing",
    "unknown": _unknown,
    "forbidden": lambda f, noun: f"{quote(f.value)} is not allowed here",
    "minimum": lambda f, noun: f"{quote(f.value)} is less than the minimum of {quote(f.limit)}",
    "maximum": lambda f, noun: f"{quote(f.value)} is more than the maximum of {quote(f.limit)}",
    "exclusiveMinimum": lambda f, noun: f"{quote(f.value)} is not more than {quote(f.limit)}",
    "exclusiveMaximum": lambda f, noun: f"{quote(f.value)} is not less than {quote(f.limit)}",
    "multipleOf": lambda f, noun: f"{quote(f.value)} is not a multiple of {quote(f.limit)}",
    "minLength": lambda f, noun: f"{quote(f.value)} is shorter than {_count(f.limit, 'character')}",
    "maxLength": lambda f, noun: f"{quote(f.value)} is longer than {_count(f.limit, 'character')}",
    "pattern": lambda f, noun: f"{quote(f.value)} does not match the pattern {shorten(str(f.limit))}",
    "minItems": lambda f, noun: f"has {_count(len(f.value), 'item')}, needs at least {f.limit}",
    "maxItems": lambda f, noun: f"has {_count(len(f.value), 'item')}, may have at most {f.limit}",
    "uniqueItems": lambda f, noun: "has an item more than once, all must differ",
    "minProperties": lambda f, noun: f"has {_plural(len(f.value))}, needs at least {f.limit}",
    "maxProperties": lambda f, noun: f"has {_plural(len(f.value))}, may have at most {f.limit}",
    "format": lambda f, noun: f"{quote(f.value)} is not {_FORMATS.get(f.limit, f.limit)}",
}


def quote(value: Any) -> str:
    """A client's value in a message: text in quotes, anything else as JSON, cut to a sensible length."""
    if isinstance(value, str):
        return quote_text(value)
    try:
        text = msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError):  # an integer of thousands of digits, for one
        return f"this {describe_type(value)}"
    return shorten(text)


def describe_type(value: Any) -> str:
    """What JSON calls the type of a value."""
    return _TYPE_NAMES.get(type(value), "value")


_TYPE_NAMES: Mapping[type, str] = {
    bool: "boolean",
    dict: "object",
    float: "number",
    int: "integer",
    list: "array",
    str: "string",
    type(None): "null",
}


def render_path(steps: Steps) -> str:
    """Write the way to a part of a value as ``items[2].price``."""
    return "".join(_step(step, first=not i) for i, step in enumerate(steps))


_PLAIN_NAME = re.compile(r"[\w-]+", re.ASCII)


def _step(step: str | int, *, first: bool) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    if not _PLAIN_NAME.fullmatch(step) or len(step) > MAX_EXCERPT:
        return f"[{quote(step)}]"
    return step if first else f".{step}"


def listing(items: Iterable[str]) -> str:
    """Names or alternatives, the first of them if there are many."""
    listed = list(items)
    rest = len(listed) - _LISTED
    return ", ".join(listed[:_LISTED]) + (f" and {rest} more" if rest > 0 else "")


def _alternatives(names: Iterable[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


def _count(number: Any, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _plural(number: int) -> str:
    return f"{number} property" if number == 1 else f"{number} properties"
