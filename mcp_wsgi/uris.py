"""URIs of resources: their syntax, templates that match and expand them, and paths kept inside a root.

Rules of this file:

* What is matched is percent-decoded exactly once, as UTF-8.
* Matching takes one pass over the URI and never backtracks.
* A value that would lead out of a directory matches nothing, whatever the scheme: handlers join such
  values to paths. Whoever wants them says so (``unchecked``).
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Generic, TypeVar
from urllib.parse import quote, unquote_to_bytes

import msgspec

from mcp_wsgi.errors import RegistrationError, ResourceNotFound

__all__ = ["Template", "TemplateSet", "check_uri", "is_uri", "safe_file_path"]

T = TypeVar("T")

# --- syntax ---------------------------------------------------------------------------------------

_PCHAR = r"(?:[A-Za-z0-9\-._~!$&'()*+,;=:@]|%[0-9A-Fa-f]{2})"
_REG_NAME = r"(?:[A-Za-z0-9\-._~!$&'()*+,;=]|%[0-9A-Fa-f]{2})*"
_USERINFO = r"(?:[A-Za-z0-9\-._~!$&'()*+,;=:]|%[0-9A-Fa-f]{2})*@"
_IP_LITERAL = r"\[[A-Za-z0-9\-._~!$&'()*+,;=:]+\]"
_AUTHORITY = rf"(?:{_USERINFO})?(?:{_IP_LITERAL}|{_REG_NAME})(?::[0-9]*)?"
# Source: RFC 3986, appendix A.
_URI = re.compile(
    rf"[A-Za-z][A-Za-z0-9+.-]*:(?://{_AUTHORITY}(?:/{_PCHAR}*)*|(?!//)(?:{_PCHAR}|/)*)"
    rf"(?:\?(?:{_PCHAR}|[/?])*)?(?:#(?:{_PCHAR}|[/?])*)?"
)
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_NOT_IN_ANY_IRI = re.compile(r"[\x00-\x20\x7f-\x9f<>\"{}|\\^`\ud800-\udfff]")
_BAD_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")


def is_uri(text: str) -> bool:
    """Whether a client's text is an absolute URI; as in an IRI (RFC 3987), letters beyond ASCII may stand in it."""
    # Replaced one for one by what is legal wherever a letter is.
    return _NOT_IN_ANY_IRI.search(text) is None and _URI.fullmatch(re.sub(r"[^\x00-\x7f]", "x", text)) is not None


def check_uri(text: str, *, owner: str = "resource", error: type[Exception] = RegistrationError) -> None:
    """Refuse what is no absolute URI.

    Args:
        text: The URI.
        owner: Whose it is, for the error's text.
        error: What to raise.

    Raises:
        RegistrationError: Or ``error``: the text has no scheme or breaks the syntax.

    Source: RFC 3986, section 3.
    """
    if not isinstance(text, str):
        raise error(f"{owner}: a URI is text, not a value of type {type(text).__qualname__}")
    if _URI.fullmatch(text):
        return
    if not _SCHEME.match(text):
        raise error(f"{owner}: {text!r} has no scheme; write it like 'notes://today'")
    odd = re.search(r"[^A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]", text) or _BAD_PERCENT.search(text)
    where = f" at position {odd.start()}; percent-encode {odd[0]!r}" if odd else "; see RFC 3986, section 3"
    raise error(f"{owner}: {text!r} is no URI{where}")


# --- values ---------------------------------------------------------------------------------------

# As a path: NUL, absolute, with a drive, or with a dot segment.
_LEADS_OUT = re.compile(r"\0|\A[/\\]|\A[A-Za-z]:|(?:\A|[/\\])\.\.?(?:[/\\]|\Z)")
# What a second decoding would turn into a path's special characters.
_ENCODED_TWICE = re.compile(r"%(?:00|25|2e|2f|5c)", re.IGNORECASE)


