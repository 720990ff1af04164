from __future__ import annotations

import decimal
import functools
import inspect
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
import pytest
from pydantic import Field

from mcp_wsgi.errors import RegistrationError
from mcp_wsgi.signatures import Parameters, read_parameters, return_hint

if TYPE_CHECKING:
    from decimal import Decimal


def read(function: Callable[..., Any], **options: Any) -> Parameters:
    return read_parameters(function, owner="tool 'it'", **options)


def schemas(function: Callable[..., Any], **options: Any) -> dict[str, Any]:
    return {field.name: field.schema for field in read(function, **options).fields}


def find(customer: str, limit: int = 20) -> list[str]:
    """Find.

    Args:
        customer: Who.
        limit: How many.
    """
    return [customer] * limit


FIND = {
    "customer": {"type": "string", "description": "Who."},
    "limit": {"type": "integer", "description": "How many.", "default": 20},
}


REGION = {"x-mcp-header": "Region"}


@dataclass
class Box:
    size: int


class Shop:
    def find(self, customer: str) -> None: ...

    def __call__(self, customer: str) -> None: ...

    @classmethod
    def open(cls, customer: str) -> None: ...

    @staticmethod
    def close(customer: str) -> None: ...


def test_names_types_defaults_and_descriptions_are_read() -> None:
    assert schemas(find) == FIND
    assert [field.required for field in read(find).fields] == [True, False]


@pytest.mark.parametrize("function", [Shop().find, Shop(), Shop.open, Shop.close, functools.partial(Shop().find)])
def test_methods_and_callable_objects_are_read(function: Callable[..., Any]) -> None:
    assert schemas(function) == {"customer": {"type": "string"}}


def test_what_a_partial_binds_is_settled() -> None:
    assert schemas(functools.partial(find, limit=3)) == {"customer": FIND["customer"]}
    assert schemas(functools.partial(functools.partial(find), "x")) == {"limit": FIND["limit"]}


def test_decorators_are_seen_through() -> None:
    @functools.wraps(find)
    def wrapper(*args: Any, **kwargs: Any) -> Any: ...

    assert schemas(wrapper) == FIND


def test_parameters_that_are_not_the_clients_are_left_out_whatever_they_are() -> None:
    def tool(a: int, ctx: Nowhere, *, b: int) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    assert schemas(tool, skip=("ctx",)) == {"a": {"type": "integer"}, "b": {"type": "integer"}}


def test_a_parameter_without_annotation_takes_anything() -> None:
    def tool(a, b=1):  # type: ignore[no-untyped-def]
        ...

    assert schemas(tool) == {"a": {}, "b": {"default": 1}}


def positional(a: int, /) -> None: ...


def many(*values: int) -> None: ...


def named(**values: int) -> None: ...


@pytest.mark.parametrize(("function", "name"), [(positional, "a"), (many, "values"), (named, "values")])
def test_what_cannot_be_given_by_name_is_refused(function: Callable[..., Any], name: str) -> None:
    with pytest.raises(RegistrationError, match=f"tool 'it': parameter {name} "):
        read(function)


def unresolvable(price: Decimal) -> Decimal:
    return price


def test_an_annotation_that_cannot_be_evaluated_is_refused() -> None:
    with pytest.raises(RegistrationError, match=r"tool 'it': parameter price: 'Decimal' cannot be evaluated"):
        read(unresolvable)
    with pytest.raises(RegistrationError, match=r"tool 'it': return annotation: 'Decimal' cannot"):
        return_hint(unresolvable, owner="tool 'it'")


def test_a_type_without_a_json_form_is_refused() -> None:
    def tool(where: complex) -> None: ...

    with pytest.raises(RegistrationError, match=r"parameter where: complex has no JSON form"):
        read(tool)


def test_what_has_no_signature_is_refused() -> None:
    with pytest.raises(RegistrationError, match="no readable signature"):
        read(type)


def test_a_default_of_none_admits_null() -> None:
    def tool(a: int = None, b: int | None = None, c: Annotated[int, "C."] = None) -> None: ...  # type: ignore[assignment]  # noqa: RUF013

    nullable = {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}
    assert schemas(tool)["a"] == schemas(tool)["b"] == nullable
    assert read(tool).fields[2].shape.convert(None) is None


