"""One small tree of errors; each class knows its JSON-RPC code and its HTTP status.

Rules of this file:

* ``MCPError`` is the root. Whatever the package raises on purpose can be caught by that name,
  except the two signals at the end, which are not protocol errors.
* ``code`` goes into the JSON-RPC error object. ``http_status`` is the status of a refusal made
  before the first byte; the session-era endpoint answers errors *to a request* with 200 instead,
  because a 400 there ends the whole connection of widely deployed clients.
* The text of an ``MCPError`` is meant for the client. Anything secret stays out of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mcp_wsgi.excerpts import shorten

__all__ = [
    "BodyTooLarge",
    "Cancelled",
    "ConfigurationError",
    "Forbidden",
    "HeaderMismatch",
    "InputError",
    "InputRefused",
    "InputTimeout",
    "InternalError",
    "InvalidCursor",
    "InvalidEnvelope",
    "InvalidParams",
    "InvalidRequest",
    "MCPError",
    "MethodNotAllowed",
    "MethodNotFound",
    "MissingArgument",
    "MissingCapability",
    "NotAcceptable",
    "NotFound",
    "OptionError",
    "Overloaded",
    "ParseError",
    "RegistrationError",
    "ResourceNotFound",
    "SessionNotFound",
    "SessionRequired",
    "ToolError",
    "Unauthorized",
    "UnknownPrompt",
    "UnknownTool",
    "UnsupportedMediaType",
    "UnsupportedProtocolVersion",
]


class MCPError(Exception):
    """A failure that the protocol has words for.

    Raise it (or a subclass) in a handler to answer the request with a JSON-RPC error.

    Args:
        message: One sentence for the client.
        code: JSON-RPC error code; default: the class's own. Codes of an application should lie
            outside -32768...-32000, which JSON-RPC and MCP reserve.
        data: Any JSON value with details for the client; default: none.

    Source: basic/index, "Error Codes".
    """

    code: int = -32603
    http_status: int = 200
    message: str = "Internal error"
    # A subclass with a constructor of its own may leave ours out.
    data: Any = None

    def __init__(self, message: str | None = None, *, code: int | None = None, data: Any = None) -> None:
        if message is not None:
            # Translations that wait for their language are no ``str`` yet.
            self.message = str(message)
        if code is not None:
            if type(code) is not int:
                raise TypeError(f"code must be an int, not {type(code).__name__}")
            self.code = code
        self.data = data
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message

    @property
    def headers(self) -> Sequence[tuple[str, str]]:
        """HTTP header fields that belong to this refusal; none by default."""
        return ()


# --- JSON-RPC -------------------------------------------------------------------------------------


class ParseError(MCPError):
    """The body is not JSON (RFC 8259) in UTF-8."""

    code = -32700
    http_status = 400
    message = "Parse error: the body is not JSON in UTF-8"


class InvalidRequest(MCPError):
    """The JSON is not a JSON-RPC message that may stand here."""

    code = -32600
    http_status = 400
    message = "Invalid request"


class MethodNotFound(MCPError):
    """The method is unknown, or behind a capability that the server does not advertise."""

    code = -32601
    http_status = 404

    def __init__(self, method: str) -> None:
        self.method = method
        super().__init__(f"Method not found: {shorten(method)}")


class InvalidParams(MCPError):
    """The parameters have the wrong shape, or name something that does not exist."""

    code = -32602
    message = "Invalid params"


class InvalidEnvelope(InvalidParams):
    """A modern request without a required ``_meta`` key. Source: basic/index, "_meta"."""

    http_status = 400


class InternalError(MCPError):
    """Something failed on our side; details are in the log, not here."""

    code = -32603
    message = "Internal error"


class UnknownTool(InvalidParams):
    """The client named a tool this server does not have. Source: server/tools, "Error Handling"."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"Unknown tool: {shorten(name)}")


class UnknownPrompt(InvalidParams):
    """The client named a prompt this server does not have. Source: server/prompts, "Error Handling"."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"Unknown prompt: {shorten(name)}")


class MissingArgument(InvalidParams):
    """A prompt was asked for without its required arguments."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = tuple(names)
        super().__init__(f"Missing required argument: {', '.join(self.names)}")


class InvalidCursor(InvalidParams):
    """A pagination cursor is forged, belongs to another list, or the list has changed since."""

    message = "Invalid cursor: start again without one"


class ResourceNotFound(InvalidParams):
    """No resource or template answers to the URI.

    Args:
        uri: As the client asked for it; a function of an ``MCPServer`` may leave it out.

    The code differs between revisions (-32002 in the session era); ``revisions.py`` has it.

    Source: server/resources, "Error Handling".
    """

    def __init__(self, uri: str | None = None) -> None:
        self.uri = uri
        super().__init__("Resource not found", data=None if uri is None else {"uri": uri})


# --- modern headers and versions ------------------------------------------------------------------


class HeaderMismatch(MCPError):
    """A required header is missing, malformed, or says something else than the body.

    Source: basic/transports/streamable-http, "Server Validation".
    """

    code = -32020
    http_status = 400
    message = "Header mismatch"


class UnsupportedProtocolVersion(MCPError):
    """The protocol revision asked for is not served here.

    Args:
        requested: The revision as the client wrote it.
        supported: The revisions served, newest first.

    Source: basic/versioning, "Protocol Version Negotiation".
    """

    code = -32022
    http_status = 400

    def __init__(self, requested: str, supported: Sequence[str]) -> None:
        self.requested = requested
        super().__init__(
            "Unsupported protocol version",
            data={"supported": list(supported), "requested": requested},
        )


