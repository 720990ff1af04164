"""How a call asks its client: each question under a key of its own, and each answer as a value.

A question travels in the way of its era, which is all that a ``Conversation`` knows. What is the same
in both is the ``Interview``: which key a question has, and whether the client takes it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from mcp_wsgi.call import Call
from mcp_wsgi.direct import Direct
from mcp_wsgi.errors import MissingCapability
from mcp_wsgi.inputs import InputRequest, InvalidAnswer, check_capability
from mcp_wsgi.rounds import Rounds, States
from mcp_wsgi.schema import to_json
from mcp_wsgi.sink import Sink

__all__ = ["Conversation", "Interview", "check_question", "open_conversation"]

log = logging.getLogger("mcp_wsgi")


class Conversation(Protocol):
    """How a call asks its client, in either era.

    Attributes:
        responses: What the client has answered to an ``InputRequired``, as it sent it.
        state: What that was given.
    """

    responses: Mapping[str, Any]
    state: Any

    def ask(self, requests: Mapping[str, InputRequest]) -> dict[str, Any]:
        """The client's results, as it sent them."""

    def unusable(self, key: str, problem: InvalidAnswer) -> Exception:
        """What to raise for a result that is not what was asked for."""

    def once(self, key: str, step: Callable[[], Any]) -> Any:
        """The result of a step that runs once."""


def open_conversation(call: Call, sink: Sink, states: States | None) -> Conversation:
    """How the client of a call is asked.

    Args:
        call: The call.
        sink: Where questions go that are asked while the function waits.
        states: Seals what a conversation in rounds has to remember; ``None``: there are no rounds.

    Raises:
        InvalidParams: What the request brings of earlier rounds is not valid here.
    """
    if call.revision.asks_in_results and states is not None:
        return Rounds(states, call.binding(), call.params, call.revision)
    return Direct(call, sink)


def check_question(call: Call, request: InputRequest) -> None:
    """Refuse a question that the client of a call has not declared to take.

    Raises:
        MissingCapability: It has not.
    """
    if request.method.startswith("elicitation/") and not call.revision.elicitation:
        raise MissingCapability(["elicitation"], {"elicitation": {}})
    if call.session is None and not call.revision.modern:
        log.info("a client without a session cannot be asked: use sessions=True, or set a secret_key")
    check_capability(call.client.capabilities, request.needs())


class Interview:
    """What one function asks, on its way from the top to its end.

    Args:
        call: The call.
        conversation: How its client is asked.
    """

    def __init__(self, call: Call, conversation: Conversation) -> None:
        self._call = call
        self.conversation = conversation
        self._claimed: set[str] = set()
        self._unnamed: dict[str, int] = {}

    def restart(self) -> None:
        """Forget which questions were asked, since the function runs again from the top."""
        self._claimed.clear()
        self._unnamed.clear()

    def key(self, kind: str) -> str:
        """The key of a question that was given none: by its order among those of its kind."""
        number = self._unnamed[kind] = self._unnamed.get(kind, 0) + 1
        return f"{kind}-{number}"

    def ask(self, requests: Mapping[str, InputRequest]) -> dict[str, Any]:
        """Ask questions at once, and read the answers.

        Args:
            requests: Key -> question.

        Returns:
            Key -> what the answer says.

        Raises:
            MissingCapability: The client has not declared that it can be asked.
            InputError: It answered with an error, not in time, or with what does not fit.
            InputRequired: The call ends here, and the function runs again with the answers.
            RuntimeError: A key was used before.
        """
        for request in requests.values():
            check_question(self._call, request)
        for key in requests:
            self._claim(key)
        raw = self.conversation.ask(requests)
        answers = {}
        for key, request in requests.items():
            try:
                answers[key] = request.read(raw[key])
            except InvalidAnswer as problem:
                raise self.conversation.unusable(key, problem) from None
        return answers

    def once(self, key: str, step: Callable[[], Any]) -> Any:
        """The result of a step that runs once, in its JSON form."""
        return self.conversation.once(key, lambda: to_json(step()))

    def _claim(self, key: str) -> None:
        if key in self._claimed:
            raise RuntimeError(f"two questions have the key {key!r}; in a loop, make the key of what differs")
        self._claimed.add(key)
