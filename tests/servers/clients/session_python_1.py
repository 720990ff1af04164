"""``python session_python_1.py VISITS``, each ``URL FOLDER NAME [poll]``: the Python SDK, 1.x, in a session."""

from __future__ import annotations

import asyncio
from typing import Any

from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client
from mcp.types import CancelledNotification, CancelledNotificationParams, ClientNotification
from pydantic import AnyUrl
from session_steps import Steps
from visits import make_visits


async def visit(url: str, folder: str, name: str, what: str = "") -> dict[str, Any]:
    """Take all steps, or only poll."""
    steps = Steps(folder, name)
    async with (
        streamablehttp_client(url) as (read, write, _),
        ClientSession(read, write, logging_callback=steps.on_log, message_handler=steps.on_message) as client,
    ):

        async def cancel(call: asyncio.Task[Any]) -> None:
            # This client tells nobody by itself.
            params = CancelledNotificationParams(requestId=client._request_id - 1)
            notification = CancelledNotification(method="notifications/cancelled", params=params)
            await client.send_notification(ClientNotification(notification))

        await client.initialize()
        if what == "poll":
            return await steps.poll(client)
        return await steps.work(client, cancel, AnyUrl)


if __name__ == "__main__":
    make_visits(visit)
