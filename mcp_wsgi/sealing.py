"""Tamper-proof tokens: text that a client carries for us and cannot change.

A token is signed, not secret: whoever holds it can read it. Never seal what its holder may not know;
``vault`` is for that.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from typing import Any

import msgspec

from mcp_wsgi.errors import ConfigurationError, InvalidCursor

__all__ = ["MAX_TOKEN", "Cursors", "SealBroken", "Sealer", "as_json", "as_keys", "generate_key"]

#: Most characters of a token, sealed or opened.
MAX_TOKEN = 65_536

_KEY_BYTES = 32


class SealBroken(Exception):
    """A token was not made here, or was changed since.

    Attributes:
        reason: What is wrong with it, for the log; a client need not know.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class Sealer:
    """Makes and opens tokens.

    Args:
        keys: Secrets, newest first: the first signs, all of them open, so that a key can be replaced
            while tokens are out. Text counts as its UTF-8 bytes.
        salt: What the tokens are for; tokens of one salt do not open under another.

    Raises:
        ConfigurationError: No key, an empty one, or no salt.

    Source: RFC 2104 (HMAC), with SHA-256.
    """

    def __init__(self, keys: Sequence[bytes | str], *, salt: str) -> None:
        from itsdangerous import Signer

        newest_first = as_keys(keys)
        if not salt:
            raise ConfigurationError("sealing takes a salt that names what the tokens are for")
        # The library signs with the last of its keys.
        oldest_first = newest_first[::-1]
        self._signer = Signer(oldest_first, salt=salt, key_derivation="hmac", digest_method=hashlib.sha256)

    def seal(self, payload: Any) -> str:
        """Make a token of a payload.

        Args:
            payload: JSON built-ins; lists, not tuples.

        Returns:
            URL-safe ASCII text: letters, digits, ``-``, ``_`` and ``.``.

        Raises:
            ValueError: The payload is no JSON, or the token would be longer than ``MAX_TOKEN``.
        """
        from itsdangerous.encoding import base64_encode

        token = self._signer.sign(base64_encode(as_json(payload))).decode("ascii")
        if len(token) > MAX_TOKEN:
            raise ValueError(f"the payload is too large to be sealed: a token has at most {MAX_TOKEN} characters")
        return token

    def open(self, token: Any) -> Any:
        """Give back the payload of a token.

        Args:
            token: What the client sent, of any type.

        Raises:
            SealBroken: The token is not one of ours, to the letter.
        """
        from itsdangerous import BadData
        from itsdangerous.encoding import base64_decode

        if type(token) is not str or not token.isascii():
            raise SealBroken("not a token")
        # Before any work is done for it.
        if len(token) > MAX_TOKEN:
            raise SealBroken("longer than any token")
        try:
            signed = self._signer.unsign(token)
            _check_spelling(token)
            return msgspec.json.decode(base64_decode(signed))
        except BadData as problem:
            raise SealBroken(str(problem)) from None
        except msgspec.DecodeError:
            raise SealBroken("signed, but not JSON") from None


def as_keys(keys: Sequence[bytes | str]) -> list[bytes]:
    """Keys as bytes, in the same order.

    Raises:
        ConfigurationError: No key, an empty one, or one key that is not in a list.
    """
    if isinstance(keys, (bytes, str)) or not keys or not all(keys):
        raise ConfigurationError("sealing takes a list of one or more keys, none of them empty")
    return [key.encode() if isinstance(key, str) else key for key in keys]


def as_json(payload: Any) -> bytes:
    """Write what reads back as the same value.

    Raises:
        ValueError: JSON has no form for it, or only that of another value.
    """
    # What JSON lacks (NaN, bytes, number keys ...) would come back as something else: refuse it now.
    try:
        text = msgspec.json.encode(payload)
        if msgspec.json.decode(text) == payload:
            return text
    except (TypeError, ValueError, RecursionError):
        pass
    raise ValueError("only JSON can be sealed: text, finite numbers, booleans, None, lists, dicts with text keys")


def _check_spelling(token: str) -> None:
    from itsdangerous.encoding import base64_decode, base64_encode

    # Base64 can write the same signature in several ways; a token has one.
    signature = token.rpartition(".")[2].encode("ascii")
    if base64_encode(base64_decode(signature)) != signature:
        raise SealBroken("the signature is respelled")


class Cursors:
    """Pagination cursors: a place in one state of one list.

    Args:
        sealer: Signs them.

    Source: server/utilities/pagination.
    """

    def __init__(self, sealer: Sealer) -> None:
        self._sealer = sealer

    def issue(self, list_name: str, state: str, offset: int) -> str:
        """Make the cursor of a page.

        Args:
            list_name: Which list, such as ``tools``.
            state: A short digest of what the list holds.
            offset: How many items come before the page.
        """
        return self._sealer.seal([list_name, state, offset])

    def read(self, token: Any, list_name: str, state: str) -> int:
        """Give back the offset of a cursor.

        Args:
            token: What the client sent, of any type; the empty string is no cursor of ours.
            list_name: The list that is asked for.
            state: The digest of what it holds now.

        Raises:
            InvalidCursor: The cursor is forged, of another list, or the list has changed since.
        """
        try:
            payload = self._sealer.open(token)
        except SealBroken as broken:
            raise InvalidCursor from broken
        if not isinstance(payload, list) or payload[:-1] != [list_name, state]:
            raise InvalidCursor
        offset = payload[-1]
        if type(offset) is not int or offset < 0:
            raise InvalidCursor
        return offset


def generate_key() -> bytes:
    """Make a key: 32 random bytes."""
    return secrets.token_bytes(_KEY_BYTES)
