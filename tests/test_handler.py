from __future__ import annotations

from typing import Any

import pytest

from mcp_wsgi.context import Context
from mcp_wsgi.descriptions import Prompt, Tool
from mcp_wsgi.errors import ResourceNotFound, UnknownPrompt, UnknownTool
from mcp_wsgi.handler import (
    Completion,
    CompletionArgument,
    Handler,
    InitParams,
    PromptRef,
    ResourceRef,
    overridden_features,
)
from mcp_wsgi.revisions import REVISIONS
from tests.contexts import context

MODERN = REVISIONS["2026-07-28"]


@pytest.fixture
def ctx() -> Context:
    return context("tools/list")


def test_a_bare_handler_offers_nothing(ctx: Context) -> None:
    handler = Handler()
    assert handler.features() == frozenset()
    assert [*handler.tools(ctx), *handler.resources(ctx), *handler.resource_templates(ctx), *handler.prompts(ctx)] == []
    assert (handler.find_tool("x", ctx), handler.find_prompt("x", ctx)) == (None, None)
    assert handler.complete(PromptRef("x"), CompletionArgument("a", ""), {}, ctx) == ()
    assert list(handler.channels(ctx)) == []
    assert handler.init(InitParams(MODERN, {}, {})) == {}
    assert handler.catalogue("tools") is None
    handler.terminate("expired", ctx)


def test_a_bare_handler_knows_no_names(ctx: Context) -> None:
    with pytest.raises(UnknownTool, match="add"):
        Handler().handle_tool("add", {}, ctx)
    with pytest.raises(UnknownPrompt, match="ask"):
        Handler().get_prompt("ask", {}, ctx)
    with pytest.raises(ResourceNotFound) as caught:
        Handler().read_resource("notes://1", ctx)
    assert caught.value.data == {"uri": "notes://1"}


def test_every_session_begins_with_a_state_of_its_own() -> None:
    params = InitParams(MODERN, {}, {})
    assert Handler().init(params) is not Handler().init(params)


@pytest.mark.parametrize(
    ("method", "feature"),
    [
        ("tools", "tools"),
        ("handle_tool", "tools"),
        ("resources", "resources"),
        ("read_resource", "resources"),
        ("resource_templates", "resources"),
        ("prompts", "prompts"),
        ("get_prompt", "prompts"),
        ("complete", "completions"),
    ],
)
def test_a_feature_is_what_a_subclass_overrides(method: str, feature: str) -> None:
    """T25-LIFE-07, S26-VER-04."""
    subclass: type[Handler] = type("Own", (Handler,), {method: lambda self, *args: ()})
    assert subclass().features() == {feature}
    assert type("Grandchild", (subclass,), {})().features() == {feature}
    assert overridden_features(subclass, subclass) == frozenset()


@pytest.mark.parametrize("method", ["init", "channels", "terminate", "find_tool", "catalogue", "features"])
def test_other_methods_advertise_nothing(method: str) -> None:
    assert overridden_features(type("Own", (Handler,), {method: lambda self, *args: ()}), Handler) == frozenset()


def test_tools_and_prompts_are_found_in_their_lists(ctx: Context) -> None:
    class Shop(Handler):
        def tools(self, ctx: Context) -> list[Tool]:
            return [first, second]

        def prompts(self, ctx: Context) -> list[Prompt]:
            return [ask]

    first, second, ask = Tool(name="first"), Tool(name="second"), Prompt(name="ask")
    assert Shop().find_tool("second", ctx) is second
    assert Shop().find_tool("third", ctx) is None
    assert Shop().find_prompt("ask", ctx) is ask


@pytest.mark.parametrize(
    ("value", "field"),
    [
        (InitParams(MODERN, {}, {}), "principal"),
        (PromptRef("p"), "name"),
        (ResourceRef("a:b"), "uri"),
        (CompletionArgument("a", "v"), "value"),
        (Completion(()), "total"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_cannot_be_edited(value: Any, field: str) -> None:
    with pytest.raises(AttributeError):
        setattr(value, field, None)
