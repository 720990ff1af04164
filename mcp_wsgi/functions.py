"""Looking at a registered function once, so that calling it later costs nothing but the call.

Rules of this file:

* A function is never changed. One that cannot be served is refused here, by name.
* The parameter annotated ``Context``, whatever its name, is ours to fill; all others are the client's.
"""

from __future__ import annotations

import functools
import inspect
import logging
import re
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, ParamSpec, TypeAlias, TypeVar, Union, get_args, get_origin

import msgspec

from mcp_wsgi.context import Context
from mcp_wsgi.docstrings import innermost
from mcp_wsgi.errors import RegistrationError, ToolError
from mcp_wsgi.excerpts import shorten
from mcp_wsgi.problems import listing
from mcp_wsgi.typehints import Unsupported, evaluate

__all__ = ["Caller", "Completable", "Function", "caller", "inspect_function", "refuse_async", "schema_caller"]

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound="Callable[..., Any]")

_log = logging.getLogger("mcp_wsgi")

#: Calls a function with arguments by name and, where it asks for one, the context.
Caller: TypeAlias = "Callable[[dict[str, Any], Context], Any]"


class Function(msgspec.Struct, frozen=True):
    """A function as registration sees it.

    Attributes:
        target: What is called.
        label: What it becomes, its full name and its line, for error messages.
        name: Its own name; ``None`` if it has none.
        context: The parameter that gets the ``Context``; ``None`` if there is none.
        parameters: The other parameters by name, in order.
        hints: Parameter -> annotation; a text stands for one that cannot be resolved.
    """

    target: Callable[..., Any]
    label: str
    name: str | None
    context: str | None
    parameters: Mapping[str, inspect.Parameter]
    hints: Mapping[str, Any]

    @property
    def skip(self) -> tuple[str, ...]:
        """The names of the parameters that are not the client's."""
        return () if self.context is None else (self.context,)

    @property
    def required(self) -> tuple[str, ...]:
        """The names of the client's parameters that have no default."""
        return tuple(p.name for p in self.parameters.values() if p.default is p.empty and p.kind is not p.VAR_KEYWORD)

    @property
    def takes_any(self) -> bool:
        """Whether it has a parameter like ``**kwargs``."""
        return any(p.kind is p.VAR_KEYWORD for p in self.parameters.values())

    def own_name(self) -> str:
        """Its name, for what is registered without one.

        Raises:
            RegistrationError: It has none (a lambda, a partial, a callable object).
        """
        if self.name is None or not self.name.isidentifier():
            raise RegistrationError(f"{self.label} has no name of its own: pass name=...")
        return self.name


