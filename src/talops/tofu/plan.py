"""A saved plan as printed by `show -json`: the parts that the judge needs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from talops.errors import ToolError

VM = "proxmox_virtual_environment_vm"
# Other guest resources. talops does not render them, so the effects of their updates are unknown.
OTHER_GUESTS = frozenset(
    {
        "proxmox_vm",
        "proxmox_cloned_vm",
        "proxmox_virtual_environment_vm2",
        "proxmox_virtual_environment_cloned_vm",
        "proxmox_virtual_environment_container",
    }
)
GUESTS = OTHER_GUESTS | {VM}
# Bridges and VLANs of hosts, by their present and their former type names.
HOST_NETWORKS = (
    "proxmox_network_linux_",
    "proxmox_virtual_environment_network_linux_",
)
# Files on the storages of hosts, by their present and their former type names.
DOWNLOADS = ("proxmox_download_file", "proxmox_virtual_environment_download_file")
TAINTED = "replace_because_tainted"
CONTROL_PLANE = "controlplane"
WORKER = "worker"
_MODULE = re.compile(r'module\.[\w-]+\["([^"]+)"\]\.')


@dataclass(frozen=True)
class Change:
    """One resource in the plan; `before` and `after` are {} if they do not exist."""

    address: str
    type: str
    actions: tuple[str, ...]
    before: dict[str, Any]
    after: dict[str, Any]
    unknown: Any
    sensitive: tuple[Any, Any]  # of before and after
    key: str = ""  # of for_each, if it is a string
    reason: str = ""
    deposed: str = ""
    replace_paths: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The current name, before this plan renames it."""
        for values in (self.before, self.after):
            found = values.get("name")
            if isinstance(found, str) and found:
                return found
        return self.key or self.address

    @property
    def node(self) -> str:
        """The name in the inventory: the key of its module, whatever the VM is called now."""
        return module_key(self.address) or self.name

    @property
    def off(self) -> bool:
        """Proxmox says that the VM does not run."""
        return self.before.get("started") is False

    @property
    def whole_file(self) -> bool:
        """A complete download that the plan would replace with itself: the provider records a file
        once it is on its storage, and taints it if it cannot be read back then.
        """
        replaced = set(self.actions) == {"create", "delete"}
        return self.type in DOWNLOADS and replaced and self.reason == TAINTED

    @property
    def role(self) -> str:
        """controlplane, worker or "", from the tags that talops sets on VMs. A control plane stays
        one if the plan removes its tag: both sides count.
        """
        tags = {*_texts(self.before.get("tags")), *_texts(self.after.get("tags"))}
        return next((role for role in (CONTROL_PLANE, WORKER) if role in tags), "")

    @property
    def vm_id(self) -> int | None:
        for values in (self.before, self.after):
            if isinstance(values.get("vm_id"), int):
                return int(values["vm_id"])
        return None


@dataclass(frozen=True)
class Plan:
    """`outputs_change`: an output differs, even if no resource does."""

    changes: tuple[Change, ...]
    outputs_change: bool
    errored: bool

    @property
    def acts(self) -> tuple[Change, ...]:
        """The changes of the plan, without data sources and no-ops."""
        return tuple(change for change in self.changes if set(change.actions) - {"no-op", "read"})

    @property
    def empty(self) -> bool:
        return not self.acts and not self.outputs_change


def read_plan(document: dict[str, Any]) -> Plan:
    """Fails on an unknown format version: a misread plan is dangerous."""
    version = str(document.get("format_version", ""))
    if not version.startswith("1."):
        raise ToolError(
            f"cannot read a plan of format {version or 'unknown'}",
            hint="use a supported version: talops tools list",
        )
    found = [_change(entry) for entry in document.get("resource_changes", [])]
    outputs = document.get("output_changes", {}).values()
    return Plan(
        tuple(change for change in found if change is not None),
        any(set(output.get("actions", [])) - {"no-op"} for output in outputs),
        bool(document.get("errored")),
    )


def _change(entry: dict[str, Any]) -> Change | None:
    if entry.get("mode") == "data":
        return None
    change = entry.get("change", {})
    key = entry.get("index")
    return Change(
        entry["address"],
        entry.get("type", ""),
        tuple(change.get("actions", ())),
        change.get("before") or {},
        change.get("after") or {},
        change.get("after_unknown", False),
        (change.get("before_sensitive", False), change.get("after_sensitive", False)),
        key if isinstance(key, str) else _module_key(entry.get("module_address", "")),
        entry.get("action_reason", ""),
        entry.get("deposed", ""),
        tuple(_path(parts) for parts in change.get("replace_paths", ())),
    )


def module_key(address: str) -> str:
    """`module.node["cp-1"].….this` → `cp-1`; "" for a resource outside of such a module."""
    found = _MODULE.match(address)
    return found[1] if found else ""


def _module_key(address: str) -> str:
    """`module.node["cp-1"]` → `cp-1`."""
    return address.rsplit('["', 1)[1].removesuffix('"]') if address.endswith('"]') else ""


def _path(parts: list[Any]) -> str:
    return ".".join(str(part) for part in parts)


def _texts(value: Any) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
