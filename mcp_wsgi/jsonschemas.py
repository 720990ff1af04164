"""JSON Schemas as documents: checked, bounded, put together, and held against values.

What we decided:

* A schema's own dialect (``$schema``) counts; without one it is 2020-12. An unknown one is refused.
* Nothing is ever fetched. A ``$ref`` that leads out of the schema is refused where it is written,
  except to the meta-schemas, which come with the jsonschema library.
* ``format`` is a remark, as 2020-12 has it by default.
* Schemas are bounded in depth and size, and so are the values that they are held against, since the
  library takes microseconds for each part of them.
* A ``pattern`` means what it means in ECMA-262, where ``re`` can say that, and is refused otherwise.
  ``multipleOf`` counts in decimals.
* A ``pattern`` is also the developer's code, like the function behind it, and ``re`` cannot be stopped:
  one that backtracks without end on hostile text is a bug there. ``maxLength`` helps: text beyond it
  is refused without a look at the pattern. ``uniqueItems`` takes time in proportion to the array.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from mcp_wsgi.effort import TooMuchEffort, bounded, effort
from mcp_wsgi.encoding import OutputError, to_json
from mcp_wsgi.excerpts import shorten
from mcp_wsgi.multiples import is_multiple
from mcp_wsgi.patterns import PatternError, finder, to_python
from mcp_wsgi.problems import MAX_FAULTS, Fault, Mismatch, closest

if TYPE_CHECKING:
    from referencing import Resource

__all__ = [
    "MAX_SCHEMA_DEPTH",
    "MAX_SUBSCHEMAS",
    "SchemaError",
    "Validator",
    "admits_text",
    "inlined",
    "rebuilt",
    "subschemas",
]

#: Levels of objects and arrays in a schema.
MAX_SCHEMA_DEPTH = 100
#: Objects in a schema, data such as ``enum`` included.
MAX_SUBSCHEMAS = 10_000
#: Parts (members and items at all levels) of a client's value that the library is asked to judge.
MAX_PARTS = 100_000

# What the library takes for a keyword, in the steps of ``Effort``.
_KEYWORD_STEPS = 8

Schema: TypeAlias = "dict[str, Any]"


class SchemaError(Exception):
    """A schema is none, or none that can be used here; the text says why."""


# --- walking --------------------------------------------------------------------------------------

# Where the keywords of all dialects hold schemas: one (or a list), or one for each of many names.
# Everything else, such as ``enum`` and ``default``, is data, whatever it looks like.
_ONE = frozenset(
    (
        *("additionalItems", "additionalProperties", "allOf", "anyOf", "contains", "contentSchema", "disallow", "else"),
        *("extends", "if", "items", "not", "oneOf", "prefixItems", "propertyNames", "then", "unevaluatedItems"),
        "unevaluatedProperties",
    )
)
_NAMED = frozenset(("$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"))


def subschemas(schema: Mapping[str, Any]) -> Iterator[tuple[str, str | int | None, Any]]:
    """The schemas directly inside a schema: keyword, name or number there, schema."""
    for keyword, value in schema.items():
        if keyword in _NAMED and isinstance(value, dict):
            for name, part in value.items():
                yield keyword, name, part
        elif keyword in _ONE and isinstance(value, list):
            for number, part in enumerate(value):
                yield keyword, number, part
        elif keyword in _ONE:
            yield keyword, None, value


def rebuilt(schema: Any, change: Callable[[Schema], Schema]) -> Any:
    """A schema with every schema in it changed, the innermost first."""
    if not isinstance(schema, dict):
        return schema
    copy = dict(schema)
    for keyword, value in schema.items():
        if keyword in _NAMED and isinstance(value, dict):
            copy[keyword] = {name: rebuilt(part, change) for name, part in value.items()}
        elif keyword in _ONE and isinstance(value, list):
            copy[keyword] = [rebuilt(part, change) for part in value]
        elif keyword in _ONE:
            copy[keyword] = rebuilt(value, change)
    return change(copy)


# --- putting together -----------------------------------------------------------------------------

_LOCAL = "#/$defs/"


def inlined(schema: Schema, defs: Mapping[str, Schema]) -> Schema:
    """Put definitions in place of the ``$ref``s to them, except where they are recursive.

    Args:
        schema: The root; it and ``defs`` refer to definitions as ``#/$defs/NAME``.
        defs: All definitions by name.

    Returns:
        The root, with the definitions that are left under ``$defs``.

    Raises:
        SchemaError: The result is larger than ``MAX_SUBSCHEMAS``.
    """
    recursive = _recursive(defs)
    left: dict[str, Schema] = {}
    room = MAX_SUBSCHEMAS

    def place(part: Schema) -> Schema:
        nonlocal room
        room -= 1
        if room < 0:
            raise SchemaError(f"the schema has more than {MAX_SUBSCHEMAS} parts: use fewer or smaller types")
        ref = part.get("$ref", "")
        if not ref.startswith(_LOCAL):
            return part
        name = ref[len(_LOCAL) :]
        if name in recursive:
            if name not in left:
                left[name] = {}
                left[name] = rebuilt(defs[name], place)
            return part
        here = {keyword: value for keyword, value in part.items() if keyword != "$ref"}
        return {**rebuilt(defs[name], place), **here}

    root: Schema = rebuilt(schema, place)
    if root.get("$ref", "").startswith(_LOCAL):
        # Clients look for the type of the whole at the root.
        root = {**left[root["$ref"][len(_LOCAL) :]], **{k: v for k, v in root.items() if k != "$ref"}}
    return {**root, "$defs": left} if left else root


def _recursive(defs: Mapping[str, Schema]) -> set[str]:
    """The names of the definitions that lead back to themselves."""
    direct = {name: set(_refs(definition)) & defs.keys() for name, definition in defs.items()}

    def reached(name: str) -> set[str]:
        found: set[str] = set()
        ahead = list(direct[name])
        while ahead:
            following = ahead.pop()
            if following not in found:
                found.add(following)
                ahead.extend(direct[following])
        return found

    return {name for name in defs if name in reached(name)}


def _refs(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if str(schema.get("$ref", "")).startswith(_LOCAL):
            yield schema["$ref"][len(_LOCAL) :]
        for _, _, part in subschemas(schema):
            yield from _refs(part)


def admits_text(schema: Any, root: Mapping[str, Any]) -> bool:
    """Whether a schema could be meant to take a string; in doubt it could."""
    if not isinstance(schema, dict):
        return bool(schema)
    verdicts = [check(schema[keyword], root) for keyword, check in _ADMITS.items() if keyword in schema]
    return all(verdicts)


def _any_admits(parts: Any, root: Mapping[str, Any]) -> bool:
    return any(admits_text(part, root) for part in parts)


def _ref_admits(ref: Any, root: Mapping[str, Any]) -> bool:
    place, _, name = str(ref).rpartition("/")
    if place not in ("#/$defs", "#/definitions"):
        return True
    target = root.get(place[2:], {}).get(name, True)
    # One step is enough for types with a name; a chain of names is left alone.
    return not isinstance(target, dict) or "$ref" in target or admits_text(target, root)


_ADMITS: Mapping[str, Callable[[Any, Mapping[str, Any]], bool]] = {
    "type": lambda names, root: "string" in names,
    "const": lambda value, root: isinstance(value, str),
    "enum": lambda values, root: any(isinstance(value, str) for value in values),
    "anyOf": _any_admits,
    "oneOf": _any_admits,
    "allOf": lambda parts, root: all(admits_text(part, root) for part in parts),
    "$ref": _ref_admits,
}


# --- validating -----------------------------------------------------------------------------------


class Validator:
    """A hand-written schema, checked and compiled.

    Args:
        schema: JSON Schema; copied, so later changes to it have no effect.

    Attributes:
        schema: The copy.

    Raises:
        SchemaError: It is invalid, too large, of an unknown dialect, or refers to what is not there.

    Source: basic/index, "JSON Schema Usage".
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        try:
            self.schema: Schema = to_json(dict(schema))
        except OutputError as error:
            raise SchemaError(f"is no JSON: {error}") from error
        _check_size(self.schema)
        library = _dialect(self.schema)
        _check_valid(library, self.schema)
        from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]

        # The registry is given so that nothing is ever fetched; the library's own default would.
        _References(self.schema).check()
        judged = _with_python_names(self.schema)
        self._library = _bounded(library, remembers=not _is_dynamic(self.schema))(judged, registry=REGISTRY)
        self._boundedly, self._freely = bounded(self._faults), bounded(self._faults, inf)
        self._check_end()

    def _check_end(self) -> None:
        try:
            self._faults({})
        except RecursionError:
            raise SchemaError("refers to itself without end") from None

    def faults(self, value: Any, *, trusted: bool = False) -> list[Fault]:
        """All that is wrong with a JSON value, at most ``MAX_FAULTS``; nothing if it is valid.

        Args:
            value: JSON builtins.
            trusted: Whether it is our own, and may have more than ``MAX_PARTS`` parts.
        """
        if not trusted and _has_more(value, MAX_PARTS):
            return [Fault((), "value", f"more than {MAX_PARTS} parts, too many to be checked", None)]
        try:
            if trusted:
                return self._freely(value)
            # Inside a check that is counted already, this is a part of it.
            return self._boundedly(value) if effort() is None else self._faults(value)
        except TooMuchEffort as error:
            if effort() is not None:
                raise
            return [error.fault]
        except RecursionError:
            return [Fault((), "value", "too deeply nested to be checked", None)]
        except (ArithmeticError, ValueError):  # numbers of thousands of digits
            return [Fault((), "value", "holds a number that is too large to be checked", None)]

    def _faults(self, value: Any) -> list[Fault]:
        try:
            return _told(self._library.iter_errors(value))
        except BaseException as error:
            # The library keeps references in a table that panics when the stack ends inside it.
            if type(error).__module__ == "pyo3_runtime":
                raise RecursionError from error
            raise


