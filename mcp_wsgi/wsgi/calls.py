"""How an endpoint runs a call: inline if its result is at hand, else in a worker behind an exchange."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from mcp_wsgi.context import Call, Context
from mcp_wsgi.errors import Cancelled, InternalError, InvalidEnvelope, MCPError
from mcp_wsgi.exchange import Answer, Clock, Exchange
from mcp_wsgi.jsonrpc import Id, encode_error, encode_result
from mcp_wsgi.methods import Dispatcher, Method
from mcp_wsgi.options import Options
from mcp_wsgi.workers import Crew
from mcp_wsgi.wsgi.headers import Accepted
from mcp_wsgi.wsgi.http import HttpReply
from mcp_wsgi.wsgi.replies import answer_reply, stream_reply

__all__ = ["Calls", "progress_token"]

log = logging.getLogger("mcp_wsgi")


class Calls:
    """Runs calls for one endpoint.

    Args:
        dispatcher: Makes results.
        options: Limits and times.
        crew: Returns what workers run in.
        clock: Monotonic seconds.
        status: JSON-RPC error code -> HTTP status of an answer to a request.
        cancel_on_close: Whether a client that goes away cancels its call.
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
    ) -> None:
        self._dispatcher = dispatcher
        self._options = options
        self._crew = crew
        self._clock = clock
        self._status = status
        self._cancel_on_close = cancel_on_close

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
        )

    def in_worker(self, work: Callable[[Exchange], Answer], late: Callable[[], Answer], accept: Accepted) -> HttpReply:
        """Run ``work`` in a worker and reply with what it gives, as JSON or as a stream.

        Args:
            work: Makes the answer; never raises.
            late: Makes the answer at the deadline.
            accept: What the client takes.

        Raises:
            Overloaded: Too many calls are running.
        """
        exchange = Exchange(self._crew(), self._options, self._clock, streaming=accept.sse, late=late)
        exchange.start(work)
        answer = exchange.first()
        if answer is None:
            return stream_reply(exchange.messages(), partial(exchange.leave, cancel=self._cancel_on_close))
        return answer_reply(answer, as_json=accept.json)

    def answer(self, method: Method, call: Call, exchange: Exchange) -> Answer:
        """Run a call to its end in the present worker; never raises but at the process's own end."""
        try:
            result = self._dispatcher.run(method, call, Context(call, exchange))
            return Answer(encode_result(call.id, result))
        except MCPError as error:
            return self.failure(call, error)
        except Cancelled:
            return self.failure(call, InternalError("Cancelled"))
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and not self._crew().concurrent:
                raise  # on the caller's own thread it is the user's wish to end the process
            # Whatever ends a worker from outside must still free its caller.
            return self.failure(call, self._dispatcher.crash(call, error))

    def failure(self, call: Call, error: MCPError) -> Answer:
        """The answer that an error makes."""
        code = self._dispatcher.error_code(error, call.revision)
        return Answer(encode_error(call.id, error, code=code), self._status(code))

    def _late(self, call: Call) -> Answer:
        log.warning("%s missed its deadline, request id %r", call.method, call.id)
        return self.failure(call, InternalError(f"The call took too long (request id {call.id})"))


def progress_token(meta: dict[str, Any]) -> Id | None:
    """The token in a request's ``_meta``.

    Raises:
        InvalidEnvelope: It is neither a string nor an integer.

    Source: basic/patterns/progress, "Progress Flow".
    """
    token = meta.get("progressToken")
    if token is None or type(token) is str or type(token) is int:
        return token
    raise InvalidEnvelope('Invalid params: "_meta.progressToken" must be a string or an integer')
