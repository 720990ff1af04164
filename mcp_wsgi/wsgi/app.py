"""The WSGI application: environ to ``HttpRequest``, ``HttpReply`` to ``start_response``.

The only module that sees ``environ``.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar

from mcp_wsgi.dispatcher import Dispatcher
from mcp_wsgi.errors import (
    BodyTooLarge,
    ConfigurationError,
    InternalError,
    InvalidRequest,
    MCPError,
    MethodNotAllowed,
    NotAcceptable,
    OptionError,
    ParseError,
    UnsupportedMediaType,
    UnsupportedProtocolVersion,
)
from mcp_wsgi.excerpts import MAX_SENTENCE, quote_text
from mcp_wsgi.failures import is_for_client, is_logged
from mcp_wsgi.handler import Handler, ListKind
from mcp_wsgi.jsonrpc import Batch, Id, Invalid, Message, Request, parse
from mcp_wsgi.keeper import Keeper
from mcp_wsgi.live import LiveSession
from mcp_wsgi.options import Options
from mcp_wsgi.questions import Questions
from mcp_wsgi.revisions import MODERN, REVISIONS, SUPPORTED
from mcp_wsgi.rounds import States
from mcp_wsgi.sealing import Cursors, Sealer, generate_key
from mcp_wsgi.stores import SessionStore
from mcp_wsgi.subscriptions import Kind, Listeners
from mcp_wsgi.vault import StateSealer
from mcp_wsgi.workers import Budget, Crew, crew_for, guard
from mcp_wsgi.wsgi import guards, legacy, modern
from mcp_wsgi.wsgi.calls import Calls
from mcp_wsgi.wsgi.headers import accepted, field, is_json
from mcp_wsgi.wsgi.http import HttpReply, HttpRequest
from mcp_wsgi.wsgi.replies import Stream, error_reply
from mcp_wsgi.wsgi.sessions import SessionEndpoint

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

__all__ = ["MCPApp"]

log = logging.getLogger("mcp_wsgi")

T = TypeVar("T")

#: Seconds for which a client may take the end of its stream when the application closes.
_FAREWELL = 1.0
_STATUS_LINES = {status.value: f"{status.value} {status.phrase}" for status in HTTPStatus}
_SEVERAL_PROCESSES = (
    "sessions are kept in the memory of this process, but the server runs several, and a client whose request "
    "reaches another is told that its session is gone. Run one process (gunicorn --workers 1), or keep nothing: "
    'the option sessions="auto" with a secret_key that all processes share, or a store that they share'
)
#: Calls that wait for their clients, in a process, by the kind of its workers: a greenlet is cheap, a thread is not.
_MAX_QUESTIONS = {"greenlets": 1000, "threads": 2, "inline": 2}
#: Listen and GET streams likewise.
_MAX_STREAMS = {"greenlets": 4096, "threads": 1, "inline": 1}


class MCPApp:
    """An MCP endpoint as a WSGI application (PEP 3333), for both protocol eras on one URL.

    Args:
        handler: What the server offers.
        clock: Monotonic seconds; default ``time.monotonic``.
        **options: See the options table in the documentation.

    Raises:
        OptionError: An option has an unknown name or a wrong value.
        ConfigurationError: The handler is none.
    """

    def __init__(self, handler: Handler, *, clock: Callable[[], float] = time.monotonic, **options: Any) -> None:
        given: object = handler
        if not isinstance(given, Handler):
            raise ConfigurationError(f"MCPApp takes an MCPServer or another Handler instance, not {given!r}")
        self.handler = handler
        self.options = Options.build(options)
        self._making = guard()
        self._crew: Crew | None = None
        self._settled = False
        self._streams: set[Stream] = set()
        self._several = False  # the server runs several processes
        keys = self.options.secret_key or (generate_key(),)
        self._dispatcher = Dispatcher(
            handler,
            Cursors(Sealer(keys, salt="mcp_wsgi.cursor")),
            page_size=self.options.page_size,
            cache_ttl=self.options.cache_ttl,
            cache_scope=self.options.cache_scope,
            expose_errors=self.options.expose_errors,
        )
        self._listeners: Listeners | None = None
        self._budget: Budget | None = None
        self._questions: Questions | None = None
        self._clock = clock
        store = self._store(keys)
        self._keeper = None if store is None else Keeper(store, self._dispatcher, self.options, self._new_live)
        self._sessions = self._session_endpoint()
        self._dispatcher.asking.states = self._states(keys)
        self._modern_calls = self._calls(clock, status=modern.status_of, cancel_on_close=True)
        # A session-era client that goes away may come back for the answer, so its call goes on.
        self._legacy_calls = self._calls(clock, status=legacy.status_of, cancel_on_close=False)
        self._modern = modern.ModernEndpoint(self._dispatcher, self._modern_calls, self.options, self._open_listeners)
        handler.observe(self._announce)
        self._legacy = legacy.LegacyEndpoint(
            self._dispatcher,
            self._legacy_calls,
            self.options,
            self._keeper,
            self._open_questions,
        )

    def _calls(self, clock: Callable[[], float], *, status: Callable[[int], int], cancel_on_close: bool) -> Calls:
        return Calls(
            self._dispatcher,
            self.options,
            self._workers,
            clock,
            status=status,
            cancel_on_close=cancel_on_close,
            questions=self._open_questions,
        )

    def _states(self, keys: Sequence[bytes]) -> States:
        store = self._keeper.store if self._keeper is not None else None
        if self.options.single_use and (store is None or not store.stateful):
            raise OptionError("option single_use: needs a store that remembers what was used: sessions=True, or store")
        sealer = StateSealer(keys, ttl=self.options.state_ttl, clock=time.time)
        return States(sealer, store.claim if self.options.single_use and store is not None else None)

    def _store(self, keys: Sequence[bytes]) -> SessionStore | None:
        options = self.options
        if options.store is not None:
            store: SessionStore = options.store
            return store
        if options.sessions is True:
            from mcp_wsgi.stores.memory import MemoryStore

            return MemoryStore(options.session_ttl, options.max_sessions, self._clock)
        if options.sessions == "auto" and options.secret_key:
            from mcp_wsgi.stores.signed import SignedStore

            return SignedStore(keys)
        return None

    def _new_live(self) -> LiveSession:
        return LiveSession(self.options, self._clock, self._workers().guard)

    def _session_endpoint(self) -> SessionEndpoint | None:
        keeper = self._keeper
        if keeper is None or not keeper.store.stateful:
            return None
        return SessionEndpoint(keeper, self._dispatcher, self.options, self._workers, self._streams_left, self._clock)

    def _open_questions(self) -> Questions | None:
        # The answer to a question comes as a request of its own.
        if not self._dispatcher.holds_streams:
            return None
        questions = self._questions
        if questions is None:
            limit = self.options.max_questions
            if limit is None:
                # Those that wait count as running calls, and must leave room for others.
                limit = min(_MAX_QUESTIONS[self._workers().kind], max(self.options.max_calls // 2, 1))
            questions = self._kept("_questions", Questions(limit, several=self._several))
        return questions

    def _streams_left(self) -> Budget:
        budget = self._budget
        if budget is None:
            limit = self.options.max_streams
            limit = _MAX_STREAMS[self._workers().kind] if limit is None else limit
            budget = self._kept("_budget", Budget(limit, self._break_off_the_deaf))
        return budget

    def _break_off_the_deaf(self) -> None:
        """Let streams go whose clients read nothing while others want their places; TCP would take a quarter hour."""
        now, patience = self._clock(), 2 * self.options.keepalive
        for stream in tuple(self._streams):
            # Answers of calls may be long and their clients' lines slow; of a notice that is not to be expected.
            if stream.placed and stream.unread(now) > patience:
                log.info("a client has not read the last notice for %.0f s: its connection is broken", patience)
                stream.cut()

    def _workers(self) -> Crew:
        # Not before the first request: a server may patch or fork its process after importing us.
        crew = self._crew
        if crew is None:
            crew = self._kept("_crew", crew_for(self.options.workers, self.options.max_calls))
        return crew

    def _kept(self, name: str, made: T) -> T:
        """What is made at first use: of two first requests that come at once, both get what one of them made."""
        with self._making:
            found: T | None = getattr(self, name)
            if found is None:
                setattr(self, name, found := made)
        return found

    def _settle(self, environ: Mapping[str, Any]) -> None:
        """Learn from the first request what kind of server this is."""
        if self._settled:
            return
        # A server with one thread could answer nobody else while it holds a stream.
        concurrent = self._workers().kind == "greenlets" or bool(environ.get("wsgi.multithread"))
        self._dispatcher.holds_streams = concurrent and self.options.max_streams != 0
        self._dispatcher.keeps_sessions = self._sessions is not None
        self._several = bool(environ.get("wsgi.multiprocess"))
        self._dispatcher.shares_key = bool(self.options.secret_key) or not self._several
        with self._making:
            # Not before all is known: another first request may come this very moment.
            first, self._settled = not self._settled, True
        if first and self._several and self._keeper is not None and not self._keeper.store.shared:
            log.warning(_SEVERAL_PROCESSES)

    def _open_listeners(self) -> Listeners:
        listeners = self._listeners
        if listeners is None:
            crew = self._workers()
            made = Listeners(
                self.options.max_listens_per_principal,
                self._streams_left(),
                crew.event,
                self._clock,
                guard=crew.guard,
                result_meta=self._dispatcher.envelope.own_meta(MODERN[0]),
            )
            listeners = self._kept("_listeners", made)
        return listeners

    # --- telling clients --------------------------------------------------------------------------

    def tools_changed(self) -> int:
        """Tell the clients that listen that the list of tools has changed; returns how many there are.

        An ``MCPServer`` whose tools come and go says so by itself. Safe from any thread or greenlet.
        Clients of other processes are not reached.
        """
        return self._publish("tools")

    def prompts_changed(self) -> int:
        """Tell the clients that listen that the list of prompts has changed, as ``tools_changed`` does."""
        return self._publish("prompts")

    def resources_changed(self) -> int:
        """Tell the clients that listen that a list of resources has changed, as ``tools_changed`` does."""
        return self._publish("resources")

    def resource_updated(self, uri: str) -> int:
        """Tell the clients that subscribed to a resource that it has changed, as ``tools_changed`` does.

        Args:
            uri: The resource; subscribers of one that its path lies in are told, too.

        Raises:
            ValueError: It is no URI.
        """
        reached = 0 if self._listeners is None else self._listeners.publish_update(uri)
        return reached + (0 if self._keeper is None else self._keeper.publish_update(uri))

    def notify(self, session_id: str, method: str, params: Mapping[str, Any] | None = None) -> int:
        """Send one session a notification.

        It goes out on the session's GET stream, or waits in the session (see ``event_log``) until the
        client opens one. Safe from any thread or greenlet, as all methods here.

        Args:
            session_id: As ``ctx.session_id`` has it.
            method: Its name, which begins with ``notifications/``.
            params: Any values with a JSON form; default: none.

        Returns:
            How many were reached: 0 if there is no such session here, its client has not finished
            ``initialize``, or sessions are not kept.

        Raises:
            ValueError: The name is none of a notification.
            OutputError: ``params`` have no JSON form. The stream lives on.
        """
        return 0 if self._keeper is None else self._keeper.notify(session_id, method, params or {})

    def broadcast(self, channel: str, method: str, params: Mapping[str, Any] | None = None) -> int:
        """Send a notification to each session that listens to a channel.

        Which those are, ``Handler.channels`` says: when a session begins, and when its stream opens.

        Args:
            channel: The channel's name.
            method: As of ``notify``.
            params: As of ``notify``.

        Returns:
            How many sessions were reached.

        Raises:
            ValueError, OutputError: As of ``notify``.
        """
        return 0 if self._keeper is None else self._keeper.broadcast(channel, method, params or {})

    def log(self, session_id: str, level: str, data: Any, logger: str | None = None) -> int:
        """Send one session a log message, if it wants that level; as ``ctx.log`` does within a call.

        Args:
            session_id: As ``ctx.session_id`` has it.
            level: One of the eight levels.
            data: Text, or any value with a JSON form. No secrets: the client may show it.
            logger: Name of its source; default: none.

        Returns:
            1 if it was sent or waits to be, else 0.

        Raises:
            ValueError: The level does not exist.
            OutputError: ``data`` has no JSON form.
        """
        return 0 if self._keeper is None else self._keeper.log(session_id, level, data, logger)

    def elicitation_complete(self, name: str) -> int:
        """Tell the client whose user was asked to open a page that it is through (2025-11-25).

        Args:
            name: The ``id`` that ``ctx.elicit_url`` was given or has returned.

        Returns:
            1 if it was told, else 0: only a client with a stored session can be.

        Source: 2025-11-25 client/elicitation, "Completion Notifications for URL Mode Elicitation".
        """
        return 0 if self._keeper is None else self._keeper.elicitation_complete(name)

    def _publish(self, kind: Kind) -> int:
        reached = 0 if self._listeners is None else self._listeners.publish(kind)
        return reached + (0 if self._keeper is None else self._keeper.publish(kind))

    def _announce(self, kind: ListKind) -> None:
        self._publish("resources" if kind == "resource_templates" else kind)

    # --- the end ----------------------------------------------------------------------------------

    def close(self, grace: float = 5.0) -> None:
        """End all that is open, for good; to be called when the process is to stop.

        At once no stream and no session begins any more, listen streams end with their result, and
        GET streams end. Calls have ``grace`` seconds to get through; then they are cancelled. The
        connections of streams whose clients read nothing are broken, where the server (gunicorn) hands
        them out. At last each session ends (``Handler.terminate``).

        Args:
            grace: Seconds.
        """
        self._open_listeners().close()
        if self._keeper is not None:
            self._keeper.part()
        crew = self._workers()
        end = self._clock() + grace
        pause = crew.event()
        while crew.running and self._clock() < end:
            pause.wait(0.02)
        for calls in (self._modern_calls, self._legacy_calls):
            calls.stop()
        if self._keeper is not None:
            self._keeper.close()
        end = self._clock() + _FAREWELL
        while self._streams and self._clock() < end:
            pause.wait(0.02)
        for stream in tuple(self._streams):
            stream.cut()

    # --- answering --------------------------------------------------------------------------------

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one HTTP request."""
        request = _request(environ)
        try:
            reply = self._reply(request)
        except Exception as error:  # noqa: BLE001 - _refusal logs it
            reply = _refusal(request, error, None)
            if request.method == "HEAD":  # which is never served, so it always comes by here
                reply = HttpReply(reply.status, reply.headers, ())
        headers = reply.headers
        if self.options.origins or "HTTP_ORIGIN" in environ:
            headers = [*headers, *guards.cors_headers(request, self.options)]
        try:
            start_response(_STATUS_LINES.get(reply.status) or f"{reply.status} Refused", headers)
        except BaseException:
            # No server closes a body that it never got.
            if isinstance(reply.body, Stream):
                reply.body.close()
            raise
        body = reply.body
        if type(body) is Stream:
            body.attend(self._streams, environ.get("gunicorn.socket"), self._clock)
        return body

    def _reply(self, request: HttpRequest) -> HttpReply:
        options = self.options
        guards.check_access(request, options)
        if request.method == "OPTIONS":
            # A preflight carries no credentials, so it is answered before they are asked for.
            allowed = ", ".join(self._http_methods(request))
            return HttpReply(204, [("Allow", allowed), *guards.preflight_headers(request)], [])
        principal = guards.authenticate(request, options)
        if request.method != "POST":
            return self._no_post(request, principal)
        headers = request.headers
        if not is_json(headers.get("Content-Type") or ""):
            raise UnsupportedMediaType
        body = request.read(options.max_body)
        message = parse(body, max_depth=options.max_depth, max_batch=options.max_batch)
        try:
            self._settle(request.environ)
            accept = accepted(headers.get("Accept"))
            if not (accept.json or accept.sse) and _wants_answer(message):
                raise NotAcceptable  # noqa: TRY301 - below is where all refusals are made
            version = field(headers, "MCP-Protocol-Version")
            revision = None if version is None else REVISIONS.get(version)
            if modern.is_modern(message, revision):
                return self._modern.post(request, message, accept, principal)
            return self._legacy.post(request, message, version, revision, accept, principal)
        except Exception as error:  # noqa: BLE001 - _refusal logs it
            # From here on the id is known, and what refuses a request carries it.
            return _refusal(request, error, message.id if isinstance(message, (Request, Invalid)) else None)

    def _http_methods(self, request: HttpRequest) -> tuple[str, ...]:
        """The HTTP methods that are served."""
        self._settle(request.environ)
        return guards.HTTP_METHODS if self._sessions is None else guards.SESSION_METHODS

    def _no_post(self, request: HttpRequest, principal: Any) -> HttpReply:
        methods, sessions = self._http_methods(request), self._sessions
        if sessions is None or request.method not in methods:
            raise MethodNotAllowed(request.method, methods)
        headers = request.headers
        version = field(headers, "MCP-Protocol-Version")
        revision = None if version is None else REVISIONS.get(version)
        if version is not None and revision is None:
            raise UnsupportedProtocolVersion(version, SUPPORTED)
        if revision is not None and revision.modern:
            raise MethodNotAllowed(request.method, guards.HTTP_METHODS)
        if request.method == "GET":
            return sessions.get(request, accepted(headers.get("Accept")), principal)
        return sessions.delete(request, principal)


