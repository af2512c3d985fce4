"""What an applied config changes, and whether a running node can apply it without a reboot."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from talops.lab.talos.config.document import Document, MachineConfig

_IMMEDIATE = {
    "ca", "acceptedCAs", "time", "certSANs", "install", "network", "sysfs", "sysctls", "logging",
    "controlPlane", "kubelet", "kernel", "registries", "pods", "seccompProfiles",
    "nodeAnnotations", "nodeLabels", "nodeTaints",
}  # fmt: skip
_IMMEDIATE_FEATURES = {
    "kubernetesTalosAPIAccess", "kubePrism", "hostDNS", "imageCache", "nodeAddressSortAlgorithm",
}  # fmt: skip


def needs_reboot(current: MachineConfig, new: MachineConfig) -> bool:
    """Documents other than v1alpha1 always take effect at once."""
    return _rebooting_part(current.v1alpha1 or {}) != _rebooting_part(new.v1alpha1 or {})


def _rebooting_part(content: Document) -> Document:
    kept = {k: v for k, v in content.items() if k not in {"debug", "cluster", "machine"}}
    machine = {k: v for k, v in (content.get("machine") or {}).items() if k not in _IMMEDIATE}
    features = machine.pop("features", None) or {}
    machine["features"] = {k: v for k, v in features.items() if k not in _IMMEDIATE_FEATURES}
    return {**kept, "machine": machine}


def same(current: MachineConfig, new: MachineConfig) -> bool:
    return current.documents == new.documents


def difference(current: MachineConfig | None, new: MachineConfig) -> str:
    old_lines = current.raw.decode().splitlines(keepends=True) if current else []
    if current is not None and same(current, new):
        return ""
    new_lines = new.raw.decode().splitlines(keepends=True)
    return "".join(difflib.unified_diff(old_lines, new_lines, "a", "b"))
