"""``python python_sdk_1.py VISITS``, each ``URL``: the official Python SDK, 1.x, which speaks the session era only."""

from __future__ import annotations

from typing import Any

from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client
from mcp.types import PromptReference
from pydantic import AnyUrl
from visits import make_visits


async def visit(url: str) -> dict[str, Any]:
    """List, call, read, prompt and complete."""
    progress: list[float] = []

    async def on_progress(value: float, total: float | None, message: str | None) -> None:
        progress.append(value)

    async with streamablehttp_client(url) as (read, write, _), ClientSession(read, write) as client:
        await client.initialize()
        tools = await client.list_tools()
        text = await client.call_tool("test_simple_text", {})
        failed = await client.call_tool("test_error_handling", {})
        await client.call_tool("test_tool_with_progress", {}, progress_callback=on_progress)
        resource = await client.read_resource(AnyUrl("test://static-text"))
        template = await client.read_resource(AnyUrl("test://template/123/data"))
        prompt = await client.get_prompt("test_prompt_with_arguments", {"arg1": "one", "arg2": "two"})
        completion = await client.complete(
            PromptReference(type="ref/prompt", name="test_prompt_with_arguments"), {"name": "arg1", "value": ""}
        )
        return {
            "tools": [tool.name for tool in tools.tools],
            "resources": [str(item.uri) for item in (await client.list_resources()).resources],
            "templates": [item.uriTemplate for item in (await client.list_resource_templates()).resourceTemplates],
            "prompts": [item.name for item in (await client.list_prompts()).prompts],
            "text": text.content[0].text,
            "failed": failed.isError,
            "progress": progress,
            "resource": resource.contents[0].text,
            "template": template.contents[0].text,
            "prompt": prompt.messages[0].content.text,
            "completion": completion.completion.values,
        }


if __name__ == "__main__":
    make_visits(visit)
