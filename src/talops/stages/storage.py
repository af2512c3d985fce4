"""Stage `storage`: create the datasets that CSI drivers need; never delete one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.errors import ConflictError, TalopsError
from talops.pipeline.stage import Change, Stage
from talops.site import nas
from talops.truenas.client import TrueNas
from talops.truenas.datasets import Wanted, differences, size

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.pipeline.stage import Reporter, Seen
    from talops.site.site import Site
    from talops.truenas.datasets import Dataset, Pool

NOTHING = Wanted("")
CREATE, UPDATE = "create", "update"


@dataclass(frozen=True)
class Facts:
    """`datasets` by name; None if TrueNAS reports that it does not exist."""

    pools: Mapping[str, Pool]
    datasets: Mapping[str, Dataset | None]


@dataclass(frozen=True)
class DatasetChange(Change):
    wanted: Wanted = NOTHING


class Storage(Stage[Facts, DatasetChange]):
    name = "storage"
    proven_by_look = True

    def __init__(self, site: Site, report: Reporter) -> None:
        assert site.cluster.truenas
        self._site = site
        self._nas = site.cluster.truenas
        self._report = report
        self._wanted = nas.wanted(self._nas)

    async def observe(self) -> Facts:
        async with TrueNas(nas.access(self._site, self._nas)) as client:
            self._report.log(f"{self._nas.url} uses {client.dialect}")
            pools = await client.pools()
            found = {each.name: await client.dataset(each.name) for each in self._wanted}
        return Facts(pools, found)

    def plan(self, facts: Facts) -> list[DatasetChange]:
        pool = facts.pools.get(self._nas.pool)
        if pool is None:
            raise self._no_pool(facts)
        changes = []
        for wanted in self._wanted:
            live = facts.datasets[wanted.name]
            if live is not None:
                self._refuse(wanted, live)
            settings = differences(wanted, live)
            if live is None:
                detail = ", ".join(f"{s.name} {s.wanted}" for s in settings)
                changes.append(DatasetChange(CREATE, wanted.name, detail, wanted=wanted))
            elif settings:
                detail = ", ".join(f"{s.name} {s.actual} → {s.wanted}" for s in settings)
                changes.append(DatasetChange(UPDATE, wanted.name, detail, wanted=wanted))
        return changes

    async def apply(self, change: DatasetChange) -> None:
        """Read the dataset again first: data may have been stored in it since the plan."""
        async with TrueNas(nas.access(self._site, self._nas)) as client:
            live = await client.dataset(change.wanted.name)
            if live is not None:
                self._refuse(change.wanted, live)
            await client.ensure(change.wanted)

    async def verify(self, _: Seen[Facts, DatasetChange], /) -> None:
        left = self.plan(await self.observe())
        if left:
            raise TalopsError(
                f"still differs from the inventory: {left[0]}",
                where=self._nas.url,
                hint="talops up --only storage",
            )

    def _no_pool(self, facts: Facts) -> TalopsError:
        there = ", ".join(facts.pools) or "none"
        return TalopsError(
            f"TrueNAS has no pool {self._nas.pool}; existing pools: {there}",
            where=self._nas.url,
            hint="correct truenas.pool in cluster.yaml, or import the pool in TrueNAS",
        )

    def _refuse(self, wanted: Wanted, live: Dataset) -> None:
        """Refuse what would lose data or cannot become a dataset as requested."""
        if live.kind != "FILESYSTEM":
            raise ConflictError(
                f"{live.name} is a {live.kind.lower()}, not a file system",
                where=nas.position(self._site, wanted.name, "name"),
                hint="use another dataset name; talops does not replace this one",
            )
        if live.locked:
            raise ConflictError(
                f"{live.name} is encrypted and locked",
                where=self._nas.url,
                hint="unlock it in TrueNAS, then run the same command again",
            )
        if wanted.quota is not None and wanted.quota < live.used:
            raise ConflictError(
                f"{live.name} uses {size(live.used)}, more than its quota of {size(wanted.quota)}",
                where=nas.position(self._site, wanted.name, "quota"),
                hint="set a larger quota; talops never sets one below the used space",
            )
