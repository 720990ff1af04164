"""The way into an application: finds the method of a call, runs it, and asks the handler what a session needs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from mcp_wsgi.asking import Asking
from mcp_wsgi.call import Call
from mcp_wsgi.context import Context, enter, leave
from mcp_wsgi.envelope import Envelope
from mcp_wsgi.errors import Cancelled, InternalError, MethodNotFound
from mcp_wsgi.failures import Failures, ends_process, is_failure, is_for_client
from mcp_wsgi.handler import Handler, InitParams
from mcp_wsgi.methods import ANNOUNCEMENTS, METHODS, Method
from mcp_wsgi.pages import Pages
from mcp_wsgi.revisions import Revision
from mcp_wsgi.sealing import Cursors
from mcp_wsgi.sink import SILENCE

__all__ = ["MAX_CHANNELS", "Dispatcher"]

log = logging.getLogger("mcp_wsgi")

T = TypeVar("T")

#: Most broadcast channels of one session.
MAX_CHANNELS = 1000
#: The context of a method that runs no application code, and so has nobody to show one to.
_NO_CONTEXT: Any = None


class Dispatcher:
    """Answers calls with a handler; the ``Service`` of the RPC table.

    Args:
        handler: The application.
        cursors: Makes and reads pagination cursors.
        page_size: Items on a page.
        cache_ttl: Seconds that results may be kept.
        cache_scope: ``private`` or ``public``.
        expose_errors: Whether clients may read the text of unexpected exceptions.

    Attributes:
        envelope: Finishes results.
        pages: Gives the pages of lists.
        failures: Tells of failures.
        asking: Runs what may ask the client.
        holds_streams: Whether the server can hold a stream open while it answers other requests.
        keeps_sessions: Whether there are sessions through which a client can be told of changes.
        shares_key: Whether each process that may be asked next can read this one's cursors and states.
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
        self.holds_streams = True
        self.keeps_sessions = False
        self.shares_key = True
        cacheable = [name for name, method in METHODS.items() if method.cacheable]
        self.envelope = Envelope(handler.server_info, cacheable, cache_ttl=cache_ttl, cache_scope=cache_scope)
        self.pages = Pages(handler, cursors, self.envelope, size=page_size, shares_key=lambda: self.shares_key)
        self.failures = Failures(expose_errors=expose_errors)
        self.asking = Asking(self, shares_key=lambda: self.shares_key)
        self._has_init = type(handler).init is not Handler.init

    # --- calls ------------------------------------------------------------------------------------

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
            except BaseException as error:
                if ends_process(error):
                    raise
                log.exception("features failed")
                raise InternalError from error
            if not offered or (method.pushes and method.feature not in self.announced(revision)):
                raise MethodNotFound(name)
        return method

    def ready(self, method: Method, call: Call) -> bytes | None:
        """The result, if it is at hand without a worker.

        Raises:
            MCPError: The call failed.
        """
        try:
            if method.list_kind is not None:
                return self.pages.kept(method.list_kind, call)
            return None if method.callback else method.run(self, call, _NO_CONTEXT)
        except BaseException as error:
            if is_for_client(error) or ends_process(error):
                raise
            raise self.failures.crash(call, error) from error

    def run(self, method: Method, call: Call, ctx: Context) -> bytes:
        """Make the result of a call that runs application code.

        Raises:
            MCPError: The call failed.
            Cancelled: It was cancelled.
        """
        token = enter(ctx)
        try:
            if self._has_init and method.callback and (call.session is None or not call.session.stateful):
                ctx.state = self._initial_state(call)
            ctx.may_ask = method.asks
            result = self.asking.run(method, call, ctx) if method.asks else method.run(self, call, ctx)
            ctx.flush()
        except BaseException as error:
            if not is_failure(error):
                raise
            ctx.crashed = True
            raise self.failures.crash(call, error) from error
        finally:
            leave(token)
        return result

    def _initial_state(self, call: Call) -> dict[str, Any]:
        """What ``Handler.init`` makes for this call."""
        state = self.handler.init(InitParams(call.revision, call.client.info, call.client.capabilities, call.principal))
        if not isinstance(state, dict):
            raise TypeError(f"init must return a dict, not {type(state).__name__}")
        return state

    # --- what a client is told of -----------------------------------------------------------------

    def announced(self, revision: Revision) -> frozenset[str]:
        """The features whose changes clients of a revision can be told of."""
        if not (self.holds_streams and (revision.listens or self.keeps_sessions)):
            return frozenset()
        return self.handler.features() & ANNOUNCEMENTS.keys()

    def subscribable(self, uris: Iterable[str], call: Call) -> frozenset[str]:
        """The URIs whose changes the caller may be told of.

        Raises:
            MCPError: The handler failed to say.
        """
        may_subscribe = self.handler.may_subscribe
        return self._consulted(call, {}, lambda ctx: frozenset(uri for uri in uris if may_subscribe(uri, ctx)))

    def channels(self, call: Call, state: dict[str, Any]) -> frozenset[str]:
        """The broadcast channels that the caller listens to.

        Args:
            state: The session's state, for the handler to look at.

        Raises:
            MCPError: The handler failed to say.
        """
        return self._consulted(call, state, lambda ctx: _channels(self.handler.channels(ctx)))

    def _consulted(self, call: Call, state: dict[str, Any], question: Callable[[Context], T]) -> T:
        """What the handler says to a question of ours, which is no call of a client's."""
        ctx = Context(call, SILENCE, state)
        token = enter(ctx)
        try:
            return question(ctx)
        except BaseException as error:
            # Nobody can be asked here, and on a server's thread nothing may get past the endpoint.
            if is_for_client(error) or isinstance(error, Cancelled) or ends_process(error):
                raise
            raise self.failures.crash(call, error) from error
        finally:
            leave(token)

    # --- the end of a session ---------------------------------------------------------------------

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
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and ends_process(error):
                raise
            log.exception("terminate failed")
        finally:
            leave(token)


def _channels(given: Iterable[str]) -> frozenset[str]:
    channels = frozenset() if isinstance(given, str) else frozenset(given)
    if isinstance(given, str) or not all(isinstance(channel, str) for channel in channels):
        raise TypeError("channels must return a list of texts")
    if len(channels) > MAX_CHANNELS:
        raise ValueError(f"channels may return {MAX_CHANNELS} names, not {len(channels)}")
    return channels
