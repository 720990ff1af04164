"""A quick way to be sure that a value is valid.

``quick_type`` turns the plain part of JSON Schema into a type for ``msgspec.convert``, which runs in C.
What that accepts is valid; what it refuses may be valid too, and is for the full validator to judge.
Hence the one rule here: a keyword that is not known by its exact meaning means that there is no quick
way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, Union

import msgspec

from mcp_wsgi.patterns import to_python
from mcp_wsgi.shapes import understood

__all__ = ["quick_type"]

# Keywords that say nothing about values (``format`` is one by default in 2020-12).
_REMARKS = frozenset(
    (
        *("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "format"),
        *("contentEncoding", "contentMediaType", "$comment", "$schema"),
    )
)
# A bound beyond this may be compared after rounding to a float.
_SAFE_BOUND = 2**53
# Subscripted with what is only known at run time.
_UNION: Any = Union
_LITERAL: Any = Literal


class _NoQuickWay(Exception):
    pass


def quick_type(schema: Any) -> Any:
    """The type that ``msgspec.convert`` can hold a value against.

    Args:
        schema: JSON Schema, valid in 2020-12 or a dialect in which these keywords mean the same.

    Returns:
        ``None`` if there is no quick way for this schema.
    """
    try:
        found = _type(schema)
    except (_NoQuickWay, TypeError, ValueError, RecursionError):
        return None
    return found if understood(found) else None


def _type(schema: Any) -> Any:
    if schema is True:
        return Any
    if not isinstance(schema, dict):
        raise _NoQuickWay
    demands = {k: v for k, v in schema.items() if k not in _REMARKS and not k.startswith("x-")}
    if not demands:
        return Any
    if "anyOf" in demands:
        _only(demands, "anyOf")
        return _UNION[tuple(_type(part) for part in demands["anyOf"])]
    if "enum" in demands:
        return _listed(demands)
    read = _KINDS.get(str(demands.pop("type", None)))
    if read is None:
        raise _NoQuickWay
    return read(demands)


def _only(demands: Mapping[str, Any], *keywords: str) -> None:
    if not demands.keys() <= set(keywords):
        raise _NoQuickWay


def _listed(demands: Mapping[str, Any]) -> Any:
    _only(demands, "enum", "type")
    values = demands["enum"]
    kinds = {type(value) for value in values}
    if kinds != {str} or demands.get("type", "string") != "string":
        raise _NoQuickWay
    return _LITERAL[tuple(values)]


def _limited(base: Any, limits: Mapping[str, str]) -> Callable[[Mapping[str, Any]], Any]:
    def read(demands: Mapping[str, Any]) -> Any:
        _only(demands, *limits)
        if not demands:
            return base
        if any(isinstance(limit, (int, float)) and abs(limit) >= _SAFE_BOUND for limit in demands.values()):
            raise _NoQuickWay
        known = {limits[keyword]: limit for keyword, limit in demands.items()}
        if "pattern" in known:
            known["pattern"] = to_python(known["pattern"])
        return Annotated[base, msgspec.Meta(**known)]

    return read


_BOUNDS = {"minimum": "ge", "maximum": "le", "exclusiveMinimum": "gt", "exclusiveMaximum": "lt"}


def _array(demands: Mapping[str, Any]) -> Any:
    _only(demands, "items", "minItems", "maxItems")
    limits = {k: v for k, v in demands.items() if k != "items"}
    item = _type(demands.get("items", True))
    base: Any = list
    return _limited(base[item], {"minItems": "min_length", "maxItems": "max_length"})(limits)


def _object(demands: Mapping[str, Any]) -> Any:
    _only(demands, "properties", "required", "additionalProperties")
    properties, more = demands.get("properties", {}), demands.get("additionalProperties", True)
    required = demands.get("required", ())
    if not properties and not required and more is not False:
        base: Any = dict
        return base[str, _type(more)]
    if more not in (True, False) or not set(required) <= properties.keys():
        raise _NoQuickWay
    # Properties may have names that no attribute can have.
    names = {f"p{number}": name for number, name in enumerate(properties)}
    fields = [
        (field, _type(properties[name]), ...) if name in required else (field, _type(properties[name]), None)
        for field, name in names.items()
    ]
    return msgspec.defstruct(
        "Properties",
        [field[:2] if field[2] is ... else field for field in fields],
        rename=names,
        kw_only=True,
        forbid_unknown_fields=more is False,
    )


_KINDS: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "array": _array,
    "boolean": _limited(bool, {}),
    "integer": _limited(int, _BOUNDS),
    "null": _limited(type(None), {}),
    "number": _limited(float, _BOUNDS),
    "object": _object,
    "string": _limited(str, {"minLength": "min_length", "maxLength": "max_length", "pattern": "pattern"}),
}
