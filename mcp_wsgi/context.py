"""The view that a callback has of the call it serves, and which call that is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextvars import ContextVar, Token
from typing import Any, TypeVar

from mcp_wsgi.call import Call, ClientInfo
from mcp_wsgi.checks import check_texts
from mcp_wsgi.content import Message
from mcp_wsgi.conversation import Conversation, Interview, check_question, open_conversation
from mcp_wsgi.direct import note_question
from mcp_wsgi.errors import Cancelled
from mcp_wsgi.inputs import (
    ElicitForm,
    ElicitResult,
    ElicitUrl,
    InputRequest,
    ListRoots,
    Root,
    Sample,
    SamplingResult,
    new_elicitation_id,
)
from mcp_wsgi.jsonrpc import Id, encode_notification
from mcp_wsgi.levels import RANKS, SILENT, rank_of
from mcp_wsgi.progress import Progress, finite
from mcp_wsgi.revisions import Revision
from mcp_wsgi.rounds import States
from mcp_wsgi.schema import OutputError, to_json
from mcp_wsgi.sink import Sink

__all__ = ["Context", "current_context"]

T = TypeVar("T")


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
        "_call",
        "_interview",
        "_progress",
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
        self._progress = None if call.progress_token is None else Progress(call.progress_token, sink)
        self._threshold = SILENT if call.log_level is None else RANKS[call.log_level]
        self.state: dict[str, Any] = {} if state is None else state
        self.crashed = False
        self.may_ask = True
        self.states: States | None = None
        self._interview: Interview | None = None

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
            ValueError: A number is not finite, or the message is no text or has lone surrogates.
            Cancelled: The client has cancelled the call.

        Source: basic/patterns/progress.
        """
        self.raise_if_cancelled()
        # Before it is known whether anybody listens: what fails must not depend on that.
        number, whole = finite(progress), None if total is None else finite(total)
        if message is not None:
            check_texts("ctx.report_progress()", error=ValueError, message=message)
        if self._progress is not None:
            self._progress.report(number, whole, message)

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
        if self._progress is not None:
            self._progress.flush()

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
        return self._asking().conversation

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
        asking = self._asking()
        key = asking.key("elicitation") if key is None else key
        name = id or asking.once(f"elicitation id of {key}", new_elicitation_id)
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
        return self._asking().ask(requests)

    def check_question(self, request: InputRequest) -> None:
        """Refuse a question that the client has not declared to take.

        Raises:
            MissingCapability: It has not.
        """
        check_question(self._call, request)

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
        return self._asking().once(key, step)

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
        if self._interview is not None:
            self._interview.restart()

    def _asking(self) -> Interview:
        if self._interview is None:
            self._interview = Interview(self._call, open_conversation(self._call, self._sink, self.states))
        return self._interview

    def _ask_one(self, kind: str, key: str | None, request: InputRequest) -> Any:
        key = self._asking().key(kind) if key is None else key
        return self.ask({key: request})[key]

    # --- logs -------------------------------------------------------------------------------------

    def log(self, level: str, data: Any, logger: str | None = None) -> None:
        """Send a log message to the client, if it wants that level.

        Args:
            level: One of ``LEVELS``.
            data: Text, or any value with a JSON form. No secrets: the client may show it.
            logger: Name of its source; default: none.

        Raises:
            ValueError: The level does not exist.
            OutputError: ``data`` has no JSON form, or ``logger`` is no text or has lone surrogates.
            Cancelled: The client has cancelled the call.

        Source: server/utilities/logging.
        """
        self.raise_if_cancelled()
        # Before the level is asked for: what fails must not depend on who is listening.
        params: dict[str, Any] = {"level": level, "data": to_json(data)}
        if logger is not None:
            check_texts("ctx.log()", error=OutputError, logger=logger)
            params["logger"] = logger
        if not self.wants(level):
            return
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
