"""What a benchmark asks of the process that it measures, on paths beside the endpoint."""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from greenlet import greenlet

STATE = "/bench/state"
TELL = "/bench/tell/"


def controlled(application: Any, tell: Mapping[str, Callable[[], int]]) -> Any:
    """Let ``STATE`` answer with the state of the process, and ``TELL`` and a name call that function.

    Args:
        application: Answers all other requests.
        tell: Each sends one message to many clients and returns how many it reached.
    """

    def answer(environ: dict[str, Any], start_response: Any) -> Any:
        path = environ["PATH_INFO"]
        if path == STATE:
            body = json.dumps(state()).encode()
        elif path.startswith(TELL):
            body = json.dumps(tell[path.removeprefix(TELL)]()).encode()
        else:
            return application(environ, start_response)
        start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
        return [body]

    return answer


def state() -> dict[str, float]:
    """Resident KiB, blocks of memory in use and greenlets alive, without what is garbage already; and processor time.

    The time until now is ``asked``; with what it took to find the rest out it is ``answered``.
    """
    asked = time.process_time()
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    greenlets = sum(isinstance(each, greenlet) and not each.dead for each in gc.get_objects())
    return {
        "resident": pages * os.sysconf("SC_PAGE_SIZE") // 1024,
        "blocks": sys.getallocatedblocks(),
        "greenlets": greenlets,
        "asked": asked,
        "answered": time.process_time(),
    }
