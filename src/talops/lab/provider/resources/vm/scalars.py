"""The plain attributes of a VM, each with its key in Proxmox' configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from talops.lab.provider import options

if TYPE_CHECKING:
    from talops.lab.provider.values import Values


@dataclass(frozen=True)
class Scalar:
    """`reboot`: a running VM takes a change only after a stop and start.

    `always`: sent on creation even if it is the default. `deleted`: an empty value is no value.
    """

    name: str
    key: str
    default: bool | str
    reboot: bool = False
    always: bool = True
    deleted: bool = False

    def read(self, config: Values) -> Any:
        value = config.get(self.key)
        if isinstance(self.default, bool):
            return options.truth(value, absent=self.default)
        return self.default if value is None else str(value)


SCALARS = (
    Scalar("acpi", "acpi", default=True, reboot=True),
    Scalar("bios", "bios", default="seabios", reboot=True),
    Scalar("description", "description", default="", always=False),
    Scalar("hook_script_file_id", "hookscript", default="", always=False, deleted=True),
    Scalar("keyboard_layout", "keyboard", default="en-us", reboot=True),
    Scalar("kvm_arguments", "args", default="", reboot=True, always=False),
    Scalar("machine", "machine", default="", reboot=True, always=False),
    Scalar("protection", "protection", default=False),
    Scalar("tablet_device", "tablet", default=True, reboot=True),
)


def for_create(planned: Values) -> dict[str, str]:
    """`name`, `on_boot` and `scsi_hardware` have a rule of their own in one place or another."""
    out = {
        item.key: options.plain(planned[item.name])
        for item in SCALARS
        if item.always or planned[item.name] != item.default
    }
    out |= {"onboot": options.plain(planned["on_boot"]), "scsihw": planned["scsi_hardware"]}
    return out | ({"name": planned["name"]} if planned["name"] else {})


def for_clone(planned: Values) -> dict[str, str]:
    """A clone inherits: only what is not the default is said. Name and description are known."""
    out = {
        item.key: options.plain(planned[item.name])
        for item in SCALARS
        if planned[item.name] != item.default and item.name != "description"
    }
    if planned["scsi_hardware"] != "virtio-scsi-pci":
        out["scsihw"] = planned["scsi_hardware"]
    return out | {"onboot": options.plain(planned["on_boot"])}


def read(config: Values, state: Values, *, cloned: bool) -> Values:
    """What a clone inherited and nobody configured is not looked at."""
    out: Values = {
        item.name: item.read(config)
        for item in SCALARS
        if not cloned or state.get(item.name) != item.default
    }
    if not str(out.get("kvm_arguments", "")).strip() and "kvm_arguments" in out:
        out["kvm_arguments"] = ""
    if not cloned or state.get("name"):
        out["name"] = str(config.get("name") or "")
    if not cloned or state.get("template"):
        out["template"] = options.truth(config.get("template"), absent=False)
    if config.get("scsihw") and (not cloned or state.get("scsi_hardware") != "virtio-scsi-pci"):
        out["scsi_hardware"] = config["scsihw"]
    # An absent key reads as false: that a VM no longer starts at boot is worth a difference.
    out["on_boot"] = options.truth(config.get("onboot"), absent=False)
    return out
