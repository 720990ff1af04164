"""What goes into a tool or prompt and what comes out, compiled once and held against every call.

Signatures become JSON Schema and a converter (``typehints``); hand-written schemas are validated as
they are (``jsonschemas``). Each check has a quick way, run in C, that only ever says "valid", and a
careful way that finds all problems and has the last word.
"""

from __future__ import annotations

import inspect
import logging
import re
import types
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from typing import Annotated, Any, NoReturn, Union, get_args, get_origin

import msgspec

from mcp_wsgi.checks import kind_of
from mcp_wsgi.content import Block, Content
from mcp_wsgi.docstrings import Docs, describe
from mcp_wsgi.effort import TooMuchEffort, bounded
from mcp_wsgi.encoding import OutputError, to_json
from mcp_wsgi.errors import RegistrationError
from mcp_wsgi.headerparams import HeaderParam, argument_at, header_params, header_value_matches
from mcp_wsgi.jsonschemas import Schema, SchemaError, Validator, admits_text, inlined
from mcp_wsgi.problems import ArgumentErrors, Mismatch, Problem, problems, quote
from mcp_wsgi.quickcheck import quick_type
from mcp_wsgi.shapes import Field, parse_json, record, understood
from mcp_wsgi.signatures import read_parameters, return_hint
from mcp_wsgi.typehints import Compiler, Unsupported

__all__ = [
    "ArgumentErrors",
    "Arguments",
    "Docs",
    "HeaderParam",
    "Output",
    "OutputError",
    "Problem",
    "StringArguments",
    "argument_at",
    "check_name",
    "describe",
    "header_value_matches",
    "promises_content_list",
    "to_json",
]

_log = logging.getLogger("mcp_wsgi")

_Bind = Callable[[dict[str, Any]], dict[str, Any]]


# --- input ----------------------------------------------------------------------------------------


