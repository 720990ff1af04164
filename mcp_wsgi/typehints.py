"""Type hints read into shapes.

One ``Compiler`` reads the hints of one signature. Types with a name (classes, aliases) become entries
of ``defs`` that their users refer to, so that recursive types end; whoever writes the schema out may
put them back in place (``jsonschemas.inlined``).
"""

from __future__ import annotations

import collections
import collections.abc
import enum
import functools
import operator
import pathlib
import re
import sys
import types
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin

import msgspec

from mcp_wsgi.constraints import annotated, constrained, read_metadata
from mcp_wsgi.content import Content
from mcp_wsgi.docstrings import innermost
from mcp_wsgi.encoding import OutputError, to_json
from mcp_wsgi.excerpts import shorten
from mcp_wsgi.headerparams import HEADER_KEYWORD
from mcp_wsgi.jsonschemas import rebuilt
from mcp_wsgi.members import Member, has_members, members_of, qualifier
from mcp_wsgi.problems import Fault, Mismatch
from mcp_wsgi.shapes import (
    ANYTHING,
    DECIMAL_SENT,
    SCALARS,
    Field,
    Schema,
    Shape,
    array,
    choice,
    fixed_array,
    mapping,
    record,
    subclass,
    union,
)

__all__ = ["Compiler", "Unsupported", "evaluate", "remark_default", "scope_of"]


class Unsupported(Exception):
    """A type hint has no JSON form; the text says which, and what to do about it."""


def evaluate(hint: Any, scope: Mapping[str, Any]) -> Any:
    """Evaluate a hint that may be, or hold, text.

    Raises:
        Unsupported: The text names something that does not exist in ``scope``.
    """

    def probe() -> None: ...

    probe.__annotations__ = {"it": hint}
    try:
        return typing.get_type_hints(probe, dict(scope), include_extras=True)["it"]
    except Exception as error:  # whatever evaluating the application's own source raises
        text = getattr(hint, "__forward_arg__", hint)
        raise Unsupported(f"{text!r} cannot be evaluated ({error}): import or define it at module level") from error


