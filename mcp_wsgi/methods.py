"""The RPC table: method, function, capability, revisions; and the functions.

A function here takes a call and returns its result as encoded JSON. It never asks which era it
serves: what differs is in ``revisions.py`` and in the columns of ``METHODS``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

import msgspec

from mcp_wsgi.call import Call
from mcp_wsgi.context import Context
from mcp_wsgi.envelope import Envelope
from mcp_wsgi.errors import (
    InvalidParams,
    MissingArgument,
    MissingCapability,
    ResourceNotFound,
    ToolError,
    UnknownPrompt,
    UnknownTool,
)
from mcp_wsgi.excerpts import quote_text, shorten
from mcp_wsgi.failures import Failures, is_failure
from mcp_wsgi.handler import Completion, CompletionArgument, Handler, ListKind, PromptRef, ResourceRef
from mcp_wsgi.inputs import InputRequired, check_capability
from mcp_wsgi.jsonrpc import encode
from mcp_wsgi.levels import LEVELS
from mcp_wsgi.pages import Pages
from mcp_wsgi.problems import quote
from mcp_wsgi.returns import (
    prompt_result,
    prompt_result_wire,
    resource_contents,
    resource_contents_wire,
    tool_result,
    tool_result_wire,
)
from mcp_wsgi.revisions import LEGACY, MODERN, SUPPORTED, Revision
from mcp_wsgi.schema import ArgumentErrors, to_json
from mcp_wsgi.uris import is_uri

__all__ = ["ANNOUNCEMENTS", "COMPLETION_LIMIT", "METHODS", "Method", "Service", "tool_failure"]

log = logging.getLogger("mcp_wsgi")

#: Most values of one completion. Source: server/utilities/completion, "Completion Results".
COMPLETION_LIMIT = 100
#: Feature -> what a server declares that tells its clients of changes.
ANNOUNCEMENTS: Mapping[str, dict[str, bool]] = {
    "prompts": {"listChanged": True},
    "resources": {"listChanged": True, "subscribe": True},
    "tools": {"listChanged": True},
}


class Service(Protocol):
    """What the functions of the table work with.

    Attributes:
        handler: The application.
        envelope: Finishes results.
        pages: Gives the pages of lists.
        failures: Tells of failures.
    """

    handler: Handler
    envelope: Envelope
    pages: Pages
    failures: Failures

    def announced(self, revision: Revision) -> frozenset[str]:
        """The features whose changes clients of a revision can be told of."""


class Method(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the table.

    Attributes:
        run: Makes the encoded result.
        revisions: Names of the revisions that have the method.
        feature: What the handler must offer for the method to exist; ``None``: always there.
        callback: Whether it runs application code, and so wants a worker and a state.
        named_by: The parameter that the ``Mcp-Name`` header repeats; ``None``: no such header.
        cacheable: Whether the result carries cache hints where the revision has them.
        list_kind: For a list method, which list.
        stream: Whether the endpoint answers with a stream of its own, instead of ``run``.
        pushes: Whether it makes sense only where a client can be told of changes.
        asks: Whether the client may be asked something on the way to the result.
    """

    run: Callable[[Service, Call, Context], bytes]
    revisions: frozenset[str]
    feature: str | None = None
    callback: bool = True
    named_by: str | None = None
    cacheable: bool = False
    list_kind: ListKind | None = None
    stream: bool = False
    pushes: bool = False
    asks: bool = False


def _initialize(service: Service, call: Call, ctx: Context) -> bytes:
    handler = service.handler
    result: dict[str, Any] = {
        "protocolVersion": call.revision.name,
        "capabilities": _capabilities(service, call.revision),
        "serverInfo": handler.server_info.wire(call.revision),
    }
    if handler.instructions:
        result["instructions"] = handler.instructions
    return encode(result)


def _discover(service: Service, call: Call, ctx: Context) -> bytes:
    handler = service.handler
    result: dict[str, Any] = {"supportedVersions": SUPPORTED, "capabilities": _capabilities(service, call.revision)}
    if handler.instructions:
        result["instructions"] = handler.instructions
    return encode(service.envelope.wrap(call, result))


def _capabilities(service: Service, revision: Revision) -> dict[str, Any]:
    # Log messages can come from any callback, so "logging" is always declared.
    capabilities: dict[str, Any] = {"logging": {}}
    announced = service.announced(revision)
    for feature in sorted(service.handler.features()):
        capabilities[feature] = ANNOUNCEMENTS[feature] if feature in announced else {}
    return capabilities


