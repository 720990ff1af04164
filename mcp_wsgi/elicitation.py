"""Forms that a client's user is asked to fill in: flat, of primitive values, written for each revision.

A form must not ask for secrets (passwords, tokens, keys, payment details): what is typed into it passes
through the client, and may be logged or shown to a model there. Ask for those on a page of your own
(URL mode). Nothing here looks for such questions.

What we decided:

* What a form cannot say in MCP's restricted schemas is refused where the form is made, rather than
  left out: a user cannot keep a rule that is not shown.
* A revision without defaults for a kind of property is not told them; they are filled in all the same.
* ``format`` is checked here, unlike in other schemas: text comes back from whatever the client is.

Source: client/elicitation, "Requested Schema" and "Security Considerations".
"""

from __future__ import annotations

import copy
import datetime
import enum
import functools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, get_args, get_origin

import msgspec

from mcp_wsgi.checks import kind_of
from mcp_wsgi.errors import RegistrationError
from mcp_wsgi.excerpts import shorten
from mcp_wsgi.jsonschemas import Schema, SchemaError, Validator, inlined
from mcp_wsgi.members import has_members, members_of
from mcp_wsgi.problems import ArgumentErrors, Fault, Mismatch, problems, quote
from mcp_wsgi.revisions import MODERN, Revision
from mcp_wsgi.shapes import ANYTHING, SCALARS, Field, Shape, record
from mcp_wsgi.typehints import Compiler, Unsupported
from mcp_wsgi.uris import is_uri

__all__ = ["Form", "FormErrors", "FormNotInRevision"]


class FormErrors(ArgumentErrors):
    """What a filled-in form brought back does not fit; the text tells all problems at once."""


class FormNotInRevision(Exception):
    """A form asks for what a revision cannot say; the text names the property and the revision."""


class _Property(msgspec.Struct, frozen=True):
    """One thing that a form asks for.

    Attributes:
        name: Its name.
        ways: Wire type -> how it is written as that; the first that a revision has is used.
        check: The schema that what comes back is held against.
        required: Whether it must come back.
        fill: What stands in for it if it does not come back; ``UNSET``: nothing, or the class's own default.
        blank: Whether ``null`` is as good as nothing. Where there is a default, it may mean "not that".
    """

    name: str
    ways: Mapping[str, Schema]
    check: Schema
    required: bool
    fill: Any = msgspec.UNSET
    blank: bool = False

    @property
    def schema(self) -> Schema:
        """How the newest revision writes it."""
        return next(iter(self.ways.values()))


