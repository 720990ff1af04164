"""URIs of resources: their syntax, templates that match and expand them, and paths kept inside a root.

Rules of this file:

* What is matched is percent-decoded exactly once, as UTF-8.
* Matching goes over the URI once and never backtracks.
* A value that would lead out of a directory matches nothing, whatever the scheme, since handlers
  join such values to paths. A template names the variables that are free of this (``unchecked``).
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

import msgspec

from mcp_wsgi.errors import RegistrationError, ResourceNotFound

__all__ = ["Template", "check_uri", "is_uri", "safe_file_path"]

# --- syntax ---------------------------------------------------------------------------------------

# Source: RFC 3986, appendix A.
_PCT = "%[0-9A-Fa-f]{2}"
_REG_NAME = rf"(?:[A-Za-z0-9\-._~!$&'()*+,;=]|{_PCT})*"
_USERINFO = rf"(?:[A-Za-z0-9\-._~!$&'()*+,;=:]|{_PCT})*@"
_IP_LITERAL = r"\[[A-Za-z0-9\-._~!$&'()*+,;=:]+\]"
_AUTHORITY = rf"(?:{_USERINFO})?(?:{_IP_LITERAL}|{_REG_NAME})(?::[0-9]*)?"
_PATH = rf"(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/]|{_PCT})*"
_QUERY = rf"(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/?]|{_PCT})*"
_URI = re.compile(rf"[A-Za-z][A-Za-z0-9+.-]*:(?://{_AUTHORITY}(?=[/?#]|\Z)|(?!//)){_PATH}(?:\?{_QUERY})?(?:#{_QUERY})?")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_NOT_IN_A_URI = re.compile(r"[^A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]|%(?![0-9A-Fa-f]{2})")


def is_uri(text: str) -> bool:
    """Whether a client's text is an absolute URI. Source: RFC 3986, section 3."""
    return _URI.fullmatch(text) is not None


def check_uri(text: str, *, owner: str = "resource", error: type[Exception] = RegistrationError) -> None:
    """Refuse what is no absolute URI.

    Args:
        text: The URI.
        owner: Whose it is, for the error's text.
        error: What to raise.

    Raises:
        RegistrationError: Or ``error``: the text has no scheme, or breaks the syntax.

    Source: RFC 3986, section 3.
    """
    if not isinstance(text, str):
        raise error(f"{owner}: a URI is text, not a value of type {type(text).__qualname__}")
    if _URI.fullmatch(text):
        return
    if not _SCHEME.match(text):
        raise error(f"{owner}: {text!r} has no scheme; write it like 'notes://today'")
    odd = _NOT_IN_A_URI.search(text)
    if odd:
        raise error(f"{owner}: {text!r} is no URI: percent-encode {odd[0]!r} at position {odd.start()}")
    raise error(f"{owner}: {text!r} is no URI: a character is out of place (RFC 3986, section 3)")


def _decode(raw: str) -> str | None:
    if _NOT_IN_A_URI.search(raw):
        return None
    try:
        return unquote_to_bytes(raw).decode()
    except UnicodeError:
        return None


# --- values that lead out of a directory ----------------------------------------------------------

# Read as a path: NUL, absolute, with a drive, or with a dot segment.
_LEADS_OUT = re.compile(r"\0|\A[/\\]|\A[A-Za-z]:|(?:\A|[/\\])\.\.?(?:[/\\]|\Z)")
# What a second decoding would turn into one of these; and the separator of other systems.
_UNSAFE_IN_FILE = re.compile(r"\\|%(?:00|25|2e|2f|5c)", re.IGNORECASE)


