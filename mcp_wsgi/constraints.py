"""Limits on shapes, and the metadata of ``Annotated`` that states them.

Metadata is read by its attributes, so that msgspec's, annotated_types' and pydantic's objects work
alike and none of these libraries is imported for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Annotated, Any

import msgspec

from mcp_wsgi.jsonschemas import SchemaError, Validator
from mcp_wsgi.multiples import is_multiple
from mcp_wsgi.patterns import PatternError, finder, to_python
from mcp_wsgi.problems import Fault, Mismatch, mismatch, quote
from mcp_wsgi.shapes import NUMBER, TEXT, Schema, Shape

__all__ = ["BOUNDS", "RULES", "Notes", "annotated", "constrained", "filtered", "is_field", "merged", "read_metadata"]


def constrained(shape: Shape, limits: Mapping[str, Any]) -> Shape:
    """The same shape with limits.

    Args:
        shape: What is limited.
        limits: JSON Schema keyword -> limit, from the keys of ``RULES``. Bounds of an ``ordered``
            shape hold for the converted value.

    Raises:
        ValueError: A limit says nothing about what the shape takes.
    """
    before, after = [], []
    schema: Schema = {}
    for keyword, limit in sorted(limits.items(), key=lambda pair: pair[0] == "pattern"):
        _check_limit(keyword, limit)
        kinds, holds = RULES[keyword]
        if shape.ordered and keyword in BOUNDS:
            after.append((keyword, holds, _comparable(limit), limit))
        elif kinds & shape.natives:
            before.append((keyword, holds, kinds, limit))
        else:
            raise ValueError(f"{keyword} says nothing about {'/'.join(sorted(k.__name__ for k in shape.natives))}")
        if type(limit) in (int, float, str) and kinds & shape.natives:
            schema[keyword] = limit

    def convert(value: Any) -> Any:
        kind = type(value)
        faults: list[Fault] = []
        for keyword, holds, kinds, limit in before:
            # The pattern comes last, and never sees a text that is too long for it.
            if kind in kinds and not (keyword == "pattern" and faults) and not holds(value, limit):
                faults.append(Fault((), keyword, limit, value))
        try:
            result = shape.convert(value)
        except Mismatch as error:
            raise Mismatch([*faults, *error.faults]) from None
        faults.extend(Fault((), k, lim, value) for k, ok, bound, lim in after if not _within(ok, result, bound))
        if faults:
            raise Mismatch(faults)
        return result

    return Shape(
        merged(shape.schema, schema),
        convert,
        shape.natives,
        parse=shape.parse,
        exact=_exact_limits(shape, limits),
        ordered=shape.ordered,
    )


def filtered(shape: Shape, check: Callable[[Any, Any], Any]) -> Shape:
    """The same shape with a check that no schema can say.

    Args:
        check: Gets the JSON value and the converted one; raises ``Mismatch``.
    """

    def convert(value: Any) -> Any:
        result = shape.convert(value)
        check(value, result)
        return result

    return Shape(shape.schema, convert, shape.natives, parse=shape.parse, ordered=shape.ordered)


def _check_limit(keyword: str, limit: Any) -> None:
    if keyword == "pattern":
        try:
            _matches("", limit)
        except PatternError as error:
            raise ValueError(f"the pattern {limit!r} cannot be used: {error}") from error
    if keyword == "multipleOf" and not limit > 0:
        raise ValueError(f"multipleOf must be more than 0, not {limit!r}")


def merged(schema: Schema, more: Mapping[str, Any]) -> Schema:
    """Both schemas at once, without losing a keyword that both have."""
    if any(schema.get(keyword, limit) != limit for keyword, limit in more.items()):
        return {"allOf": [schema], **more}
    return {**schema, **more}


def _matches(value: Any, limit: Any) -> bool:
    # What is compiled is Python's, and goes into no schema.
    search = finder(limit) if isinstance(limit, str) else limit.search
    return search(value) is not None


_ARRAY, _OBJECT = frozenset({list}), frozenset({dict})

#: JSON Schema keyword -> the JSON types that it is about, and when it holds.
RULES: Mapping[str, tuple[frozenset[type], Callable[[Any, Any], bool]]] = {
    "minimum": (NUMBER, lambda value, limit: bool(value >= limit)),
    "maximum": (NUMBER, lambda value, limit: bool(value <= limit)),
    "exclusiveMinimum": (NUMBER, lambda value, limit: bool(value > limit)),
    "exclusiveMaximum": (NUMBER, lambda value, limit: bool(value < limit)),
    "multipleOf": (NUMBER, is_multiple),
    "minLength": (TEXT, lambda value, limit: len(value) >= limit),
    "maxLength": (TEXT, lambda value, limit: len(value) <= limit),
    "pattern": (TEXT, _matches),
    "minItems": (_ARRAY, lambda value, limit: len(value) >= limit),
    "maxItems": (_ARRAY, lambda value, limit: len(value) <= limit),
    "minProperties": (_OBJECT, lambda value, limit: len(value) >= limit),
    "maxProperties": (_OBJECT, lambda value, limit: len(value) <= limit),
}
#: The keywords that compare.
BOUNDS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})


def _comparable(limit: Any) -> Any:
    return Decimal(repr(limit)) if type(limit) is float else limit


def _within(holds: Callable[[Any, Any], bool], value: Any, bound: Any) -> bool:
    if value is None:
        return True
    try:
        return holds(value, bound)
    except TypeError:  # such as a time with a zone against one without
        return False


# msgspec's names for the keywords whose meaning is the same there. ``multipleOf`` is not among them,
# and neither are bounds near the end of what a float holds, where msgspec rounds before it compares.
_META = {
    "minimum": "ge",
    "maximum": "le",
    "exclusiveMinimum": "gt",
    "exclusiveMaximum": "lt",
    "minLength": "min_length",
    "maxLength": "max_length",
    "pattern": "pattern",
    "minItems": "min_length",
    "maxItems": "max_length",
}
_SAFE_BOUND = 2**53


def _exact_limits(shape: Shape, limits: Mapping[str, Any]) -> Any:
    if shape.exact not in (str, int, float) or not limits.keys() <= _META.keys():
        return None
    kinds = {int} if shape.exact is int else NUMBER
    bounds = [limits[keyword] for keyword in BOUNDS & limits.keys()]
    if any(type(bound) not in kinds or abs(bound) >= _SAFE_BOUND for bound in bounds):
        return None
    try:
        known = {_META[keyword]: limit for keyword, limit in limits.items()}
        if "pattern" in known:
            known["pattern"] = to_python(known["pattern"])
        return Annotated[shape.exact, msgspec.Meta(**known)]
    except (TypeError, ValueError):  # both kinds of a lower bound, for one
        return None


# --- Annotated[...] -------------------------------------------------------------------------------


class Notes(msgspec.Struct):
    """What the metadata of an ``Annotated`` says.

    Attributes:
        limits: msgspec's or annotated_types' name of a limit (``ge``, ``min_length`` ...) -> limit.
        schema: What goes into the schema: keywords that say something about values, and notes.
        checks: Pairs of a predicate on the converted value and what it asks for.
        rules: Metadata that only pydantic understands.
    """

    limits: dict[str, Any] = {}
    schema: dict[str, Any] = {}
    checks: list[tuple[Callable[[Any], Any], str]] = []
    rules: list[Any] = []


def read_metadata(metadata: Iterable[Any]) -> Notes:
    """Read metadata: texts, dicts, pydantic's ``Field``, and objects with the usual attributes.

    Raises:
        ValueError: A limit is stated twice, or something asks for what does not exist here.
    """
    notes = Notes()
    for item in metadata:
        if isinstance(item, str):
            notes.schema["description"] = item
        elif isinstance(item, Mapping):
            notes.schema.update(item)
        elif is_field(item):
            _read_field(item, notes)
        elif _is_rule(item):
            notes.rules.append(item)
        else:
            _read_object(item, notes)
    return notes


_LIMITS = ("ge", "gt", "le", "lt", "multiple_of", "min_length", "max_length", "pattern")
_NOTES = ("title", "description", "examples")


def is_field(item: Any) -> bool:
    """Whether something is what pydantic's ``Field(...)`` returns."""
    return type(item).__name__ == "FieldInfo" and type(item).__module__ == "pydantic.fields"


