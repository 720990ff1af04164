"""The public surface, written down: a name that comes or goes is a change to this list, and to CHANGES.md."""

from __future__ import annotations

import importlib.metadata

import pytest

import mcp_wsgi

NAMES = [
    "Audio",
    "Cancelled",
    "Completion",
    "CompletionArgument",
    "ConfigurationError",
    "Context",
    "ContextLogHandler",
    "ElicitForm",
    "ElicitResult",
    "ElicitUrl",
    "EmbeddedResource",
    "Forbidden",
    "Handler",
    "Icon",
    "Image",
    "InitParams",
    "InputError",
    "InputRefused",
    "InputRequired",
    "InputTimeout",
    "InvalidParams",
    "ListRoots",
    "MCPApp",
    "MCPError",
    "MCPServer",
    "Message",
    "MissingCapability",
    "Prompt",
    "PromptArgument",
    "PromptRef",
    "PromptResult",
    "Resource",
    "ResourceContents",
    "ResourceLink",
    "ResourceNotFound",
    "ResourceRef",
    "ResourceTemplate",
    "Root",
    "Sample",
    "SamplingResult",
    "ServerInfo",
    "Text",
    "Tool",
    "ToolError",
    "ToolResult",
    "Unauthorized",
    "UrlElicitationRequired",
    "__version__",
    "current_context",
]


def test_the_public_names_are_these() -> None:
    assert sorted(mcp_wsgi.__all__) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_has_its_home_in_the_package(name: str) -> None:
    value = getattr(mcp_wsgi, name)
    assert name == "__version__" or (value.__module__.startswith("mcp_wsgi.") and value.__doc__)


def test_nothing_else_is_public() -> None:
    modules = {name for name, value in vars(mcp_wsgi).items() if type(value) is type(importlib)}
    public = {name for name in vars(mcp_wsgi) if not name.startswith("_")}
    assert public - modules - {"annotations"} == {*NAMES} - {"__version__"}


def test_the_version_is_the_distribution_s() -> None:
    assert importlib.metadata.version("mcp-wsgi") == mcp_wsgi.__version__