def _decode(raw: str) -> str | None:
    if _BAD_PERCENT.search(raw):
        return None
    try:
        return unquote_to_bytes(raw).decode()
    except UnicodeError:
        return None


class _Variable(msgspec.Struct, frozen=True):
    """A variable of the path, and the literal text up to the next one."""

    name: str
    reserved: bool
    literal: str


# --- templates ------------------------------------------------------------------------------------

_EXPRESSION = re.compile(r"\{([^{}]*)\}")
_NAME = re.compile(r"[A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*")
_OPERATORS = {
    "#": "fragments are not served; leave it out",
    ".": "write '.{name}' instead",
    "/": "write '/{name}' or '/{+name}' instead",
    ";": "write ';name={name}' instead",
}
# What a {+name} keeps as it is. '#', '[' and ']' are encoded although RFC 6570 keeps them, so that what
# comes out is a URI; and '%', so that a value reads back as it was.
_RESERVED = ":/@!$&'()*+,;="


class Template:
    """A URI template: RFC 6570 level 1, ``{+path}``, ``{?a,b}`` and ``{&a}``.

    ``{name}`` stands for one character or more, none of them a raw ``/``, ``?`` or ``#``; ``{+path}``
    may hold slashes. Of several ways to match, earlier variables take the least. Variables of a
    query come in any order and may be left out; a parameter that the template does not name, or one
    that comes twice, matches nothing: it would be ignored in silence.

    In a ``file:`` template a value of ``{name}`` holds no encoded slash either, and no value holds
    a backslash or an encoding within the encoding.

    Args:
        text: The template; it begins with a scheme.
        unchecked: Variables whose values are no paths and may look like ones that lead out.

    Raises:
        RegistrationError: The template is malformed, or asks for more than is served; the text
            names the position and the way out.

    Attributes:
        text: The template as it was given.
        variables: The names of all variables, in order.
        query_variables: Those that may be left out.
        specificity: Sorts templates: the more literal one is greater.
        shape: Equal for templates that match the same URIs.
    """

    def __init__(self, text: str, *, unchecked: Collection[str] = ()) -> None:
        self.text = text
        parsed = _Parser(text)
        self.variables = tuple(parsed.names)
        self.query_variables = parsed.query
        self._prefix = parsed.prefix
        self._steps = tuple(parsed.steps)
        self._fixed = parsed.fixed
        self._in_file = parsed.prefix[:5].lower() == "file:"
        # A URI is cut at '?' only if the template has something to read behind it.
        self._cuts_query = bool(self.query_variables)
        self._checked = frozenset(self.variables).difference(unchecked)
        if not frozenset(unchecked) <= frozenset(self.variables):
            raise RegistrationError(f"template {text!r}: 'unchecked' names what is no variable")
        self.specificity = self._specificity()
        self.shape = self._shape()

    def match(self, uri: str) -> dict[str, str] | None:
        """Read the variables out of a URI.

        Returns:
            Name -> decoded value, without the query variables that were left out; ``None`` if the
            URI is not of this template, or a value may not stand there.
        """
        values = self.read(uri)
        return values if values is not None and self.is_safe(values) else None

    def read(self, uri: str) -> dict[str, str] | None:
        """As ``match``, without the check for values that lead out of a directory."""
        if _NOT_IN_ANY_IRI.search(uri):
            return None
        path, mark, query = uri.partition("?") if self._cuts_query else (uri, "", "")
        values = self._read_path(path)
        if values is None or not self._cuts_query:
            return values
        found = self._read_query(query.split("&") if mark else [])
        return None if found is None else values | found

    def is_safe(self, values: Mapping[str, str]) -> bool:
        """Whether no value leads out of a directory; those named by ``unchecked`` may."""
        checked = [(name, value) for name, value in values.items() if name in self._checked]
        if any(_LEADS_OUT.search(value) for _, value in checked):
            return False
        return not self._in_file or not any(self._unsafe_in_file(name, value) for name, value in checked)

    def expand(self, values: Mapping[str, str]) -> str:
        """Make the URI of these values.

        Args:
            values: Name -> value; those of the query may be left out.

        Raises:
            ValueError: A value is missing, unknown, or would not be read back as it is.

        Source: RFC 6570, section 3.2.
        """
        lacking = [step.name for step in self._steps if step.name not in values]
        if lacking:
            raise ValueError(f"template {self.text!r} lacks a value for {', '.join(lacking)}")
        parts = [self._prefix]
        for step in self._steps:
            kept = "" if not step.reserved else _RESERVED if self._cuts_query else _RESERVED + "?"
            parts += quote(values[step.name], safe=kept), step.literal
        given = [name for name in self.query_variables if name in values]
        pairs = [*self._fixed, *(f"{name}={quote(values[name], safe='')}" for name in given)]
        uri = "".join(parts) + ("?" + "&".join(pairs) if pairs else "")
        if self.match(uri) != dict(values):
            raise ValueError(f"template {self.text!r} has no URI from which these values could be read back")
        return uri

    def __repr__(self) -> str:
        return f"Template({self.text!r})"

    def _read_path(self, path: str) -> dict[str, str] | None:
        if not path.startswith(self._prefix):
            return None
        values: dict[str, str] = {}
        position = len(self._prefix)
        for step in self._steps[:-1]:
            # The least that a variable can take is also enough: a later place of the literal would
            # leave less for what follows.
            end = path.find(step.literal, position + 1)
            if not self._take(values, step, path, position, end):
                return None
            position = end + len(step.literal)
        if not self._steps:
            return values if position == len(path) else None
        last = self._steps[-1]
        end = len(path) - len(last.literal)
        fits = path.endswith(last.literal) and self._take(values, last, path, position, end)
        return values if fits else None

    def _take(self, values: dict[str, str], step: _Variable, path: str, start: int, end: int) -> bool:
        if end <= start:
            return False
        raw = path[start:end]
        if not step.reserved and not _SEGMENT_END.isdisjoint(raw):
            return False
        value = _decode(raw)
        if value is None:
            return False
        values[step.name] = value
        return True

    def _read_query(self, pairs: list[str]) -> dict[str, str] | None:
        fixed = list(self._fixed)
        values: dict[str, str] = {}
        for pair in pairs:
            if pair in fixed:
                fixed.remove(pair)
                continue
            name, _, raw = pair.partition("=")
            value = _decode(raw) if "#" not in raw else None
            if value is None or name in values or name not in self.query_variables:
                return None
            values[name] = value
        return values if not fixed else None

    def _unsafe_in_file(self, name: str, value: str) -> bool:
        if "\\" in value or _ENCODED_TWICE.search(value):
            return True
        return "/" in value and any(step.name == name and not step.reserved for step in self._steps)

    def _specificity(self) -> tuple[int, int, int]:
        literals = [self._prefix, *(step.literal for step in self._steps), *self._fixed]
        wide = sum(step.reserved for step in self._steps)
        return (sum(map(len, literals)), -wide, -len(self.variables))

    def _shape(self) -> str:
        path = self._prefix + "".join(f"{{{'+' * step.reserved}}}{step.literal}" for step in self._steps)
        return f"{path}?{'&'.join(sorted(self._fixed))}{{{','.join(sorted(self.query_variables))}}}"


