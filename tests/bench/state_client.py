"""The least a client of the state protocol can be, so that the cores are the server's."""

from __future__ import annotations

import base64
import hashlib
import os
import socket
from dataclasses import dataclass, field

MB = 1024 * 1024


@dataclass(frozen=True)
class Body:
    data: bytes = field(repr=False)
    headers: str


def body_of(size: int) -> Body:
    """A state of the same serial as every other, with content of its own that does not compress."""
    filler = base64.b64encode(os.urandom(size * 3 // 4))
    data = b'{"version":4,"serial":1,"lineage":"bench","x":"%s"}' % filler
    digest = base64.b64encode(hashlib.md5(data).digest()).decode()
    return Body(data, f"Content-MD5: {digest}\r\n")


class Connection:
    def __init__(self, port: int, path: str, authorization: str) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._path = path
        self._fixed = f"Host: bench\r\nAuthorization: {authorization}\r\n"
        self._buffer = bytearray(MB)

    def cycle(self, lock_id: str, body: Body) -> None:
        lock = b'{"ID":"%s","Who":"bench","Operation":"bench"}' % lock_id.encode()
        self.ask("LOCK", body=lock)
        self.ask("GET")
        self.ask("POST", f"?ID={lock_id}", body.data, body.headers)
        self.ask("UNLOCK", body=lock)

    def ask(self, method: str, query: str = "", body: bytes = b"", headers: str = "") -> None:
        start = (
            f"{method} {self._path}{query} HTTP/1.1\r\n{self._fixed}{headers}"
            f"Content-Length: {len(body)}\r\n\r\n"
        ).encode()
        if len(body) < MB:
            self._socket.sendall(start + body)
        else:
            self._socket.sendall(start)
            self._socket.sendall(body)
        status = self._answer()
        if status not in {200, 404}:
            raise RuntimeError(f"{method} was answered with {status}")

    def _answer(self) -> int:
        count = self._socket.recv_into(self._buffer)
        while (end := self._buffer.find(b"\r\n\r\n", 0, count)) < 0:
            more = self._socket.recv_into(memoryview(self._buffer)[count:])
            if not more:
                raise RuntimeError("the server hung up")
            count += more
        head = bytes(self._buffer[:end]).lower()
        length = int(head.split(b"content-length: ")[1].split(b"\r\n")[0])
        left = length - (count - end - 4)
        while left > 0:
            more = self._socket.recv_into(self._buffer, min(left, MB))
            if not more:
                raise RuntimeError("the server hung up")
            left -= more
        return int(head[9:12])
