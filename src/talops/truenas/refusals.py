"""What TrueNAS says when it says no, in the words of talops."""

from __future__ import annotations

import errno
from dataclasses import dataclass

from talops.errors import ConflictError, DeniedError, NotReadyError, TalopsError

# TrueNAS numbers this one itself, beyond those of the operating system.
NOT_AUTHENTICATED = "ENOTAUTHENTICATED"
_FULL = ("out of space", "no space left", "quota exceeded")
_SHRINK = "less than current used"
_TAKEN = "already exists"

SET_KEY = "make one in TrueNAS (user menu, API Keys), then: talops secrets set truenas_api_key"
GRANT = (
    "the key's user needs the roles POOL_READ and DATASET_WRITE (privileges of its groups); "
    "before 25.04 the key's allow list needs GET, POST and PUT on /pool and /pool/dataset"
)


class KeyRefusedError(DeniedError):
    """Nobody is let in with this key."""


class MissingError(TalopsError):
    """What was asked for is not there; TrueNAS itself says so."""


class FullError(TalopsError):
    """No room left in the pool, or below a quota further up."""


@dataclass(frozen=True)
class Answer:
    """A refusal as either dialect gives it: the error's name, and what was said, field by field."""

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
    return KeyRefusedError(
        f"TrueNAS lets nobody in with this API key: {why}", where=where, hint=SET_KEY
    )


def refusal(answer: Answer, where: str) -> TalopsError:  # noqa: PLR0911  (one per kind)
    text = answer.text
    lowered = text.lower()
    if answer.name == NOT_AUTHENTICATED:
        return key_refused(where)
    if answer.name in {"EACCES", "EPERM"}:
        return DeniedError(f"the API key has no right to do this: {text}", where=where, hint=GRANT)
    if answer.name in {"ENOSPC", "EDQUOT"} or any(words in lowered for words in _FULL):
        return FullError(
            f"the pool has no room left: {text}",
            where=where,
            hint="free space or add disks in TrueNAS, then run this again; nothing was lost",
        )
    if _SHRINK in lowered:
        return ConflictError(
            f"the quota is smaller than what is stored: {text}",
            where=where,
            hint="raise quota in cluster.yaml; talops never shrinks below what is used",
        )
    if answer.name == "ENOENT":
        return MissingError(text, where=where)
    if _TAKEN in lowered or answer.name == "EEXIST":
        return ConflictError(text, where=where, hint="talops up --only storage looks again")
    if answer.name == "EBUSY":
        return NotReadyError(f"TrueNAS is busy: {text}", where=where)
    return TalopsError(
        f"TrueNAS refuses: {text}", where=where, hint="correct truenas in cluster.yaml"
    )
