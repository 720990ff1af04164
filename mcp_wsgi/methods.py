"""The RPC table: method, function, capability, revisions; paging; capability gates.

A function here takes a call and returns its result as encoded JSON. It never asks which era it
serves: what differs is in ``revisions.py`` and in the columns of ``METHODS``.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from mcp_wsgi.call import Call
from mcp_wsgi.context import Context, enter, leave
from mcp_wsgi.errors import (
    Cancelled,
    ConfigurationError,
    InputError,
    InternalError,
    InvalidParams,
    MCPError,
    MethodNotFound,
    MissingArgument,
    MissingCapability,
    ResourceNotFound,
    ToolError,
    UnknownPrompt,
    UnknownTool,
)
from mcp_wsgi.handler import (
    Completion,
    CompletionArgument,
    Handler,
    InitParams,
    PromptRef,
    ResourceRef,
)
from mcp_wsgi.inputs import InputRequired, UrlElicitationRequired, check_capability
from mcp_wsgi.jsonrpc import encode
from mcp_wsgi.levels import LEVELS
from mcp_wsgi.returns import (
    prompt_result,
    prompt_result_wire,
    resource_contents,
    resource_contents_wire,
    tool_result,
    tool_result_wire,
)
from mcp_wsgi.revisions import LEGACY, META_SERVER_INFO, MODERN, SUPPORTED, Revision
from mcp_wsgi.rounds import States
from mcp_wsgi.schema import ArgumentErrors, to_json
from mcp_wsgi.sealing import Cursors
from mcp_wsgi.sink import SILENCE
from mcp_wsgi.uris import is_uri

if TYPE_CHECKING:
    from typing_extensions import TypeIs

__all__ = ["COMPLETION_LIMIT", "MAX_CHANNELS", "METHODS", "Dispatcher", "Method", "is_for_client"]

log = logging.getLogger("mcp_wsgi")

T = TypeVar("T")

#: Most values of one completion. Source: server/utilities/completion, "Completion Results".
COMPLETION_LIMIT = 100
#: Most broadcast channels of one session.
MAX_CHANNELS = 1000
#: Most rounds of questions of one call in the session era.
MAX_ROUNDS = 64
#: What a request brings of earlier rounds.
_ROUND_PARAMS = frozenset({"inputResponses", "requestState"})

_STATES_ALONE = (
    "a client was asked something by a server of several processes without the option secret_key: the requestState "
    "that it brings back is refused by every process but this one. Set a secret_key that all processes share"
)

# Codes of the protocol. Source: basic/index, "Error Codes".
_NOT_FOUND = -32002
_MCP_CODES = range(-32099, -32019)
_ASSIGNED = frozenset({-32020, -32021, -32022})


def is_for_client(error: BaseException) -> TypeIs[MCPError]:
    """Whether an exception is an answer to the client, and not a failure of the application."""
    return isinstance(error, MCPError) and not isinstance(error, ConfigurationError)


def is_failure(error: BaseException) -> bool:
    """Whether an exception is a failure of the application: all that are no answer and end no worker.

    ``sys.exit()`` and a time-out that is no ``Exception`` (gevent's) fail a callback like anything else.
    """
    return not (is_for_client(error) or isinstance(error, (Cancelled, InputRequired, KeyboardInterrupt)))


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

    run: Callable[[Dispatcher, Call, Context], bytes]
    revisions: frozenset[str]
    feature: str | None = None
    callback: bool = True
    named_by: str | None = None
    cacheable: bool = False
    list_kind: str | None = None
    stream: bool = False
    pushes: bool = False
    asks: bool = False


class Dispatcher:
    """Answers calls with a handler.

    Args:
        handler: The application.
        cursors: Makes and reads pagination cursors.
        page_size: Items on a page.
        cache_ttl: Seconds that results may be kept.
        cache_scope: ``private`` or ``public``.
        expose_errors: Whether clients may read the text of unexpected exceptions.

    Attributes:
        holds_streams: Whether the server can hold a stream open while it answers other requests.
        keeps_sessions: Whether there are sessions through which a client can be told of changes.
        shares_key: Whether each process that may be asked next can read this one's cursors and states;
            without, a list is one page.
    """

    def __init__(
        self,
        handler: Handler,
        cursors: Cursors,
        *,
        page_size: int,
        cache_ttl: float,
        cache_scope: str,
        expose_errors: bool,
    ) -> None:
        self.handler = handler
        self.cursors = cursors
        self.page_size = page_size
        self.expose_errors = expose_errors
        self.cache_hints = {"ttlMs": int(cache_ttl * 1000), "cacheScope": cache_scope}
        self._private_hints = {**self.cache_hints, "cacheScope": "private"}
        self.states: States | None = None
        self._has_init = type(handler).init is not Handler.init
        self._own_meta = {
            row.name: {META_SERVER_INFO: handler.server_info.wire(row)} for row in MODERN if row.server_info_in_meta
        }
        self._encoded_meta = {name: msgspec.Raw(encode(meta)) for name, meta in self._own_meta.items()}
        self.holds_streams = True
        self.keeps_sessions = False
        self.shares_key = True
        self._warned_of_key = False
        self._warned_of_states = False
        self._listings: dict[tuple[str, str], tuple[Hashable, _Listing]] = {}

    # --- the way in -------------------------------------------------------------------------------

    def find(self, name: str, revision: Revision) -> Method:
        """The row that serves a method.

        Raises:
            MethodNotFound: Unknown, not of this revision, or behind a capability not advertised.
            InternalError: The handler failed to say what it offers.
        """
        method = METHODS.get(name)
        if method is None or revision.name not in method.revisions:
            raise MethodNotFound(name)
        if method.feature is not None:
            try:
                offered = method.feature in self.handler.features()
            except Exception as error:
                log.exception("features failed")
                raise InternalError from error
            if not offered or (method.pushes and method.feature not in self.announced(revision)):
                raise MethodNotFound(name)
        return method

    def announced(self, revision: Revision) -> frozenset[str]:
        """The features whose changes clients of a revision can be told of."""
        if not (self.holds_streams and (revision.listens or self.keeps_sessions)):
            return frozenset()
        return self.handler.features() & _ANNOUNCEMENTS.keys()

    def subscribable(self, uris: Iterable[str], call: Call) -> frozenset[str]:
        """The URIs whose changes the caller may be told of.

        Raises:
            MCPError: The handler failed to say.
        """
        return self._asked(call, {}, lambda ctx: frozenset(uri for uri in uris if self.handler.may_subscribe(uri, ctx)))

    def channels(self, call: Call, state: dict[str, Any]) -> frozenset[str]:
        """The broadcast channels that the caller listens to.

        Args:
            state: The session's state, for the handler to look at.

        Raises:
            MCPError: The handler failed to say.
        """
        return self._asked(call, state, lambda ctx: _channels(self.handler.channels(ctx)))

    def terminate(self, reason: str, call: Call, state: dict[str, Any]) -> None:
        """Tell the handler that a session has ended; what it raises is logged and hurts nobody.

        Args:
            reason: ``deleted``, ``expired`` or ``shutdown``.
            state: The session's last state.
        """
        ctx = Context(call, SILENCE, state)
        token = enter(ctx)
        try:
            self.handler.terminate(reason, ctx)
        except KeyboardInterrupt:
            raise
        except BaseException:
            log.exception("terminate failed")
        finally:
            leave(token)

    def _asked(self, call: Call, state: dict[str, Any], question: Callable[[Context], T]) -> T:
        ctx = Context(call, SILENCE, state)
        token = enter(ctx)
        try:
            return question(ctx)
        except BaseException as error:
            # Here nobody can be asked, and what is no Exception would get past the endpoint.
            if not (is_failure(error) or isinstance(error, InputRequired)):
                raise
            raise self.crash(call, error) from error
        finally:
            leave(token)

    def ready(self, method: Method, call: Call) -> bytes | None:
        """The result, if it is at hand without a worker.

        Raises:
            MCPError: The call failed.
        """
        try:
            if method.list_kind is not None:
                return self._kept_page(method, call)
            return None if method.callback else method.run(self, call, _NO_CONTEXT)
        except Exception as error:
            if is_for_client(error):
                raise
            raise self.crash(call, error) from error

    def run(self, method: Method, call: Call, ctx: Context) -> bytes:
        """Make the result of a call that runs application code.

        Raises:
            MCPError: The call failed.
            Cancelled: It was cancelled.
        """
        token = enter(ctx)
        try:
            if self._has_init and method.callback and (call.session is None or not call.session.stateful):
                ctx.state = self.initial_state(call)
            ctx.may_ask = method.asks
            result = self._run(method, call, ctx) if method.asks else method.run(self, call, ctx)
            ctx.flush()
        except BaseException as error:
            if not is_failure(error):
                raise
            ctx.crashed = True
            raise self.crash(call, error) from error
        finally:
            leave(token)
        return result

    # --- questions --------------------------------------------------------------------------------

    def _run(self, method: Method, call: Call, ctx: Context) -> bytes:
        """Run a method whose callback may ask the client."""
        ctx.states = self.states
        if call.revision.asks_in_results and not _ROUND_PARAMS.isdisjoint(call.params):
            ctx.conversation  # noqa: B018 - whose making refuses what is not valid here
        try:
            made = self._attempt(method, call, ctx)
            if isinstance(made, bytes):
                return made
            return (self._round if call.revision.asks_in_results else self._bridged)(method, call, ctx, made)
        except (InputError, MissingCapability) as error:
            return self._not_asked(call, error)

    def _attempt(self, method: Method, call: Call, ctx: Context) -> bytes | InputRequired:
        """Run a method once; returns its result, or what it wants to know first."""
        try:
            return method.run(self, call, ctx)
        except InputRequired as required:
            required.state = to_json(required.state)
            return required
        except UrlElicitationRequired as error:
            for request in error.requests:
                ctx.check_question(request)
                ctx.note_question(request)
            return error.as_questions(call.revision)

    def _not_asked(self, call: Call, error: InputError | MissingCapability) -> bytes:
        """The in-band answer to a call whose client cannot be asked; the modern era has an error for that."""
        if isinstance(error, MissingCapability) and call.revision.asks_in_results:
            raise error
        if call.method == "tools/call":
            return _tool_failure(self, call, str(error))
        raise InternalError(str(error)) from None

    def _round(self, method: Method, call: Call, ctx: Context, required: InputRequired) -> bytes:
        """End a round with what the client is asked. Source: basic/patterns/mrtr, "Server Requirements"."""
        for request in required.requests.values():
            ctx.check_question(request)
        if not (self.shares_key or self._warned_of_states):
            self._warned_of_states = True
            log.warning(_STATES_ALONE)
        rounds: Any = ctx.conversation
        result: dict[str, Any] = rounds.result(required)
        result["resultType"] = "input_required"
        if call.revision.server_info_in_meta:
            result["_meta"] = self._encoded_meta[call.revision.name]
        return encode(result)

    def _bridged(self, method: Method, call: Call, ctx: Context, required: InputRequired) -> bytes:
        """Ask the client of the session era what a function for rounds wants to know, and run it again."""
        conversation: Any = ctx.conversation
        for _ in range(MAX_ROUNDS):
            if not required.requests:
                raise RuntimeError("InputRequired without requests asks the client to call again, which it cannot here")
            for request in required.requests.values():
                ctx.check_question(request)
            conversation.responses = conversation.send(required.requests)
            conversation.state = required.state
            ctx.restart()
            made = self._attempt(method, call, ctx)
            if isinstance(made, bytes):
                return made
            required = made
        raise RuntimeError(f"a call has at most {MAX_ROUNDS} rounds")

    def initial_state(self, call: Call) -> dict[str, Any]:
        """What ``Handler.init`` makes for this call."""
        state = self.handler.init(InitParams(call.revision, call.client.info, call.client.capabilities, call.principal))
        if not isinstance(state, dict):
            raise TypeError(f"init must return a dict, not {type(state).__name__}")
        return state

    # --- shaping ----------------------------------------------------------------------------------

    def envelope(
        self, method: Method, revision: Revision, result: dict[str, Any], *, shared: bool = True
    ) -> dict[str, Any]:
        """Add what the revision puts around every result.

        Args:
            shared: Whether the result is the same for every caller, so that the option decides who
                may keep it; what is one caller's own is never public.
        """
        if revision.result_type:
            result["resultType"] = "complete"
        if revision.cache_hints and method.cacheable:
            result.update(self.cache_hints if shared else self._private_hints)
        if revision.server_info_in_meta:
            meta = result.get("_meta")
            if meta is None:
                result["_meta"] = self._encoded_meta[revision.name]
            else:
                result["_meta"] = {**self._own_meta[revision.name], **meta}
        return result

    def longest_page(self, kind: str, items: int) -> int:
        """How many items of a list one page may hold."""
        if self.shares_key or items <= self.page_size:
            return self.page_size
        if not self._warned_of_key:
            self._warned_of_key = True
            log.warning(
                "%d %s are sent as one page, since a cursor of this process is worth nothing in another: "
                "set the option secret_key to have pages of %d",
                items,
                kind,
                self.page_size,
            )
        return items

    def own_meta(self, revision: Revision) -> Mapping[str, Any]:
        """The ``_meta`` of every result in a revision."""
        return self._own_meta.get(revision.name, {})

    def error_code(self, error: MCPError, revision: Revision) -> int:
        """The code of an error in a revision: one has changed over time, others must not be sent."""
        code = error.code
        if code == _NOT_FOUND or isinstance(error, ResourceNotFound):
            return revision.not_found_code
        if code in _MCP_CODES and revision.modern and code not in _ASSIGNED:
            log.error("the error code %d is reserved for MCP: %s", code, error)
            return InternalError.code
        return code

    def crash(self, call: Call, error: BaseException) -> InternalError:
        """Log an unexpected failure and make what the client is told of it."""
        log.error("%s failed, request id %r", call.method, call.id, exc_info=error)
        return InternalError(self.failure_text("Internal error", call, error))

    def failure_text(self, what: str, call: Call, error: BaseException) -> str:
        """The client's words for an unexpected failure: the exception's own only if that was opted for."""
        if not self.expose_errors:
            return f"{what} (request id {call.id})"
        try:
            return f"{what}: {type(error).__name__}: {error}"
        except Exception:  # noqa: BLE001 - its own __str__ failed
            return f"{what}: {type(error).__name__}"

    # --- lists ------------------------------------------------------------------------------------

    def _kept_page(self, method: Method, call: Call) -> bytes | None:
        kind: Any = method.list_kind
        kept = self._listings.get((kind, call.revision.name))
        if kept is None or kept[0] != self.handler.catalogue(kind):
            return None
        return kept[1].page(self, method, call)

    def list_page(self, method: Method, call: Call, ctx: Context) -> bytes:
        """Ask the handler for a list, keep it if it is the same for everybody, and encode a page."""
        kind: Any = method.list_kind
        state = self.handler.catalogue(kind)
        items = [encode_wire(item.wire(call.revision)) for item in getattr(self.handler, kind)(ctx)]
        listing = _Listing(items, shared=state is not None)
        if state is not None:
            self._listings[kind, call.revision.name] = (state, listing)
        return listing.page(self, method, call)


class _Listing:
    """A whole list, encoded for one revision, and the pages already cut from it."""

    def __init__(self, items: Sequence[bytes], *, shared: bool) -> None:
        self._items = items
        self._shared = shared
        self._pages: dict[int, bytes] = {}
        self._state = hashlib.blake2b(b",".join(items), digest_size=8).hexdigest()

    def page(self, dispatcher: Dispatcher, method: Method, call: Call) -> bytes:
        kind: Any = method.list_kind
        cursor = call.params.get("cursor")
        offset = 0 if cursor is None else dispatcher.cursors.read(cursor, kind, self._state)
        page = self._pages.get(offset)
        if page is None:
            page = self._pages[offset] = self._cut(dispatcher, method, call, offset)
        return page

    def _cut(self, dispatcher: Dispatcher, method: Method, call: Call, offset: int) -> bytes:
        kind: Any = method.list_kind
        end = offset + dispatcher.longest_page(kind, len(self._items))
        items = b"[" + b",".join(self._items[offset:end]) + b"]"
        result: dict[str, Any] = {_LIST_FIELDS[kind]: msgspec.Raw(items)}
        if end < len(self._items):
            result["nextCursor"] = dispatcher.cursors.issue(kind, self._state, end)
        return encode(dispatcher.envelope(method, call.revision, result, shared=self._shared))


_LIST_FIELDS = {
    "tools": "tools",
    "resources": "resources",
    "resource_templates": "resourceTemplates",
    "prompts": "prompts",
}


def encode_wire(value: Any) -> bytes:
    """Encode what an application wrote, refusing what JSON cannot say."""
    return encode(to_json(value))


#: The context of a method that runs no application code, and so has nobody to show one to.
_NO_CONTEXT: Any = None


# --- the methods ----------------------------------------------------------------------------------


def _initialize(dispatcher: Dispatcher, call: Call, ctx: Context) -> bytes:
    handler = dispatcher.handler
    result: dict[str, Any] = {
        "protocolVersion": call.revision.name,
        "capabilities": _capabilities(dispatcher, call.revision),
        "serverInfo": handler.server_info.wire(call.revision),
    }
    if handler.instructions:
        result["instructions"] = handler.instructions
    return encode(result)


def _discover(dispatcher: Dispatcher, call: Call, ctx: Context) -> bytes:
    handler = dispatcher.handler
    result: dict[str, Any] = {"supportedVersions": SUPPORTED, "capabilities": _capabilities(dispatcher, call.revision)}
    if handler.instructions:
        result["instructions"] = handler.instructions
    return encode(dispatcher.envelope(METHODS["server/discover"], call.revision, result))


def _capabilities(dispatcher: Dispatcher, revision: Revision) -> dict[str, Any]:
    # Log messages can come from any callback, so "logging" is always declared.
    capabilities: dict[str, Any] = {"logging": {}}
    announced = dispatcher.announced(revision)
    for feature in sorted(dispatcher.handler.features()):
        capabilities[feature] = _ANNOUNCEMENTS[feature] if feature in announced else {}
    return capabilities


#: Feature -> what a server declares that tells its clients of changes.
_ANNOUNCEMENTS: Mapping[str, dict[str, bool]] = {
    "prompts": {"listChanged": True},
    "resources": {"listChanged": True, "subscribe": True},
    "tools": {"listChanged": True},
}


def _channels(given: Iterable[str]) -> frozenset[str]:
    channels = frozenset() if isinstance(given, str) else frozenset(given)
    if isinstance(given, str) or not all(isinstance(channel, str) for channel in channels):
        raise TypeError("channels must return a list of texts")
    if len(channels) > MAX_CHANNELS:
        raise ValueError(f"channels may return {MAX_CHANNELS} names, not {len(channels)}")
    return channels


def _nothing(dispatcher: Dispatcher, call: Call, ctx: Context) -> bytes:
    return b"{}"


def _set_level(dispatcher: Dispatcher, call: Call, ctx: Context) -> bytes:
    level = call.params.get("level")
    if level not in LEVELS:
        raise InvalidParams(f'Invalid params: "level" must be one of {", ".join(LEVELS)}')
    if call.session is not None:
        call.session.set_log_level(level)
    return b"{}"


def _subscribe(dispatcher: Dispatcher, call: Call, ctx: Context) -> bytes:
    uri = _text(call.params, "uri")
    if not is_uri(uri) or not dispatcher.handler.may_subscribe(uri, ctx):
        raise ResourceNotFound(uri)
    if call.session is not None:
        call.session.subscribe(uri)
    return b"{}"


def _unsubscribe(dispatcher: Dispatcher, call: Call, ctx: Context) -> bytes:
    uri = _text(call.params, "uri")
    if call.session is not None:
        call.session.unsubscribe(uri)
    return b"{}"


def _list(dispatcher: Dispatcher, call: Call, ctx: Context) -> bytes:
    return dispatcher.list_page(METHODS[call.method], call, ctx)


def _call_tool(dispatcher: Dispatcher, call: Call, ctx: Context) -> bytes:
    name = _text(call.params, "name")
    arguments = _object(call.params, "arguments")
    handler = dispatcher.handler
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
        return encode(dispatcher.envelope(_TOOLS_CALL, call.revision, wire))
    except (ArgumentErrors, ToolError) as problem:
        return _tool_failure(dispatcher, call, str(problem) or f"Tool {name} failed")
    except MissingCapability as problem:
        if call.revision.asks_in_results:
            raise
        return _tool_failure(dispatcher, call, str(problem))
    except BaseException as error:
        if not is_failure(error):
            raise
        ctx.crashed = True
        return _tool_crash(dispatcher, call, name, error)


def _settled(value: Any) -> Any:
    """What a callback returned; an ``InputRequired`` counts as raised."""
    if isinstance(value, InputRequired):
        raise value
    return value


def _tool_crash(dispatcher: Dispatcher, call: Call, name: str, error: BaseException) -> bytes:
    log.error("tool %s failed, request id %r", name, call.id, exc_info=error)
    return _tool_failure(dispatcher, call, dispatcher.failure_text(f"Tool {name} failed unexpectedly", call, error))


def _tool_failure(dispatcher: Dispatcher, call: Call, text: str) -> bytes:
    clean = text.encode("utf-8", "replace").decode()
    result = {"content": [{"type": "text", "text": clean}], "isError": True}
    return encode(dispatcher.envelope(_TOOLS_CALL, call.revision, result))


def _read_resource(dispatcher: Dispatcher, call: Call, ctx: Context) -> bytes:
    uri = _text(call.params, "uri")
    if not is_uri(uri):
        raise ResourceNotFound(uri)
    value = _settled(dispatcher.handler.read_resource(uri, ctx))
    contents = resource_contents(value, uri=uri, to_json=to_json)
    result = resource_contents_wire(contents, call.revision)
    # Where each caller sees a list of their own, each reads for themselves, too.
    shared = dispatcher.handler.catalogue("resources") is not None
    return encode(dispatcher.envelope(METHODS[call.method], call.revision, result, shared=shared))


def _get_prompt(dispatcher: Dispatcher, call: Call, ctx: Context) -> bytes:
    name = _text(call.params, "name")
    arguments = _object(call.params, "arguments")
    handler = dispatcher.handler
    prompt = handler.find_prompt(name, ctx)
    if prompt is None:
        raise UnknownPrompt(name)
    for key, value in arguments.items():
        if type(value) is not str:
            raise InvalidParams(f"Invalid params: argument {key!r} must be a string")
    missing = [argument.name for argument in prompt.arguments if argument.required and argument.name not in arguments]
    if missing:
        raise MissingArgument(missing)
    value = _settled(handler.get_prompt(name, arguments, ctx))
    result = prompt_result(value, description=prompt.description)
    wire = prompt_result_wire(result, call.revision)
    return encode(dispatcher.envelope(METHODS[call.method], call.revision, wire))


def _complete(dispatcher: Dispatcher, call: Call, ctx: Context) -> bytes:
    ref = _reference(_object(call.params, "ref"))
    argument = _object(call.params, "argument")
    wanted = CompletionArgument(_text(argument, "name"), _text(argument, "value"))
    context: dict[str, str] = {}
    if call.revision.completion_context:
        context = _object(_object(call.params, "context"), "arguments")
        if not all(type(value) is str for value in context.values()):
            raise InvalidParams('Invalid params: "context.arguments" must map names to strings')
    found = dispatcher.handler.complete(ref, wanted, context, ctx)
    result = {"completion": _completion_wire(found)}
    return encode(dispatcher.envelope(METHODS[call.method], call.revision, result))


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

_TOOLS_CALL = Method(run=_call_tool, revisions=_BOTH, feature="tools", named_by="name", asks=True)

#: Every RPC method that is served.
METHODS: Mapping[str, Method] = {
    "initialize": Method(run=_initialize, revisions=_LEGACY),
    "server/discover": Method(run=_discover, revisions=_MODERN, callback=False, cacheable=True),
    "subscriptions/listen": Method(run=_nothing, revisions=_MODERN, callback=False, stream=True),
    "ping": Method(run=_nothing, revisions=_LEGACY, callback=False),
    "logging/setLevel": Method(run=_set_level, revisions=_LEGACY, callback=False),
    "tools/list": Method(run=_list, revisions=_BOTH, feature="tools", cacheable=True, list_kind="tools"),
    "tools/call": _TOOLS_CALL,
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
