"""What a server can ask of its client: to fill in a form, open a page, sample a model, list its roots.

Values and rules only. How a question travels differs by era: ``direct`` and ``questions`` have the
session era, ``rounds`` the modern one.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec

from mcp_wsgi.content import Message
from mcp_wsgi.elicitation import Form, FormErrors, FormNotInRevision
from mcp_wsgi.errors import InputError, MCPError, MissingCapability
from mcp_wsgi.revisions import Revision
from mcp_wsgi.uris import is_uri

__all__ = [
    "CAPABILITIES",
    "ElicitForm",
    "ElicitResult",
    "ElicitUrl",
    "InputRequest",
    "InputRequired",
    "InvalidAnswer",
    "ListRoots",
    "Root",
    "Sample",
    "SamplingResult",
    "UrlElicitationRequired",
    "check_capability",
    "new_elicitation_id",
    "required_capabilities",
]

Action = Literal["accept", "decline", "cancel"]
_ACTIONS = ("accept", "decline", "cancel")

#: What a tool can say that it requires -> the path below ``ClientCapabilities`` that must be there.
CAPABILITIES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "elicitation": ("elicitation", "form"),
        "elicitation.url": ("elicitation", "url"),
        "sampling": ("sampling",),
        "sampling.context": ("sampling", "context"),
        "sampling.tools": ("sampling", "tools"),
        "roots": ("roots",),
    }
)


class InvalidAnswer(InputError):
    """What the client answered is not what was asked for."""


# --- results --------------------------------------------------------------------------------------


class ElicitResult(msgspec.Struct, frozen=True):
    """What became of a question to the user.

    Attributes:
        action: ``accept``, ``decline`` (the user said no) or ``cancel`` (the user said nothing).
        data: For a form that was accepted, the value: of the declared type, or a dict.
        id: For a page, the id by which its end can be told (``MCPApp.elicitation_complete``).
    """

    action: Action
    data: Any = None
    id: str | None = None

    @property
    def accepted(self) -> bool:
        """Whether the user agreed."""
        return self.action == "accept"


class SamplingResult(msgspec.Struct, frozen=True):
    """What the client's model said.

    Attributes:
        role: ``assistant``, as a rule.
        content: The content blocks, as the client sent them.
        model: The name of the model.
        stop_reason: Why it stopped; ``None`` if the client did not say.
    """

    role: str
    content: tuple[Mapping[str, Any], ...]
    model: str
    stop_reason: str | None = None

    @property
    def text(self) -> str:
        """The text of all its text blocks."""
        return "".join(block["text"] for block in self.content if block.get("type") == "text")


class Root(msgspec.Struct, frozen=True):
    """A place that the user has opened to the server.

    Attributes:
        uri: A ``file://`` URI.
        name: Its name for people; ``None`` if it has none.
    """

    uri: str
    name: str | None = None


# --- requests -------------------------------------------------------------------------------------


class InputRequest(Protocol):
    """One question."""

    @property
    def method(self) -> str:
        """The RPC method."""

    def needs(self) -> tuple[str, ...]:
        """The keys of ``CAPABILITIES`` that a client must have for it."""

    def params(self, revision: Revision) -> dict[str, Any]:
        """The parameters as ``revision`` writes them.

        Raises:
            InputError: The revision has no words for it.
        """

    def read(self, result: Any) -> Any:
        """What the client's result says.

        Raises:
            InvalidAnswer: It is malformed, or not what was asked for.
        """


class ElicitForm(msgspec.Struct, frozen=True):
    """Ask the user to fill in a form.

    Never ask for passwords, keys or payment data this way: the client and its model see the answer.

    Args:
        message: What the user is told.
        form: What is asked for: a ``Form``, or what ``Form.of`` takes.

    Raises:
        RegistrationError: It is no form.

    Source: client/elicitation, "Form Mode".
    """

    message: str
    form: Form

    if TYPE_CHECKING:

        def __init__(self, message: str, form: Form | type | Mapping[str, Any]) -> None: ...

    def __post_init__(self) -> None:
        given: Any = self.form
        if not isinstance(given, Form):
            msgspec.structs.force_setattr(self, "form", Form.of(given, owner="a question"))

    @property
    def method(self) -> str:
        """The RPC method."""
        return "elicitation/create"

    def needs(self) -> tuple[str, ...]:
        """See ``InputRequest``."""
        return ("elicitation",)

    def params(self, revision: Revision) -> dict[str, Any]:
        """See ``InputRequest``."""
        try:
            schema = self.form.requested(revision)
        except FormNotInRevision as problem:
            raise InputError(str(problem)) from None
        mode = {"mode": "form"} if revision.elicitation_modes else {}
        return {**mode, "message": self.message, "requestedSchema": schema}

    def read(self, result: Any) -> ElicitResult:
        """See ``InputRequest``."""
        action = _action(result)
        if action != "accept":
            return ElicitResult(action)
        try:
            return ElicitResult(action, self.form.accept(result.get("content")))
        except FormErrors as problem:
            raise InvalidAnswer(f"The answer does not fit: {problem}") from None


class ElicitUrl(msgspec.Struct, frozen=True):
    """Ask the user to open a page, where what no client may see is entered.

    The page has to make sure that whoever opens it is the user that the call is for.

    Args:
        message: What the user is told.
        url: The page; with no user data and no credentials in it.
        id: Names the question, for ``MCPApp.elicitation_complete``.

    Raises:
        ValueError: ``url`` is no URL.

    Source: client/elicitation, "URL Mode".
    """

    message: str
    url: str
    id: str

    def __post_init__(self) -> None:
        if not is_uri(self.url):
            raise ValueError(f"no URL to open: {self.url!r}")

    @property
    def method(self) -> str:
        """The RPC method."""
        return "elicitation/create"

    def needs(self) -> tuple[str, ...]:
        """See ``InputRequest``."""
        return ("elicitation.url",)

    def params(self, revision: Revision) -> dict[str, Any]:
        """See ``InputRequest``."""
        if not revision.elicitation_modes:
            raise InputError(f"The client cannot be asked to open a page: {revision.name} has forms only")
        named = {"elicitationId": self.id} if revision.elicitation_ids else {}
        return {"mode": "url", "message": self.message, "url": self.url, **named}

    def read(self, result: Any) -> ElicitResult:
        """See ``InputRequest``."""
        return ElicitResult(_action(result), id=self.id)


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """Ask the client's model to go on from some messages.

    Args:
        messages: ``Message`` values, or message objects as the protocol has them.
        max_tokens: Most tokens of the answer.
        system_prompt: Default: none.
        temperature: Default: the client's.
        stop_sequences: Default: none.
        model_preferences: A ``ModelPreferences`` object; default: none.
        include_context: ``none``, ``thisServer`` or ``allServers``; default: not said.
        metadata: Default: none.
        tools: ``Tool`` objects that the model may use, as the protocol has them; default: none.
        tool_choice: A ``ToolChoice`` object; default: none.

    Source: client/sampling.
    """

    messages: Sequence[Message | Mapping[str, Any]]
    max_tokens: int
    system_prompt: str | None = None
    temperature: float | None = None
    stop_sequences: Sequence[str] | None = None
    model_preferences: Mapping[str, Any] | None = None
    include_context: str | None = None
    metadata: Mapping[str, Any] | None = None
    tools: Sequence[Mapping[str, Any]] | None = None
    tool_choice: Mapping[str, Any] | None = None

    @property
    def method(self) -> str:
        """The RPC method."""
        return "sampling/createMessage"

    def needs(self) -> tuple[str, ...]:
        """See ``InputRequest``."""
        uses_tools = self.tools is not None or self.tool_choice is not None
        context = self.include_context not in (None, "none")
        return ("sampling", *(("sampling.tools",) * uses_tools), *(("sampling.context",) * context))

    def params(self, revision: Revision) -> dict[str, Any]:
        """See ``InputRequest``."""
        messages = [_message_wire(message, revision) for message in self.messages]
        uses_tools = self.tools is not None or self.tool_choice is not None
        if not revision.sampling_tools and (uses_tools or not all(map(_is_single_block, messages))):
            raise InputError(f"The client cannot be asked that: {revision.name} samples single blocks, without tools")
        _check_tool_results(messages)
        fields = {
            "messages": messages,
            "maxTokens": self.max_tokens,
            "systemPrompt": self.system_prompt,
            "temperature": self.temperature,
            "stopSequences": None if self.stop_sequences is None else list(self.stop_sequences),
            "modelPreferences": self.model_preferences,
            "includeContext": self.include_context,
            "metadata": self.metadata,
            "tools": None if self.tools is None else list(self.tools),
            "toolChoice": self.tool_choice,
        }
        return {name: value for name, value in fields.items() if value is not None}

    def read(self, result: Any) -> SamplingResult:
        """See ``InputRequest``."""
        if type(result) is not dict:
            raise InvalidAnswer("The answer is no sampling result")
        content = result.get("content")
        found: list[Any] = content if type(content) is list else [content]
        texts = (result.get("role"), result.get("model"))
        reason = result.get("stopReason")
        if (
            not all(type(text) is str for text in texts)
            or not all(_is_block(block) for block in found)
            or not (reason is None or type(reason) is str)
        ):
            raise InvalidAnswer("The answer is no sampling result")
        return SamplingResult(result["role"], tuple(found), result["model"], reason)


class ListRoots(msgspec.Struct, frozen=True):
    """Ask which places the user has opened to the server. Source: client/roots."""

    @property
    def method(self) -> str:
        """The RPC method."""
        return "roots/list"

    def needs(self) -> tuple[str, ...]:
        """See ``InputRequest``."""
        return ("roots",)

    def params(self, revision: Revision) -> dict[str, Any]:
        """See ``InputRequest``."""
        return {}

    def read(self, result: Any) -> tuple[Root, ...]:
        """See ``InputRequest``."""
        roots = result.get("roots") if type(result) is dict else None
        if type(roots) is not list or not all(map(_is_root, roots)):
            raise InvalidAnswer("The answer is no list of roots")
        return tuple(Root(root["uri"], root.get("name")) for root in roots)


def _action(result: Any) -> Any:
    action = result.get("action") if type(result) is dict else None
    if action not in _ACTIONS:
        raise InvalidAnswer("The answer neither accepts nor declines nor cancels")
    return action


def _is_block(block: Any) -> bool:
    if type(block) is not dict or type(block.get("type")) is not str:
        return False
    return block["type"] != "text" or type(block.get("text")) is str


def _is_root(root: Any) -> bool:
    if type(root) is not dict or type(root.get("uri")) is not str or not is_uri(root["uri"]):
        return False
    return root.get("name") is None or type(root["name"]) is str


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def _is_single_block(message: Mapping[str, Any]) -> bool:
    content = message["content"]
    return not _is_list(content) and content.get("type") not in ("tool_use", "tool_result")


def _message_wire(message: Message | Mapping[str, Any], revision: Revision) -> dict[str, Any]:
    if isinstance(message, Message):
        wire = message.wire(revision)
    elif message.get("role") not in ("user", "assistant") or "content" not in message:
        raise InputError("a message to sample from has a role, user or assistant, and a content")
    else:
        wire = dict(message)
    if not all(isinstance(block, Mapping) and block.get("type") in _SAMPLED for block in _blocks(wire)):
        raise InputError(f"a model is sampled from content blocks of these types: {', '.join(_SAMPLED)}")
    return wire


#: The types of content that a message to sample from can have. Source: client/sampling, "Data Types".
_SAMPLED = ("text", "image", "audio", "tool_use", "tool_result")


def _blocks(message: Mapping[str, Any]) -> list[Any]:
    content = message["content"]
    return list(content) if _is_list(content) else [content]


def _check_tool_results(messages: Sequence[Mapping[str, Any]]) -> None:
    """Each use of a tool is followed by its result. Source: client/sampling, "Message Content Constraints"."""
    owed: list[Any] = []
    for message in messages:
        found = _blocks(message)
        results = [block.get("toolUseId") for block in found if block.get("type") == "tool_result"]
        if (owed or results) and (
            message["role"] != "user"
            or len(results) != len(found)
            or sorted(map(str, owed)) != sorted(map(str, results))
        ):
            raise InputError(_TOOL_RESULTS)
        owed = [block.get("id") for block in found if block.get("type") == "tool_use"]
        if owed and message["role"] != "assistant":
            raise InputError("only the assistant uses tools")
    if owed:
        raise InputError(_TOOL_RESULTS)


_TOOL_RESULTS = "each tool_use is followed by one message of the user, of nothing but its tool_result blocks"


def new_elicitation_id() -> str:
    """An id of a page to open that nobody can guess."""
    return secrets.token_urlsafe(16)


# --- capabilities ---------------------------------------------------------------------------------


def has_capability(capabilities: Mapping[str, Any], name: str) -> bool:
    """Whether a client has declared what ``name`` stands for in ``CAPABILITIES``.

    Source: client/elicitation, "Capabilities": ``elicitation: {}`` is forms only.
    """
    found: Any = capabilities
    path = CAPABILITIES[name]
    for key in path:
        if path == ("elicitation", "form") and key == "form" and "form" not in found:
            return not any(mode in found for mode in ("url",))
        found = found.get(key) if isinstance(found, Mapping) else None
        if not isinstance(found, Mapping):
            return False
    return True


def required_capabilities(names: Sequence[str]) -> dict[str, Any]:
    """The ``ClientCapabilities`` object that has no more than ``names`` ask for."""
    required: dict[str, Any] = {}
    for name in names:
        level = required
        # What has but one form is declared without saying so.
        for key in CAPABILITIES[name] if name != "elicitation" else ("elicitation",):
            level = level.setdefault(key, {})
    return required


def check_capability(capabilities: Mapping[str, Any], names: Sequence[str]) -> None:
    """Refuse to ask a client for what it has not declared.

    Raises:
        MissingCapability: It has not declared one of ``names``.
    """
    missing = [name for name in names if not has_capability(capabilities, name)]
    if missing:
        raise MissingCapability(missing, required_capabilities(missing))


class UrlElicitationRequired(MCPError):
    """The call can go on only after the user has opened some pages.

    A client of 2025-11-25 is told so with an error of its own (-32042) and calls again later; one of
    2026-07-28 is asked in a result.

    Args:
        requests: The pages.

    Source: 2025-11-25 client/elicitation, "URL Elicitation Required Error".
    """

    code = -32042
    message = "The user has to open a page first"

    def __init__(self, requests: Sequence[ElicitUrl]) -> None:
        self.requests = tuple(requests)
        super().__init__()

    def as_questions(self, revision: Revision) -> InputRequired:
        """The same in the form of questions.

        Raises:
            UrlElicitationRequired: The revision has an error for it.
            InputError: It has no words for it.
        """
        if revision.asks_in_results:
            return InputRequired({f"elicitation-{n}": request for n, request in enumerate(self.requests, 1)})
        self.data = {"elicitations": [request.params(revision) for request in self.requests]}
        raise self


# --- the explicit form ----------------------------------------------------------------------------


class InputRequired(BaseException):
    """Ends a round: the client is to answer ``requests``, then the function runs again.

    Raise or return it in a tool, a resource read or a prompt; ``ctx.input_responses`` and
    ``ctx.request_state`` have what came back. ``ctx.elicit`` and its like do all this by themselves.
    It is no ``Exception``, so that an application's ``except Exception`` cannot swallow it;
    ``finally`` blocks run.

    Args:
        requests: Key -> question.
        state: Any value with a JSON form, which comes back in that form as ``ctx.request_state``, sealed on its
            way; default: none.

    Source: basic/patterns/mrtr.
    """

    def __init__(self, requests: Mapping[str, InputRequest] | None = None, state: Any = None) -> None:
        self.requests: Mapping[str, InputRequest] = MappingProxyType(dict(requests or {}))
        self.state = state
        super().__init__("input is required")
