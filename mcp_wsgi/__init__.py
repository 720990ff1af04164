"""MCP servers for the synchronous half of the Python web."""

from __future__ import annotations

from mcp_wsgi.content import Audio, EmbeddedResource, Image, Message, ResourceContents, ResourceLink, Text
from mcp_wsgi.context import Context, current_context
from mcp_wsgi.descriptions import Icon, Prompt, PromptArgument, Resource, ResourceTemplate, ServerInfo, Tool
from mcp_wsgi.errors import (
    Cancelled,
    ConfigurationError,
    Forbidden,
    InputError,
    InputRefused,
    InputTimeout,
    InvalidParams,
    MCPError,
    MissingCapability,
    ResourceNotFound,
    ToolError,
    Unauthorized,
)
from mcp_wsgi.handler import Completion, CompletionArgument, Handler, InitParams, PromptRef, ResourceRef
from mcp_wsgi.inputs import (
    ElicitForm,
    ElicitResult,
    ElicitUrl,
    InputRequired,
    ListRoots,
    Root,
    Sample,
    SamplingResult,
    UrlElicitationRequired,
)
from mcp_wsgi.logs import ContextLogHandler
from mcp_wsgi.returns import PromptResult, ToolResult
from mcp_wsgi.server import MCPServer
from mcp_wsgi.wsgi.app import MCPApp

__all__ = [
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

__version__ = "0.1.0"
