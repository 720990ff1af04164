"""MCP servers for the synchronous half of the Python web."""

from __future__ import annotations

from mcp_wsgi.content import (
    Audio,
    EmbeddedResource,
    Image,
    Message,
    PromptResult,
    ResourceContents,
    ResourceLink,
    Text,
    ToolResult,
)
from mcp_wsgi.context import Context, ContextLogHandler, current_context
from mcp_wsgi.errors import (
    Cancelled,
    ConfigurationError,
    Forbidden,
    InvalidParams,
    MCPError,
    ResourceNotFound,
    ToolError,
    Unauthorized,
)
from mcp_wsgi.handler import (
    Completion,
    CompletionArgument,
    Handler,
    Icon,
    InitParams,
    Prompt,
    PromptArgument,
    PromptRef,
    Resource,
    ResourceRef,
    ResourceTemplate,
    ServerInfo,
    Tool,
)
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
    "EmbeddedResource",
    "Forbidden",
    "Handler",
    "Icon",
    "Image",
    "InitParams",
    "InvalidParams",
    "MCPApp",
    "MCPError",
    "MCPServer",
    "Message",
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
    "ServerInfo",
    "Text",
    "Tool",
    "ToolError",
    "ToolResult",
    "Unauthorized",
    "__version__",
    "current_context",
]

__version__ = "0.1.0"
