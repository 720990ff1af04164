"""``mcp-wsgi list``, ``call``, ``read`` and ``prompt``: a server, tried out by hand.

A target is served inside this process, a URL is asked over the network; both by the same client.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable
from typing import Any

from mcp_wsgi.cli.arguments import UsageError, header_fields, json_object, strings, tool_arguments
from mcp_wsgi.cli.rendering import listing_text, log_text, pretty, progress_text, prompt_text, tool_text
from mcp_wsgi.cli.targets import load
from mcp_wsgi.errors import MethodNotFound
from mcp_wsgi.handler import Handler, ListKind
from mcp_wsgi.http_client import HTTPTransport
from mcp_wsgi.results import Listing, Message, ProtocolError
from mcp_wsgi.revisions import LEGACY
from mcp_wsgi.testing import Client

__all__ = ["call", "get_prompt", "list_all", "read"]

# The lists, each with the name that its items have on the wire.
_KINDS: tuple[tuple[ListKind, str], ...] = (
    ("tools", "tools"),
    ("resources", "resources"),
    ("resource_templates", "resourceTemplates"),
    ("prompts", "prompts"),
)


def list_all(args: argparse.Namespace) -> int:
    """Show what a server offers."""
    with _client(args) as client:
        found = [(kind, field, _listing(client, kind)) for kind, field in _KINDS]
    offered = [(kind, field, listing) for kind, field, listing in found if listing is not None]
    if args.json:
        _say(pretty({field: listing.items for _, field, listing in offered}))
    else:
        width = shutil.get_terminal_size().columns
        _say("\n\n".join(listing_text(kind, listing, width) for kind, _, listing in offered) or "It offers nothing.")
    return 0


def _listing(client: Client, kind: ListKind) -> Listing | None:
    try:
        return client.listing(kind)
    except ProtocolError as error:
        # Not offered at all.
        if error.code == MethodNotFound.code:
            return None
        raise


def call(args: argparse.Namespace) -> int:
    """Call a tool and show its result; progress and log messages go to stderr."""
    given = json_object(args.json) if args.json else {}
    with _client(args, on_message=_show_log) as client:
        tools = client.list_tools()
        # A tool that is not listed may still be served.
        schema = tools[args.name]["inputSchema"] if args.name in tools else {}
        arguments = {**given, **tool_arguments(args.arguments, schema)}
        reply = client.call_tool(args.name, arguments, progress=_show_progress, log_level=args.log_level)
    _say(pretty(reply.raw) if args.raw else tool_text(reply))
    return 1 if reply.is_error else 0


def read(args: argparse.Namespace) -> int:
    """Write the contents of a resource to stdout: text as text, anything else as its bytes."""
    with _client(args) as client:
        reply = client.read_resource(args.uri)
    if args.raw:
        _say(pretty(reply.raw))
    elif reply.blob:
        sys.stdout.flush()
        sys.stdout.buffer.write(reply.blob)
        sys.stdout.buffer.flush()
    else:
        _say(reply.text)
    return 0


def get_prompt(args: argparse.Namespace) -> int:
    """Show the messages of a prompt."""
    with _client(args) as client:
        reply = client.get_prompt(args.name, strings(args.arguments))
    _say(pretty(reply.raw) if args.raw else prompt_text(reply))
    return 0


# --- the client -----------------------------------------------------------------------------------


def _client(args: argparse.Namespace, on_message: Callable[[Message], object] | None = None) -> Client:
    target = _target(args)
    shared: dict[str, Any] = {"headers": header_fields(args.header), "path": args.path, "on_message": on_message}
    client = Client(target, revision=args.revision, **shared)
    if args.revision is not None or isinstance(target, Handler):
        return client
    try:
        client.discover()
    except ProtocolError:
        # Whatever an older server makes of that question, it is the sign to open a conversation.
        return Client(target, revision=LEGACY[0], **shared)
    return client


def _target(args: argparse.Namespace) -> Any:
    if not args.target.startswith(("http://", "https://")):
        return load(args.target)
    try:
        return HTTPTransport(args.target, timeout=args.timeout)
    except ValueError as error:
        raise UsageError(str(error)) from error


def _show_progress(progress: float, total: float | None, message: str | None) -> None:
    _note(progress_text(progress, total, message))


def _show_log(message: Message) -> None:
    if message.get("method") == "notifications/message":
        _note(log_text(message["params"]))


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def _note(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