def _nothing(service: Service, call: Call, ctx: Context) -> bytes:
    return b"{}"


def _set_level(service: Service, call: Call, ctx: Context) -> bytes:
    level = call.params.get("level")
    if level not in LEVELS:
        raise InvalidParams(f'Invalid params: "level" must be one of {", ".join(LEVELS)}')
    if call.session is not None:
        call.session.set_log_level(level)
    return b"{}"


def _subscribe(service: Service, call: Call, ctx: Context) -> bytes:
    uri = _text(call.params, "uri")
    if not is_uri(uri) or not service.handler.may_subscribe(uri, ctx):
        raise ResourceNotFound(uri)
    if call.session is not None:
        call.session.subscribe(uri)
    return b"{}"


def _unsubscribe(service: Service, call: Call, ctx: Context) -> bytes:
    uri = _text(call.params, "uri")
    if call.session is not None:
        call.session.unsubscribe(uri)
    return b"{}"


def _list(service: Service, call: Call, ctx: Context) -> bytes:
    kind: Any = METHODS[call.method].list_kind
    return service.pages.make(kind, call, ctx)


def _call_tool(service: Service, call: Call, ctx: Context) -> bytes:
    name = _text(call.params, "name")
    arguments = _object(call.params, "arguments")
    handler = service.handler
    tool = handler.find_tool(name, ctx)
    if tool is None:
        raise UnknownTool(name)
    if call.verify is not None and tool.arguments.headers:
        call.verify(tool.arguments, arguments)
    output = tool.output
    try:
        if tool.requires:
            check_capability(call.client.capabilities, tool.requires)
        value = _settled(handler.handle_tool(name, tool.arguments.bind(arguments), ctx))
        result = tool_result(value, to_json=to_json, structured=None if output is None else output.dump)
        wire = tool_result_wire(result, call.revision)
        return encode(service.envelope.wrap(call, wire))
    except (ArgumentErrors, ToolError) as problem:
        return tool_failure(service, call, str(problem) or f"Tool {name} failed")
    except MissingCapability as problem:
        if call.revision.asks_in_results:
            raise
        return tool_failure(service, call, str(problem))
    except BaseException as error:
        if not is_failure(error):
            raise
        ctx.crashed = True
        return _tool_crash(service, call, name, error)


def _settled(value: Any) -> Any:
    """What a callback returned; an ``InputRequired`` counts as raised."""
    if isinstance(value, InputRequired):
        raise value
    return value


def _tool_crash(service: Service, call: Call, name: str, error: BaseException) -> bytes:
    log.error("tool %s failed, request id %s", quote(name), quote(call.id), exc_info=error)
    return tool_failure(service, call, service.failures.text(f"Tool {shorten(name)} failed unexpectedly", call, error))


def tool_failure(service: Service, call: Call, text: str) -> bytes:
    """The result of a tool that has failed, for the model to read."""
    clean = text.encode("utf-8", "replace").decode()
    result = {"content": [{"type": "text", "text": clean}], "isError": True}
    return encode(service.envelope.wrap(call, result))


def _read_resource(service: Service, call: Call, ctx: Context) -> bytes:
    uri = _text(call.params, "uri")
    if not is_uri(uri):
        raise ResourceNotFound(uri)
    value = _settled(service.handler.read_resource(uri, ctx))
    contents = resource_contents(value, uri=uri, to_json=to_json)
    result = resource_contents_wire(contents, call.revision)
    # Where each caller sees a list of their own, each reads for themselves, too.
    shared = service.handler.catalogue("resources") is not None
    return encode(service.envelope.wrap(call, result, shared=shared))


def _get_prompt(service: Service, call: Call, ctx: Context) -> bytes:
    name = _text(call.params, "name")
    arguments = _object(call.params, "arguments")
    handler = service.handler
    prompt = handler.find_prompt(name, ctx)
    if prompt is None:
        raise UnknownPrompt(name)
    for key, value in arguments.items():
        if type(value) is not str:
            raise InvalidParams(f"Invalid params: argument {quote_text(key)} must be a string")
    missing = [argument.name for argument in prompt.arguments if argument.required and argument.name not in arguments]
    if missing:
        raise MissingArgument(missing)
    value = _settled(handler.get_prompt(name, arguments, ctx))
    result = prompt_result(value, description=prompt.description)
    wire = prompt_result_wire(result, call.revision)
    return encode(service.envelope.wrap(call, wire))


