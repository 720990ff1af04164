"""The ceiling: a WSGI application that reads a JSON-RPC body and answers in a fixed shape, no more.

``BENCH_LIST`` names a file with the result object that ``tools/list`` answers, so that both servers
send the same bytes.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

LIST = Path(os.environ["BENCH_LIST"]).read_bytes() if "BENCH_LIST" in os.environ else b'{"tools":[]}'


def application(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    """Answer ``tools/call echo``, ``tools/call add`` and ``tools/list``."""
    message = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
    if message["method"] == "tools/list":
        body = b'{"jsonrpc":"2.0","id":%d,"result":%b}' % (message["id"], LIST)
    else:
        arguments = message["params"]["arguments"]
        if message["params"]["name"] == "add":
            value: Any = {"sum": arguments["a"] + arguments["b"]}
            text = json.dumps(value)
        else:
            value = {"result": arguments["text"]}
            text = arguments["text"]
        result = {"content": [{"type": "text", "text": text}], "structuredContent": value, "isError": False}
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
    return [body]
