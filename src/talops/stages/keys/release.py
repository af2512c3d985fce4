"""Stage `release`: the cluster loses every identity but its own, once Flux does not need it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from talops.delivery import handover
from talops.delivery.flux_keys import every_key, live_keys
from talops.delivery.keeping import keep_only_goal
from talops.delivery.objects import client, connected
from talops.errors import TalopsError
from talops.gitops import flux
from talops.pipeline.stage import Absent, Change, Stage
from talops.plural import count
from talops.secrets import split
from talops.secrets.age import KeyRing
from talops.secrets.cluster_key import ClusterKey, cluster_key
from talops.secrets.vault import Vault
from talops.stages.keys.add_key import NO_KEY, separate_keys

if TYPE_CHECKING:
    from talops.delivery.handover import CheckedBranch
    from talops.pipeline.stage import Reporter, Seen
    from talops.secrets.age import AgeKey
    from talops.site.site import Site

REMOVE, FINISH = "remove", "finish"


@dataclass(frozen=True)
class Facts:
    """`live` is what the cluster holds; `checked` the branch, None if Flux has no key yet.
    `settled`: it is known what the cluster holds.
    """

    key: ClusterKey
    live: tuple[AgeKey, ...] = ()
    checked: CheckedBranch | None = None
    settled: bool = True

    @property
    def extra(self) -> tuple[AgeKey, ...]:
        return tuple(key for key in self.live if key != self.key.goal)

    @property
    def waiting(self) -> tuple[str, ...]:
        return self.checked.waiting if self.checked else ()


class Release(Stage[Facts, Change]):
    name = "release"

    def __init__(self, site: Site, report: Reporter) -> None:
        self._site = site
        self._report = report

    async def observe(self) -> Facts | Absent:
        key = cluster_key(await Vault.of(self._site.sops).read())
        if key is None:
            return NO_KEY
        if self._site.cluster.repository is None:
            return Facts(key)
        kube = client(self._site)
        if kube is None:
            return Facts(key, settled=False)
        async with kube:
            live = await live_keys(kube)
        return Facts(key, live, await self._checked()) if live else Facts(key)

    def plan(self, facts: Facts) -> list[Change]:
        if facts.waiting or not facts.settled:
            return []
        changes = []
        if facts.extra:
            detail = ", ".join(key.recipient for key in facts.extra)
            changes.append(Change(REMOVE, f"old key from secret {flux.KEY_SECRET}", detail))
        if old := facts.key.old:
            changes.append(Change(FINISH, "rotation", f"of {old.recipient}"))
        return changes

    async def apply(self, change: Change) -> None:
        if change.action == FINISH:
            await split.end_rotation(Vault.of(self._site.sops))
            return
        checked, keys = await self._checked(), await separate_keys(self._site)
        assert keys
        async with connected(self._site) as kube:
            await keep_only_goal(kube, keys, checked, self._site, self._report)

    async def verify(self, seen: Seen[Facts, Change], /) -> None:
        if seen.facts.waiting:
            self._say_what_is_left(seen.facts)
            return
        kube = client(self._site)
        keys = await separate_keys(self._site) if self._site.cluster.repository else None
        if kube is None or keys is None:
            return
        async with kube:
            held = await every_key(kube)
        if not held:
            return
        alone = replace(self._site.sops, keys=KeyRing(held))
        await split.prove(alone, keys.folder)
        operators = self._site.sops.keys.keys if self._site.sops.keys else ()
        if seen.applied and {*seen.facts.extra} & {*operators}:
            self._report.note(
                "the cluster held your own age key until now, and so do older etcd snapshots",
                level="warning",
                hint="talops secrets rotate",
            )

    def _say_what_is_left(self, facts: Facts) -> None:
        self._report.note(
            f"only the old key opens {count(len(facts.waiting), 'file')} of the branch, such as "
            f"{facts.waiting[0]}: the cluster keeps both keys until Flux has the new files",
            level="warning",
            hint="commit and push, then: talops secrets split",
        )

    async def _checked(self) -> CheckedBranch:
        repository = self._site.cluster.repository
        assert repository
        reader = handover.access(self._site, repository)
        keys = await separate_keys(self._site)
        if reader is None or keys is None:
            raise TalopsError(
                "the branch that Flux follows cannot be read",
                where=repository.url,
                hint="talops gitops deploy-key",
            )
        return await handover.check(self._site, repository, reader, keys)
