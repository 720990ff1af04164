from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any, Optional

import pytest

from mcp_wsgi import context as context_module
from mcp_wsgi.context import Context
from mcp_wsgi.errors import RegistrationError, ToolError
from mcp_wsgi.functions import Completable, caller, inspect_function, refuse_async, schema_caller
from tests.contexts import context

if TYPE_CHECKING:
    import mcp_wsgi


CTX = context("tools/call")


class OwnContext(Context):
    pass


def plain(a: int, b: str = "x") -> str:
    return f"{a}{b}"


class Shop:
    def __init__(self) -> None:
        self.stock = 3

    def method(self, a: int) -> int:
        return a + self.stock

    @classmethod
    def of_class(cls, a: int) -> int:
        return a

    @staticmethod
    def static(a: int) -> int:
        return a

    def __call__(self, a: int) -> int:
        return a * 2

    async def slow(self, a: int) -> int:
        return a


class WithoutSignature:
    __signature__ = "none"

    def __call__(self) -> None: ...


class AsyncCallable:
    async def __call__(self) -> None: ...


# --- what a function looks like -------------------------------------------------------------------


def test_a_function_is_looked_at_once() -> None:
    function = inspect_function(plain, "tool")
    assert function.target is plain
    assert (function.name, function.own_name()) == ("plain", "plain")
    assert list(function.parameters) == ["a", "b"]
    assert function.hints == {"a": int, "b": str}
    assert (function.context, function.skip, function.required, function.takes_any) == (None, (), ("a",), False)


def test_the_label_says_what_and_where() -> None:
    line = inspect.getsourcelines(plain)[1]
    assert inspect_function(plain, "tool").label == f"tool tests.test_functions.plain (line {line})"


@pytest.mark.parametrize(
    ("target", "argument", "result"),
    [
        (Shop().method, 4, 7),
        (Shop.of_class, 4, 4),
        (Shop.static, 4, 4),
        (staticmethod(Shop.static), 4, 4),
        (vars(Shop)["static"], 4, 4),
        (Shop(), 4, 8),
        (functools.partial(plain, b="z"), 4, "4z"),
        (lambda a: a - 1, 4, 3),
        (Completable(Shop.static, lambda argument, function: None), 4, 4),
    ],
    ids=[
        "bound",
        "classmethod",
        "static",
        "static again",
        "raw static",
        "callable",
        "partial",
        "lambda",
        "completable",
    ],
)
def test_whatever_can_be_called_by_name_can_be_registered(target: Any, argument: int, result: Any) -> None:
    assert caller(inspect_function(target, "tool"))({"a": argument}, CTX) == result


def test_what_a_partial_binds_is_settled() -> None:
    function = inspect_function(functools.partial(plain, a=1), "tool")
    assert (list(function.parameters), function.required) == (["b"], ())


def test_wrappers_that_keep_the_signature_are_seen_through() -> None:
    @functools.wraps(plain)
    def wrapper(*args: Any, **kwargs: Any) -> str:
        return plain(*args, **kwargs).upper()

    function = inspect_function(wrapper, "tool")
    assert list(function.parameters) == ["a", "b"]
    assert "plain" in function.label
    assert caller(function)({"a": 1}, CTX) == "1X"


def test_a_registered_function_may_be_registered_again_as_it_was() -> None:
    completable = Completable(plain, lambda argument, function: None)
    assert inspect_function(completable, "tool").target is plain


@pytest.mark.parametrize(
    "target", [lambda: 1, functools.partial(plain, a=1), Shop()], ids=["lambda", "partial", "object"]
)
def test_what_has_no_name_wants_one(target: Callable[..., Any]) -> None:
    with pytest.raises(RegistrationError, match="pass name="):
        inspect_function(target, "tool").own_name()


# --- the context ----------------------------------------------------------------------------------


