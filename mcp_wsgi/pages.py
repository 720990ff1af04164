"""Lists in pages: encoded once for each revision, cut once for each cursor, kept until the list changes.

Source: server/utilities/pagination.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import msgspec

from mcp_wsgi.call import Call
from mcp_wsgi.context import Context
from mcp_wsgi.envelope import Envelope
from mcp_wsgi.handler import Handler, ListKind
from mcp_wsgi.jsonrpc import encode
from mcp_wsgi.schema import to_json
from mcp_wsgi.sealing import Cursors

__all__ = ["Pages"]

log = logging.getLogger("mcp_wsgi")

#: Kind of a list -> the field of its result.
_FIELDS: Mapping[ListKind, str] = {
    "tools": "tools",
    "resources": "resources",
    "resource_templates": "resourceTemplates",
    "prompts": "prompts",
}


class Pages:
    """Gives the pages of a handler's lists.

    Args:
        handler: Has the lists.
        cursors: Makes and reads pagination cursors.
        envelope: Finishes a page.
        size: Items on a page.
        shares_key: Returns whether each process that may be asked next can read this one's cursors;
            without, a list is one page.
    """

    def __init__(
        self, handler: Handler, cursors: Cursors, envelope: Envelope, *, size: int, shares_key: Callable[[], bool]
    ) -> None:
        self._handler = handler
        self._cursors = cursors
        self._envelope = envelope
        self._size = size
        self._shares_key = shares_key
        self._warned = False
        self._kept: dict[tuple[ListKind, str], tuple[Hashable, _Listing]] = {}

    def kept(self, kind: ListKind, call: Call) -> bytes | None:
        """The page that a call wants, if the list is at hand.

        Raises:
            InvalidCursor: The call brings one that is not of this list.
        """
        kept = self._kept.get((kind, call.revision.name))
        if kept is None or kept[0] != self._handler.catalogue(kind):
            return None
        return self._page(kept[1], kind, call)

    def make(self, kind: ListKind, call: Call, ctx: Context) -> bytes:
        """The page that a call wants: asks the handler for the list, and keeps it if it is the same for everybody.

        Raises:
            InvalidCursor: As of ``kept``.
        """
        state = self._handler.catalogue(kind)
        # What an application wrote may be what JSON cannot say, which ``to_json`` refuses.
        items = [encode(to_json(item.wire(call.revision))) for item in getattr(self._handler, kind)(ctx)]
        listing = _Listing(items, shared=state is not None)
        if state is not None:
            self._kept[kind, call.revision.name] = (state, listing)
        return self._page(listing, kind, call)

    def _page(self, listing: _Listing, kind: ListKind, call: Call) -> bytes:
        cursor = call.params.get("cursor")
        offset = 0 if cursor is None else self._cursors.read(cursor, kind, listing.state)
        page = listing.pages.get(offset)
        if page is None:
            page = listing.pages[offset] = self._cut(listing, kind, call, offset)
        return page

    def _cut(self, listing: _Listing, kind: ListKind, call: Call, offset: int) -> bytes:
        end = offset + self._longest(kind, len(listing.items))
        items = b"[" + b",".join(listing.items[offset:end]) + b"]"
        result: dict[str, Any] = {_FIELDS[kind]: msgspec.Raw(items)}
        if end < len(listing.items):
            result["nextCursor"] = self._cursors.issue(kind, listing.state, end)
        return encode(self._envelope.wrap(call, result, shared=listing.shared))

    def _longest(self, kind: ListKind, items: int) -> int:
        """How many of so many items one page may hold."""
        if items <= self._size or self._shares_key():
            return self._size
        if not self._warned:
            self._warned = True
            log.warning(
                "%d %s are sent as one page, since a cursor of this process is worth nothing in another: "
                "set the option secret_key to have pages of %d",
                items,
                kind,
                self._size,
            )
        return items


class _Listing:
    """A whole list, encoded for one revision, and the pages already cut from it.

    Attributes:
        items: Each item, encoded.
        shared: Whether it is the same for every caller.
        pages: Offset of the first item -> page.
        state: Names what is in the list.
    """

    __slots__ = ("items", "pages", "shared", "state")

    def __init__(self, items: Sequence[bytes], *, shared: bool) -> None:
        self.items = items
        self.shared = shared
        self.pages: dict[int, bytes] = {}
        self.state = hashlib.blake2b(b",".join(items), digest_size=8).hexdigest()