class Completable(Generic[P, R]):
    """A registered function: called like the function itself, and able to suggest values.

    ``@thing.complete("argument")`` registers the function that suggests values for one argument.
    """

    __wrapped__: Callable[P, R]

    def __init__(self, function: Callable[P, R], add: Callable[[str, Callable[..., Any]], None]) -> None:
        functools.update_wrapper(self, function)
        self._add = add

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function."""
        return self.__wrapped__(*args, **kwargs)

    def complete(self, argument: str) -> Callable[[F], F]:
        """Register the decorated function as the one that suggests values for ``argument``.

        It is called with the value typed so far and, if it has a second parameter, with a dict of
        the arguments that are already resolved; a parameter annotated ``Context`` gets the context.
        It returns texts, best first, or a ``Completion``.

        Raises:
            RegistrationError: No such argument, a second function for it, or one that cannot be served.

        Source: server/utilities/completion.
        """

        def decorator(function: F) -> F:
            self._add(argument, function)
            return function

        return decorator


def inspect_function(target: Any, kind: str) -> Function:
    """Look at a function that is to be registered.

    Args:
        target: A function, a bound method, or another callable object.
        kind: What it becomes (``tool``, ``prompt`` ...), for error messages.

    Raises:
        RegistrationError: It cannot be served as it is.
    """
    while isinstance(target, (staticmethod, Completable)):
        target = target.__wrapped__
    label = f"{kind} {_full_name(target)}"
    if isinstance(target, type) or not callable(target):
        raise RegistrationError(f"{label} is no function; of a class, register the bound methods of an instance")
    refuse_async(target, label)
    signature = _signature(target, label)
    hints = _hints(target, signature)
    contexts = [name for name in signature.parameters if _is_context(hints.get(name))]
    if len(contexts) > 1:
        raise RegistrationError(f"{label}: {' and '.join(contexts)} are all annotated Context; one is enough")
    context = contexts[0] if contexts else None
    _warn_of_bare_contexts(signature.parameters.values(), label)
    _check_parameters(signature.parameters.values(), label)
    # What a partial binds is settled, though its signature still lists it.
    settled = {context, *(target.keywords if isinstance(target, functools.partial) else ())}
    parameters = {name: p for name, p in signature.parameters.items() if name not in settled}
    return Function(target, label, getattr(target, "__name__", None), context, parameters, hints)


def caller(function: Function) -> Caller:
    """The shortest way from checked arguments to the function."""
    target, context = function.target, function.context
    if context is None:
        return lambda arguments, ctx: target(**arguments)
    return lambda arguments, ctx: target(**arguments, **{context: ctx})


def schema_caller(function: Function, schema: Mapping[str, Any]) -> Caller:
    """The way from arguments that fit a hand-written schema to the function.

    A function whose one parameter is named ``arguments`` gets all of them as a dict, unless the
    schema has a property of that name; any other function gets them by name.

    Raises:
        RegistrationError: The schema admits arguments that the function could not be called with.
    """
    properties, call = schema.get("properties", {}), caller(function)
    if [*function.parameters] == ["arguments"] and "arguments" not in properties:
        return lambda arguments, ctx: call({"arguments": arguments}, ctx)
    _check_schema(function, schema)
    if schema.get("additionalProperties") is False:
        return call

    def checked(arguments: dict[str, Any], ctx: Context) -> Any:
        unknown = [name for name in arguments if not _takes(function, name)]
        if unknown:
            raise ToolError(f"Unknown argument: {listing(map(shorten, unknown))}")
        return call(arguments, ctx)

    return checked


def refuse_async(target: Callable[..., Any], label: str) -> None:
    """Refuse what would hand back something to be run instead of running.

    Raises:
        RegistrationError: An async function or a generator.
    """
    plain = inspect.isroutine(target) or isinstance(target, functools.partial)
    call = target if plain else type(target).__call__
    if inspect.iscoroutinefunction(call) or inspect.isasyncgenfunction(call):
        raise RegistrationError(
            f"{label} is async, and this is the synchronous half of the Python web: "
            "delete async and await, it may simply block"
        )
    if inspect.isgeneratorfunction(call):
        raise RegistrationError(
            f"{label} is a generator: return a list, and report progress with ctx.track or ctx.report_progress"
        )


# --- parameters -----------------------------------------------------------------------------------

_REFUSED: Mapping[Any, str] = {
    inspect.Parameter.POSITIONAL_ONLY: "is positional only, and arguments come by name: delete the slash after it",
    inspect.Parameter.VAR_POSITIONAL: "takes any number of values, and arguments come by name: take a list",
}

# Keywords that can require a property in a way that is not worth following here.
_COMPOSITION = frozenset({"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if"})


def _check_parameters(parameters: Iterable[inspect.Parameter], label: str) -> None:
    for number, parameter in enumerate(parameters):
        reason = _REFUSED.get(parameter.kind)
        if reason is not None:
            raise RegistrationError(f"{label}: the parameter {parameter.name} {reason}")
        if number == 0 and parameter.name in ("self", "cls") and parameter.annotation is parameter.empty:
            raise RegistrationError(f"{label} is not bound: register the bound method of an instance")


def _warn_of_bare_contexts(parameters: Iterable[inspect.Parameter], label: str) -> None:
    for parameter in parameters:
        if parameter.name in ("ctx", "context") and parameter.annotation is parameter.empty:
            _log.warning(
                "%s: clients are asked for a parameter %s; write %s: Context if it is ours to fill",
                *(label, parameter.name, parameter.name),
            )


def _check_schema(function: Function, schema: Mapping[str, Any]) -> None:
    strangers = [name for name in schema.get("properties", {}) if not _takes(function, name)]
    if strangers:
        raise RegistrationError(
            f"{function.label}: the input schema has {', '.join(strangers)}, the function has not: "
            "add the parameters, or take everything in one parameter named arguments"
        )
    unmet = [name for name in function.required if name not in schema.get("required", ())]
    if unmet and not _COMPOSITION & schema.keys():
        raise RegistrationError(
            f"{function.label}: {', '.join(unmet)} must be in the input schema's required list or have a default"
        )


def _takes(function: Function, name: str) -> bool:
    return name in function.parameters or (function.takes_any and name != function.context)


# --- names, signatures, annotations ---------------------------------------------------------------


def _full_name(target: Any) -> str:
    inner = innermost(target)
    name = getattr(inner, "__qualname__", None) or type(inner).__qualname__
    module = getattr(inner, "__module__", None) or type(inner).__module__
    code = getattr(inner, "__code__", None)
    return f"{module}.{name}" + (f" (line {code.co_firstlineno})" if code is not None else "")


def _signature(target: Any, label: str) -> inspect.Signature:
    try:
        if sys.version_info >= (3, 14):  # late annotations may name what is imported for type checkers only
            import annotationlib

            return inspect.signature(target, annotation_format=annotationlib.Format.FORWARDREF)
        return inspect.signature(target)
    except (TypeError, ValueError) as error:
        raise RegistrationError(f"{label} has no signature to read: wrap it in a function") from error


def _hints(target: Any, signature: inspect.Signature) -> dict[str, Any]:
    scope = getattr(innermost(target), "__globals__", {})
    annotated = (p for p in signature.parameters.values() if p.annotation is not p.empty)
    return {p.name: _resolve(p.annotation, scope) for p in annotated}


def _resolve(annotation: Any, scope: dict[str, Any]) -> Any:
    """Evaluate an annotation; one that names something unknown stays the text that it is."""
    try:
        return evaluate(annotation, scope)
    except Unsupported:
        return getattr(annotation, "__forward_arg__", annotation)


def _is_context(annotation: Any) -> bool:
    if isinstance(annotation, str):
        # Linters move an import that only annotations use under TYPE_CHECKING.
        names = {name.rpartition(".")[2] for name in re.findall(r"[\w.]+", annotation)}
        return names - {"None", "Optional"} == {"Context"}
    if isinstance(annotation, type):
        return issubclass(annotation, Context)
    if get_origin(annotation) is typing.Annotated:
        return _is_context(get_args(annotation)[0])
    if get_origin(annotation) not in (Union, types.UnionType):
        return False
    return all(_is_context(member) for member in get_args(annotation) if member is not type(None))
