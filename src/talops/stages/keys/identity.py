"""Stage `identity`: the cluster has an age identity of its own, stored encrypted for operators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.pipeline.stage import Change, Stage
from talops.secrets import split
from talops.secrets.cluster_key import ClusterKey, cluster_key
from talops.secrets.vault import FILE, Vault

if TYPE_CHECKING:
    from collections.abc import Callable

    from talops.pipeline.stage import Seen
    from talops.site.site import Site

CREATE, ROTATE = "create", "rotate"
WHAT = "identity of the cluster"


@dataclass(frozen=True)
class Facts:
    """The identity in the encrypted file. `reachable`: the cluster can get another one."""

    key: ClusterKey | None
    reachable: bool = True


class ClusterIdentity(Stage[Facts, Change]):
    """`rotate`: begin to replace the identity, unless that has begun already."""

    name = "identity"

    def __init__(self, site: Site, learn: Callable[..., None], *, rotate: bool = False) -> None:
        self._site = site
        self._learn = learn
        self._rotate = rotate

    async def observe(self) -> Facts:
        reachable = self._site.cluster.repository is None or self._site.kubeconfig.is_file()
        return Facts(await self._key(), reachable)

    def plan(self, facts: Facts) -> list[Change]:
        if facts.key is None:
            return [Change(CREATE, WHAT, f"in {FILE}")]
        if not self._rotate or facts.key.old:
            return []
        if not facts.reachable:
            raise TalopsError(
                "the cluster would keep the old identity: there is no kubeconfig to change it",
                where=str(self._site.kubeconfig),
                hint="talops up --only kubeconfig",
            )
        return [Change(ROTATE, WHAT, f"instead of {facts.key.goal.recipient}")]

    async def apply(self, change: Change) -> None:
        vault = Vault.of(self._site.sops)
        await (split.make_key if change.action == CREATE else split.begin_rotation)(vault)

    async def verify(self, _: Seen[Facts, Change], /) -> None:
        if await self._key() is None:
            raise TalopsError(
                "the cluster still has no identity of its own", hint="talops secrets split"
            )

    async def _key(self) -> ClusterKey | None:
        found = cluster_key(await Vault.of(self._site.sops).read())
        if found:
            self._learn(found.goal.identity)
        return found