def scope_of(function: Any) -> dict[str, Any]:
    """The names that the annotations of a function may use: its module's, and those it closes over."""
    inner = innermost(function)
    code, cells = getattr(inner, "__code__", None), getattr(inner, "__closure__", None) or ()
    scope = dict(getattr(inner, "__globals__", {}))
    for name, cell in zip(code.co_freevars if code else (), cells, strict=False):
        try:
            scope[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return scope


def remark_default(default: Any) -> dict[str, Any]:
    """The ``default`` keyword, if JSON can say it."""
    try:
        return {"default": to_json(default)}
    except OutputError:
        return {}


# --- tables ----------------------------------------------------------------------------------------

_DECIMAL = next(hint for hint in SCALARS if getattr(hint, "__name__", "") == "Decimal")

# Container -> what the list is turned into, and the msgspec type for that, given its items'.
_ARRAYS: Mapping[Any, tuple[Any, Any]] = {
    **dict.fromkeys(
        (
            list,
            collections.abc.Sequence,
            collections.abc.MutableSequence,
            collections.abc.Collection,
            collections.abc.Iterable,
        ),
        (None, lambda item: _subscripted(list, item)),
    ),
    collections.deque: (collections.deque, None),
    frozenset: (frozenset, None),
    set: (set, None),
    collections.abc.Set: (set, None),
    collections.abc.MutableSet: (set, None),
}
_MAPPINGS: Mapping[Any, Any] = {
    dict: None,
    collections.abc.Mapping: None,
    collections.abc.MutableMapping: None,
    collections.OrderedDict: collections.OrderedDict,
}


def _is_alias(hint: Any) -> bool:
    return type(hint).__name__ == "TypeAliasType"


def _is_class(*bases: type) -> Callable[[Any], bool]:
    return lambda origin: isinstance(origin, type) and issubclass(origin, bases)


# --- the compiler ----------------------------------------------------------------------------------


class Compiler:
    """Reads type hints into shapes.

    Args:
        scope: Names that hints given as text may use.
        sending: Whether the schemas are of what we send; such objects may have more properties.

    Attributes:
        defs: The schemas of all named types read so far, as ``$defs`` has them.
    """

    def __init__(self, scope: Mapping[str, Any] | None = None, *, sending: bool = False) -> None:
        self.defs: dict[str, Schema] = {}
        self._scope = scope or {}
        self._sending = sending
        self._known: dict[Any, Shape] = {}

    def shape(self, hint: Any) -> Shape:
        """Read one hint.

        Raises:
            Unsupported: It, or a type inside, has no JSON form.
        """
        origin = get_origin(hint) or hint
        if hint is None:
            hint = origin = type(None)
        try:
            form = self._forms.get(origin)
        except TypeError:  # not hashable, so no type
            form = None
        if form is not None:
            return form(self, hint)
        for kind, read in self._kinds:
            if kind(origin):
                return read(self, hint, origin)
        raise Unsupported(f"{_name(hint)} has no JSON form: use a dataclass or built-in types, or Any")

    # Typing's own forms

    def _scalar(self, hint: Any) -> Shape:
        if self._sending and SCALARS[hint].schema is SCALARS[_DECIMAL].schema:
            return Shape(DECIMAL_SENT, SCALARS[hint].convert, SCALARS[str].natives)
        return SCALARS[hint]

    def _annotated(self, hint: Any) -> Shape:
        base, *metadata = get_args(hint)
        try:
            notes = read_metadata(metadata)
            if HEADER_KEYWORD in notes.schema:
                base = _without_null(base)
            shape = (
                self._by_pydantic(_subscripted(Annotated, (base, *notes.rules))) if notes.rules else self.shape(base)
            )
            return annotated(shape, notes)
        except ValueError as error:
            raise Unsupported(f"{_name(base)}: {error}") from error

    def _union(self, hint: Any) -> Shape:
        return union([self.shape(member) for member in get_args(hint) if member is not msgspec.UnsetType])

    def _literal(self, hint: Any) -> Shape:
        options = [(o.value, o) if isinstance(o, enum.Enum) else (o, o) for o in get_args(hint)]
        _check_options(hint, options)
        return choice(options, exact=hint if all(sent is got for sent, got in options) else None)

    def _qualified(self, hint: Any, _: Any) -> Shape:
        return self.shape(get_args(hint)[0])

    def _array(self, hint: Any) -> Shape:
        make, exact = _ARRAYS[get_origin(hint) or hint]
        kind = next(iter(get_args(hint)), Any)
        item = self.shape(kind)
        if make in (set, frozenset) and _is_unhashable(kind):
            raise Unsupported(f"{_name(hint)}: a set cannot hold {_name(kind)}: use list, or a frozen dataclass")
        return array(item, make, exact)

    def _tuple(self, hint: Any) -> Shape:
        args = get_args(hint)
        if not args and hint in (tuple, typing.Tuple):  # noqa: UP006
            args = (Any, ...)
        if len(args) == 2 and args[1] is ...:
            return array(self.shape(args[0]), tuple, lambda item: _subscripted(tuple, (item, ...)))
        items = [self.shape(arg) for arg in args]
        known = tuple(item.exact for item in items)
        return fixed_array(items, tuple, exact=_subscripted(tuple, known) if known and None not in known else None)

    def _mapping(self, hint: Any) -> Shape:
        key, item = get_args(hint) or (str, Any)
        make = _MAPPINGS[get_origin(hint) or hint]
        try:
            return mapping(self.shape(str if key is Any else key), self.shape(item), make)
        except ValueError as error:
            raise Unsupported(f"{_name(hint)}: {error}, use str") from error

    # Names

    def _text(self, hint: Any, _: Any) -> Shape:
        text = getattr(hint, "__forward_arg__", hint)
        meant = evaluate(hint, self._scope)
        if isinstance(meant, type) or _is_alias(meant):
            return self.shape(meant)
        return self._named((text, str(meant)), text, lambda: self.shape(meant))

    def _new_type(self, hint: Any, _: Any) -> Shape:
        return self.shape(hint.__supertype__)

    def _variable(self, hint: Any, _: Any) -> Shape:
        if hint.__constraints__:
            return self.shape(_subscripted(Union, hint.__constraints__))
        return ANYTHING if hint.__bound__ is None else self.shape(hint.__bound__)

    def _alias(self, hint: Any, origin: Any) -> Shape:
        value = origin.__value__
        if hint is not origin:
            value = value[get_args(hint)]
        return self._named(hint, origin.__name__, lambda: self.shape(value))

    def _named(self, key: Any, name: str, read: Callable[[], Shape]) -> Shape:
        """A shape that may be met again while it is being read."""
        if key in self._known:
            return self._known[key]
        name = self._free_name(name)
        body: Shape

        def later(value: Any) -> Any:
            return body.convert(value)

        shape = self._known[key] = Shape({"$ref": f"#/$defs/{name}"}, later, ANYTHING.natives)
        self.defs[name] = {}
        body = read()
        self.defs[name] = body.schema
        shape.convert, shape.natives, shape.parse, shape.exact = body.convert, body.natives, body.parse, body.exact
        shape.options, shape.tags = body.options, body.tags
        return shape

    def _free_name(self, name: str) -> str:
        plain = re.sub(r"\W+", "_", name).strip("_") or "Type"
        taken = sum(other == plain or other.startswith(f"{plain}__") for other in self.defs)
        return f"{plain}__{taken + 1}" if taken else plain

    # Classes

    def _enumeration(self, hint: Any, _: Any) -> Shape:
        options = [(member.value, member) for member in hint]
        _check_options(hint, options)
        # With a _missing_ of its own, a class takes more values than it lists.
        listed = hint._missing_.__func__ is enum.Enum._missing_.__func__  # type: ignore[attr-defined]
        return choice(options, exact=hint if listed else None)

    def _flags(self, hint: Any, _: Any) -> Shape:
        bits = {name: member.value for name, member in hint.__members__.items()}
        if not bits:
            raise Unsupported(f"{_name(hint)} has no members")
        all_bits = functools.reduce(operator.or_, bits.values())
        shape = constrained(subclass(SCALARS[int], hint), {"minimum": 0, "maximum": all_bits})
        return shape.noted({"description": f"Sum of {', '.join(f'{name}={bit}' for name, bit in bits.items())}"})

    def _content(self, hint: Any, _: Any) -> Shape:
        if self._sending:
            raise Unsupported(
                f"{_name(hint)} is content, and cannot be a part of structured data: "
                "return it alone, in a list of content, or in a ToolResult"
            )
        return self._members(hint, hint)

    def _scalar_subclass(self, hint: Any, _: Any) -> Shape:
        base = next(base for base in (str, int, float) if issubclass(hint, base))
        return subclass(SCALARS[base], hint)

    def _path(self, hint: Any, _: Any) -> Shape:
        return subclass(SCALARS[str], hint)

    def _members(self, hint: Any, origin: Any) -> Shape:
        outer = self._scope
        # Text inside the hints of a class means what it means in the class's own module.
        self._scope = {**outer, **vars(sys.modules.get(origin.__module__, typing)), origin.__name__: origin}
        try:
            return self._named(hint, _name(hint), lambda: self._record(hint, origin))
        finally:
            self._scope = outer

    def _record(self, hint: Any, origin: Any) -> Shape:
        try:
            described = members_of(hint, origin, self._scope, sending=self._sending)
        except ValueError as error:
            raise Unsupported(f"{_name(hint)}: {error}") from error
        if described.positional:
            items = [self._place(member) for member in described.members]
            required = sum(member.required for member in described.members)
            return fixed_array(items, lambda values: described.make(*values), required=required)
        fields = [self._field(member) for member in described.members]
        shape = record(fields, described.make, closed=described.closed and not self._sending)
        if described.text:
            shape.schema["description"] = described.text
        return shape

    def _field(self, member: Member) -> Field:
        notes = {} if member.text is None else {"description": member.text}
        if not member.required:
            notes.update(remark_default(member.default))
        shape = self._member(member)
        notes = {name: note for name, note in notes.items() if name not in shape.schema}
        return Field(member.name, member.target, shape, member.required, notes)

    def _place(self, member: Member) -> Shape:
        """An item of a NamedTuple; its name is a remark, since a list has no names."""
        shape = self._member(member)
        text = shape.schema.get("description", member.text)
        return shape.noted({"description": f"{member.name}: {text}" if text else member.name})

    def _member(self, member: Member) -> Shape:
        try:
            return self.shape(member.hint)
        except Unsupported as error:
            raise Unsupported(f"{member.name}: {error}") from error

    # pydantic

    def _pydantic_class(self, hint: Any, _: Any) -> Shape:
        if hint not in self._known:
            self._known[hint] = self._by_pydantic(hint)
        return self._known[hint]

    def _by_pydantic(self, hint: Any) -> Shape:
        from pydantic import TypeAdapter, ValidationError

        try:
            adapter = TypeAdapter(hint)
            schema = adapter.json_schema(
                mode="serialization" if self._sending else "validation", schema_generator=_generator()
            )
        except Exception as error:  # pydantic has no common root for what it raises here
            raise Unsupported(f"{_name(hint)}: pydantic says: {error}") from error

        def convert(value: Any) -> Any:
            try:
                # As JSON, since what strict models take from JSON they may refuse from Python.
                return adapter.validate_json(msgspec.json.encode(value))
            except ValidationError as error:
                found = error.errors(include_url=False, include_context=False)
                raise Mismatch([Fault(e["loc"], "value", shorten(e["msg"]), e["input"]) for e in found]) from None

        return Shape(self._adopted(schema), convert, ANYTHING.natives)

    def _adopted(self, schema: Schema) -> Schema:
        """A schema that pydantic made, with its definitions among ours and its noise gone."""
        names = {name: self._free_name(name) for name in schema.get("$defs", {})}

        def tidy(part: Schema) -> Schema:
            part = {keyword: value for keyword, value in part.items() if keyword not in ("$defs", "discriminator")}
            ref = part.get("$ref")
            if ref is not None:
                part["$ref"] = f"#/$defs/{names[ref.rpartition('/')[2]]}"
            return part

        for name, definition in schema.get("$defs", {}).items():
            self.defs[names[name]] = rebuilt(_untitled(definition), tidy)
        adopted: Schema = rebuilt(_untitled(schema), tidy)
        return adopted

    # Which of these reads what

    _forms: ClassVar[Mapping[Any, Callable[[Compiler, Any], Shape]]] = {
        **dict.fromkeys(SCALARS, _scalar),
        **dict.fromkeys(_ARRAYS, _array),
        **dict.fromkeys(_MAPPINGS, _mapping),
        Annotated: _annotated,
        Literal: _literal,
        Union: _union,
        types.UnionType: _union,
        tuple: _tuple,
    }

    # What a hint without a form of its own is, and who reads it; the first that fits.
    _kinds: ClassVar[tuple[tuple[Callable[[Any], bool], Callable[[Compiler, Any, Any], Shape]], ...]] = (
        (lambda origin: isinstance(origin, (str, typing.ForwardRef)), _text),
        (lambda origin: qualifier(origin) is not None, _qualified),
        (lambda origin: hasattr(origin, "__supertype__"), _new_type),
        (lambda origin: isinstance(origin, TypeVar), _variable),
        (_is_alias, _alias),
        (
            lambda origin: hasattr(origin, "__get_pydantic_core_schema__") or hasattr(origin, "__pydantic_validator__"),
            _pydantic_class,
        ),
        (_is_class(enum.Flag), _flags),
        (_is_class(enum.Enum), _enumeration),
        (_is_class(Content), _content),
        (has_members, _members),
        (_is_class(pathlib.PurePath), _path),
        (_is_class(str, int, float), _scalar_subclass),
    )


def _untitled(schema: Schema) -> Schema:
    """Without the title that pydantic gives to each class."""
    return {keyword: value for keyword, value in schema.items() if keyword != "title"}


@functools.cache
def _generator() -> Any:
    from pydantic.json_schema import GenerateJsonSchema

    class Untitled(GenerateJsonSchema):
        """Without a title for each property that says its name again."""

        def field_title_should_be_set(self, schema: Any) -> bool:
            return False

    return Untitled


def _check_options(hint: Any, options: list[tuple[Any, Any]]) -> None:
    if not options:
        raise Unsupported(f"{_name(hint)} has no members")
    strange = [sent for sent, _ in options if type(sent) not in (str, int, float, bool, type(None))]
    if strange:
        raise Unsupported(f"{_name(hint)}: {shorten(repr(strange[0]))} is no JSON value, use text or numbers")


def _without_null(hint: Any) -> Any:
    """Of an optional type, the type: a header parameter must be plain, and is left out if there is none."""
    if get_origin(hint) not in (Union, types.UnionType):
        return hint
    return _subscripted(Union, tuple(member for member in get_args(hint) if member is not type(None)))


def _is_unhashable(hint: Any) -> bool:
    """Whether no value of a type can be in a set."""
    origin = get_origin(hint) or hint
    if origin is Annotated:
        return _is_unhashable(get_args(hint)[0])
    if origin in (Union, types.UnionType):
        return all(map(_is_unhashable, get_args(hint)))
    if origin is tuple:
        return ... not in get_args(hint) and any(map(_is_unhashable, get_args(hint)))
    if not isinstance(origin, type) or origin in (set, frozenset):
        return origin is set
    made = _ARRAYS[origin][0] or list if origin in _ARRAYS else dict if origin in _MAPPINGS else origin
    return made.__hash__ is None


def _subscripted(kind: Any, parameter: Any) -> Any:
    return kind[parameter]


def _name(hint: Any) -> str:
    """How a message, or ``$defs``, calls a type."""
    if isinstance(hint, type) and get_origin(hint) is None:
        return hint.__name__
    return re.sub(r"\b(?:[a-z_]\w*\.)+", "", str(hint).replace("<locals>.", ""))
