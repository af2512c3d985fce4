"""gRPC statuses, as a node or a proxying endpoint reports them, become errors with a next step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from grpclib.const import Status

from talops.talos.errors import (
    AlreadyDoneError,
    CallFailedError,
    ForeignCertificateError,
    InvalidRequestError,
    NoAnswerError,
    NodeDownError,
    NotAuthorizedError,
    NotFoundError,
    PreconditionError,
    UnsupportedError,
    WrongCaError,
)

if TYPE_CHECKING:
    from talops.errors import TalopsError


@dataclass(frozen=True)
class Meaning:
    error: type[TalopsError]
    hint: str | None = None


BY_STATUS: dict[Status, Meaning] = {
    Status.UNAVAILABLE: Meaning(NodeDownError, "check that the node is up and reachable"),
    Status.DEADLINE_EXCEEDED: Meaning(NoAnswerError, "check that the node is up and reachable"),
    Status.PERMISSION_DENIED: Meaning(
        NotAuthorizedError, "use a talosconfig with a role that may do this (os:admin may)"
    ),
    Status.UNAUTHENTICATED: Meaning(
        ForeignCertificateError, "use the talosconfig of the cluster that this node belongs to"
    ),
    Status.NOT_FOUND: Meaning(NotFoundError),
    Status.ALREADY_EXISTS: Meaning(AlreadyDoneError),
    Status.FAILED_PRECONDITION: Meaning(PreconditionError, "wait a moment and try again"),
    Status.UNIMPLEMENTED: Meaning(
        UnsupportedError, "check with `talops talos version`; maintenance mode supports fewer calls"
    ),
    Status.INVALID_ARGUMENT: Meaning(InvalidRequestError),
    Status.OUT_OF_RANGE: Meaning(InvalidRequestError),
}

# Where one status covers several cases, only the text distinguishes them.
BY_TEXT: dict[Status, tuple[tuple[str, Meaning], ...]] = {
    Status.UNAVAILABLE: (
        # An endpoint that proxies to another node reports that node's TLS errors this way.
        (
            "certificate signed by unknown authority",
            Meaning(WrongCaError, "the node belongs to another cluster, or is in maintenance mode"),
        ),
        (
            "remote error: tls",
            Meaning(ForeignCertificateError, "the node does not accept the endpoint's certificate"),
        ),
        # The node answers, but a service on it, with a socket of its own, does not run.
        ("dial unix", Meaning(PreconditionError, "`talops talos services` shows what runs")),
    ),
    Status.UNIMPLEMENTED: (
        (
            "only available on control plane nodes",
            Meaning(UnsupportedError, "use --nodes with the address of a control plane"),
        ),
    ),
    Status.PERMISSION_DENIED: (
        (
            'resource type "',
            Meaning(UnsupportedError, "`talops talos get rd` lists the types that this node has"),
        ),
    ),
    Status.UNKNOWN: (
        ("was not registered", Meaning(NotFoundError, "`talops talos services` lists them")),
        ("not defined", Meaning(NotFoundError, "`talops talos services` lists them")),
    ),
}

# Messages of etcd, which Talos forwards under more than one status.
LEARNER = "rpc not supported for learner"
_CATCHING_UP = Meaning(PreconditionError, "the member is still catching up: wait a moment")

_OTHER = Meaning(CallFailedError, "`talops talos dmesg` and `talops talos logs machined` say more")


def meaning_of(status: Status, message: str) -> Meaning:
    if LEARNER in message:
        return _CATCHING_UP
    for text, meaning in BY_TEXT.get(status, ()):
        if text in message:
            return meaning
    return BY_STATUS.get(status, _OTHER)


def error_from(status: Status, message: str | None, where: str) -> TalopsError:
    text = message or status.name.replace("_", " ").lower()
    meaning = meaning_of(status, text)
    return meaning.error(text, where=where, hint=meaning.hint)


def status_from_code(code: int) -> Status:
    """The status of a number on the wire; undefined numbers count as UNKNOWN."""
    try:
        return Status(code)
    except ValueError:
        return Status.UNKNOWN