def _is_rule(item: Any) -> bool:
    """Whether something changes values in ways that only pydantic knows."""
    if type(item).__module__.partition(".")[0] != "pydantic":
        return hasattr(item, "__get_pydantic_core_schema__")
    # Numbers and text are never coerced here, so ``strict`` asks for nothing more.
    return not vars(item).keys() <= {"pattern", "strict"} if hasattr(item, "__dict__") else True


def _read_field(field: Any, notes: Notes) -> None:
    if field.alias or field.validation_alias:
        raise ValueError("an alias in Field(...): give the parameter that name instead")
    if field.discriminator:
        notes.rules.append(field)
    inner = read_metadata(field.metadata)
    for name, limit in inner.limits.items():
        _limit(notes, name, limit)
    notes.checks.extend(inner.checks)
    notes.rules.extend(inner.rules)
    _copy_notes(field, notes)
    if isinstance(field.json_schema_extra, dict):
        notes.schema.update(field.json_schema_extra)


def _read_object(item: Any, notes: Notes) -> None:
    for name in _LIMITS:
        limit = getattr(item, name, None)
        if limit is not None and (name, limit) != ("min_length", 0):
            _limit(notes, name, limit)
    if isinstance(item, msgspec.Meta):
        _copy_notes(item, notes)
        notes.schema.update(item.extra_json_schema or {})
        if item.tz is not None:
            notes.checks.append(_zone(aware=item.tz))
    kind = type(item).__name__
    if kind == "Doc":  # PEP 727
        notes.schema["description"] = item.documentation
    elif kind == "Predicate":
        notes.checks.append((item.func, f"does not satisfy {getattr(item.func, '__name__', 'its check')}"))
    elif kind == "Timezone" and item.tz in (None, ...):
        notes.checks.append(_zone(aware=item.tz is not None))


