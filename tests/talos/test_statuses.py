"""Every gRPC status has one meaning, and the text decides where Talos leaves it open."""

from __future__ import annotations

import pytest
from grpclib.const import Status

from talops.errors import ConflictError, DeniedError, NotReadyError, TalopsError, UnreachableError
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
from talops.talos.statuses import error_from, status_from_code

UNKNOWN_AUTHORITY = (
    'connection error: desc = "transport: authentication handshake failed: tls: failed to verify '
    'certificate: x509: certificate signed by unknown authority"'
)


@pytest.mark.parametrize(
    ("status", "message", "kind", "family"),
    [
        (Status.UNAVAILABLE, "connection refused", NodeDownError, UnreachableError),
        (Status.UNAVAILABLE, UNKNOWN_AUTHORITY, WrongCaError, DeniedError),
        (
            Status.UNAVAILABLE,
            (
                'connection error: desc = "error reading server preface: remote error: tls: bad'
                ' certificate"'
            ),
            ForeignCertificateError,
            DeniedError,
        ),
        (Status.DEADLINE_EXCEEDED, "too slow", NoAnswerError, UnreachableError),
        (Status.PERMISSION_DENIED, "not authorized", NotAuthorizedError, DeniedError),
        (
            Status.FAILED_PRECONDITION,
            "another apply configuration is already in progress",
            PreconditionError,
            NotReadyError,
        ),
        (
            Status.ALREADY_EXISTS,
            "etcd data directory is not empty",
            AlreadyDoneError,
            ConflictError,
        ),
        (
            Status.UNIMPLEMENTED,
            "bootstrap is only available on control plane nodes",
            UnsupportedError,
            TalopsError,
        ),
        (Status.NOT_FOUND, "no such service", NotFoundError, TalopsError),
        (Status.INVALID_ARGUMENT, "unknown keys", InvalidRequestError, TalopsError),
        (Status.INTERNAL, "boom", CallFailedError, TalopsError),
        (
            Status.UNKNOWN,
            "etcdserver: rpc not supported for learner",
            PreconditionError,
            NotReadyError,
        ),
    ],
)
def test_meaning(
    status: Status, message: str, kind: type[TalopsError], family: type[TalopsError]
) -> None:
    """A status becomes its own error inside a family that callers handle, text and node kept."""
    error = error_from(status, message, "10.0.0.1")
    assert type(error) is kind
    assert isinstance(error, family)
    assert (error.what, error.where) == (message, "10.0.0.1")


def test_status_without_text() -> None:
    """A silent failure still says something."""
    assert error_from(Status.ABORTED, None, "n").what == "aborted"


@pytest.mark.parametrize(("code", "status"), [(5, Status.NOT_FOUND), (99, Status.UNKNOWN)])
def test_numbers(code: int, status: Status) -> None:
    """A number that no gRPC knows is an unknown failure, not a crash."""
    assert status_from_code(code) is status
