"""A change of a VM: what was, what is to be, and what has to be said to Proxmox for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from talops.lab.provider.planning import changed
from talops.lab.provider.resources.vm import schema
from talops.lab.provider.resources.vm.devices import defaults, first

if TYPE_CHECKING:
    from talops.lab.provider.values import Values

_HOTPLUG = "network,disk,usb"


@dataclass
class Change:
    """What one PUT carries, and what it asks for afterwards."""

    prior: Values
    planned: Values
    form: dict[str, str] = field(default_factory=dict)
    delete: list[str] = field(default_factory=list)
    restart: bool = False

    def has(self, name: str) -> bool:
        return changed(self.prior, self.planned, name)

    def block(self, name: str) -> Values:
        """As planned; a block that was taken out of the configuration means its defaults."""
        found = first(self.planned, name)
        return defaults(schema.BLOCK.blocks[name]) if found is None else found

    def hot(self, feature: str) -> bool:
        enabled = self.planned.get("hotplug") or _HOTPLUG
        return enabled == "1" or feature in enabled.split(",")

    def moves(self, name: str) -> bool:
        """An EFI or TPM disk goes to another datastore."""
        old, new = first(self.prior, name), first(self.planned, name)
        return bool(old and new and old["datastore_id"] != new["datastore_id"])
