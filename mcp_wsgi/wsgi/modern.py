"""The 2026-07-28 endpoint: every request stands alone and is checked against its own headers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from mcp_wsgi.call import Call, ClientInfo
from mcp_wsgi.dispatcher import Dispatcher
from mcp_wsgi.errors import (
    HeaderMismatch,
    InvalidEnvelope,
    InvalidRequest,
    MCPError,
    MethodNotFound,
    NotAcceptable,
    UnsupportedProtocolVersion,
)
from mcp_wsgi.jsonrpc import Batch, Invalid, Message, Notification, Request
from mcp_wsgi.levels import LEVELS
from mcp_wsgi.methods import METHODS
from mcp_wsgi.options import Options
from mcp_wsgi.revisions import (
    META_CLIENT_CAPABILITIES,
    META_CLIENT_INFO,
    META_LOG_LEVEL,
    META_PROTOCOL_VERSION,
    REVISIONS,
    SUPPORTED,
    Revision,
)
from mcp_wsgi.subscriptions import Filter, Listeners
from mcp_wsgi.wsgi.calls import Calls, progress_token
from mcp_wsgi.wsgi.headers import Accepted, check_name, check_parameters, field
from mcp_wsgi.wsgi.http import HttpReply, HttpRequest
from mcp_wsgi.wsgi.replies import accepted_reply, answer_reply, stream_reply

__all__ = ["ModernEndpoint", "is_modern", "status_of"]


def is_modern(message: Message | Batch, revision: Revision | None) -> bool:
    """Whether a message belongs to the modern era: by its version header or by its ``_meta``.

    Source: basic/versioning, "Backward Compatibility".
    """
    if revision is not None and revision.modern:
        return True
    if type(message) is Request or type(message) is Notification:
        meta = message.params.get("_meta")
        return type(meta) is dict and META_PROTOCOL_VERSION in meta
    return type(message) is Batch and any(is_modern(item, None) for item in message.items)


# Source: basic/transports/streamable-http, "Protocol Version Header" and "Server Validation".
_STATUSES: Mapping[int, int] = {-32601: 404, -32020: 400, -32021: 400, -32022: 400}


def status_of(code: int) -> int:
    """The HTTP status of a JSON-RPC error that answers a modern request."""
    return _STATUSES.get(code, 200)


class ModernEndpoint:
    """Answers modern messages.

    Args:
        dispatcher: Knows the methods.
        calls: Runs them.
        options: Times of listen streams.
        listeners: Returns the listen streams of this process.
    """

    def __init__(
        self, dispatcher: Dispatcher, calls: Calls, options: Options, listeners: Callable[[], Listeners]
    ) -> None:
        self._dispatcher = dispatcher
        self._calls = calls
        self._options = options
        self._listeners = listeners

    def post(self, request: HttpRequest, message: Message | Batch, accept: Accepted, principal: Any) -> HttpReply:
        """Answer one POST.

        Raises:
            MCPError: A refusal.
        """
        if type(message) is Request:
            return self._request(request, message, accept, principal)
        if type(message) is Notification:
            return accepted_reply()
        if type(message) is Invalid:
            raise message.error
        raise InvalidRequest("Invalid request: the body must be one request or notification")

    def _request(self, request: HttpRequest, message: Request, accept: Accepted, principal: Any) -> HttpReply:
        # The order of the checks decides which error a client sees; conformance tests pin it.
        headers, params = request.headers, message.params
        meta = _envelope(params)
        version = meta[META_PROTOCOL_VERSION]
        if field(headers, "MCP-Protocol-Version") != version:
            raise HeaderMismatch("Header mismatch: MCP-Protocol-Version is missing or differs from the body")
        if field(headers, "Mcp-Method") != message.method:
            raise HeaderMismatch("Header mismatch: Mcp-Method is missing or differs from the body")
        row = METHODS.get(message.method)
        if row is not None and row.named_by is not None:
            check_name(headers, params.get(row.named_by))
        revision = REVISIONS.get(version)
        if revision is None or not revision.modern:
            raise UnsupportedProtocolVersion(version, SUPPORTED)
        method = self._dispatcher.find(message.method, revision)
        call = Call(
            message.method,
            params,
            message.id,
            revision,
            meta,
            ClientInfo(_client_info(meta), meta[META_CLIENT_CAPABILITIES]),
            principal,
            progress_token(meta),
            _log_level(meta),
            headers,
            request.environ,
            partial(check_parameters, headers),
            mount=request.mount,
        )
        return self._listen(call, accept) if method.stream else self._calls.serve(method, call, accept)

    def _listen(self, call: Call, accept: Accepted) -> HttpReply:
        """Open the stream that tells of changes. Source: basic/patterns/subscriptions."""
        announced = self._dispatcher.announced(call.revision)
        if not announced:
            raise MethodNotFound(call.method)
        if not accept.sse:
            raise NotAcceptable("Not acceptable: subscriptions/listen is answered with text/event-stream only")
        try:
            asked = Filter.parse(call.params, announced)
            wanted = Filter(asked.lists, self._dispatcher.subscribable(asked.uris, call))
        except MCPError as error:
            return answer_reply(self._calls.failure(call, error), as_json=accept.json)
        caller = None if call.principal is None else call.principal.id
        listener = self._listeners().open(call.id, wanted, caller)
        messages = listener.messages(self._options.keepalive, self._options.stream_lifetime)
        return stream_reply(messages, listener.close, placed=True)


def _envelope(params: dict[str, Any]) -> dict[str, Any]:
    """The ``_meta`` object with its two required keys. Source: basic/index, "_meta"."""
    meta = params.get("_meta")
    if type(meta) is not dict:
        raise InvalidEnvelope(
            f'Invalid params: "_meta" is required; the revisions served here are {", ".join(SUPPORTED)}'
        )
    if type(meta.get(META_PROTOCOL_VERSION)) is not str:
        raise InvalidEnvelope(f'Invalid params: "_meta" needs "{META_PROTOCOL_VERSION}"')
    if type(meta.get(META_CLIENT_CAPABILITIES)) is not dict:
        raise InvalidEnvelope(f'Invalid params: "_meta" needs "{META_CLIENT_CAPABILITIES}"')
    return meta


def _client_info(meta: dict[str, Any]) -> dict[str, Any]:
    info = meta.get(META_CLIENT_INFO)
    if info is None:
        return {}
    if type(info) is not dict:
        raise InvalidEnvelope(f'Invalid params: "{META_CLIENT_INFO}" must be an object')
    return info


def _log_level(meta: dict[str, Any]) -> str | None:
    level = meta.get(META_LOG_LEVEL)
    if level is None or level in LEVELS:
        return level
    raise InvalidEnvelope(f'Invalid params: "{META_LOG_LEVEL}" must be one of {", ".join(LEVELS)}')