_SEGMENT_END = frozenset("/?#")


class _Parser:
    """Takes a template apart, once."""

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise RegistrationError(f"a template is text, not a value of type {type(text).__qualname__}")
        self.text = text
        self.prefix = ""
        self.steps: list[_Variable] = []
        self.names: list[str] = []
        self.query: tuple[str, ...] = ()
        self.fixed: tuple[str, ...] = ()
        end = 0
        for match in _EXPRESSION.finditer(text):
            self._literal(end, match.start())
            self._expression(match)
            end = match.end()
        self._literal(end, len(text))
        if not _SCHEME.match(self.prefix):
            raise self._error(0, "it begins with a scheme", "write it like 'notes://{name}'")
        # Digits may stand wherever a variable may, in a port too.
        check_uri(_EXPRESSION.sub(_sample, text), owner=f"template {text!r} (with 1 for each variable)")

    def _literal(self, start: int, end: int) -> None:
        text = self.text[start:end]
        stray = re.search(r"[{}]", text)
        if stray:
            raise self._error(start + stray.start(), "a brace has no partner", "write {name}, or %7B and %7D")
        if not text:
            return
        if self.query:
            raise self._error(start, "text follows the query", "put {?name} or {&name} at the end")
        if self.steps:
            last = self.steps[-1]
            self.steps[-1] = _Variable(last.name, last.reserved, text)
        else:
            self.prefix = text

    def _expression(self, match: re.Match[str]) -> None:
        body, position = match[1], match.start()
        operator = body[0] if body and not (body[0].isalnum() or body[0] == "_") else ""
        if operator in _OPERATORS:
            raise self._error(position, f"the operator {operator!r} is not served", _OPERATORS[operator])
        if operator not in ("", "+", "?", "&"):
            raise self._error(position, f"{operator!r} is no operator", "write {name}, {+path} or {?name}")
        names = body[len(operator) :].split(",")
        for name in names:
            self._name(name, position)
        if operator in ("?", "&"):
            self._query(operator, names, position)
        elif len(names) > 1:
            raise self._error(position, "several variables stand in one expression", "write '{a}/{b}'")
        else:
            self._path(names[0], operator == "+", position)

    def _name(self, name: str, position: int) -> None:
        if name.endswith("*") or ":" in name:
            raise self._error(position, "the modifiers '*' and ':' are not served", "write {name}, or {+path}")
        if not _NAME.fullmatch(name):
            raise self._error(position, f"{name!r} is no name", "use letters, digits and '_'")
        if name in self.names:
            raise self._error(position, f"the variable {name!r} comes twice", "use another name")
        self.names.append(name)

    def _path(self, name: str, reserved: bool, position: int) -> None:
        if self.query:
            raise self._error(position, "a variable follows the query", "put {?name} or {&name} at the end")
        if self.steps and not self.steps[-1].literal:
            raise self._error(position, "two variables touch", "put text between them, as in '{a}/{b}'")
        self.steps.append(_Variable(name, reserved, ""))

    def _query(self, operator: str, names: list[str], position: int) -> None:
        before = self.text[:position]
        has_query = "?" in _EXPRESSION.sub("", before) or bool(self.query)
        if has_query == (operator == "?"):
            way_out = "write {&name}" if has_query else "write {?name}"
            raise self._error(position, f"the query {'has already' if has_query else 'has not yet'} begun", way_out)
        if not self.query and operator == "&":
            self._fix_query(position)
        self.query += tuple(names)

    def _fix_query(self, position: int) -> None:
        """Take the literal parameters, as of ``?kind=a{&b}``, out of the path."""
        path, _, fixed = (self.steps[-1].literal if self.steps else self.prefix).partition("?")
        if "?" in self.text[: self.text.rindex(fixed, 0, position)].rstrip("?") and not fixed:
            raise self._error(position, "a variable stands in the query", "write all of them as {?name}")
        self.fixed = tuple(fixed.split("&"))
        if self.steps:
            last = self.steps[-1]
            self.steps[-1] = _Variable(last.name, last.reserved, path)
        else:
            self.prefix = path

    def _error(self, position: int, problem: str, way_out: str) -> RegistrationError:
        return RegistrationError(f"template {self.text!r}, position {position}: {problem}; {way_out}")


def _sample(match: re.Match[str]) -> str:
    operator = match[1][0]
    return f"{operator}q=1" if operator in "?&" else "1"
