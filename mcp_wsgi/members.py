"""Classes with named members, whoever made them: dataclass, attrs, msgspec, TypedDict, NamedTuple."""

from __future__ import annotations

import dataclasses
import sys
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar, get_args, get_origin

import msgspec

from mcp_wsgi.docstrings import describe

__all__ = ["Described", "Member", "has_members", "members_of", "qualifier"]


class Member(msgspec.Struct, frozen=True):
    """One member of a class.

    Attributes:
        name: Its name in JSON.
        target: The keyword that the class takes it as.
        hint: Its type hint, evaluated.
        required: Whether it has no default.
        default: The default; a default that is made anew for each instance may be missing here.
        text: What the class's docstring says about it.
    """

    name: str
    target: str
    hint: Any
    required: bool = True
    default: Any = msgspec.UNSET
    text: str | None = None


class Described(msgspec.Struct, frozen=True):
    """A class as JSON sees it.

    Attributes:
        members: In the order of their definition.
        make: Makes an instance, by keyword (``positional``: by position).
        closed: Whether other properties are refused.
        positional: Whether it is written as a list.
        text: What the class's docstring says.
    """

    members: list[Member]
    make: Callable[..., Any]
    closed: bool = True
    positional: bool = False
    text: str | None = None


def has_members(cls: Any) -> bool:
    """Whether ``members_of`` knows the class."""
    return _reader(cls) is not None


def members_of(hint: Any, cls: Any, scope: Mapping[str, Any], *, sending: bool) -> Described:
    """Describe a class.

    Args:
        hint: The class, or it with type arguments.
        cls: The class.
        scope: Names that hints given as text may use besides those of the class's module.
        sending: Whether to list what is written, rather than what is read.

    Raises:
        ValueError: Its hints cannot be evaluated, or it takes what JSON cannot give.
    """
    reader = _reader(cls)
    if reader is None:
        raise ValueError("no class with members")
    docs = describe(cls)
    hints = _hints(cls, scope)
    variables = dict(_variables(hint))
    described = reader(cls, hints, sending)
    members = [
        msgspec.structs.replace(m, hint=_substituted(m.hint, variables), text=docs.params.get(m.target))
        for m in described.members
    ]
    return msgspec.structs.replace(described, members=members, text=docs.text)


# Subscripted with what is only known at run time.
_LITERAL: Any = typing.Literal

# --- the kinds of classes -------------------------------------------------------------------------

_Reader = Callable[[Any, Mapping[str, Any], bool], Described]


def _dataclass(cls: Any, hints: Mapping[str, Any], sending: bool) -> Described:
    if any(isinstance(hint, dataclasses.InitVar) for hint in hints.values()):
        raise ValueError("an InitVar is nothing that JSON can give back: make it a field")
    members = []
    for field in dataclasses.fields(cls):
        default = field.default
        if default is dataclasses.MISSING and field.default_factory in _PLAIN_FACTORIES:
            default = field.default_factory()
        required = field.init and field.default is field.default_factory is dataclasses.MISSING
        if field.init or sending:
            members.append(_member(field.name, field.name, hints, required, default))
    return Described(members, cls)


def _attrs(cls: Any, hints: Mapping[str, Any], sending: bool) -> Described:
    attr = sys.modules["attr"]
    members = []
    for field in cls.__attrs_attrs__:
        default = field.default
        if isinstance(default, attr.Factory):
            default = default.factory() if default.factory in _PLAIN_FACTORIES else msgspec.UNSET
        required = field.init and field.default is attr.NOTHING
        hint = {field.alias: hints.get(field.name, Any)}
        if sending and not field.name.startswith("_"):  # private ones are not written
            members.append(_member(field.name, field.name, hints, required, default))
        elif field.init and not sending:
            members.append(_member(field.alias, field.alias, hint, required, default))
    return Described(members, cls)


def _struct(cls: Any, hints: Mapping[str, Any], sending: bool) -> Described:
    config = cls.__struct_config__
    if config.array_like:
        raise ValueError("array_like=True makes a list without names: leave it out")
    members = []
    if config.tag is not None:
        members.append(Member(config.tag_field, config.tag_field, _LITERAL[config.tag]))
    for field in msgspec.structs.fields(cls):
        default = field.default
        if default is msgspec.NODEFAULT and field.default_factory in _PLAIN_FACTORIES:
            default = field.default_factory()
        members.append(_member(field.encode_name, field.name, hints, field.required, default))
    return Described(members, _without(cls, config.tag_field), closed=config.forbid_unknown_fields)