class MissingCapability(MCPError):
    """The client has not declared what a question to it needs.

    Args:
        names: What is missing, such as ``elicitation``.
        required: The ``ClientCapabilities`` object that would do.

    Source: basic/patterns/mrtr, "Missing Required Client Capability".
    """

    code = -32021
    http_status = 400

    def __init__(self, names: Sequence[str], required: Mapping[str, Any]) -> None:
        self.names = tuple(names)
        super().__init__(
            f"The client cannot be asked: it has not declared {', '.join(self.names)}",
            data={"requiredCapabilities": dict(required)},
        )


# --- refusals of the transport --------------------------------------------------------------------


class Unauthorized(MCPError):
    """No or no valid credentials; raise it in an ``auth`` callable.

    Args:
        message: One sentence for the client.
        challenge: The ``WWW-Authenticate`` value (RFC 9110, 11.6.1); default ``Bearer``.
    """

    code = -32600
    http_status = 401
    message = "Unauthorized"

    def __init__(self, message: str | None = None, *, challenge: str = "Bearer") -> None:
        self.challenge = challenge
        super().__init__(message)

    @property
    def headers(self) -> Sequence[tuple[str, str]]:
        return (("WWW-Authenticate", self.challenge),)


class Forbidden(MCPError):
    """The request is understood and refused: origin, host, peer, or the principal's rights.

    Args:
        message: One sentence for the client.
        challenge: The ``WWW-Authenticate`` value, if more scope would help; default: none.
    """

    code = -32600
    http_status = 403
    message = "Forbidden"

    def __init__(self, message: str | None = None, *, challenge: str | None = None) -> None:
        self.challenge = challenge
        super().__init__(message)

    @property
    def headers(self) -> Sequence[tuple[str, str]]:
        return (("WWW-Authenticate", self.challenge),) if self.challenge else ()


class NotFound(MCPError):
    """The URL is not the MCP endpoint."""

    code = -32600
    http_status = 404


class MethodNotAllowed(MCPError):
    """The HTTP method is not served at this endpoint.

    Args:
        allow: The methods that are, for the ``Allow`` header.
    """

    code = -32600
    http_status = 405

    def __init__(self, method: str, allow: Sequence[str]) -> None:
        self.allow = tuple(allow)
        super().__init__(f"HTTP method not allowed: {shorten(method)}; allowed: {', '.join(allow)}")

    @property
    def headers(self) -> Sequence[tuple[str, str]]:
        return (("Allow", ", ".join(self.allow)),)


class NotAcceptable(MCPError):
    """The client takes neither ``application/json`` nor ``text/event-stream``."""

    code = -32600
    http_status = 406
    message = "Not acceptable: the Accept header allows neither application/json nor text/event-stream"


class BodyTooLarge(MCPError):
    """The body is larger than ``max_body`` bytes."""

    code = -32600
    http_status = 413

    def __init__(self, limit: int) -> None:
        super().__init__(f"Body too large: at most {limit} bytes are accepted")


class UnsupportedMediaType(MCPError):
    """The body is not declared as JSON."""

    code = -32600
    http_status = 415
    message = "Unsupported media type: the Content-Type must be application/json"


class SessionRequired(MCPError):
    """The request needs a session and names none. Source: 2025-11-25 basic/transports, "Session Management"."""

    code = -32600
    http_status = 400
    message = "Session required: send the Mcp-Session-Id that initialize was answered with"


class SessionNotFound(MCPError):
    """The session never was, is over, or is somebody else's; the client has to initialize anew."""

    code = -32600
    http_status = 404
    message = "Session not found: it has ended or never was; initialize again"


class Overloaded(MCPError):
    """A limit of this server is reached for the moment; the client may try again.

    Args:
        retry_after: Seconds, for the ``Retry-After`` header; default 1.

    Attributes:
        LATER: ``retry_after`` where what takes the room lives long: streams, sessions, questions.
    """

    code = -32603
    http_status = 503
    message = "Overloaded"
    LATER = 10

    def __init__(self, message: str | None = None, *, retry_after: int = 1) -> None:
        self.retry_after = retry_after
        super().__init__(message)

    @property
    def headers(self) -> Sequence[tuple[str, str]]:
        return (("Retry-After", str(self.retry_after)),)


# --- the developer's mistakes ---------------------------------------------------------------------


class ConfigurationError(MCPError):
    """The application is put together wrongly; raised where it is written, never on a request."""

    message = "Configuration error"


class RegistrationError(ConfigurationError):
    """A tool, resource or prompt cannot be registered; the text names the object and the way out."""


class OptionError(ConfigurationError):
    """An option has an unknown name or a wrong value; the text names it and what it takes."""


# --- not protocol errors --------------------------------------------------------------------------


class ToolError(Exception):
    """Raise it in a tool to fail in-band: the model is shown this text and may try again.

    The result carries ``isError: true`` and the session's state is kept, since a tool that ran
    and failed may have changed it rightly. Source: server/tools, "Error Handling".
    """


class InputError(ToolError):
    """A question to the client has no answer that could be used; the text is for the model."""


class InputRefused(InputError):
    """The client answered a question with an error: its user said no, or it cannot do that."""


class InputTimeout(InputError):
    """The client did not answer within ``input_timeout`` seconds."""


class Cancelled(BaseException):
    """Ends a callback whose client has gone or has cancelled the request.

    It is no ``Exception``, so that an application's ``except Exception`` cannot swallow it;
    ``finally`` blocks run.
    """
