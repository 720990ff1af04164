"""Docstrings in Google, NumPy and Sphinx style, read for what a model should know."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from docstring_parser import Docstring

__all__ = ["Docs", "describe", "innermost"]

_NOTHING: Mapping[str, str] = MappingProxyType({})


class Docs(msgspec.Struct, frozen=True):
    """What a docstring says.

    Attributes:
        text: Summary, long text, examples, notes and warnings; ``None`` without a docstring.
        params: Parameter (of a class: attribute) -> what it is for.
        returns: What comes back; ``None`` if it does not say.
    """

    text: str | None = None
    params: Mapping[str, str] = _NOTHING
    returns: str | None = None


def describe(target: Callable[..., Any]) -> Docs:
    """Read the docstring of a function, method, callable object or class.

    Args:
        target: Partials and decorators that keep the function (``__wrapped__``) are seen through.
    """
    raw = _own_doc(target)
    if not raw:
        return Docs()
    if "\n" not in raw:
        return Docs(raw)
    # Imported here, as a server without long docstrings does not need it.
    from docstring_parser import parse

    parsed = parse(raw)
    returns = parsed.returns.description if parsed.returns else None
    return Docs(_text(parsed), _params(parsed), returns or None)


def innermost(target: Any) -> Any:
    """The plain function below partials, bound methods, callable objects and decorators."""
    while True:
        if isinstance(target, functools.partial):
            target = target.func
        elif inspect.ismethod(target):
            target = target.__func__
        elif hasattr(target, "__wrapped__"):
            target = target.__wrapped__
        elif inspect.isroutine(target) or isinstance(target, type) or not callable(target):
            return target
        else:
            target = type(target).__call__


def _own_doc(target: Any) -> str:
    while isinstance(target, functools.partial):
        target = target.func
    if isinstance(target, type):
        doc = vars(target).get("__doc__") or ""
        # Made by @dataclass and NamedTuple: the signature again.
        return "" if doc.startswith(f"{target.__name__}(") else inspect.cleandoc(doc).strip()
    if inspect.isroutine(target):
        return (inspect.getdoc(target) or "").strip()
    return inspect.cleandoc(type(target).__call__.__doc__ or type(target).__doc__ or "").strip()


# Sections that the parser sets apart, and that a model should read nevertheless.
_KEPT: Mapping[str, str] = {"examples": "Example", "notes": "Note", "warnings": "Warning"}


def _text(parsed: Docstring) -> str | None:
    parts = [(parsed.description or "").strip()]
    for section in parsed.meta:
        title = _KEPT.get(section.args[0]) if section.args else None
        lines = (getattr(section, "snippet", None), section.description)
        if title and any(lines):
            parts.append("\n".join((f"{title}:", *filter(None, lines))))
    return "\n\n".join(filter(None, parts)) or None


def _params(parsed: Docstring) -> dict[str, str]:
    found: dict[str, str] = {}
    for param in parsed.params:
        # NumPy style lets several parameters share a line.
        for name in param.arg_name.split(","):
            if param.description:
                found.setdefault(name.strip().lstrip("*"), param.description)
    return found
