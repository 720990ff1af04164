"""What both Python clients do in a session: stream, log, hear of changes, cancel and resume.

Works through the tools of ``session_site``, which wait for files and leave files behind.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

SECONDS = 30

LIST_CHANGED = "notifications/tools/list_changed"
CLOCK = "site://clock"

#: Ends the call that this task waits for.
Cancel = Callable[["asyncio.Task[Any]"], Awaitable[None]]


class Steps:
    """One visit, and what has come unasked.

    Args:
        folder: Where the files of the tools are.
        name: The name that these begin with.
    """

    def __init__(self, folder: str, name: str) -> None:
        self._files = Path(folder)
        self._name = name
        self._logs: list[Any] = []
        self._heard: list[str] = []

    async def on_log(self, params: Any) -> None:
        """A log message has come."""
        self._logs.append(params.data)

    async def on_message(self, message: Any) -> None:
        """Something has come; of interest are changes."""
        notification = getattr(message, "root", message)
        method = getattr(notification, "method", "")
        if method == LIST_CHANGED:
            self._heard.append(method)
        elif method == "notifications/resources/updated":
            self._heard.append(str(notification.params.uri))

    async def poll(self, client: Any) -> dict[str, Any]:
        """Call the tool that waits for a client that comes back."""
        answer = await client.call_tool("polled", {"times": 3})
        return {"polled": answer.content[0].text}

    async def work(self, client: Any, cancel: Cancel, address: Callable[[str], Any] = str) -> dict[str, Any]:
        """Take all steps; returns what came of each."""
        name = self._name

        async def tool(tool: str, **arguments: Any) -> Any:
            return (await client.call_tool(tool, arguments)).content[0].text

        return {
            "session": await tool("session"),
            **await self._stream(client),
            "usual": await self._logged(tool, 2),
            "severe": [await client.set_logging_level("error"), *await self._logged(tool, 1)][1:],
            "tools": await self._grow(client, tool),
            "heard": await self._subscribe(client, tool, address(CLOCK)),
            "cancelled": await self._cancel(client, cancel),
            **await self._resume(client, name),
        }

    async def _stream(self, client: Any) -> dict[str, Any]:
        progress: list[float] = []

        async def on_progress(value: float, total: float | None, message: str | None) -> None:
            progress.append(value)
            # A stage goes on only when what it sent is here.
            await _until(lambda: f"at {value:.0f}" in self._logs, "the log message")
            (self._files / f"{self._name}.{value:.0f}.go").touch()

        answer = await client.call_tool("staged", {"name": self._name}, progress_callback=on_progress)
        return {"staged": answer.content[0].text, "progress": progress, "staging": self._taken()}

    async def _logged(self, tool: Callable[[str], Awaitable[Any]], count: int) -> list[Any]:
        await tool("levels")
        await _until(lambda: len(self._logs) >= count, "log messages")
        return self._taken()

    def _taken(self) -> list[Any]:
        taken, self._logs = self._logs, []
        return taken

    async def _grow(self, client: Any, tool: Callable[..., Awaitable[Any]]) -> list[str]:
        await tool("grow", name=f"{self._name}-1")
        await _until(lambda: self._heard == [LIST_CHANGED], "list_changed")
        return [item.name for item in (await client.list_tools()).tools]

    async def _subscribe(self, client: Any, tool: Callable[..., Awaitable[Any]], address: Any) -> list[str]:
        await client.subscribe_resource(address)
        await tool("change", uri=CLOCK)
        await _until(lambda: CLOCK in self._heard, "updated")
        await client.unsubscribe_resource(address)
        await tool("change", uri=CLOCK)
        # What comes behind it shows that nothing came.
        await tool("grow", name=f"{self._name}-2")
        await _until(lambda: self._heard.count(LIST_CHANGED) == 2, "list_changed again")
        return self._heard

    async def _cancel(self, client: Any, cancel: Cancel) -> str:
        call = asyncio.create_task(client.call_tool("slow", {"name": self._name}))
        await _until((self._files / f"{self._name}.started").exists, "the slow tool")
        await cancel(call)
        await _until((self._files / f"{self._name}.ended").exists, "its end")
        call.cancel()
        (outcome,) = await asyncio.gather(call, return_exceptions=True)
        return "cancelled" if isinstance(outcome, asyncio.CancelledError) else repr(outcome)

    async def _resume(self, client: Any, name: str) -> dict[str, Any]:
        progress: list[float] = []

        async def on_progress(value: float, total: float | None, message: str | None) -> None:
            progress.append(value)

        answer = await client.call_tool("counting", {"name": name, "count": 20}, progress_callback=on_progress)
        return {"resumed": progress, "counting": answer.content[0].text}


async def _until(condition: Callable[[], bool], what: str) -> None:
    for _ in range(SECONDS * 100):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise TimeoutError(what)
