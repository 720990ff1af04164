"""What a callback can see and do while it runs."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar, Token
from typing import Any, Protocol, TypeVar

import msgspec

from mcp_wsgi.content import Message
from mcp_wsgi.errors import Cancelled, InputError, MissingCapability
from mcp_wsgi.inputs import (
    ElicitForm,
    ElicitResult,
    ElicitUrl,
    InputRequest,
    InvalidAnswer,
    ListRoots,
    Root,
    Sample,
    SamplingResult,
    check_capability,
    new_elicitation_id,
)
from mcp_wsgi.jsonrpc import Id, encode_notification
from mcp_wsgi.revisions import Revision
from mcp_wsgi.rounds import Rounds, States, digest_of
from mcp_wsgi.schema import Arguments, to_json
from mcp_wsgi.sessions import principal_id

__all__ = [
    "LEVELS",
    "SILENCE",
    "Call",
    "CallSession",
    "ClientInfo",
    "Context",
    "ContextLogHandler",
    "Conversation",
    "Direct",
    "Sink",
    "current_context",
    "rank_of",
]

log = logging.getLogger("mcp_wsgi")

T = TypeVar("T")

#: The log levels of the protocol, least severe first. Source: server/utilities/logging (RFC 5424).
LEVELS: tuple[str, ...] = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
_RANK: Mapping[str, int] = {level: rank for rank, level in enumerate(LEVELS)}
_SILENT = len(LEVELS)


def rank_of(level: str) -> int:
    """How severe a log level is, from 0.

    Raises:
        ValueError: The level does not exist.
    """
    rank = _RANK.get(level)
    if rank is None:
        raise ValueError(f"unknown log level {level!r}; the levels are {', '.join(LEVELS)}")
    return rank


_EMPTY: Mapping[str, Any] = {}


class ClientInfo(msgspec.Struct, frozen=True):
    """What the client said about itself; never a ground for trust.

    Attributes:
        info: Its ``Implementation`` object; empty when it did not say.
        capabilities: Its ``ClientCapabilities`` object; empty when it did not say.
    """

    info: Mapping[str, Any] = _EMPTY
    capabilities: Mapping[str, Any] = _EMPTY

    @property
    def name(self) -> str | None:
        """The client's name for itself."""
        return self.info.get("name")

    @property
    def version(self) -> str | None:
        """The client's own version."""
        return self.info.get("version")


class CallSession(Protocol):
    """The session that a call belongs to.

    Attributes:
        id: Its id; whoever has it and the same credentials is in the session.
        stateful: Whether anything is kept of it beside what ``initialize`` settled.
    """

    id: str
    stateful: bool

    def set_log_level(self, level: str) -> None:
        """Remember the least severe level that the client wants."""

    def subscribe(self, uri: str) -> None:
        """Remember that the client wants to hear of a resource's changes."""

    def unsubscribe(self, uri: str) -> None:
        """Forget that it does."""

    def note_elicitation(self, name: str) -> None:
        """Remember which page the user was asked to open, so that its end can be told."""


class Call(msgspec.Struct, frozen=True):
    """One request, as the core sees it.

    Attributes:
        method: The RPC method.
        params: Its parameters.
        id: The request's id.
        revision: The revision that rules it.
        meta: ``params._meta``, or an empty object.
        client: What is known of the client.
        principal: What ``auth`` returned; ``None`` without ``auth``.
        progress_token: Where progress goes; ``None`` if the client asked for none.
        log_level: The least severe level to send; ``None`` for no log messages at all.
        headers: HTTP header fields, names in any case.
        environ: The WSGI environ of the request.
        verify: Compares routing headers of arguments with the body, where the revision has them.
        session: The session it belongs to; ``None`` without.
        mount: Where the application is mounted.
    """

    method: str
    params: dict[str, Any]
    id: Id
    revision: Revision
    meta: Mapping[str, Any] = _EMPTY
    client: ClientInfo = ClientInfo()
    principal: Any = None
    progress_token: Id | None = None
    log_level: str | None = None
    headers: Mapping[str, str] = _EMPTY
    environ: Mapping[str, Any] = _EMPTY
    verify: Callable[[Arguments, dict[str, Any]], None] | None = None
    session: CallSession | None = None
    mount: str = ""

    def binding(self) -> tuple[str | None, ...]:
        """What a sealed state of this call is good for: the same call of the same caller."""
        return (self.revision.name, self.method, digest_of(self.params), principal_id(self.principal), self.mount)

    def owner(self) -> tuple[str | None, ...]:
        """Who may answer what this call asks."""
        session = None if self.session is None else self.session.id
        return (session, principal_id(self.principal), self.mount)


