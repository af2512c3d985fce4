"""Generated files ↔ Proxmox: what a plan would change, and disks that talops does not manage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.app.drift.model import AreaDrift, Difference
from talops.errors import TalopsError
from talops.pipeline.stage import Absent
from talops.render.layers import layers
from talops.site import layer_access as access
from talops.site.proxmox.existing_vms import read_attached
from talops.tofu.plan import VM, Change
from talops.tofu.rules import Effect

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from talops.inventory.model import Cluster
    from talops.site.site import Site
    from talops.stages.provision import Facts, Provision
    from talops.tofu.judge import Judged

LAYER = "proxmox"
OWN_DISKS = frozenset({"scsi0"})


async def look(site: Site, stage: Provision) -> AreaDrift:
    if site.cluster.proxmox is None:
        return AreaDrift(LAYER, notes=("bare metal: there are no VMs to compare",))
    facts = await stage.observe()
    if isinstance(facts, Absent):
        return AreaDrift(LAYER, unread=(_unplanned("proxmox", facts.reason),))
    found = [d for name, judged in whole(facts).items() for d in planned(name, judged)]
    left = [name for name in facts.layers if name not in whole(facts)]
    unread = tuple(_unplanned(name, "it reads outputs of earlier layers") for name in left)
    foreign, notes = unmanaged(site.cluster, await _disks(site))
    return AreaDrift(LAYER, (*found, *foreign), unread, notes)


def whole(facts: Facts) -> dict[str, tuple[Judged, ...]]:
    """The plan of each layer, as far as possible with the present outputs of earlier layers."""
    found = {name: judged for name, judged in facts.layers.items() if judged is not None}
    return {**found, **facts.ahead}


def _unplanned(what: str, why: str) -> TalopsError:
    """A plan that could not be made says nothing about what exists."""
    return TalopsError(f"could not be planned: {why}", where=what, hint="talops up --dry-run")


def planned(layer: str, judged: Sequence[Judged]) -> list[Difference]:
    command = f"talops infra apply-auto --layer {layer}"
    return [difference for change in judged for difference in _change(change, command)]


def _change(change: Judged, command: str) -> list[Difference]:
    """One row per attribute that differs; otherwise one row for the resource."""
    flags = {Effect.REPLACES: "--allow-replace", Effect.REMOVES_DISK: "--allow-destroy"}
    flags |= {Effect.DESTROYS: "--allow-destroy", Effect.FORGETS: "--allow-destroy"}
    flag = f" {flags[change.effect]} {change.name}" if change.effect in flags else ""
    row = (LAYER, change.name)
    safe = change.effect <= Effect.ONLINE
    if change.effect is Effect.CREATES:
        return [Difference(*row, "exists", "yes", "no", "creates", command)]
    if change.effect in {Effect.DESTROYS, Effect.FORGETS}:
        return [Difference(*row, "exists", "no", "yes", str(change.effect), command + flag)]
    return [
        Difference(
            *row,
            cause.attribute,
            _text(cause.after),
            _text(cause.before),
            str(cause.effect),
            command + flag,
            safe=safe,
        )
        for cause in change.causes
    ] or [Difference(*row, "plan", "no changes", "changes", str(change.effect), command + flag)]


def _text(value: object) -> str:
    return "nothing" if value is None or value == "" else str(value)


async def _disks(site: Site) -> Mapping[str, frozenset[str]]:
    """Node → slots; a VM that Proxmox does not list is left out."""
    layer = next(each for each in layers(site.cluster) if each.name.startswith("02-"))
    reached = access.proxmox_access(access.variables(site, layer))
    ids = {node.vm.vm_id: node.name for node in site.cluster.nodes if node.vm and node.vm.vm_id}
    if reached is None or not ids:
        return {}
    questions = [
        Change(name, VM, ("no-op",), {"vm_id": vm_id}, {}, unknown=False, sensitive=(False, False))
        for vm_id, name in ids.items()
    ]
    slots = await read_attached(reached, questions)
    return {ids[vm_id]: found for vm_id, found in slots.items()}


def unmanaged(
    cluster: Cluster, disks: Mapping[str, frozenset[str]]
) -> tuple[list[Difference], tuple[str, ...]]:
    """With the CSI plugin such disks are volumes in use: a note, not a difference."""
    rows = [(name, slot) for name, slots in disks.items() for slot in sorted(slots - OWN_DISKS)]
    if cluster.addons.proxmox_csi:
        return [], tuple(
            f"{name} has {slot}: a CSI volume or a foreign disk" for name, slot in rows
        )
    return [
        Difference(
            LAYER,
            name,
            f"disk.{slot}",
            "absent",
            "attached, but not managed by talops",
            "removes a disk",
            f"detach it in Proxmox, or keep it; a plan that changes a disk of {name} would "
            "remove it",
            foreign=True,
        )
        for name, slot in rows
    ], ()
