"""The config that a node runs beside the one it should run: the same or not, and where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.machineconfig import yamltext
from talops.machineconfig.effects import reboot_needed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from talops.machineconfig.generate import MachineConfig


# What installs a node since Talos 1.14, in place of `machine.install`.
UNATTENDED_DOCUMENT = "UnattendedInstallConfig"


def same(running: str, wanted: MachineConfig) -> bool:
    return not differing(running, wanted)


def differing(running: str, wanted: MachineConfig) -> tuple[str, ...]:
    """Names of the documents that differ; values are secret and stay out."""
    if not running:
        return ("all of it",)
    text = wanted.to_yaml()
    if running == text:  # as most nodes give it back, and reading YAML is slow
        return ()
    now, then = _documents(running), _documents(text)
    names = [*then, *(name for name in now if name not in then)]
    different = [name for name in names if now.get(name) != then.get(name)]
    return tuple(
        part
        for name in different
        for part in (_sections(now.get(name), then.get(name)) if name == "v1alpha1" else [name])
    )


def waiting_for_reboot(running: str, wanted: MachineConfig, talos_version: str) -> tuple[str, ...]:
    """What a node of this version would take live and use only after a reboot."""
    if not running:
        return ()
    now = [d for d in yamltext.load_all(running, where="machine config") if isinstance(d, dict)]
    return reboot_needed(now, wanted.documents, talos_version)


def install_target(documents: Sequence[Mapping[str, Any]]) -> str:
    """The disk, or what selects it, in either shape of the config; empty: not said."""
    for document in documents:
        if document.get("kind") == UNATTENDED_DOCUMENT:
            selector = (document.get("provisioning") or {}).get("diskSelector") or {}
            return str(selector.get("match") or "")
        if install := (document.get("machine") or {}).get("install"):
            return str(install.get("disk") or install.get("diskSelector") or "")
    return ""


def _documents(text: str) -> dict[str, object]:
    """By identity: the order of documents means nothing to Talos."""
    found: dict[str, object] = {}
    for document in yamltext.load_all(text, where="machine config"):
        if isinstance(document, dict):
            name = document.get("name", "")
            found[f"{document.get('kind', 'v1alpha1')}/{name}".rstrip("/")] = document
    return found


def _sections(now: object, then: object) -> list[str]:
    """machine.kubelet, cluster.network …: enough to know what is meant."""
    if not isinstance(now, dict) or not isinstance(then, dict):
        return ["v1alpha1"]
    found = []
    for top in dict.fromkeys([*then, *now]):
        ours, theirs = then.get(top), now.get(top)
        if ours == theirs:
            continue
        if isinstance(ours, dict) and isinstance(theirs, dict):
            keys = dict.fromkeys([*ours, *theirs])
            found += [f"{top}.{key}" for key in keys if ours.get(key) != theirs.get(key)]
        else:
            found.append(str(top))
    return found
