"""The session-era endpoint: POST. GET and DELETE of stored sessions are in ``sessions``.

A JSON-RPC error that answers a request is HTTP 200 here: a 400 ends the whole connection of widely
deployed clients. 400 is for what is no message at all, or names a revision that is not served, or
no session where one is needed; 404 for a session that is not there.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from mcp_wsgi.call import Call, ClientInfo
from mcp_wsgi.dispatcher import Dispatcher
from mcp_wsgi.errors import (
    ConfigurationError,
    InternalError,
    InvalidParams,
    InvalidRequest,
    MCPError,
    Overloaded,
    SessionNotFound,
    UnsupportedProtocolVersion,
)
from mcp_wsgi.excerpts import MAX_SENTENCE, quote_text
from mcp_wsgi.exchange import Answer, Exchange
from mcp_wsgi.failures import is_logged
from mcp_wsgi.jsonrpc import Batch, Invalid, Message, Notification, Request, Response, encode_error
from mcp_wsgi.keeper import Keeper, Session
from mcp_wsgi.options import Options
from mcp_wsgi.problems import quote
from mcp_wsgi.questions import Questions
from mcp_wsgi.revisions import DEFAULT_LEGACY, SUPPORTED, Revision, negotiate
from mcp_wsgi.sessions import SessionRecord, kept_capabilities, kept_info, principal_id
from mcp_wsgi.wsgi.calls import Calls, progress_token
from mcp_wsgi.wsgi.headers import Accepted
from mcp_wsgi.wsgi.http import HttpReply, HttpRequest
from mcp_wsgi.wsgi.replies import accepted_reply, answer_reply
from mcp_wsgi.wsgi.sessions import SESSION_ID, session_of

__all__ = ["LegacyEndpoint", "status_of"]

log = logging.getLogger("mcp_wsgi")


def status_of(code: int) -> int:
    """The HTTP status of a JSON-RPC error that answers a session-era request."""
    return 200


class LegacyEndpoint:
    """Answers session-era messages.

    Args:
        dispatcher: Knows the methods.
        calls: Runs them.
        options: The level of log messages.
        keeper: Has the sessions; ``None``: each POST stands alone.
        questions: Returns where questions to clients wait for answers; ``None``: there are none.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        calls: Calls,
        options: Options,
        keeper: Keeper | None,
        questions: Callable[[], Questions | None],
    ) -> None:
        self._dispatcher = dispatcher
        self._calls = calls
        self._options = options
        self._keeper = keeper
        self._questions = questions

    # --- POST -------------------------------------------------------------------------------------

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
            request: The HTTP request.
            message: Its body.
            version: The version header; ``None`` if there is none.
            revision: The revision it names; ``None`` if there is no such.
            accept: What the client takes.
            principal: Who is calling.

        Raises:
            MCPError: The transport refuses the message.
        """
        if type(message) is Invalid:
            raise message.error
        if type(message) is Request and message.method == "initialize":
            # A version header has no meaning yet here; some clients send one all the same.
            return self._initialize(request, message, accept, principal)
        if version is not None and revision is None:
            raise UnsupportedProtocolVersion(version, SUPPORTED)
        keeper = self._keeper
        session = None if keeper is None else session_of(keeper, request, principal)
        spoken = (revision or DEFAULT_LEGACY) if session is None else session.revision
        if type(message) is Request:
            return self._serve(request, message, spoken, accept, principal, session)
        if type(message) is Batch:
            return self._batch(request, message, spoken, accept, principal, session)
        self._take(request, message, principal, session)
        return accepted_reply()

    def _take(self, request: HttpRequest, message: Any, principal: Any, session: Session | None) -> None:
        """Take a notification or an answer; one that nobody waits for is read, and that is all."""
        owner = (None if session is None else session.id, principal_id(principal), request.mount)
        if type(message) is Notification and session is not None:
            if session.stateful:
                _notified(session, message)
            elif message.method == "notifications/cancelled":
                self._calls.cancel(owner, message.params.get("requestId"))
        elif type(message) is Response and (questions := self._questions()) is not None:
            questions.answer(message.id, owner, message.result, message.error)

    def _initialize(self, request: HttpRequest, message: Request, accept: Accepted, principal: Any) -> HttpReply:
        keeper = self._keeper
        revision = negotiate(message.params.get("protocolVersion"))
        if keeper is None:
            return self._serve(request, message, revision, accept, principal, None)

        def keep(state: dict[str, Any], channels: frozenset[str]) -> str:
            mount = request.mount
            client = call.client
            record = SessionRecord(
                revision.name,
                kept_info(dict(client.info)),
                kept_capabilities(dict(client.capabilities)),
                principal_id(principal),
                mount,
            )
            return keeper.open(record, state, channels)

        try:
            method = self._dispatcher.find(message.method, revision)
            call = self._call(request, message, revision, principal, None)
        except MCPError as error:
            return answer_reply(_refused(message, error), as_json=accept.json)
        reply, session_id = self._calls.opening(method, call, accept, keep)
        if session_id is not None:
            reply.headers.append((SESSION_ID, session_id))
        return reply

    def _serve(
        self,
        request: HttpRequest,
        message: Request,
        revision: Revision,
        accept: Accepted,
        principal: Any,
        session: Session | None,
    ) -> HttpReply:
        try:
            method = self._dispatcher.find(message.method, revision)
            call = self._call(request, message, revision, principal, session)
            if session is not None and session.stateful:
                return self._calls.in_session(method, call, accept, session)
            return self._calls.serve(method, call, accept)
        except (ConfigurationError, SessionNotFound):
            raise
        except MCPError as error:
            return answer_reply(_refused(message, error), as_json=accept.json)

    def _call(
        self, request: HttpRequest, message: Request, revision: Revision, principal: Any, session: Session | None
    ) -> Call:
        params = message.params
        meta = params.get("_meta", {})
        if type(meta) is not dict:
            raise InvalidParams('Invalid params: "_meta" must be an object')
        level: str | None = self._options.log_level
        if session is not None:
            client = session.client
            level = session.settings.log_level or level
        else:
            client = _client(params) if message.method == "initialize" else ClientInfo()
        return Call(
            message.method,
            params,
            message.id,
            revision,
            meta,
            client,
            principal,
            progress_token(meta),
            level,
            request.headers,
            request.environ,
            session=session,
            mount=request.mount,
        )

    # --- batches ----------------------------------------------------------------------------------

    def _batch(
        self,
        request: HttpRequest,
        batch: Batch,
        revision: Revision,
        accept: Accepted,
        principal: Any,
        session: Session | None,
    ) -> HttpReply:
        if not revision.batches:
            raise InvalidRequest(f"Invalid request: {revision.name} has no batches")
        for item in batch.items:
            self._take(request, item, principal, session)
        owed = [item for item in batch.items if type(item) is Request or type(item) is Invalid]
        if not owed:
            return accepted_reply()

        def work(exchange: Exchange) -> Answer:
            return _joined([self._item(request, item, revision, principal, exchange, session) for item in owed])

        def failed(error: MCPError) -> Answer:
            return _joined([_told(item, error) for item in owed])

        def refused(error: MCPError) -> Answer:
            log.info("a batch of %d is answered with an error: %s", len(owed), quote_text(str(error), MAX_SENTENCE))
            return failed(error)

        def late() -> Answer:
            log.warning("a batch of %d missed its deadline", len(owed))
            return failed(InternalError("The batch took too long"))

        try:
            if session is not None and session.stateful:
                ids = tuple(item.id for item in owed if type(item) is Request)
                return self._calls.batch_in_session(work, ids, accept, session, late=late, failed=refused)
            return self._calls.in_worker(work, late, accept)
        except (Overloaded, InvalidRequest) as error:
            return answer_reply(refused(error), as_json=accept.json)

    def _item(
        self,
        request: HttpRequest,
        item: Request | Invalid,
        revision: Revision,
        principal: Any,
        exchange: Exchange,
        session: Session | None,
    ) -> Answer:
        if isinstance(item, Invalid):
            return _refused(item, item.error)
        if exchange.cancelled:
            return _refused(item, InternalError("Cancelled"))
        try:
            if item.method == "initialize":
                raise InvalidRequest("Invalid request: initialize must not be part of a batch")
            method = self._dispatcher.find(item.method, revision)
            call = self._call(request, item, revision, principal, session)
        except MCPError as error:
            return _refused(item, error)
        if session is not None and session.stateful:
            return self._calls.answer_in(session, method, call, exchange, keep=call.progress_token is None)
        return self._calls.answer(method, call, exchange)


def _notified(session: Session, message: Notification) -> None:
    """Do what a notification asks for; one that is unknown, late or malformed asks for nothing."""
    action = _NOTIFICATIONS.get(message.method)
    if action is not None:
        action(session, message.params)


def _cancelled(session: Session, params: dict[str, Any]) -> None:
    session.live.cancel(params.get("requestId"))


_NOTIFICATIONS: Mapping[str, Callable[[Session, dict[str, Any]], object]] = {
    "notifications/cancelled": _cancelled,
    "notifications/initialized": lambda session, params: session.mark_initialized(),
}


def _joined(answers: list[Answer]) -> Answer:
    return Answer(b"[" + b",".join(answer.body for answer in answers) + b"]")


def _refused(message: Request | Invalid, error: MCPError) -> Answer:
    if not is_logged(error):
        what = quote(message.method) if type(message) is Request else "what is no message"
        told = quote_text(str(error), MAX_SENTENCE)
        log.info("%s is answered with an error, request id %s: %s", what, quote(message.id), told)
    return _told(message, error)


def _told(message: Request | Invalid, error: MCPError) -> Answer:
    return Answer(encode_error(message.id, error))


def _client(params: dict[str, Any]) -> ClientInfo:
    """What an ``initialize`` says of its client. Source: basic/lifecycle, "Initialization"."""
    if type(params.get("protocolVersion")) is not str:
        raise InvalidParams('Invalid params: "protocolVersion" must be a string')
    info, capabilities = params.get("clientInfo", {}), params.get("capabilities", {})
    if type(info) is not dict or type(capabilities) is not dict:
        raise InvalidParams('Invalid params: "clientInfo" and "capabilities" must be objects')
    return ClientInfo(info, capabilities)