def dotted_typing_only(a: int, c: mcp_wsgi.Context) -> None: ...
def union_typing_only(a: int, c: mcp_wsgi.Context | None = None) -> None: ...
def by_class(a: int, c: Context) -> None: ...
def by_module(a: int, c: context_module.Context) -> None: ...
def by_union(a: int, c: Context | None = None) -> None: ...
def by_optional(a: int, c: Optional[Context] = None) -> None: ...  # noqa: UP045
def by_annotated(a: int, c: Annotated[Context, "why"]) -> None: ...
def by_subclass(a: int, c: OwnContext) -> None: ...
def by_keyword(a: int, *, c: Context) -> None: ...
def by_text(a: int, c: "Context") -> None: ...  # noqa: UP037
def by_nested_text(a: int, c: Optional["Context"] = None) -> None: ...  # noqa: UP037, UP045


@pytest.mark.parametrize(
    "target",
    [
        by_class,
        by_module,
        by_union,
        by_optional,
        by_annotated,
        by_subclass,
        by_keyword,
        by_text,
        by_nested_text,
        dotted_typing_only,
        union_typing_only,
    ],
    ids=lambda function: function.__name__,
)
def test_a_parameter_annotated_context_is_ours(target: Callable[..., Any]) -> None:
    function = inspect_function(target, "tool")
    assert (function.context, function.skip, list(function.parameters)) == ("c", ("c",), ["a"])


def test_the_context_is_found_before_its_annotations_can_be_evaluated() -> None:
    def evaluated(a: int, c: Any) -> None: ...

    evaluated.__annotations__ = {"a": int, "c": typing.ForwardRef("Context | None")}
    assert inspect_function(evaluated, "tool").context == "c"


@pytest.mark.parametrize(
    "annotation",
    [str, "Contextual", "list[Context]", "Context | str", Context | str, list[Context], Any, "1 +"],
    ids=str,
)
def test_another_annotation_is_the_clients(annotation: Any) -> None:
    def tool(c: Any) -> None: ...

    tool.__annotations__ = {"c": annotation}
    assert inspect_function(tool, "tool").context is None


def test_one_context_is_enough() -> None:
    def tool(first: Context, second: Context) -> None: ...

    with pytest.raises(RegistrationError, match=r"first and second are all annotated Context"):
        inspect_function(tool, "tool")


def test_an_annotation_of_unknown_names_stays_a_text() -> None:
    def tool(a: Unknown) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    assert inspect_function(tool, "tool").hints["a"] == "Unknown"


def test_the_context_is_passed_by_its_name() -> None:
    def tool(call: Context, a: int) -> tuple[Context, int]:
        return call, a

    assert caller(inspect_function(tool, "tool"))({"a": 1}, CTX) == (CTX, 1)


# --- what cannot be served ------------------------------------------------------------------------


async def coroutine() -> None: ...


async def async_generator() -> AsyncIterator[int]:
    yield 1


def generator() -> Iterator[int]:
    yield 1


def positional_only(a: int, /) -> None: ...
def var_positional(*values: int) -> None: ...


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (coroutine, "synchronous half.*delete async and await"),
        (functools.partial(coroutine), "synchronous half"),
        (async_generator, "synchronous half"),
        (Shop().slow, "Shop.slow.*synchronous half"),
        (AsyncCallable(), "AsyncCallable.*synchronous half"),
        (staticmethod(coroutine), "synchronous half"),
        (generator, "return a list.*ctx.track"),
        (positional_only, "the parameter a is positional only.*slash"),
        (var_positional, "the parameter values takes any number.*list"),
        (Shop.method, "Shop.method.*is not bound"),
        (Shop, "Shop is no function"),
        (vars(Shop)["of_class"], "of_class.*bound methods"),
        ("text", "no function"),
        (None, "no function"),
        (dict.fromkeys, "dict.fromkeys: .*positional only"),
        (WithoutSignature(), "WithoutSignature.*no signature to read"),
    ],
)
def test_what_cannot_be_served_is_refused_by_name(target: Any, words: str) -> None:
    with pytest.raises(RegistrationError, match=f"(?s)tool .*{words}"):
        inspect_function(target, "tool")


def test_an_async_hook_is_refused() -> None:
    with pytest.raises(RegistrationError, match="init of server 'x' is async"):
        refuse_async(coroutine, "init of server 'x'")


