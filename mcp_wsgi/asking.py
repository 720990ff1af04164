"""Running the methods in which the client may be asked something, in either era.

In the session era a call asks while it runs, and a function that returns what it wants to know is run
again with the answers. In the modern era such a call ends with its questions, and its client calls again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from mcp_wsgi.call import Call
from mcp_wsgi.context import Context
from mcp_wsgi.errors import InputError, InternalError, MissingCapability
from mcp_wsgi.inputs import InputRequired, UrlElicitationRequired
from mcp_wsgi.jsonrpc import encode
from mcp_wsgi.methods import Method, Service, tool_failure
from mcp_wsgi.rounds import States
from mcp_wsgi.schema import to_json

__all__ = ["MAX_ROUNDS", "Asking"]

log = logging.getLogger("mcp_wsgi")

#: Most rounds of questions of one call in the session era.
MAX_ROUNDS = 64
#: What a request brings of earlier rounds.
_ROUND_PARAMS = frozenset({"inputResponses", "requestState"})

_STATES_ALONE = (
    "a client was asked something by a server of several processes without the option secret_key: the requestState "
    "that it brings back is refused by every process but this one. Set a secret_key that all processes share"
)


class Asking:
    """Runs methods whose callbacks may ask.

    Args:
        service: What the methods work with.
        shares_key: Returns whether each process that may be asked next can read this one's states.

    Attributes:
        states: Seals what a call in rounds has to remember; ``None``: there are no rounds.
    """

    def __init__(self, service: Service, *, shares_key: Callable[[], bool]) -> None:
        self._service = service
        self._shares_key = shares_key
        self._warned = False
        self.states: States | None = None

    def run(self, method: Method, call: Call, ctx: Context) -> bytes:
        """Make the result of a call, or what its client is asked first.

        Raises:
            MCPError: The call failed.
            Cancelled: It was cancelled.
        """
        ctx.states = self.states
        if call.revision.asks_in_results and not _ROUND_PARAMS.isdisjoint(call.params):
            ctx.conversation  # noqa: B018 - whose making refuses what is not valid here
        try:
            made = self._attempt(method, call, ctx)
            if isinstance(made, bytes):
                return made
            if call.revision.asks_in_results:
                return self._round(call, ctx, made)
            return self._bridged(method, call, ctx, made)
        except (InputError, MissingCapability) as error:
            return self._not_asked(call, error)

    def _attempt(self, method: Method, call: Call, ctx: Context) -> bytes | InputRequired:
        """Run a method once; returns its result, or what it wants to know first."""
        try:
            return method.run(self._service, call, ctx)
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
            return tool_failure(self._service, call, str(error))
        raise InternalError(str(error)) from None

    def _round(self, call: Call, ctx: Context, required: InputRequired) -> bytes:
        """End a round with what the client is asked. Source: basic/patterns/mrtr, "Server Requirements"."""
        for request in required.requests.values():
            ctx.check_question(request)
        if not (self._warned or self._shares_key()):
            self._warned = True
            log.warning(_STATES_ALONE)
        rounds: Any = ctx.conversation
        return encode(self._service.envelope.wrap_questions(call, rounds.result(required)))

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
