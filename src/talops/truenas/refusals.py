"""Translate errors of TrueNAS."""

from __future__ import annotations

import errno
from dataclasses import dataclass

from talops.errors import ConflictError, DeniedError, NotReadyError, TalopsError

# A number of TrueNAS itself, outside the range of the operating system.
NOT_AUTHENTICATED = "ENOTAUTHENTICATED"
_FULL = ("out of space", "no space left", "quota exceeded")
_SHRINK = "less than current used"
_TAKEN = "already exists"

SET_KEY = "create one in TrueNAS (user menu, API Keys), then: talops secrets set truenas_api_key"
GRANT = (
    "the key's user needs the roles POOL_READ and DATASET_WRITE (privileges of its groups); "
    "before 25.04 the key's allow list needs GET, POST and PUT on /pool and /pool/dataset"
)


class KeyRefusedError(DeniedError):
    """TrueNAS rejected this API key."""


class MissingError(TalopsError):
    """TrueNAS says that the resource does not exist."""


class FullError(TalopsError):
    """No space left in the pool, or in the quota of a parent dataset."""


@dataclass(frozen=True)
class Answer:
    """An error in either protocol: its name, and its messages per field."""

    name: str
    message: str
    fields: tuple[tuple[str, str], ...] = ()

    @property
    def text(self) -> str:
        details = "; ".join(f"{field}: {said}" for field, said in self.fields)
        return " ".join((details or self.message).split()).removeprefix(f"[{self.name}] ")


def name_of(number: object) -> str:
    return errno.errorcode.get(number, f"error {number}") if isinstance(number, int) else "error"


def key_refused(where: str, *, expired: bool = False) -> KeyRefusedError:
    why = "it is expired or revoked" if expired else "wrong, expired or revoked"
    return KeyRefusedError(f"TrueNAS rejected this API key: {why}", where=where, hint=SET_KEY)


def refusal(answer: Answer, where: str) -> TalopsError:  # noqa: PLR0911  (one per kind)
    text = answer.text
    lowered = text.lower()
    if answer.name == NOT_AUTHENTICATED:
        return key_refused(where)
    if answer.name in {"EACCES", "EPERM"}:
        return DeniedError(f"the API key lacks permission: {text}", where=where, hint=GRANT)
    if answer.name in {"ENOSPC", "EDQUOT"} or any(words in lowered for words in _FULL):
        return FullError(
            f"no space left in the pool: {text}",
            where=where,
            hint="free space or add disks in TrueNAS, then run the same command again",
        )
    if _SHRINK in lowered:
        return ConflictError(
            f"the quota is smaller than the stored data: {text}",
            where=where,
            hint="increase quota in cluster.yaml; talops never shrinks below the used space",
        )
    if answer.name == "ENOENT":
        return MissingError(text, where=where)
    if _TAKEN in lowered or answer.name == "EEXIST":
        return ConflictError(text, where=where, hint="talops up --only storage")
    if answer.name == "EBUSY":
        return NotReadyError(f"TrueNAS is busy: {text}", where=where)
    return TalopsError(
        f"TrueNAS rejected the request: {text}", where=where, hint="correct truenas in cluster.yaml"
    )
