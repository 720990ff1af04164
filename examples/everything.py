"""A server with one of everything: what the official conformance suite asks a server to have.

    gunicorn -k gevent examples.everything:application

Two environment variables change the options, so that one file serves every deployment under test:
``EVERYTHING_SESSIONS`` (``auto``, ``true``, ``false``) and ``EVERYTHING_STORE`` (as ``store=``).
Sessions are kept in memory by default, which takes a single process. Not here yet: what asks the client
a question.
"""

from __future__ import annotations

import base64
import os
import time
from typing import Annotated, Any
from uuid import uuid4

from mcp_wsgi import (
    Audio,
    Context,
    EmbeddedResource,
    Image,
    MCPServer,
    Message,
    ResourceContents,
    Text,
    ToolError,
)

mcp = MCPServer(
    "everything",
    version="1.0",
    title="Everything",
    instructions="A server for tests: each tool, resource and prompt shows one thing that a server can do.",
)

#: One red pixel.
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
)
#: One millisecond of silence: 8 samples of 8 bits, 8000 a second, one channel.
WAV = b"RIFF\x2c\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x40\x1f\0\0\x01\0\x08\0data\x08\0\0\0" + b"\x80" * 8


# --- tools ----------------------------------------------------------------------------------------


@mcp.tool
def test_simple_text() -> str:
    """Answer with text."""
    return "This is a simple text response for testing."


@mcp.tool
def test_image_content() -> Image:
    """Answer with a picture."""
    return Image(PNG)


@mcp.tool
def test_audio_content() -> Audio:
    """Answer with a sound."""
    return Audio(WAV)


@mcp.tool
def test_embedded_resource() -> EmbeddedResource:
    """Answer with a resource."""
    return embedded("test://embedded-resource")


@mcp.tool
def test_multiple_content_types() -> list[Text | Image | EmbeddedResource]:
    """Answer with text, a picture and a resource."""
    return [Text("Multiple content types test:"), Image(PNG), embedded("test://mixed-content-resource")]


@mcp.tool
def test_error_handling() -> str:
    """Fail in a way that the model is told about."""
    raise ToolError("This tool intentionally returns an error for testing.")


@mcp.tool
def test_tool_with_progress(ctx: Context) -> str:
    """Report progress: 0, 50 and 100 of 100."""
    for progress in (0, 50, 100):
        ctx.report_progress(progress, total=100, message=f"{progress} of 100")
        time.sleep(0.05)
    return "Progress reported."


@mcp.tool
def test_tool_with_logging(ctx: Context) -> str:
    """Log three messages, 50 ms apart."""
    for message in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        ctx.info(message, logger="everything")
        time.sleep(0.05)
    return "Logged."


@mcp.tool
def test_reconnection(ctx: Context) -> str:
    """End the connection early; a client that can comes back for the answer."""
    ctx.close_stream()
    time.sleep(0.1)
    return "Reconnected."


@mcp.tool
def test_logging_tool(ctx: Context) -> str:
    """Log one message of each level, to a client that asked for logs."""
    ctx.debug("A message of level debug")
    ctx.info("A message of level info")
    ctx.warning("A message of level warning")
    ctx.error("A message of level error")
    return "Logged."


Region = Annotated[str, "Repeated in the header Mcp-Param-Region.", {"x-mcp-header": "Region"}]


@mcp.tool
def test_x_mcp_header(region: Region = "none") -> str:  # noqa: PT028 - a tool, not a test
    """Take an argument that is repeated in a header, where a router can see it."""
    return f"Region: {region}"


@mcp.tool(
    input_schema={
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    }
)
def json_schema_2020_12_tool(arguments: dict[str, Any]) -> dict[str, Any]:
    """Take arguments that a hand-written JSON Schema describes, and give them back."""
    return arguments


@mcp.tool
def test_trigger_tool_change() -> str:
    """Add a tool and take it away again, so that whoever listens is told."""
    name = f"short_lived_{uuid4().hex}"
    mcp.add_tool(test_simple_text, name=name)
    mcp.remove_tool(name)
    return "The list of tools has changed."


@mcp.tool
def test_trigger_prompt_change() -> str:
    """Add a prompt and take it away again, so that whoever listens is told."""
    name = f"short_lived_{uuid4().hex}"
    mcp.prompt(name=name)(lambda: "Hello.")
    mcp.remove_prompt(name)
    return "The list of prompts has changed."


def embedded(uri: str) -> EmbeddedResource:
    """A resource with some text in it."""
    return EmbeddedResource(ResourceContents(uri, text="This is an embedded resource.", mime_type="text/plain"))


# --- resources ------------------------------------------------------------------------------------


@mcp.resource("test://static-text", mime_type="text/plain")
def static_text() -> str:
    """Text that never changes."""
    return "This is the content of the static text resource."


@mcp.resource("test://watched-resource", mime_type="text/plain")
def watched_resource() -> str:
    """Text to subscribe to."""
    return "This resource can be subscribed to."


@mcp.resource("test://static-binary", mime_type="image/png")
def static_binary() -> bytes:
    """Bytes that never change."""
    return PNG


@mcp.resource("test://template/{id}/data", mime_type="application/json")
def template_data(id: str) -> dict[str, Any]:  # noqa: A002 - the suite gives the name
    """Data about any id."""
    return {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}


# --- prompts --------------------------------------------------------------------------------------


@mcp.prompt
def test_simple_prompt() -> str:
    """Take no arguments."""
    return "This is a simple prompt for testing."


@mcp.prompt
def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """Take two arguments.

    Args:
        arg1: First test argument.
        arg2: Second test argument.
    """
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@test_prompt_with_arguments.complete("arg1")
def complete_arg1(value: str) -> list[str]:
    """Suggest a few cities."""
    return [city for city in ("Lima", "Lisbon", "Ljubljana", "Paris") if city.lower().startswith(value.lower())]


@mcp.prompt
def test_prompt_with_embedded_resource(resourceUri: str) -> list[Message]:  # noqa: N803 - the suite gives the name
    """Show the model a resource.

    Args:
        resourceUri: URI of the resource to embed.
    """
    return [
        Message("user", embedded(resourceUri)),
        Message("user", "Please process the embedded resource above."),
    ]


@mcp.prompt
def test_prompt_with_image() -> list[Message]:
    """Show the model a picture."""
    return [Message("user", Image(PNG)), Message("user", "Please analyze the image above.")]


# --- options --------------------------------------------------------------------------------------

SESSIONS = {"auto": "auto", "true": True, "false": False}


def options() -> dict[str, Any]:
    """The options that the environment overrides."""
    chosen: dict[str, Any] = {"sessions": True}
    if "EVERYTHING_STORE" in os.environ:
        chosen["store"] = os.environ["EVERYTHING_STORE"]
    if "EVERYTHING_SESSIONS" in os.environ:
        name = os.environ["EVERYTHING_SESSIONS"]
        if name not in SESSIONS:
            raise ValueError(f"EVERYTHING_SESSIONS takes {', '.join(SESSIONS)}, not {name!r}")
        chosen["sessions"] = SESSIONS[name]
    return chosen


application = mcp.wsgi_app(**options())