def test_a_default_that_json_cannot_say_is_left_out() -> None:
    def tool(a: Any = object(), b: float = float("nan")) -> None: ...  # noqa: B008

    assert schemas(tool) == {"a": {}, "b": {"type": "number"}}
    assert not any(field.required for field in read(tool).fields)


def test_an_own_description_wins_over_the_docstring() -> None:
    def tool(a: Annotated[int, "Mine."]) -> None:
        """Do.

        Args:
            a: Theirs.
        """

    assert schemas(tool) == {"a": {"type": "integer", "description": "Mine."}}


def test_a_header_parameter_is_plain_even_if_it_is_optional() -> None:
    """S26-HTTP-33."""

    def tool(
        a: Annotated[str | None, REGION] = None,
        b: Annotated[str, REGION] = None,  # type: ignore[assignment]  # noqa: RUF013
        c: Annotated[str, REGION] = "eu",
    ) -> None: ...

    plain = {"type": "string", "x-mcp-header": "Region"}
    assert schemas(tool) == {"a": plain, "b": plain, "c": {**plain, "default": "eu"}}


def test_pydantic_fields_may_stand_as_defaults() -> None:
    def tool(
        a: int = Field(description="A.", ge=1),
        b: int = Field(2, le=5),
        c: list[int] = Field(default_factory=lambda: [3]),  # noqa: B008
    ) -> None: ...

    found = read(tool)
    assert schemas(tool) == {
        "a": {"type": "integer", "description": "A.", "minimum": 1},
        "b": {"type": "integer", "maximum": 5, "default": 2},
        "c": {"type": "array", "items": {"type": "integer"}},
    }
    assert [field.required for field in found.fields] == [True, False, False]
    assert {name: make() for name, make in found.supplied.items()} == {"b": 2, "c": [3]}


def test_definitions_of_classes_are_kept_apart() -> None:
    def tool(box: Box) -> None: ...

    assert schemas(tool) == {"box": {"$ref": "#/$defs/Box"}}
    assert read(tool).defs["Box"]["properties"] == {"size": {"type": "integer"}}


def test_annotations_may_name_what_the_function_closes_over() -> None:
    @dataclass
    class Local:
        size: int

    def tool(a: Local) -> None:
        assert isinstance(a, Local)
        assert later

    def hidden(a: Local) -> None: ...

    assert schemas(tool) == {"a": {"$ref": "#/$defs/Local"}}
    with pytest.raises(RegistrationError, match="define it at module level"):
        read(hidden)
    later = True


def test_the_return_annotation_is_evaluated() -> None:
    assert return_hint(find, owner="x") == list[str]
    assert return_hint(Shop().find, owner="x") is type(None)
    assert return_hint(lambda: 1, owner="x") is inspect.Signature.empty


@pytest.mark.parametrize(
    ("hint", "default"),
    [
        (int, "not an int"),
        (str, 5),
        (int, True),
        (list[int], ["a"]),
        (Literal["a", "b"], "c"),
        (Annotated[int, msgspec.Meta(ge=1)], 0),
        (int, Field("x")),
    ],
)
def test_a_default_that_its_type_refuses_is_refused(hint: Any, default: Any) -> None:
    def tool(x: Any = default) -> None: ...

    tool.__annotations__["x"] = hint
    with pytest.raises(RegistrationError, match=r"parameter x: its default does not fit its type: .*; change one"):
        read_parameters(tool, owner="tool")


@pytest.mark.parametrize(
    ("hint", "default"),
    [
        (int, None),
        (float, 1),
        (set[int], frozenset()),
        (decimal.Decimal, decimal.Decimal("NaN")),
        (uuid.UUID, ""),
        (int, object()),
        (list[int], (1, 2)),
        (dict[str, int], {}),
    ],
)
def test_a_default_that_a_client_might_send_is_taken(hint: Any, default: Any) -> None:
    def tool(x: Any = default) -> None: ...

    tool.__annotations__["x"] = hint
    assert len(read_parameters(tool, owner="tool").fields) == 1
