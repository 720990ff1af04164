"""Signatures and JSON Schema: what goes into a tool and what comes out.  (first minimal version; being completed)"""

from __future__ import annotations

import inspect
import logging
import math
import re
import typing
from collections.abc import Callable, Container, Mapping
from typing import Any

import msgspec

from mcp_wsgi.errors import RegistrationError

_log = logging.getLogger("mcp_wsgi")


class Problem(msgspec.Struct, frozen=True):
    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class ArgumentErrors(Exception):
    def __init__(self, problems: typing.Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))


class OutputError(Exception):
    """A returned value is not what the output schema says."""


class HeaderParam(msgspec.Struct, frozen=True):
    header: str
    name: str
    path: tuple[str, ...]
    type: str


class Docs(msgspec.Struct, frozen=True):
    text: str | None = None
    params: Mapping[str, str] = {}
    returns: str | None = None


def describe(function: Callable[..., Any]) -> Docs:
    return Docs(inspect.getdoc(function))


def _validator(schema: Any) -> Any:
    import jsonschema

    return jsonschema.Draft202012Validator(schema)


def _path(parts: typing.Iterable[Any]) -> str:
    text = ""
    for part in parts:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


class Arguments:
    def __init__(self, schema: dict[str, Any], struct: Any = None) -> None:
        self.schema = schema
        self.headers: tuple[HeaderParam, ...] = ()
        self._struct = struct
        self._validator = _validator(schema)

    @classmethod
    def from_schema(cls, schema: Mapping[str, Any] | None, *, owner: str) -> Arguments:
        if schema is None:
            schema = {"type": "object", "additionalProperties": False}
        if schema.get("type") != "object":
            raise RegistrationError(f"{owner}: the root of the input schema must have type: object")
        return cls(dict(schema))

    @classmethod
    def from_function(cls, function: Callable[..., Any], *, owner: str, skip: Container[str] = ()) -> Arguments:
        hints = typing.get_type_hints(function, include_extras=True)
        fields: list[Any] = []
        for p in inspect.signature(function).parameters.values():
            if p.name in skip:
                continue
            hint = hints.get(p.name, Any)
            fields.append((p.name, hint) if p.default is p.empty else (p.name, hint, p.default))
        struct = msgspec.defstruct("Arguments", fields, forbid_unknown_fields=True, kw_only=True)
        (ref,), defs = msgspec.json.schema_components([struct])
        schema = dict(defs[ref["$ref"].rsplit("/", 1)[-1]])
        schema.pop("title", None)
        schema["additionalProperties"] = False
        return cls(schema, struct)

    def bind(self, arguments: dict[str, Any]) -> dict[str, Any]:
        problems = [Problem(_path(e.absolute_path), e.message) for e in self._validator.iter_errors(arguments)]
        if problems:
            raise ArgumentErrors(problems)
        if self._struct is None:
            return arguments
        try:
            made = msgspec.convert(arguments, self._struct)
        except msgspec.ValidationError as error:
            raise ArgumentErrors([Problem("", str(error))]) from None
        return {name: getattr(made, name) for name in arguments}


class StringArguments:
    def __init__(self, names: tuple[tuple[str, bool, str | None], ...], struct: Any) -> None:
        self.names = names
        self._struct = struct

    @classmethod
    def from_function(cls, function: Callable[..., Any], *, owner: str, skip: Container[str] = ()) -> StringArguments:
        inner = Arguments.from_function(function, owner=owner, skip=skip)
        required = inner.schema.get("required", ())
        return cls(tuple((n, n in required, None) for n in inner.schema.get("properties", {})), inner._struct)

    def bind(self, arguments: dict[str, str]) -> dict[str, Any]:
        try:
            made = msgspec.convert(arguments, self._struct, strict=False)
        except msgspec.ValidationError as error:
            raise ArgumentErrors([Problem("", str(error))]) from None
        return {name: getattr(made, name) for name in arguments}


class Output:
    def __init__(self, schema: dict[str, Any]) -> None:
        self.schema = schema
        self.is_object = schema.get("type") == "object"
        self._validator = _validator(schema)

    @classmethod
    def from_schema(cls, schema: Mapping[str, Any], *, owner: str) -> Output:
        return cls(dict(schema))

    @classmethod
    def from_annotation(cls, annotation: Any, *, owner: str) -> Output | None:
        if annotation in (str, bytes, None, type(None), Any, inspect.Parameter.empty):
            return None
        if getattr(annotation, "__module__", "") == "mcp_wsgi.content":
            return None
        return cls(dict(msgspec.json.schema(annotation)))

    def dump(self, value: Any) -> Any:
        data = to_json(value)
        for error in self._validator.iter_errors(data):
            raise OutputError(f"{_path(error.absolute_path)}: {error.message}")
        return data


def to_json(value: Any) -> Any:
    try:
        data = msgspec.to_builtins(value, str_keys=True)
    except (TypeError, ValueError, RecursionError) as error:
        raise OutputError(str(error)) from None
    _finite(data)
    return data


def _finite(data: Any) -> None:
    if isinstance(data, float) and not math.isfinite(data):
        raise OutputError(f"{data} is not a JSON number")
    for item in data.values() if isinstance(data, dict) else data if isinstance(data, list) else ():
        _finite(item)


def check_name(kind: str, name: str) -> None:
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9_.-]{1,128}", name):
        raise RegistrationError(f"{kind} name {name!r}: use 1 to 128 of A-Z a-z 0-9 _ - .")
    if "." in name or len(name) > 64:
        _log.warning("%s name %r: some clients refuse dots and names longer than 64 characters", kind, name)


def argument_at(arguments: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    value: Any = arguments
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def header_value_matches(param: HeaderParam, argument: Any, text: str) -> bool:
    if isinstance(argument, bool):
        return text == ("true" if argument else "false")
    return text == str(argument)