class Form(msgspec.Struct, frozen=True, eq=False):
    """A form, as a server asks the user of its client to fill it in; made by ``of``.

    It cannot be changed, so that one form serves any number of calls. No secrets: see above.
    """

    _owner: str
    _properties: tuple[_Property, ...]
    _validator: Validator
    _convert: Callable[[dict[str, Any]], Any]

    @classmethod
    def of(cls, schema: type | Mapping[str, Any], *, owner: str) -> Form:
        """Read what a form asks for.

        Args:
            schema: A dataclass, TypedDict, msgspec Struct or other class with named members, a pydantic
                model, or a JSON Schema of an object. Its properties are text, numbers, booleans,
                choices of a text (``Literal``, ``Enum``, ``enum``, ``oneOf`` of ``const`` and
                ``title``), or lists of such choices.
            owner: What it belongs to, such as ``tool 'refund'``, for error messages.

        Raises:
            RegistrationError: It asks for anything else.
        """
        return _from_anything(schema, owner)

    def requested(self, revision: Revision) -> dict[str, Any]:
        """The ``requestedSchema``, as a revision writes it.

        Raises:
            FormNotInRevision: The revision has no forms, or not all that this one asks for.
        """
        if not revision.elicitation:
            raise FormNotInRevision(f"{self._owner}: {revision.name} has no forms")
        properties = {each.name: self._written(each, revision) for each in self._properties}
        schema: dict[str, Any] = {"type": "object", "properties": properties}
        required = [each.name for each in self._properties if each.required]
        return {**schema, "required": required} if required else schema

    def _written(self, asked: _Property, revision: Revision) -> Schema:
        kind = next((kind for kind in asked.ways if kind in revision.fields), None)
        if kind is None:
            raise FormNotInRevision(
                f"{self._owner}: property {quote(asked.name)}: {revision.name} has no choice of several values"
            )
        return copy.deepcopy(revision.shape(kind, asked.ways[kind]))

    def accept(self, content: Any) -> Any:
        """Check what an accepted form brought back, and convert it.

        Properties that were not asked for are dropped. What may be missing from a dict, and has no
        default, may also be ``null``.

        Args:
            content: As the JSON decoder gives it; ``None`` if there is none, as for an empty form.

        Returns:
            An instance of the declared class; a dict for a TypedDict or a JSON Schema. Defaults are
            filled in.

        Raises:
            FormErrors: It does not fit; all problems are told at once.
        """
        faults = self._faults(content)
        if faults:
            raise FormErrors(*problems(faults))
        given = self._given(content)
        fills = {p.name: copy.copy(p.fill) for p in self._properties if p.fill is not msgspec.UNSET}
        try:
            # A class may have rules of its own, beyond those that the form shows.
            return self._convert({**fills, **given})
        except Mismatch as error:
            faults = error.faults
        except (OverflowError, ValueError):  # such as an integer that is too large for pydantic's JSON
            faults = [Fault((), "value", "holds a value that cannot be read", None)]
        raise FormErrors(*problems(faults))

    def _given(self, content: dict[str, Any] | None) -> dict[str, Any]:
        given = {} if content is None else content
        asked = [each for each in self._properties if each.name in given]
        return {each.name: given[each.name] for each in asked if given[each.name] is not None or not each.blank}

    def _faults(self, content: Any) -> Sequence[Fault]:
        if content is not None and not isinstance(content, dict):
            return [Fault((), "type", ("object",), content)]
        given = self._given(content)
        return self._validator.faults(given) or _format_faults(self._properties, given)


# --- formats --------------------------------------------------------------------------------------


def _reads(shape: Shape) -> Callable[[str], bool]:
    def reads(text: str) -> bool:
        try:
            shape.convert(text)
        except Mismatch:
            return False
        return True

    return reads


# Format -> what fits it, and what that is called.
_FORMATS: Mapping[str, tuple[Callable[[str], Any], str]] = {
    "date": (_reads(SCALARS[datetime.date]), "a date such as 2026-07-28"),
    "date-time": (_reads(SCALARS[datetime.datetime]), "a date and time such as 2026-07-28T09:30:00Z"),
    # Whether there is such an address only a message to it can tell.
    "email": (re.compile(r"[^@\s]+@[^@\s]+").fullmatch, "an e-mail address such as ada@example.com"),
    "uri": (is_uri, "a URI such as https://example.com/"),
}


def _format_faults(properties: Iterable[_Property], given: Mapping[str, Any]) -> list[Fault]:
    found = []
    for each in properties:
        value = given.get(each.name)
        if "format" in each.schema and value is not None:
            fits, words = _FORMATS[each.schema["format"]]
            if not fits(value):
                found.append(Fault((each.name,), "value", f"{quote(value)} is not {words}", value))
    return found


# --- properties -----------------------------------------------------------------------------------

_SCALARS: Mapping[str, str] = {
    "string": "StringSchema",
    "number": "NumberSchema",
    "integer": "NumberSchema",
    "boolean": "BooleanSchema",
}
# What else has a form in JSON, and what to do about it.
_WAYS_OUT: Mapping[Any, str] = {
    "object": "is an object, but a form is flat: ask for its parts one by one",
    "array": "is a list of anything, but a form has lists of choices only: use list[Literal[...]] or items with enum",
    None: "has no single type: use text, a number, a boolean or a choice",
}


class _NoForm(Exception):
    """A form cannot ask for a property; the text says why, and the way out."""


