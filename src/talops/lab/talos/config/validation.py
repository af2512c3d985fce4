"""Talos' checks of a decoded config, with its texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.lab.talos.config.decoding import BadConfigError

if TYPE_CHECKING:
    from talops.lab.talos.config.document import MachineConfig

_TYPES = {"init", "controlplane", "worker", "join", ""}


def validate(config: MachineConfig, *, must_install: bool) -> list[str]:
    """Warnings; raises `BadConfigError` with all problems in one text."""
    problems: list[str] = []
    if config.v1alpha1 is not None:
        found = _v1alpha1(config, must_install=must_install)
        if found:
            problems.append(f"v1alpha1.Config: {_listing(found)}")
    problems += _conflicts(config)
    if problems:
        raise BadConfigError(_listing(problems))
    return _warnings(config)


def _v1alpha1(config: MachineConfig, *, must_install: bool) -> list[str]:
    content = config.v1alpha1 or {}
    if content.get("machine") is None:
        return ["machine instructions are required"]
    found = []
    if content.get("cluster") is None:
        found.append("cluster instructions are required")
    elif not config.endpoint:
        found.append("cluster controlplane endpoint is required")
    install = config.install
    if must_install and not {"disk", "diskSelector", "diskMatch"} & install.keys():
        found.append("either install disk or diskSelector should be defined")
    return [*found, *_security(config)]


def _security(config: MachineConfig) -> list[str]:
    found = []
    if not config.machine.get("ca") and not config.machine.get("acceptedCAs"):
        found.append(
            "issuing CA or some accepted CAs are required (.machine.ca, machine.acceptedCAs)"
        )
    if config.type not in _TYPES:
        found.append(f'unknown machine type "{config.type}"')
    elif config.control_plane and not config.os_ca.key:
        found.append("issuing CA key is required for controlplane nodes (.machine.ca.key)")
    elif not config.control_plane and config.os_ca.key:
        found.append(
            "issuing Talos API CA key is not allowed on non-controlplane nodes (.machine.ca)"
        )
    return found


def _conflicts(config: MachineConfig) -> list[str]:
    own = config.v1alpha1 or {}
    if config.unattended and (own.get("machine") or {}).get("install"):
        return ["install instructions are already set in v1alpha1 config"]
    named = (config.machine.get("network") or {}).get("hostname")
    if named and any(True for _ in config.of_kind("HostnameConfig")):
        return ["static hostname is already set in v1alpha1 config"]
    return []


def _warnings(config: MachineConfig) -> list[str]:
    if config.machine.get("registries"):
        return [".machine.registries is deprecated, use RegistryMirrorConfig documents instead"]
    return []


def _listing(problems: list[str]) -> str:
    count = "1 error" if len(problems) == 1 else f"{len(problems)} errors"
    return f"{count} occurred:\n" + "".join(f"\t* {p}\n" for p in problems) + "\n"
