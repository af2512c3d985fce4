"""Compare the config that a node runs with the wanted one: whether and where they differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.machineconfig import yamltext
from talops.machineconfig.effects import reboot_needed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from talops.machineconfig.generate import MachineConfig
    from talops.site.fleet import Configured


# Since Talos 1.14 this document installs a node, instead of `machine.install`.
UNATTENDED_DOCUMENT = "UnattendedInstallConfig"


def same(running: str, wanted: MachineConfig) -> bool:
    return not differing(running, wanted)


def differing(running: str, wanted: MachineConfig) -> tuple[str, ...]:
    """Names of the documents that differ; values are secret and left out."""
    if not running:
        return ("the whole config",)
    text = wanted.to_yaml()
    if running == text:  # most nodes return exactly this text, and parsing YAML is slow
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
    """What a node of this version accepts immediately but uses only after a reboot."""
    if not running:
        return ()
    return reboot_needed(documents_of(running), wanted.documents, talos_version)


def documents_of(text: str) -> list[dict[str, Any]]:
    found = yamltext.load_all(text, where="machine config")
    return [document for document in found if isinstance(document, dict)]


def pending(state: Configured) -> bool:
    """The node has stored another config than it runs: a trial, or a staged config."""
    if state.stored is None or state.stored == state.config:
        return False
    return _documents(state.stored) != _documents(state.config)


def stored_differs(state: Configured, wanted: MachineConfig) -> bool:
    return state.stored is not None and not same(state.stored, wanted)


def install_target(documents: Sequence[Mapping[str, Any]]) -> str:
    """The disk, or its selector, in either form of the config; empty if not set."""
    for document in documents:
        if document.get("kind") == UNATTENDED_DOCUMENT:
            selector = (document.get("provisioning") or {}).get("diskSelector") or {}
            return str(selector.get("match") or "")
        if install := (document.get("machine") or {}).get("install"):
            return str(install.get("disk") or install.get("diskSelector") or "")
    return ""


def _documents(text: str) -> dict[str, object]:
    """By identity: Talos ignores the order of documents."""
    found: dict[str, object] = {}
    for document in documents_of(text):
        name = document.get("name", "")
        found[f"{document.get('kind', 'v1alpha1')}/{name}".rstrip("/")] = document
    return found


def _sections(now: object, then: object) -> list[str]:
    """machine.kubelet, cluster.network …: enough to identify the section."""
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
