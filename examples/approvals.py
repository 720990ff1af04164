"""A shop whose refunds a person approves: one ordinary function asks, whatever era its client speaks.

    mcp-wsgi serve examples/approvals.py:application
    gunicorn -k gevent examples.approvals:application

Orders and cases are in memory. Sessions are, too, so that clients of the session era can be asked: one process.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import Annotated, Any, Literal

from msgspec import Meta

from mcp_wsgi import Context, MCPServer, ToolError

mcp = MCPServer(
    "approvals",
    version="1.0",
    title="Shop with approvals",
    instructions="Refunds are approved by a person; say what the order is about before you ask for one.",
)

ORDERS = {"1001": 25.0, "1002": 480.0}
#: What was asked for, in order.
cases: list[str] = []
#: What was paid back, by order.
refunded: dict[str, float] = {}
_lock = Lock()


@dataclass
class Approval:
    """What a person decides about a refund."""

    approve: bool
    amount: Annotated[float, Meta(ge=0, description="How much to pay back")]
    reason: Literal["damaged", "late", "other"] = "other"


SURE = {"type": "object", "properties": {"sure": {"type": "boolean", "title": "Yes, pay it"}}, "required": ["sure"]}


@mcp.tool(annotations={"destructiveHint": True}, requires=["elicitation"])
def refund(order: str, ctx: Context) -> str:
    """Pay an order back, once a person has approved it.

    Args:
        order: The order's number.
    """
    if order not in ORDERS:
        raise ToolError(f"There is no order {order}; there are {', '.join(ORDERS)}")
    # In the modern era the function runs again from the top after each answer: what comes before a question and
    # must happen once is said so.
    case = ctx.once("case", lambda: open_case(order))
    answer = ctx.elicit(f"Case {case}: refund order {order} of {ORDERS[order]:.2f}?", Approval)
    if not answer.accepted:
        return f"Case {case}: nobody approved it ({answer.action})."
    approval = answer.data
    if not approval.approve:
        return f"Case {case}: it was refused."
    if approval.amount > 100:
        sure = ctx.elicit(f"Case {case}: {approval.amount:.2f} is a lot. Pay it back?", SURE)
        if not (sure.accepted and sure.data["sure"]):
            return f"Case {case}: it was too much."
    # Behind the last question it runs once by itself; ``single_use`` below keeps a client from repeating its answer.
    pay_back(order, approval.amount)
    return f"Case {case}: {approval.amount:.2f} of order {order} paid back, reason: {approval.reason}."


@mcp.tool(annotations={"readOnlyHint": True})
def ledger() -> dict[str, Any]:
    """Show which refunds were asked for, and what was paid back."""
    with _lock:
        return {"cases": list(cases), "refunded": dict(refunded)}


def open_case(order: str) -> int:
    """Note that somebody wants a refund; returns the number of the case."""
    with _lock:
        cases.append(order)
        return len(cases)


def pay_back(order: str, amount: float) -> None:
    """Pay money back, for good."""
    with _lock:
        if refunded.get(order, 0) + amount > ORDERS[order]:
            raise ToolError(f"Order {order} was {ORDERS[order]:.2f}, and {refunded.get(order, 0):.2f} is paid back")
        refunded[order] = refunded.get(order, 0) + amount


application = mcp.wsgi_app(sessions=True, single_use=True)
