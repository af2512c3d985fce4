"""Which age identities the cluster holds: its own, and for a while the one that it replaces."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.errors import DeniedError, TalopsError
from talops.gitops import flux
from talops.kube.objects import Ref
from talops.secrets.age import parse_keys
from talops.secrets.cluster_key import cluster_key, flux_folder, is_inside

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from talops.inventory.model import Repository
    from talops.kube.client import KubeClient
    from talops.redaction import Secret
    from talops.secrets.age import AgeKey
    from talops.secrets.sops import Sops

SECRET = Ref("v1", "Secret", flux.KEY_SECRET, flux.NAMESPACE)
SPLIT = "talops secrets split"


@dataclass(frozen=True)
class FluxKeys:
    """`goal` is what the cluster must hold in the end. `old`: what it may still hold until every
    file opens with `goal`. `folder`: the only one that `goal` opens; empty if it is the operator's
    own key, which opens everything.
    """

    goal: AgeKey
    old: tuple[AgeKey, ...] = ()
    folder: str = ""

    @property
    def separate(self) -> bool:
        return bool(self.folder)

    @property
    def hint(self) -> str:
        return f"{SPLIT}, then commit and push" if self.separate else ""

    def concerning(self, texts: Mapping[str, str]) -> dict[str, str]:
        """The files that Flux reads."""
        if not self.separate:
            return dict(texts)
        return {name: text for name, text in texts.items() if is_inside(name, self.folder)}

    def waits(self, recipients: Collection[str]) -> bool:
        """Only an older key opens a file with these recipients."""
        old = {key.recipient for key in self.old}
        return self.goal.recipient not in recipients and bool(old & {*recipients})

    def to_hold(
        self, live: Sequence[AgeKey], waiting: Collection[str], *, applied: bool
    ) -> tuple[AgeKey, ...]:
        """What the Secret must contain now. An older key stays where it is until Flux has applied
        a revision that opens without it; it is never stored again.
        """
        kept = tuple(key for key in live if key != self.goal)
        if waiting and not kept:
            raise DeniedError(
                "the key of the cluster does not open this file",
                where=min(waiting),
                hint=self.hint,
            )
        return (self.goal,) if applied and not waiting else (self.goal, *kept)


def flux_keys(sops: Sops, values: Mapping[str, Secret], repository: Repository) -> FluxKeys:
    """Without an identity of its own, the cluster gets the operator's."""
    own = cluster_key(values)
    if own is None:
        return FluxKeys(_operators(sops))
    operators = sops.keys.keys if sops.keys else ()
    old = (*([own.old] if own.old else []), *operators)
    return FluxKeys(own.goal, old, flux_folder(repository.path))


def _operators(sops: Sops) -> AgeKey:
    """The identity to store in the cluster; there must be exactly one."""
    if sops.keys is None:
        raise DeniedError(
            "there is no age key for Flux",
            where="age.key",
            hint="talops secrets init, or set SOPS_AGE_KEY_FILE to the key file",
        )
    if sops.keys.rotating_to:
        raise TalopsError("a rotation of the age key is not finished", hint="talops secrets rotate")
    return sops.keys.keys[0]


async def live_keys(kube: KubeClient) -> tuple[AgeKey, ...]:
    """The identities that talops stored in the cluster; none without a Secret."""
    data = ((await kube.get(SECRET)) or {}).get("data") or {}
    return _parsed(flux.KEY_ENTRY, data.get(flux.KEY_ENTRY, ""))


async def every_key(kube: KubeClient) -> tuple[AgeKey, ...]:
    """All identities that Flux reads, including those that others added."""
    data = ((await kube.get(SECRET)) or {}).get("data") or {}
    found = [_parsed(name, data[name]) for name in data if name.endswith(flux.KEY_SUFFIX)]
    return tuple(dict.fromkeys(key for keys in found for key in keys))


def _parsed(name: str, data: str) -> tuple[AgeKey, ...]:
    """What is not an age key opens nothing, and is replaced."""
    try:
        return parse_keys(base64.b64decode(data).decode(), f"{SECRET}: {name}").keys
    except (TalopsError, binascii.Error, UnicodeDecodeError):
        return ()
