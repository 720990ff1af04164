"""``python python_sdk.py VISITS``, each ``URL MODE``: the official Python SDK, 2.x.

``MODE`` is ``legacy``, ``auto`` or a revision.
"""

from __future__ import annotations

from typing import Any

from mcp import Client
from mcp_types import PromptReference
from visits import make_visits


async def visit(url: str, mode: str) -> dict[str, Any]:
    """List, call, read, prompt and complete."""
    progress: list[float] = []
    logs: list[Any] = []

    async def on_progress(value: float, total: float | None, message: str | None) -> None:
        progress.append(value)

    async def on_log(params: Any) -> None:
        logs.append(params.data)

    async with Client(url, mode=mode, logging_callback=on_log) as client:
        tools = await client.list_tools()
        text = await client.call_tool("test_simple_text", {})
        failed = await client.call_tool("test_error_handling", {})
        await client.call_tool("test_tool_with_progress", {}, progress_callback=on_progress)
        resource = await client.read_resource("test://static-text")
        template = await client.read_resource("test://template/123/data")
        prompt = await client.get_prompt("test_prompt_with_arguments", {"arg1": "one", "arg2": "two"})
        completion = await client.complete(
            PromptReference(name="test_prompt_with_arguments"), {"name": "arg1", "value": ""}
        )
        return {
            "tools": [tool.name for tool in tools.tools],
            "resources": [str(item.uri) for item in (await client.list_resources()).resources],
            "templates": [item.uri_template for item in (await client.list_resource_templates()).resource_templates],
            "prompts": [item.name for item in (await client.list_prompts()).prompts],
            "text": text.content[0].text,
            "failed": failed.is_error,
            "progress": progress,
            "resource": resource.contents[0].text,
            "template": template.contents[0].text,
            "prompt": prompt.messages[0].content.text,
            "completion": completion.completion.values,
        }


if __name__ == "__main__":
    make_visits(visit)
