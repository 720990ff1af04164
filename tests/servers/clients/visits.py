"""``python PROGRAM VISITS``: a JSON list that has a list of arguments for each visit; they are made one by one.

The last line that is printed is a JSON list of what came of each: an object, whose ``raised`` is a traceback if the
visit failed.
"""

from __future__ import annotations

import asyncio
import json
import sys
import traceback
from collections.abc import Awaitable, Callable
from typing import Any

SECONDS = 50

#: Makes one visit, with a client and an event loop of its own; returns what it saw.
Visit = Callable[..., Awaitable[dict[str, Any]]]


def make_visits(visit: Visit) -> None:
    """Make all visits; one that fails or takes too long spares the others."""
    print(json.dumps([_seen(visit, arguments) for arguments in json.loads(sys.argv[1])]))


def _seen(visit: Visit, arguments: list[Any]) -> dict[str, Any]:
    try:
        return asyncio.run(asyncio.wait_for(visit(*arguments), SECONDS))
    except Exception:  # noqa: BLE001 (whatever a client raises)
        return {"raised": traceback.format_exc()}