def _limit(notes: Notes, name: str, limit: Any) -> None:
    if notes.limits.setdefault(name, limit) != limit:
        raise ValueError(f"{name} is stated twice")


def _copy_notes(item: Any, notes: Notes) -> None:
    for name in _NOTES:
        value = getattr(item, name)
        if value is not None:
            notes.schema[name] = list(value) if name == "examples" else value


def _zone(*, aware: bool) -> tuple[Callable[[Any], bool], str]:
    return lambda value: (value.tzinfo is not None) is aware, "needs a time zone" if aware else "takes no time zone"


_SIZES = {
    "min_length": {str: "minLength", list: "minItems", dict: "minProperties"},
    "max_length": {str: "maxLength", list: "maxItems", dict: "maxProperties"},
}
_KEYWORDS = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
    "pattern": "pattern",
}
# Keywords of a schema that say nothing about values; so do all that start with "x-".
_REMARKS = frozenset(
    (
        *("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "format"),
        *("contentEncoding", "contentMediaType", "$comment"),
    )
)


def annotated(shape: Shape, notes: Notes) -> Shape:
    """A shape with what its metadata says.

    Raises:
        ValueError: A limit says nothing about what the shape takes.
    """
    limits = {keyword: limit for name, limit in notes.limits.items() for keyword in _keywords(name, shape)}
    if limits:
        shape = constrained(shape, limits)
    for holds, words in notes.checks:
        shape = filtered(shape, _predicate(holds, words))
    demands = {k: v for k, v in notes.schema.items() if k not in _REMARKS and not k.startswith("x-")}
    if demands:
        shape = _demanding(shape, demands)
    remarks = {k: v for k, v in notes.schema.items() if k not in demands}
    return shape.noted(remarks) if remarks else shape


def _keywords(name: str, shape: Shape) -> list[str]:
    if name in _KEYWORDS:
        return [_KEYWORDS[name]]
    found = [keyword for kind, keyword in _SIZES[name].items() if kind in shape.natives]
    if not found:
        raise ValueError(f"{name} says nothing about a value without a length")
    return found


def _predicate(holds: Callable[[Any], Any], words: str) -> Callable[[Any, Any], None]:
    def check(value: Any, result: Any) -> None:
        if not holds(result):
            raise mismatch("value", f"{quote(value)} {words}", value)

    return check


def _demanding(shape: Shape, demands: Schema) -> Shape:
    """Hold a hand-written piece of schema against the JSON value, beside the type hint.

    Raises:
        ValueError: The piece is no schema.
    """
    try:
        validator = Validator(demands)
    except SchemaError as error:
        raise ValueError(f"its schema {error}") from error

    def check(value: Any, result: Any) -> None:
        faults = validator.faults(value)
        if faults:
            raise Mismatch(faults)

    checked = filtered(shape, check)
    checked.schema = merged(shape.schema, demands)
    return checked
