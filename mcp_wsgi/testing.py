"""A synchronous MCP client for unit tests: no socket, no server process, no event loop.

    client = Client(mcp)
    assert client.call_tool("add", a=1, b=2).text == "3"

It speaks every revision in ``revisions.py``. What a server answers comes back as a frozen value
that can be asked; what it refuses is raised as ``ProtocolError``. The application runs in the
caller's own thread, so that a test's database transaction is the tool's too.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from mcp_wsgi.errors import ConfigurationError, HeaderMismatch, MCPError
from mcp_wsgi.handler import Handler, ListKind, PromptRef, ResourceRef
from mcp_wsgi.http_client import Answer, BodyError, HTTPReply, Transport, WSGIApplication, WSGITransport
from mcp_wsgi.requests import (
    LISTS,
    HeaderParameter,
    client_meta,
    encode_body,
    header_fields,
    header_parameters,
    header_text,
    merge_fields,
    notification,
    reference,
    request,
)
from mcp_wsgi.results import (
    CompletionReply,
    Listing,
    Log,
    Message,
    Progress,
    PromptReply,
    ProtocolError,
    Reply,
    ResourceReply,
    ToolReply,
    refusal,
)
from mcp_wsgi.revisions import MODERN, REVISIONS, Revision
from mcp_wsgi.wsgi.app import MCPApp

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "Client",
    "CompletionReply",
    "HTTPReply",
    "Listing",
    "Log",
    "Message",
    "Progress",
    "PromptReply",
    "ProtocolError",
    "Reply",
    "ResourceReply",
    "Stream",
    "ToolReply",
    "header_parameters",
    "header_text",
]

R = TypeVar("R", bound=Reply)
OnMessage = Callable[[Message], object]
#: Takes the method and parameters of a question of the server, returns the result.
OnQuestion = Callable[[str, dict[str, Any]], Mapping[str, Any]]
OnProgress = Callable[[float, "float | None", "str | None"], object]

#: Rounds of questions after which a request is given up.
MAX_ROUNDS = 64
#: What a client declares that can be asked anything.
ALL_CAPABILITIES: Mapping[str, Any] = {
    "elicitation": {"form": {}, "url": {}},
    "roots": {},
    "sampling": {"context": {}, "tools": {}},
}


class Client:
    """Talks to one MCP endpoint, one request after the other.

    In the session era it opens the conversation by itself before the first request. As a context
    manager it does so at once, and closes at the end.

    Args:
        target: An ``MCPServer`` or another ``Handler`` (wrapped here, with workers ``inline``), a
            WSGI application, or a ``Transport``.
        revision: Name of the revision to speak; default: the newest.
        principal: Who is calling, an object with an ``id``; for a handler only. Default: nobody.
        headers: Header fields of every request, such as ``Authorization``; default: none.
        path: Path of the endpoint.
        on_message: Called with each message of the server as it comes; default: nobody is told.
        answer: Answers each question of the server (elicitation, sampling, roots) by its method and
            parameters with a result; an ``MCPError`` that it raises refuses, in the session era. In the
            modern era, which has no refusal, that reaches the caller, and with results the request
            is sent again. Default: questions are refused, and an
            ``input_required`` result is returned as it is.
        capabilities: The ``ClientCapabilities`` object; default: empty, with ``answer`` all that can be
            asked.
        client_info: The ``Implementation`` object; default: names this client.
        environ: Entries that replace those of each request's WSGI environ; default: none.
        options: Options of ``MCPApp``; for a handler only.

    Raises:
        ConfigurationError: The target is of another kind, or the arguments do not go with it.
    """

    def __init__(
        self,
        target: Handler | WSGIApplication | Transport,
        *,
        revision: str | Revision | None = None,
        principal: Any = None,
        headers: Mapping[str, str] | None = None,
        path: str = "/mcp",
        on_message: OnMessage | None = None,
        answer: OnQuestion | None = None,
        capabilities: Mapping[str, Any] | None = None,
        client_info: Mapping[str, Any] | None = None,
        environ: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        self.revision = _revision(revision)
        self.headers = dict(headers or {})
        self.on_message = on_message
        self.answer = answer
        self.capabilities = dict((ALL_CAPABILITIES if answer else {}) if capabilities is None else capabilities)
        self.client_info = dict(client_info or {"name": "mcp-wsgi-client", "version": "0"})
        self.session_id: str | None = None
        # A client of the session era is known to take questions only where it is remembered.
        defaults = {"sessions": True} if answer is not None else {}
        self._transport = _transport(target, path, environ, principal, options, defaults)
        self._ids = itertools.count(1)
        self._tokens = itertools.count(1)
        self._opened = False
        self._header_parameters: dict[str, tuple[HeaderParameter, ...]] = {}

    def __enter__(self) -> Self:
        self._open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- the conversation -------------------------------------------------------------------------

    def initialize(self) -> Reply:
        """Open the session era's conversation and take the revision that the server chooses."""
        wanted = {
            "protocolVersion": self.revision.name,
            "capabilities": self.capabilities,
            "clientInfo": self.client_info,
        }
        reply = self.request("initialize", wanted)
        version = reply.raw.get("protocolVersion")
        chosen = REVISIONS.get(version) if isinstance(version, str) else None
        if chosen is None or chosen.modern:
            raise ProtocolError(0, f"the server chose the revision {version!r}", reply=reply.http)
        self.revision = chosen
        self.session_id = reply.http.headers["Mcp-Session-Id"]
        self._opened = True
        self.notify("notifications/initialized")
        return reply

    def _open(self) -> None:
        if not self.revision.modern and not self._opened:
            self.initialize()

    def close(self) -> None:
        """End the session, if there is one; the next request opens another conversation."""
        self._opened = False
        if self.session_id is not None:
            # A server may refuse (405) or have forgotten the session (404): it is over either way.
            self.http("DELETE")
            self.session_id = None

    def discover(self) -> Reply:
        """Ask what the server speaks and offers (modern)."""
        return self.request("server/discover")

    def ping(self) -> Reply:
        """Ask whether anybody is there (session era)."""
        return self.request("ping")

    def set_level(self, level: str) -> Reply:
        """Choose the least severe log messages to get (session era)."""
        return self.request("logging/setLevel", {"level": level})

    # --- lists ------------------------------------------------------------------------------------

    def list_tools(self) -> Listing:
        """All tools, on however many pages."""
        return self.listing("tools")

    def list_resources(self) -> Listing:
        """All resources, on however many pages."""
        return self.listing("resources")

    def list_resource_templates(self) -> Listing:
        """All resource templates, on however many pages."""
        return self.listing("resource_templates")

    def list_prompts(self) -> Listing:
        """All prompts, on however many pages."""
        return self.listing("prompts")

    def page(self, kind: ListKind, cursor: str | None = None) -> Listing:
        """One page of a list.

        Args:
            kind: Which list.
            cursor: The ``next_cursor`` of the page before; default: the first page.
        """
        method, field = LISTS[kind]
        raw = self.request(method, None if cursor is None else {"cursor": cursor}).raw
        if kind == "tools":
            self._header_parameters.update(
                {tool["name"]: tuple(header_parameters(tool["inputSchema"])) for tool in raw[field]}
            )
        return Listing(tuple(raw[field]), raw.get("nextCursor"))

    def listing(self, kind: ListKind) -> Listing:
        """All of a list, on however many pages.

        Raises:
            ProtocolError: Among others if a page names an earlier one as its next.
        """
        pages = [self.page(kind)]
        seen: set[str] = set()
        while (cursor := pages[-1].next_cursor) is not None:
            if cursor in seen:
                raise ProtocolError(0, f"the list of {kind} goes round in circles", reply=HTTPReply(200, (), b""))
            seen.add(cursor)
            pages.append(self.page(kind, cursor))
        return Listing(tuple(item for page in pages for item in page))

    # --- calls ------------------------------------------------------------------------------------

    def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        /,
        *,
        progress: OnProgress | None = None,
        progress_token: str | int | None = None,
        log_level: str | None = None,
        meta: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> ToolReply:
        """Call a tool.

        Args:
            name: Its name.
            arguments: Its arguments; those with a name that is taken here have to go this way.
            progress: Called with ``progress, total, message`` as they come.
            progress_token: Asks for progress under this token; default: one is made for ``progress``.
            log_level: Asks for log messages of this level and above (modern; see ``set_level``).
            meta: Further entries of the request's ``_meta``.
            more: Arguments of the tool by name.
        """
        params = {"name": name, "arguments": {**(arguments or {}), **more}}

        def call() -> ToolReply:
            return self._request(ToolReply, "tools/call", params, progress, progress_token, log_level, meta)

        try:
            return call()
        except ProtocolError as error:
            # A tool that wants Mcp-Param headers is known to do so once it is listed.
            if error.code != HeaderMismatch.code or name in self._header_parameters:
                raise
        self.list_tools()
        return call()

    def read_resource(
        self,
        uri: str,
        *,
        progress: OnProgress | None = None,
        progress_token: str | int | None = None,
        log_level: str | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> ResourceReply:
        """Read a resource; the other arguments are those of ``call_tool``."""
        params = {"uri": uri}
        return self._request(ResourceReply, "resources/read", params, progress, progress_token, log_level, meta)

    def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, str] | None = None,
        /,
        *,
        progress: OnProgress | None = None,
        progress_token: str | int | None = None,
        log_level: str | None = None,
        meta: Mapping[str, Any] | None = None,
        **more: str,
    ) -> PromptReply:
        """Get a prompt's messages; the other arguments are those of ``call_tool``."""
        params = {"name": name, "arguments": {**(arguments or {}), **more}}
        return self._request(PromptReply, "prompts/get", params, progress, progress_token, log_level, meta)

    def complete(
        self,
        ref: str | PromptRef | ResourceRef,
        argument: str,
        value: str,
        context: Mapping[str, str] | None = None,
    ) -> CompletionReply:
        """Ask for suggestions.

        Args:
            ref: A prompt's name, or a resource's URI or template (recognised by ``://``).
            argument: Name of the argument or variable.
            value: What is typed so far.
            context: Arguments already resolved; default: none.
        """
        params: dict[str, Any] = {"ref": reference(ref), "argument": {"name": argument, "value": value}}
        if context is not None:
            params["context"] = {"arguments": dict(context)}
        return self._request(CompletionReply, "completion/complete", params)

    # --- any message ------------------------------------------------------------------------------

    def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        progress: OnProgress | None = None,
        progress_token: str | int | None = None,
        log_level: str | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Reply:
        """Send any request; the other arguments are those of ``call_tool``.

        Raises:
            ProtocolError: It was answered by an error, or not properly.
        """
        return self._request(Reply, method, params, progress, progress_token, log_level, meta)

    def _request(
        self,
        kind: type[R],
        method: str,
        params: Mapping[str, Any] | None,
        progress: OnProgress | None = None,
        progress_token: str | int | None = None,
        log_level: str | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> R:
        if progress is not None and progress_token is None:
            progress_token = f"progress-{next(self._tokens)}"
        notifications: list[Message] = []
        given = dict(params or {})
        for _ in range(MAX_ROUNDS):
            with self.stream(method, given, progress_token=progress_token, log_level=log_level, meta=meta) as stream:
                for message in stream:
                    if "method" in message and "id" in message:
                        self._answer_request(message)
                    elif "method" in message:
                        notifications.append(message)
                        _tell(progress, message)
                reply = kind(stream.result(), tuple(notifications), stream.http)
            if self.answer is None or reply.raw.get("resultType") != "input_required":
                return reply
            given = {**(params or {}), **self._next_round(self.answer, reply.raw)}
        raise ProtocolError(0, f"the server asks on and on: {MAX_ROUNDS} rounds were not enough", reply=stream.http)

    def _answer_request(self, message: Message) -> None:
        """Answer a question of the session era, which is a request of the server's own."""
        answer: Message = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            if self.answer is None:
                raise MCPError("this client answers no questions", code=-32601)  # noqa: TRY301 - refused like any
            answer["result"] = dict(self.answer(message["method"], message.get("params", {})))
        except MCPError as refused:
            answer["error"] = {"code": refused.code, "message": refused.message}
        reply = HTTPReply.read(self._send("POST", answer))
        if reply.status != 202:
            raise refusal(reply)

    def _next_round(self, answer: OnQuestion, result: Mapping[str, Any]) -> dict[str, Any]:
        """What the next round of a modern request brings."""
        asked = result.get("inputRequests", {})
        brought: dict[str, Any] = {
            "inputResponses": {key: dict(answer(each["method"], each.get("params", {}))) for key, each in asked.items()}
        }
        if "requestState" in result:
            brought["requestState"] = result["requestState"]
        return brought

    def stream(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        progress_token: str | int | None = None,
        log_level: str | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Stream:
        """Send a request and look at the messages of its answer one by one.

        The other arguments are those of ``call_tool``. The server works on while the next message
        is asked for, and at no other time.

        Raises:
            ProtocolError: It was refused before the first message.
        """
        if method != "initialize":
            self._open()
        message = self.message(method, params, progress_token=progress_token, log_level=log_level, meta=meta)
        answer = self._send("POST", message)
        if answer.status != 200:
            raise refusal(HTTPReply.read(answer))
        return Stream(answer, message, self.on_message)

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send a notification.

        Raises:
            ProtocolError: It was not accepted.
        """
        self._open()
        reply = HTTPReply.read(self._send("POST", notification(method, params)))
        if reply.status != 202:
            raise refusal(reply)

    def message(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        progress_token: str | int | None = None,
        log_level: str | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Message:
        """The JSON-RPC request that ``request`` would send, with a new id; ``post`` sends it."""
        given = dict(params or {})
        merged: dict[str, Any] = {**given.pop("_meta", {}), **(meta or {})}
        if progress_token is not None:
            merged["progressToken"] = progress_token
        if self.revision.modern:
            merged = {**client_meta(self.revision, self.client_info, self.capabilities, log_level), **merged}
        return request(next(self._ids), method, given, merged)

    # --- HTTP -------------------------------------------------------------------------------------

    def post(self, body: Any, *, headers: Mapping[str, str | None] | None = None) -> HTTPReply:
        """Send a body as it is and look at the answer as it is; for what no client should send.

        Args:
            body: Bytes, or a value that is encoded as JSON. The header fields go with a message
                (``message`` makes a good one).
            headers: Replaces header fields by name; ``None`` leaves one out.
        """
        return self.http("POST", body, headers=headers)

    def http(self, method: str, body: Any = None, *, headers: Mapping[str, str | None] | None = None) -> HTTPReply:
        """Send any HTTP request to the endpoint; the arguments are those of ``post``."""
        return HTTPReply.read(self._send(method, body, headers))

    def _send(self, method: str, body: Any, headers: Mapping[str, str | None] | None = None) -> Answer:
        own = header_fields(
            self.revision,
            body if isinstance(body, Mapping) else {},
            has_body=body is not None,
            session_id=self.session_id,
            parameters=self._header_parameters,
        )
        fields = merge_fields(own, self.headers, headers or {})
        encoded = body if body is None or isinstance(body, bytes) else encode_body(body)
        return self._transport.open(method, fields, encoded)


class Stream:
    """The messages of one answer, as they come; ends with the response.

    Use it as a context manager, or ``close`` it: to close it early is what a disconnect is.

    Attributes:
        http: The HTTP status and header fields of the answer; its body is left out.
    """

    def __init__(self, answer: Answer, request: Message, on_message: OnMessage | None) -> None:
        self.http = HTTPReply(answer.status, tuple(answer.fields), b"", answer.reason)
        self._answer = answer
        self._request = request
        self._on_message = on_message
        self._messages = self._read()
        self._response: Message | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Message]:
        return self

    def __next__(self) -> Message:
        try:
            message = next(self._messages)
        except BodyError as problem:
            raise self._broken(str(problem)) from problem
        if self._on_message is not None:
            self._on_message(message)
        return message

    def close(self) -> None:
        """Stop listening; a second time does nothing."""
        self._answer.close()

    def result(self) -> dict[str, Any]:
        """Read on to the response and return its result.

        Raises:
            ProtocolError: The response is an error, or there is none.
        """
        for _ in self:
            pass
        if self._response is None:
            raise self._broken("it ended without a response")
        if "error" in self._response:
            raise ProtocolError.of(self._response["error"], self.http)
        result = self._response["result"]
        if not isinstance(result, dict):
            raise self._broken("its result is no object")
        return result

    def _read(self) -> Iterator[Message]:
        for message in self._answer.messages():
            if not isinstance(message, dict) or not ("method" in message or "result" in message or "error" in message):
                raise self._broken("it holds something else than JSON-RPC messages")
            if self._response is not None:
                raise self._broken("something comes after the response")
            # An error about a request that could not be read has no id.
            if "method" not in message and message.get("id", self._request["id"]) == self._request["id"]:
                self._response = message
            yield message
            if self._response is not None and not self._answer.read_to_end:
                return

    def _broken(self, what: str) -> ProtocolError:
        return ProtocolError(0, f"broken answer to {self._request['method']}: {what}", reply=self.http)


def _tell(progress: OnProgress | None, message: Message) -> None:
    if progress is not None and message["method"] == "notifications/progress":
        params = message["params"]
        progress(params["progress"], params.get("total"), params.get("message"))


# --- what a client talks to -----------------------------------------------------------------------


def _revision(revision: str | Revision | None) -> Revision:
    if revision is None:
        return MODERN[0]
    if isinstance(revision, Revision):
        return revision
    if revision not in REVISIONS:
        raise ConfigurationError(f"unknown revision {revision!r}; there are {', '.join(REVISIONS)}")
    return REVISIONS[revision]


def _transport(
    target: Any,
    path: str,
    environ: Mapping[str, Any] | None,
    principal: Any,
    options: Mapping[str, Any],
    defaults: Mapping[str, Any],
) -> Transport:
    given = {**options, "principal": principal} if principal is not None else options
    if isinstance(target, Handler):
        if principal is not None:
            options = {"auth": lambda request: principal, **options}
        app = MCPApp(target, **{"workers": "inline", "path": path, **defaults, **options})
        return WSGITransport(app, path=path, environ=environ)
    if given:
        raise ConfigurationError(
            f"{', '.join(given)}: for a server or handler only; an application has its own options, and takes "
            "credentials in headers="
        )
    if isinstance(target, Transport):
        return target
    if not callable(target) or isinstance(target, type):
        raise ConfigurationError(f"cannot talk to {target!r}: it is no server, handler or WSGI application")
    return WSGITransport(target, path=path, environ=environ)