def _read(name: str, part: Any, *, required: bool, nullable: bool = False) -> _Property:
    """Read the schema of a property.

    Raises:
        _NoForm: A form cannot have it.
    """
    if not isinstance(part, dict):
        raise _NoForm(_WAYS_OUT[None])
    ways, check = _ways(part)
    kind, schema = next(iter(ways.items()))
    known = MODERN[0].fields[kind]
    if not all(isinstance(schema.get(remark, ""), str) for remark in ("title", "description", "format")):
        raise _NoForm("title, description and format take text")
    unknown = sorted(schema.keys() - known)
    if unknown:
        raise _NoForm(
            f"a form cannot say {', '.join(unknown)}: leave it out, and check the answer yourself; "
            f"what it can say here is {', '.join(sorted(known - {'type'}))}"
        )
    if schema.get("format", "date") not in _FORMATS:
        raise _NoForm(f"the format {quote(schema['format'])} is none of {', '.join(_FORMATS)}: take plain text")
    if nullable:
        check = {"anyOf": [check, {"type": "null"}]}
    return _Property(name, ways, check, required)


def _ways(part: Schema) -> tuple[Mapping[str, Schema], Schema]:
    """How a property is written as which wire types, and the schema for what comes back."""
    kind = part.get("type")
    if kind == "array":
        return _several(part)
    if "enum" in part or "oneOf" in part:
        return _one(part)
    if not isinstance(kind, str) or kind not in _SCALARS:
        raise _NoForm(_WAYS_OUT.get(kind if isinstance(kind, str) else None, _WAYS_OUT[None]))
    return {_SCALARS[kind]: part}, part


def _one(part: Schema) -> tuple[Mapping[str, Schema], Schema]:
    if "oneOf" in part:
        values, titles = _titled(part["oneOf"])
        rest = {keyword: value for keyword, value in part.items() if keyword != "oneOf"}
        legacy = {**rest, "enum": values, "enumNames": titles}
        ways = {"TitledSingleSelectEnumSchema": part, "LegacyTitledEnumSchema": legacy}
    elif "enumNames" in part:
        # Every revision knows it, and whoever writes it has clients that look for it.
        values = _named(part["enum"], part["enumNames"])
        ways = {"LegacyTitledEnumSchema": part}
    else:
        values = part["enum"]
        ways = {"UntitledSingleSelectEnumSchema": part, "LegacyTitledEnumSchema": part}
    return ways, _options(values, part)


def _several(part: Schema) -> tuple[Mapping[str, Schema], Schema]:
    items = part.get("items")
    if isinstance(items, dict) and items.keys() == {"anyOf"}:
        kind, options = "TitledMultiSelectEnumSchema", _options(_titled(items["anyOf"])[0], {"type": "string"})
    elif isinstance(items, dict) and items.keys() == {"type", "enum"}:
        kind, options = "UntitledMultiSelectEnumSchema", _options(items["enum"], items)
    else:
        raise _NoForm(_WAYS_OUT["array"])
    sizes: Schema = {keyword: part[keyword] for keyword in ("minItems", "maxItems") if keyword in part}
    return {kind: part}, {"type": "array", "items": options, **sizes}


def _options(values: list[Any], part: Schema) -> Schema:
    if part.get("type") != "string" or not all(isinstance(value, str) for value in values):
        raise _NoForm("has choices that are no texts: give them text values, and type: string")
    if not values or len(set(values)) < len(values):
        raise _NoForm("has no choices, or one of them twice")
    return {"type": "string", "enum": values}


def _titled(options: Any) -> tuple[list[Any], list[Any]]:
    if not all(isinstance(option, dict) and option.keys() == {"const", "title"} for option in options):
        raise _NoForm("has alternatives: in a form each of them is a text's const and its title, and nothing else")
    titles = [option["title"] for option in options]
    return _named([option["const"] for option in options], titles), titles


def _named(values: list[Any], names: Any) -> list[Any]:
    """The values, if there is a title for each."""
    if not isinstance(names, list) or len(names) != len(values) or not all(isinstance(name, str) for name in names):
        raise _NoForm("needs one title, a text, for each choice")
    return values


# --- whole forms ----------------------------------------------------------------------------------