class Arguments:
    """The input side of a tool.

    Attributes:
        schema: JSON Schema as it is listed.
        headers: The arguments that clients repeat in HTTP headers.
    """

    def __init__(self, schema: Schema, quick: _Bind, careful: _Bind) -> None:
        self.schema = schema
        self.headers: tuple[HeaderParam, ...] = header_params(schema)
        self._quick = quick
        self._careful = careful
        self._carefully = bounded(self._check)
        properties = schema.get("properties", {})
        self._no_text = frozenset(name for name, part in properties.items() if not admits_text(part, schema))

    @classmethod
    def from_function(cls, function: Callable[..., Any], *, owner: str, skip: Container[str] = ()) -> Arguments:
        """Make the schema from a signature; descriptions come out of the docstring.

        Args:
            function: A function, bound method, partial or callable object.
            owner: What it belongs to, such as ``tool 'add'``, for error messages.
            skip: Parameters that are not the client's.

        Raises:
            RegistrationError: A parameter cannot be given by name, or its type has no JSON form.
        """
        parameters = read_parameters(function, owner=owner, skip=skip)
        root = record(parameters.fields, None, closed=True)
        try:
            schema = inlined(root.schema, parameters.defs)
            quick = _converting(parameters.fields) or bounded(root.convert)
            if parameters.supplied:
                return cls(
                    schema, _supplying(quick, parameters.supplied), _supplying(root.convert, parameters.supplied)
                )
            return cls(schema, quick, root.convert)
        except SchemaError as error:
            raise RegistrationError(f"{owner}: the input schema {error}") from error

    @classmethod
    def from_schema(cls, schema: Mapping[str, Any] | None, *, owner: str) -> Arguments:
        """Take a hand-written schema as it is.

        Args:
            schema: JSON Schema with ``type: object`` at its root; ``None``: there are no arguments.
            owner: What it belongs to, for error messages.

        Raises:
            RegistrationError: It is invalid, or cannot be used here (see ``jsonschemas``).

        Source: server/tools, "Tool"; basic/index, "JSON Schema Usage".
        """
        if schema is None:
            nothing = record((), None, closed=True)
            return cls(nothing.schema, nothing.convert, nothing.convert)
        if not isinstance(schema, Mapping):
            raise RegistrationError(f"{owner}: the input schema is a dict, not {kind_of(schema)}")
        if schema.get("type") != "object":
            raise RegistrationError(f"{owner}: the input schema must have type: object at its root")
        try:
            validator = Validator(schema)
            return cls(validator.schema, *_validating(validator))
        except SchemaError as error:
            raise RegistrationError(f"{owner}: the input schema {error}") from error

    def bind(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Check arguments and convert them.

        An argument that is no text, but was sent as JSON in a string, is decoded once: clients do this.

        Args:
            arguments: As the JSON decoder gives them.

        Returns:
            Keyword arguments for the function; what is left to its defaults is not among them.

        Raises:
            ArgumentErrors: They do not fit; all problems are told at once.
        """
        try:
            return self._quick(arguments)
        except TooMuchEffort as error:
            raise ArgumentErrors(*problems([error.fault])) from None
        except (msgspec.ValidationError, Mismatch, RecursionError):
            pass
        try:
            return self._carefully(arguments)
        except Mismatch as error:
            raise ArgumentErrors(*problems(error.faults)) from None
        except TooMuchEffort as error:
            raise ArgumentErrors(*problems([error.fault])) from None
        except RecursionError:
            raise ArgumentErrors([Problem("", "too deeply nested to be checked")]) from None

    def _check(self, arguments: dict[str, Any]) -> dict[str, Any]:
        try:
            return self._careful(arguments)
        except Mismatch:
            decoded = self._decoded(arguments)
            if decoded is None:
                raise
        return self._careful(decoded)

    def _decoded(self, arguments: Any) -> dict[str, Any] | None:
        if not isinstance(arguments, dict):
            return None
        found = {}
        for name in self._no_text & arguments.keys():
            value = arguments[name]
            if isinstance(value, str):
                decoded = parse_json(value)
                if not isinstance(decoded, str):
                    found[name] = decoded
        return {**arguments, **found} if found else None


def _converting(fields: Iterable[Field]) -> _Bind | None:
    """The quick way for a signature: one conversion in C, then those that only Python can do."""
    types_, rest = [], []
    for field in fields:
        exact = field.shape.exact if understood(field.shape.exact) else None
        if exact is None:
            rest.append((field.name, field.shape))
        types_.append((field.name, Any if exact is None else exact, *(() if field.required else (None,))))
    try:
        struct = msgspec.defstruct("Arguments", types_, kw_only=True, forbid_unknown_fields=True)
    except (TypeError, ValueError, RuntimeError):  # a name that a Struct cannot have
        return None
    convert = msgspec.convert

    def bind(arguments: dict[str, Any]) -> dict[str, Any]:
        made = convert(arguments, struct)
        return {name: getattr(made, name) for name in arguments}

    def bind_rest(arguments: dict[str, Any]) -> dict[str, Any]:
        bound = bind(arguments)
        for name, shape in rest:
            if name in bound:
                bound[name] = shape.convert(bound[name])
        return bound

    return bounded(bind_rest) if rest else bind


def _supplying(bind: _Bind, defaults: Mapping[str, Callable[[], Any]]) -> _Bind:
    def supplying(arguments: dict[str, Any]) -> dict[str, Any]:
        bound = bind(arguments)
        for name, make in defaults.items():
            if name not in bound:
                bound[name] = make()
        return bound

    return supplying


def _validating(validator: Validator) -> tuple[_Bind, _Bind]:
    """The quick and the careful way for a hand-written schema: both leave the arguments as they are."""
    quick = quick_type(validator.schema)

    def careful(arguments: dict[str, Any]) -> dict[str, Any]:
        faults = validator.faults(arguments)
        if faults:
            raise Mismatch(faults)
        return arguments

    def check(arguments: dict[str, Any]) -> dict[str, Any]:
        msgspec.convert(arguments, quick)
        return arguments

    return (careful if quick is None else check), careful


class StringArguments:
    """The input side of a prompt or a URI template, whose values all come as text.

    Attributes:
        names: For each parameter its name, whether it is required, and its description.
    """

    def __init__(self, fields: Iterable[Field], supplied: Mapping[str, Callable[[], Any]]) -> None:
        self.names: tuple[tuple[str, bool, str | None], ...] = tuple(
            (field.name, field.required, field.schema.get("description")) for field in fields
        )
        self._bind = _supplying(bounded(record(tuple(fields), None, closed=True, lax=True).convert), supplied)

    @classmethod
    def from_function(cls, function: Callable[..., Any], *, owner: str, skip: Container[str] = ()) -> StringArguments:
        """Read a signature.

        Args:
            function: A function, bound method, partial or callable object.
            owner: What it belongs to, such as ``prompt 'greet'``, for error messages.
            skip: Parameters that are not the client's.

        Raises:
            RegistrationError: A parameter cannot be given by name, or its type has no JSON form.
        """
        parameters = read_parameters(function, owner=owner, skip=skip)
        return cls(parameters.fields, parameters.supplied)

    def bind(self, arguments: Mapping[str, str]) -> dict[str, Any]:
        """Convert texts to what the parameters are typed as.

        Numbers and dates are read as they are usually written, booleans as ``true``, ``false``, ``1``
        or ``0``, lists and objects as JSON.

        Returns:
            Keyword arguments for the function; what is left to its defaults is not among them.

        Raises:
            ArgumentErrors: They do not fit; all problems are told at once.
        """
        try:
            return self._bind(dict(arguments))
        except (Mismatch, TooMuchEffort) as error:
            faults = error.faults if isinstance(error, Mismatch) else [error.fault]
            raise ArgumentErrors(*problems(faults)) from None


# --- output ---------------------------------------------------------------------------------------


class Output:
    """The output side of a tool that returns structured data.

    Attributes:
        schema: JSON Schema as it is listed.
        is_object: Whether it says that results are objects; only such can be shown to clients of the
            session era.
    """

    def __init__(self, schema: Schema, validator: Validator | None = None) -> None:
        self.schema = schema
        self.is_object = schema.get("type") == "object"
        self._has_bytes = b'"contentEncoding"' in msgspec.json.encode(schema)
        self._quick = quick_type(schema)
        # Without a quick way the first call should not be the one to load the library.
        self._validator = Validator(schema) if validator is None and self._quick is None else validator

    @classmethod
    def from_schema(cls, schema: Mapping[str, Any], *, owner: str) -> Output:
        """Take a hand-written schema as it is.

        Raises:
            RegistrationError: It is invalid, or cannot be used here (see ``jsonschemas``).
        """
        if not isinstance(schema, Mapping):
            raise RegistrationError(f"{owner}: the output schema is a dict, not {kind_of(schema)}")
        try:
            validator = Validator(schema)
        except SchemaError as error:
            raise RegistrationError(f"{owner}: the output schema {error}") from error
        return cls(validator.schema, validator)

    @classmethod
    def from_annotation(cls, annotation: Any, *, owner: str) -> Output | None:
        """Make the schema from the annotation of what a function returns.

        Args:
            annotation: Evaluated; ``inspect.Signature.empty`` if there is none.
            owner: What it belongs to, for error messages.

        Returns:
            ``None`` if it promises no structured data: text, bytes, nothing, content, ``Any``; or
            data or content, as it comes.

        Raises:
            RegistrationError: The type has no JSON form, or holds content inside data.
        """
        if _is_content(annotation) or _may_be_content(annotation):
            return None
        compiler = Compiler(sending=True)
        try:
            shape = compiler.shape(annotation)
            return cls(inlined(shape.schema, compiler.defs))
        except (Unsupported, SchemaError) as error:
            raise RegistrationError(f"{owner}: return annotation: {error}") from error

    def dump(self, value: Any) -> Any:
        """Turn a result into JSON builtins, and make sure that they fit the schema.

        Raises:
            OutputError: It cannot be encoded, or is not what the schema promises.

        Source: server/tools, "Output Schema".
        """
        data = to_json(value, promised_bytes=self._has_bytes)
        if self._quick is not None:
            try:
                msgspec.convert(data, self._quick)
            except (msgspec.ValidationError, RecursionError):
                pass
            else:
                return data
        if self._validator is None:
            self._validator = Validator(self.schema)
        faults = self._validator.faults(data, trusted=True)
        if faults:
            told, more = problems(faults, noun="property")
            raise OutputError("the result is not what the output schema says: " + str(ArgumentErrors(told, more)))
        return data


def _is_content(annotation: Any) -> bool:
    """Whether a return annotation promises text, content or nothing in particular."""
    if get_origin(annotation) is Annotated:
        return _is_content(get_args(annotation)[0])
    if get_origin(annotation) in _UNIONS:
        return all(_is_content(member) for member in get_args(annotation))
    if _is_list(annotation):
        members = [member for member in get_args(annotation) if member is not ...] or [Any]
        # A list of nothing but text is data, as a list of names is.
        return all(_is_content(member) for member in members) and any(_may_be_block(member) for member in members)
    return annotation in _NO_DATA or _may_be_block(annotation)


def _may_be_content(annotation: Any) -> bool:
    """Whether only the value tells if it is content: one alternative, or kind of item, is."""
    kinds = [kind for part in _alternatives(annotation) for kind in (part, *_items(part))]
    return any(isinstance(kind, type) and issubclass(kind, Content) for kind in kinds)


def promises_content_list(function: Callable[..., Any], *, owner: str) -> bool:
    """Whether a function says that its lists, and so its empty lists, are content.

    Raises:
        RegistrationError: The annotation cannot be evaluated.
    """
    listed = [item for part in _alternatives(return_hint(function, owner=owner)) for item in _items(part)]
    kinds = [kind for kind in listed if kind is not ...]
    return all(_is_block(kind) or kind is str for kind in kinds) and any(map(_is_block, kinds))


def _alternatives(annotation: Any) -> list[Any]:
    """The members of a union; of anything else, itself."""
    if get_origin(annotation) is Annotated:
        return _alternatives(get_args(annotation)[0])
    if type(annotation).__name__ == "TypeAliasType":
        return _alternatives(annotation.__value__)
    if get_origin(annotation) in _UNIONS:
        return [part for member in get_args(annotation) for part in _alternatives(member)]
    return [annotation]


def _items(annotation: Any) -> list[Any]:
    """What a list may hold; of anything else, nothing."""
    return [part for arg in get_args(annotation) for part in _alternatives(arg)] if _is_list(annotation) else []


def _is_list(annotation: Any) -> bool:
    return (get_origin(annotation) or annotation) in _LISTS


def _is_block(kind: Any) -> bool:
    return kind is bytes or (isinstance(kind, type) and issubclass(kind, get_args(Block)))


def _may_be_block(annotation: Any) -> bool:
    if get_origin(annotation) in _UNIONS:
        return any(_may_be_block(member) for member in get_args(annotation))
    return annotation in (Any, object, bytes) or (isinstance(annotation, type) and issubclass(annotation, Content))


_UNIONS = (Union, types.UnionType)
_LISTS = (list, tuple, Sequence, Collection, Iterable)
_NO_DATA = (inspect.Signature.empty, None, type(None), NoReturn, str, bytes, Any, object)


# --- names ----------------------------------------------------------------------------------------

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
# Longer names, and names with dots, are refused by widely deployed clients.
_PORTABLE_LENGTH = 64


def check_name(kind: str, name: Any) -> None:
    """Check the name of a tool.

    Args:
        kind: What it names, for the messages.
        name: 1 to 128 of ``A-Za-z0-9_-.``; a warning is logged for what known clients refuse.

    Raises:
        RegistrationError: It is no such name.

    Source: server/tools, "Tool Names".
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise RegistrationError(f"{kind} name {quote(name)}: use 1 to 128 of A-Z, a-z, 0-9, _, - and .")
    if "." in name or len(name) > _PORTABLE_LENGTH:
        _log.warning(
            "%s name %r: known clients refuse dots, and names of more than %d characters", kind, name, _PORTABLE_LENGTH
        )
