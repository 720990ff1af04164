"""What a revision puts around every result: its kind, how long it may be kept, and who made it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from mcp_wsgi.call import Call
from mcp_wsgi.descriptions import ServerInfo
from mcp_wsgi.jsonrpc import encode
from mcp_wsgi.revisions import META_SERVER_INFO, MODERN, Revision

__all__ = ["Envelope"]


class Envelope:
    """Finishes the results of one server.

    Args:
        info: What the server says of itself.
        cacheable: The methods whose results carry cache hints where the revision has them.
        cache_ttl: Seconds that results may be kept.
        cache_scope: ``private`` or ``public``.
    """

    def __init__(self, info: ServerInfo, cacheable: Collection[str], *, cache_ttl: float, cache_scope: str) -> None:
        self._cacheable = frozenset(cacheable)
        self._hints = {"ttlMs": int(cache_ttl * 1000), "cacheScope": cache_scope}
        self._private_hints = {**self._hints, "cacheScope": "private"}
        self._own_meta = {row.name: {META_SERVER_INFO: info.wire(row)} for row in MODERN if row.server_info_in_meta}
        self._encoded_meta = {name: msgspec.Raw(encode(meta)) for name, meta in self._own_meta.items()}

    def wrap(self, call: Call, result: dict[str, Any], *, shared: bool = True) -> dict[str, Any]:
        """Add to a result what the revision of its call puts around it.

        Args:
            call: The call.
            result: The result; changed in place, and returned.
            shared: Whether the result is the same for every caller, so that the option decides who
                may keep it; what is one caller's own is never public.
        """
        revision = call.revision
        if revision.result_type:
            result["resultType"] = "complete"
        if revision.cache_hints and call.method in self._cacheable:
            result.update(self._hints if shared else self._private_hints)
        if revision.server_info_in_meta:
            meta = result.get("_meta")
            if meta is None:
                result["_meta"] = self._encoded_meta[revision.name]
            else:
                result["_meta"] = {**self._own_meta[revision.name], **meta}
        return result

    def wrap_questions(self, call: Call, result: dict[str, Any]) -> dict[str, Any]:
        """As ``wrap``, for what ends a round: it asks the client something, and is not to be kept."""
        result["resultType"] = "input_required"
        if call.revision.server_info_in_meta:
            result["_meta"] = self._encoded_meta[call.revision.name]
        return result

    def own_meta(self, revision: Revision) -> Mapping[str, Any]:
        """The ``_meta`` of every result in a revision."""
        return self._own_meta.get(revision.name, {})
