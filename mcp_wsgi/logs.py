"""The way from Python's ``logging`` to the client of the call during which a record is made."""

from __future__ import annotations

import logging
from typing import Any

from mcp_wsgi.context import current_context

__all__ = ["ContextLogHandler"]

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
        ctx = current_context()
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
