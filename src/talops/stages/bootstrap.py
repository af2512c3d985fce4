"""Stage `bootstrap`: bootstrap etcd once in a cluster's life, with every control plane in it.

Talos does not prevent a second bootstrap: a node that has not joined yet would accept it and split
the cluster. So this stage reads every control plane first, records what it is about to do, and
calls one node. After a doubtful answer it observes again instead of calling again.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from talops.errors import ConflictError, TalopsError, UnreachableError
from talops.pipeline.stage import Absent, Change, Stage
from talops.site.fleet import ETCD_DATA, Fleet, named
from talops.site.founding import record
from talops.site.founding.advice import how_to_restore, how_to_wipe, majority_lost
from talops.site.founding.evidence import Evidence, find_evidence, on_record, shared_record
from talops.talos.errors import AlreadyDoneError, MaintenanceModeError, PreconditionError
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from talops.inventory.model import Node
    from talops.pipeline.stage import Reporter, Seen
    from talops.site.secrets_file import SecretsFile
    from talops.site.site import Site


@dataclass(frozen=True)
class ControlPlaneFacts:
    """One control plane: whether it has etcd data, and which members it knows."""

    has_data: bool
    members: frozenset[str]
    configured: bool = True


@dataclass(frozen=True)
class Facts:
    planes: dict[str, ControlPlaneFacts]
    cluster_id: str
    # What shows that etcd was bootstrapped before.
    evidence: tuple[Evidence, ...] = ()
    # SHA-256 of the snapshot that etcd was last restored from, or was about to be.
    snapshot: str | None = None

    @property
    def empty(self) -> bool:
        """No control plane has data or is a member."""
        return not any(plane.has_data or plane.members for plane in self.planes.values())

    @property
    def members(self) -> frozenset[str]:
        """The most complete list: a member that lags behind does not hide another one."""
        return max((plane.members for plane in self.planes.values()), key=len)

    @property
    def lost(self) -> frozenset[str]:
        """Members without data: only a majority of the others could let them join again."""
        empty = {n for n, plane in self.planes.items() if not (plane.has_data or plane.members)}
        return self.members & empty

    @property
    def majority_lost(self) -> bool:
        return bool(self.lost) and len(self.members - self.lost) <= len(self.members) // 2


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
        found = await self._observed()
        if isinstance(found, Absent) or not (found.empty or found.majority_lost):
            return found
        assert self._fleet
        evidence = found.evidence
        if found.empty:
            evidence = await find_evidence(self._site, self._fleet, found.cluster_id)
        # A control plane that joined between two answers has its data by now.
        later = await self._look_at_planes()
        planes = {
            name: replace(plane, has_data=plane.has_data or later[name].has_data)
            for name, plane in found.planes.items()
        }
        return replace(found, planes=planes, evidence=evidence)

    async def _observed(self) -> Facts | Absent:
        """What the control planes and the records of this directory say."""
        bundle = await self._secrets.read()
        if bundle is None:
            return Absent("configure", "the cluster has no secrets yet")
        self._fleet = await self._secrets.fleet()
        planes = await self._look_at_planes()
        waiting = [name for name, plane in planes.items() if not plane.configured]
        if waiting:
            return Absent("apply-config", f"{', '.join(waiting)} has no machine config yet")
        evidence = on_record(self._site, bundle.cluster_id)
        snapshot = record.read_snapshot(self._site.root)
        return Facts(planes, bundle.cluster_id, evidence, snapshot)

    async def _look_at_planes(self) -> dict[str, ControlPlaneFacts]:
        seen = await asyncio.gather(*(self._look(node) for node in self._planes))
        return {node.name: plane for node, plane in zip(self._planes, seen, strict=True)}

    def plan(self, facts: Facts) -> list[Change]:
        if not facts.empty:
            self._require_majority(facts)
            return []
        if facts.evidence:
            raise ConflictError(
                "this cluster was bootstrapped before, but no control plane has etcd data: "
                + "; ".join(map(str, facts.evidence)),
                where=", ".join(facts.planes),
                hint=how_to_restore(self._site.cluster.name),
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
        root, cluster_id = self._site.root, seen.facts.cluster_id
        if not record.founded_here(root, cluster_id):
            self._record("founded", cluster_id, snapshot=record.read_snapshot(root))
        if not record.founded_in_repository(root, cluster_id):
            # The shared record first: as long as the other one is missing, both are written again.
            await self._record_in_states(cluster_id)
            record.commit(root, cluster_id, self._planes[0].name)
            self._report.note(
                f"etcd is bootstrapped; commit {record.COMMITTED}, so that no other clone of this "
                "repository bootstraps it again"
            )

    async def _record_in_states(self, cluster_id: str) -> None:
        shared = shared_record(self._site)
        if shared is None:
            return
        try:
            await shared.write(record.fingerprint(cluster_id))
        except TalopsError as error:
            self._report.note(
                f"the bootstrap is not on record in the shared states: {error}",
                level="warning",
                hint=error.hint,
            )

    def _require_majority(self, facts: Facts) -> None:
        """Waiting for members does not help where the members that are left cannot admit any."""
        if not facts.majority_lost:
            return
        left = [node for node in self._planes if node.name in facts.members - facts.lost]
        raise ConflictError(
            majority_lost(facts.lost, len(facts.members)),
            where=", ".join(node.name for node in left),
            hint=how_to_wipe(left),
        )

    async def _found(self) -> Ready[None] | NotYet:
        """Observe all control planes, then call one. After a lost answer observe again."""
        facts = await self._observed()
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
