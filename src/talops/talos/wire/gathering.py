"""Fewer and larger writes to the wire, for either side of a connection."""

from __future__ import annotations

import asyncio
from typing import Any


class Gathering(asyncio.Transport):
    """Sends what one turn of the loop writes as one piece.

    A call writes its headers and its message separately; each is a TLS record and a system
    call, and with fifty calls in flight that is most of the time.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        super().__init__()
        self._transport = transport
        self._waiting: list[bytes] = []

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._send)
        self._waiting.append(bytes(data))

    def _send(self) -> None:
        waiting, self._waiting = self._waiting, []
        if waiting and not self._transport.is_closing():
            self._transport.write(b"".join(waiting))

    def close(self) -> None:
        self._send()
        self._transport.close()

    def abort(self) -> None:
        self._transport.abort()

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._transport.get_extra_info(name, default)
