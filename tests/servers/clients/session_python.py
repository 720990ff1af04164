"""``python session_python.py VISITS``, each ``URL FOLDER NAME [poll]``: the official Python SDK, 2.x, in a session."""

from __future__ import annotations

import asyncio
from typing import Any

from mcp import Client
from session_steps import Steps
from visits import make_visits


async def cancel(call: asyncio.Task[Any]) -> None:
    """The client tells the server by itself."""
    call.cancel()


async def visit(url: str, folder: str, name: str, what: str = "") -> dict[str, Any]:
    """Take all steps, or only poll."""
    steps = Steps(folder, name)
    async with Client(url, mode="legacy", logging_callback=steps.on_log, message_handler=steps.on_message) as client:
        if what == "poll":
            return await steps.poll(client)
        return await steps.work(client, cancel)


if __name__ == "__main__":
    make_visits(visit)