def _check_size(schema: Schema) -> None:
    ahead: list[tuple[int, Any]] = [(1, schema)]
    seen = 0
    while ahead:
        depth, part = ahead.pop()
        seen += isinstance(part, dict)
        if depth > MAX_SCHEMA_DEPTH:
            raise SchemaError(f"is nested deeper than {MAX_SCHEMA_DEPTH} levels")
        if seen > MAX_SUBSCHEMAS:
            raise SchemaError(f"has more than {MAX_SUBSCHEMAS} objects")
        inside = part.values() if isinstance(part, dict) else part
        ahead.extend((depth + 1, child) for child in inside if isinstance(child, (dict, list)))


def _dialect(schema: Schema) -> Any:
    """The library's class for the dialect, all embedded ones being known too."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import validator_for

    ahead: list[Any] = [schema]
    while ahead:
        part = ahead.pop()
        if isinstance(part, dict):
            if "$schema" in part and not _is_dialect(part["$schema"]):
                raise SchemaError(f"has the unknown dialect $schema {part['$schema']!r}; leave it out for 2020-12")
            ahead.extend(inner for _, _, inner in subschemas(part))
    return validator_for(schema, default=Draft202012Validator)


def _is_dialect(name: Any) -> bool:
    from jsonschema.validators import validator_for

    unknown: Any = None
    return isinstance(name, str) and validator_for({"$schema": name}, default=unknown) is not None


def _check_valid(library: Any, schema: Schema) -> None:
    from jsonschema import FormatChecker
    from jsonschema.exceptions import SchemaError as Invalid

    try:
        # Its only format that counts here is that of a pattern, which is ours to judge.
        library.check_schema(schema, format_checker=FormatChecker(()))
    except RecursionError:
        raise SchemaError("is nested too deeply") from None
    except Invalid as error:
        where = "".join(f"/{step}" for step in error.absolute_path)
        raise SchemaError(f"is invalid: {shorten(error.message)}" + (f" (at #{where})" if where else "")) from error


@functools.cache
def _bounded(library: Any, *, remembers: bool) -> Any:
    """A dialect whose costly keywords are tamed, and whose effort can be counted.

    Args:
        library: The class for the dialect.
        remembers: Whether what a ``$ref`` says of a value is always the same.
    """
    from jsonschema import validators

    extend: Any = validators.extend
    tamed = {
        "pattern": _pattern,
        "multipleOf": _multiple_of,
        "divisibleBy": _multiple_of,
        "uniqueItems": _unique_items,
        "anyOf": _any_of,
        "oneOf": _one_of,
    }
    checks = {keyword: _counted(tamed.get(keyword, check)) for keyword, check in library.VALIDATORS.items()}
    if remembers:
        checks["$ref"] = _remembering(checks["$ref"])
    return extend(library, checks)


@functools.cache
def _unfit() -> Any:
    """The library's error, with faults in place of what it would be translated to."""
    from jsonschema.exceptions import ValidationError

    class Unfit(ValidationError):
        faults: Sequence[Fault] | None

        def __init__(self, faults: Sequence[Fault] | None = None) -> None:
            super().__init__("does not fit")
            self.faults = faults

    return Unfit


