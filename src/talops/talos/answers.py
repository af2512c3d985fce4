"""What Talos wraps every unary reply in: one message per node, each with its own failure."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from google.protobuf.message import DecodeError
from grpclib.const import Status

from talops.talos.errors import CallFailedError
from talops.talos.statuses import error_from, status_from_code

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

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


@contextlib.contextmanager
def reading(what: str, where: str) -> Iterator[None]:
    """Around code that only decodes: what does not fit was sent by the node."""
    try:
        yield
    except (DecodeError, ValueError, OverflowError) as error:
        raise CallFailedError(
            f"{what} of this node cannot be read: {error}",
            where=where,
            hint="check with `talops talos version` that this version of talops supports the node",
        ) from error


def name_of(enum: Any, number: int) -> str:
    """The name of a value; newer versions of Talos may have more of them."""
    try:
        return str(enum.Name(number))
    except ValueError:
        return f"number {number}"


def moment(stamp: Any) -> datetime:
    """A time beyond the calendar is its first moment, as the zero time of Go."""
    try:
        found: datetime = stamp.ToDatetime(tzinfo=UTC)
    except (ValueError, OverflowError):
        return datetime.min.replace(tzinfo=UTC)
    return found


def _answer(message: Any, where: str) -> Answer[Any]:
    node = message.metadata.hostname or where
    error = failure(message.metadata, node)
    return Answer(node, None if error else message, error)
