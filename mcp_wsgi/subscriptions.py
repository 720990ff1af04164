"""The streams of ``subscriptions/listen`` in one process: who listens, to what, and what waits for them.

A stream is owed facts ("the tools have changed"), not a history: equal notices that nobody has read
yet are one. So a client that reads slowly holds little and still misses nothing, and a publisher
never waits. Whatever is counted as reached is sent, unless the client goes away.

A subscription to a URI is one to what lies below its path, too: ``file:///a`` hears of
``file:///a/b``. Of a client that has ``MAX_UNREAD`` notices unread, it then hears as ``file:///a``.
"""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Callable, Generator, Hashable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from mcp_wsgi.errors import InvalidParams, InvalidRequest, Overloaded
from mcp_wsgi.jsonrpc import Id, encode, encode_notification, encode_result
from mcp_wsgi.revisions import META_SUBSCRIPTION_ID
from mcp_wsgi.uris import check_uri, is_uri
from mcp_wsgi.workers import Budget, Signal

__all__ = [
    "MAX_ID_BYTES",
    "MAX_UNREAD",
    "MAX_URIS",
    "MAX_URI_BYTES",
    "Filter",
    "Kind",
    "Listener",
    "Listeners",
    "within",
]

Kind = Literal["tools", "prompts", "resources"]


#: Most URIs of one stream.
MAX_URIS = 256
#: Most bytes of all URIs of one stream.
MAX_URI_BYTES = 32 * 1024
#: Longest id of a stream: it is kept as long as the stream, and sent with each message.
MAX_ID_BYTES = 1024
#: Unread notices of one stream above which a resource is told of by the URI that was subscribed to.
MAX_UNREAD = 256

# Field of the filter -> the list that it is about. Source: schema, ``SubscriptionFilter``.
_LISTS: Mapping[str, Kind] = {
    "toolsListChanged": "tools",
    "promptsListChanged": "prompts",
    "resourcesListChanged": "resources",
}


class Filter(msgspec.Struct, frozen=True):
    """What a stream is to be told.

    Attributes:
        lists: The lists whose changes it is told.
        uris: The resources whose updates it is told.
    """

    lists: frozenset[Kind]
    uris: frozenset[str]

    @classmethod
    def parse(cls, params: Mapping[str, Any], honoured: frozenset[str]) -> Filter:
        """Read the parameters of ``subscriptions/listen`` and drop what is not honoured.

        Args:
            params: The request's parameters.
            honoured: The features that the server offers, of which ``tools``, ``prompts`` and
                ``resources`` count.

        Raises:
            InvalidParams: ``notifications`` is missing, something has the wrong type, or there are
                more URIs than ``MAX_URIS`` or ``MAX_URI_BYTES``.

        Source: basic/patterns/subscriptions, "Opening a Stream".
        """
        wanted = params.get("notifications")
        if type(wanted) is not dict:
            raise InvalidParams('Invalid params: "notifications" must be an object')
        lists = frozenset(kind for field, kind in _LISTS.items() if _flag(wanted, field) and kind in honoured)
        uris = _uris(wanted.get("resourceSubscriptions"))
        return cls(lists, uris if "resources" in honoured else frozenset())

    def wire(self) -> dict[str, Any]:
        """The ``SubscriptionFilter`` that acknowledges it."""
        wire: dict[str, Any] = {field: True for field, kind in _LISTS.items() if kind in self.lists}
        if self.uris:
            wire["resourceSubscriptions"] = sorted(self.uris)
        return wire


def _flag(wanted: Mapping[str, Any], field: str) -> bool:
    value = wanted.get(field)
    if value is None or type(value) is bool:
        return bool(value)
    raise InvalidParams(f'Invalid params: "notifications.{field}" must be true or false')


def _uris(given: Any) -> frozenset[str]:
    if given is None:
        return frozenset()
    if type(given) is not list or not all(type(uri) is str for uri in given):
        raise InvalidParams('Invalid params: "notifications.resourceSubscriptions" must be an array of URIs')
    if len(given) > MAX_URIS or sum(map(len, given)) > MAX_URI_BYTES:
        raise InvalidParams(
            f'Invalid params: "notifications.resourceSubscriptions" may have {MAX_URIS} URIs '
            f"and {MAX_URI_BYTES} bytes; open another stream for more"
        )
    # What is no URI is a resource that nobody has: reading it is "not found", and it is not honoured.
    return frozenset(filter(is_uri, given))


# --- notices --------------------------------------------------------------------------------------


class _Notice(NamedTuple):
    """A notification without the stream's tag; equal ones are one."""

    method: bytes
    fields: bytes = b""

    def encode(self, identity: bytes) -> bytes:
        return b'{"jsonrpc":"2.0","method":"%b","params":{"_meta":{"%b":%b}%b}}' % (
            self.method,
            META_SUBSCRIPTION_ID.encode(),
            identity,
            self.fields,
        )