def _pattern(validator: Any, regex: str, value: Any, schema: Schema) -> Iterator[Exception]:
    limit = schema.get("maxLength")
    if isinstance(value, str) and (limit is None or len(value) <= limit) and not finder(regex)(value):
        yield _unfit()()


def _multiple_of(validator: Any, limit: Any, value: Any, schema: Schema) -> Iterator[Exception]:
    if type(value) in (int, float) and not is_multiple(value, limit):
        yield _unfit()([Fault((), "multipleOf", limit, value)])


def _unique_items(validator: Any, wanted: bool, value: Any, schema: Schema) -> Iterator[Exception]:
    if wanted and isinstance(value, list) and len({_identity(item) for item in value}) < len(value):
        yield _unfit()()


def _any_of(validator: Any, parts: list[Any], value: Any, schema: Schema) -> Iterator[Exception]:
    branches = []
    for part in parts:
        faults = _told(validator.descend(value, part))
        if not faults:
            return
        branches.append(faults)
    yield _unfit()(closest(branches))


def _one_of(validator: Any, parts: list[Any], value: Any, schema: Schema) -> Iterator[Exception]:
    if sum(validator.evolve(schema=part).is_valid(value) for part in parts) > 1:
        yield _unfit()([Fault((), "value", "fits more than one of the alternatives", value)])
    else:
        yield from _any_of(validator, parts, value, schema)


