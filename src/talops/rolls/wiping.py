"""Wipe a node over the Talos API, and wait until it is in maintenance mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.errors import UnreachableError
from talops.site.enrolment.record import EnrolmentRecord
from talops.site.fleet import InMaintenance, Unreachable
from talops.talos.kinds import VOLUMES
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from collections.abc import Iterable

    from talops.inventory.model import Node
    from talops.pipeline.stage import Reporter
    from talops.site.fleet import Fleet
    from talops.site.site import Site
    from talops.talos.kinds import Volume

ALWAYS = ("STATE", "EPHEMERAL")
# Directories of EPHEMERAL, unless Talos 1.14 is configured to store them on volumes of their own.
MAY_BE_APART = ("ETCD", "CRI", "KUBELET", "LOG")
HOLD_ETCD = frozenset(("EPHEMERAL", "ETCD"))


async def wipe(
    fleet: Fleet,
    node: Node,
    site: Site,
    report: Reporter,
    *,
    graceful: bool,
    hint: str = "to destroy its VM without a reset, use --force",
) -> None:
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
        hint=hint,
        report=lambda waiting: report.waiting(waiting, node=node.name),
    )


async def wipe_etcd(fleet: Fleet, node: Node) -> None:
    """Wipe the volumes that have etcd's data; the node keeps its config, and reboots."""
    async with fleet.talos(node) as talos:
        found = own_volumes(await talos.resources.all(VOLUMES))
        labels = tuple(label for label in found if label in HOLD_ETCD)
        await talos.machine.reset(graceful=False, reboot=True, labels=labels)


def _from_iso(site: Site) -> bool:
    """With an ISO attached every volume can be wiped; otherwise Talos must be kept to boot."""
    return site.cluster.proxmox is not None and site.cluster.proxmox.boot == "iso"


def own_volumes(volumes: Iterable[Volume]) -> tuple[str, ...]:
    """The volumes with the node's own data; other volumes are wiped together with these."""
    apart = {volume.id for volume in volumes if volume.location}
    return (*ALWAYS, *(label for label in MAY_BE_APART if label in apart))
