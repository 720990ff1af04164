"""Signatures: the parameters of a function as a client sees them."""

from __future__ import annotations

import enum
import functools
import inspect
import sys
from collections.abc import Callable, Container, Iterator, Mapping
from typing import Annotated, Any

import msgspec

from mcp_wsgi.constraints import is_field
from mcp_wsgi.docstrings import describe
from mcp_wsgi.encoding import OutputError, to_json
from mcp_wsgi.errors import RegistrationError
from mcp_wsgi.headerparams import HEADER_KEYWORD
from mcp_wsgi.problems import Mismatch, problems
from mcp_wsgi.shapes import SCALARS, Field, Shape, union
from mcp_wsgi.typehints import Compiler, Unsupported, evaluate, remark_default, scope_of

__all__ = ["Parameters", "read_parameters", "return_hint"]


class Parameters(msgspec.Struct, frozen=True):
    """The parameters of a function.

    Attributes:
        fields: One for each, in order.
        defs: The definitions that their schemas refer to.
        supplied: Parameter -> what makes its default, where the function's own default is not meant
            for use (pydantic's ``Field(...)``).
    """

    fields: tuple[Field, ...]
    defs: Mapping[str, Any]
    supplied: Mapping[str, Callable[[], Any]]


def read_parameters(function: Callable[..., Any], *, owner: str, skip: Container[str] = ()) -> Parameters:
    """Read the parameters of a function.

    Args:
        function: A function, bound method, partial (what it binds by keyword is not offered), or
            callable object; decorators that keep ``__wrapped__`` are seen through.
        owner: What it belongs to, for error messages.
        skip: Parameters that are not the client's.

    Raises:
        RegistrationError: A parameter cannot be given by name, or its type has no JSON form.
    """
    signature = _signature(function, owner)
    scope = scope_of(function)
    compiler, docs = Compiler(scope), describe(function)
    fields, supplied = [], {}
    for parameter in _offered(function, signature, owner, skip):
        try:
            default = _Default(parameter.default)
            hint = _hint(parameter, default, scope)
            shape = _nullable(compiler.shape(hint), default)
            _check_default(shape, default.value)
        except Unsupported as error:
            raise RegistrationError(f"{owner}: parameter {parameter.name}: {error}") from error
        fields.append(_field(parameter.name, shape, default, docs.params.get(parameter.name)))
        if default.make is not None:
            supplied[parameter.name] = default.make
    return Parameters(tuple(fields), compiler.defs, supplied)


def return_hint(function: Callable[..., Any], *, owner: str) -> Any:
    """The annotation of what a function returns, evaluated.

    Returns:
        ``inspect.Signature.empty`` if it has none.

    Raises:
        RegistrationError: It cannot be evaluated.
    """
    hint = _signature(function, owner).return_annotation
    try:
        return evaluate(hint, scope_of(function))
    except Unsupported as error:
        raise RegistrationError(f"{owner}: return annotation: {error}") from error


_REFUSED = {
    inspect.Parameter.POSITIONAL_ONLY: "is positional-only, but arguments come by name: remove the / after it",
    inspect.Parameter.VAR_POSITIONAL: "takes any number of values, but arguments come by name: take a list",
    inspect.Parameter.VAR_KEYWORD: "takes any names, which no schema can list: name the parameters, or take a dict",
}


def _signature(function: Callable[..., Any], owner: str) -> inspect.Signature:
    try:
        if sys.version_info >= (3, 14):  # lazy annotations may name what exists for type checkers only
            import annotationlib

            return inspect.signature(function, annotation_format=annotationlib.Format.FORWARDREF)
        return inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise RegistrationError(f"{owner}: has no readable signature: wrap it in a function") from error


def _offered(
    function: Callable[..., Any], signature: inspect.Signature, owner: str, skip: Container[str]
) -> Iterator[inspect.Parameter]:
    # What a partial binds is settled, though its signature still lists it.
    settled = function.keywords if isinstance(function, functools.partial) else {}
    for parameter in signature.parameters.values():
        if parameter.name in skip or parameter.name in settled:
            continue
        if parameter.kind in _REFUSED:
            raise RegistrationError(f"{owner}: parameter {parameter.name} {_REFUSED[parameter.kind]}")
        yield parameter


class _Default:
    """A parameter's default, seen through pydantic's ``Field(...)``."""

    def __init__(self, default: Any) -> None:
        self.field = default if is_field(default) else None
        self.make: Callable[[], Any] | None = None
        self.required = default is inspect.Parameter.empty
        self.value = default
        if self.field is not None:
            self.required = self.field.is_required()
            self.value = inspect.Parameter.empty if self.field.default_factory else self.field.default
            if not self.required:
                self.make = functools.partial(self.field.get_default, call_default_factory=True)

    @property
    def remark(self) -> dict[str, Any]:
        """The ``default`` keyword of the schema."""
        return {} if self.value is inspect.Parameter.empty else remark_default(self.value)


def _hint(parameter: inspect.Parameter, default: _Default, scope: Mapping[str, Any]) -> Any:
    hint = Any if parameter.annotation is parameter.empty else evaluate(parameter.annotation, scope)
    if default.field is not None:
        hint = Annotated[hint, default.field]
    return hint


def _nullable(shape: Shape, default: _Default) -> Shape:
    """A default of None says that null may be given, whatever the hint forgot to say."""
    says = default.required or default.value is not None or type(None) in shape.natives
    return shape if says or HEADER_KEYWORD in shape.schema else union([shape, SCALARS[type(None)]])


def _check_default(shape: Shape, default: Any) -> None:
    """Refuse a default that a client would be refused for, were it to send what is listed.

    Raises:
        Unsupported: The schema rules it out.
    """
    parts = default if isinstance(default, (list, tuple, set, frozenset)) else [default]
    # Instances of classes may be written with more than they are made of.
    if default is inspect.Parameter.empty or not all(isinstance(part, _PLAIN) for part in parts):
        return
    try:
        shape.convert(to_json(default))
    except OutputError:
        return
    except Mismatch as error:
        told = problems([fault for fault in error.faults if fault.keyword not in _LATE])[0]
        if told:
            raise Unsupported(f"its default does not fit its type: {told[0]}; change one of them") from None


_PLAIN = (str, int, float, bool, enum.Enum)
# What is only wrong for the conversion: the schema takes the value.
_LATE = ("format", "value")


def _field(name: str, shape: Shape, default: _Default, text: str | None) -> Field:
    notes: dict[str, Any] = {}
    if text is not None and "description" not in shape.schema:
        notes["description"] = text
    if default.value is not None or type(None) in shape.natives:
        notes.update(default.remark)
    return Field(name, name, shape, default.required, notes)
