"""The application that the tests of questions run; see ``site`` for its files and options."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass

from mcp_wsgi import Context, ElicitForm, ListRoots, MCPServer, Message, Sample
from tests.recorder import Checked
from tests.servers.site import mark

mcp = MCPServer("asking-site", version="1.0")


@dataclass
class Word:
    """What the client is to say."""

    word: str


@mcp.tool
def ask(name: str, ctx: Context) -> str:
    """Ask for a word, and leave the file ``<name>.over`` when that has ended, however it did."""
    try:
        answer = ctx.elicit(f"A word for {name}?", Word)
    finally:
        mark(f"{name}.over")
    return f"{name}: {answer.data.word}" if answer.accepted else f"{name}: {answer.action}"


@mcp.tool
def travel(ctx: Context) -> str:
    """Say which process ran the first round, and which the last."""
    first = ctx.once("first", os.getpid)
    ctx.elicit(f"Go on from {first}?", Word)
    second = ctx.once("second", os.getpid)
    ctx.elicit(f"Go on from {first} and {second}?", Word)
    return f"{first} {second} {os.getpid()}"


@mcp.tool
def everything(ctx: Context) -> str:
    """Ask all that can be asked: a form, the model and the roots at once, with progress before, and a page after."""
    ctx.report_progress(1, 2)
    form, model, roots = ctx.ask(
        {
            "form": ElicitForm("A word?", Word),
            "model": Sample(messages=[Message("user", "Say something.")], max_tokens=10),
            "roots": ListRoots(),
        }
    ).values()
    page = ctx.elicit_url("Please pay.", "https://shop.example/pay")
    ctx.report_progress(2, 2)
    return f"{form.data.word}, {model.text}, {roots[0].uri}, {page.action}"


@mcp.resource("site://word")
def word(ctx: Context) -> str:
    """What the client says."""
    return f"read: {ctx.elicit('A word?', Word).data.word}"


@mcp.prompt
def wordy(ctx: Context) -> str:
    """Say what the client says."""
    return f"prompted: {ctx.elicit('A word?', Word).data.word}"


@mcp.tool
def echo(text: str) -> str:
    """Return the text."""
    return text


application = Checked(mcp.wsgi_app(**json.loads(os.environ.get("SITE_OPTIONS", "{}"))))
