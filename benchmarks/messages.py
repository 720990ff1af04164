"""The requests that are measured, in both eras."""

from __future__ import annotations

import json
from typing import Any

ERAS = {"legacy": "2025-11-25", "modern": "2026-07-28"}
Rpc = tuple[str, dict[str, Any]]
ECHO: Rpc = ("tools/call", {"name": "echo", "arguments": {"text": "The quick brown fox jumps over the lazy dog."}})
LIST: Rpc = ("tools/list", {})


def body(era: str, method: str, params: dict[str, Any], identity: int = 1000000) -> bytes:
    """One request message."""
    if era == "modern":
        prefix = "io.modelcontextprotocol/"
        meta = {
            prefix + "protocolVersion": ERAS[era],
            prefix + "clientInfo": {"name": "bench", "version": "0"},
            prefix + "clientCapabilities": {},
        }
        params = {**params, "_meta": meta}
    return json.dumps({"jsonrpc": "2.0", "id": identity, "method": method, "params": params}).encode()


def headers(era: str, method: str, params: dict[str, Any]) -> dict[str, str]:
    """The header fields that go with it."""
    fields = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": ERAS[era],
    }
    if era == "modern":
        fields["Mcp-Method"] = method
        if "name" in params:
            fields["Mcp-Name"] = params["name"]
    return fields
