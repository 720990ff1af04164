"""Suggesting values for the arguments of prompts and the variables of resource templates."""

from __future__ import annotations

import enum
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, Union, get_args, get_origin

from mcp_wsgi.context import Context
from mcp_wsgi.errors import InvalidParams, RegistrationError
from mcp_wsgi.excerpts import shorten
from mcp_wsgi.functions import Caller, caller, inspect_function
from mcp_wsgi.handler import Completion, CompletionArgument

__all__ = ["Completers", "choices"]


class Completers:
    """The completers of one prompt or resource template, by argument.

    Args:
        owner: The prompt or template, for error messages.
        hints: Argument -> annotation, for all arguments there are.
    """

    def __init__(self, owner: str, hints: Mapping[str, Any]) -> None:
        self._owner = owner
        self._choices = {name: choices(annotation) for name, annotation in hints.items()}
        self._functions: Mapping[str, Callable[[str, Mapping[str, str], Context], Any]] = {}

    def __bool__(self) -> bool:
        return bool(self._functions) or any(self._choices.values())

    def add(self, argument: str, function: Callable[..., Any]) -> None:
        """Let ``function`` suggest the values of ``argument``.

        Raises:
            RegistrationError: No such argument, a second function for it, or one that cannot be served.
        """
        if argument not in self._choices:
            known = ", ".join(self._choices) or "none"
            raise RegistrationError(f"{self._owner} has no argument {argument!r} to complete; it has: {known}")
        if argument in self._functions:
            raise RegistrationError(f"{self._owner} has a completer for {argument!r} already")
        self._functions = {**self._functions, argument: _completer(function)}

    def complete(self, argument: CompletionArgument, context: Mapping[str, str], ctx: Context) -> Completion:
        """Suggest values; none where nobody knows any, since any text may then do.

        Raises:
            InvalidParams: No such argument.
        """
        function = self._functions.get(argument.name)
        if function is not None:
            return _suggestions(function(argument.value, context, ctx))
        known = self._choices.get(argument.name)
        if known is None:
            raise InvalidParams(f"Unknown argument of {self._owner}: {shorten(argument.name)}")
        typed = argument.value.casefold()
        return Completion(tuple(value for value in known if value.casefold().startswith(typed)))


def choices(annotation: Any) -> tuple[str, ...]:
    """The values of an argument that has only a few (``Literal``, ``Enum``, ``bool``), as texts."""
    if annotation is bool:
        return ("true", "false")
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return tuple(_text(member) for member in annotation)
    if hasattr(annotation, "__value__"):  # an alias made by the ``type`` statement
        return choices(annotation.__value__)
    origin, args = get_origin(annotation), [arg for arg in get_args(annotation) if arg not in (None, type(None))]
    if origin is Literal:
        return tuple(_text(arg) for arg in args)
    if origin is typing.Annotated:
        return choices(args[0])
    if origin in (Union, types.UnionType):
        members = [choices(arg) for arg in args]
        return tuple(value for member in members for value in member) if all(members) else ()
    return ()


def _text(value: Any) -> str:
    plain = value.value if isinstance(value, enum.Enum) else value
    return str(plain).lower() if isinstance(plain, bool) else str(plain)


def _completer(target: Callable[..., Any]) -> Callable[[str, Mapping[str, str], Context], Any]:
    function = inspect_function(target, "completer")
    names, call = list(function.parameters), caller(function)
    if not 1 <= len(names) <= 2 or function.takes_any:
        raise RegistrationError(
            f"{function.label} takes {', '.join(names) or 'nothing'}; it must take the value typed so far "
            "and may take a dict of the arguments already resolved"
        )
    return _passing(names, call)


def _passing(names: list[str], call: Caller) -> Callable[[str, Mapping[str, str], Context], Any]:
    if len(names) == 1:
        return lambda value, context, ctx: call({names[0]: value}, ctx)
    return lambda value, context, ctx: call({names[0]: value, names[1]: dict(context)}, ctx)


def _suggestions(returned: Completion | Iterable[str]) -> Completion:
    if isinstance(returned, Completion):
        return returned
    # A text is an iterable of texts too, but never meant as one.
    values = () if isinstance(returned, str) else tuple(returned)
    if isinstance(returned, str) or not all(isinstance(value, str) for value in values):
        raise TypeError(f"a completer returns a list of texts or a Completion, not {type(returned).__name__}")
    return Completion(values)
