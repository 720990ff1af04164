"""How an endpoint runs a call: inline if its result is at hand, else in a worker behind an exchange."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from mcp_wsgi.call import Call
from mcp_wsgi.context import Context
from mcp_wsgi.dispatcher import Dispatcher
from mcp_wsgi.errors import Cancelled, InternalError, InvalidEnvelope, MCPError, Overloaded
from mcp_wsgi.excerpts import MAX_SENTENCE, quote_text, shorten
from mcp_wsgi.exchange import NO_ANSWER, Answer, Clock, Exchange
from mcp_wsgi.failures import error_code, is_logged
from mcp_wsgi.jsonrpc import Id, encode_error, encode_result
from mcp_wsgi.keeper import Session
from mcp_wsgi.methods import Method
from mcp_wsgi.options import Options
from mcp_wsgi.problems import quote
from mcp_wsgi.questions import Questions
from mcp_wsgi.recording import RecordedExchange
from mcp_wsgi.turns import NOT_BEHIND, Turn
from mcp_wsgi.workers import Crew
from mcp_wsgi.wsgi.headers import Accepted
from mcp_wsgi.wsgi.http import HttpReply
from mcp_wsgi.wsgi.replies import answer_reply, stream_reply

__all__ = ["MAX_TOKEN", "Calls", "progress_token"]

log = logging.getLogger("mcp_wsgi")

#: Most characters of a progress token, which each report repeats.
MAX_TOKEN = 1024

#: Makes the answer of a call in the worker that it is given to.
Work = Callable[[Exchange], Answer]
#: Makes the answer that tells of an error.
Failed = Callable[[MCPError], Answer]


class Calls:
    """Runs calls for one endpoint.

    Args:
        dispatcher: Makes results.
        options: Limits and times.
        crew: Returns what workers run in.
        clock: Monotonic seconds.
        status: JSON-RPC error code -> HTTP status of an answer to a request.
        cancel_on_close: Whether a client that goes away cancels its call.
        questions: Returns where questions to clients wait for answers; ``None``: there are none.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        options: Options,
        crew: Callable[[], Crew],
        clock: Clock,
        *,
        status: Callable[[int], int],
        cancel_on_close: bool,
        questions: Callable[[], Questions | None],
    ) -> None:
        self._dispatcher = dispatcher
        self._options = options
        self._crew = crew
        self._clock = clock
        self._status = status
        self._cancel_on_close = cancel_on_close
        self._questions = questions
        self._running: set[Exchange] = set()
        # What a client whose session is not stored can cancel in this process: its calls by owner and id.
        self._named: dict[tuple[Id | None, ...], Exchange] = {}

    def serve(self, method: Method, call: Call, accept: Accepted) -> HttpReply:
        """Answer one request.

        Raises:
            Overloaded: Too many calls are running.
        """
        try:
            ready = self._dispatcher.ready(method, call)
        except MCPError as error:
            return answer_reply(self.failure(call, error), as_json=accept.json)
        if ready is not None:
            self._crew().pause()
            return answer_reply(Answer(encode_result(call.id, ready)), as_json=accept.json)
        return self.in_worker(
            lambda exchange: self.answer(method, call, exchange),
            lambda: self._late(call),
            accept,
            None if call.session is None else (*call.owner(), call.id),
        )

    def in_worker(
        self,
        work: Work,
        late: Callable[[], Answer],
        accept: Accepted,
        name: tuple[Id | None, ...] | None = None,
    ) -> HttpReply:
        """Run ``work`` in a worker and reply with what it gives, as JSON or as a stream.

        Args:
            work: Makes the answer; never raises.
            late: Makes the answer at the deadline.
            accept: What the client takes.
            name: What ``cancel`` knows it by; ``None``: it cannot be cancelled so.

        Raises:
            Overloaded: Too many calls are running.
        """
        exchange = Exchange(
            self._crew(), self._options, self._clock, streaming=accept.sse, late=late, questions=self._questions()
        )
        self._start(exchange, work, name)
        answer = exchange.first()
        if answer is None:
            return stream_reply(exchange.messages(), partial(exchange.leave, cancel=self._cancel_on_close))
        return answer_reply(answer, as_json=accept.json)

    def _start(self, exchange: Exchange, work: Work, name: tuple[Id | None, ...] | None = None) -> None:
        running, named = self._running, self._named

        def forget() -> None:
            running.discard(exchange)
            if name is not None and named.get(name) is exchange:
                named.pop(name, None)

        def counted(exchange: Exchange) -> Answer:
            try:
                return work(exchange)
            finally:
                forget()

        running.add(exchange)
        if name is not None:
            # A client may use an id twice, though it must not: the first keeps it.
            named.setdefault(name, exchange)
        try:
            exchange.start(counted)
        except BaseException:
            forget()
            raise

    def cancel(self, owner: tuple[str | None, ...], identity: Any) -> None:
        """Stop a call of this process whose session is not stored, if there is one.

        Args:
            owner: As of ``Call.owner``.
            identity: The id of its request, as the client says.
        """
        if type(identity) is str or type(identity) is int:
            exchange = self._named.get((*owner, identity))
            if exchange is not None:
                exchange.withdraw()

    def stop(self) -> None:
        """Cancel all calls that are running but those of sessions, whose end does that and tells their callers."""
        for exchange in tuple(self._running):
            if not isinstance(exchange, RecordedExchange):
                exchange.stop()

    def answer(self, method: Method, call: Call, exchange: Exchange) -> Answer:
        """Run a call to its end in the present worker; never raises but at the process's own end."""
        return self._guarded(call, lambda: self._run(method, call, Context(call, exchange)))

    def _run(self, method: Method, call: Call, ctx: Context) -> Answer:
        return Answer(encode_result(call.id, self._dispatcher.run(method, call, ctx)))

    def _guarded(self, call: Call, run: Callable[[], Answer]) -> Answer:
        try:
            return run()
        except MCPError as error:
            return self.failure(call, error)
        except Cancelled:
            # Whoever cancelled it has been answered, or wants no answer.
            return self._telling(call, InternalError("Cancelled"))
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and not self._crew().concurrent:
                raise  # on the caller's own thread it is the user's wish to end the process
            # Whatever ends a worker from outside must still free its caller.
            return self._crashed(call, error)

    def failure(self, call: Call, error: MCPError) -> Answer:
        """The answer that an error makes, which is logged unless what has failed was."""
        try:
            if not is_logged(error):
                told = quote_text(str(error), MAX_SENTENCE)
                log.info("%s is answered with an error, request id %s: %s", call.method, quote(call.id), told)
            return self._telling(call, error)
        except Exception as problem:  # noqa: BLE001 - an error of the application's own cannot tell of itself
            return self._crashed(call, problem)

    def _crashed(self, call: Call, error: BaseException) -> Answer:
        return self._telling(call, self._dispatcher.failures.crash(call, error))

    def _telling(self, call: Call, error: MCPError) -> Answer:
        code = error_code(error, call.revision)
        return Answer(encode_error(call.id, error, code=code), self._status(code), ok=False)

    def _late(self, call: Call) -> Answer:
        log.warning("%s missed its deadline, request id %s", call.method, quote(call.id))
        return self._telling(call, InternalError(f"The call took too long (request id {shorten(str(call.id))})"))

    # --- sessions ---------------------------------------------------------------------------------

    def opening(
        self, method: Method, call: Call, accept: Accepted, keep: Callable[[dict[str, Any], frozenset[str]], str]
    ) -> tuple[HttpReply, str | None]:
        """Answer an ``initialize`` that opens a session.

        Args:
            keep: Opens it, with the first state and the broadcast channels; returns its id.

        Returns:
            The reply, and the session's id; ``None`` if the answer is an error.

        Raises:
            Overloaded: Too many calls are running, or sessions are open.
        """
        made: list[tuple[dict[str, Any], frozenset[str]]] = []

        def run(exchange: Exchange) -> Answer:
            ctx = Context(call, exchange)
            answer = self._run(method, call, ctx)
            made.append((ctx.state, self._dispatcher.channels(call, ctx.state)))
            return answer

        # The answer's header names the session, so it must not begin before there is one.
        exchange = Exchange(self._crew(), self._options, self._clock, streaming=False, late=lambda: self._late(call))
        self._start(exchange, lambda exchange: self._guarded(call, lambda: run(exchange)))
        answer = exchange.first() or self._late(call)  # never None, as nothing streams
        session_id = None
        if answer.ok:
            try:
                session_id = keep(*made[0])
            except MCPError:
                raise
            except Exception as error:  # noqa: BLE001 - a state that cannot be copied, or a store that failed
                answer = self._crashed(call, error)
        return answer_reply(answer, as_json=accept.json), session_id

    def in_session(self, method: Method, call: Call, accept: Accepted, session: Session) -> HttpReply:
        """Answer one request of a stored session, in its turn; see ``serve``.

        A call with a progress token waits for nobody, and what it changes is not kept.

        Raises:
            Overloaded: Too many calls are running, or wait in this session.
            InvalidRequest: A call with this id is running.
            SessionNotFound: The session has ended meanwhile.
        """
        session.hold()
        try:
            ready = self._dispatcher.ready(method, call)
        except MCPError as error:
            session.release()
            return answer_reply(self.failure(call, error), as_json=accept.json)
        except BaseException:
            session.release()
            raise
        if ready is not None:
            session.release()
            self._crew().pause()
            return answer_reply(Answer(encode_result(call.id, ready)), as_json=accept.json)
        buffered = call.progress_token is None

        def work(exchange: Exchange) -> Answer:
            return self.answer_in(session, method, call, exchange, keep=buffered)

        return self._seated(
            work,
            (call.id,),
            accept,
            session,
            buffered=buffered,
            late=lambda: self._late(call),
            failed=lambda error: self.failure(call, error),
        )

    def batch_in_session(
        self,
        work: Work,
        ids: Sequence[Id],
        accept: Accepted,
        session: Session,
        *,
        late: Callable[[], Answer],
        failed: Failed,
    ) -> HttpReply:
        """Answer a batch of requests of a stored session, in its turn.

        Raises:
            Overloaded: Too many calls are running, or wait in this session.
            InvalidRequest: A call with one of these ids is running, or two in the batch have the same.
            SessionNotFound: The session has ended meanwhile.
        """
        session.hold()
        return self._seated(work, ids, accept, session, buffered=True, late=late, failed=failed)

    def answer_in(self, session: Session, method: Method, call: Call, exchange: Exchange, *, keep: bool) -> Answer:
        """Run a call of a stored session to its end in the present worker, on a copy of its state.

        Args:
            keep: Whether what it changes is kept, unless it crashes or is cancelled.
        """

        def run() -> Answer:
            ctx = Context(call, exchange, session.load())
            try:
                return self._run(method, call, ctx)
            finally:
                # Also after an error that is a reply; a crash or a cancel may have come half-way.
                if keep and not (ctx.crashed or exchange.cancelled):
                    session.save(ctx.state)

        return self._guarded(call, run)

    def _seated(
        self,
        work: Work,
        ids: Sequence[Id],
        accept: Accepted,
        session: Session,
        *,
        buffered: bool,
        late: Callable[[], Answer],
        failed: Failed,
    ) -> HttpReply:
        """Run ``work`` in a session that is held, with a place in its queue if it is buffered."""
        crew = self._crew()
        try:
            seat = _Seat(session)
        except BaseException:
            session.release()
            raise

        def given_up() -> Answer:
            seat.let_go()
            return late()

        recorded = RecordedExchange(
            crew,
            self._options,
            self._clock,
            streaming=accept.sse,
            late=given_up,
            log=lambda: seat.live.log,
            polls=session.revision.polls,
            holds=self._dispatcher.holds_streams,
            failed=failed,
            withdraw=seat.withdraw,
            questions=self._questions(),
            stay_alone=seat.stay_alone if crew.kind == "threads" else None,
        )

        def in_turn(exchange: Exchange) -> Answer:
            try:
                in_time = seat.wait(self._options.request_timeout)
                if recorded.answered:
                    return NO_ANSWER  # its turn came too late, or not at all
                if in_time:
                    return work(exchange)
                return failed(Overloaded(NOT_BEHIND)) if seat.sent_away else late()
            except Cancelled:  # while it waited
                return failed(InternalError("Cancelled"))
            finally:
                seat.leave()

        try:
            seat.take(ids, recorded, crew, buffered=buffered)
            self._start(recorded, in_turn)
        except BaseException:
            seat.leave()
            raise
        answer = recorded.first()
        if answer is None:
            return stream_reply(recorded.messages(), recorded.leave, self._options.stream_retry)
        return answer_reply(answer, as_json=accept.json)


