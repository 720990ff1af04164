"""``python python_approvals.py VISITS``, each ``URL MODE ORDER ANSWERS``: refunds by the official Python SDK, 2.x.

``ANSWERS`` is a list of the results that its user gives, in order; ``null``: it cannot be asked.
"""

from __future__ import annotations

from typing import Any

from mcp import Client, MCPError
from mcp_types import ElicitResult
from visits import make_visits


async def visit(url: str, mode: str, order: str, answers: list[dict[str, Any]] | None) -> dict[str, Any]:
    """Call ``refund`` once and ``ledger`` afterwards."""
    asked: list[str] = []

    async def on_elicit(context: Any, params: Any) -> ElicitResult:
        assert answers is not None
        asked.append(params.message)
        return ElicitResult(**answers[len(asked) - 1])

    async with Client(url, mode=mode, elicitation_callback=None if answers is None else on_elicit) as client:
        try:
            result = await client.call_tool("refund", {"order": order})
            failed, text = bool(result.is_error), result.content[0].text
        except MCPError as error:
            failed, text = error.error.code, error.error.message
        ledger = await client.call_tool("ledger", {})
        return {"asked": asked, "failed": failed, "text": text, "ledger": ledger.structured_content}


if __name__ == "__main__":
    make_visits(visit)