def _typed_dict(cls: Any, hints: Mapping[str, Any], sending: bool) -> Described:
    members = []
    for name, hint in hints.items():
        required = name in cls.__required_keys__
        # Hints given as text are only evaluated now, so what they say of this counts.
        plain = hint
        while (word := qualifier(get_origin(plain))) is not None:
            required = {"Required": True, "NotRequired": False}.get(word, required)
            plain = get_args(plain)[0]
        members.append(Member(name, name, plain, required))
    return Described(members, dict)


def qualifier(origin: Any) -> str | None:
    """The name of what only qualifies a hint; ``None`` for anything else."""
    # By name, as each may come from typing or typing_extensions.
    place, _, name = str(origin).rpartition(".")
    known = place in ("typing", "typing_extensions") and name in ("Required", "NotRequired", "ReadOnly", "Final")
    return name if known else None


def _named_tuple(cls: Any, hints: Mapping[str, Any], sending: bool) -> Described:
    defaults = cls._field_defaults
    members = [
        _member(name, name, hints, name not in defaults, defaults.get(name, msgspec.UNSET)) for name in cls._fields
    ]
    return Described(members, cls, positional=True)


def _reader(cls: Any) -> _Reader | None:
    return next((reader for fits, reader in _READERS if isinstance(cls, type) and fits(cls)), None)


_READERS: tuple[tuple[Callable[[type], bool], _Reader], ...] = (
    (lambda cls: issubclass(cls, dict) and hasattr(cls, "__required_keys__"), _typed_dict),
    (lambda cls: issubclass(cls, tuple) and hasattr(cls, "_fields"), _named_tuple),
    (lambda cls: issubclass(cls, msgspec.Struct), _struct),
    (lambda cls: hasattr(cls, "__attrs_attrs__"), _attrs),
    (dataclasses.is_dataclass, _dataclass),
)

# Factories whose result may stand in a schema: nothing else is called before there is a call.
_PLAIN_FACTORIES = (list, dict, tuple, set, frozenset)


def _member(name: str, target: str, hints: Mapping[str, Any], required: bool, default: Any) -> Member:
    return Member(name, target, hints.get(target, Any), required, default)


def _without(cls: Callable[..., Any], name: str | None) -> Callable[..., Any]:
    """A class that is called without its tag."""
    if name is None:
        return cls
    return lambda **values: cls(**{key: value for key, value in values.items() if key != name})


# --- hints ----------------------------------------------------------------------------------------


def _hints(cls: Any, scope: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(cls, include_extras=True)
    except Exception:  # noqa: BLE001  whatever evaluating the application's own source raises
        module = vars(sys.modules.get(cls.__module__, typing))
        # A class inside a function is not found in its module, even by itself.
        names = {**scope, **module, **vars(cls), cls.__name__: cls}
        try:
            return typing.get_type_hints(cls, names, names, include_extras=True)
        except Exception as error:
            raise ValueError(f"a hint cannot be evaluated ({error}): import or define it at module level") from error


def _variables(hint: Any) -> Iterator[tuple[TypeVar, Any]]:
    """What stands for the type variables of a class and its bases."""
    cls = get_origin(hint) or hint
    own = dict(zip(getattr(cls, "__parameters__", ()), get_args(hint), strict=False))
    for base in getattr(cls, "__orig_bases__", ()):
        if getattr(get_origin(base), "__module__", "typing") not in ("typing", "typing_extensions"):
            yield from _variables(_substituted(base, own))
    yield from own.items()


def _substituted(hint: Any, variables: Mapping[TypeVar, Any]) -> Any:
    if isinstance(hint, TypeVar):
        return variables.get(hint, hint)
    parameters: Iterable[TypeVar] = getattr(hint, "__parameters__", ())
    if not parameters or (isinstance(hint, type) and get_origin(hint) is None):
        return hint
    return hint[tuple(variables.get(parameter, parameter) for parameter in parameters)]
