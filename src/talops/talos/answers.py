"""What Talos wraps every unary reply in: one message per node, each with its own failure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from grpclib.const import Status

from talops.talos.errors import CallFailedError
from talops.talos.statuses import error_from, status_from_code

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from talops.errors import TalopsError
    from talops.talos.wire import common_pb2

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Reply(Protocol[T_co]):
    """A `…Response` message."""

    @property
    def messages(self) -> Sequence[T_co]: ...


@dataclass(frozen=True)
class Answer(Generic[T]):
    """The answer of one node of a fan-out: a message or an error."""

    node: str
    message: T | None
    error: TalopsError | None

    def unwrap(self) -> T:
        if self.error is not None:
            raise self.error
        assert self.message is not None
        return self.message


def answers(reply: Reply[T], where: str) -> list[Answer[T]]:
    return [_answer(message, where) for message in reply.messages]


def only(reply: Reply[T], where: str) -> T:
    """The message of a call that went to one node."""
    found = answers(reply, where)
    if not found:
        raise CallFailedError("the node answered without a message", where=where)
    return found[0].unwrap()


def failure(metadata: Any, where: str) -> TalopsError | None:
    """The error in a common.Metadata, which a failed node sends with an OK status."""
    if metadata.HasField("status") and metadata.status.code:
        status = status_from_code(metadata.status.code)
        return error_from(status, metadata.status.message or metadata.error, where)
    if metadata.error:
        return error_from(Status.UNKNOWN, metadata.error, where)
    return None


def joined(pieces: Iterable[common_pb2.Data], where: str) -> bytes:
    """The content of a stream of Data; raises the error that one of its messages carries."""
    whole = bytearray()
    for piece in pieces:
        if error := failure(piece.metadata, where):
            raise error
        whole += piece.bytes
    return bytes(whole)


def _answer(message: Any, where: str) -> Answer[Any]:
    node = message.metadata.hostname or where
    error = failure(message.metadata, node)
    return Answer(node, None if error else message, error)
