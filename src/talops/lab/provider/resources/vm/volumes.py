"""Disks that move to another datastore or grow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.lab.provider.kinds import refuse
from talops.lab.provider.resources.vm import drives
from talops.lab.provider.resources.vm.cloning import move_disk, put_config
from talops.lab.provider.resources.vm.creating import resize

if TYPE_CHECKING:
    from talops.lab.provider.kinds import Call
    from talops.lab.provider.resources.vm.change import Change
    from talops.lab.provider.resources.vm.power import Power


async def apply_volumes(call: Call, change: Change, power: Power) -> None:
    """Moves and growth. A restart that is due anyway comes before a resize, not after it."""
    limit, template = float(change.planned["timeout_migrate"]), bool(change.planned["template"])
    moves, grown = await _plan_volumes(call, change, power)
    if moves and not template:
        await power.off_for_change("move disks between datastores")
    for slot, store in moves.items():
        await move_disk(call, power.path, slot, store, limit)
    allowed = True
    if change.restart and not template:
        allowed = await power.off_for_change("resize disks" if grown else "")
        change.restart = False
    if not allowed:
        return
    for slot, size in grown.items():
        await resize(call, power.path, slot, size, limit)
    again = {slot: change.form[slot] for slot in grown if slot in change.form}
    if again:
        await put_config(call, power.path, again)
    change.restart |= bool(grown) and not template and not change.hot("disk")


async def _plan_volumes(
    call: Call, change: Change, power: Power
) -> tuple[dict[str, str], dict[str, int]]:
    moves: dict[str, str] = {}
    grown: dict[str, int] = {}
    for name, slot in (("efi_disk", "efidisk0"), ("tpm_state", "tpmstate0")):
        if change.moves(name):
            moves[slot] = change.planned[name][0]["datastore_id"]
    if not change.has("disk"):
        return moves, grown
    old = {disk["interface"]: disk for disk in change.prior["disk"] or []}
    found = drives.present(await call.api.get(f"{power.path}/config"))
    for slot, plan in drives.wanted(change.planned["disk"] or []).items():
        before = drives.wanted([{**old[slot], "file_id": ""}])[slot] if slot in old else None
        have = before or found.get(slot)
        if have is None:
            continue
        if before is not None and plan.store != before.store:
            _must_own(before, slot, power.vmid, "move")
            moves[slot] = plan.store
        if plan.size is None or have.size is None:
            continue
        size = plan.size
        if before is not None and size < have.size:
            refuse(f"cannot shrink {slot} of VM {power.vmid}: it is not supported")
        if size > have.size and (before is not None or have.is_owned_by(power.vmid)):
            _must_own(have, slot, power.vmid, "resize")
            grown[slot] = size
    return moves, grown


def _must_own(drive: drives.Drive, slot: str, vmid: int, verb: str) -> None:
    if not drive.is_owned_by(vmid):
        refuse(f"cannot {verb} {slot} ({drive.volume}): it is not owned by VM {vmid}")
