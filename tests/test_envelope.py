"""What a revision puts around every result."""

from __future__ import annotations

from mcp_wsgi.call import Call
from mcp_wsgi.revisions import LEGACY, META_SERVER_INFO
from tests.dispatching import NEW, dispatcher


def test_the_envelope_is_that_of_the_revision() -> None:
    wrap = dispatcher(cache_ttl=2, cache_scope="public").envelope.wrap
    listing, calling = Call("tools/list", {}, 1, NEW), Call("tools/call", {}, 1, NEW)
    listed = wrap(listing, {"tools": []})
    assert listed.pop("_meta") is not None
    assert listed == {"tools": [], "resultType": "complete", "ttlMs": 2000, "cacheScope": "public"}
    own = wrap(listing, {}, shared=False)
    assert (own["ttlMs"], own["cacheScope"]) == (2000, "private")
    called = wrap(calling, {"content": [], "_meta": {"a": 1}})
    assert called.keys() == {"content", "resultType", "_meta"}
    assert called["_meta"].keys() == {"a", META_SERVER_INFO}
    for revision in LEGACY:
        assert wrap(Call("tools/list", {}, 1, revision), {"tools": []}) == {"tools": []}