_LIST_CHANGED: Mapping[Kind, _Notice] = {
    kind: _Notice(f"notifications/{kind}/list_changed".encode()) for kind in _LISTS.values()
}


def _updated(uri: str) -> _Notice:
    return _Notice(b"notifications/resources/updated", b',"uri":' + encode(uri))


def within(uri: str) -> Iterator[str]:
    """The URIs whose subscribers hear of ``uri``, the nearest first: itself, and each that its path lies in."""
    yield uri
    end = len(re.split("[?#]", uri, maxsplit=1)[0])
    start = uri.index(":") + 1
    if uri.startswith("//", start):
        start += 2
    while (end := uri.rfind("/", start, end)) >= 0:
        yield uri[: end + 1]
        yield uri[:end]


# --- streams --------------------------------------------------------------------------------------

_OVER: Any = object()


class Listeners:
    """The open streams of one application in one process; safe from any thread or greenlet.

    Args:
        limit_per_principal: Streams that one principal may have open.
        budget: Streams that may be open in all, of this kind and others.
        event: Makes the event that one stream waits for, on the thread that will wait.
        clock: Monotonic seconds.
        guard: Makes a lock for a few steps that neither block nor switch.
        result_meta: What ``_meta`` of the final result holds besides the tag.
    """

    def __init__(
        self,
        limit_per_principal: int,
        budget: Budget,
        event: Callable[[], Signal],
        clock: Callable[[], float],
        *,
        guard: Callable[[], Any] = threading.Lock,
        result_meta: Mapping[str, Any] | None = None,
    ) -> None:
        self.limit_per_principal = limit_per_principal
        self.budget = budget
        self.event = event
        self.clock = clock
        self.result_meta = dict(result_meta or {})
        self.guard = guard()
        self._open: dict[Listener, None] = {}
        self._counts: dict[Hashable, int] = {}
        self._left: deque[Listener] = deque()
        self._closed = False

    def open(self, request_id: Id, wanted: Filter, principal_key: Hashable) -> Listener:
        """Register a stream; from now on it misses nothing.

        Args:
            request_id: The id of the listen request, which becomes that of the subscription.
            wanted: What it is to be told.
            principal_key: Whose stream it is; ``None``: nobody's in particular, so that only ``limit`` holds.

        Raises:
            Overloaded: A limit is reached, or the server is shutting down.
            InvalidRequest: The id is longer than ``MAX_ID_BYTES``.
        """
        listener = Listener(self, request_id, wanted, principal_key)
        try:
            with self.guard:
                self._forget_left()
                self._admit(listener)
        finally:
            self._sweep()
        return listener

    def _admit(self, listener: Listener) -> None:
        if self._closed:
            raise Overloaded("Overloaded: the server is shutting down", retry_after=Overloaded.LATER)
        key = listener.principal_key
        count = self._counts.get(key, 0)
        if key is not None and count >= self.limit_per_principal:
            raise Overloaded(f"Overloaded: {count} of your subscriptions are open", retry_after=Overloaded.LATER)
        if not self.budget.take():
            raise Overloaded("Overloaded: too many streams are open", retry_after=Overloaded.LATER)
        if key is not None:
            self._counts[key] = count + 1
        self._open[listener] = None

    def publish(self, kind: Kind) -> int:
        """Tell that a list has changed.

        Returns:
            How many streams are told.

        Source: server/tools, "List Changed Notification", and its like for prompts and resources.
        """
        notice = _LIST_CHANGED[kind]
        return self._tell(lambda listener: listener.put(notice) if kind in listener.wanted.lists else False)

    def publish_update(self, uri: str) -> int:
        """Tell that a resource has changed: who subscribed to it, or to what its path lies in.

        Returns:
            How many streams are told.

        Raises:
            ValueError: It is no URI.

        Source: schema, ``ResourceUpdatedNotification``.
        """
        check_uri(uri, error=ValueError)
        notices = {subscribed: _updated(subscribed) for subscribed in within(uri)}
        notice = notices[uri]

        def put(listener: Listener) -> bool:
            uris = listener.wanted.uris
            if uris.isdisjoint(notices):
                return False
            nearest = next(subscribed for subscribed in notices if subscribed in uris)
            return listener.put(notice, notices[nearest])

        return self._tell(put)

    def close(self) -> None:
        """End each stream with its result, as soon as it has been read so far; no other is opened."""
        self._closed = True
        self._tell(lambda listener: listener.put(None))

    def __len__(self) -> int:
        with self.guard:
            self._forget_left()
            count = len(self._open)
        self._sweep()
        return count

    def _tell(self, put: Callable[[Listener], bool]) -> int:
        with self.guard:
            self._forget_left()
            reached = [listener for listener in self._open if put(listener)]
        self._sweep()
        for listener in reached:
            listener.wake()
        return len(reached)

    # A stream may be dropped by the garbage collector, and so in the midst of any step of the thread
    # that holds the guard. It must neither wait for the guard then nor change what that thread walks over.

    def leave(self, listener: Listener) -> None:
        """Forget a stream, now or when the guard is next free; never waits."""
        self._left.append(listener)
        self._sweep()

    def _sweep(self) -> None:
        # Whoever finds the guard taken leaves the work to its holder, who looks here afterwards.
        while self._left and self.guard.acquire(blocking=False):
            try:
                self._forget_left()
            finally:
                self.guard.release()

    def _forget_left(self) -> None:
        while self._left:
            listener = self._left.popleft()
            if self._open.pop(listener, _OVER) is _OVER:
                continue
            self.budget.give()
            key = listener.principal_key
            if key is not None:
                self._counts[key] -= 1
                if not self._counts[key]:
                    del self._counts[key]


