"""The behaviour an application implements, and the values that its methods take and return.

Everything below this layer knows an application only as a ``Handler``. ``MCPServer`` is one, built
from decorated functions; a class of your own is another.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from mcp_wsgi.context import Context
from mcp_wsgi.descriptions import Prompt, Resource, ResourceTemplate, ServerInfo, Tool
from mcp_wsgi.errors import MCPError, ResourceNotFound, UnknownPrompt, UnknownTool
from mcp_wsgi.revisions import Revision

__all__ = [
    "Completion",
    "CompletionArgument",
    "Feature",
    "Handler",
    "InitParams",
    "ListKind",
    "PromptRef",
    "ResourceRef",
    "overridden_features",
]

Feature = Literal["tools", "resources", "prompts", "completions"]
ListKind = Literal["tools", "resources", "resource_templates", "prompts"]


class InitParams(msgspec.Struct, frozen=True):
    """What is known of a client when a session begins, or a call that has none.

    Attributes:
        revision: The revision spoken.
        client_info: The client's ``Implementation`` object; empty when it did not say.
        capabilities: The client's ``ClientCapabilities`` object; empty when it did not say.
        principal: What ``auth`` returned; ``None`` without ``auth``.
    """

    revision: Revision
    client_info: Mapping[str, Any]
    capabilities: Mapping[str, Any]
    principal: Any = None


class PromptRef(msgspec.Struct, frozen=True):
    """A completion is asked for an argument of the prompt ``name``."""

    name: str


class ResourceRef(msgspec.Struct, frozen=True):
    """A completion is asked for a variable of the template (or URI) ``uri``."""

    uri: str


class CompletionArgument(msgspec.Struct, frozen=True):
    """The argument being typed: its ``name``, and its ``value`` so far."""

    name: str
    value: str


class Completion(msgspec.Struct, frozen=True):
    """Suggestions, best first.

    Args:
        values: At most 100 are sent; more are cut and counted.
        total: How many there are in all; default: as many as given.
        has_more: Whether there are more than are sent; default: derived from the other two.
    """

    values: Sequence[str]
    total: int | None = None
    has_more: bool | None = None


class Handler:
    """The behaviour of an MCP server, in plain synchronous methods.

    Override what the application has; capabilities are derived from that (see ``features``).
    Methods may block. They run in a worker, with ``ctx`` as their view of the call.

    Attributes:
        server_info: What the server calls itself.
        instructions: How a model should use it; default: none.
    """

    server_info: ServerInfo = ServerInfo("mcp-wsgi")
    instructions: str | None = None

    def init(self, params: InitParams) -> dict[str, Any]:
        """Make the state that ``ctx.state`` starts with, once per session or per call without one.

        Raise an ``MCPError`` to refuse the client.
        """
        return {}

    def tools(self, ctx: Context) -> Sequence[Tool]:
        """All tools that this caller sees, in a stable order; paging is done elsewhere."""
        return ()

    def find_tool(self, name: str, ctx: Context) -> Tool | None:
        """The tool of that name, or ``None``; override it where a search of the list is too slow."""
        return next((tool for tool in self.tools(ctx) if tool.name == name), None)

    def handle_tool(self, name: str, arguments: dict[str, Any], ctx: Context) -> Any:
        """Run a tool; ``arguments`` fit its ``input_schema``.

        Returns:
            Anything that ``returns.tool_result`` takes: text, content blocks, structured data, bytes,
            a ``ToolResult``, or ``None``.

        Raises:
            ToolError: The tool failed in a way that the model should read about.
        """
        raise UnknownTool(name)

    def resources(self, ctx: Context) -> Sequence[Resource]:
        """All resources that this caller may see listed, in a stable order."""
        return ()

    def read_resource(self, uri: str, ctx: Context) -> Any:
        """The content behind ``uri``: text, bytes, JSON data, ``ResourceContents`` or a list of them.

        Raises:
            ResourceNotFound: There is none.
        """
        raise ResourceNotFound(uri)

    def resource_templates(self, ctx: Context) -> Sequence[ResourceTemplate]:
        """All resource templates that this caller may see listed, in a stable order."""
        return ()

    def prompts(self, ctx: Context) -> Sequence[Prompt]:
        """All prompts that this caller sees, in a stable order."""
        return ()

    def find_prompt(self, name: str, ctx: Context) -> Prompt | None:
        """The prompt of that name, or ``None``; override it where a search of the list is too slow."""
        return next((prompt for prompt in self.prompts(ctx) if prompt.name == name), None)

    def get_prompt(self, name: str, arguments: dict[str, str], ctx: Context) -> Any:
        """The messages of a prompt: text, ``Message`` values, a list of them, or a ``PromptResult``."""
        raise UnknownPrompt(name)

    def complete(
        self,
        ref: PromptRef | ResourceRef,
        argument: CompletionArgument,
        context: Mapping[str, str],
        ctx: Context,
    ) -> Completion | Iterable[str]:
        """Suggest values for an argument, given those already resolved (``context``)."""
        return ()

    def channels(self, ctx: Context) -> Iterable[str]:
        """The names of the broadcast channels that this caller listens to."""
        return ()

    def terminate(self, reason: str, ctx: Context) -> None:
        """Release what a session held, once, when it ends."""

    def features(self) -> frozenset[Feature]:
        """What is advertised; by default what a subclass overrides.

        A method behind a feature that is missing here is answered "method not found".
        """
        return overridden_features(type(self), Handler)

    def may_subscribe(self, uri: str, ctx: Context) -> bool:
        """Whether this caller may be told when the resource behind ``uri`` changes.

        By default whoever can read it may, so it is read to find out; override it where that is dear.
        """
        try:
            self.read_resource(uri, ctx)
        except MCPError:
            return False
        return True

    def observe(self, announce: Callable[[ListKind], object]) -> None:
        """Keep a function that is to be told of each list that changes while the server runs.

        By default nobody is told. It is a method of an object that may go away: keep it weakly.
        """

    def catalogue(self, kind: ListKind) -> Hashable | None:
        """What identifies the present state of a list that is the same for every caller.

        While the value stays equal, the encoded list is reused and the list method is not called.

        Returns:
            ``None`` (the default) if the list may differ between callers or calls: nothing is reused.
        """
        return None


_FEATURES: Mapping[Feature, frozenset[str]] = {
    "tools": frozenset({"tools", "handle_tool"}),
    "resources": frozenset({"resources", "read_resource", "resource_templates"}),
    "prompts": frozenset({"prompts", "get_prompt"}),
    "completions": frozenset({"complete"}),
}


def overridden_features(cls: type[Handler], base: type[Handler]) -> frozenset[Feature]:
    """The features of which ``cls`` has a method that is not its ``base``'s."""
    return frozenset(
        feature
        for feature, methods in _FEATURES.items()
        if any(getattr(cls, name) is not getattr(base, name) for name in methods)
    )