def _complete(service: Service, call: Call, ctx: Context) -> bytes:
    ref = _reference(_object(call.params, "ref"))
    argument = _object(call.params, "argument")
    wanted = CompletionArgument(_text(argument, "name"), _text(argument, "value"))
    context: dict[str, str] = {}
    if call.revision.completion_context:
        context = _object(_object(call.params, "context"), "arguments")
        if not all(type(value) is str for value in context.values()):
            raise InvalidParams('Invalid params: "context.arguments" must map names to strings')
    found = service.handler.complete(ref, wanted, context, ctx)
    result = {"completion": _completion_wire(found)}
    return encode(service.envelope.wrap(call, result))


def _reference(ref: Mapping[str, Any]) -> PromptRef | ResourceRef:
    kind = ref.get("type")
    if kind == "ref/prompt":
        return PromptRef(_text(ref, "name"))
    if kind == "ref/resource":
        return ResourceRef(_text(ref, "uri"))
    raise InvalidParams('Invalid params: "ref.type" must be "ref/prompt" or "ref/resource"')


def _completion_wire(found: Completion | Iterable[str]) -> dict[str, Any]:
    completion = found if isinstance(found, Completion) else Completion(_texts(found))
    values = _texts(completion.values)
    total = len(values) if completion.total is None else completion.total
    if type(total) is not int or total < 0:
        raise TypeError(f"the total of a completion is a count, not {total!r}")
    sent = values[:COMPLETION_LIMIT]
    more = total > len(sent) if completion.has_more is None else completion.has_more
    return {"values": sent, "total": total, "hasMore": bool(more) or len(values) > len(sent)}


def _texts(given: Iterable[str]) -> list[str]:
    # A text is a sequence of texts, but never meant as one.
    texts = [] if isinstance(given, str) else list(given)
    if isinstance(given, str) or not all(isinstance(text, str) for text in texts):
        raise TypeError("complete must return a list of texts")
    return texts


def _text(params: Mapping[str, Any], name: str) -> str:
    value = params.get(name)
    if type(value) is not str:
        raise InvalidParams(f'Invalid params: "{name}" must be a string')
    return value


def _object(params: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = params.get(name)
    if value is None:
        return {}
    if type(value) is not dict:
        raise InvalidParams(f'Invalid params: "{name}" must be an object')
    return value


_LEGACY = frozenset(row.name for row in LEGACY)
_MODERN = frozenset(row.name for row in MODERN)
_BOTH = _LEGACY | _MODERN

#: Every RPC method that is served.
METHODS: Mapping[str, Method] = {
    "initialize": Method(run=_initialize, revisions=_LEGACY),
    "server/discover": Method(run=_discover, revisions=_MODERN, callback=False, cacheable=True),
    "subscriptions/listen": Method(run=_nothing, revisions=_MODERN, callback=False, stream=True),
    "ping": Method(run=_nothing, revisions=_LEGACY, callback=False),
    "logging/setLevel": Method(run=_set_level, revisions=_LEGACY, callback=False),
    "tools/list": Method(run=_list, revisions=_BOTH, feature="tools", cacheable=True, list_kind="tools"),
    "tools/call": Method(run=_call_tool, revisions=_BOTH, feature="tools", named_by="name", asks=True),
    "resources/list": Method(run=_list, revisions=_BOTH, feature="resources", cacheable=True, list_kind="resources"),
    "resources/templates/list": Method(
        run=_list, revisions=_BOTH, feature="resources", cacheable=True, list_kind="resource_templates"
    ),
    "resources/subscribe": Method(run=_subscribe, revisions=_LEGACY, feature="resources", pushes=True),
    "resources/unsubscribe": Method(
        run=_unsubscribe, revisions=_LEGACY, feature="resources", callback=False, pushes=True
    ),
    "resources/read": Method(
        run=_read_resource, revisions=_BOTH, feature="resources", cacheable=True, named_by="uri", asks=True
    ),
    "prompts/list": Method(run=_list, revisions=_BOTH, feature="prompts", cacheable=True, list_kind="prompts"),
    "prompts/get": Method(run=_get_prompt, revisions=_BOTH, feature="prompts", named_by="name", asks=True),
    "completion/complete": Method(run=_complete, revisions=_BOTH, feature="completions"),
}