class Sink(Protocol):
    """Where a running call's messages go, and what it is told in return."""

    cancelled: bool

    @property
    def order(self) -> AbstractContextManager[Any]:
        """A lock to hold while a message is made and sent, where threads must keep an order."""

    def emit(self, message: bytes) -> None:
        """Send one encoded message to the client of the call, in order."""

    def allow_progress(self) -> bool:
        """Whether the rate limit has room for one more progress message now."""

    def close_stream(self) -> bool:
        """End the connection, if its client comes back for the rest; returns whether it was ended."""

    def ask(self, owner: tuple[str | None, ...], requests: Sequence[tuple[str, dict[str, Any]]]) -> list[Any]:
        """Ask the client, by requests of the server's own, and wait for the results."""


class _Silence:
    """The sink of a callback that is asked something on the way to an answer: it has no one to talk to."""

    cancelled = False
    order = nullcontext()

    def emit(self, message: bytes) -> None:
        """Nobody hears it."""

    def allow_progress(self) -> bool:
        """There is nobody to tell."""
        return False

    def close_stream(self) -> bool:
        """There is none."""
        return False

    def ask(self, owner: tuple[str | None, ...], requests: Sequence[tuple[str, dict[str, Any]]]) -> list[Any]:
        """There is nobody to ask."""
        raise InputError("The client cannot be asked here")


class Conversation(Protocol):
    """How a call asks its client, in either era.

    Attributes:
        responses: What the client has answered to an ``InputRequired``, as it sent it.
        state: What that was given.
    """

    responses: Mapping[str, Any]
    state: Any

    def ask(self, requests: Mapping[str, InputRequest]) -> dict[str, Any]:
        """The client's results, as it sent them."""

    def unusable(self, key: str, problem: InvalidAnswer) -> Exception:
        """What to raise for a result that is not what was asked for."""

    def once(self, key: str, step: Callable[[], Any]) -> Any:
        """The result of a step that runs once."""


def note_question(call: Call, request: InputRequest) -> None:
    """Remember a page that the user is to open; before it is sent, since it may be through before the answer."""
    if isinstance(request, ElicitUrl) and call.session is not None:
        call.session.note_elicitation(request.id)


class Direct:
    """A conversation of the session era: the client is asked while the function waits.

    Args:
        call: The call.
        sink: Where its questions go.
    """

    def __init__(self, call: Call, sink: Sink) -> None:
        self._call = call
        self._sink = sink
        self._steps: dict[str, Any] = {}
        self._answers: dict[str, Any] = {}
        self.responses: Mapping[str, Any] = {}
        self.state: Any = None

    def ask(self, requests: Mapping[str, InputRequest]) -> dict[str, Any]:
        """See ``Conversation``; see ``Exchange.ask`` for what it raises."""
        # A function that is run again for ``InputRequired`` has its answers at once, as in the modern era.
        missing = {key: request for key, request in requests.items() if key not in self._answers}
        if missing:
            self._answers.update(self.send(missing))
        return {key: self._answers[key] for key in requests}

    def send(self, requests: Mapping[str, InputRequest]) -> dict[str, Any]:
        """Ask, whatever was asked under these keys before; see ``ask``."""
        revision = self._call.revision
        wire = [(request.method, request.params(revision)) for request in requests.values()]
        for request in requests.values():
            note_question(self._call, request)
        return dict(zip(requests, self._sink.ask(self._call.owner(), wire), strict=True))

    def unusable(self, key: str, problem: InvalidAnswer) -> Exception:
        """See ``Conversation``."""
        return problem

    def once(self, key: str, step: Callable[[], Any]) -> Any:
        """See ``Conversation``."""
        if key not in self._steps:
            self._steps[key] = step()
        return self._steps[key]


#: A sink that drops everything.
SILENCE: Sink = _Silence()


