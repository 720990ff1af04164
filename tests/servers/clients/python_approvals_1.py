"""``python python_approvals_1.py VISITS``, each ``URL ORDER ANSWERS``: the official Python SDK, 1.x, does the same."""

from __future__ import annotations

from typing import Any

from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client
from mcp.types import ElicitResult
from visits import make_visits


async def visit(url: str, order: str, answers: list[dict[str, Any]] | None) -> dict[str, Any]:
    """Call ``refund`` once and ``ledger`` afterwards."""
    asked: list[str] = []

    async def on_elicit(context: Any, params: Any) -> ElicitResult:
        assert answers is not None
        asked.append(params.message)
        return ElicitResult(**answers[len(asked) - 1])

    callback = None if answers is None else on_elicit
    async with (
        streamablehttp_client(url) as (read, write, _),
        ClientSession(read, write, elicitation_callback=callback) as client,
    ):
        await client.initialize()
        result = await client.call_tool("refund", {"order": order})
        ledger = await client.call_tool("ledger", {})
        return {
            "asked": asked,
            "failed": bool(result.isError),
            "text": result.content[0].text,
            "ledger": ledger.structuredContent,
        }


if __name__ == "__main__":
    make_visits(visit)