class Listener:
    """One stream; made by ``Listeners.open``, and open until its messages end or ``close``.

    Attributes:
        request_id: The id of the listen request and of the subscription.
        wanted: What it is told.
        principal_key: Whose it is.
    """

    __slots__ = (
        "__weakref__",
        "_ending",
        "_event",
        "_identity",
        "_listeners",
        "_unread",
        "principal_key",
        "request_id",
        "wanted",
    )

    def __init__(self, listeners: Listeners, request_id: Id, wanted: Filter, principal_key: Hashable) -> None:
        self._listeners = listeners
        self._identity = encode(request_id)
        if len(self._identity) > MAX_ID_BYTES:
            raise InvalidRequest(f"Invalid request: the id of a subscription has at most {MAX_ID_BYTES} bytes")
        self._event: Signal | None = None
        self._ending = False
        # In the order of publishing; none while there is none, which is nearly always.
        self._unread: dict[_Notice, None] | None = None
        self.request_id = request_id
        self.wanted = wanted
        self.principal_key = principal_key

    # --- the publisher's side ---------------------------------------------------------------------

    def put(self, notice: _Notice | None, instead: _Notice | None = None) -> bool:
        """Keep a notice until it is read; called with the guard held, ``wake`` has to follow.

        Args:
            notice: The notice; ``None``: there will be no other.
            instead: What takes its place if too many are unread.

        Returns:
            Whether the stream still took it.
        """
        if self._ending:
            return False
        if notice is None:
            self._ending = True
            return True
        unread = self._unread
        if unread is None:
            unread = self._unread = {}
        if instead is not None and len(unread) >= MAX_UNREAD and notice not in unread:
            notice = instead
        unread[notice] = None
        return True

    def wake(self) -> None:
        """Let the reader look again."""
        if self._event is not None:
            self._event.set()

    # --- the reader's side ------------------------------------------------------------------------

    def messages(self, keepalive: float, lifetime: float) -> Generator[bytes | None, None, None]:
        """The acknowledgement, the notices, the result; ``None`` is the time for a keep-alive.

        A generator that is dropped, even one that nobody has begun to read, closes the stream.

        Args:
            keepalive: Seconds without a message after which ``None`` is given.
            lifetime: Seconds, from now, after which the stream ends with its result.

        Source: basic/patterns/subscriptions, "Acknowledgment" and "Graceful Closure".
        """
        event = self._event = self._listeners.event()
        messages = self._messages(event, keepalive, self._listeners.clock() + lifetime)
        # Only a generator that has begun runs its ``finally``.
        next(messages)
        return messages

    def _messages(self, event: Signal, keepalive: float, end: float) -> Generator[bytes | None, None, None]:
        clock = self._listeners.clock
        try:
            yield None
            yield self._acknowledgement()
            due = clock() + keepalive
            while (notice := self._take(event, over=(now := clock()) >= end)) is not _OVER:
                if notice is None and now < due:
                    event.wait(min(due, end) - now)
                    continue
                yield notice and notice.encode(self._identity)
                due = clock() + keepalive
            yield self._result()
        finally:
            # It may be the garbage collector that ends this, in the midst of anything: nobody is woken.
            self._listeners.leave(self)

    def _take(self, event: Signal, *, over: bool) -> Any:
        """The oldest unread notice, ``None`` if there is none yet, ``_OVER`` if there will be none."""
        with self._listeners.guard:
            # From here on the stream takes no other, so that a busy publisher cannot keep it open.
            self._ending |= over
            unread = self._unread
            if unread:
                notice = next(iter(unread))
                del unread[notice]
                return notice
            self._unread = None
            if self._ending:
                return _OVER
            # Who publishes after this sets the event after this.
            event.clear()
            return None

    def _acknowledgement(self) -> bytes:
        params = {"_meta": {META_SUBSCRIPTION_ID: self.request_id}, "notifications": self.wanted.wire()}
        return encode_notification("notifications/subscriptions/acknowledged", params)

    def _result(self) -> bytes:
        meta = {**self._listeners.result_meta, META_SUBSCRIPTION_ID: self.request_id}
        return encode_result(self.request_id, encode({"resultType": "complete", "_meta": meta}))

    def close(self) -> None:
        """Forget the stream; whoever still reads it gets what is unread and the result."""
        self._ending = True
        self._listeners.leave(self)
        self.wake()
