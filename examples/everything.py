"""A server with one of everything: what the official conformance suite asks a server to have.

    gunicorn -k gevent examples.everything:application

Two environment variables change the options, so that one file serves every deployment under test:
``EVERYTHING_SESSIONS`` (``auto``, ``true``, ``false``) and ``EVERYTHING_STORE`` (as ``store=``).
Sessions are kept in memory by default, which takes a single process.
"""

from __future__ import annotations

import base64
import json
import os
import time
from typing import Annotated, Any
from uuid import uuid4

from typing_extensions import TypedDict

from mcp_wsgi import (
    Audio,
    Context,
    ElicitForm,
    EmbeddedResource,
    Image,
    ListRoots,
    MCPServer,
    Message,
    ResourceContents,
    Sample,
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


# --- questions to the client ----------------------------------------------------------------------


class Account(TypedDict):
    username: Annotated[str, "User's response"]
    email: Annotated[str, "User's email address"]


@mcp.tool(requires=["elicitation"])
def test_elicitation(message: str, ctx: Context) -> str:
    """Ask the user for a name and an address."""
    answer = ctx.elicit(message, Account)
    return f"User response: action {answer.action}, content {answer.data}"


@mcp.tool(requires=["sampling"])
def test_sampling(prompt: str, ctx: Context) -> str:
    """Ask the client's model."""
    return f"LLM response: {ctx.sample(prompt, max_tokens=100).text}"


DEFAULTS = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    },
}
CHOICES = ["option1", "option2", "option3"]
TITLED = [{"const": f"value{n}", "title": f"{word} Option"} for n, word in enumerate(("First", "Second", "Third"), 1)]
ENUMS = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": CHOICES},
        "titledSingle": {"type": "string", "oneOf": TITLED},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": CHOICES}},
        "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
    },
}


@mcp.tool(requires=["elicitation"])
def test_elicitation_sep1034_defaults(ctx: Context) -> str:
    """Ask with a default of each type."""
    answer = ctx.elicit("Please review the defaults.", DEFAULTS)
    return f"Elicitation completed: action={answer.action}, content={json.dumps(answer.data)}"


@mcp.tool(requires=["elicitation"])
def test_elicitation_sep1330_enums(ctx: Context) -> str:
    """Ask with a choice of each kind."""
    answer = ctx.elicit("Please choose.", ENUMS)
    return f"Elicitation completed: action={answer.action}, content={json.dumps(answer.data)}"


@mcp.tool(requires=["sampling"])
def test_missing_capability() -> str:
    """Need what the client has not declared."""
    return "The client can sample."


@mcp.tool(requires=["elicitation"])
def test_streaming_elicitation(ctx: Context) -> str:
    """Ask after a while, without a request on the stream."""
    answer = ctx.elicit("Go on?", {"type": "object", "properties": {"go": {"type": "boolean"}}})
    return f"The answer: {answer.action}."


NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
CONFIRM = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
CAPITAL = Sample(messages=[Message("user", "What is the capital of France?")], max_tokens=100)


@mcp.tool
def test_input_required_result_elicitation(ctx: Context) -> str:
    """Ask for a name."""
    answer = ctx.elicit("What is your name?", NAME, key="user_name")
    return f"Hello, {answer.data['name']}!" if answer.accepted else f"No name: {answer.action}."


@mcp.tool
def test_input_required_result_sampling(ctx: Context) -> str:
    """Ask the client's model for a capital."""
    return f"The model says: {ctx.ask({'capital_question': CAPITAL})['capital_question'].text}"


@mcp.tool
def test_input_required_result_list_roots(ctx: Context) -> str:
    """Ask for the client's roots."""
    return ", ".join(root.uri for root in ctx.list_roots(key="client_roots"))


@mcp.tool
def test_input_required_result_request_state(ctx: Context) -> str:
    """Ask, and find again what was remembered meanwhile."""
    seen = ctx.once("seen", lambda: "state-ok")
    answer = ctx.elicit("Please confirm.", CONFIRM, key="confirm")
    return f"{seen}: {answer.action}"


@mcp.tool
def test_input_required_result_multiple_inputs(ctx: Context) -> str:
    """Ask for a name, a greeting and the roots in one round."""
    answers = ctx.ask(
        {"user_name": ElicitForm("What is your name?", NAME), "greeting": CAPITAL, "client_roots": ListRoots()}
    )
    return f"{answers['user_name'].data}: {answers['greeting'].text} ({len(answers['client_roots'])} roots)"


@mcp.tool
def test_input_required_result_multi_round(ctx: Context) -> str:
    """Ask twice, in two rounds."""
    name = ctx.elicit("Step 1: What is your name?", NAME, key="step1")
    colour = {"type": "object", "properties": {"color": {"type": "string"}}, "required": ["color"]}
    color = ctx.elicit("Step 2: What is your favorite color?", colour, key="step2")
    return f"{name.data} likes {color.data}"


@mcp.tool
def test_input_required_result_tampered_state(ctx: Context) -> str:
    """Ask with a state that no client can change."""
    return ctx.elicit("Please confirm.", CONFIRM, key="confirm").action


@mcp.tool
def test_input_required_result_capabilities(ctx: Context) -> str:
    """Ask for what this client can do, and for nothing else."""
    questions: dict[str, ElicitForm | Sample] = {}
    if "elicitation" in ctx.client.capabilities:
        questions["confirm"] = ElicitForm("Please confirm.", CONFIRM)
    if "sampling" in ctx.client.capabilities:
        questions["capital_question"] = CAPITAL
    return f"{len(ctx.ask(questions))} answers"


@mcp.prompt
def test_input_required_result_prompt(ctx: Context) -> str:
    """Ask for a context, then make the message."""
    asked = {"type": "object", "properties": {"context": {"type": "string"}}, "required": ["context"]}
    answer = ctx.elicit("What context should the prompt use?", asked, key="user_context")
    return f"Use this context: {answer.data['context'] if answer.accepted else 'none'}"


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
