"""Stage `add-key`: the cluster holds its own identity beside the one it has used so far."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from talops.delivery.flux_keys import FluxKeys, flux_keys, live_keys
from talops.delivery.objects import ObjectChange, bring, client, connected
from talops.errors import TalopsError
from talops.gitops import flux
from talops.pipeline.stage import Absent, Stage
from talops.secrets.vault import Vault

if TYPE_CHECKING:
    from talops.pipeline.stage import Reporter, Seen
    from talops.secrets.age import AgeKey
    from talops.site.site import Site

ADD = "add"
NO_KEY = Absent("identity", "the cluster has no identity of its own yet")


async def separate_keys(site: Site) -> FluxKeys | None:
    """As the encrypted file has them now; None if the cluster has no identity of its own."""
    repository = site.cluster.repository
    assert repository
    keys = flux_keys(site.sops, await Vault.of(site.sops).read(), repository)
    return keys if keys.separate else None


@dataclass(frozen=True)
class Facts:
    """What the cluster must get and what it holds; nothing without Flux."""

    goal: AgeKey | None = None
    live: tuple[AgeKey, ...] = ()


class AddKey(Stage[Facts, ObjectChange]):
    """Before any file changes, so that Flux can decrypt it before and after."""

    name = "add-key"

    def __init__(self, site: Site, report: Reporter) -> None:
        self._site = site
        self._report = report

    async def observe(self) -> Facts | Absent:
        kube = client(self._site)
        if self._site.cluster.repository is None or kube is None:
            return Facts()
        async with kube:
            keys = await separate_keys(self._site)
            return Facts(keys.goal, await live_keys(kube)) if keys else NO_KEY

    def plan(self, facts: Facts) -> list[ObjectChange]:
        if facts.goal is None or not facts.live or facts.goal in facts.live:
            return []
        secret = flux.age_secret(*(key.identity for key in (facts.goal, *facts.live)))
        detail = f"{facts.goal.recipient} beside {facts.live[0].recipient}"
        change = ObjectChange(ADD, f"key in secret {flux.KEY_SECRET}", detail, gentle=True)
        return [replace(change, objects=(secret,))]

    async def apply(self, change: ObjectChange) -> None:
        async with connected(self._site) as kube:
            await bring(kube, change.objects, self._site, self._report)

    async def verify(self, seen: Seen[Facts, ObjectChange], /) -> None:
        if not seen.applied:
            return
        facts = await self.observe()
        if isinstance(facts, Absent) or self.plan(facts):
            raise TalopsError(
                "the cluster does not hold its own identity",
                where=f"Secret {flux.NAMESPACE}/{flux.KEY_SECRET}",
                hint="talops secrets split",
            )
