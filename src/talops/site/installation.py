"""The progress of an installation, as far as the node answers."""

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
    """Why the node is still in maintenance mode; if it is there `again`, that is an error."""
    try:
        async with fleet.maintenance(node) as talos:
            disks = await talos.storage.disks()
    except ConfiguredError:  # it rebooted between two requests
        return NotYet("it is leaving maintenance mode")
    except TalopsError as error:
        trouble = f"its disks cannot be read: {error.what}"
    else:
        shown = ", ".join(f"{d.device} ({d.size / 1e9:.0f} GB)" for d in disks if not d.readonly)
        wanted = install_target(config.documents) or "its boot disk"
        trouble = f"the configured install disk is {wanted}; disks: {shown or 'none'}"
    if again:
        raise _back_again(node, trouble)
    return NotYet(f"still in maintenance mode; {trouble}")


async def unfinished(fleet: Fleet, node: Node, config: MachineConfig) -> str:
    """Why an installation in the background, as in Talos 1.14, is not finished; empty if it is.

    The node already runs its config and reboots only when the installation is finished.
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
        f"{node.name} accepted its config but returned to maintenance mode: the installation "
        f"failed; {reason}",
        where=str(node.address),
        hint=f"correct `disk` of {node.name} in nodes.yaml, or check its console; then: talops up",
    )
