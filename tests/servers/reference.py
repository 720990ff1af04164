"""``python -m tests.servers.reference PORT MODULE:ATTRIBUTE``: the standard library's WSGI server."""

from __future__ import annotations

import importlib
import sys
from wsgiref.simple_server import WSGIRequestHandler, make_server


class Quiet(WSGIRequestHandler):
    """Logs errors only."""

    def log_request(self, code: object = "-", size: object = "-") -> None:
        """Requests are not logged."""


if __name__ == "__main__":
    module, _, attribute = sys.argv[2].partition(":")
    application = getattr(importlib.import_module(module), attribute)
    make_server("127.0.0.1", int(sys.argv[1]), application, handler_class=Quiet).serve_forever()
