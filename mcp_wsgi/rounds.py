"""Questions of the modern era: a call ends with what it wants to know, and is made again with the answers.

The function runs again from the top, and each question that it has asked before returns at once. What
it was told in earlier rounds, and what ``once`` has kept, travels sealed in ``requestState``.

Source: basic/patterns/mrtr.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from mcp_wsgi.errors import InputError, InternalError, InvalidParams
from mcp_wsgi.inputs import InputRequest, InputRequired, InvalidAnswer
from mcp_wsgi.jsonrpc import encode
from mcp_wsgi.revisions import Revision
from mcp_wsgi.sealing import SealBroken
from mcp_wsgi.vault import StateSealer, digest

__all__ = ["MAX_ROUND_QUESTIONS", "Rounds", "States", "digest_of"]

log = logging.getLogger("mcp_wsgi")

#: Most questions of one round.
MAX_ROUND_QUESTIONS = 64

#: One flat refusal, which tells nothing of the reason.
_REFUSED = "Invalid params: the requestState is not valid here; start again without it"


class _Kept(msgspec.Struct, array_like=True):
    """What is sealed: answers and asked questions by key, each with its digest; steps; the explicit state."""

    answers: dict[str, list[Any]]  # of two: a digest and a result
    asked: dict[str, str]
    steps: dict[str, Any]
    state: Any = None


class States:
    """Seals what a conversation has to remember, and opens it.

    Args:
        sealer: Encrypts.
        claim: Marks a state as used, by its id and expiry; ``False`` if it was. ``None``: a state may
            be used more than once.
    """

    def __init__(self, sealer: StateSealer, claim: Callable[[str, float], bool] | None = None) -> None:
        self._sealer = sealer
        self._claim = claim

    def seal(self, kept: _Kept, binding: Sequence[str | None]) -> str:
        """Make the ``requestState``.

        Raises:
            ValueError: It would be too large.
        """
        return self._sealer.seal(msgspec.to_builtins(kept), binding)

    def open(self, text: Any, binding: Sequence[str | None]) -> _Kept:
        """Give back what was sealed.

        Raises:
            InvalidParams: It was not sealed here for this caller and call, or is no longer good.
        """
        try:
            opened = self._sealer.open(text, binding)
            kept = msgspec.convert(opened.value, _Kept)
        except SealBroken as broken:
            log.info("refused a requestState: %s", broken.reason)
            raise InvalidParams(_REFUSED) from None
        except msgspec.ValidationError:
            log.warning("refused a requestState: sealed by a release that writes it otherwise")
            raise InvalidParams(_REFUSED) from None
        if self._claim is not None and not self._claim(opened.id, opened.expires):
            log.info("refused a requestState: used before")
            raise InvalidParams(_REFUSED)
        return kept


class Rounds:
    """The rounds of one call so far.

    Args:
        states: Seals and opens.
        binding: What the state is good for: revision, method, arguments, caller, mount.
        params: The parameters of the request.
        revision: The revision that rules it.

    Attributes:
        responses: What the client answered in this round, as it sent it.
        state: What ``InputRequired`` was given in the round before.

    Raises:
        InvalidParams: ``requestState`` or ``inputResponses`` is malformed or not valid here.
    """

    def __init__(
        self, states: States, binding: Sequence[str | None], params: Mapping[str, Any], revision: Revision
    ) -> None:
        self._states = states
        self._binding = binding
        self._revision = revision
        responses = params.get("inputResponses")
        if responses is None:
            responses = {}
        # Before the state is opened, which may be good for one time only.
        if type(responses) is not dict:
            raise InvalidParams('Invalid params: "inputResponses" must be an object')
        sealed = params.get("requestState")
        self._kept = _Kept({}, {}, {}) if sealed is None else states.open(sealed, binding)
        self.responses: Mapping[str, Any] = responses
        self.state = self._kept.state

    def ask(self, requests: Mapping[str, InputRequest]) -> dict[str, Any]:
        """The raw answers to some questions.

        Raises:
            InputRequired: There is one without an answer; what unwinds the function.
            InvalidParams: An answer is malformed.
            RuntimeError: Another question was asked under that key before: the function does not
                ask the same in each round.
        """
        kept, missing, found = self._kept, {}, {}
        for key, request in requests.items():
            digest = _digest(_wire(request, self._revision))
            self._check_replay(key, digest)
            if key in kept.answers:
                found[key] = kept.answers[key][1]
            elif type(self.responses.get(key)) is dict:
                found[key] = self.responses[key]
                kept.answers[key] = [digest, found[key]]
            elif key in self.responses and self.responses[key] is not None:
                raise InvalidParams(f'Invalid params: "inputResponses.{key}" must be an object')
            else:
                missing[key] = request
        if missing:
            # Who mixes both forms keeps what the explicit one was given.
            raise InputRequired(missing, self.state)
        return found

    def _check_replay(self, key: str, digest: str) -> None:
        before = self._kept.answers.get(key, [None])[0] or self._kept.asked.get(key)
        if before is not None and before != digest:
            raise RuntimeError(
                f"another question was asked under the key {key!r} in an earlier round. The function runs again "
                "from the top in each round and has to ask the same again: keep what changes with ctx.once, or "
                "give each question a key of its own"
            )

    def unusable(self, key: str, problem: InvalidAnswer) -> Exception:
        """What to raise for an answer that is not what was asked for."""
        return InvalidParams(f'Invalid params: "inputResponses.{key}": {problem}')

    def once(self, key: str, step: Callable[[], Any]) -> Any:
        """The result of a step, which runs in the first round only that comes to it."""
        steps = self._kept.steps
        if key not in steps:
            steps[key] = step()
        return steps[key]

    def result(self, required: InputRequired) -> dict[str, Any]:
        """The ``InputRequiredResult`` that ends this round.

        Raises:
            MCPError: What is asked, or has to be kept, is too much.
        """
        requests = required.requests
        if len(requests) > MAX_ROUND_QUESTIONS:
            raise InternalError(f"A round has at most {MAX_ROUND_QUESTIONS} questions")
        try:
            wire = {key: _wire(request, self._revision) for key, request in requests.items()}
        except InputError as problem:
            raise InternalError(str(problem)) from problem
        asked = {key: _digest(question) for key, question in wire.items()}
        kept = msgspec.structs.replace(self._kept, asked=asked, state=required.state)
        result: dict[str, Any] = {"inputRequests": wire} if wire else {}
        result["requestState"] = self._states.seal(kept, self._binding)
        return result


def digest_of(params: Mapping[str, Any]) -> str:
    """What identifies the parameters of a call in all its rounds."""
    return digest(params, _ROUND_PARAMS)


#: What differs from round to round. Source: basic/patterns/mrtr, "Basic Workflow".
_ROUND_PARAMS = frozenset({"_meta", "inputResponses", "requestState"})


def _wire(request: InputRequest, revision: Revision) -> dict[str, Any]:
    return {"method": request.method, "params": request.params(revision)}


def _digest(wire: Mapping[str, Any]) -> str:
    # The id of a page is made anew in each round, and is not sent here.
    return hashlib.blake2b(encode(wire), digest_size=12).hexdigest()
