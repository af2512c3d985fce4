"""One call over gRPC, whose messages are limited in size before they are read."""

from __future__ import annotations

from typing import Any, TypeVar

from grpclib.client import Stream

from talops.talos.errors import CallFailedError

Q = TypeVar("Q")
R = TypeVar("R")

# As talosctl limits them.
LARGEST = 32 << 20
_PREFIX = 5  # a flag for compression and four bytes with the length


class Call(Stream[Q, R]):
    """grpclib's call, which would read a message of any length."""

    async def recv_message(self) -> R | None:
        if not self._recv_initial_metadata_done:
            await self.recv_initial_metadata()
        with self._wrapper:
            prefix = await self._stream.recv_data(_PREFIX)
            if not prefix:
                return None
            content = await self._stream.recv_data(_length(prefix))
            message: Any = self._codec.decode(content, self._recv_type)
            (message,) = await self._dispatch.recv_message(message)
        found: R = message
        return found


def _length(prefix: bytes) -> int:
    """CallFailedError if the message is compressed or too large."""
    if prefix[0]:
        raise CallFailedError("the node sent a compressed message, which no Talos does")
    length = int.from_bytes(prefix[1:])
    if length > LARGEST:
        limit = f"{LARGEST >> 20} MiB"
        raise CallFailedError(f"the node announced a message of {length} bytes (limit {limit})")
    return length
