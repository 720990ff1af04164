"""The session-era endpoint, without stored sessions: each POST stands alone, GET and DELETE are not served.

A JSON-RPC error that answers a request is HTTP 200 here: a 400 ends the whole connection of widely
deployed clients, and a 404 tells all of them that their session is gone. 400 is for what is no
message at all, or names a revision that is not served.
"""

from __future__ import annotations

from typing import Any

from mcp_wsgi.context import Call, ClientInfo
from mcp_wsgi.errors import (
    ConfigurationError,
    InternalError,
    InvalidParams,
    InvalidRequest,
    MCPError,
    Overloaded,
    UnsupportedProtocolVersion,
)
from mcp_wsgi.exchange import Answer, Exchange
from mcp_wsgi.jsonrpc import Batch, Invalid, Message, Request, encode_error
from mcp_wsgi.methods import Dispatcher
from mcp_wsgi.options import Options
from mcp_wsgi.revisions import DEFAULT_LEGACY, SUPPORTED, Revision, negotiate
from mcp_wsgi.wsgi.calls import Calls, progress_token
from mcp_wsgi.wsgi.headers import Accepted
from mcp_wsgi.wsgi.http import HttpReply, HttpRequest
from mcp_wsgi.wsgi.replies import accepted_reply, answer_reply, error_reply

__all__ = ["LegacyEndpoint", "status_of"]


def status_of(code: int) -> int:
    """The HTTP status of a JSON-RPC error that answers a session-era request."""
    return 200


class LegacyEndpoint:
    """Answers session-era messages.

    Args:
        dispatcher: Knows the methods.
        calls: Runs them.
        options: The level of log messages.
    """

    def __init__(self, dispatcher: Dispatcher, calls: Calls, options: Options) -> None:
        self._dispatcher = dispatcher
        self._calls = calls
        self._options = options

    def post(
        self,
        request: HttpRequest,
        message: Message | Batch,
        version: str | None,
        revision: Revision | None,
        accept: Accepted,
        principal: Any,
    ) -> HttpReply:
        """Answer one POST.

        Args:
            request: The request.
            message: What its body holds.
            version: The version header; ``None`` without one.
            revision: The revision that it names; ``None`` if it names none that is served.
            accept: What the client takes.
            principal: Who is calling.

        Raises:
            MCPError: The transport refuses the message.
        """
        if type(message) is Invalid:
            return error_reply(message.error, message.id)
        if type(message) is Request and message.method == "initialize":
            # A version header has no meaning yet here; some clients send one all the same.
            return self._serve(request, message, _negotiated(message), accept, principal)
        if version is not None and revision is None:
            raise UnsupportedProtocolVersion(version, SUPPORTED)
        spoken = revision or DEFAULT_LEGACY
        if type(message) is Request:
            return self._serve(request, message, spoken, accept, principal)
        if type(message) is Batch:
            return self._batch(request, message, spoken, accept, principal)
        # Notifications, and answers to questions that nobody here has asked: read, and that is all.
        return accepted_reply()

    def _serve(
        self, request: HttpRequest, message: Request, revision: Revision, accept: Accepted, principal: Any
    ) -> HttpReply:
        try:
            method = self._dispatcher.find(message.method, revision)
            call = self._call(request, message, revision, principal)
            return self._calls.serve(method, call, accept)
        except ConfigurationError:
            raise
        except MCPError as error:
            return answer_reply(_refused(message, error), as_json=accept.json)

    def _call(self, request: HttpRequest, message: Request, revision: Revision, principal: Any) -> Call:
        params = message.params
        meta = params.get("_meta", {})
        if type(meta) is not dict:
            raise InvalidParams('Invalid params: "_meta" must be an object')
        return Call(
            message.method,
            params,
            message.id,
            revision,
            meta,
            _client(params) if message.method == "initialize" else ClientInfo(),
            principal,
            progress_token(meta),
            self._options.log_level,
            request.headers,
            request.environ,
        )

    # --- batches ----------------------------------------------------------------------------------

    def _batch(
        self, request: HttpRequest, batch: Batch, revision: Revision, accept: Accepted, principal: Any
    ) -> HttpReply:
        if not revision.batches:
            raise InvalidRequest(f"Invalid request: {revision.name} has no batches")
        owed = [item for item in batch.items if type(item) is Request or type(item) is Invalid]
        if not owed:
            return accepted_reply()

        def work(exchange: Exchange) -> Answer:
            return _joined([self._item(request, item, revision, principal, exchange) for item in owed])

        def refused(error: MCPError) -> Answer:
            return _joined([_refused(item, error) for item in owed])

        try:
            return self._calls.in_worker(work, lambda: refused(InternalError("The batch took too long")), accept)
        except Overloaded as error:
            return answer_reply(refused(error), as_json=accept.json)

    def _item(
        self, request: HttpRequest, item: Request | Invalid, revision: Revision, principal: Any, exchange: Exchange
    ) -> Answer:
        if isinstance(item, Invalid):
            return _refused(item, item.error)
        if exchange.cancelled:
            return _refused(item, InternalError("Cancelled"))
        try:
            if item.method == "initialize":
                raise InvalidRequest("Invalid request: initialize must not be part of a batch")
            method = self._dispatcher.find(item.method, revision)
            call = self._call(request, item, revision, principal)
        except MCPError as error:
            return _refused(item, error)
        return self._calls.answer(method, call, exchange)


def _joined(answers: list[Answer]) -> Answer:
    return Answer(b"[" + b",".join(answer.body for answer in answers) + b"]")


def _refused(message: Request | Invalid, error: MCPError) -> Answer:
    return Answer(encode_error(message.id, error))


def _negotiated(message: Request) -> Revision:
    return negotiate(message.params.get("protocolVersion"))


def _client(params: dict[str, Any]) -> ClientInfo:
    """What an ``initialize`` says of its client. Source: basic/lifecycle, "Initialization"."""
    if type(params.get("protocolVersion")) is not str:
        raise InvalidParams('Invalid params: "protocolVersion" must be a string')
    info, capabilities = params.get("clientInfo", {}), params.get("capabilities", {})
    if type(info) is not dict or type(capabilities) is not dict:
        raise InvalidParams('Invalid params: "clientInfo" and "capabilities" must be objects')
    return ClientInfo(info, capabilities)
