"""A CA or key that is being replaced: the secrets file knows the phase before any node does.

accept: everything still uses the old one, and learns to accept the new one
issue:  everything uses the new one, and still accepts the old one
drop:   nothing accepts the old one any more

What is used in a phase is where it always is in the secrets; the other one is here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError
from talops.machineconfig.secrets import pem
from talops.machineconfig.secrets.pki import Pair
from talops.redaction import Secret

if TYPE_CHECKING:
    from collections.abc import Mapping


class Phase(StrEnum):
    ACCEPT = "accept"
    ISSUE = "issue"
    DROP = "drop"


class Rotated(StrEnum):
    """What has a graceful way from an old one to a new one."""

    TALOS_CA = "talos-ca"
    KUBERNETES_CA = "kubernetes-ca"
    SERVICE_ACCOUNT = "service-account-key"
    ENCRYPTION = "etcd-encryption-key"


AUTHORITIES = frozenset({Rotated.TALOS_CA, Rotated.KUBERNETES_CA})


@dataclass(frozen=True)
class Rotation:
    """`other` is the new one in phase accept, and the old one afterwards. `name` is the one by
    which values in etcd refer to an encryption key.
    """

    phase: Phase
    other: Pair
    name: str = ""

    @property
    def accepted(self) -> Pair | None:
        """What is accepted besides the one in use."""
        return None if self.phase is Phase.DROP else self.other

    def to_data(self) -> dict[str, str]:
        found = {"phase": str(self.phase), "key": self.other.key.reveal()}
        if self.other.crt:
            found["crt"] = self.other.crt
        if self.name:
            found["name"] = self.name
        return found


def from_data(data: Any, *, where: str) -> dict[Rotated, Rotation]:
    """From what talops adds to the secrets. A rotation that cannot be read is an error: without
    it, nodes would lose their trust.
    """
    given = (data or {}).get("rotation") or {} if isinstance(data, dict | None) else None
    if not isinstance(given, dict):
        raise TalopsError("what talops added to the secrets cannot be read", where=where)
    found: dict[Rotated, Rotation] = {}
    for name, entry in given.items():
        try:
            fields = {key: str(value) for key, value in entry.items()}
            rotated, phase = Rotated(name), Phase(fields["phase"])
            pair = Pair(fields.get("crt", ""), Secret(fields["key"]))
            _check(rotated, pair)
        except (AttributeError, KeyError, ValueError, TalopsError) as error:
            raise TalopsError(
                f"the rotation {name} in the secrets cannot be read: {type(error).__name__}",
                where=where,
                hint="use the version of talops that began it, or restore the file from Git",
            ) from None
        found[rotated] = Rotation(phase, pair, fields.get("name", ""))
    return found


def _check(rotated: Rotated, pair: Pair) -> None:
    if rotated in AUTHORITIES and not pem.belong_together(pair.certificate, pair.private_key):
        raise ValueError("the key does not match the certificate")


def trusted(pair: Pair, rotation: Rotation | None) -> str:
    """One line of base64 with every CA to trust; the one in use first."""
    other = rotation.accepted if rotation else None
    if other is None:
        return pair.crt
    texts = [pem.from_one_line(each.crt) for each in (pair, other)]
    return pem.one_line(b"".join(text.rstrip(b"\n") + b"\n" for text in texts))


def accepted(rotations: Mapping[Rotated, Rotation], rotated: Rotated) -> tuple[Pair, ...]:
    rotation = rotations.get(rotated)
    other = rotation.accepted if rotation else None
    return (other,) if other else ()