# --- functions of hand-written schemas ------------------------------------------------------------


def schema(properties: str, required: str = "", **more: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: {} for name in properties.split()},
        "required": required.split(),
        **more,
    }


def by_name(a: int, b: int = 0, ctx: Context | None = None) -> Any:
    return a, b, ctx


def anything(ctx: Context, **rest: Any) -> Any:
    return rest


def whole(arguments: dict[str, Any], ctx: Context) -> Any:
    return arguments, ctx


def test_arguments_come_by_name() -> None:
    call = schema_caller(inspect_function(by_name, "tool"), schema("a b", "a", additionalProperties=False))
    assert call({"a": 1}, CTX) == (1, 0, CTX)


def test_arguments_come_as_one_dict_to_a_parameter_of_that_name() -> None:
    call = schema_caller(inspect_function(whole, "tool"), schema("a-b class"))
    assert call({"a-b": 1, "other": 2}, CTX) == ({"a-b": 1, "other": 2}, CTX)


def test_a_property_named_arguments_is_one_argument() -> None:
    call = schema_caller(inspect_function(whole, "tool"), schema("arguments", "arguments"))
    assert call({"arguments": {"x": 1}}, CTX) == ({"x": 1}, CTX)


def test_arguments_without_a_parameter_go_to_the_open_end() -> None:
    call = schema_caller(inspect_function(anything, "tool"), schema("a"))
    assert call({"a": 1, "other": 2}, CTX) == {"a": 1, "other": 2}


@pytest.mark.parametrize(("target", "name"), [(by_name, "other"), (by_name, "ctx"), (anything, "ctx")])
def test_what_a_loose_schema_lets_through_is_told_to_the_model(target: Callable[..., Any], name: str) -> None:
    """S26-TOOL-11: input-validation errors are in-band."""
    call = schema_caller(inspect_function(target, "tool"), schema("a" if target is anything else "a b", "a"))
    with pytest.raises(ToolError, match=f"Unknown argument: {name}"):
        call({"a": 1, name: 2}, CTX)


def test_a_schema_may_require_by_composition() -> None:
    composed = schema("a", anyOf=[{"required": ["a"]}])
    assert schema_caller(inspect_function(by_name, "tool"), composed)({"a": 1}, CTX) == (1, 0, CTX)


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (schema("a c d", "a"), "the input schema has c, d, the function has not"),
        (schema("a ctx", "a"), "the input schema has ctx"),
        (schema("a b"), "a must be in the input schema's required list or have a default"),
    ],
    ids=["more", "the context", "not required"],
)
def test_a_schema_that_the_function_cannot_serve_is_refused(written: dict[str, Any], words: str) -> None:
    with pytest.raises(RegistrationError, match=f"by_name.*{words}"):
        schema_caller(inspect_function(by_name, "tool"), written)


# --- registered functions -------------------------------------------------------------------------


def test_a_completable_is_called_like_its_function() -> None:
    completable = Completable(plain, lambda argument, function: None)
    assert completable(1, b="c") == plain(1, b="c")
    assert (vars(completable)["__name__"], completable.__wrapped__) == ("plain", plain)
    assert inspect.signature(completable) == inspect.signature(plain)


def test_a_completer_is_handed_on_and_stays_as_it_is() -> None:
    added: list[tuple[str, Any]] = []
    completable = Completable(plain, lambda argument, function: added.append((argument, function)))
    decorated = completable.complete("b")(plain)
    assert decorated is plain
    assert added == [("b", plain)]


@pytest.mark.parametrize("name", ["ctx", "context"])
def test_a_bare_context_is_warned_of(name: str, caplog: pytest.LogCaptureFixture) -> None:
    scope: dict[str, Any] = {}
    exec(f"def tool({name}): ...", scope)
    inspect_function(scope["tool"], "tool")
    assert f"write {name}: Context" in caplog.text


def test_an_annotated_context_is_not_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    def tool(ctx: Context, context: str) -> None: ...

    inspect_function(tool, "tool")
    assert not caplog.records