def safe_file_path(uri: str, root: str | os.PathLike[str]) -> Path:
    """The path that a ``file:`` URI names, if it lies in a directory.

    Symbolic links are followed first, so one that leads out of ``root`` is refused. Nothing is said
    about whether the file exists. For systems with ``/`` as separator.

    Args:
        uri: What the client asked for.
        root: The directory that is served.

    Returns:
        An absolute path without symbolic links, ``root`` itself or below it.

    Raises:
        ResourceNotFound: It is another kind of URI, on another host, or leads out of ``root``;
            which of them is not told.

    Source: server/resources, "Security Considerations"; RFC 8089.
    """
    base = os.path.realpath(root)
    path = _file_path(uri)
    if path is not None:
        real = os.path.realpath(path)
        if os.path.commonpath([base, real]) == base:
            return Path(real)
    raise ResourceNotFound(uri)


_FILE_URI = re.compile(r"file:(?://(?:localhost)?)?(/[^?#]*)", re.IGNORECASE)
_ENCODED_SEPARATOR = re.compile(r"%(?:2f|5c)", re.IGNORECASE)


def _file_path(uri: str) -> str | None:
    match = _FILE_URI.fullmatch(uri)
    if match is None or match[1].startswith("//") or _ENCODED_SEPARATOR.search(match[1]):
        return None
    path = _decode(match[1])
    # The leading slash is the URI's; what follows is judged as any value is.
    if path is None or _LEADS_OUT.search(path[1:]) or _UNSAFE_IN_FILE.search(path):
        return None
    return path


# --- templates ------------------------------------------------------------------------------------

# What a {+name} keeps as it is. '#', '[' and ']' are encoded although RFC 6570 keeps them, so that a
# URI comes out; and '%', so that a value reads back as it was.
_RESERVED = ":/@!$&'()*+,;="
_SEGMENT_END = frozenset("/?#")


class _Variable(msgspec.Struct, frozen=True):
    """A variable of the path; a wide one, ``{+name}``, may hold slashes."""

    name: str
    wide: bool


