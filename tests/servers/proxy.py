"""A TCP proxy in front of a server, that cuts connections where it is told to."""

from __future__ import annotations

import re
import socket
import threading
from contextlib import closing, suppress
from dataclasses import dataclass

from tests.servers.running import BOUND

__all__ = ["Cut", "Proxy"]


@dataclass(frozen=True)
class Cut:
    """Where one connection ends.

    Attributes:
        behind: Matches the bytes to the client up to the cut.
        extra: How many bytes more get through.
        unseen: Whether the server is left with a connection that looks alive.
    """

    behind: bytes
    extra: int = 0
    unseen: bool = False

    def place(self, sent: bytes) -> int | None:
        """How many of the bytes get through; ``None``: all."""
        found = re.search(self.behind, sent, re.DOTALL)
        if found is None or len(sent) < found.end() + self.extra:
            return None
        return found.end() + self.extra

    @classmethod
    def after_events(cls, count: int, *, extra: int = 0, unseen: bool = False) -> Cut:
        """Behind so many events of a stream; the head always gets through."""
        return cls(rb"\A.*?\r\n\r\n(?:.*?\ndata:[^\n]*\n\n){%d}" % count, extra, unseen)

    @classmethod
    def after_bytes(cls, count: int) -> Cut:
        """Behind the head and so many bytes of the body as it is on the wire."""
        return cls(rb"\A.*?\r\n\r\n.{%d}" % count)


class Proxy(closing["Proxy"]):
    """Passes bytes on until a cut.

    Args:
        port: Where the server listens.

    Attributes:
        port: Where the proxy listens.
    """

    def __init__(self, port: int) -> None:
        super().__init__(self)
        self._upstream = port
        self._lock = threading.Lock()
        self._cuts: list[Cut] = []
        self._done = threading.Semaphore(0)
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def arm(self, cut: Cut) -> None:
        """Cut the next connection that gets so far; several cuts are made one after the other."""
        with self._lock:
            self._cuts.append(cut)

    def wait(self) -> None:
        """Wait for a cut that was armed."""
        assert self._done.acquire(timeout=BOUND), "nothing was cut"

    def close(self) -> None:
        """Cut everything and take nothing more."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            sockets = list(self._open)
        _end(*sockets)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._upstream))
                with self._lock:
                    self._open |= {client, server}
                threading.Thread(target=self._up, args=(client, server), daemon=True).start()
                threading.Thread(target=self._down, args=(client, server), daemon=True).start()

    def _up(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(65536):
                server.sendall(data)
        # A client that says no more may still read; a server is told only of one that has gone.
        if client in self._open:
            with suppress(OSError):
                server.shutdown(socket.SHUT_WR)

    def _down(self, client: socket.socket, server: socket.socket) -> None:
        sent = b""
        unseen = False
        with suppress(OSError):
            while data := server.recv(65536):
                cut = self._due(sent + data)
                if cut is not None:
                    client.sendall((sent + data)[len(sent) : cut.place(sent + data)])
                    unseen = cut.unseen
                    self._done.release()
                    break
                client.sendall(data)
                sent += data
        with self._lock:
            self._open.discard(client)
            if not unseen:
                self._open.discard(server)
        _end(*((client,) if unseen else (client, server)))

    def _due(self, sent: bytes) -> Cut | None:
        with self._lock:
            if self._cuts and self._cuts[0].place(sent) is not None:
                return self._cuts.pop(0)
        return None


def _end(*sockets: socket.socket) -> None:
    for end in sockets:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()