def _form(owner: str, properties: Sequence[_Property], convert: Callable[[dict[str, Any]], Any]) -> Form:
    schema: Schema = {"type": "object", "properties": {each.name: each.check for each in properties}}
    try:
        validator = Validator({**schema, "required": [each.name for each in properties if each.required]})
    except SchemaError as error:
        raise RegistrationError(f"{owner}: the form {error}") from error
    defaults = {each.name: each.schema["default"] for each in properties if "default" in each.schema}
    faults = [fault for fault in validator.faults(defaults) if fault.keyword != "required"]
    for problem in problems(faults or _format_faults(properties, defaults))[0]:
        raise RegistrationError(
            f"{owner}: property {problem.path}: its default does not fit: {problem.message}; change one of them"
        )
    return Form(owner, tuple(properties), validator, convert)


def _refusal(owner: str, name: str, problem: _NoForm) -> RegistrationError:
    return RegistrationError(f"{owner}: property {quote(name)}: {problem}")


# What a hand-written schema may have besides; a form does not say it.
_UNSAID = frozenset({"$schema", "additionalProperties", "description", "title"})


def _from_anything(schema: Any, owner: str) -> Form:
    if isinstance(schema, Mapping):
        return _from_schema(schema, owner)
    # A class can be hashed; with type arguments it may hold what cannot.
    plain = isinstance(schema, type) and get_origin(schema) is None
    return _of_class(schema, owner) if plain else _from_class(schema, owner)


def _from_schema(schema: Mapping[str, Any], owner: str) -> Form:
    try:
        document = Validator(schema).schema
    except SchemaError as error:
        raise RegistrationError(f"{owner}: the schema of the form {error}") from error
    if document.get("type") != "object":
        raise RegistrationError(f"{owner}: the schema of a form must have type: object at its root")
    strange = sorted(document.keys() - _UNSAID - {"type", "properties", "required"})
    if strange or not isinstance(document.get("additionalProperties", False), bool):
        told = ", ".join(strange) or "additionalProperties"
        raise RegistrationError(f"{owner}: a form cannot say {told}: list its properties, and leave that out")
    parts, required = document.get("properties", {}), document.get("required", [])
    for name in required:
        if name not in parts:
            raise RegistrationError(f"{owner}: property {quote(name)} is required, but not there: add or remove it")
    properties, fields = [], []
    for name, part in parts.items():
        try:
            asked = _read(name, part, required=name in required)
        except _NoForm as problem:
            raise _refusal(owner, name, problem) from None
        whole = SCALARS[int] if part["type"] == "integer" else ANYTHING
        fields.append(Field(name, name, whole, required=False))
        if not asked.required:
            fill = part.get("default", msgspec.UNSET)
            asked = msgspec.structs.replace(asked, fill=fill, blank=fill is msgspec.UNSET)
        properties.append(asked)
    return _form(owner, properties, record(fields, None, closed=False).convert)


def _from_class(hint: Any, owner: str) -> Form:
    origin = get_origin(hint) or hint
    if not has_members(origin) and not hasattr(origin, "__pydantic_validator__"):
        raise RegistrationError(
            f"{owner}: a form is a dataclass, TypedDict, msgspec Struct, pydantic model or JSON Schema, "
            f"not {shorten(repr(hint)) if isinstance(origin, type) else kind_of(hint)}"
        )
    compiler = Compiler()
    try:
        shape = compiler.shape(hint)
        schema = inlined(shape.schema, compiler.defs)
    except (Unsupported, SchemaError) as error:
        raise RegistrationError(f"{owner}: {error}") from error
    if schema.get("type") != "object":
        raise RegistrationError(f"{owner}: {origin.__name__} is no object with named members: use a dataclass")
    enums = _enums(hint, origin)
    properties = []
    for name, part in schema.get("properties", {}).items():
        plain, nullable = _simplified(part)
        needed = name in schema.get("required", ())
        required = needed and not nullable and "default" not in plain
        # Any other default is left to the class, which has more ways to make one than JSON has.
        fill = plain.get("default", None if needed and nullable else msgspec.UNSET)
        try:
            asked = _read(name, _with_titles(plain, enums.get(name)), required=required, nullable=nullable)
        except _NoForm as problem:
            raise _refusal(owner, name, problem) from None
        if needed or issubclass(origin, dict):
            blank = not needed and not nullable and fill is msgspec.UNSET
            asked = msgspec.structs.replace(asked, fill=fill, blank=blank)
        properties.append(asked)
    return _form(owner, properties, shape.convert)


