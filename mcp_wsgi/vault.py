"""Secret, tamper-proof state that a client carries for us between the rounds of one request.

A sealed state is AES-256-GCM under a key of its own, which HKDF-SHA256 derives from the
application's key and a random salt. What that answers:

* **Not Fernet**: it has no associated data, so what a state is bound to would have to be packed
  beside the content and compared by hand. It tells when it was made, and it is AES-128.
* **Not AES-GCM under the application's key**: random nonces of 96 bits may repeat after some 2^32
  messages, and one repetition gives the authentication away. Here a salt of 192 bits makes a fresh
  key, which encrypts one message; the nonce is derived with it.
* **Not AES-GCM-SIV**: it forgives a repeated nonce, but needs OpenSSL 3.2, which many systems lack.
  ChaCha20-Poly1305 has the short nonce too, and is not to be had where FIPS rules.

Beside the key comes a key check, which stands in the clear. It says which of the application's keys
fits, a different text each time, so that no two states can be told to have the same key, and it
keeps one state from opening under two keys, which GCM alone would let happen.

Nothing is compressed: a state mixes what the client chose with what it may not read, and the length
of the compressed text would tell, guess by guess, whether the two are alike. Lengths do show.

The bytes, before base64: a version, the salt, the key check; then, encrypted, the expiry and JSON.

Sources: NIST SP 800-38D (AES-GCM), RFC 5116 (AEAD), RFC 5869 (HKDF), RFC 4648, section 5 (base64url).
"""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
import struct
from collections.abc import Callable, Container, Mapping, Sequence
from hmac import compare_digest
from math import isfinite
from typing import Any

import msgspec

from mcp_wsgi.errors import ConfigurationError
from mcp_wsgi.sealing import SealBroken, as_json, as_keys

__all__ = ["MAX_STATE", "Opened", "StateSealer", "digest"]

#: Most characters of a sealed state.
MAX_STATE = 65_536

_FORMAT = b"\x01"
# The keys sign other things too; none of those derives from this label, nor does another format.
_LABEL = b"mcp_wsgi.state" + _FORMAT
_SALT_BYTES = 24
_CHECK_BYTES = 16
_KEY_BYTES = 32
_NONCE_BYTES = 12
_TAG_BYTES = 16
_EXPIRY = struct.Struct(">d")
_LENGTH = struct.Struct(">q")
_LEAST_BYTES = len(_FORMAT) + _SALT_BYTES + _CHECK_BYTES + _EXPIRY.size + _TAG_BYTES
_ALPHABET = re.compile(r"[A-Za-z0-9_-]+")


class Opened(msgspec.Struct, frozen=True):
    """What was in a sealed state.

    Attributes:
        value: What was sealed.
        id: A text that no other sealed state has, the same each time this one is opened. A store
            that remembers it enforces single use.
        expires: Until when it opens, in seconds since the epoch; a store may forget the id then.
    """

    value: Any
    id: str
    expires: float


