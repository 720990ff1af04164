"""One request as a value: what was asked, by whom, under which rules, in which session."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec

from mcp_wsgi.jsonrpc import Id
from mcp_wsgi.revisions import Revision
from mcp_wsgi.rounds import digest_of
from mcp_wsgi.schema import Arguments
from mcp_wsgi.sessions import principal_id

__all__ = ["Call", "CallSession", "ClientInfo"]

_EMPTY: Mapping[str, Any] = {}


class ClientInfo(msgspec.Struct, frozen=True):
    """What the client said about itself; never a ground for trust.

    Attributes:
        info: Its ``Implementation`` object; empty when it did not say.
        capabilities: Its ``ClientCapabilities`` object; empty when it did not say.
    """

    info: Mapping[str, Any] = _EMPTY
    capabilities: Mapping[str, Any] = _EMPTY

    @property
    def name(self) -> str | None:
        """The client's name for itself."""
        return self.info.get("name")

    @property
    def version(self) -> str | None:
        """The client's own version."""
        return self.info.get("version")


class CallSession(Protocol):
    """The session that a call belongs to.

    Attributes:
        id: Its id; whoever has it and the same credentials is in the session.
        stateful: Whether anything is kept of it beside what ``initialize`` settled.
    """

    id: str
    stateful: bool

    def set_log_level(self, level: str) -> None:
        """Remember the least severe level that the client wants."""

    def subscribe(self, uri: str) -> None:
        """Remember that the client wants to hear of a resource's changes."""

    def unsubscribe(self, uri: str) -> None:
        """Forget that it does."""

    def note_elicitation(self, name: str) -> None:
        """Remember which page the user was asked to open, so that its end can be told."""


class Call(msgspec.Struct, frozen=True):
    """One request, as the core sees it.

    Attributes:
        method: The RPC method.
        params: Its parameters.
        id: The request's id.
        revision: The revision that rules it.
        meta: ``params._meta``, or an empty object.
        client: What is known of the client.
        principal: What ``auth`` returned; ``None`` without ``auth``.
        progress_token: Where progress goes; ``None`` if the client asked for none.
        log_level: The least severe level to send; ``None`` for no log messages at all.
        headers: HTTP header fields, names in any case.
        environ: The WSGI environ of the request.
        verify: Compares routing headers of arguments with the body, where the revision has them.
        session: The session it belongs to; ``None`` without.
        mount: Where the application is mounted.
    """

    method: str
    params: dict[str, Any]
    id: Id
    revision: Revision
    meta: Mapping[str, Any] = _EMPTY
    client: ClientInfo = ClientInfo()
    principal: Any = None
    progress_token: Id | None = None
    log_level: str | None = None
    headers: Mapping[str, str] = _EMPTY
    environ: Mapping[str, Any] = _EMPTY
    verify: Callable[[Arguments, dict[str, Any]], None] | None = None
    session: CallSession | None = None
    mount: str = ""

    def binding(self) -> tuple[str | None, ...]:
        """What a sealed state of this call is good for: the same call of the same caller."""
        return (self.revision.name, self.method, digest_of(self.params), principal_id(self.principal), self.mount)

    def owner(self) -> tuple[str | None, ...]:
        """Who may answer what this call asks."""
        session = None if self.session is None else self.session.id
        return (session, principal_id(self.principal), self.mount)