# Handlers give the same class at every call, and reading it takes milliseconds.
_of_class = functools.lru_cache(maxsize=256)(_from_class)

# Keywords that say nothing to a user: what the class asks for is kept all the same.
_DROPPED = frozenset({"$comment", "deprecated", "examples", "readOnly", "uniqueItems", "writeOnly"})
# What has the same meaning for integers, if it is moved by one.
_EXCLUSIVE: Mapping[str, tuple[str, Callable[[int, int], int], int]] = {
    "exclusiveMinimum": ("minimum", max, 1),
    "exclusiveMaximum": ("maximum", min, -1),
}


def _simplified(part: Schema) -> tuple[Schema, bool]:
    """The schema that a type was turned into, as a form can say it, and whether ``None`` will do."""
    branches = part.get("anyOf", ())
    some = [branch for branch in branches if branch != {"type": "null"}]
    nullable = len(some) < len(branches)
    if nullable and len(some) == 1:
        part = {**some[0], **{keyword: value for keyword, value in part.items() if keyword != "anyOf"}}
    nullable = nullable or None in part.get("enum", ())
    plain = {k: v for k, v in part.items() if k not in _DROPPED and (k, v) != ("default", None) and k[:2] != "x-"}
    for keyword, (inclusive, stricter, step) in _EXCLUSIVE.items():
        if plain.get("type") == "integer" and type(plain.get(keyword)) is int:
            bound = plain.pop(keyword) + step
            plain[inclusive] = stricter(bound, plain.get(inclusive, bound))
    if isinstance(plain.get("items"), dict):
        options = _choice(plain["items"])
        plain["items"] = {keyword: options[keyword] for keyword in ("type", "enum") if keyword in options}
    return _choice(plain), nullable


def _choice(part: Schema) -> Schema:
    """A choice written with ``enum``, whose values are never null; anything else as it is."""
    if "const" not in part and "enum" not in part:
        return part
    values = [value for value in part.get("enum", [part.get("const")]) if value is not None]
    rest = {keyword: value for keyword, value in part.items() if keyword != "const"}
    if all(isinstance(value, str) for value in values):
        rest["type"] = "string"
    return {**rest, "enum": values}


def _with_titles(part: Schema, kind: type[enum.Enum] | None) -> Schema:
    """A choice with the names of an Enum's members as titles, if they say more than the values."""
    several = isinstance(part.get("items"), dict)
    values = (part["items"] if several else part).get("enum", ())
    names = {member.value: member.name for member in kind or () if isinstance(member.value, str)}
    if not all(isinstance(value, str) and value in names for value in values):
        return part
    if all(names[value] == value for value in values):
        return part
    titled = [{"const": value, "title": names[value]} for value in values]
    if several:
        return {**part, "items": {"anyOf": titled}}
    return {**{keyword: value for keyword, value in part.items() if keyword != "enum"}, "oneOf": titled}


def _enums(hint: Any, origin: Any) -> dict[str, type[enum.Enum]]:
    """The Enum that is chosen from, for each property that has one."""
    pydantic = getattr(origin, "__pydantic_fields__", None)
    if pydantic is not None:
        hints = {getattr(field, "validation_alias", None) or name: field.annotation for name, field in pydantic.items()}
    else:
        hints = {member.name: member.hint for member in members_of(hint, origin, {}, sending=False).members}
    found = {name: _enum_in(each) for name, each in hints.items() if isinstance(name, str)}
    return {name: kind for name, kind in found.items() if kind is not None}


def _enum_in(hint: Any) -> type[enum.Enum] | None:
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return hint
    if isinstance(hint, enum.Enum):
        return type(hint)
    meant = getattr(hint, "__value__", getattr(hint, "__supertype__", None))
    inside = get_args(hint)[:1] if get_origin(hint) is Annotated else get_args(hint)
    kinds = (_enum_in(part) for part in (*inside, meant) if part is not None)
    return next((kind for kind in kinds if kind is not None), None)
