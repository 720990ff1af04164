"""A dispatcher on its own, without a transport or a worker."""

from __future__ import annotations

import json
from typing import Any

from mcp_wsgi import Context, Handler
from mcp_wsgi.call import Call
from mcp_wsgi.dispatcher import Dispatcher
from mcp_wsgi.revisions import LEGACY, MODERN, Revision
from mcp_wsgi.sealing import Cursors, Sealer
from tests.contexts import Heard
from tests.spec.kit import CALLS, everything

__all__ = ["NEW", "OLD", "dispatcher", "run"]

NEW, OLD = MODERN[0], LEGACY[0]


def dispatcher(handler: Handler | None = None, **options: Any) -> Dispatcher:
    given: dict[str, Any] = {"page_size": 50, "cache_ttl": 0.0, "cache_scope": "private", "expose_errors": False}
    return Dispatcher(handler or everything(), Cursors(Sealer([b"k" * 16], salt="test")), **{**given, **options})


def run(made: Dispatcher, method: str, params: dict[str, Any] | None = None, revision: Revision = NEW) -> Any:
    """The result of a call, as it was decoded from its bytes."""
    call = Call(method, params if params is not None else dict(CALLS.get(method, {})), 1, revision)
    row = made.find(method, revision)
    found = made.ready(row, call)
    return json.loads(found if found is not None else made.run(row, call, Context(call, Heard())))
