"""Stage `bootstrap`: bootstrap etcd once in a cluster's life, with every control plane in it.

Talos does not prevent a second bootstrap: a node that has not joined yet would accept it and split
the cluster. So this stage reads every control plane first, records what it is about to do, and
calls one node. After a doubtful answer it observes again instead of calling again.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.errors import ConflictError, UnreachableError
from talops.pipeline.stage import Absent, Change, Stage
from talops.site import bootstrap_record as record
from talops.site.fleet import ETCD_DATA, Fleet, named
from talops.talos.errors import AlreadyDoneError, MaintenanceModeError, PreconditionError
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from talops.inventory.model import Node
    from talops.pipeline.stage import Reporter, Seen
    from talops.site.secrets_file import SecretsFile
    from talops.site.site import Site

RESTORE = (
    "restore a snapshot: talops recover --from-snapshot FILE; or, if losing its data is "
    "acceptable, start with an empty etcd: talops recover --bootstrap-again {cluster}"
)


@dataclass(frozen=True)
class ControlPlaneFacts:
    """One control plane: whether it has etcd data, and which members it knows."""

    has_data: bool
    members: frozenset[str]
    configured: bool = True


@dataclass(frozen=True)
class Facts:
    planes: dict[str, ControlPlaneFacts]
    # Cluster ID of a bootstrap that was completed from here.
    founded: str | None
    cluster_id: str
    # SHA-256 of the snapshot that etcd was last restored from, or was about to be.
    snapshot: str | None = None

    @property
    def any_etcd(self) -> bool:
        return any(plane.has_data or plane.members for plane in self.planes.values())


class Bootstrap(Stage[Facts, Change]):
    name = "bootstrap"

    def __init__(self, site: Site, secrets: SecretsFile, report: Reporter) -> None:
        self._site = site
        self._secrets = secrets
        self._report = report
        self._fleet: Fleet | None = None
        # A control plane that does not answer may be rebooting.
        self.patience = site.limits.boot

    @property
    def _planes(self) -> tuple[Node, ...]:
        return self._site.cluster.control_planes

    async def observe(self) -> Facts | Absent:
        bundle = await self._secrets.read()
        if bundle is None:
            return Absent("configure", "the cluster has no secrets yet")
        self._fleet = await self._secrets.fleet()
        seen = await asyncio.gather(*(self._look(node) for node in self._planes))
        planes = {node.name: plane for node, plane in zip(self._planes, seen, strict=True)}
        waiting = [name for name, plane in planes.items() if not plane.configured]
        if waiting:
            return Absent("apply-config", f"{', '.join(waiting)} has no machine config yet")
        path = self._site.root / record.RECORD
        founded, snapshot = record.read_record(path), record.read_snapshot(path)
        return Facts(planes, founded, bundle.cluster_id, snapshot)

    def plan(self, facts: Facts) -> list[Change]:
        if facts.any_etcd:
            return []
        if facts.founded == facts.cluster_id:
            raise ConflictError(
                "this cluster was bootstrapped before, but no control plane has etcd data",
                where=", ".join(facts.planes),
                hint=RESTORE.format(cluster=self._site.cluster.name),
            )
        first = self._planes[0]
        return [
            Change("bootstrap", f"etcd on {first.name}", "once in a cluster's life", first.name)
        ]

    async def apply(self, change: Change) -> None:  # noqa: ARG002  (there is only one)
        """Called for the first control plane only, and only if no control plane has data."""
        first = self._planes[0]
        await wait_for(
            f"etcd to be bootstrapped on {first.name}",
            self._found,
            timeout=self._site.limits.etcd,
            interval=self._site.limits.interval,
            hint=f"talops talos services --nodes {first.address}",
            report=lambda waiting: self._report.waiting(waiting, node=first.name),
        )

    async def verify(self, seen: Seen[Facts, Change], /) -> None:
        for node in self._planes:
            if not seen.applied and not self._missing(seen.facts.planes[node.name]):
                continue
            await wait_for(
                f"{node.name} to list all etcd members",
                lambda node=node: self._joined(node),  # type: ignore[misc]  # bound now, by name
                timeout=self._site.limits.etcd,
                interval=self._site.limits.interval,
                hint=f"talops talos logs etcd --nodes {node.address}",
                report=lambda w, n=node.name: self._report.waiting(w, node=n),  # type: ignore[misc]
            )

    async def conclude(self, seen: Seen[Facts, Change], /) -> None:
        """From now on this cluster is never bootstrapped a second time."""
        path = self._site.root / record.RECORD
        if record.read_record(path) != seen.facts.cluster_id:
            snapshot = record.read_snapshot(path)
            self._record("founded", seen.facts.cluster_id, snapshot=snapshot)

    async def _found(self) -> Ready[None] | NotYet:
        """Observe all control planes, then call one. After a lost answer observe again."""
        facts = await self.observe()
        if isinstance(facts, Absent):
            return NotYet(facts.reason)
        if not self.plan(facts):
            return Ready(None)
        self._record("intended", facts.cluster_id)
        assert self._fleet
        first = self._planes[0]
        hint = f"talops talos services --nodes {first.address}"
        with named(first, hint):
            return await self._call(self._fleet, first)

    async def _call(self, fleet: Fleet, first: Node) -> Ready[None] | NotYet:
        async with fleet.talos(first) as talos:
            try:
                await talos.machine.bootstrap()
            except AlreadyDoneError:
                return Ready(None)
            except PreconditionError as error:
                return NotYet(error.what)
            except UnreachableError as error:
                return NotYet(f"the answer was lost, checking again: {error.what}")
        return NotYet("accepted; etcd is starting")

    async def _joined(self, node: Node) -> Ready[None] | NotYet:
        plane = await self._look(node)
        if missing := self._missing(plane):
            return NotYet(
                f"members so far: {', '.join(sorted(plane.members)) or 'none'}; "
                f"missing {', '.join(missing)}"
            )
        return Ready(None)

    def _missing(self, plane: ControlPlaneFacts) -> list[str]:
        """Control planes that this one does not list as members."""
        return sorted({other.name for other in self._planes} - plane.members)

    async def _look(self, node: Node) -> ControlPlaneFacts:
        """Data and members of one control plane; no answer is an error."""
        assert self._fleet
        with named(node, f"talops talos services --nodes {node.address}"):
            return await self._asked(self._fleet, node)

    async def _asked(self, fleet: Fleet, node: Node) -> ControlPlaneFacts:
        async with fleet.talos(node) as talos:
            try:
                has_data = await talos.files.exists(ETCD_DATA)
                services = {service.id: service for service in await talos.services.list()}
                etcd = services.get("etcd")
                if etcd is None or etcd.state != "Running":
                    return ControlPlaneFacts(has_data, frozenset())
                members = await talos.etcd.members(local=True)
            except MaintenanceModeError:
                return ControlPlaneFacts(has_data=False, members=frozenset(), configured=False)
            except PreconditionError:
                return ControlPlaneFacts(has_data, frozenset())
        return ControlPlaneFacts(has_data, frozenset(m.hostname for m in members if not m.learner))

    def _record(self, state: str, cluster_id: str, snapshot: str | None = None) -> None:
        node = self._planes[0].name
        record.write(self._site.root, state, cluster_id, node, snapshot)