class StateSealer:
    """Seals states and opens them.

    Args:
        keys: Secrets, newest first: the first seals, all of them open, so that a key can be replaced
            while states are out. Text counts as its UTF-8 bytes. They have to be random, not
            passwords: nothing here slows down guessing.
        ttl: Seconds until a state opens no more. Its end is fixed, and sealed in, when it is made: a
            clock that is put back gives it those seconds more and nothing else does.
        clock: Seconds since the epoch.
        random_bytes: Returns that many bytes, fit for cryptography.
        max_size: Most characters of a sealed state.

    Raises:
        ConfigurationError: No key, an empty one, or a ``ttl`` that is no time.
    """

    def __init__(
        self,
        keys: Sequence[bytes | str],
        *,
        ttl: float,
        clock: Callable[[], float],
        random_bytes: Callable[[int], bytes] = secrets.token_bytes,
        max_size: int = MAX_STATE,
    ) -> None:
        if not (isfinite(ttl) and ttl > 0):
            raise ConfigurationError(f"sealing takes a ttl of more than 0 seconds, not {ttl!r}")
        self._keys = as_keys(keys)
        self._ttl = ttl
        self._clock = clock
        self._random_bytes = random_bytes
        self._max_size = max_size

    def seal(self, value: Any, binding: Sequence[str | None]) -> str:
        """Seal a state.

        Args:
            value: JSON built-ins; lists, not tuples.
            binding: What the state is for, such as method and principal. It opens for the same parts
                in the same order only; ``None`` is not the empty text.

        Returns:
            URL-safe ASCII text: letters, digits, ``-`` and ``_``.

        Raises:
            ValueError: The value is no JSON, or the text would be longer than ``max_size``.
        """
        content = _EXPIRY.pack(self._clock() + self._ttl) + as_json(value)
        salt = self._random_bytes(_SALT_BYTES)
        derived = _Derived(self._keys[0], salt)
        text = _spelled(_FORMAT + salt + derived.check + derived.encrypt(content, _associated(binding)))
        if len(text) > self._max_size:
            raise ValueError(f"the state is too large to be sealed: at most {self._max_size} characters")
        return text

    def open(self, text: Any, binding: Sequence[str | None]) -> Opened:
        """Give back what was sealed.

        Args:
            text: What the client sent, of any type.
            binding: What it has to have been sealed for.

        Raises:
            SealBroken: It is not a state of ours, to the letter, for this binding, and still alive.
                The reason is for the log: it would tell a forger how far a forgery came.
        """
        raw = self._read(text)
        salt, check, sealed = _split(raw, len(_FORMAT), _SALT_BYTES, _CHECK_BYTES)
        content = self._fitting(salt, check).decrypt(sealed, _associated(binding))
        (expires,) = _EXPIRY.unpack_from(content)
        # Asked this way round, a clock that is no number opens nothing.
        if not self._clock() < expires:
            raise SealBroken("expired")
        try:
            value = msgspec.json.decode(content[_EXPIRY.size :])
        except (msgspec.DecodeError, UnicodeError):
            raise SealBroken("sealed, but not JSON") from None
        except RecursionError:
            # It was sealed where more of the stack was left.
            raise SealBroken("nested too deeply to be read here") from None
        return Opened(value, _spelled(salt), expires)

    def _read(self, text: Any) -> bytes:
        if type(text) is not str:
            raise SealBroken("not text")
        # Before any work is done for it.
        if len(text) > self._max_size:
            raise SealBroken("longer than any sealed state")
        if not _ALPHABET.fullmatch(text):
            raise SealBroken("not base64url")
        try:
            raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        except ValueError:
            raise SealBroken("not base64url") from None
        # The last character has bits to spare; a sealed state has one spelling.
        if _spelled(raw) != text:
            raise SealBroken("the base64 is respelled")
        if len(raw) < _LEAST_BYTES:
            raise SealBroken("shorter than any sealed state")
        if not raw.startswith(_FORMAT):
            raise SealBroken("of an unknown format")
        return raw

    def _fitting(self, salt: bytes, check: bytes) -> _Derived:
        # All are tried, so that the time does not tell how old the key is.
        tried = [_Derived(key, salt) for key in self._keys]
        fitting = [derived for derived in tried if compare_digest(derived.check, check)]
        if not fitting:
            raise SealBroken("sealed with an unknown key, or changed")
        return fitting[0]


class _Derived:
    """What comes of one key and one salt; good for one message."""

    __slots__ = ("_key", "_nonce", "check")

    def __init__(self, key: bytes, salt: bytes) -> None:
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        length = _CHECK_BYTES + _NONCE_BYTES + _KEY_BYTES
        derived = HKDF(SHA256(), length, salt, _LABEL).derive(key)
        self.check, self._nonce, self._key = _split(derived, 0, _CHECK_BYTES, _NONCE_BYTES)

    def encrypt(self, content: bytes, associated: bytes) -> bytes:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        return AESGCM(self._key).encrypt(self._nonce, content, associated)

    def decrypt(self, sealed: bytes, associated: bytes) -> bytes:
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        try:
            return AESGCM(self._key).decrypt(self._nonce, sealed, associated)
        except InvalidTag:
            raise SealBroken("sealed for something else, or changed") from None


def _split(raw: bytes, start: int, first: int, second: int) -> tuple[bytes, bytes, bytes]:
    middle = start + first
    end = middle + second
    return raw[start:middle], raw[middle:end], raw[end:]


def _spelled(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode("ascii").rstrip("=")


def _associated(binding: Sequence[str | None]) -> bytes:
    # Each part behind its length: no two bindings are written alike, whatever their parts contain.
    if isinstance(binding, str):
        raise TypeError("a binding is a list of texts, not one text")
    parts = []
    for part in binding:
        if part is None:
            parts.append(_LENGTH.pack(-1))
        else:
            written = part.encode("utf-8", "surrogatepass")
            parts += [_LENGTH.pack(len(written)), written]
    return b"".join(parts)


def digest(params: Mapping[str, Any], leave_out: Container[str] = ()) -> str:
    """The digest of a request's parameters: equal for equal JSON, whatever the order of names.

    Values are equal that are written alike: ``1``, ``1.0``, ``"1"`` and ``true`` are four.

    Args:
        params: As they came off the wire.
        leave_out: Names, at the top alone, that do not count.

    Returns:
        64 hexadecimal digits (SHA-256).

    Raises:
        ValueError: A text in it is no Unicode; nothing that came off the wire has such.
    """
    salient = {name: value for name, value in params.items() if name not in leave_out}
    return hashlib.sha256(msgspec.json.encode(salient, order="sorted")).hexdigest()