class Template:
    """A URI template: RFC 6570 level 1, one ``{+path}``, ``{?a,b}`` and ``{&a}`` at the end.

    * ``{name}`` stands for one character or more, none of them a raw ``/``, ``?`` or ``#``. Where
      text may be cut in several ways, what stands nearer to the start takes the least; behind a
      ``{+path}``, what stands nearer to the end.
    * Variables of a query come in any order and may be left out. A parameter that the template does
      not name, or one that comes twice, matches nothing: it would be ignored in silence.
    * A ``+`` in a query is a plus sign; a space is ``%20``.
    * No value begins with a slash, a backslash or a drive (``C:``), or holds NUL or a segment ``.`` or
      ``..``, except where ``unchecked`` says so.
    * In a ``file:`` template, a value of ``{name}`` holds no encoded slash either, and no value a
      backslash or an encoding inside the encoding.

    Args:
        text: The template; it begins with a scheme.
        unchecked: Variables whose values are no paths, and may look like ones that lead out of a
            directory; default: none.

    Attributes:
        text: The template as it was given.
        variables: The names of all variables, in order.
        query_variables: Those that may be left out, in order.
        specificity: Sorts templates; the more literal one is greater.

    Raises:
        RegistrationError: The template is malformed, or asks for more than is served; the text
            names the position and the way out.

    Source: RFC 6570.
    """

    def __init__(self, text: str, *, unchecked: Collection[str] = ()) -> None:
        parsed = _Parser(text)
        self.text = text
        self.variables: tuple[str, ...] = tuple(parsed.names)
        self.query_variables: tuple[str, ...] = tuple(parsed.query)
        self._path = tuple(parsed.path)
        self._literals = tuple(parsed.literals)
        self._fixed = tuple(parsed.fixed)
        self._wide = next((i for i, variable in enumerate(self._path) if variable.wide), len(self._path) - 1)
        unknown = set(unchecked).difference(self.variables)
        if unknown:
            raise RegistrationError(f"template {text!r}: 'unchecked' names {', '.join(sorted(unknown))}, no variable")
        self._checked = frozenset(self.variables).difference(unchecked)
        # In a file's path, the variables that end at a slash, encoded or not.
        self._in_file = text[:5].lower() == "file:"
        self._segments = frozenset(variable.name for variable in self._path if not variable.wide)
        literal = sum(map(len, (*self._literals, *self._fixed)))
        self.specificity = (literal, -sum(variable.wide for variable in self._path), -len(self.variables))

    def match(self, uri: str) -> dict[str, str] | None:
        """Read the variables out of a URI.

        Returns:
            Name -> decoded value, without the query variables that were left out; ``None`` if the
            URI is not of this template, or a value may not stand there.
        """
        # A URI is cut at '?' only if the template has something to read behind it.
        path, mark, query = uri.partition("?") if self.query_variables else (uri, "", "")
        values = self._match_path(path)
        if values is None:
            return None
        if self.query_variables and not self._match_query(query.split("&") if mark else [], values):
            return None
        return values if all(self._is_safe(name, value) for name, value in values.items()) else None

    def expand(self, values: Mapping[str, str]) -> str:
        """Make the URI of these values.

        Args:
            values: Name -> value; those of the query may be left out.

        Raises:
            ValueError: A value is missing or unknown, or could not be read back as it is.

        Source: RFC 6570, section 3.2.
        """
        lacking = [variable.name for variable in self._path if variable.name not in values]
        if lacking:
            raise ValueError(f"template {self.text!r} lacks a value for {', '.join(lacking)}")
        kept = _RESERVED if self.query_variables else _RESERVED + "?"
        uri = self._literals[0]
        for variable, literal in zip(self._path, self._literals[1:], strict=True):
            uri += quote(values[variable.name], safe=kept if variable.wide else "") + literal
        given = [f"{name}={quote(values[name], safe='')}" for name in self.query_variables if name in values]
        if self._fixed or given:
            uri += "?" + "&".join([*self._fixed, *given])
        if self.match(uri) != values:
            raise ValueError(f"template {self.text!r} has no URI from which these values could be read back")
        return uri

    def __repr__(self) -> str:
        return f"Template({self.text!r})"

    def _match_path(self, path: str) -> dict[str, str] | None:
        first, last = self._literals[0], self._literals[-1]
        if not self._path:
            return {} if path == first else None
        start, end = len(first), len(path) - len(last)
        if start >= end or not path.startswith(first) or not path.endswith(last):
            return None
        raw: dict[str, str] = {}
        # From both ends towards the wide variable, or the last one: each takes the least it can. More
        # would never help, since what it leaves is a neighbour's that may hold the same characters.
        for index in range(self._wide):
            cut = path.find(self._literals[index + 1], start + 1, end)
            if cut < 0:
                return None
            raw[self._path[index].name] = path[start:cut]
            start = cut + len(self._literals[index + 1])
        for index in range(len(self._path) - 1, self._wide, -1):
            cut = path.rfind(self._literals[index], start, end - 1)
            if cut < 0:
                return None
            raw[self._path[index].name] = path[cut + len(self._literals[index]) : end]
            end = cut
        raw[self._path[self._wide].name] = path[start:end]
        return self._read(raw)

    def _read(self, raw: Mapping[str, str]) -> dict[str, str] | None:
        values: dict[str, str] = {}
        for variable in self._path:
            text = raw[variable.name]
            value = _decode(text) if variable.wide or _SEGMENT_END.isdisjoint(text) else None
            if not value:
                return None
            values[variable.name] = value
        return values

    def _match_query(self, pairs: list[str], values: dict[str, str]) -> bool:
        fixed = list(self._fixed)
        for pair in pairs:
            if pair in fixed:
                fixed.remove(pair)
                continue
            name, _, raw = pair.partition("=")
            value = _decode(raw) if "#" not in raw else None
            if value is None or name in values or name not in self.query_variables:
                return False
            values[name] = value
        return not fixed

    def _is_safe(self, name: str, value: str) -> bool:
        if name not in self._checked:
            return True
        if _LEADS_OUT.search(value):
            return False
        if not self._in_file:
            return True
        return not _UNSAFE_IN_FILE.search(value) and not (name in self._segments and "/" in value)


# --- reading a template ---------------------------------------------------------------------------