class Context:
    """A callback's view of the call that it serves.

    Ask for it by annotating a parameter: ``def tool(text: str, ctx: Context)``. Use it only while
    the call runs, from any thread or greenlet. Where the client wants no progress or logs, those
    methods do nothing.

    Attributes:
        state: The session's state; without a stored session, what ``Handler.init`` made for this call.
            It is kept after a reply and after ``ToolError``, and as it was before the call otherwise;
            what a call with a progress token changes is never kept, as it runs beside the others.
        crashed: Whether the callback has failed in a way that nobody foresaw.
        may_ask: Whether the method being served is one in which the client can be asked.
        states: Seals what a conversation in rounds has to remember.
    """

    __slots__ = (
        "_asked",
        "_call",
        "_conversation",
        "_last",
        "_pending",
        "_sink",
        "_threshold",
        "crashed",
        "may_ask",
        "state",
        "states",
    )

    def __init__(self, call: Call, sink: Sink, state: dict[str, Any] | None = None) -> None:
        self._call = call
        self._sink = sink
        self._last = -math.inf
        self._pending: bytes | None = None
        self._threshold = _SILENT if call.log_level is None else _RANK[call.log_level]
        self.state: dict[str, Any] = {} if state is None else state
        self.crashed = False
        self.may_ask = True
        self.states: States | None = None
        self._conversation: Conversation | None = None
        self._asked: dict[str, int] | None = None

    # --- what can be seen -------------------------------------------------------------------------

    @property
    def request_id(self) -> Id:
        """The id of the request."""
        return self._call.id

    @property
    def method(self) -> str:
        """The RPC method being served."""
        return self._call.method

    @property
    def revision(self) -> Revision:
        """The protocol revision that rules the call."""
        return self._call.revision

    @property
    def principal(self) -> Any:
        """What ``auth`` returned for the request; ``None`` without ``auth``."""
        return self._call.principal

    @property
    def client(self) -> ClientInfo:
        """What the client said about itself."""
        return self._call.client

    @property
    def session_id(self) -> str | None:
        """The id of the session, for ``MCPApp.notify``; ``None`` without one. Keep it secret."""
        return None if self._call.session is None else self._call.session.id

    @property
    def meta(self) -> Mapping[str, Any]:
        """The request's ``_meta`` object."""
        return self._call.meta

    @property
    def headers(self) -> Mapping[str, str]:
        """The request's HTTP header fields; names in any case."""
        return self._call.headers

    @property
    def environ(self) -> Mapping[str, Any]:
        """The request's WSGI environ."""
        return self._call.environ

    @property
    def cancelled(self) -> bool:
        """Whether the client has cancelled the call or has gone."""
        return self._sink.cancelled

    def raise_if_cancelled(self) -> None:
        """End the callback here if its client has cancelled the call.

        Raises:
            Cancelled: It has. Do not catch it; ``finally`` blocks run.
        """
        if self._sink.cancelled:
            raise Cancelled

    # --- progress ---------------------------------------------------------------------------------

    def report_progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Tell the client how far the call has come, if it asked.

        Values that do not exceed the last one are dropped, as the protocol wants them strictly
        increasing. Reports beyond ``progress_rate`` are dropped, but the newest of them is sent
        when the call ends.

        Args:
            progress: Finite number, in any unit.
            total: How much there is in all, in the same unit; default: unknown.
            message: One readable line; default: none.

        Raises:
            ValueError: A number is not finite, or the message has lone surrogates.
            Cancelled: The client has cancelled the call.

        Source: basic/patterns/progress.
        """
        self.raise_if_cancelled()
        number, token = _finite(progress), self._call.progress_token
        whole = None if total is None else _finite(total)
        if token is None or number <= self._last:
            return
        params: dict[str, Any] = {"progressToken": token, "progress": number}
        if whole is not None:
            params["total"] = whole
        if message is not None:
            params["message"] = message
        self._send_progress(number, encode_notification("notifications/progress", params))

    def _send_progress(self, progress: float, encoded: bytes) -> None:
        with self._sink.order:
            if progress <= self._last:
                return  # another thread of the callback was faster
            self._last = progress
            if self._sink.allow_progress():
                self._pending = None
                self._sink.emit(encoded)
            else:
                self._pending = encoded

    def track(self, items: Iterable[T], total: float | None = None, message: str | None = None) -> Iterator[T]:
        """Go through ``items`` and report progress after each: ``for row in ctx.track(rows): ...``.

        Args:
            items: Anything iterable.
            total: How many there are; default: their ``len()``, if they have one.
            message: One readable line for each report; default: none.

        Raises:
            Cancelled: The client has cancelled the call.
        """
        if total is None and isinstance(items, Sized):
            total = len(items)
        for done, item in enumerate(items, 1):
            self.raise_if_cancelled()
            yield item
            self.report_progress(done, total, message)

    def flush(self) -> None:
        """Send the progress that the rate limit still holds back; called when a callback ends."""
        if self._pending is None or self._sink.cancelled:
            return
        with self._sink.order:
            pending, self._pending = self._pending, None
            if pending is not None:
                self._sink.emit(pending)

    def close_stream(self) -> bool:
        """End the connection of the client, which comes back for the rest by itself.

        For a long call that would hold a connection (and under a threaded server a thread) for
        nothing: messages and the answer wait in the session until the client asks for them.

        Returns:
            Whether it was ended: only in a stored session, and only clients of 2025-11-25 come back.

        Source: 2025-11-25 basic/transports, "Sending Messages to the Server".
        """
        return self._sink.close_stream()

    # --- questions --------------------------------------------------------------------------------

    @property
    def conversation(self) -> Conversation:
        """How the client is asked.

        Raises:
            InvalidParams: What the request brings of earlier rounds is not valid here.
        """
        if self._conversation is None:
            call = self._call
            if call.revision.asks_in_results and self.states is not None:
                self._conversation = Rounds(self.states, call.binding(), call.params, call.revision)
            else:
                self._conversation = Direct(call, self._sink)
        return self._conversation

    def elicit(self, message: str, schema: Any, *, key: str | None = None) -> ElicitResult:
        """Ask the user to fill in a form.

        In the session era the client is asked while the function waits. In the modern era the call
        ends, and **the function runs again from the top** when the answer is there; questions that
        were answered before return at once. Keep side effects out of the way with ``once``.

        Args:
            message: What the user is told.
            schema: What is asked for: a dataclass, ``TypedDict``, ``msgspec.Struct`` or pydantic model,
                or a JSON Schema; flat, with texts, numbers, booleans and choices. No secrets: the
                client sees the answer.
            key: Names the question in all rounds; default: by its order among the forms.

        Returns:
            The action, and for ``accept`` the value: of the type given, or a dict.

        Raises:
            RegistrationError: ``schema`` is no such form.
            MissingCapability: The client has not declared that it can be asked.
            InputError: It answered with an error, not in time, or with what does not fit.

        Source: client/elicitation.
        """
        return self._ask_one("elicitation", key, ElicitForm(message, schema))  # type: ignore[no-any-return]

    def elicit_url(self, message: str, url: str, *, id: str | None = None, key: str | None = None) -> ElicitResult:  # noqa: A002
        """Ask the user to open a page, where what no client may see is entered; see ``elicit``.

        ``accept`` means that the user has agreed, not that the page is through: ask your own database.

        Args:
            message: What the user is told.
            url: The page. Make sure that whoever opens it is the user that the call is for.
            id: Names it for ``MCPApp.elicitation_complete``; default: one that nobody can guess.
            key: As of ``elicit``.
        """
        key = self._key("elicitation", key)
        name = id or self.conversation.once(f"elicitation id of {key}", new_elicitation_id)
        return self.ask({key: ElicitUrl(message, url, name)})[key]  # type: ignore[no-any-return]

    def sample(
        self,
        messages: str | Message | Sequence[Message | Mapping[str, Any]],
        *,
        max_tokens: int,
        key: str | None = None,
        **options: Any,
    ) -> SamplingResult:
        """Ask the client's model to go on from some messages; see ``elicit`` for how.

        Args:
            messages: Text, or messages.
            max_tokens: Most tokens of the answer.
            key: As of ``elicit``.
            **options: As of ``Sample``: ``system_prompt``, ``temperature``, ``tools`` ...

        Raises:
            MissingCapability, InputError: As of ``elicit``.

        Source: client/sampling.
        """
        if isinstance(messages, str):
            messages = [Message("user", messages)]
        elif isinstance(messages, Message):
            messages = [messages]
        request = Sample(messages=tuple(messages), max_tokens=max_tokens, **options)
        return self._ask_one("sampling", key, request)  # type: ignore[no-any-return]

    def list_roots(self, *, key: str | None = None) -> tuple[Root, ...]:
        """Ask which places the user has opened to the server; see ``elicit`` for how.

        Raises:
            MissingCapability, InputError: As of ``elicit``.

        Source: client/roots.
        """
        return self._ask_one("roots", key, ListRoots())  # type: ignore[no-any-return]

    def ask(self, requests: Mapping[str, InputRequest]) -> dict[str, Any]:
        """Ask several questions at once; see ``elicit`` for how.

        Args:
            requests: Key -> ``ElicitForm``, ``ElicitUrl``, ``Sample`` or ``ListRoots``.

        Returns:
            Key -> what ``elicit``, ``elicit_url``, ``sample`` or ``list_roots`` would return.

        Raises:
            MissingCapability, InputError: As of ``elicit``.
        """
        if not self.may_ask:
            raise RuntimeError(f"the client can be asked in tools, resource reads and prompts, not in {self.method}")
        conversation = self.conversation
        for request in requests.values():
            self.check_question(request)
        for key in requests:
            self._claim_key(key)
        raw = conversation.ask(requests)
        answers = {}
        for key, request in requests.items():
            try:
                answers[key] = request.read(raw[key])
            except InvalidAnswer as problem:
                raise conversation.unusable(key, problem) from None
        return answers

    def check_question(self, request: InputRequest) -> None:
        """Refuse a question that the client has not declared to take.

        Raises:
            MissingCapability: It has not.
        """
        call = self._call
        if request.method.startswith("elicitation/") and not call.revision.elicitation:
            raise MissingCapability(["elicitation"], {"elicitation": {}})
        if call.session is None and not call.revision.modern:
            log.info("a client without a session cannot be asked: use sessions=True, or set a secret_key")
        check_capability(self.client.capabilities, request.needs())

    def note_question(self, request: InputRequest) -> None:
        """Remember a page that the user is to open, so that its end can be told."""
        note_question(self._call, request)

    def once(self, key: str, step: Callable[[], Any]) -> Any:
        """Run a step once in a call, in however many rounds its function runs.

        In the modern era a function runs again from the top each time that the client has answered;
        the result of the step is then taken from what the client carries for us, sealed. A client
        that goes back to an earlier round makes us run it again, unless ``single_use`` is set.

        Args:
            key: Names the step; each step has its own.
            step: Called without arguments; returns a value with a JSON form.

        Returns:
            That value in its JSON form: lists for tuples, dicts for dataclasses.
        """
        return self.conversation.once(key, lambda: to_json(step()))

    @property
    def input_responses(self) -> Mapping[str, Any]:
        """What the client has answered to an ``InputRequired``: key -> result, as it was sent."""
        return self.conversation.responses

    @property
    def request_state(self) -> Any:
        """The ``state`` of the ``InputRequired`` that ended the round before; ``None`` in the first."""
        return self.conversation.state

    def restart(self) -> None:
        """Forget which questions were asked, since the function runs again from the top."""
        self._asked = None

    def _ask_one(self, kind: str, key: str | None, request: InputRequest) -> Any:
        key = self._key(kind, key)
        return self.ask({key: request})[key]

    def _key(self, kind: str, key: str | None) -> str:
        if key is not None:
            return key
        asked = self._asked
        if asked is None:
            asked = self._asked = {}
        asked[kind] = asked.get(kind, 0) + 1
        return f"{kind}-{asked[kind]}"

    def _claim_key(self, key: str) -> None:
        asked = self._asked
        if asked is None:
            asked = self._asked = {}
        if f"={key}" in asked:
            raise RuntimeError(f"two questions have the key {key!r}; in a loop, make the key of what differs")
        asked[f"={key}"] = 1

    # --- logs -------------------------------------------------------------------------------------

    def log(self, level: str, data: Any, logger: str | None = None) -> None:
        """Send a log message to the client, if it wants that level.

        Args:
            level: One of ``LEVELS``.
            data: Text, or any value with a JSON form. No secrets: the client may show it.
            logger: Name of its source; default: none.

        Raises:
            ValueError: The level does not exist.
            OutputError: ``data`` has no JSON form.
            Cancelled: The client has cancelled the call.

        Source: server/utilities/logging.
        """
        self.raise_if_cancelled()
        # Before the level is asked for: what fails must not depend on who is listening.
        params: dict[str, Any] = {"level": level, "data": to_json(data)}
        if not self.wants(level):
            return
        if logger is not None:
            params["logger"] = logger
        self._sink.emit(encode_notification("notifications/message", params))

    def wants(self, level: str) -> bool:
        """Whether a log message of that level would be sent.

        Raises:
            ValueError: The level does not exist.
        """
        return rank_of(level) >= self._threshold

    def debug(self, data: Any, logger: str | None = None) -> None:
        """``log("debug", data)``."""
        self.log("debug", data, logger)

    def info(self, data: Any, logger: str | None = None) -> None:
        """``log("info", data)``."""
        self.log("info", data, logger)

    def notice(self, data: Any, logger: str | None = None) -> None:
        """``log("notice", data)``."""
        self.log("notice", data, logger)

    def warning(self, data: Any, logger: str | None = None) -> None:
        """``log("warning", data)``."""
        self.log("warning", data, logger)

    def error(self, data: Any, logger: str | None = None) -> None:
        """``log("error", data)``."""
        self.log("error", data, logger)

    def critical(self, data: Any, logger: str | None = None) -> None:
        """``log("critical", data)``."""
        self.log("critical", data, logger)

    def alert(self, data: Any, logger: str | None = None) -> None:
        """``log("alert", data)``."""
        self.log("alert", data, logger)

    def emergency(self, data: Any, logger: str | None = None) -> None:
        """``log("emergency", data)``."""
        self.log("emergency", data, logger)


def _finite(value: float) -> float:
    """``value`` as JSON can say it; any real number will do, such as a ``Decimal``."""
    try:
        finite = math.isfinite(value)
    except OverflowError:  # an integer beyond what a float holds
        finite = False
    if not finite:
        raise ValueError(f"progress must be finite, not {value!r}")
    return value if type(value) is int or type(value) is float else float(value)


_current: ContextVar[Context | None] = ContextVar("mcp_wsgi.context", default=None)


def current_context() -> Context | None:
    """The context of the call that this code runs for; ``None`` outside of one."""
    return _current.get()


def enter(ctx: Context) -> Token[Context | None]:
    """Make ``ctx`` current until ``leave``."""
    return _current.set(ctx)


def leave(token: Token[Context | None]) -> None:
    """Make current again what was before ``enter``."""
    _current.reset(token)


# Python's levels, each with the name that the protocol has for it.
_PYTHON_LEVELS = ((logging.CRITICAL, "critical"), (logging.ERROR, "error"), (logging.WARNING, "warning"))


class ContextLogHandler(logging.Handler):
    """Forwards log records made during a call to that call's client, at the level it wants.

    Attach it to the application's own logger: ``logging.getLogger("shop").addHandler(ContextLogHandler())``.
    Only the formatted message travels, never a traceback; records outside a call and those of
    this package itself are left alone.
    """

    def handle(self, record: logging.LogRecord) -> Any:
        """Send one record, if the filters let it through."""
        # Without the handler's lock, which all calls share: a call may wait here for its own client.
        passed: Any = self.filter(record)  # since Python 3.12 it may be another record
        if passed:
            self.emit(passed if isinstance(passed, logging.LogRecord) else record)
        return passed

    def emit(self, record: logging.LogRecord) -> None:
        """Send one record; what goes wrong is the logging module's to report."""
        ctx = _current.get()
        if ctx is None or record.name.partition(".")[0] == "mcp_wsgi" or ctx.cancelled:
            return
        level = _protocol_level(record.levelno)
        if not ctx.wants(level):
            return
        try:
            ctx.log(level, _clean(record.getMessage()), _clean(record.name))
        except Exception:  # noqa: BLE001
            self.handleError(record)


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _protocol_level(levelno: int) -> str:
    for floor, level in _PYTHON_LEVELS:
        if levelno >= floor:
            return level
    return "info" if levelno >= logging.INFO else "debug"