def _wants_answer(message: Message | Batch) -> bool:
    items = message.items if type(message) is Batch else (message,)
    return any(type(item) is Request for item in items)


def _refusal(request: HttpRequest, error: BaseException, identity: Id | None) -> HttpReply:
    """Log what an endpoint does not answer itself, and refuse the request for it."""
    if is_for_client(error):
        try:
            # An error of the application's own may have no status of a refusal.
            reply = error_reply(error, identity, status=error.http_status if error.http_status >= 400 else 500)
            if not is_logged(error):
                # What a client wrote is quoted, so that it cannot write lines of the log.
                log.info("refused %s: %s", _target(request), quote_text(str(error), MAX_SENTENCE))
        except Exception as problem:  # noqa: BLE001 - or it cannot tell of itself
            error = problem
        else:
            return reply
    log.error("%s failed", _target(request), exc_info=error)
    return error_reply(InternalError(), identity, status=500)


def _target(request: HttpRequest) -> str:
    # Servers pass on methods that are none.
    method = request.method
    return f"{method if method.isascii() and method.isalpha() else quote_text(method)} {quote_text(request.path)}"


# --- environ --------------------------------------------------------------------------------------


def _request(environ: WSGIEnvironment) -> HttpRequest:
    return HttpRequest(
        environ["REQUEST_METHOD"],
        environ.get("PATH_INFO", ""),
        EnvironHeaders(environ),
        environ["wsgi.url_scheme"],
        environ.get("HTTP_HOST", ""),
        environ.get("REMOTE_ADDR", ""),
        environ.get("SCRIPT_NAME", ""),
        environ,
        _BodyReader(environ).read,
    )


