"""``python python_answers.py VISITS``, each ``URL MODE``: the official Python SDK, 2.x, answers all that is asked."""

from __future__ import annotations

from typing import Any

from mcp import Client
from mcp_types import CreateMessageResult, ElicitResult, ListRootsResult, Root, TextContent
from visits import make_visits


async def visit(url: str, mode: str) -> dict[str, Any]:
    """Call, read and prompt what asks."""
    progress: list[float] = []
    pages: list[str] = []

    async def on_progress(value: float, total: float | None, message: str | None) -> None:
        progress.append(value)

    async def on_elicit(context: Any, params: Any) -> ElicitResult:
        if params.mode == "url":
            pages.append(params.url)
            return ElicitResult(action="accept")
        return ElicitResult(action="accept", content={"word": "filled"})

    async def on_sample(context: Any, params: Any) -> CreateMessageResult:
        return CreateMessageResult(role="assistant", content=TextContent(text="sampled"), model="m")

    async def on_roots(context: Any) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri="file:///home")])

    callbacks: Any = {
        "elicitation_callback": on_elicit,
        "sampling_callback": on_sample,
        "list_roots_callback": on_roots,
    }
    async with Client(url, mode=mode, **callbacks) as client:
        result = await client.call_tool("everything", {}, progress_callback=on_progress)
        resource = await client.read_resource("site://word")
        prompt = await client.get_prompt("wordy", {})
        return {
            "text": result.content[0].text,
            "progress": progress,
            "pages": pages,
            "resource": resource.contents[0].text,
            "prompt": prompt.messages[0].content.text,
        }


if __name__ == "__main__":
    make_visits(visit)
