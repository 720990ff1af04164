"""What is a failure of the application, and what its client is told of one."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from mcp_wsgi.call import Call
from mcp_wsgi.errors import Cancelled, ConfigurationError, InternalError, MCPError, ResourceNotFound
from mcp_wsgi.excerpts import MAX_SENTENCE, quote_text, shorten
from mcp_wsgi.inputs import InputRequired
from mcp_wsgi.problems import quote
from mcp_wsgi.revisions import Revision

if TYPE_CHECKING:
    from typing_extensions import TypeIs

__all__ = ["Failures", "ends_process", "error_code", "is_failure", "is_for_client", "is_logged"]

log = logging.getLogger("mcp_wsgi")

# Codes of the protocol. Source: basic/index, "Error Codes".
_NOT_FOUND = -32002
_MCP_CODES = range(-32099, -32019)
_ASSIGNED = frozenset({-32020, -32021, -32022})


def is_for_client(error: BaseException) -> TypeIs[MCPError]:
    """Whether an exception is an answer to the client, and not a failure of the application."""
    return isinstance(error, MCPError) and not isinstance(error, ConfigurationError)


def is_failure(error: BaseException) -> bool:
    """Whether an exception is a failure of the application: all that are no answer and end no worker.

    ``sys.exit()`` and a time-out that is no ``Exception`` (gevent's) fail a callback like anything else.
    """
    return not (is_for_client(error) or isinstance(error, (Cancelled, InputRequired, KeyboardInterrupt)))


def ends_process(error: BaseException) -> bool:
    """Whether an exception says that the process is to end: what signals raise, which is in the main thread.

    Anything else that application code raises on a server's thread is a failure: let through, it would end
    the process or the thread with all its requests.
    """
    return isinstance(error, (KeyboardInterrupt, SystemExit)) and threading.current_thread() is threading.main_thread()


def is_logged(error: MCPError) -> bool:
    """Whether an error stands for a failure that has been logged with its traceback."""
    return isinstance(error, InternalError) and error.__cause__ is not None


def error_code(error: MCPError, revision: Revision) -> int:
    """The code of an error in a revision: one has changed over time, others must not be sent."""
    code = error.code
    if type(code) is not int:
        log.error("the error code %r of %s is no int", code, type(error).__name__)
        return InternalError.code
    if code == _NOT_FOUND or isinstance(error, ResourceNotFound):
        return revision.not_found_code
    if code in _MCP_CODES and revision.modern and code not in _ASSIGNED:
        log.error("the error code %d is reserved for MCP: %s", code, quote_text(str(error), MAX_SENTENCE))
        return InternalError.code
    return code


class Failures:
    """Tells developers everything of a failure, and clients little.

    Args:
        expose_errors: Whether clients may read the text of unexpected exceptions.
    """

    def __init__(self, *, expose_errors: bool) -> None:
        self._expose_errors = expose_errors

    def crash(self, call: Call, error: BaseException) -> InternalError:
        """Log an unexpected failure and make what the client is told of it."""
        log.error("%s failed, request id %s", call.method, quote(call.id), exc_info=error)
        return InternalError(self.text("Internal error", call, error))

    def text(self, what: str, call: Call, error: BaseException) -> str:
        """The client's words for an unexpected failure: the exception's own only if that was opted for."""
        if not self._expose_errors:
            return f"{what} (request id {shorten(str(call.id))})"
        try:
            return f"{what}: {type(error).__name__}: {error}"
        except Exception:  # noqa: BLE001 - its own __str__ failed
            return f"{what}: {type(error).__name__}"