class EnvironHeaders(Mapping[str, str]):
    """Header fields by name in any case, read from the environ."""

    __slots__ = ("_environ",)

    def __init__(self, environ: Mapping[str, Any]) -> None:
        self._environ = environ

    def __getitem__(self, name: str) -> str:
        value: str = self._environ[_environ_key(name)]
        return value

    def get(self, name: str, default: Any = None) -> Any:
        """The field's value, or ``default``."""
        return self._environ.get(_KEYS.get(name) or _environ_key(name), default)

    def __iter__(self) -> Iterator[str]:
        for key in self._environ:
            if key.startswith("HTTP_") and key[5:] not in _UNPREFIXED:
                yield key[5:].replace("_", "-").title()
            elif key in _UNPREFIXED and self._environ[key]:
                yield key.replace("_", "-").title()

    def __len__(self) -> int:
        return sum(1 for _ in self)


_UNPREFIXED = frozenset({"CONTENT_TYPE", "CONTENT_LENGTH"})


def _environ_key(name: str) -> str:
    key = name.upper().replace("-", "_")
    return key if key in _UNPREFIXED else "HTTP_" + key


# The fields that every request is asked for, so that their keys are not made anew each time.
_KEYS: Mapping[str, str] = {
    name: _environ_key(name)
    for name in ("Accept", "Content-Type", "Mcp-Method", "Mcp-Name", "MCP-Protocol-Version", "Origin")
}