_EXPRESSION = re.compile(r"\{([^{}]*)\}")
_NAME = re.compile(r"[A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*")
_AT_THE_END = "put {?name} or {&name} at the end"
# Operators of RFC 6570 that are not served -> the way out.
_UNSERVED = {
    "#": "leave the fragment out",
    ".": "write '.{name}'",
    "/": "write '/{name}' or '/{+path}'",
    ";": "write ';name={name}'",
}


class _Parser:
    """Takes a template apart.

    Attributes:
        names: All variables, in order.
        literals: The texts before, between and behind the variables of the path.
        path: The variables of the path.
        fixed: The literal parameters of a query that goes on with ``{&name}``.
        query: The variables of the query.
    """

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise RegistrationError(f"a template is text, not a value of type {type(text).__qualname__}")
        self.text = text
        self.names: list[str] = []
        self.literals = [""]
        self.path: list[_Variable] = []
        self.fixed: list[str] = []
        self.query: list[str] = []
        end = 0
        for match in _EXPRESSION.finditer(text):
            self._literal(end, match.start())
            self._expression(match[1], match.start())
            end = match.end()
        self._literal(end, len(text))
        # A digit may stand wherever a variable may, in a port too.
        sample = _EXPRESSION.sub(lambda match: f"{match[1][0]}q=1" if match[1][0] in "?&" else "1", text)
        if not _SCHEME.match(self.literals[0]):
            raise self._error(0, "no scheme stands at the start", "write it like 'notes://{name}'")
        check_uri(sample, owner=f"template {text!r}, with values")

    def _literal(self, start: int, end: int) -> None:
        text = self.text[start:end]
        brace = re.search(r"[{}]", text)
        if brace:
            raise self._error(start + brace.start(), "a brace has no partner", "write {name}, or %7B and %7D")
        if text and self.query:
            raise self._error(start, "text follows the query", _AT_THE_END)
        self.literals[-1] += text

    def _expression(self, body: str, position: int) -> None:
        operator = body[:1] if _NAME.match(body) is None else ""
        if operator in _UNSERVED:
            raise self._error(position, f"the operator {operator!r} is not served", _UNSERVED[operator])
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
            self._variable(_Variable(names[0], operator == "+"), position)

    def _name(self, name: str, position: int) -> None:
        if name.endswith("*") or ":" in name:
            raise self._error(position, "the modifiers '*' and ':' are not served", "write {name} or {+path}")
        if not _NAME.fullmatch(name):
            raise self._error(position, f"{name!r} is no name", "use letters, digits and '_'")
        if name in self.names:
            raise self._error(position, f"the variable {name!r} comes twice", "use another name")
        self.names.append(name)

    def _variable(self, variable: _Variable, position: int) -> None:
        if self.query:
            raise self._error(position, "a variable follows the query", _AT_THE_END)
        if self.path and not self.literals[-1]:
            raise self._error(position, "two variables touch", "put text between them, as in '{a}/{b}'")
        if variable.wide and any(other.wide for other in self.path):
            raise self._error(position, "two variables may hold slashes", "make all but one of them {name}")
        self.path.append(variable)
        self.literals.append("")

    def _query(self, operator: str, names: list[str], position: int) -> None:
        begun = bool(self.query) or any("?" in literal for literal in self.literals)
        if operator == "?" and begun:
            raise self._error(position, "the query has begun before", "write {&name}")
        if operator == "&" and not begun:
            raise self._error(position, "the query has not begun", "write {?name}")
        if operator == "&" and not self.query:
            if any("?" in literal for literal in self.literals[:-1]):
                raise self._error(position, "the query holds a {name} too", "write all of its variables as {?name}")
            self.literals[-1], _, fixed = self.literals[-1].partition("?")
            self.fixed = fixed.split("&")
        self.query += names

    def _error(self, position: int, problem: str, way_out: str) -> RegistrationError:
        return RegistrationError(f"template {self.text!r}, position {position}: {problem}; {way_out}")
