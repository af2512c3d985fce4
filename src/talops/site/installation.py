"""How the installation of a node goes, as far as the node can still be asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.site.config_differences import UNATTENDED_DOCUMENT, install_target
from talops.talos.errors import ConfiguredError
from talops.talos.kinds import UNATTENDED_INSTALL, UNATTENDED_INSTALL_ID
from talops.waiting import NotYet

if TYPE_CHECKING:
    from talops.inventory.model import Node
    from talops.machineconfig.generate import MachineConfig
    from talops.site.fleet import Fleet


async def in_maintenance(fleet: Fleet, node: Node, config: MachineConfig, *, again: bool) -> NotYet:
    """It has not left yet; or it came back `again`, which is the error that its disks explain."""
    try:
        async with fleet.maintenance(node) as talos:
            disks = await talos.storage.disks()
    except ConfiguredError:  # it left between two questions
        return NotYet("it is leaving maintenance mode")
    except TalopsError as error:
        trouble = f"its disks cannot be read: {error.what}"
    else:
        shown = ", ".join(f"{d.device} ({d.size / 1e9:.0f} GB)" for d in disks if not d.readonly)
        wanted = install_target(config.documents) or "the disk it boots from"
        trouble = f"it was told to install to {wanted} and has {shown or 'no disk'}"
    if again:
        raise _back_again(node, trouble)
    return NotYet(f"still in maintenance mode; {trouble}")


async def unfinished(fleet: Fleet, node: Node, config: MachineConfig) -> str:
    """Why a node that installs beside its other work, as 1.14 can, is not done; empty: it is.

    It runs its config by then, and reboots only when the installation is over.
    """
    if not any(document.get("kind") == UNATTENDED_DOCUMENT for document in config.documents):
        return ""
    async with fleet.talos(node) as talos:
        found = await talos.resources.find(UNATTENDED_INSTALL, UNATTENDED_INSTALL_ID)
    if found is None or found.phase == "installed":
        return ""
    return f"installation {found.phase}{f': {found.error}' if found.error else ''}"


def _back_again(node: Node, reason: str) -> TalopsError:
    return TalopsError(
        f"{node.name} took its config and came back to maintenance mode: "
        f"the installation failed; {reason}",
        where=str(node.address),
        hint=f"correct `disk` of {node.name} in nodes.yaml, or look at its console; "
        "then: talops up",
    )