class _BodyReader:
    __slots__ = ("_body", "_environ")

    def __init__(self, environ: Mapping[str, Any]) -> None:
        self._environ = environ
        self._body: bytes | None = None

    def read(self, limit: int) -> bytes:
        """The whole body; it can be read again.

        Raises:
            BodyTooLarge: It is declared, or turns out, to be larger than ``limit`` bytes.
            InvalidRequest: Its declared length is no length.
            _LengthRequired: It has no length, and the server does not end it either.
            ParseError: It ends before its declared length, or cannot be read.
        """
        body = self._body
        if body is None:
            try:
                body = self._body = self._read(limit)
            except MCPError:
                raise
            except Exception as problem:
                # Servers raise all kinds of errors for a connection that broke or chunks that are none (gunicorn's
                # have no other base than this). What is no ``Exception``, as gevent's ``Timeout``, has an owner.
                log.debug("the body cannot be read", exc_info=problem)
                raise ParseError("Parse error: the body ended early or cannot be read") from problem
        if len(body) > limit:
            raise BodyTooLarge(limit)
        return body

    def _read(self, limit: int) -> bytes:
        environ = self._environ
        declared = environ.get("CONTENT_LENGTH")
        if not declared:
            # Only a server that ends the input itself makes a body without a length readable.
            if environ.get("wsgi.input_terminated"):
                return self._read_to_end(limit)
            if "HTTP_TRANSFER_ENCODING" in environ:
                raise _LengthRequired
            return b""
        if not (declared.isascii() and declared.isdigit()):
            raise InvalidRequest("Invalid request: Content-Length is no length")
        # Python takes no number of any length out of a text.
        length = int(declared) if len(declared) < 19 else limit + 1
        if length > limit:
            raise BodyTooLarge(limit)
        body: bytes = environ["wsgi.input"].read(length)
        if len(body) < length:
            body += self._rest(length - len(body))
        return body

    def _rest(self, missing: int) -> bytes:
        chunks = []
        while missing:
            chunk = self._environ["wsgi.input"].read(missing)
            if not chunk:
                raise ParseError("Parse error: the body ends before its Content-Length")
            chunks.append(chunk)
            missing -= len(chunk)
        return b"".join(chunks)

    def _read_to_end(self, limit: int) -> bytes:
        chunks, size = [], 0
        while chunk := self._environ["wsgi.input"].read(64 * 1024):
            size += len(chunk)
            if size > limit:
                raise BodyTooLarge(limit)
            chunks.append(chunk)
        return b"".join(chunks)


class _LengthRequired(MCPError):
    """The body comes in chunks, and this WSGI server does not put them together."""

    code = -32600
    http_status = 411
    message = "Length required: this server takes no chunked body"
