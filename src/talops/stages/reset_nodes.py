"""Stage `reset`: nodes leave the cluster and are wiped, if they answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.approval import Impact
from talops.errors import UnreachableError
from talops.pipeline.stage import Absent, Change, Stage
from talops.site.enrolment.record import EnrolmentRecord
from talops.site.fleet import Configured, Fleet, InMaintenance, Unreachable
from talops.site.protection import require_unprotected
from talops.talos.kinds import VOLUMES
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from collections.abc import Iterable

    from talops.inventory.model import Node
    from talops.pipeline.stage import Reporter, Seen
    from talops.site.fleet import State
    from talops.site.secrets_file import SecretsFile
    from talops.site.site import Site
    from talops.talos.kinds import Volume


ALWAYS = ("STATE", "EPHEMERAL")
# Directories of EPHEMERAL, unless Talos 1.14 is configured to store them on volumes of their own.
MAY_BE_APART = ("ETCD", "CRI", "KUBELET", "LOG")


@dataclass(frozen=True)
class Facts:
    states: dict[str, State]


@dataclass(frozen=True)
class ResetChange(Change):
    """`graceful`: the node drains, and a control plane leaves etcd, before it is wiped."""

    graceful: bool = True

    @property
    def impact(self) -> Impact:
        return Impact.DESTROYS


class ResetNodes(Stage[Facts, ResetChange]):
    """Workers first, then control planes; the last control plane cannot leave its own etcd."""

    name = "reset"

    def __init__(
        self, site: Site, secrets: SecretsFile, report: Reporter, *, force: bool = False
    ) -> None:
        self._site = site
        self._secrets = secrets
        self._report = report
        self._force = force

    async def observe(self) -> Facts | Absent:
        if await self._secrets.read() is None:
            return Facts({})
        return Facts(await (await self._secrets.fleet()).look_at_all(self._site.chosen))

    def plan(self, facts: Facts) -> list[ResetChange]:
        """A node that does not answer is skipped; its VM is destroyed anyway."""
        require_unprotected(self._site.cluster.nodes, "destroy")
        answering = [
            node
            for node in self._site.chosen
            if isinstance(facts.states.get(node.name), Configured)
        ]
        workers = [node for node in answering if not node.controller]
        planes = [node for node in answering if node.controller]
        changes = [ResetChange("reset", n.name, "drain and wipe", n.name) for n in workers]
        whole = len(planes) == len(self._site.cluster.control_planes)
        for place, node in enumerate(planes):
            # With a dead member etcd rejects the removal of another one, and its data is not kept
            # anyway.
            leaves = whole and place < len(planes) - 1
            detail = "leave etcd and wipe" if leaves else "wipe; etcd stops with it"
            changes.append(ResetChange("reset", node.name, detail, node.name, leaves))
        return [] if self._force else changes

    async def apply(self, change: ResetChange) -> None:
        node = next(n for n in self._site.cluster.nodes if n.name == change.node)
        fleet = await self._secrets.fleet()
        await wipe(fleet, node, self._site, self._report, graceful=change.graceful)

    async def verify(self, _: Seen[Facts, ResetChange], /) -> None:
        """Nothing to prove: the VM is destroyed next."""


async def wipe(fleet: Fleet, node: Node, site: Site, report: Reporter, *, graceful: bool) -> None:
    """Reset a node and wait until it is in maintenance mode again.

    Recorded first: if this process is killed now, the next run may find the node in that mode.
    """
    EnrolmentRecord(site.root).wiped(node.name)
    async with fleet.talos(node) as talos:
        try:
            labels = () if _from_iso(site) else own_volumes(await talos.resources.all(VOLUMES))
            await talos.machine.reset(graceful=graceful, reboot=True, labels=labels)
        except UnreachableError as error:
            report.note(f"{node.name} stopped answering during its reset: {error.what}")

    async def probe() -> Ready[None] | NotYet:
        state = await fleet.look(node)
        if isinstance(state, InMaintenance):
            return Ready(None)
        if isinstance(state, Unreachable):
            return NotYet(f"rebooting: {state.error.what}")
        return NotYet(state.status.stage if state.status else "resetting")

    await wait_for(
        f"{node.name} to be wiped",
        probe,
        timeout=site.limits.install,
        interval=site.limits.interval,
        hint="to destroy its VM without a reset, use --force",
        report=lambda waiting: report.waiting(waiting, node=node.name),
    )


def _from_iso(site: Site) -> bool:
    """With an ISO attached every volume can be wiped; otherwise Talos must be kept to boot."""
    return site.cluster.proxmox is not None and site.cluster.proxmox.boot == "iso"


def own_volumes(volumes: Iterable[Volume]) -> tuple[str, ...]:
    """The volumes with the node's own data; other volumes are wiped together with these."""
    apart = {volume.id for volume in volumes if volume.location}
    return (*ALWAYS, *(label for label in MAY_BE_APART if label in apart))
