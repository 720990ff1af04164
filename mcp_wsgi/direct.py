"""Questions of the session era, as the function sees them: the client is asked while it waits.

Each is a request of the server's own, which a call sends by its sink; see ``questions``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mcp_wsgi.call import Call
from mcp_wsgi.inputs import ElicitUrl, InputRequest, InvalidAnswer
from mcp_wsgi.sink import Sink

__all__ = ["Direct", "note_question"]


def note_question(call: Call, request: InputRequest) -> None:
    """Remember a page that the user is to open; before it is sent, since it may be through before the answer."""
    if isinstance(request, ElicitUrl) and call.session is not None:
        call.session.note_elicitation(request.id)


class Direct:
    """A conversation of the session era: the client is asked while the function waits.

    Args:
        call: The call.
        sink: Where its questions go.
    """

    def __init__(self, call: Call, sink: Sink) -> None:
        self._call = call
        self._sink = sink
        self._steps: dict[str, Any] = {}
        self._answers: dict[str, Any] = {}
        self.responses: Mapping[str, Any] = {}
        self.state: Any = None

    def ask(self, requests: Mapping[str, InputRequest]) -> dict[str, Any]:
        """See ``Conversation``; see ``Exchange.ask`` for what it raises."""
        # A function that is run again for ``InputRequired`` has its answers at once, as in the modern era.
        missing = {key: request for key, request in requests.items() if key not in self._answers}
        if missing:
            self._answers.update(self.send(missing))
        return {key: self._answers[key] for key in requests}

    def send(self, requests: Mapping[str, InputRequest]) -> dict[str, Any]:
        """Ask, whatever was asked under these keys before; see ``ask``."""
        revision = self._call.revision
        wire = [(request.method, request.params(revision)) for request in requests.values()]
        for request in requests.values():
            note_question(self._call, request)
        return dict(zip(requests, self._sink.ask(self._call.owner(), wire), strict=True))

    def unusable(self, key: str, problem: InvalidAnswer) -> Exception:
        """See ``Conversation``."""
        return problem

    def once(self, key: str, step: Callable[[], Any]) -> Any:
        """See ``Conversation``."""
        if key not in self._steps:
            self._steps[key] = step()
        return self._steps[key]
