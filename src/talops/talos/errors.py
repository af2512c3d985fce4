"""How a call to a Talos node can fail.

UnreachableError          no answer; waiting may help
├── NodeDownError         nothing listens, no route, or connection lost
│   └── NoAnswerError     connected, and no answer in time
└── OutcomeUnknownError   the call was sent and no reply came: check before calling again
DeniedError               the node refused the call, or we refused the node
├── WrongCaError          the node's certificate is not signed by the CA we trust
│   └── ClockError         it is, but not valid now: one of the two clocks is wrong
├── FingerprintError      a node in maintenance mode shows another key than the pinned one
├── ForeignCertificateError  the node does not accept our client certificate
└── NotAuthorizedError    accepted, but the role does not allow this call
NotReadyError             not yet; waiting may help
├── MaintenanceModeError  the node has no machine config yet, so it cannot know our certificate
└── PreconditionError     the node refuses for now (bootstrap too early, another apply is running)
ConflictError
├── AlreadyDoneError      AlreadyExists: etcd has data, the cluster is bootstrapped
└── ConfiguredError       the node is not in maintenance mode: it has a machine config
TalopsError
├── TalosconfigError      the talosconfig file is missing, damaged or has no such context
├── NotFoundError         no such resource, service, file or member
├── UnsupportedError      this Talos version, or maintenance mode, does not know the call
├── InvalidRequestError   the node read the request and found it wrong
└── CallFailedError       anything else that the node itself reports
"""

from __future__ import annotations

from talops.errors import (
    ConflictError,
    DeniedError,
    NotReadyError,
    TalopsError,
    UnreachableError,
)


class NodeDownError(UnreachableError):
    pass


class NoAnswerError(NodeDownError):
    pass


class OutcomeUnknownError(UnreachableError):
    pass


class WrongCaError(DeniedError):
    pass


class ClockError(WrongCaError):
    pass


class FingerprintError(DeniedError):
    pass


class ForeignCertificateError(DeniedError):
    pass


class NotAuthorizedError(DeniedError):
    pass


class MaintenanceModeError(NotReadyError):
    pass


class PreconditionError(NotReadyError):
    pass


class AlreadyDoneError(ConflictError):
    pass


class ConfiguredError(ConflictError):
    pass


class TalosconfigError(TalopsError):
    pass


class NotFoundError(TalopsError):
    pass


class UnsupportedError(TalopsError):
    pass


class InvalidRequestError(TalopsError):
    pass


class CallFailedError(TalopsError):
    pass