def _remembering(check: Any) -> Any:
    """A ``$ref`` that is followed once for each part of a value."""

    def remembering(validator: Any, target: str, value: Any, schema: Schema) -> Iterator[Exception]:
        def judge(value: Any) -> None:
            faults = _told(check(validator, target, value, schema))
            if faults:
                raise Mismatch(faults)

        work = effort()
        if work is None or not isinstance(value, (dict, list)):
            yield from check(validator, target, value, schema)
            return
        try:
            # The same text in another place may lead elsewhere; the place itself never does.
            work.outcome(id(schema), judge, value)
        except Mismatch as error:
            yield _unfit()(error.faults)

    return remembering


def _is_dynamic(schema: Schema) -> bool:
    """Whether a reference may lead elsewhere, depending on the way that led to it."""
    text = msgspec.json.encode({keyword: value for keyword, value in schema.items() if keyword != "$schema"})
    # The meta-schemas are made of such references.
    return any(word in text for word in (b'"$dynamicRef"', b'"$recursiveRef"', b"json-schema.org"))


def _counted(check: Any) -> Any:
    def counted(validator: Any, wanted: Any, value: Any, schema: Schema) -> Any:
        work = effort()
        if work is not None:
            work.spend(_KEYWORD_STEPS)
        return check(validator, wanted, value, schema)

    return counted


def _has_more(value: Any, limit: int) -> bool:
    ahead = [value] if isinstance(value, (dict, list)) else []
    seen = 0
    while ahead:
        part = ahead.pop()
        inside = part.values() if isinstance(part, dict) else part
        seen += len(inside)
        if seen > limit:
            return True
        ahead.extend(child for child in inside if isinstance(child, (dict, list)))
    return False


class _PythonNames(dict[str, Any]):
    """``patternProperties`` for ``re``; a ``$ref`` still finds what it calls by the name that was written."""

    def __missing__(self, pattern: str) -> Any:
        name = to_python(pattern)
        if name in self:
            return self[name]
        raise KeyError(pattern)


def _with_python_names(part: Any) -> Any:
    """A schema for the library, which takes each name in ``patternProperties`` for a pattern of Python.

    Everything is gone through, known or not, since a ``$ref`` may lead anywhere.
    """
    if isinstance(part, list):
        return [_with_python_names(item) for item in part]
    if not isinstance(part, dict):
        return part
    copy = {}
    for keyword, value in part.items():
        if keyword in _DATA:
            copy[keyword] = value
        elif keyword in _NAMED and isinstance(value, dict):
            named = {name: _with_python_names(schema) for name, schema in value.items()}
            copy[keyword] = _python_names(named) if keyword == "patternProperties" else named
        else:
            copy[keyword] = _with_python_names(value)
    return copy


def _python_names(named: Schema) -> _PythonNames:
    names = _PythonNames()
    for pattern, schema in named.items():
        try:
            name = to_python(pattern)
        except PatternError:  # in what is no schema, as all that are have been looked at
            name = pattern
        # Two may be the same to Python.
        names[name] = {"allOf": [names[name], schema]} if name in names else schema
    return names


_DATA = frozenset(("const", "default", "enum", "examples"))


def _identity(value: Any) -> Any:
    """Something hashable that is equal for values that JSON Schema calls equal, and only for these."""
    if isinstance(value, dict):
        return dict, frozenset((name, _identity(item)) for name, item in value.items())
    if isinstance(value, list):
        return list, tuple(map(_identity, value))
    return isinstance(value, bool), value


def _check_patterns(schema: Schema) -> None:
    named = schema.get("patternProperties")
    for pattern in (schema.get("pattern"), *(named if isinstance(named, dict) else ())):
        try:
            if isinstance(pattern, str):
                to_python(pattern)
        except PatternError as error:
            raise SchemaError(f"has the pattern {shorten(pattern)!r}, which cannot be used: {error}") from error