class _Seat:
    """The place that one POST has in its session, from its arrival until its callback is through.

    Args:
        session: A session that is held; ``leave`` releases it.

    Raises:
        SessionNotFound: It has ended meanwhile.
    """

    __slots__ = ("_held", "_ids", "_left", "_session", "_turn", "live")

    def __init__(self, session: Session) -> None:
        self._session = session
        self.live = session.live
        self._ids: list[Id] = []
        self._turn: Turn | None = None
        self._left = False
        self._held = [None]  # taken out in one step

    def take(self, ids: Sequence[Id], exchange: RecordedExchange, crew: Crew, *, buffered: bool) -> None:
        """Register the calls, and queue up if they are buffered.

        Raises:
            Overloaded: The queue is full.
            InvalidRequest: A call with such an id is running.
            SessionNotFound: The session has ended meanwhile.
        """
        for identity in ids:
            self.live.register(identity, exchange)
            self._ids.append(identity)
        if buffered:
            self._turn = self.live.turns.join(crew.event)

    def wait(self, timeout: float) -> bool:
        """Whether its turn has come within ``timeout`` seconds."""
        return self._turn is None or self._turn.wait(timeout)

    @property
    def sent_away(self) -> bool:
        """Whether the call before it waits for its client, so that nobody may wait behind it."""
        return self._turn is not None and self._turn.sent_away

    def stay_alone(self, alone: bool) -> None:
        """Let nobody wait behind this call; see ``Turn.stay_alone``."""
        if self._turn is not None:
            self._turn.stay_alone(alone)

    def withdraw(self) -> None:
        """Give the place up if the call has not begun."""
        if self._turn is not None:
            self._turn.withdraw()

    def leave(self) -> None:
        """The callback is through: the next one has its turn."""
        if self._left:
            return
        self._left = True
        for identity in self._ids:
            self.live.forget(identity)
        if self._turn is not None:
            self._turn.leave()
        self.let_go()

    def let_go(self) -> None:
        """Keep the session alive no longer: its caller waits for this call no more."""
        try:
            self._held.pop()
        except IndexError:
            return
        self._session.release()


def progress_token(meta: dict[str, Any]) -> Id | None:
    """The token in a request's ``_meta``.

    Raises:
        InvalidEnvelope: It is neither a string nor an integer.

    Source: basic/patterns/progress, "Progress Flow".
    """
    token = meta.get("progressToken")
    if token is None or type(token) is int or (type(token) is str and len(token) <= MAX_TOKEN):
        return token
    raise InvalidEnvelope(
        f'Invalid params: "_meta.progressToken" must be an integer or a string of at most {MAX_TOKEN} characters'
    )
