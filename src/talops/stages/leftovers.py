"""Stage `leftovers`: list everything that remains after a cluster was destroyed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.pipeline.stage import Change, Stage
from talops.proxmox import storage
from talops.proxmox.client import Client
from talops.proxmox.guests import guests
from talops.render.layers import layers
from talops.site.proxmox.access import access_of
from talops.site.proxmox.wanted import wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from talops.pipeline.stage import Reporter, Seen
    from talops.proxmox.facts import Guest
    from talops.proxmox.wanted import Wanted
    from talops.site.site import Site
    from talops.statestore.backends.interface import StateBackend, StateInfo

_DISK = re.compile(r"(?:vm|base)-(\d+)-")


@dataclass(frozen=True)
class Leftover:
    what: str
    hint: str


@dataclass(frozen=True)
class Facts:
    """Empty: at the start the list would include what is about to be destroyed."""


class Leftovers(Stage[Facts, Change]):
    """Changes nothing; reports a list at the end."""

    name = "leftovers"

    def __init__(
        self, site: Site, report: Reporter, open_backend: Callable[[], StateBackend]
    ) -> None:
        self._site = site
        self._report = report
        self._open_backend = open_backend

    async def observe(self) -> Facts:
        return Facts()

    def plan(self, facts: Facts) -> list[Change]:  # noqa: ARG002  (there are none)
        return []

    async def apply(self, change: Change) -> None:
        raise TalopsError(f"bug: the stage leftovers only lists, but got the change {change}")

    async def verify(self, _: Seen[Facts, Change], /) -> None:
        """Report also what could not be read: that does not mean that nothing remains."""
        found: list[Leftover] = []
        whole = True
        for place, look in (("Proxmox", self._on_proxmox), ("the states", self._in_states)):
            try:
                found += await look()
            except TalopsError as error:
                whole = False
                self._report.note(
                    f"{place} could not be searched for leftovers: {error.what}",
                    level="warning",
                    hint=error.hint,
                )
        for leftover in found:
            self._report.note(f"leftover: {leftover.what}", hint=leftover.hint)
        if whole and not found:
            self._report.note("nothing remains except the inventory and its secrets")

    async def _on_proxmox(self) -> list[Leftover]:
        asked, reached = wanted(self._site.cluster), access_of(self._site)
        if reached is None:
            raise TalopsError(
                "no credentials for Proxmox", hint="talops host prepare --user root@pam"
            )
        proxmox = self._site.cluster.proxmox
        assert proxmox
        async with Client(reached) as client:
            seen = await guests(client)
            volumes = {
                (host, volume)
                for host in asked.hosts
                for place in sorted({proxmox.iso_storage, proxmox.disk_storage})
                for volume in await storage.files(client, host, place)
            }
        return [*left_vms(asked, seen), *left_volumes(asked, seen, volumes)]

    async def _in_states(self) -> list[Leftover]:
        backend = self._open_backend()
        try:
            states = await backend.overview()
            own = {layer.state for layer in layers(self._site.cluster)}
            kept = [s for s in states if s.name in own]
            return left_states(kept, backend.place)
        finally:
            await backend.close()


def left_vms(asked: Wanted, seen: Sequence[Guest]) -> list[Leftover]:
    """VMs with the cluster's tag, or with the MAC of one of its nodes."""
    macs = {vm.mac.upper(): vm.name for vm in asked.vms if vm.cluster_tag == asked.cluster}
    return [
        Leftover(
            f"VM {guest.vm_id} {guest.name} on {guest.host}, which is in no state",
            "adopt it with talops recover, or destroy it in Proxmox: qm destroy "
            f"{guest.vm_id} --purge",
        )
        for guest in seen
        if not guest.template
        and (asked.cluster in guest.tags or any(m in macs for m in guest.macs or ()))
    ]


def left_volumes(
    asked: Wanted, seen: Sequence[Guest], volumes: Collection[tuple[str, str]]
) -> list[Leftover]:
    """Disks of VMIDs that no VM has any more, and files named after the cluster."""
    free = {vm.vm_id for vm in asked.vms} - {guest.vm_id for guest in seen}
    found = []
    for host, volume in sorted(volumes):
        disk = _DISK.search(volume)
        name = volume.rpartition("/")[2]
        if disk and int(disk[1]) in free:
            what = f"volume {volume} on {host}, of a VM that does not exist any more"
        elif name.startswith(f"{asked.cluster}-talos-"):
            what = f"image {volume} on {host}"
        else:
            continue
        found.append(Leftover(what, f"on {host}: pvesm free {volume}"))
    return found


def left_states(states: Sequence[StateInfo], place: str) -> list[Leftover]:
    return [
        Leftover(
            f"state {state.name} at {place}, serial {state.serial}",
            f"talops state show {state.name}",
        )
        for state in states
        if state.exists
    ]