class _References:
    """Looks up every ``$ref`` and pattern of a schema once, when it is registered."""

    def __init__(self, schema: Schema) -> None:
        from jsonschema_specifications import REGISTRY
        from referencing import Resource
        from referencing.jsonschema import DRAFT202012

        self._resource = Resource
        self._root: Resource[Any] = Resource.from_contents(schema, default_specification=DRAFT202012)
        self._dialect: Any = DRAFT202012.detect(schema)
        self._resolver: Any = REGISTRY.resolver_with_root(self._root)
        self._seen: set[int] = set()

    def check(self) -> None:
        """Raise ``SchemaError`` if one leads nowhere."""
        self._check(self._root, self._resolver)

    def _check(self, resource: Resource[Any], resolver: Any) -> None:
        contents = resource.contents
        if id(contents) in self._seen or not isinstance(contents, dict):
            return
        self._seen.add(id(contents))
        for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
            if isinstance(contents.get(keyword), str):
                self._follow(resolver, contents[keyword])
        _check_patterns(contents)
        for part in resource.subresources():
            self._check(part, resolver.in_subresource(part))

    def _follow(self, resolver: Any, ref: str) -> None:
        from referencing.exceptions import Unresolvable

        try:
            found = resolver.lookup(ref)
        except (Unresolvable, TypeError, ValueError) as error:
            raise SchemaError(
                f"has the $ref {shorten(ref)!r}, which leads nowhere: external schemas are never fetched, "
                "put what is meant under $defs"
            ) from error
        # What a pointer finds may lie where no keyword expects a schema, and hold more references.
        if isinstance(found.contents, dict):
            part = self._resource.from_contents(found.contents, default_specification=self._dialect)
            self._check(part, found.resolver)


# --- the library's errors as faults ---------------------------------------------------------------


def _told(errors: Iterable[Any]) -> list[Fault]:
    return list(islice(_unique(fault for error in errors for fault in _faults(error)), MAX_FAULTS))


def _faults(error: Any) -> Iterator[Fault]:
    steps = tuple(error.relative_path)
    known = getattr(error, "faults", None)
    translated = list(_TRANSLATED.get(str(error.validator), _plain)(error)) if known is None else known
    # An error must never vanish in translation: the value would pass.
    for fault in translated or [Fault((), "value", shorten(error.message), error.instance)]:
        yield Fault((*steps, *fault.steps), fault.keyword, fault.limit, fault.value)


def _plain(error: Any) -> Iterator[Fault]:
    if error.validator in _SAME_WORDS:
        yield Fault((), str(error.validator), error.validator_value, error.instance)
    elif error.validator is None:
        yield Fault((), "forbidden", None, error.instance)


def _type(error: Any) -> Iterator[Fault]:
    names = error.validator_value
    yield Fault((), "type", [names] if isinstance(names, str) else names, error.instance)


def _required(error: Any) -> Iterator[Fault]:
    for name in error.validator_value if isinstance(error.validator_value, list) else ():
        if name not in error.instance:
            yield Fault((name,), "required", None, None)


def _dependent(error: Any) -> Iterator[Fault]:
    for name, needed in error.validator_value.items():
        if name in error.instance:
            yield from (Fault((other,), "required", None, None) for other in needed if other not in error.instance)


def _additional(error: Any) -> Iterator[Fault]:
    known = error.schema.get("properties", {})
    patterns = "|".join(error.schema.get("patternProperties", {}))
    for name in error.instance:
        if name not in known and not (patterns and re.search(patterns, name)):
            yield Fault((), "unknown", list(known), name)


def _unique(faults: Iterator[Fault]) -> Iterator[Fault]:
    """Without repetitions: the library reports each missing property in an error of its own."""
    seen: set[Any] = set()
    for fault in faults:
        key = (fault.steps, fault.keyword) if fault.keyword == "required" else None
        if key is None or key not in seen:
            seen.add(key)
            yield fault


_SAME_WORDS = frozenset(
    (
        *("const", "contains", "enum", "exclusiveMaximum", "exclusiveMinimum", "maxItems", "maxLength", "maximum"),
        *("maxProperties", "minItems", "minLength", "minimum", "minProperties", "multipleOf", "not", "pattern"),
        "uniqueItems",
    )
)
_TRANSLATED: Mapping[str, Callable[[Any], Iterator[Fault]]] = {
    "type": _type,
    "required": _required,
    "dependentRequired": _dependent,
    "additionalProperties": _additional,
}
